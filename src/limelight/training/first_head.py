"""The classifier that training from a reader starts with: logistic regression on the reader's vectors.

For several labels a text it is one for each label, and for numbers ridge regression.

A random classifier would pull the reader towards itself before it has learnt anything. This one is convex: it
has one solution, and with few rows it already is most of what can be learnt. How strongly it is regularised
is chosen by cross-validation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..network.torch.heads import VectorHead
from ..network.torch.network import Network
from ..text.batches import as_targets
from ..text.dataset import Split
from ..text.tasks import find_task
from .last_layer import draw_rows, last_layer, minimise, read_features, weights_at
from .objectives import Objective, RowFigures, cross_entropy, objective_of

STRENGTHS = (1.0, 3.0, 10.0, 30.0)  # inverse regularisation, scikit-learn's C, for vectors of length 1
USUAL = 10.0  # where there are too few rows to choose
OF_PAIRS = 0.1  # of what is added to the cosine: as good with 20 pairs as with thousands
FOLDS = 5
FEW = 1000  # rows; with more, training decides
MOST = 4000  # rows that the classifier is fitted to
LITTLE = 1e-4  # of a penalty that should be none, but the matrix must not be singular


class FirstHead(NamedTuple):
    """What was fitted; `score` is the accuracy of cross-validation, or another objective's measure."""

    strength: float
    score: float | None


@torch.no_grad()
def fit_first_head(
    network: Network, split: Split, weights: np.ndarray | None, seed: int, task: str = "classification"
) -> FirstHead:
    """Fit the network's `VectorHead` to a split; the reader itself stays as it is."""
    rows = draw_rows(split, MOST, seed)
    last, bias = last_layer(network)
    v = read_features(network, split, rows)
    scale = v.norm(dim=1).mean()
    v = v / scale
    labels, objective = np.asarray(split.labels)[rows], objective_of(task)
    y = torch.from_numpy(as_targets(labels)).to(last.device)
    w = weights_at(rows, weights, v)
    found = FirstHead(USUAL, None)
    if network.pair and task == "regression":
        found = FirstHead(OF_PAIRS, None)
        W, b = fit_ridge(v, y, w, found.strength, _cosine(v.shape[1]).to(v))
    else:
        if 2 * len(bias) <= len(rows) <= FEW:
            fold = torch.from_numpy(_folds(find_task(task).strata(labels), seed)).to(last.device)
            found = _cross_validate(v, y, w, len(bias), fold, objective)
        W, b = fit_linear(v, y, w, len(bias), found.strength, objective.losses)
    if isinstance(network.head, VectorHead):
        network.head.scale.div_(scale)
    else:
        W /= scale
    last.copy_(W)
    bias.copy_(b)
    return found


def _cosine(size: int) -> Tensor:
    """(size,), of length 1: the weights of [u; v; |u-v|; u*v] whose sum is the cosine, but for its scale."""
    direction = torch.zeros(size)
    direction[-(size // 4) :] = (size // 4) ** -0.5
    return direction


def fit_ridge(v: Tensor, y: Tensor, w: Tensor, strength: float, free: Tensor) -> tuple[Tensor, Tensor]:
    """Ridge regression, as by `fit_linear`, but without a penalty in the direction `free` (v,), of length 1.

    >>> v = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]).double()
    >>> W, b = fit_ridge(v, 3 * v.sum(1), torch.ones(3), strength=1.0, free=torch.ones(2) / 2**0.5)
    >>> W.round(decimals=2).tolist(), b.abs().round(decimals=2).tolist()
    ([[3.0, 3.0]], [0.0])
    """
    w, y, free = w.to(v), y.to(v), free.to(v)
    mean, middle = (w @ v) / w.sum(), (w @ y) / w.sum()
    X = v - mean
    penalty = torch.eye(v.shape[1]).to(v) - (1 - LITTLE) * torch.outer(free, free)
    W = torch.linalg.solve(
        2 * strength * X.T @ (X * w[:, None]) + penalty, 2 * strength * X.T @ (w * (y - middle))
    )
    return W[None], (middle - mean @ W)[None]


def _cross_validate(
    v: Tensor, y: Tensor, w: Tensor, classes: int, fold: Tensor, objective: Objective
) -> FirstHead:
    """The strength with the least loss on rows left out."""
    losses, scores = [0.0] * len(STRENGTHS), [0.0] * len(STRENGTHS)
    for k in range(FOLDS):
        rest, out = fold != k, fold == k
        start = None
        for i, strength in enumerate(STRENGTHS):
            start = fit_linear(v[rest], y[rest], w[rest], classes, strength, objective.losses, start)
            logits = v[out] @ start[0].T + start[1]
            losses[i] += float((objective.losses(logits, y[out]) * w[out]).sum())
            scores[i] += float(objective.scores(logits, y[out]).sum())
    best = int(np.argmin(losses))
    return FirstHead(STRENGTHS[best], scores[best] / len(y))


def _folds(labels: np.ndarray, seed: int) -> np.ndarray:
    """(rows,): each class spread evenly over the folds, so that every fold has about as many rows."""
    order = np.random.default_rng(seed).permutation(len(labels))
    fold = np.empty(len(labels), dtype=np.int64)
    fold[order[np.argsort(labels[order], kind="stable")]] = np.arange(len(labels)) % FOLDS
    return fold


def fit_linear(
    v: Tensor,
    y: Tensor,
    w: Tensor,
    classes: int,
    strength: float,
    losses: RowFigures = cross_entropy,
    start: tuple[Tensor, Tensor] | None = None,
) -> tuple[Tensor, Tensor]:
    """A linear model with an L2 penalty, as scikit-learn defines it: W (classes, v), b.

    The losses make it logistic regression (C is the strength) or ridge regression (alpha is 1 / (2 C)).

    >>> v, y = torch.tensor([[1.0], [-1.0]]).double(), torch.tensor([0, 1])
    >>> W, b = fit_linear(v, y, torch.ones(2).double(), classes=2, strength=1.0)
    >>> W.shape, bool(W[0] > W[1])
    (torch.Size([2, 1]), True)
    """
    W = v.new_zeros(classes, v.shape[1]) if start is None else start[0].clone()
    b = v.new_zeros(classes) if start is None else start[1].clone()
    return minimise(W, b, lambda: strength * (losses(v @ W.T + b, y) * w).sum() + W.square().sum() / 2)
