"""A classifier over frozen vectors that is fitted in closed form, in milliseconds, after every label.

Each class is the mean of its vectors, and a text belongs to the class whose mean is nearest. With the centre
g of all texts and the sum s_c of the n_c in a class,

    m_c = s_c / (n_c + SHRINK)              (x - g) is drawn from around m_c
    score_c(x) = (x - g)' A m_c - m_c' A m_c / 2

A class without a text has m_c = 0 and so the score 0: a text that is like none of the others belongs there
before it belongs to them. A sentence that describes a class counts as a part of a text.

All directions count alike (A = 1), as the reader has weighed them, or those in which the texts of a class
differ count less (linear discriminant analysis): A = v (N + n) (N v 1 + S)^-1, with S the scatter of the n
labelled texts around their means, and N = EVEN_TEXTS scattered by the mean variance v of all texts. The one
with the lower loss on texts left out is taken.

To the logits, which are scores over a temperature, comes the logarithm of how frequent each class is: its
labels, and as many texts added to each class as the counts themselves suggest. Those of many classes differ
by chance even if all are as frequent, and then many are added.

Where a text may have several labels, each class is set against the mean of the texts without it, and A = 1.

What the score of a text would be without that text is exact: its class has another mean, and S changes by one
direction. The temperature that turns scores into probabilities is chosen on these scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..text.tasks import CLASSIFICATION, MULTI_LABEL, Task

Prior = tuple[np.ndarray, np.ndarray]
SHRINK = 2.0  # texts at the centre that each class starts with
EVEN_TEXTS = 1000.0  # texts that are scattered alike in all directions, beside the labelled ones
TEMPERATURES = np.geomspace(0.01, 0.3, 12).astype(np.float32)
EVENNESS = np.geomspace(0.3, 300, 13)  # texts added to each class: many where all are about as frequent
DEFAULT_TEMPERATURE = 0.07  # as long as there are too few labels to choose
MIN_LABELS, MAX_SAMPLE = 5, 400  # labels to choose it by: at least, and about at most
DESCRIPTION_WEIGHT = 1.0  # texts that the description of a class counts for


class Space(NamedTuple):
    """The centre g of the texts (size,), and their mean variance v in a direction."""

    centre: np.ndarray
    variance: float

    @classmethod
    def of(cls, X: np.ndarray) -> Space:
        """From vectors X (n, size) of texts, with or without labels."""
        centre = X.mean(axis=0, dtype=np.float64)
        variance = float(((X - centre) ** 2).mean())
        return cls(centre.astype(np.float32), max(variance, 1e-12))


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
        return task_of(self.several).activate(self.logits(X))


def task_of(several: bool) -> Task:
    """What turns logits into probabilities, of one class each or of each class by itself."""
    return MULTI_LABEL if several else CLASSIFICATION


def is_correct(logits: np.ndarray, Y: np.ndarray, several: bool = False) -> np.ndarray:
    """(n,): whether each text gets the label that it has: all of its labels, where it may have several."""
    if several:
        return np.asarray(((logits > 0) == (Y > 0)).all(axis=1))
    return np.asarray(logits.argmax(axis=1) == Y.argmax(axis=1))


def fit(
    X: np.ndarray,
    Y: np.ndarray,
    space: Space,
    *,
    several: bool = False,
    weights: np.ndarray | None = None,
    more: tuple[np.ndarray, np.ndarray, float] | None = None,
    prior: Prior | None = None,
) -> Fitted:
    """Fit vectors X (n, size) with labels Y (n, classes), 1 for the classes of a text and 0 for others.

    `weights` (n,) says what each text counts. `more` has further vectors of some texts, such as of their
    marked words: the numbers of the texts (m,), the vectors (m, size), and what each counts. The `prior` has
    sums (classes, size) of vectors minus the centre, and how many texts each stands for (classes,).
    """
    D, Y = (X - space.centre).astype(np.float32), Y.astype(np.float32)
    alone = np.ones(len(X), np.float32) if weights is None else weights.astype(np.float32)
    given, w = D * alone[:, None], alone.copy()
    if more is not None:
        np.add.at(given, more[0], more[2] * (more[1] - space.centre))
        np.add.at(w, more[0], more[2])
    texts = _Texts(D, given, w)
    usual, without = (np.float32(0), np.float32(0)) if several else _frequencies(Y, alone)
    both = [_Scores.alike(texts, Y, prior, several)]
    if not several and len(Y) >= MIN_LABELS:
        both.append(_Scores.by_scatter(texts, Y, prior, space.variance))
    found = []
    for W, b, left_out in both:
        T = _temperature(left_out, Y, several, without)
        logits = left_out / np.float32(T) + without
        fitted = Fitted(W, b + np.float32(T) * usual - W @ space.centre, T, several, logits)
        found.append((_loss(logits, Y, several) if len(Y) else 0.0, fitted))
    return min(found, key=lambda each: each[0])[1]


class _Texts(NamedTuple):
    """The texts: minus the centre, what each adds to its classes, with marked words, and what that counts."""

    D: np.ndarray  # (n, size)
    given: np.ndarray  # (n, size)
    w: np.ndarray  # (n,)


class _Means:
    """Those of the classes, which a text's own classes Y have without it."""

    def __init__(self, texts: _Texts, Y: np.ndarray, prior: Prior | None) -> None:
        sums, counts = Y.T @ texts.given, texts.w @ Y
        if prior is not None:
            sums, counts = sums + prior[0].astype(np.float32), counts + prior[1].astype(np.float32)
        self._texts, self._Y, self.n = texts, Y, counts + np.float32(SHRINK)
        self.M = sums / self.n[:, None]  # (classes, size)

    def scores(self, W: np.ndarray, given_A: np.ndarray) -> _Scores:
        """By the metric A, from the means and what texts add (n, size), both times A."""
        D, given, w = self._texts
        norms, less = (W * self.M).sum(axis=1), self._Y * w[:, None]  # m' A m
        to_given, own = given @ W.T, (given * given_A).sum(axis=1, keepdims=True)
        without = (self.n**2 * norms - self._Y * (2 * self.n * to_given - own)) / (self.n - less) ** 2
        return _Scores(W, -0.5 * norms, self.products(D, W, given_A) - 0.5 * without)

    def products(self, V: np.ndarray, W: np.ndarray, given_A: np.ndarray) -> np.ndarray:
        """(n, classes): v' A m, of means without the text whose vector v is."""
        own = (V * given_A).sum(axis=1, keepdims=True)
        return np.asarray((self.n * (V @ W.T) - self._Y * own) / (self.n - self._Y * self._texts.w[:, None]))


