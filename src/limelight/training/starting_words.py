"""The word vectors that training starts from: the largest single gain, as measured in docs/log."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ..text.dataset import Split
from .teacher import Vectors

SPREAD = 0.3  # standard deviation of the starting vectors
SAMPLE = 20_000  # words whose principal components are found
SENTENCES, RIDGE = 200_000, 1.0  # for `fit_words`
ROUNDS = 12  # of conjugate gradients
GRAM_RIDGE = 0.1  # for `start_grams`: a word is the mean of some twenty


def reduce_vectors(vectors: np.ndarray, size: int, seed: int) -> np.ndarray:
    """(words, size) float32: the principal components of word vectors, scaled; words without one get noise.

    A word without a vector is a row of zeros.

    >>> reduce_vectors(np.eye(4, 6), 3, seed=0).shape
    (4, 3)
    """
    found = vectors.any(axis=1)
    noise = np.random.default_rng(seed).normal(0, SPREAD, (len(vectors), size)).astype(np.float32)
    if not found.any():
        return noise
    centred = vectors[found].astype(np.float64)
    centred -= centred.mean(axis=0)
    _, axes = np.linalg.eigh(centred[:SAMPLE].T @ centred[:SAMPLE])
    axes = axes[:, ::-1][:, :size]  # the largest components first
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])])  # a fixed sign
    reduced = centred @ axes
    start = np.zeros_like(noise)
    start[found, : reduced.shape[1]] = reduced / max(reduced.std(axis=0).mean(), 1e-8) * SPREAD
    start[~found] = noise[~found]
    return start


@torch.no_grad()
def start_grams(table: Tensor, grams: Tensor, stems: Tensor, count: int) -> Tensor:
    """(count + 1, d): the n-grams that spell the known words best, with the other known words in them.

    `table` (words, d) has the vectors of all known words; `grams` and `stems` (words, ...) the pieces of
    each, 0 for none.
    """
    X = _means(grams, count + 1)
    rest = table - _means(stems, len(table)) @ table
    found = _ridge(X, rest * (grams > 0).any(1, keepdim=True), GRAM_RIDGE)
    found[0] = 0
    return found


def _means(rows: Tensor, size: int) -> Tensor:
    """(words, size), sparse: what takes the mean over the rows of a table that each word has, but for 0."""
    words, columns = rows.nonzero(as_tuple=True)
    share = 1 / (rows > 0).sum(1).float()[words]
    indices = torch.stack([words, rows[words, columns].long()])
    return torch.sparse_coo_tensor(indices, share, (len(rows), size), check_invariants=False).coalesce()


@torch.no_grad()
def fit_words(split: Split, vectors: Vectors, known: int, device: torch.device, seed: int) -> np.ndarray:
    """(known, vector): the word vectors whose mean over a sentence is nearest to the teacher's vector of it.

    Ridge regression by conjugate gradients over a sample of the sentences: where the teacher cannot be asked
    about single words.
    """
    random = np.random.default_rng([seed, 2])
    rows = np.sort(random.permutation(len(split))[:SENTENCES])
    X = _shares(split, rows, known).to(device)
    targets = torch.nn.functional.normalize(torch.from_numpy(vectors[rows].astype(np.float32)), dim=1)
    return np.asarray(_ridge(X, (targets - targets.mean(0)).to(device), RIDGE).cpu().numpy())


def _ridge(X: Tensor, Y: Tensor, strength: float) -> Tensor:
    """W for which X W is near Y, by conjugate gradients; X is sparse."""
    residual = X.T @ Y
    W, direction, norm = torch.zeros_like(residual), residual.clone(), residual.square().sum()
    for _ in range(ROUNDS):
        moved = strength * direction + X.T @ (X @ direction)
        step = norm / (direction * moved).sum().clamp(min=1e-12)
        W += step * direction
        residual -= step * moved
        before, norm = norm, residual.square().sum()
        direction = residual + norm / before.clamp(min=1e-12) * direction
    return W


def _shares(split: Split, rows: np.ndarray, known: int) -> Tensor:
    """(rows, known), sparse: the share that each known word has of each of these sentences."""
    lengths = np.asarray(split.lengths[rows], np.int64)
    ends = np.cumsum(lengths)
    at = np.arange(ends[-1]) - np.repeat(ends - lengths, lengths) + np.repeat(split.starts[rows], lengths)
    ids, place = np.asarray(split.ids[at], np.int64), np.repeat(np.arange(len(rows)), lengths)
    share = np.repeat(1 / lengths, lengths).astype(np.float32)
    indices, values = np.stack([place, ids])[:, ids < known], share[ids < known]
    parts, size = (torch.from_numpy(indices), torch.from_numpy(values)), (len(rows), known)
    return torch.sparse_coo_tensor(*parts, size, check_invariants=False).coalesce()
