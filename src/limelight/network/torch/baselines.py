"""The paper's two baselines: max pooling over H, and a CNN in place of the LSTM.

Max pooling has the attention's interface, (H, lengths) -> (M, A), with a single row; its A says which
words the values come from, so that every model can be explained.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .encoder import uniform
from .lstm.bilstm import mask


class MaxPooling(nn.Module):
    """Each unit's maximum over the words; A: the share of units whose maximum a word holds.

    >>> M, A = MaxPooling()(torch.tensor([[[1.0, 5.0], [2.0, 3.0], [9.0, 9.0]]]), torch.tensor([2]))
    >>> M.tolist(), A.tolist()
    ([[[2.0, 5.0]]], [[[0.5, 0.5, 0.0]]])
    """

    def forward(self, H: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """H (batch, n, size) -> M (batch, 1, size), A (batch, 1, n)."""
        padding = ~mask(lengths, H.shape[1]).unsqueeze(2)
        M, winners = H.masked_fill(padding, float("-inf")).max(dim=1)  # (batch, size)
        A = H.new_zeros(H.shape[:2]).scatter_add(1, winners, torch.full_like(M, 1 / H.shape[2]))
        return M.unsqueeze(1), A.detach().unsqueeze(1)


class Convolution(nn.Module):
    """The CNN's H: one 1-D convolution over the words, ReLU; zeros beyond the sentence's ends.

    >>> Convolution(d=4, filters=6)(torch.randn(2, 5, 4), torch.tensor([5, 1])).shape
    torch.Size([2, 5, 6])
    """

    def __init__(self, d: int, filters: int, width: int = 3) -> None:
        super().__init__()
        self.size, self.width = filters, width
        self.W, self.b = (
            uniform((d * width) ** -0.5, filters, d, width),
            uniform((d * width) ** -0.5, filters),
        )

    def forward(self, S: Tensor, lengths: Tensor) -> Tensor:
        """S (batch, n, d) -> H (batch, n, filters), zero on padding."""
        S, words = S.to(self.W.dtype), mask(lengths, S.shape[1]).unsqueeze(2)
        left = (self.width - 1) // 2
        padded = nn.functional.pad((S * words).transpose(1, 2), (left, self.width - 1 - left))
        return torch.relu(nn.functional.conv1d(padded, self.W, self.b)).transpose(1, 2) * words
