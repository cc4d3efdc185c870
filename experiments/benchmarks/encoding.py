"""Encoding a table: words per second, and peak memory for the table once and four times over.

    python experiments/benchmarks/encoding.py reviews.parquet
    python experiments/benchmarks/encoding.py reviews.parquet --times 1 4 --text text --label stars

Each line runs in its own process. "read" only reads the rows, for comparison. CPU seconds tell a busy machine
from a slow program: those of the process that reads and writes, and of the ones that it lets split the texts.
The peak is the former's.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def measure(path: str, times: int, text: str | None, label: str | None) -> dict[str, float]:
    """Encode `times` copies of the table as one data set, in this process."""
    from limelight.config.recipe import TextRecipe
    from limelight.tables.columns import choose_columns
    from limelight.tables.rows import TableRows
    from limelight.text.encode import encode_tables

    columns = choose_columns(path, text, label)
    begin = time.perf_counter()
    read = sum(1 for _ in range(times) for _ in TableRows(path, columns))
    reading = time.perf_counter() - begin
    with tempfile.TemporaryDirectory() as folder:
        begin, before = time.perf_counter(), os.times()
        dataset = encode_tables(
            Path(folder, "set"), [path] * times, text=columns.text, label=columns.label,
            recipe=TextRecipe(), progress=False,
        )  # fmt: skip
        seconds, after = time.perf_counter() - begin, os.times()
        cpu, others = (sum(after[k : k + 2]) - sum(before[k : k + 2]) for k in (0, 2))
        words = sum(dataset.facts["words"].values())
    return {
        "rows": read, "words": words, "read": reading, "seconds": seconds, "cpu": cpu, "others": others,
        "words per second": words / seconds, "peak MiB": peak_memory(),
    }  # fmt: skip


def peak_memory() -> float:
    """Peak memory of this process in MiB; on Linux from /proc, because getrusage counts the parent's too."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("table")
    parser.add_argument("--times", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--text")
    parser.add_argument("--label")
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        print(json.dumps(measure(options.table, options.times[0], options.text, options.label)))
        return
    print("times      rows        words  read s  encode s   CPU s  others  words/s  peak MiB")
    for times in options.times:
        arguments = [options.table, "--alone", "--times", str(times)]
        for name in ("text", "label"):
            arguments += [f"--{name}", getattr(options, name)] if getattr(options, name) else []
        run = subprocess.run([sys.executable, __file__, *arguments], stdout=subprocess.PIPE, check=True)
        got = json.loads(run.stdout)
        print(
            f"{times:5d} {got['rows']:9,.0f} {got['words']:12,.0f} {got['read']:7.2f} {got['seconds']:9.2f} "
            f"{got['cpu']:7.2f} {got['others']:7.2f} {got['words per second']:8,.0f} {got['peak MiB']:9.0f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
