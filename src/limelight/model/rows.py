"""Rows of a table of words on a GPU. On Hopper their gradients are added up four numbers at a time."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from ..text.tokenizer import PAD
from .lstm.nvrtc import Kernel, compile_kernels

# A warp for each word. Padding gets no gradient, as on a CPU; it would keep many words waiting for one row.
SOURCE = f"""
extern "C" __global__ void add_rows(const float4* rows, const long long* ids, float4* sums, int words,
                                    int quarters) {{
  const int lane = threadIdx.x % 32, warps = gridDim.x * blockDim.x / 32;
  for (int word = (blockIdx.x * blockDim.x + threadIdx.x) / 32; word < words; word += warps) {{
    const long long id = ids[word];
    if (id == {PAD}) continue;
    for (int k = lane; k < quarters; k += 32) {{
      const float4 v = __ldcs(rows + (long long)word * quarters + k);
      asm volatile("red.global.add.v4.f32 [%0], {{%1, %2, %3, %4}};"
                   :: "l"(sums + id * quarters + k), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w) : "memory");
    }}
  }}
}}
"""
THREADS, SPREAD = 256, 1056


def rows(table: Tensor, ids: Tensor) -> Tensor:
    """(..., d): the rows of a table (vocabulary, d) with these ids."""
    if torch.is_grad_enabled() and table.requires_grad and _is_available(table):
        found: Tensor = _Rows.apply(table, ids)
        return found
    return table.index_select(0, ids.flatten()).view(*ids.shape, -1)


class _Rows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, table: Tensor, ids: Tensor) -> Tensor:
        ctx.save_for_backward(ids)
        ctx.shape = table.shape
        return table.index_select(0, ids.flatten()).view(*ids.shape, -1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *d_rows: Tensor) -> tuple[Tensor, None]:
        (ids,) = ctx.saved_tensors
        sums = d_rows[0].new_zeros(ctx.shape)
        add_rows = _kernel(sums.get_device())
        add_rows(
            SPREAD, d_rows[0].contiguous(), ids.long().contiguous(), sums, ids.numel(), ctx.shape[1] // 4
        )
        return sums, None


def _is_available(table: Tensor) -> bool:
    return (
        table.is_cuda
        and table.dtype == torch.float32
        and table.shape[1] % 4 == 0
        and torch.cuda.get_device_capability(table.device) == (9, 0)
        and _compiles(table.get_device())
    )


@functools.cache
def _compiles(device: int) -> bool:
    try:
        return bool(_kernel(device))
    except (OSError, RuntimeError):  # a PyTorch without NVRTC, or a driver too old for it
        return False


@functools.cache
def _kernel(device: int) -> Kernel:
    return compile_kernels(SOURCE, {"add_rows": 0}, {"add_rows": THREADS}, 1, "sm_90a")["add_rows"]
