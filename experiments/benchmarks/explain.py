"""How fast pictures are drawn and how large they are, without the model.

    python experiments/benchmarks/explain.py

Prints one line per measurement: name, seconds (best of five), bytes of one picture.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from limelight.reading import to_html, to_json, to_png, to_svg, to_terminal
from limelight.reading.reading import Reading

TEXT = "the soup was cold and a waiter came twice to say it would be warm again soon but nobody believed him"


def make_reading(n: int, r: int, seed: int, spread: float = 0.2) -> Reading:
    """A reading of `n` words with `r` rows, each with most of its attention on a few words."""
    rng = np.random.default_rng(seed)
    words = rng.choice(TEXT.split(), n)
    ends = np.cumsum([len(word) + 1 for word in words]) - 1
    offsets = np.stack([ends - [len(word) for word in words], ends], axis=1)
    attention = rng.dirichlet(np.full(n, spread), size=r).astype(np.float32)
    known = np.ones(n, dtype=bool)
    return Reading(
        " ".join(words), offsets, known, attention, np.zeros((r, 4)), ("no", "yes"), np.array([0.3, 0.7])
    )


def measure(what: str, draw: Callable[[Reading], str | bytes], readings: list[Reading], repeats: int) -> None:
    best = float("inf")
    for _ in range(repeats):
        started = time.perf_counter()
        pictures = [draw(reading) for reading in readings]
        best = min(best, time.perf_counter() - started)
    last = pictures[-1]
    size = len(last if isinstance(last, bytes) else last.encode())
    print(f"{what:42} {best:8.3f} s {size:10,} bytes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    short = [make_reading(20, 8, seed) for seed in range(1_000)]
    long = [make_reading(5_000, 30, 0, spread=0.002)]
    plain = partial(to_terminal, colour=False, width=80)
    coloured = partial(to_terminal, colour=True, width=80)
    formats = {"html": to_html, "svg": to_svg, "terminal": coloured, "text": plain, "json": to_json}
    for name, draw in formats.items():
        measure(f"{name}, 1,000 texts of 20 words, 8 rows", draw, short, repeats)
        measure(f"{name}, 1 text of 5,000 words, 30 rows", draw, long, repeats)
    measure("png, 10 texts of 20 words, 8 rows", to_png, short[:10], repeats)
    measure("png, 1 text of 5,000 words, 30 rows", to_png, long, 1)


if __name__ == "__main__":
    main()
