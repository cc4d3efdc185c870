"""A module of the user's own as the encoder, checked where it is called; and states of pieces to words."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ...errors import LimelightError
from ...text.tokenizer import SPECIAL
from .lstm.bilstm import mask


class ModuleEncoder(nn.Module):
    """Calls the user's module (network/modules.py) and holds it to its contract.

    >>> class Letters(nn.Module):
    ...     size, reads = 1, "words"
    ...     def forward(self, words):
    ...         counts = [torch.tensor([[float(len(word))] for word in text]) for text in words]
    ...         return nn.utils.rnn.pad_sequence(counts, batch_first=True)
    >>> encoder = ModuleEncoder(Letters(), size=1, words=("<pad>", "<unk>", "good", "soup!"))
    >>> encoder.of_ids(torch.tensor([[2, 3], [3, 0]]), torch.tensor([2, 1]))[..., 0].tolist()
    [[4.0, 5.0], [5.0, 0.0]]
    """

    def __init__(self, module: nn.Module, size: int, words: Sequence[str] = ()) -> None:
        super().__init__()
        self.module, self.size, self.words = module, size, words
        self.register_buffer("like", torch.zeros(()), persistent=False)  # where states go, and in which type
        self.like: Tensor

    def forward(self, S: Tensor, lengths: Tensor) -> Tensor:
        """S (batch, n, d) -> H (batch, n, size), zero on padding."""
        return self._checked(self.module(S, lengths), lengths, S.shape[1])

    def of_ids(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """The same from the words with these ids (batch, n), of a module that reads words."""
        rows = zip(ids.tolist(), lengths.tolist(), strict=True)
        words = [[self.words[k] if k >= len(SPECIAL) else "" for k in row[:n]] for row, n in rows]
        longest = max(map(len, words), default=0)
        H = self._checked(self.module(words), lengths, longest)
        return nn.functional.pad(H, (0, 0, 0, ids.shape[1] - longest))

    def _checked(self, H: Tensor, lengths: Tensor, n: int) -> Tensor:
        wanted = (len(lengths), n, self.size)
        if not isinstance(H, Tensor) or H.shape != wanted or not H.is_floating_point():
            found = f"{H.dtype} {tuple(H.shape)}" if isinstance(H, Tensor) else f"a {type(H).__name__}"
            wrong = f"the encoder returned {found}; it must return states of shape {wanted}"
            raise LimelightError(f"{wrong}: a state for each word", code="encoder-output")
        return H.to(self.like).masked_fill(~mask(lengths, n).unsqueeze(2), 0)


def mean_of_pieces(states: Tensor, places: Tensor, n: int) -> Tensor:
    """States of words (batch, n, size), each the mean of its pieces'; zero for a word without pieces.

    For a transformer, whose tokenizer cuts words into pieces: `states` (batch, m, size) are of the pieces,
    `places` (batch, m) says which word of its text each belongs to, -1 for none, as [CLS] and padding.

    >>> states = torch.tensor([[[9.0], [1.0], [3.0], [5.0]]])
    >>> mean_of_pieces(states, torch.tensor([[-1, 0, 0, 1]]), n=3).tolist()
    [[[2.0], [5.0], [0.0]]]
    """
    batch, _, size = states.shape
    index = torch.where(places < 0, n, places)  # pieces of no word go behind the last one
    sums = states.new_zeros(batch, n + 1, size).scatter_add(1, index.unsqueeze(2).expand_as(states), states)
    counts = states.new_zeros(batch, n + 1).scatter_add(1, index, torch.ones_like(index, dtype=states.dtype))
    return sums[:, :n] / counts[:, :n].clamp(min=1).unsqueeze(2)
