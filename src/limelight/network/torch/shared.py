"""What the parts share: where words are, dropout, widths of matrices on a GPU, and Triton for its kernels."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

try:
    import triton
    import triton.language as tl
except ImportError:  # of a CPU build of PyTorch
    triton = tl = None

__all__ = ["Dropout", "mask", "missing_columns", "pad_to", "pad_units", "tl", "triton"]
LEVELS = 2**16


def mask(lengths: Tensor, n: int) -> Tensor:
    """(batch, n): True on words, False on padding."""
    return torch.arange(n, device=lengths.device) < lengths[:, None]


class Dropout(nn.Dropout):
    """`nn.Dropout`; on a CPU from 16 random bits per entry, so p is rounded to a 65,536th."""

    def forward(self, x: Tensor) -> Tensor:
        """Zero each entry with probability p, and scale the others up to keep the mean."""
        if x.is_cuda or not self.training or self.p == 0:
            return super().forward(x)
        kept = max(1, round((1 - self.p) * LEVELS))
        draws = torch.empty(-(-x.numel() // 4), dtype=torch.int64).random_(-(2**63), None)
        bits = draws.view(torch.int16)[: x.numel()].view(x.shape)
        return x * bits.to(x.dtype).lt_(kept - LEVELS // 2).mul_(LEVELS / kept)


def missing_columns(x: Tensor, width: int) -> int:
    """How many zeros bring a width to a multiple of 8: products of others are slow in bf16 on a GPU."""
    return -width % 8 if x.is_cuda and x.dtype == torch.bfloat16 else 0


def pad_to(x: Tensor, *shape: int) -> Tensor:
    """x with zeros after it in each dimension; its gradient is a view of that of the result, not a copy."""
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


def pad_units(W_ih: Tensor, W_hh: Tensor, b: Tensor, more: int) -> tuple[Tensor, Tensor, Tensor]:
    """The same LSTM with more units: their weights are zero, hence their states, and they change nothing."""
    u, pad = W_hh.shape[2], nn.functional.pad
    W_ih = pad(W_ih.unflatten(1, (4, u)), (0, 0, 0, more)).flatten(1, 2)
    W_hh = pad(W_hh.unflatten(1, (4, u)), (0, more, 0, more)).flatten(1, 2)
    return W_ih, W_hh, pad(b.unflatten(1, (4, u)), (0, more)).flatten(1, 2)
