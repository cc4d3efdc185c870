"""The first N training rows of an encoded data set, to train on less of the same data.

    python experiments/hotels/first_rows.py encoded --rows 1000 --out encoded-1000
    limelight train encoded-1000 --preset best-single --out model-1000

The rows of make_data.py are shuffled, so smaller sets are random samples, one inside the next. Words that the
N rows lack, or have fewer than min_count times, are no longer in the vocabulary unless the pretrained vectors
brought them: as if the N rows had been encoded alone. Development and test rows stay.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from limelight.config.recipe import TextRecipe
from limelight.errors import LimelightError
from limelight.text.dataset import Dataset, Split
from limelight.text.tasks import count_labels
from limelight.text.tokenizer import SPECIAL, UNKNOWN, Tokenizer
from limelight.text.vectors import first_words


def first_rows(dataset: Dataset, rows: int) -> Dataset:
    """The data set with only this many training rows, and the words that they give."""
    train = dataset.splits["train"]
    if not 0 < rows <= len(train) or train.pair:
        what = "pairs" if train.pair else f"{len(train):,} training rows"
        raise LimelightError(f"cannot take {rows:,} rows of {what}", code="option-value")
    assert train.labels is not None
    lengths = np.asarray(train.lengths[:rows])
    cut = Split(np.asarray(train.ids[: lengths.sum(dtype=np.int64)]), lengths, train.labels[:rows])
    keep = known_words(dataset, cut)
    new_ids = np.where(keep, np.cumsum(keep) - 1, UNKNOWN).astype(np.int32)
    splits = {
        name: replace(split, ids=new_ids[split.ids])
        for name, split in {**dataset.splits, "train": cut}.items()
    }
    vectors = None if dataset.vectors is None else dataset.vectors[keep]
    facts = {**dataset.facts, **count(splits, dataset)}
    return replace(
        dataset, tokenizer=select(dataset.tokenizer, keep), splits=splits, vectors=vectors, facts=facts
    )


def known_words(dataset: Dataset, train: Split) -> np.ndarray:
    """(vocabulary,) bool: the words of these rows and of the pretrained vectors."""
    recipe = TextRecipe(**dataset.facts["recipe"])
    keep = np.bincount(train.ids, minlength=len(dataset.tokenizer)) >= recipe.min_count
    keep[: len(SPECIAL)] = True
    if recipe.vectors and recipe.extra_words:
        extra = set(first_words(recipe.vectors, recipe.extra_words))
        keep |= np.array([word in extra for word in dataset.tokenizer.vocabulary])
    return np.asarray(keep)


def select(tokenizer: Tokenizer, keep: np.ndarray) -> Tokenizer:
    """The tokenizer with only these words."""
    words = [word for word, kept in zip(tokenizer.vocabulary, keep, strict=True) if kept]
    return Tokenizer.from_words(
        words[len(SPECIAL) :], lowercase=tokenizer.lowercase, split_characters=tokenizer.split_characters
    )


def count(splits: dict[str, Split], dataset: Dataset) -> dict[str, dict[str, object]]:
    """The facts that depend on the rows."""
    classes = {name: count_labels(dataset.task, s.labels, dataset.labels) for name, s in splits.items()}
    return {
        "rows": {name: len(split) for name, split in splits.items()},
        "words": {name: split.words for name, split in splits.items()},
        "classes": classes,
    }


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("encoded", type=Path, help="folder written by 'limelight encode'")
    parser.add_argument("--rows", type=int, required=True, help="training rows to keep")
    parser.add_argument("--out", type=Path, required=True, help="folder to write")
    args = parser.parse_args(argv)
    dataset = first_rows(Dataset.open(args.encoded), args.rows)
    dataset.save(args.out)
    print(f"{args.rows:,} rows, {len(dataset.tokenizer) - len(SPECIAL):,} different words: {args.out}")


if __name__ == "__main__":
    main()
