"""A matrix product for each row of an embedding."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


def batched_dot(X: Tensor, W: Tensor) -> Tensor:
    """(batch, rows, out) from X (batch, rows, in) and W (rows, in, out): each row has a matrix of its own.

    >>> X, W = torch.randn(7, 3, 4), torch.randn(3, 4, 5)
    >>> torch.allclose(batched_dot(X, W), torch.einsum("bri,rio->bro", X, W), atol=1e-5)
    True
    """
    if X.is_cuda:
        found: Tensor = _BatchedDot.apply(X, W)
        return found
    return torch.bmm(X.transpose(0, 1), W).transpose(0, 1)


class _BatchedDot(torch.autograd.Function):
    """The product and X's gradient are written as (batch, rows, ...): what comes next need not copy."""

    @staticmethod
    def forward(ctx: Any, X: Tensor, W: Tensor) -> Tensor:
        ctx.save_for_backward(X, W)
        return _dot(X, W)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *dY: Tensor) -> tuple[Tensor | None, Tensor | None]:
        X, W = ctx.saved_tensors
        dX = _dot(dY[0], W.transpose(1, 2)) if ctx.needs_input_grad[0] else None
        dW = torch.bmm(X.permute(1, 2, 0), dY[0].transpose(0, 1)) if ctx.needs_input_grad[1] else None
        return dX, dW


def _dot(X: Tensor, W: Tensor) -> Tensor:
    out = X.new_empty(len(X), len(W), W.shape[2])
    torch.bmm(X.transpose(0, 1), W, out=out.transpose(0, 1))
    return out
