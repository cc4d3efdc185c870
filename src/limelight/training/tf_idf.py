"""TF-IDF and logistic regression, what many people would use instead, on an encoded data set.

It is that of scikit-learn (sublinear counts, smooth idf, rows of length 1, no penalty on the intercepts), but
by PyTorch, which is there: importing scikit-learn would take longer than a small training.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import embedding_bag, log_softmax

from ..text.batches import draw
from ..text.dataset import Dataset, Split
from ..text.tasks import find_task
from .loss import minimise

STRENGTH, MIN_PAIRS = 10.0, 2  # scikit-learn's C, and how often a pair of neighbours occurs
FLAT = 1e-4  # slope at which fitting ends
BASELINE_ROWS, BASELINE_WORDS = 20_000, 1_000_000  # training rows of a baseline, and their words: seconds
BASELINE_WORK = 20_000_000  # and words times classes
_WORDS_AT_ONCE = 2**20


class Terms(NamedTuple):
    """Rows as their terms back to back."""

    starts: np.ndarray  # (rows,)
    columns: np.ndarray  # (entries,): numbers of terms
    values: np.ndarray  # (entries,) float32


@dataclass(frozen=True, eq=False)
class TfIdf:
    vocabulary: int
    codes: np.ndarray  # (terms,) sorted: `_codes` of each term
    idf: np.ndarray  # (terms,)
    W: Tensor  # (terms, classes)
    b: Tensor  # (classes,)

    def predict(self, split: Split) -> np.ndarray:
        parts = []
        words = sum(np.cumsum(lengths, dtype=np.int64) for _, _, lengths in split.sides)
        cuts = np.flatnonzero(np.diff(words // _WORDS_AT_ONCE)) + 1  # as many rows as fit in memory
        for rows in np.split(np.arange(len(split)), cuts):
            terms = _weigh(*_find(_codes(split, rows, self.vocabulary), self.codes), self.idf, len(rows))
            parts.append((_multiply(terms, self.W) + self.b).argmax(dim=1).numpy())
        return np.concatenate(parts)

    def accuracy(self, split: Split) -> float:
        return float((self.predict(split) == np.asarray(split.labels)).mean())


def fit_tf_idf(split: Split, vocabulary: int, classes: int, rows: np.ndarray, balanced: bool) -> TfIdf:
    """Train on some rows of a split; ids are below `vocabulary`. Rarer pairs are left out."""
    row, code = _codes(split, rows, vocabulary)
    codes, occurrences = np.unique(code, return_counts=True)
    codes = codes[(occurrences >= MIN_PAIRS) | (codes % (vocabulary * (vocabulary + 1)) < vocabulary)]
    row, column, count = _find((row, code), codes)
    idf = np.log((1 + len(rows)) / (1 + np.bincount(column, minlength=len(codes)))) + 1
    X = _weigh(row, column, count, idf, len(rows))
    y = torch.from_numpy(np.asarray(split.labels)[rows].astype(np.int64))
    weights = torch.ones(len(rows), dtype=torch.float64)
    if split.weights is not None:
        weights = torch.from_numpy(np.asarray(split.weights)[rows].astype(np.float64))
    if balanced:
        counts = torch.bincount(y, weights, classes)
        weights = weights * (weights.sum() / (int((counts > 0).sum()) * counts))[y]
    return TfIdf(vocabulary, codes, idf, *_regress(X, y, weights, len(codes), classes))


def _regress(X: Terms, y: Tensor, weights: Tensor, terms: int, classes: int) -> tuple[Tensor, Tensor]:
    """Multinomial logistic regression by L-BFGS: the weights (terms, classes), the intercepts (classes,).

    Each sum is over one row or one term, in order, so that the same rows always give the same bits.
    """
    shrink = 1 / (STRENGTH * float(weights.sum()))
    weights = (weights / weights.sum()).float()
    turned, size = _transpose(X, terms), terms * classes

    def loss(x: Tensor) -> tuple[float, Tensor]:
        W, b = x[:size].view(terms, classes), x[size:]
        log_p = log_softmax(_multiply(X, W) + b, dim=1)
        slope = log_p.exp()
        slope[torch.arange(len(y)), y] -= 1
        slope *= weights[:, None]
        value = -(log_p[torch.arange(len(y)), y] * weights).sum() + shrink / 2 * W.square().sum()
        return float(value), torch.cat([(_multiply(turned, slope) + shrink * W).flatten(), slope.sum(dim=0)])

    found = minimise(loss, torch.zeros(size + classes), flat=FLAT)
    return found[:size].view(terms, classes), found[size:]


def _multiply(rows: Terms, W: Tensor) -> Tensor:
    """(rows, classes): the sum over each row's terms of value times weight."""
    starts, columns, values = map(torch.from_numpy, rows)
    return embedding_bag(columns, W, starts, mode="sum", per_sample_weights=values)


def _transpose(X: Terms, terms: int) -> Terms:
    lengths = np.diff(np.append(X.starts, len(X.columns)))
    row, order = np.repeat(np.arange(len(lengths)), lengths), np.argsort(X.columns, kind="stable")
    counts = np.bincount(X.columns, minlength=terms)
    return Terms(np.cumsum(counts) - counts, row[order], X.values[order])


# ---------------------------------------------------------------- from ids to terms


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


def _find(
    found: tuple[np.ndarray, np.ndarray], codes: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(rows, terms, counts): how often each known term is in each row."""
    row, code = found
    at = np.minimum(np.searchsorted(codes, code), len(codes) - 1)
    known = codes[at] == code
    both, counts = np.unique(row[known] * len(codes) + at[known], return_counts=True)
    return both // len(codes), both % len(codes), counts


def _weigh(row: np.ndarray, column: np.ndarray, count: np.ndarray, idf: np.ndarray, rows: int) -> Terms:
    values = (1 + np.log(count)) * idf[column]
    values /= np.sqrt(np.bincount(row, np.square(values), rows))[row]
    entries = np.bincount(row, minlength=rows)
    return Terms(np.cumsum(entries) - entries, column, values.astype(np.float32))


# ---------------------------------------------------------------- what a model is measured against


def baselines(dataset: Dataset, balanced: bool = False) -> dict[str, Any]:
    """The accuracy on each held-out split of the largest class alone and of TF-IDF; none for other tasks."""
    held_out = {name: dataset.splits[name] for name in ("dev", "test") if name in dataset.splits}
    if not find_task(dataset.task).is_class or not held_out:
        return {}
    split, classes = dataset.splits["train"], len(dataset.labels)
    rows = sample_rows(split, classes)
    fitted = fit_tf_idf(split, len(dataset.tokenizer), classes, rows, balanced)
    return {"train_rows": len(rows)} | {
        name: {
            "largest_class": float(np.bincount(np.asarray(each.labels)).max() / len(each)),
            "tf_idf": fitted.accuracy(each),
        }
        for name, each in held_out.items()
    }


def sample_rows(split: Split, classes: int) -> np.ndarray:
    """The numbers of all rows, or of as many at random as are trained on in seconds."""
    return np.sort(draw(split, BASELINE_ROWS, min(BASELINE_WORDS, BASELINE_WORK // classes)))
