"""How well the stars of aspects agree with those that hotel reviewers gave for them.

    python experiments/benchmarks/hotel_aspects.py model --texts test-10k.parquet --ratings aspects-test-10k.parquet

The tables of ratings have a column for each of six aspects, row by row as the reviews, 0 where there is none;
reviews that rated all six count. Order: of two aspects of a review rated at least two stars apart, the share
that the estimates put in the right order, each aspect's being given the mean and spread of its ratings.
Partial: the correlation of estimates and ratings, mean over aspects, once the overall stars are taken out of
both.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from limelight.aspects.sums import estimate
from limelight.runtime.model import Model
from limelight.text.questions import class_values

NAMES = ["service", "cleanliness", "value", "sleep_quality", "rooms", "location"]


def read(texts: Path, ratings: Path, most: int) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Texts that rated all aspects; their ratings (texts, aspects) and stars (texts,)."""
    R = np.stack([pq.read_table(ratings)[name].to_numpy() for name in NAMES], axis=1)
    table, rows = pq.read_table(texts), np.flatnonzero((R > 0).all(axis=1))[:most]
    stars = table["stars"].to_numpy()[rows].astype(float)
    return [table["text"][int(k)].as_py() for k in rows], R[rows].astype(float), stars


def agreement(scores: np.ndarray, ratings: np.ndarray, stars: np.ndarray) -> dict[str, float]:
    """Order and partial correlation, from (texts, aspects) twice and (texts,)."""
    scaled = (scores - scores.mean(0)) / (scores.std(0) + 1e-12) * ratings.std(0) + ratings.mean(0)
    right = pairs = 0
    for i, j in zip(*np.tril_indices(len(NAMES), -1), strict=True):
        gap = ratings[:, i] - ratings[:, j]
        far = np.abs(gap) >= 2
        right, pairs = (
            right + int(((scaled[:, i] - scaled[:, j]) * gap > 0)[far].sum()),
            pairs + int(far.sum()),
        )
    fit = np.column_stack([np.ones_like(stars), stars])
    S, R = (x - fit @ np.linalg.lstsq(fit, x, rcond=None)[0] for x in (scores, ratings))
    partial = [np.corrcoef(s, r)[0, 1] for s, r in zip(S.T, R.T, strict=True)]
    return {"order": right / max(pairs, 1), "partial": float(np.mean(partial))}


def estimates(model: Model, texts: list[str]) -> np.ndarray:
    """(texts, aspects): the stars of each, from those of the texts alone."""
    found_stars, values = [], class_values(model.labels)
    for reading in model.read_stream(texts):
        found = reading.aspect_sum
        shares = {share.name: share for share in found.aspects}
        found_stars.append([estimate(found.answer, shares[name].effect, values) for name in NAMES])
    return np.array(found_stars)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="+")
    parser.add_argument("--texts", type=Path, required=True, help="Parquet: stars, text")
    parser.add_argument("--ratings", type=Path, required=True)
    parser.add_argument("--most", type=int, default=10_000, help="reviews to measure on [10000]")
    args = parser.parse_args()
    texts, R, stars = read(args.texts, args.ratings, args.most)
    for path in args.models:
        model = Model.load(path).with_aspects("hotels")
        found = agreement(estimates(model, texts), R, stars)
        print(json.dumps({"model": path, "texts": len(texts), "stars alone": found}), flush=True)


if __name__ == "__main__":
    main()
