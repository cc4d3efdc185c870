"""Widths of matrices on a GPU."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


def missing_columns(x: Tensor, width: int) -> int:
    """How many zeros to add beside `width` numbers: in bf16 on a GPU, up to a multiple of 8.

    Matrix products of other widths take several times as long there.
    """
    return -width % 8 if x.is_cuda and x.dtype == torch.bfloat16 else 0


def pad_to(x: Tensor, *shape: int) -> Tensor:
    """x with zeros after it in each dimension; its gradient is a view of that of the result, not a copy.

    >>> pad_to(torch.ones(1, 2), 2, 3).tolist()
    [[1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]
    """
    if x.shape == shape:
        return x
    padded: Tensor = _PadTo.apply(x, shape)
    return padded


class _PadTo(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, shape: tuple[int, ...]) -> Tensor:
        ctx.places = tuple(map(slice, x.shape))
        padded = x.new_zeros(shape)
        padded[ctx.places] = x
        return padded

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *d: Tensor) -> tuple[Tensor, None]:
        return d[0][ctx.places], None
