"""Parquet to Parquet: bare `limelight embed` of one file beside --engine local and --engine ray of eight.

    python experiments/benchmarks/bulk_jobs.py reviews.parquet [--sentences 32768] [--rounds 2] [--precision int8]

The reviews are split into sentences. All three write one vector of the bundled reader per sentence, in turns.
Processor time is that of the command and every process it starts; "work" leaves out what a run of 64
sentences takes, most of it Python and Ray starting.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from limelight.text.splitting import sentence_spans

FILES = 8
TICKS = os.sysconf("SC_CLK_TCK")
COMMANDS = {
    "bare": ["{data}.parquet", "--out", "{out}.parquet", "--vector"],
    "local": ["{data}", "--out", "{out}", "--engine", "local"],
    "ray": ["{data}", "--out", "{out}", "--engine", "ray"],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("reviews")
    parser.add_argument("--text", default="text")
    parser.add_argument("--sentences", type=int, default=2**15)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--precision", default="float32")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        sentences = first_sentences(args.reviews, args.text, args.sentences)
        write(Path(folder, "all"), sentences)
        write(Path(folder, "few"), sentences[:64])
        for _ in range(args.rounds):
            for name in COMMANDS:
                start = measure(Path(folder), "few", name, args.precision)
                found = measure(Path(folder), "all", name, args.precision)
                work = max(found["processor"] - start["processor"], 1e-3)  # a few rows take no time
                rates = {
                    key: round(len(sentences) / value) for key, value in (*found.items(), ("work", work))
                }
                print(
                    json.dumps({"name": name, "start": start, "all": found, "per second": rates}), flush=True
                )


def first_sentences(path: str, column: str, most: int) -> list[str]:
    found: list[str] = []
    for batch in pq.ParquetFile(path).iter_batches(batch_size=1024, columns=[column]):
        for text in batch.column(0).to_pylist():
            found += [text[start:end] for start, end in sentence_spans(text)]
        if len(found) >= most:
            break
    return found[:most]


def write(folder: Path, sentences: list[str]) -> None:
    """One file for the bare command, and eight of the same rows."""
    table = pa.table({"id": range(len(sentences)), "text": sentences})
    pq.write_table(table, f"{folder}.parquet")
    folder.mkdir()
    rows = -(-len(sentences) // FILES)
    for k in range(FILES):
        pq.write_table(table.slice(k * rows, rows), folder / f"{k}.parquet")


def measure(folder: Path, data: str, name: str, precision: str) -> dict[str, float]:
    out = folder / "out"
    argv = [part.format(data=folder / data, out=out) for part in COMMANDS[name]]
    begin = time.perf_counter()
    command = [sys.executable, "-m", "limelight", "embed", "reader", *argv, "--precision", precision]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    seen: dict[int, float] = {}
    while process.poll() is None:
        seen |= processor_times(process.pid)
        time.sleep(0.1)
    if process.returncode:
        raise SystemExit(f"{name} ended with {process.returncode}")
    shutil.rmtree(out, ignore_errors=True)
    Path(f"{out}.parquet").unlink(missing_ok=True)
    return {"clock": round(time.perf_counter() - begin, 2), "processor": round(sum(seen.values()), 2)}


def processor_times(root: int) -> dict[int, float]:
    """Seconds of a process and all that descend from it."""
    parents, times = {}, {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                fields = Path("/proc", entry, "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(entry)] = int(fields[1])
            times[int(entry)] = (int(fields[11]) + int(fields[12])) / TICKS
    tree = {root}
    while more := {pid for pid, parent in parents.items() if parent in tree} - tree:
        tree |= more
    return {pid: times[pid] for pid in tree if pid in times}


if __name__ == "__main__":
    main()
