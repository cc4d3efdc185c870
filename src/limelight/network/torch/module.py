"""Modules of the user's own, checked where they are called; and states of pieces to words."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from ...errors import LimelightError
from ...text.tokenizer import SPECIAL
from .shared import mask


class ModuleEncoder(nn.Module):
    """Calls the user's module (network/modules.py) and holds it to its contract."""

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


class ModulePooling(nn.Module):
    """Calls the user's pooling and holds it to its contract."""

    def __init__(self, module: nn.Module, rows: int) -> None:
        super().__init__()
        self.module, self.rows = module, rows

    def forward(self, H: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """H (batch, n, size) -> M (batch, rows, size), A (batch, rows, n), zero on padding."""
        found = self.module(H, lengths)
        batch, n, size = H.shape
        wanted = (batch, self.rows, size), (batch, self.rows, n)
        if not isinstance(found, tuple) or [getattr(each, "shape", None) for each in found] != list(wanted):
            shown = [tuple(getattr(x, "shape", ())) for x in found] if isinstance(found, tuple) else found
            wrong = f"the pooling returned {str(shown)[:80]}; it must return M and A of shapes {wanted}"
            raise LimelightError(wrong, code="pooling-output")
        M, A = found
        return M.to(H.dtype), A.to(H.dtype).masked_fill(~mask(lengths, n).unsqueeze(1), 0)

    @torch.no_grad()
    def without_words(self, H: np.ndarray, words: slice) -> np.ndarray:
        """(k, rows, size): M without each of the `words` of a text, from its states H (n, size)."""
        places = range(len(H))[words]
        if len(H) == 1:
            return np.zeros((len(places), self.rows, H.shape[1]), H.dtype)
        weights = next(self.parameters(), torch.empty(0))
        left = torch.from_numpy(np.stack([np.delete(H, t, axis=0) for t in places])).to(weights)
        M, _ = self(left, torch.full((len(left),), len(H) - 1, device=left.device))
        return np.asarray(M.float().cpu().numpy())


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
