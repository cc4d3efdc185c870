"""From logits to a model's outputs, by task, and the thresholds of several labels."""

from __future__ import annotations

import numpy as np

ACTIVATIONS = {  # the ONNX operator
    "classification": "Softmax",
    "multi-label": "Sigmoid",
    "ordinal": "Softmax",
    "regression": "",
}
OUTPUT_NAMES = {"regression": "values"}  # in an exported graph; of the other tasks, probabilities
FEWEST = 5  # development rows with a label from which on it has a threshold of its own


def activate(task: str, logits: np.ndarray) -> np.ndarray:
    """Probabilities (rows, classes) from logits; in regression the numbers as they are.

    >>> activate("multi-label", np.array([[0.0, 99.0]])).tolist()
    [[0.5, 1.0]]
    """
    match ACTIVATIONS[task]:
        case "Softmax":
            exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
            return np.asarray(exponentials / exponentials.sum(axis=1, keepdims=True))
        case "Sigmoid":
            return np.asarray(0.5 * (1 + np.tanh(logits / 2)))  # which cannot overflow
    return logits


def choose_thresholds(P: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """(labels,): the probability from which on each label is predicted, chosen on labelled texts.

    Each label has the threshold with its highest F1; one that few texts have, where that would be chance,
    has the threshold with the highest F1 of all labels together.

    >>> P, truth = np.array([[0.9], [0.4], [0.3], [0.1]]), np.array([[1], [1], [0], [0]])
    >>> choose_thresholds(P, truth).round(2).tolist()
    [0.35]
    """
    common = _best_threshold(P.ravel(), truth.ravel())
    own = truth.sum(axis=0) >= FEWEST
    return np.array([_best_threshold(P[:, k], truth[:, k]) if own[k] else common for k in range(P.shape[1])])


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
