"""A classifier over frozen vectors that is fitted in closed form, in milliseconds, after every label.

Each class is the mean of its vectors, and a text belongs to the class whose mean is nearest, by the distance
that the texts themselves suggest: directions in which all texts vary a lot count less. That is linear
discriminant analysis with the covariance of the whole table, which needs no labels, in place of that within
the classes, which would need many. With the centre g of all texts and the sum s_c of the n_c in a class,

    m_c = s_c / (n_c + SHRINK)              (x - g) is drawn from around m_c
    score_c(x) = (x - g)' A m_c - m_c' A m_c / 2,    A = SMOOTH (C / mean variance + SMOOTH)^-1

A class without a text has m_c = 0 and so the score 0: a text that is like none of the others belongs there
before it belongs to them. A sentence that describes a class counts as a part of a text.

To the logits, which are scores over a temperature, comes the logarithm of how frequent each class is: its
labels, and as many texts added to each class as the counts themselves suggest. Those of many classes differ
by chance even if all are as frequent, and then many are added.

Where a text may have several labels, each class is set against the mean of the texts without it.

What the score of a text would be without that text is exact and costs nothing: its class has another mean,
all the rest stays. The temperature that turns scores into probabilities is chosen on these scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..text.questions import softmax

Prior = tuple[np.ndarray, np.ndarray]
SHRINK = 2.0  # texts at the centre that each class starts with
SMOOTH = 10.0  # of the mean variance: more makes directions count alike
TEMPERATURES = np.geomspace(0.01, 0.3, 12).astype(np.float32)
EVENNESS = np.geomspace(0.3, 300, 13)  # texts added to each class: many where all are about as frequent
DEFAULT_TEMPERATURE = 0.07  # as long as there are too few labels to choose
MIN_LABELS, MAX_SAMPLE = 5, 400  # labels to choose it by: at least, and about at most
DESCRIPTION_WEIGHT = 1.0  # texts that the description of a class counts for


@dataclass(frozen=True, eq=False)
class Space:
    """The centre g of the texts (size,), and A (size, size): how much directions count."""

    centre: np.ndarray
    A: np.ndarray

    def norms(self, X: np.ndarray) -> np.ndarray:
        """(n,): d' A d of each vector's distance d from the centre."""
        D = X - self.centre
        return np.asarray(((D @ self.A) * D).sum(axis=1))

    @classmethod
    def of(cls, X: np.ndarray) -> Space:
        """From vectors X (n, size) of texts, with or without labels.

        >>> space = Space.of(np.array([[3.0, 0.0], [-3.0, 0.0], [0.0, 1.0], [0.0, -1.0]]))
        >>> bool(space.A[0, 0] < space.A[1, 1])
        True
        """
        centre = X.mean(axis=0, dtype=np.float64)
        D = X - centre
        C = D.T @ D / max(len(X), 1)
        variance = max(float(np.trace(C)) / len(C), 1e-12)
        A = SMOOTH * np.linalg.inv(C / variance + SMOOTH * np.eye(len(C)))
        return cls(centre.astype(np.float32), A.astype(np.float32))


@dataclass(frozen=True, eq=False)
class Fitted:
    """Scores are x W^T + b, with W (classes, size) and b (classes,); logits are scores / temperature."""

    W: np.ndarray
    b: np.ndarray
    temperature: float
    several: bool
    left_out: np.ndarray  # (n, classes): the logits of each labelled text, had it not been labelled

    def logits(self, X: np.ndarray) -> np.ndarray:
        """(n, classes)."""
        return np.asarray((X @ self.W.T + self.b) / np.float32(self.temperature))

    def probabilities(self, X: np.ndarray) -> np.ndarray:
        """(n, classes): of one class each, or with several labels of each class by itself."""
        return to_probabilities(self.logits(X), self.several)

    def skill(self, Y: np.ndarray) -> float:
        """From 0, no better than how frequent the classes are, to 1, certain and right, on texts left out."""
        if not len(Y):
            return 0.0
        most = np.log(2) if self.several else _entropy(Y.sum(axis=0))
        return float(1 - _loss(self.left_out, Y, self.several) / most) if most > 0 else 0.0


def to_probabilities(logits: np.ndarray, several: bool) -> np.ndarray:
    """Softmax over the classes, or with several labels a sigmoid for each.

    >>> to_probabilities(np.array([[0.0, 0.0]]), several=False).tolist()
    [[0.5, 0.5]]
    """
    if several:
        return np.asarray(1 / (1 + np.exp(-np.clip(logits, -60, 60))))
    return softmax(logits)


def is_correct(logits: np.ndarray, Y: np.ndarray, several: bool = False) -> np.ndarray:
    """(n,): whether each text gets the label that it has: all of its labels, where it may have several.

    >>> is_correct(np.array([[2.0, 1.0], [2.0, 1.0]]), np.array([[1, 0], [0, 1]])).tolist()
    [True, False]
    """
    if several:
        return np.asarray(((logits > 0) == (Y > 0)).all(axis=1))
    return np.asarray(logits.argmax(axis=1) == Y.argmax(axis=1))


def sureness(P: np.ndarray, several: bool) -> np.ndarray:
    """(n,): the probability that the answer is right, by the model itself.

    >>> sureness(np.array([[0.9, 0.2]]), several=True).round(2).tolist()
    [0.72]
    """
    return np.asarray(np.maximum(P, 1 - P).prod(axis=1) if several else P.max(axis=1))


def fit(
    X: np.ndarray,
    Y: np.ndarray,
    space: Space,
    *,
    several: bool = False,
    weights: np.ndarray | None = None,
    more: tuple[np.ndarray, np.ndarray, float] | None = None,
    prior: Prior | None = None,
    norms: np.ndarray | None = None,
) -> Fitted:
    """Fit vectors X (n, size) with labels Y (n, classes), 1 for the classes of a text and 0 for others.

    `weights` (n,) says what each text counts. `more` has further vectors of some texts, such as of their
    marked words: the numbers of the texts (m,), the vectors (m, size), and what each counts. The `prior` has
    sums (classes, size) of vectors minus the centre, and how many texts each stands for (classes,). `norms`
    has those of the space (n,), for a caller who keeps them: they are half of the work.
    """
    D, Y = (X - space.centre).astype(np.float32), Y.astype(np.float32)
    alone = np.ones(len(X), np.float32) if weights is None else weights.astype(np.float32)
    given, w = D * alone[:, None], alone.copy()  # what each text adds to its classes, and what it counts
    if more is not None:
        np.add.at(given, more[0], more[2] * (more[1] - space.centre))
        np.add.at(w, more[0], more[2])
    sums, counts = Y.T @ given, w @ Y  # (classes, size), (classes,)
    if more is None:  # the text alone
        q = space.norms(X) if norms is None else norms
        own = _Own(w, q * w, q * w**2, None)
    else:
        A_given = given @ space.A
        own = _Own(w, (D * A_given).sum(axis=1), (given * A_given).sum(axis=1), given)
    side = _Side(D, own, space, sums, counts, prior)
    W, b, scores = side.W, side.b, side.without(Y)
    if several:
        rest = _Side(D, own, space, given.sum(axis=0) - sums, w.sum() - counts, None)
        W, b, scores = W - rest.W, b - rest.b, scores - rest.without(1 - Y)
    usual, without = (0.0, 0.0) if several else _frequencies(Y, alone)
    T = _temperature(scores, Y, several, without)
    return Fitted(W, b + T * usual - W @ space.centre, T, several, scores / np.float32(T) + without)


class _Own(NamedTuple):
    """What each text d adds to a class: how much it counts, d' A g, g' A g, and g, unless that is w d."""

    w: np.ndarray
    d_g: np.ndarray
    g_g: np.ndarray
    given: np.ndarray | None


class _Side:
    """Means of classes, from sums and counts, and the scores of the texts D (n, size) in them."""

    def __init__(
        self,
        D: np.ndarray,
        own: _Own,
        space: Space,
        sums: np.ndarray,
        counts: np.ndarray,
        prior: Prior | None,
    ) -> None:
        if prior is not None:
            sums, counts = sums + prior[0].astype(np.float32), counts + prior[1].astype(np.float32)
        self._D, self._own, self._n = D, own, counts + SHRINK
        self.W = sums / self._n[:, None] @ space.A
        self._norms = (self.W * sums).sum(axis=1) * self._n  # (classes,): s' A s
        self.b = -0.5 * self._norms / self._n**2

    def without(self, Y: np.ndarray) -> np.ndarray:
        """(n, classes): scores in which no text counts towards the means of its own classes Y."""
        w, d_g, g_g, given = (each if each is None or each.ndim > 1 else each[:, None] for each in self._own)
        d_s = self._D @ self.W.T * self._n  # d' A s
        g_s = w * d_s if given is None else given @ self.W.T * self._n
        n = self._n - Y * w
        norms = self._norms - Y * (2 * g_s - g_g)  # of the sums without the text
        return np.asarray((d_s - Y * d_g) / n - 0.5 * norms / n**2)


def _frequencies(Y: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The logarithm of how frequent classes are (classes,), and the same without each text (n, classes).

    Texts accepted together are as many as a person chose: then counts say nothing, and classes count alike.
    """
    own = Y * np.all(w >= 1)
    counts = own.sum(axis=0)
    a = _evenness(counts)
    usual, without = (np.log((n + a) / (n + a).sum(axis=-1, keepdims=True)) for n in (counts, counts - own))
    return usual.astype(np.float32), without.astype(np.float32)


