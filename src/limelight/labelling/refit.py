"""A classifier over frozen vectors that is fitted in closed form, in milliseconds, after every label."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

RIDGE = 0.1
TEMPERATURES = np.geomspace(0.01, 1.0, 25)


@dataclass(frozen=True, eq=False)
class Fitted:
    """W (classes, size), b (classes,); the logits are (x W^T + b) / temperature."""

    W: np.ndarray
    b: np.ndarray
    temperature: float
    several: bool
    left_out: np.ndarray  # (n, classes): logits of each labelled text when it is left out

    def logits(self, X: np.ndarray) -> np.ndarray:
        """(n, classes)."""
        return np.asarray((X @ self.W.T + self.b) / self.temperature)

    def probabilities(self, X: np.ndarray) -> np.ndarray:
        """(n, classes): of one class each, or with several labels of each class by itself."""
        return to_probabilities(self.logits(X), self.several)


def to_probabilities(logits: np.ndarray, several: bool) -> np.ndarray:
    """Softmax over the classes, or with several labels a sigmoid for each."""
    if several:
        return np.asarray(1 / (1 + np.exp(-np.clip(logits, -60, 60))))
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))


def fit(X: np.ndarray, Y: np.ndarray, prior: np.ndarray | None = None, several: bool = False) -> Fitted:
    """Ridge regression to Y (n, classes), 1 for the classes of a text, towards the weights of the `prior`."""
    classes, size = Y.shape[1], X.shape[1]
    W0 = np.zeros((classes, size)) if prior is None else prior
    X = X.astype(np.float64)
    T = (Y - 0.5 if several else Y - 1 / classes) - X @ W0.T
    mean, middle = (X.mean(axis=0), T.mean(axis=0)) if len(X) else (np.zeros(size), np.zeros(classes))
    C = X - mean
    inverse = np.linalg.inv(C.T @ C + RIDGE * np.eye(size))
    R = inverse @ (C.T @ (T - middle))  # (size, classes)
    W = W0 + R.T
    b = middle - mean @ R
    hat = np.einsum("ij,jk,ik->i", C, inverse, C) + 1 / max(len(X), 1)
    residual = T - (X @ R + b)
    scores = X @ W.T + b
    left_out = scores - residual * (hat / np.maximum(1 - hat, 1e-6))[:, None]
    temperature = _temperature(left_out, Y, several)
    return Fitted(W, b, temperature, several, left_out / temperature)


def _temperature(scores: np.ndarray, Y: np.ndarray, several: bool) -> float:
    """The one with the least loss on texts left out."""
    if not len(Y):
        return 0.1
    losses = []
    for temperature in TEMPERATURES:
        P = to_probabilities(scores / temperature, several)
        right = np.where(Y > 0, P, 1 - P) if several else (P * Y).sum(axis=1)
        losses.append(-np.log(np.maximum(right, 1e-12)).mean())
    return float(TEMPERATURES[int(np.argmin(losses))])
