"""From logits to a model's outputs, vectors of length 1, and the thresholds of several labels."""

from typing import NamedTuple

import numpy as np

from ..text.tasks import MULTI_LABEL, find_task

HALFWAY = 20  # development rows with a label, at which its own threshold counts as much as that of all


def activate(task: str, logits: np.ndarray) -> np.ndarray:
    """Probabilities (rows, classes) from logits; in regression the numbers as they are."""
    return find_task(task).activate(logits)


def unit(v: np.ndarray) -> np.ndarray:
    """Vectors (..., size) of length 1; zeros stay zeros."""
    length = np.linalg.norm(v, axis=-1, keepdims=True)
    return np.asarray(v / np.where(length > 0, length, 1))


def choose_thresholds(P: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """(labels,): the probability from which on each label is predicted, chosen on labelled texts.

    It lies, on the scale of logits, between those with the highest F1 of all labels and of this one, the
    nearer to the latter the more texts have the label: of few, the best threshold is chance.
    """
    common = _best_threshold(P.ravel(), truth.ravel())
    own = np.array([_best_threshold(p, true) for p, true in zip(P.T, truth.T, strict=True)])
    rows = truth.sum(axis=0)
    share = rows / (rows + HALFWAY)
    return MULTI_LABEL.activate(share * _logit(own) + (1 - share) * _logit(common))


def _logit(p: np.ndarray | float) -> np.ndarray:
    p = np.clip(p, 1e-6, 1 - 1e-6)
    return np.asarray(np.log(p / (1 - p)))


def _best_threshold(p: np.ndarray, truth: np.ndarray) -> float:
    """Halfway between two neighbouring probabilities, where F1 is highest; of equals, nearest to 0.5."""
    order = np.argsort(-p, kind="stable")
    p = p[order].astype(np.float64)
    right = np.cumsum(truth[order], dtype=np.int64)
    if not right[-1]:
        return 0.5
    f1 = 2 * right / (np.arange(1, len(p) + 1) + right[-1])  # if the first k + 1 are predicted
    cuts = (p + np.append(p[1:], 0.0)) / 2
    f1[np.append(p[1:] == p[:-1], False)] = 0  # equal probabilities cannot be told apart
    best = np.flatnonzero(f1 == f1.max())
    return float(cuts[best[np.abs(cuts[best] - 0.5).argmin()]])


class EncodedText(NamedTuple):
    """One text with everything the encoder computed for it."""

    text: str
    known: np.ndarray  # (n,): False where the word is outside the vocabulary
    offsets: np.ndarray  # (n, 2)
    M: np.ndarray  # (r, 2u)
    A: np.ndarray  # (r, n)
    H: np.ndarray  # (n, 2u)
