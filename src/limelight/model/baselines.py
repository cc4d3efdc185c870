"""What the paper compares with: other ways from H to an embedding, and a CNN in place of the LSTM.

All have the attention's interface, (H, lengths, values) -> (M, A), with a single row. Where a pooling has no
weights of its own, A says which words it took its values from, so that every model can be looked into.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .attention import masked_softmax
from .encoder import uniform
from .lstm.bilstm import mask


class MaxPooling(nn.Module):
    """Each unit's maximum over the words; A: the share of units whose maximum a word holds.

    >>> M, A = MaxPooling()(torch.tensor([[[1.0, 5.0], [2.0, 3.0], [9.0, 9.0]]]), torch.tensor([2]))
    >>> M.tolist(), A.tolist()
    ([[[2.0, 5.0]]], [[[0.5, 0.5, 0.0]]])
    """

    def forward(self, H: Tensor, lengths: Tensor, values: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """H (batch, n, size) -> M (batch, 1, size), A (batch, 1, n)."""
        padding = ~mask(lengths, H.shape[1]).unsqueeze(2)
        M, winners = H.masked_fill(padding, float("-inf")).max(dim=1)  # (batch, size)
        if values is not None:
            M = values.gather(1, winners.unsqueeze(1)).squeeze(1)
        A = H.new_zeros(H.shape[:2]).scatter_add(1, winners, torch.full_like(M, 1 / H.shape[2]))
        return M.unsqueeze(1), A.detach().unsqueeze(1)


class MeanPooling(nn.Module):
    """The mean of the words' states; A is uniform."""

    def forward(self, H: Tensor, lengths: Tensor, values: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """H (batch, n, size) -> M (batch, 1, size), A (batch, 1, n)."""
        A = mask(lengths, H.shape[1]).to(H.dtype) / lengths[:, None].to(H.dtype)
        return A.unsqueeze(1) @ (H if values is None else values), A.unsqueeze(1)


class LastState(nn.Module):
    """Where each direction ends: forwards at the last word, backwards at the first; A: half on each."""

    def forward(self, H: Tensor, lengths: Tensor, values: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """H (batch, n, 2u) -> M (batch, 1, 2u), A (batch, 1, n)."""
        u = H.shape[2] // 2
        last = (lengths - 1)[:, None]  # (batch, 1)
        values = H if values is None else values
        forwards = values[..., :u].gather(1, last.unsqueeze(2).expand(-1, -1, u))
        A = torch.zeros_like(H[..., 0]).scatter_add(1, last, torch.full_like(last, 0.5, dtype=H.dtype))
        A[:, 0] += 0.5
        return torch.cat([forwards, values[:, :1, u:]], dim=2), A.unsqueeze(1)


class InnerAttention(nn.Module):
    """Liu et al. (2016): attention whose source is the mean of the states.

    Y_t = tanh(W_y h_t + W_h mean(H)), a = softmax(w . Y_t), M = sum_t a_t h_t.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.W_y, self.W_h = uniform(size**-0.5, size, size), uniform(size**-0.5, size, size)
        self.w = uniform(size**-0.5, size)

    def forward(self, H: Tensor, lengths: Tensor, values: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """H (batch, n, size) -> M (batch, 1, size), A (batch, 1, n)."""
        R_ave, _ = MeanPooling()(H, lengths)  # (batch, 1, size)
        Y = torch.tanh(H @ self.W_y.T + R_ave @ self.W_h.T)
        A = masked_softmax((Y @ self.w).unsqueeze(1), lengths)
        return A.to(H.dtype) @ (H if values is None else values), A


class Convolution(nn.Module):
    """The CNN's H: one 1-D convolution over the words, ReLU; beyond the sentence's ends stand zeros.

    >>> Convolution(d=4, filters=6, width=3)(torch.randn(2, 5, 4), torch.tensor([5, 1])).shape
    torch.Size([2, 5, 6])
    """

    def __init__(self, d: int, filters: int, width: int) -> None:
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
