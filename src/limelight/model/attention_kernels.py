"""The attention's softmax and penalty in training on a GPU: one kernel in place of several operations."""

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

MOST_WORDS = 4096  # the softmax's thread blocks hold all words of a row
MOST_ROWS = 128  # the penalty's hold A A^T


def _is_training(x: Tensor) -> bool:
    """On a GPU with Triton; not in prediction, as Triton needs a C compiler and not every machine has one."""
    return triton is not None and x.is_cuda and torch.is_grad_enabled()


def can_softmax(scores: Tensor) -> bool:
    """Whether `masked_softmax` can take scores (batch, n, r)."""
    return _is_training(scores) and scores.dtype == torch.bfloat16 and scores.shape[1] <= MOST_WORDS


def masked_softmax(scores: Tensor, lengths: Tensor, r: int) -> tuple[Tensor, Tensor]:
    """A (batch, r, n), zero on padding, in float32 and in bf16; from scores (batch, n, r or more)."""
    A, rounded = _MaskedSoftmax.apply(scores, lengths, r)
    return A, rounded


class _MaskedSoftmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, scores: Tensor, lengths: Tensor, r: int) -> tuple[Tensor, Tensor]:
        batch, n, columns = scores.shape
        A = torch.empty(batch, r, n, dtype=torch.float32, device=scores.device)
        rounded = torch.empty_like(A, dtype=scores.dtype)
        grid, tile = _tiles(batch, n, r)
        _forward[grid](scores.contiguous(), lengths.contiguous(), A, rounded, n, r, columns, **tile)
        ctx.save_for_backward(A)
        ctx.columns = columns
        ctx.set_materialize_grads(False)
        return A, rounded

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, None, None]:
        (A,) = ctx.saved_tensors
        given = [x.contiguous() for x in gradients if x is not None]
        if not given:
            return None, None, None
        batch, r, n = A.shape
        d_scores = torch.empty(batch, n, ctx.columns, dtype=torch.bfloat16, device=A.device)
        grid, tile = _tiles(batch, n, ctx.columns)
        _backward[grid](A, given[0], given[-1], d_scores, n, r, ctx.columns, BOTH=len(given) == 2, **tile)
        return d_scores, None, None


def can_overlap(A: Tensor) -> bool:
    """Whether `overlap` can take A (batch, r, n)."""
    return _is_training(A) and A.dtype == torch.float32 and A.shape[1] <= MOST_ROWS


def overlap(A: Tensor) -> Tensor:
    """||A A^T - I||_F^2 (batch,), from A (batch, r, n)."""
    P: Tensor = _OverlapByKernel.apply(A)
    return P


class _OverlapByKernel(torch.autograd.Function):
    """The kernel gives the gradient 4 (A A^T - I) A too, as it has A at hand."""

    @staticmethod
    def forward(ctx: Any, A: Tensor) -> Tensor:
        A = A.contiguous()
        batch, r, n = A.shape
        P, gradient = A.new_empty(batch), torch.empty_like(A)
        _overlap[(batch,)](A, P, gradient, n, r, ROWS=max(16, triton.next_power_of_2(r)), WORDS=32)
        ctx.save_for_backward(gradient)
        return P

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *dP: Tensor) -> Tensor:
        (gradient,) = ctx.saved_tensors
        found: Tensor = gradient * dP[0][:, None, None]
        return found


def _tiles(batch: int, n: int, r: int) -> tuple[tuple[int, int], dict[str, int]]:
    """Thread blocks, and the words and rows of each."""
    words = max(16, triton.next_power_of_2(n))
    rows = min(triton.next_power_of_2(r), max(1, MOST_WORDS // words))
    return (batch, triton.cdiv(r, rows)), {"WORDS": words, "ROWS": rows}


if triton is not None:

    @triton.jit  # type: ignore[untyped-decorator]
    def _forward(  # type: ignore[no-untyped-def]
        scores_ptr, lengths_ptr, A_ptr, rounded_ptr, n, r, columns, WORDS: tl.constexpr, ROWS: tl.constexpr
    ):
        sentence = tl.program_id(0).to(tl.int64)
        row = (tl.program_id(1) * ROWS + tl.arange(0, ROWS))[:, None]
        word = tl.arange(0, WORDS)[None, :]
        read = (row < r) & (word < tl.load(lengths_ptr + sentence))
        scores = tl.load(scores_ptr + (sentence * n + word) * columns + row, mask=read, other=float("-inf"))
        scores = tl.where(row < r, scores.to(tl.float32), 0.0)
        e = tl.exp(scores - tl.max(scores, 1)[:, None])
        A = e / tl.sum(e, 1)[:, None]
        at, inside = (sentence * r + row) * n + word, (row < r) & (word < n)
        tl.store(A_ptr + at, A, mask=inside)
        tl.store(rounded_ptr + at, A.to(rounded_ptr.dtype.element_ty), mask=inside)

    @triton.jit  # type: ignore[untyped-decorator]
    def _backward(  # type: ignore[no-untyped-def]
        A_ptr, first_ptr, second_ptr, d_scores_ptr, n, r, columns,
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
        to = d_scores_ptr + (sentence * n + word) * columns + row
        tl.store(to, d_scores.to(d_scores_ptr.dtype.element_ty), mask=(row < columns) & (word < n))

    @triton.jit  # type: ignore[untyped-decorator]
    def _overlap(  # type: ignore[no-untyped-def]
        A_ptr, P_ptr, gradient_ptr, n, r, ROWS: tl.constexpr, WORDS: tl.constexpr
    ):
        sentence = tl.program_id(0).to(tl.int64)
        row, word = tl.arange(0, ROWS)[:, None], tl.arange(0, WORDS)[None, :]
        at = (sentence * r + row) * n + word
        overlap = tl.zeros((ROWS, ROWS), tl.float32)
        for start in range(0, n, WORDS):
            A = tl.load(A_ptr + at + start, mask=(row < r) & (start + word < n), other=0.0)
            overlap = tl.dot(A, tl.trans(A), overlap, input_precision="ieee")
        identity = (row == tl.arange(0, ROWS)[None, :]) & (row < r)
        overlap -= identity.to(tl.float32)
        tl.store(P_ptr + sentence, tl.sum(overlap * overlap))
        for start in range(0, n, WORDS):
            inside = (row < r) & (start + word < n)
            A = tl.load(A_ptr + at + start, mask=inside, other=0.0)
            gradient = 4.0 * tl.dot(overlap, A, input_precision="ieee")
            tl.store(gradient_ptr + at + start, gradient, mask=inside)
