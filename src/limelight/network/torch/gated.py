"""The products of the gated encoder."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


def gated(M: Tensor, W_p: Tensor, W_h: Tensor) -> Tensor:
    """batcheddot(M_p, W_p) * batcheddot(M_h, W_h): (batch, rows, out), with a matrix for each row.

    M (2 * batch, rows, in) holds M_p and then M_h; W_p and W_h are (rows, in, out).

    >>> M, W_p, W_h = torch.randn(2, 3, 4), torch.randn(3, 4, 5), torch.randn(3, 4, 5)
    >>> dot = lambda X, W: torch.einsum("bri,rio->bro", X, W)
    >>> torch.allclose(gated(M, W_p, W_h), dot(M[:1], W_p) * dot(M[1:], W_h), atol=1e-5)
    True
    """
    if M.is_cuda:
        found: Tensor = _Gated.apply(M, W_p, W_h)
        return found
    M_p, M_h = M.chunk(2)
    return batched_dot(M_p, W_p) * batched_dot(M_h, W_h)


def batched_dot(X: Tensor, W: Tensor) -> Tensor:
    """(batch, rows, out) from X (batch, rows, in) and W (rows, in, out)."""
    return torch.bmm(X.transpose(0, 1), W).transpose(0, 1)


class _Gated(torch.autograd.Function):
    """All results are written in the order in which they are read: nothing is copied."""

    @staticmethod
    def forward(ctx: Any, M: Tensor, W_p: Tensor, W_h: Tensor) -> Tensor:
        p, h = (_dot(X, W) for X, W in zip(M.chunk(2), (W_p, W_h), strict=True))
        ctx.save_for_backward(M, W_p, W_h, p, h)
        return p * h

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *dF: Tensor) -> tuple[Tensor, ...]:
        M, W_p, W_h, p, h = ctx.saved_tensors
        dM, dW = torch.empty_like(M, memory_format=torch.contiguous_format), []
        for X, dX, W, dY in zip(M.chunk(2), dM.chunk(2), (W_p, W_h), (dF[0] * h, dF[0] * p), strict=True):
            _dot(dY, W.transpose(1, 2), dX)
            dW.append(torch.bmm(X.permute(1, 2, 0), dY.transpose(0, 1)))
        return dM, *dW


def _dot(X: Tensor, W: Tensor, out: Tensor | None = None) -> Tensor:
    """As `batched_dot`, contiguous."""
    if out is None:
        out = X.new_empty(len(X), len(W), W.shape[2])
    torch.bmm(X.transpose(0, 1), W, out=out.transpose(0, 1))
    return out
