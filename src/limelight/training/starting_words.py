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
CHUNK = 4096  # sentences at a time


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
    chunks = [rows[k : k + CHUNK] for k in range(0, len(rows), CHUNK)]
    batches = [_batch(split, some, known, device) for some in chunks]
    found = (torch.from_numpy(vectors[some].astype(np.float32)).to(device) for some in chunks)
    targets = [torch.nn.functional.normalize(t, dim=1) for t in found]
    mean = torch.cat([t.mean(0, keepdim=True) for t in targets]).mean(0)
    W = torch.zeros(known, vectors.shape[1], device=device)
    residual = torch.zeros_like(W)
    for (ids, place, share, _), t in zip(batches, targets, strict=True):
        residual.index_add_(0, ids, (t - mean)[place] * share)
    direction, norm = residual.clone(), residual.square().sum()
    for _ in range(ROUNDS):
        moved = RIDGE * direction
        for ids, place, share, count in batches:
            sums = direction.new_zeros(count, direction.shape[1]).index_add_(0, place, direction[ids] * share)
            moved.index_add_(0, ids, sums[place] * share)
        step = norm / (direction * moved).sum().clamp(min=1e-12)
        W += step * direction
        residual -= step * moved
        before, norm = norm, residual.square().sum()
        direction = residual + norm / before.clamp(min=1e-12) * direction
    return np.asarray(W.cpu().numpy())


def _batch(
    split: Split, rows: np.ndarray, known: int, device: torch.device
) -> tuple[Tensor, Tensor, Tensor, int]:
    """The known words of some sentences, the sentence of each, and its share of that sentence."""
    lengths = np.asarray(split.lengths[rows], np.int64)
    ends = np.cumsum(lengths)
    at = np.arange(ends[-1]) - np.repeat(ends - lengths, lengths) + np.repeat(split.starts[rows], lengths)
    ids, place = np.asarray(split.ids[at], np.int64), np.repeat(np.arange(len(rows)), lengths)
    share = np.repeat(1 / lengths, lengths).astype(np.float32)[:, None]
    words, sentences, shares = (torch.from_numpy(x[ids < known]).to(device) for x in (ids, place, share))
    return words, sentences, shares, len(rows)
