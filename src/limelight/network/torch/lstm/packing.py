"""Where the words of a padded batch are, the order in which the recurrence reads them, and more units."""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn


def mask(lengths: Tensor, n: int) -> Tensor:
    """(batch, n): True on words, False on padding.

    >>> mask(torch.tensor([2, 1]), 3).tolist()
    [[True, True, False], [True, False, False]]
    """
    return torch.arange(n, device=lengths.device) < lengths[:, None]


def pad_units(W_ih: Tensor, W_hh: Tensor, b: Tensor, more: int) -> tuple[Tensor, Tensor, Tensor]:
    """The same LSTM with more units: their weights are zero, hence their states, and they change nothing."""
    u, pad = W_hh.shape[2], nn.functional.pad
    W_ih = pad(W_ih.unflatten(1, (4, u)), (0, 0, 0, more)).flatten(1, 2)
    W_hh = pad(W_hh.unflatten(1, (4, u)), (0, more, 0, more)).flatten(1, 2)
    return W_ih, W_hh, pad(b.unflatten(1, (4, u)), (0, more)).flatten(1, 2)


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
