"""The attention's softmax on a GPU in bf16: one kernel each way, for what is sixteen in plain operations."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

try:
    import triton
    import triton.language as tl
except ImportError:  # a CPU build of PyTorch comes without it
    triton = None

MOST_WORDS = 4096  # a thread block holds all words of a row


def is_available(scores: Tensor) -> bool:
    """Whether the kernels can take scores (batch, n, r)."""
    return (
        triton is not None
        and scores.is_cuda
        and scores.dtype == torch.bfloat16
        and scores.shape[1] <= MOST_WORDS
    )


def by_kernel(scores: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """A (batch, r, n), zero on padding, in float32 and in bf16; from scores (batch, n, r)."""
    A, rounded = _MaskedSoftmax.apply(scores, lengths)
    return A, rounded


class _MaskedSoftmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, scores: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        batch, n, r = scores.shape
        A = torch.empty(batch, r, n, dtype=torch.float32, device=scores.device)
        rounded = torch.empty_like(A, dtype=scores.dtype)
        grid, tile = _tiles(batch, n, r)
        _forward[grid](scores.contiguous(), lengths.contiguous(), A, rounded, n, r, **tile)
        ctx.save_for_backward(A)
        ctx.set_materialize_grads(False)
        return A, rounded

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, None]:
        (A,) = ctx.saved_tensors
        given = [x.contiguous() for x in gradients if x is not None]
        if not given:
            return None, None
        batch, r, n = A.shape
        d_scores = torch.empty(batch, n, r, dtype=torch.bfloat16, device=A.device)
        grid, tile = _tiles(batch, n, r)
        _backward[grid](A, given[0], given[-1], d_scores, n, r, BOTH=len(given) == 2, **tile)
        return d_scores, None


def _tiles(batch: int, n: int, r: int) -> tuple[tuple[int, int], dict[str, int]]:
    """Thread blocks, and the words and rows of each."""
    words = max(16, triton.next_power_of_2(n))
    rows = min(triton.next_power_of_2(r), max(1, MOST_WORDS // words))
    return (batch, triton.cdiv(r, rows)), {"WORDS": words, "ROWS": rows}


if triton is not None:

    @triton.jit  # type: ignore[untyped-decorator]
    def _forward(  # type: ignore[no-untyped-def]
        scores_ptr, lengths_ptr, A_ptr, rounded_ptr, n, r, WORDS: tl.constexpr, ROWS: tl.constexpr
    ):
        sentence = tl.program_id(0).to(tl.int64)
        row = (tl.program_id(1) * ROWS + tl.arange(0, ROWS))[:, None]
        word = tl.arange(0, WORDS)[None, :]
        read = (row < r) & (word < tl.load(lengths_ptr + sentence))
        scores = tl.load(scores_ptr + (sentence * n + word) * r + row, mask=read, other=float("-inf"))
        scores = tl.where(row < r, scores.to(tl.float32), 0.0)
        e = tl.exp(scores - tl.max(scores, 1)[:, None])
        A = e / tl.sum(e, 1)[:, None]
        at, inside = (sentence * r + row) * n + word, (row < r) & (word < n)
        tl.store(A_ptr + at, A, mask=inside)
        tl.store(rounded_ptr + at, A.to(rounded_ptr.dtype.element_ty), mask=inside)

    @triton.jit  # type: ignore[untyped-decorator]
    def _backward(  # type: ignore[no-untyped-def]
        A_ptr, first_ptr, second_ptr, d_scores_ptr, n, r,
        BOTH: tl.constexpr, WORDS: tl.constexpr, ROWS: tl.constexpr,
    ):  # fmt: skip
        sentence = tl.program_id(0).to(tl.int64)
        row = (tl.program_id(1) * ROWS + tl.arange(0, ROWS))[:, None]
        word = tl.arange(0, WORDS)[None, :]
        at, inside = (sentence * r + row) * n + word, (row < r) & (word < n)
        A = tl.load(A_ptr + at, mask=inside, other=0.0)
        dA = tl.load(first_ptr + at, mask=inside, other=0.0).to(tl.float32)
        if BOTH:
            dA += tl.load(second_ptr + at, mask=inside, other=0.0).to(tl.float32)
        d_scores = A * (dA - tl.sum(A * dA, 1)[:, None])
        to = d_scores_ptr + (sentence * n + word) * r + row
        tl.store(to, d_scores.to(d_scores_ptr.dtype.element_ty), mask=inside)
