"""The plane of a map of texts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

SAMPLED_TEXTS = 1000  # texts that directions are found with


@dataclass(frozen=True, eq=False)
class Plane:
    """The directions in which embeddings differ most, by principal components."""

    mean: np.ndarray  # (size,)
    basis: np.ndarray  # (size, directions)

    @classmethod
    def fit(cls, X: np.ndarray) -> Plane:
        """The directions of X (texts, size), those that matter most first; fewer texts have fewer."""
        mean = X.mean(axis=0)
        centred = (X - mean).astype(np.float64)
        # texts are fewer than numbers: the vectors of X X^T are small to find, and give those of X^T X
        values, vectors = np.linalg.eigh(centred @ centred.T)
        order = np.argsort(-values)
        order = order[values[order] > 1e-9 * max(values.max(), 1e-30)]
        basis = centred.T @ vectors[:, order] / np.sqrt(values[order])
        basis *= np.where(basis.sum(axis=0) < 0, -1, 1)  # the sign is free: the same map every time
        return cls(mean, basis.astype(np.float32))

    def project(self, X: np.ndarray) -> np.ndarray:
        """(texts, directions)."""
        return np.asarray((X - self.mean) @ self.basis)


def spread(rows: int) -> np.ndarray:
    """The numbers of at most `SAMPLED_TEXTS` rows, from the first to the last."""
    return np.linspace(0, rows - 1, min(SAMPLED_TEXTS, rows)).round().astype(int)
