"""What a picture explains: an answer as a function of the logits, and the share of each word in it.

The words of a single text add up to its logits, z = z_0 + sum_t c_t, where z_0 is what no word gives. An
answer f(z) is no sum: a probability also falls when another class gains. Along the straight way from z_0 to z

    f(z) - f(z_0) = sum_t <g, c_t>,    g = integral of grad f(z_0 + a (z - z_0)) over a from 0 to 1

which are integrated gradients (Sundararajan et al. 2017) of f alone. So every word has a share in the answer,
in the answer's own unit: points of probability, stars, whatever a number counts.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .labels import Label

POINTS = 256  # on the way from z_0 to z, for each 60 that the logits are apart: right to 0.001


class Question(ABC):
    """An answer f of the logits Z (..., classes)."""

    @abstractmethod
    def value(self, Z: np.ndarray) -> np.ndarray:
        """(...): f."""

    @abstractmethod
    def slope(self, Z: np.ndarray) -> np.ndarray:
        """(..., classes): the gradient of f."""

    def lost(self, z: np.ndarray, losses: np.ndarray) -> np.ndarray:
        """(n,): how far f falls if the logits z (classes,) lose this (n, classes)."""
        return np.asarray(self.value(z) - self.value(z - losses))

    def direction(self, z_0: np.ndarray, z: np.ndarray) -> np.ndarray:
        """(classes,): g, for which <g, z - z_0> is f(z) - f(z_0)."""
        points = POINTS * int(np.clip(np.ceil(np.abs(z - z_0).max() / 60), 1, 64))
        way = (np.arange(points)[:, None] + 0.5) / points
        return np.asarray(self.slope(z_0 + way * (z - z_0)).mean(axis=0))


@dataclass(frozen=True)
class Probability(Question):
    """The probability of class k, one of several that exclude each other."""

    k: int

    def value(self, Z: np.ndarray) -> np.ndarray:
        return np.asarray(softmax(Z)[..., self.k])

    def slope(self, Z: np.ndarray) -> np.ndarray:
        P = softmax(Z)
        return np.asarray(P[..., self.k, None] * (np.eye(Z.shape[-1])[self.k] - P))


@dataclass(frozen=True)
class Between(Question):
    """The probability of class k if only k and `other` were possible; of a single label, without `other`."""

    k: int
    other: int | None = None

    def value(self, Z: np.ndarray) -> np.ndarray:
        x = Z[..., self.k] - (0 if self.other is None else Z[..., self.other])
        return np.asarray(0.5 * (1 + np.tanh(x / 2)))  # which cannot overflow

    def slope(self, Z: np.ndarray) -> np.ndarray:
        one = np.eye(Z.shape[-1])
        p = self.value(Z)[..., None]
        return np.asarray(p * (1 - p) * (one[self.k] - (0 if self.other is None else one[self.other])))


@dataclass(frozen=True)
class Mean(Question):
    """The mean of ordered classes: stars, or where the labels are no numbers, steps from the first one."""

    values: tuple[float, ...]

    def value(self, Z: np.ndarray) -> np.ndarray:
        return np.asarray(softmax(Z) @ np.array(self.values))

    def slope(self, Z: np.ndarray) -> np.ndarray:
        return np.asarray(softmax(Z) * (np.array(self.values) - self.value(Z)[..., None]))


class Number(Question):
    def value(self, Z: np.ndarray) -> np.ndarray:
        return np.asarray(Z[..., 0])

    def slope(self, Z: np.ndarray) -> np.ndarray:
        return np.broadcast_to(np.eye(Z.shape[-1])[0], Z.shape)


def class_values(labels: Sequence[Label]) -> tuple[float, ...]:
    """What ordered classes count as: numbers as they are, others by their place."""
    numbers = all(isinstance(label, int | float) for label in labels)
    return tuple(float(label) if numbers else float(k) for k, label in enumerate(labels))


def are_numbers(labels: Sequence[Label]) -> bool:
    """Whether all classes are numbers, such as stars; yes and no are none.

    >>> are_numbers([1, 2.5]), are_numbers([True, False]), are_numbers(["1", 2])
    (True, False, False)
    """
    return all(isinstance(label, int | float) and not isinstance(label, bool) for label in labels)


def softmax(Z: np.ndarray) -> np.ndarray:
    P = np.exp(Z - Z.max(axis=-1, keepdims=True))
    return np.asarray(P / P.sum(axis=-1, keepdims=True))
