"""Where the words of a padded batch are, and the order in which the recurrence reads them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor


def mask(lengths: Tensor, n: int) -> Tensor:
    """(batch, n): True on words, False on padding.

    >>> mask(torch.tensor([2, 1]), 3).tolist()
    [[True, True, False], [True, False, False]]
    """
    return torch.arange(n, device=lengths.device) < lengths[:, None]


def reversal(lengths: Tensor, n: int) -> Tensor:
    """(batch, n): where each word of the reversed sentences comes from; padding stays put.

    >>> reversal(torch.tensor([3, 1]), 4).tolist()
    [[2, 1, 0, 3], [0, 1, 2, 3]]
    """
    t = torch.arange(n, device=lengths.device)
    return torch.where(t < lengths[:, None], lengths[:, None] - 1 - t, t)


class Packing(NamedTuple):
    """Words in time-step order, for each direction.

    A place is a word in the padded (batch * n) layout; a half place is its half of H for one direction.
    """

    read: Tensor  # (2 * words,): the place each direction reads
    write: Tensor  # (2 * words,): the half place it writes
    source: Tensor  # (batch * n * 2,): the inverse of `write`; 2 * words on padding
    before: Tensor  # (words - batch,): index of the previous word, for all words but first ones
    sizes: list[int]  # sentences still running at each time step


def pack(lengths: Tensor, n: int) -> Packing:
    """The longest sentence first, without padding. In numpy, whose small operations are cheaper."""
    order = np.argsort(-lengths.numpy(), kind="stable")
    longest_first = lengths.numpy()[order]
    if longest_first[0] > n:
        raise ValueError(f"a sentence of {longest_first[0]} words does not fit into a batch of width {n}")
    running = np.arange(longest_first[0])[:, None] < longest_first  # (steps, batch)
    sizes = running.sum(1)
    t, i = running.nonzero()
    read = order[i] * n + np.stack([t, longest_first[i] - 1 - t])  # (2, words)
    write = 2 * read + [[0], [1]]
    source = np.full(len(order) * n * 2, write.size)
    source[write] = np.arange(write.size).reshape(write.shape)
    before = np.arange(sizes[0], len(t)) - np.repeat(sizes[:-1], sizes[1:])
    tensor = torch.from_numpy
    return Packing(
        tensor(read.ravel()), tensor(write.ravel()), tensor(source), tensor(before), sizes.tolist()
    )


def pack_static(lengths: Tensor, n: int) -> Packing:
    """With padding: no shape depends on the lengths, as a CUDA graph needs."""
    batch = len(lengths)
    i = torch.arange(batch, device=lengths.device)
    t = torch.arange(n, device=lengths.device)[:, None].expand(n, batch)
    times = torch.stack([t, reversal(lengths, n).T])  # (2, n, batch)
    direction = torch.arange(2, device=lengths.device)
    read = i * n + times
    write = 2 * read + direction[:, None, None]
    source = ((direction * n + times.permute(2, 1, 0)) * batch).add_(i[:, None, None])  # (batch, n, 2)
    before = torch.arange(batch * (n - 1), device=lengths.device)
    return Packing(read.flatten(), write.flatten(), source.flatten(), before, [batch] * n)
