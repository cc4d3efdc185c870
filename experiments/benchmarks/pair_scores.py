"""How similar are two sentences? STS-B's scores as numbers to learn, by PairRegressor.

    python experiments/benchmarks/pair_scores.py DATA/stsb --preset light --seeds 3

Trains on train.parquet (`first`, `second`, `score`), a tenth of it held out to choose the epoch; measures on
dev.parquet, beside the cosine of the bundled reader's vectors, which saw none of it.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet

import limelight
from limelight import PairRegressor
from limelight.text.tasks import REGRESSION


def columns(path: Path) -> tuple[list[str], list[str], list[float]]:
    table = pyarrow.parquet.read_table(path).to_pydict()
    return table["first"], table["second"], table["score"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--preset", default="small")
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    train, dev = columns(args.data / "train.parquet"), columns(args.data / "dev.parquet")
    reader = limelight.load("reader")
    cosines = (reader.encode(dev[0]) * reader.encode(dev[1])).sum(axis=1)
    print(
        json.dumps({"reader, cosine": REGRESSION.measure(cosines[:, None], np.array(dev[2])).to_dict()}),
        flush=True,
    )
    for seed in range(args.seeds):
        started = time.monotonic()
        model = PairRegressor(args.preset, random_state=seed, progress=False).fit(*train)
        found = REGRESSION.measure(model.predict(*dev[:2])[:, None], np.array(dev[2])).to_dict()
        seconds = round(time.monotonic() - started)
        print(json.dumps({"preset": args.preset, "seed": seed, **found, "seconds": seconds}), flush=True)


if __name__ == "__main__":
    main()
