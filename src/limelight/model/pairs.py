"""Two embeddings to one: the gated encoder of appendix B, and the usual concatenation."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .encoder import uniform


class GatedEncoder(nn.Module):
    """F_r = batcheddot(M_h, W_fh) * batcheddot(M_p, W_fp): a weight matrix for each row, on each side.

    >>> GatedEncoder(rows=3, size=4)(torch.randn(7, 3, 4), torch.randn(7, 3, 4)).shape
    torch.Size([7, 3, 4])
    """

    def __init__(self, rows: int, size: int) -> None:
        super().__init__()
        self.W_fp = uniform(size**-0.5, rows, size, size)
        self.W_fh = uniform(size**-0.5, rows, size, size)

    def forward(self, M_p: Tensor, M_h: Tensor) -> Tensor:
        """Two (batch, rows, size) -> F_r (batch, rows, size)."""
        F_p = torch.bmm(M_p.transpose(0, 1), self.W_fp)  # (rows, batch, size)
        F_h = torch.bmm(M_h.transpose(0, 1), self.W_fh)
        return (F_p * F_h).transpose(0, 1)


def concat_features(u: Tensor, v: Tensor) -> Tensor:
    """[u; v; |u-v|; u*v] row by row: two (batch, rows, size) -> (batch, rows, 4 * size).

    >>> concat_features(torch.tensor([[[2.0]]]), torch.tensor([[[3.0]]])).tolist()
    [[[2.0, 3.0, 1.0, 6.0]]]
    """
    return torch.cat([u, v, (u - v).abs(), u * v], dim=2)
