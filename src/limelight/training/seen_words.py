"""The vectors of the words seen in the training data: the only ones Adam ever changes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor

from ..network.torch.encoder import WordEmbedding
from ..text.dataset import Split
from ..text.tokenizer import PAD

CHUNK = 2**22


class SeenWords:
    """A compact copy of the rows of the word table that occur in a split.

    Adam keeps moving a word after its gradient is gone, so it updates all rows at every step. Words that
    never occur keep a mean and a square of zero and never move: without them, the result is the same.
    """

    def __init__(self, words: WordEmbedding, split: Split) -> None:
        self.words = words
        self.ids = torch.from_numpy(np.flatnonzero(_occurs(split, len(words.weight))))
        self.places = torch.zeros(len(words.weight), dtype=torch.int64)
        self.places[self.ids] = torch.arange(len(self.ids))
        self.rows = words.weight.detach()[self.ids].requires_grad_()

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Let the network read these rows in place of the table's."""
        self.words.row_subset = (self.rows, self.places)
        try:
            yield
        finally:
            self.words.row_subset = None

    @torch.no_grad()
    def store(self) -> None:
        """Write the rows back into the table."""
        self.words.weight[self.ids] = self.rows

    @torch.no_grad()
    def load(self) -> None:
        """Read the rows from the table."""
        self.rows.copy_(self.words.weight[self.ids])

    def expand(self, rows: Tensor, table: Tensor) -> Tensor:
        """A copy of a whole table with these rows in their places."""
        whole = table.detach().clone()
        whole[self.ids] = rows
        return whole


def _occurs(split: Split, words: int) -> np.ndarray:
    """(words,): whether a word occurs in the split; padding always counts, as the first row."""
    occurs = np.zeros(words, dtype=bool)
    occurs[PAD] = True
    for ids in (split.ids, split.ids2):
        if ids is not None:
            for start in range(0, len(ids), CHUNK):  # they may be larger than memory
                occurs[ids[start : start + CHUNK]] = True
    return occurs
