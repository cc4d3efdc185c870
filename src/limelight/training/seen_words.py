"""The vectors of the words that occur in the training data: all that Adam ever moves."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor

from ..model.encoder import Words
from ..text.dataset import Split
from ..text.tokenizer import PAD

CHUNK = 2**22


class Occurring:
    """A copy of the table's rows that have a gradient at some time, one after another.

    Adam goes on moving a word that once had a gradient, so it works on all rows at every step. Those of spare
    words have a mean and a square of zero forever and stay as they are: without them the result is the same.
    """

    def __init__(self, words: Words, split: Split) -> None:
        self.words = words
        self.ids = torch.from_numpy(np.flatnonzero(_occurs(split, len(words.weight))))
        self.places = torch.zeros(len(words.weight), dtype=torch.int64)
        self.places[self.ids] = torch.arange(len(self.ids))
        self.rows = words.weight.detach()[self.ids].requires_grad_()

    @contextmanager
    def read(self) -> Iterator[None]:
        """Meanwhile, the network reads these rows instead of the table's."""
        self.words.part = (self.rows, self.places)
        try:
            yield
        finally:
            self.words.part = None

    @torch.no_grad()
    def store(self) -> None:
        """Bring the table up to date."""
        self.words.weight[self.ids] = self.rows

    @torch.no_grad()
    def fetch(self) -> None:
        """The inverse of `store`."""
        self.rows.copy_(self.words.weight[self.ids])

    def spread(self, rows: Tensor, others: Tensor) -> Tensor:
        """What belongs to these rows among what belongs to all others: for the whole table."""
        whole = others.detach().clone()
        whole[self.ids] = rows
        return whole


def _occurs(split: Split, words: int) -> np.ndarray:
    """(words,): whether a word occurs in the split; padding always does, as the first row."""
    occurs = np.zeros(words, dtype=bool)
    occurs[PAD] = True
    for ids in (split.ids, split.ids2):
        if ids is not None:
            for start in range(0, len(ids), CHUNK):  # they may not fit into memory
                occurs[ids[start : start + CHUNK]] = True
    return occurs
