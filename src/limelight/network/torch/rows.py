"""Rows of a table of words on a GPU; on Hopper by kernels of their own (`rows.cu`)."""

import functools
from importlib import resources
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from ...text.tokenizer import PAD
from .lstm.nvrtc import Kernel, compile_kernels, compiles

KERNELS = ("add_float32", "add_bfloat16", "pick_bfloat16")
THREADS, SPREAD = 256, 1056


def rows(table: Tensor, ids: Tensor, dtype: torch.dtype) -> Tensor:
    """(..., d) in `dtype`: the rows of a table (vocabulary, d) with these ids."""
    if torch.is_grad_enabled() and table.requires_grad and _is_available(table, dtype):
        found: Tensor = _Rows.apply(table, ids, dtype)
        return found
    return table.index_select(0, ids.flatten()).view(*ids.shape, -1).to(dtype)


class _Rows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, table: Tensor, ids: Tensor, dtype: torch.dtype) -> Tensor:
        ids, d = ids.long().contiguous(), table.shape[1]
        ctx.save_for_backward(ids)
        ctx.shape = table.shape
        if dtype == torch.float32:
            return table.index_select(0, ids.flatten()).view(*ids.shape, d)
        found = torch.empty(*ids.shape, d, dtype=dtype, device=table.device)
        _kernels(table.get_device())["pick_bfloat16"](SPREAD, table, ids, found, ids.numel(), d // 4)
        return found

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *d_rows: Tensor) -> tuple[Tensor, None, None]:
        (ids,) = ctx.saved_tensors
        sums = torch.zeros(ctx.shape, dtype=torch.float32, device=ids.device)
        given = d_rows[0].reshape(ids.numel(), -1)  # perhaps the first columns of a wider matrix
        if given.stride(1) != 1 or given.stride(0) % 4 or given.data_ptr() % 16:
            given = given.clone(memory_format=torch.contiguous_format)
        add = _kernels(sums.get_device())["add_float32" if given.dtype == torch.float32 else "add_bfloat16"]
        add(SPREAD, given, ids, sums, ids.numel(), ctx.shape[1] // 4, given.stride(0) // 4)
        return sums, None, None


def _is_available(table: Tensor, dtype: torch.dtype) -> bool:
    return (
        table.is_cuda
        and table.dtype == torch.float32
        and table.is_contiguous()
        and dtype in (torch.float32, torch.bfloat16)
        and table.shape[1] % 4 == 0
        and torch.cuda.get_device_capability(table.device) == (9, 0)
        and _compiles(table.get_device())
    )


@functools.cache
def _compiles(device: int) -> bool:
    return compiles(lambda: _kernels(device))


@functools.cache
def _kernels(device: int) -> dict[str, Kernel]:
    source = f"#define PAD {PAD}\n" + resources.files(__package__).joinpath("rows.cu").read_text()
    return compile_kernels(source, dict.fromkeys(KERNELS, 0), dict.fromkeys(KERNELS, THREADS), 1, "sm_90a")