def _evenness(counts: np.ndarray) -> float:
    """Texts to add to each class: those of the Dirichlet distribution under which the counts are likeliest.

    >>> _evenness(np.array([5.0, 5, 5, 5])) > _evenness(np.array([17.0, 1, 1, 1]))
    True
    """
    a, whole = EVENNESS[:, None], np.ceil(counts).astype(int)
    above = len(whole) - np.bincount(whole).cumsum()[:-1]  # (k,): classes with more than k texts
    likely = (above * np.log(a + np.arange(len(above)))).sum(axis=1)
    likely -= np.log(a * len(whole) + np.arange(whole.sum())).sum(axis=1)
    return float(EVENNESS[likely.argmax()])


def _temperature(scores: np.ndarray, Y: np.ndarray, several: bool, add: np.ndarray | float) -> float:
    """The one with the least loss on texts left out, of which it falls before and rises after the best."""
    if len(Y) < MIN_LABELS:
        return DEFAULT_TEMPERATURE
    some = slice(None, None, max(1, len(Y) // MAX_SAMPLE))
    S, Y, add = scores[some], Y[some], np.broadcast_to(add, scores.shape)[some]
    low, high = 0, len(TEMPERATURES) - 1
    while low < high:
        middle = (low + high) // 2
        here, there = (_loss(S / TEMPERATURES[k] + add, Y, several) for k in (middle, middle + 1))
        low, high = (low, middle) if here <= there else (middle + 1, high)
    return float(TEMPERATURES[low])


def _loss(logits: np.ndarray, Y: np.ndarray, several: bool) -> float:
    P = to_probabilities(logits, several)
    right = np.where(Y > 0, P, 1 - P) if several else (P * Y).sum(axis=1)
    return float(-np.log(np.maximum(right, 1e-6)).mean())


def _entropy(counts: np.ndarray) -> float:
    p = counts[counts > 0] / max(float(counts.sum()), 1e-9)
    return float(-(p * np.log(p)).sum())


def describe(vectors: np.ndarray, centre: np.ndarray, weight: float = DESCRIPTION_WEIGHT) -> Prior:
    """The prior of sentences (classes, size) about the classes; rows of zeros are classes without one.

    What all the sentences have in common is how people describe, not what: it is taken out.
    """
    known = np.abs(vectors).sum(axis=1) > 0
    counts = np.where(known, weight, 0.0)
    common = vectors[known].mean(axis=0) if known.sum() > 1 else centre
    return (vectors - common) * counts[:, None], counts
