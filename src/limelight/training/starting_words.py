"""The word vectors that training starts from: the largest single gain, as measured in docs/log."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ..text.dataset import Split
from .teacher import Vectors

SPREAD = 0.3  # standard deviation of the starting vectors
SAMPLE = 20_000  # words whose principal components are found
SENTENCES, ROUNDS, RIDGE = 200_000, 12, 1.0  # for `fit_words`


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


def start_grams(words: Tensor, buckets: Tensor, count: int) -> Tensor:
    """(count + 1, d): each n-gram starts as twice the mean of the words that have it.

    `buckets` (words, grams) has the n-grams of each word, 0 for none.
    """
    total, number = words.new_zeros(count + 1, words.shape[1]), words.new_zeros(count + 1, 1)
    for column in buckets.long().T:
        total.index_add_(0, column, words)
        number.index_add_(0, column, words.new_ones(len(words), 1))
    grams = 2 * total / number.clamp(min=1)
    grams[0] = 0
    return grams


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
    residual = X.T @ (targets - targets.mean(0)).to(device)
    W, direction, norm = torch.zeros_like(residual), residual.clone(), residual.square().sum()
    for _ in range(ROUNDS):
        moved = RIDGE * direction + X.T @ (X @ direction)
        step = norm / (direction * moved).sum().clamp(min=1e-12)
        W += step * direction
        residual -= step * moved
        before, norm = norm, residual.square().sum()
        direction = residual + norm / before.clamp(min=1e-12) * direction
    return np.asarray(W.cpu().numpy())


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
