"""Where the words of a padded batch are."""

from __future__ import annotations

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
