"""Splitting into words by remembered pieces between spaces, beside the rules on whole texts.

    python experiments/benchmarks/words.py TABLE --column text --sentences 200000

Says how many texts the two split differently (none, or it is a bug), and the texts per second of processor
time on one core of a part of them, best of some rounds side by side: those of ASCII, and the others.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from itertools import islice

import pyarrow.parquet as pq

from limelight.text.sentences import sentence_spans
from limelight.text.splitting import Pieces


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("table", help="a parquet file")
    parser.add_argument("--column", default="text")
    parser.add_argument("--sentences", type=int, default=200_000)
    parser.add_argument("--timed", type=int, default=10_000, help="of each kind")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    column = pq.read_table(args.table, columns=[args.column])[args.column].to_pylist()
    spans = (text[a:b] for text in column for a, b in sentence_spans(text))
    sentences = list(islice(spans, args.sentences))
    pieces = Pieces(True, True)
    different = sum(pieces.split(text) != pieces.split_whole(text) for text in sentences)
    print(f"{len(sentences):,} sentences, {different:,} split differently")
    print("| | sentences | whole | by pieces | ratio | the first time |")
    for kind in (True, False):
        texts = [text for text in sentences if text.isascii() is kind][: args.timed]
        pieces.clear()
        first = measure(pieces.split, texts)
        rounds = [
            (measure(pieces.split_whole, texts), measure(pieces.split, texts)) for _ in range(args.rounds)
        ]
        whole, new = map(max, zip(*rounds, strict=True))
        name = "ASCII" if kind else "others"
        print(f"| {name} | {len(texts):,} | {whole:,.0f} | {new:,.0f} | {new / whole:.2f} | {first:,.0f} |")


def measure(split: Callable[[str], list[str]], texts: list[str]) -> float:
    """Texts per second of processor time."""
    start = time.process_time()
    for text in texts:
        split(text)
    return len(texts) / max(time.process_time() - start, 1e-9)


if __name__ == "__main__":
    main()
