"""Peak memory of a bulk job as its input grows: a tiny model, so that millions of sentences take minutes.

    python experiments/benchmarks/bulk_memory.py reviews.parquet [--sentences 500000 5000000] [--model reader]

The reviews are split into sentences and repeated as often as needed, in one file. Each job runs in a process
of its own.
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
import time
from collections.abc import Iterator
from itertools import chain, islice, repeat
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from limelight.bulk import Predictor, run
from limelight.config.recipe import Recipe
from limelight.network.parts import shapes
from limelight.runtime.model import Model
from limelight.text.splitting import sentence_spans
from limelight.text.tokenizer import Tokenizer

SIZES = {"pooling": "max", "word_size": 8, "hidden": 32, "head_hidden": 6}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("reviews")
    parser.add_argument("--text", default="text")
    parser.add_argument("--sentences", type=int, nargs="+", default=[500_000, 5_000_000])
    parser.add_argument("--model", help="instead of the tiny one")
    args = parser.parse_args()
    print("| sentences | peak memory, MB | seconds |\n|---|---|---|")
    for count in args.sentences:
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder), args.reviews, args.text, count)
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                rows, peak, seconds = pool.apply(work, (folder, args.model))
            print(f"| {rows:,} | {peak:,.0f} | {seconds:,.0f} |", flush=True)


def write(folder: Path, reviews: str, column: str, count: int) -> None:
    words = Tokenizer.from_words([f"w{k}" for k in range(1000)])
    recipe = Recipe().override(**SIZES)
    rng = np.random.default_rng(0)
    weights = {
        name: rng.normal(0, 0.1, shape).astype(np.float32)
        for name, shape in shapes(recipe.model, len(words), 2, False).items()
    }
    Model.from_parts(weights=weights, recipe=recipe, tokenizer=words, labels=[0, 1]).save(folder / "model")
    schema = pa.schema([("id", pa.int64()), ("text", pa.string())])
    with pq.ParquetWriter(folder / "data.parquet", schema) as writer:
        numbered = islice(enumerate(chain.from_iterable(repeat_sentences(reviews, column))), count)
        while rows := list(islice(numbered, 100_000)):
            writer.write_table(pa.table(list(zip(*rows, strict=True)), schema=schema))


def repeat_sentences(path: str, column: str) -> Iterator[list[str]]:
    for file in repeat(path):
        for batch in pq.ParquetFile(file).iter_batches(columns=[column]):
            for text in batch.column(0).to_pylist():
                yield [text[start:end] for start, end in sentence_spans(text)]


def work(folder: str, model: str | None) -> tuple[int, float, float]:
    start = time.perf_counter()
    predictor = Predictor(model or Path(folder, "model"), embed="vector")
    rows = run(predictor, Path(folder, "data.parquet"), Path(folder, "out")).rows_out
    return rows, peak_memory(), time.perf_counter() - start


def peak_memory() -> float:
    """Of this process, in MB; on Linux, `ru_maxrss` begins with the peak of the process that started it."""
    status = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:")) / 1024


if __name__ == "__main__":
    main()