class _Scores(NamedTuple):
    """W (classes, size) and b (classes,), for vectors minus the centre, and the scores of texts left out."""

    W: np.ndarray
    b: np.ndarray
    left_out: np.ndarray  # (n, classes)

    @classmethod
    def alike(cls, texts: _Texts, Y: np.ndarray, prior: Prior | None, several: bool) -> _Scores:
        means = _Means(texts, Y, prior)
        found = means.scores(means.M, texts.given)
        if not several:
            return found
        means = _Means(texts, 1 - Y, None)
        rest = means.scores(means.M, texts.given)
        return cls(*(a - b for a, b in zip(found, rest, strict=True)))

    @classmethod
    def by_scatter(cls, texts: _Texts, Y: np.ndarray, prior: Prior | None, variance: float) -> _Scores:
        means, w, own = _Means(texts, Y, prior), texts.w, Y.argmax(axis=1)
        all_w = np.float32(EVEN_TEXTS + w.sum())
        single = texts.given / np.sqrt(w)[:, None]  # a text and its marked words are one vector
        S = single.T @ single - (means.M * means.n[:, None]).T @ means.M
        if prior is not None:
            told = prior[0] / np.sqrt(np.maximum(prior[1], 1e-9))[:, None]
            S = S + (told.T @ told).astype(np.float32)
        even, scale = np.float32(EVEN_TEXTS * variance), np.float32((EVEN_TEXTS + w.sum()) * variance)
        A = scale * np.linalg.inv(S + even * np.eye(len(S), dtype=np.float32))
        given_A = texts.given @ A
        W, b, left_out = means.scores(means.M @ A, given_A)
        U = texts.given / w[:, None] - means.M[own]  # without a text S is less by a multiple of u u'
        U_A = given_A / w[:, None] - W[own]
        n = means.n[own]
        share = w * n / (n - w) / (all_w * np.float32(variance))
        grow = share / np.maximum(1 - share * (U * U_A).sum(axis=1), np.float32(1e-6))  # Sherman-Morrison
        to_u = means.products(U, W, given_A)
        left_out = left_out + grow[:, None] * ((texts.D * U_A).sum(axis=1, keepdims=True) - to_u / 2) * to_u
        return cls(W, b, left_out * ((all_w - w) / all_w)[:, None])


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
    """Texts to add to each class: of the Dirichlet distribution under which the counts are likeliest."""
    a, whole = EVENNESS[:, None], np.ceil(counts).astype(int)
    above = len(whole) - np.bincount(whole).cumsum()[:-1]  # (k,): classes with more than k texts
    likely = (above * np.log(a + np.arange(len(above)))).sum(axis=1)
    likely -= np.log(a * len(whole) + np.arange(whole.sum())).sum(axis=1)
    return float(EVENNESS[likely.argmax()])


def _temperature(scores: np.ndarray, Y: np.ndarray, several: bool, add: np.ndarray | np.float32) -> float:
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
    P = task_of(several).activate(logits)
    right = np.where(Y > 0, P, 1 - P) if several else (P * Y).sum(axis=1)
    return float(-np.log(np.maximum(right, 1e-6)).mean())


def describe(vectors: np.ndarray, centre: np.ndarray, weight: float = DESCRIPTION_WEIGHT) -> Prior:
    """The prior of sentences (classes, size) about the classes; rows of zeros are classes without one.

    What all the sentences have in common is how people describe, not what: it is taken out.
    """
    known = np.abs(vectors).sum(axis=1) > 0
    counts = np.where(known, weight, 0.0)
    common = vectors[known].mean(axis=0) if known.sum() > 1 else centre
    return (vectors - common) * counts[:, None], counts
