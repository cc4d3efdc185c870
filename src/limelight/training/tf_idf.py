"""TF-IDF and logistic regression, what many people would use instead: those of scikit-learn."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np

from ..text.batches import draw
from ..text.dataset import Dataset, Split
from ..text.tasks import find_task

STRENGTH = 10.0  # scikit-learn's C
MIN_PAIRS = 2  # pairs of neighbours that occur less often are left out
BASELINE_ROWS, BASELINE_WORDS = 20_000, 1_000_000  # training rows of a baseline, and their words: seconds
BASELINE_WORK = 20_000_000  # and words times classes
_WORDS_AT_ONCE = 2**20


class TfIdf:
    """A classifier over words and pairs of neighbours, trained on a split, or on some of its rows.

    >>> split = Split(np.array([2, 3, 4, 3]), np.array([2, 2]), np.array([0, 1]))
    >>> TfIdf(split, 5).predict(split).tolist()
    [0, 1]
    """

    def __init__(
        self, split: Split, vocabulary: int, rows: np.ndarray | None = None, *, balanced: bool = False
    ) -> None:
        from sklearn.feature_extraction.text import TfidfTransformer
        from sklearn.linear_model import LogisticRegression

        rows = np.arange(len(split)) if rows is None else rows
        self.vocabulary = vocabulary
        row, code = _codes(split, rows, vocabulary)
        codes, occurrences = np.unique(code, return_counts=True)
        is_word = codes % (vocabulary * (vocabulary + 1)) < vocabulary
        self.codes = codes[(occurrences >= MIN_PAIRS) | is_word]  # (terms,)
        self.weigh = TfidfTransformer(sublinear_tf=True)
        weighted = "balanced" if balanced else None
        self.head = LogisticRegression(C=STRENGTH, solver="newton-cg", class_weight=weighted)  # the quickest
        weights = None if split.weights is None else np.asarray(split.weights)[rows]
        X = self.weigh.fit_transform(self._count(row, code, len(rows)))
        self.head.fit(X, np.asarray(split.labels)[rows], weights)

    def predict(self, split: Split) -> np.ndarray:
        """(rows,): the class of each row."""
        parts = []
        for rows in _chunks(split):
            counts = self._count(*_codes(split, rows, self.vocabulary), len(rows))
            parts.append(self.head.predict(self.weigh.transform(counts)))
        return np.concatenate(parts)

    def _count(self, row: np.ndarray, code: np.ndarray, rows: int) -> Any:
        """(rows, terms): how often each known term is in each row."""
        from scipy.sparse import csr_matrix

        at = np.minimum(np.searchsorted(self.codes, code), len(self.codes) - 1)
        known = self.codes[at] == code
        ones = np.ones(int(known.sum()))
        return csr_matrix((ones, (row[known], at[known])), (rows, len(self.codes)))


# ---------------------------------------------------------------- from ids to terms


def _chunks(split: Split) -> Iterator[np.ndarray]:
    """The numbers of all rows, as many at a time as fit in memory."""
    words = sum(np.cumsum(lengths, dtype=np.int64) for _, _, lengths in split.sides)
    cuts = np.flatnonzero(np.diff(words // _WORDS_AT_ONCE)) + 1
    yield from np.split(np.arange(len(split)), cuts)


def _codes(split: Split, rows: np.ndarray, vocabulary: int) -> tuple[np.ndarray, np.ndarray]:
    """Of each word and pair of neighbours the row's place in `rows`, and a code; second texts have others."""
    places, codes = [], []
    for side, (ids, starts, lengths) in enumerate(split.sides):
        counts = np.asarray(lengths)[rows].astype(np.int64)
        row = np.repeat(np.arange(len(rows)), counts)
        inside = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
        words = np.asarray(ids)[np.asarray(starts)[rows][row] + inside].astype(np.int64)
        follows = row[1:] == row[:-1]
        pairs = ((words[:-1] + 1) * vocabulary + words[1:])[follows]
        places += [row, row[1:][follows]]
        codes += [each + side * vocabulary * (vocabulary + 1) for each in (words, pairs)]
    return np.concatenate(places), np.concatenate(codes)


# ---------------------------------------------------------------- what a model is measured against


def baselines(dataset: Dataset, balanced: bool = False) -> dict[str, Any]:
    """The accuracy on each held-out split of the largest class alone and of TF-IDF; none for other tasks.

    Nor without scikit-learn, which a machine that trains on encoded data need not have. On large data TF-IDF
    is trained on a sample, so that it takes seconds: `train_rows` says how many.
    """
    held_out = {name: dataset.splits[name] for name in ("dev", "test") if name in dataset.splits}
    if not find_task(dataset.task).is_class or not held_out or not find_spec("sklearn"):
        return {}
    split, classes = dataset.splits["train"], len(dataset.labels)
    rows = sample_rows(split, classes)
    if len(np.unique(np.asarray(split.labels)[rows])) < 2:
        return {}
    fitted = TfIdf(split, len(dataset.tokenizer), rows, balanced=balanced)
    return {"train_rows": len(rows)} | {
        name: {
            "largest_class": float(np.bincount(np.asarray(each.labels)).max() / len(each)),
            "tf_idf": float((fitted.predict(each) == np.asarray(each.labels)).mean()),
        }
        for name, each in held_out.items()
    }


def sample_rows(split: Split, classes: int) -> np.ndarray:
    """The numbers of all rows, or of as many at random as are trained on in seconds."""
    return np.sort(draw(split, BASELINE_ROWS, min(BASELINE_WORDS, BASELINE_WORK // classes)))
