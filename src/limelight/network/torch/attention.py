"""H to A and M, and the penalty P: equations 5 to 8 of the paper; max pooling, its baseline."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from ...config.recipe import ModelRecipe
from .encoder import uniform
from .shared import mask, missing_columns, pad_to, tl, triton


class StructuredSelfAttention(nn.Module):
    """A = softmax(W_s2 tanh(W_s1 H^T)) and M = A H: each of the r rows attends to other words.

    >>> attend = StructuredSelfAttention(size=6, d_a=5, r=3)
    >>> M, A = attend(torch.randn(2, 4, 6), torch.tensor([4, 2]))
    >>> M.shape, A.shape, A[1, :, 2:].any().item()
    (torch.Size([2, 3, 6]), torch.Size([2, 3, 4]), False)
    """

    def __init__(self, size: int, d_a: int, r: int, bias: bool = False) -> None:
        super().__init__()
        self.W_s1 = uniform(size**-0.5, d_a, size)
        self.W_s2 = uniform(d_a**-0.5, r, d_a)
        self.b_s1 = nn.Parameter(torch.zeros(d_a)) if bias else None
        self.b_s2 = nn.Parameter(torch.zeros(r)) if bias else None

    def forward(self, H: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """H (batch, n, 2u) -> M (batch, r, 2u), A (batch, r, n)."""
        r = len(self.W_s2)
        W_s1, b_s1, W_s2, b_s2 = self._weights(missing_columns(H, len(self.W_s1)), missing_columns(H, r))
        if can_attend(H, r):
            return attend(H, W_s1, b_s1, W_s2, b_s2, lengths, r)
        hidden = torch.tanh(nn.functional.linear(H, W_s1, b_s1))  # (batch, n, d_a or more)
        scores = nn.functional.linear(hidden, W_s2, b_s2)  # (batch, n, r or more)
        A = masked_softmax(scores[..., :r].transpose(1, 2), lengths)
        return A.to(H.dtype) @ H, A

    def _weights(self, more: int, more_rows: int) -> tuple[Tensor, Tensor | None, Tensor, Tensor | None]:
        """With more zeros in d_a the scores are the same, as tanh(0) adds nothing; more rows are not read."""
        d_a, r = len(self.W_s1) + more, len(self.W_s2) + more_rows
        b_s1 = None if self.b_s1 is None else pad_to(self.b_s1, d_a)
        b_s2 = None if self.b_s2 is None else pad_to(self.b_s2, r)
        return pad_to(self.W_s1, d_a, self.W_s1.shape[1]), b_s1, pad_to(self.W_s2, r, d_a), b_s2


class MaxPooling(nn.Module):
    """Each unit's maximum over the words, in one row; A: the share of units whose maximum a word holds.

    >>> M, A = MaxPooling()(torch.tensor([[[1.0, 5.0], [2.0, 3.0], [9.0, 9.0]]]), torch.tensor([2]))
    >>> M.tolist(), A.tolist()
    ([[[2.0, 5.0]]], [[[0.5, 0.5, 0.0]]])
    """

    def forward(self, H: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """H (batch, n, size) -> M (batch, 1, size), A (batch, 1, n)."""
        padding = ~mask(lengths, H.shape[1]).unsqueeze(2)
        M, winners = H.masked_fill(padding, float("-inf")).max(dim=1)  # (batch, size)
        A = H.new_zeros(H.shape[:2]).scatter_add(1, winners, torch.full_like(M, 1 / H.shape[2]))
        return M.unsqueeze(1), A.detach().unsqueeze(1)


def _self_attention(recipe: ModelRecipe, size: int) -> StructuredSelfAttention:
    pooling = StructuredSelfAttention(size, recipe.attention_hidden, recipe.rows, recipe.author_code)
    if recipe.is_reader:  # a sharper start: the rows read different words from the first step on
        nn.init.normal_(pooling.W_s1, 0, size**-0.5)
        nn.init.normal_(pooling.W_s2, 0, 2 * recipe.attention_hidden**-0.5)
    return pooling


POOLINGS: dict[str, Callable[[ModelRecipe, int], StructuredSelfAttention | MaxPooling]] = {
    "self-attention": _self_attention,
    "max": lambda recipe, size: MaxPooling(),
}


def masked_softmax(scores: Tensor, lengths: Tensor) -> Tensor:
    """Softmax along the words (the last dimension), in float32 or better; padding gets exactly 0.

    >>> masked_softmax(torch.zeros(1, 1, 3), torch.tensor([2])).tolist()
    [[[0.5, 0.5, 0.0]]]
    """
    words = mask(lengths, scores.shape[-1]).unsqueeze(1)  # (batch, 1, n)
    precise = torch.promote_types(scores.dtype, torch.float32)
    return torch.softmax(scores.masked_fill(~words, float("-inf")), dim=-1, dtype=precise)


def penalty(A: Tensor, lengths: Tensor | None = None, scale: str = "paper") -> Tensor:
    """How much the rows of A (batch, r, n) repeat each other, averaged over the batch.

    - "paper": P = ||A A^T - I||_F^2, equation 8;
    - "author": ||A^T A - I_n||_F^2 / n^2, what the author's code minimises: the same up to a constant,
      divided by the square of the sentence's length (there, of the padded length; here of its own, so
      that padding changes nothing).

    >>> penalty(torch.eye(3).unsqueeze(0)).item()
    0.0
    >>> penalty(torch.tensor([[[1.0, 0.0], [1.0, 0.0]]])).item()  # two rows that read the same word
    2.0
    """
    r = A.shape[1]
    P: Tensor = _Overlap.apply(A)  # (batch,)
    if scale == "paper":
        return P.mean()
    if scale == "author":
        n = A.shape[2] if lengths is None else lengths.clamp(min=1).to(A.dtype)
        return ((P + n - r) / n**2).mean()  # ||A^T A - I_n||^2 = ||A A^T - I_r||^2 + n - r
    raise ValueError(f"scale is {scale!r}; it must be paper or author")


class _Overlap(torch.autograd.Function):
    """||A A^T - I||_F^2 of each sentence; its gradient is 4 (A A^T - I) A."""

    @staticmethod
    def forward(ctx: Any, A: Tensor) -> Tensor:
        overlap = A @ A.transpose(1, 2)  # (batch, r, r)
        overlap.diagonal(dim1=1, dim2=2).sub_(1)
        ctx.save_for_backward(A, overlap)
        return overlap.square().sum(dim=(1, 2))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *dP: Tensor) -> Tensor:
        A, overlap = ctx.saved_tensors
        dA: Tensor = (overlap @ A).mul_(4 * dP[0][:, None, None])
        return dA


def aspect_penalty(sides: Sequence[tuple[Tensor, Tensor]], vocabulary: int) -> Tensor:
    """How much the rows read the same words throughout a batch: ||Q Q^T - I||_F^2 / r.

    Q (r, vocabulary) is the attention of each row summed by word, its rows of length 1; `sides` are A
    (batch, r, n) with ids (batch, n), both for pairs. The paper's penalty keeps rows apart within a sentence,
    but a row may read one aspect today and another tomorrow; this one makes it keep to its words.

    >>> A, ids = torch.eye(2).unsqueeze(0), torch.tensor([[5, 6]])
    >>> aspect_penalty([(A, ids)], vocabulary=9).item()
    0.0
    >>> aspect_penalty([(A, torch.tensor([[5, 5]]))], vocabulary=9).item()  # both read the same word
    1.0
    """
    r = sides[0][0].shape[1]
    Q = sides[0][0].new_zeros(r, vocabulary)
    for A, ids in sides:
        Q = Q.index_add(1, ids[:, : A.shape[2]].flatten(), A.transpose(0, 1).flatten(1))
    Q = nn.functional.normalize(Q)
    return (Q @ Q.T - torch.eye(r, dtype=Q.dtype, device=Q.device)).square().sum() / r


# ------------------------------ in training on a GPU: a few kernels in place of many operations

MOST_WORDS = 4096  # the softmax's thread blocks hold all words of a row
MOST_ROWS = 128  # those of the other kernels hold all rows
COLUMNS = 64  # of H and M at a time
Bias = Tensor | None


def can_attend(H: Tensor, r: int) -> bool:
    """Whether `attend` can take H (batch, n, 2u): not in prediction, as Triton needs a C compiler."""
    trains = triton is not None and H.is_cuda and torch.is_grad_enabled()
    return trains and H.dtype == torch.bfloat16 and H.shape[1] <= MOST_WORDS and r <= MOST_ROWS


def attend(
    H: Tensor, W_s1: Tensor, b_s1: Bias, W_s2: Tensor, b_s2: Bias, lengths: Tensor, r: int
) -> tuple[Tensor, Tensor]:
    """M (batch, r, 2u), and A (batch, r, n) in float32, zero on padding. W_s2 may have more than r rows."""
    M, A = _Attend.apply(H, W_s1, b_s1, W_s2, b_s2, lengths, r)
    return M, A


class _Attend(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, H: Tensor, W_s1: Tensor, b_s1: Bias, W_s2: Tensor, b_s2: Bias, lengths: Tensor, r: int
    ) -> tuple[Tensor, Tensor]:
        H, lengths = H.contiguous(), lengths.contiguous()
        words = H.flatten(0, 1)  # (batch * n, 2u)
        hidden = F.linear(words, W_s1, b_s1).tanh_()  # (batch * n, d_a)
        scores = F.linear(hidden, W_s2, b_s2)  # (batch * n, r or more)
        (batch, n, size), columns = H.shape, scores.shape[1]
        A = torch.empty(batch, r, n, dtype=torch.float32, device=H.device)
        rounded = torch.empty_like(A, dtype=H.dtype)
        grid, tile = _softmax_tiles(batch, n, r)
        _softmax[grid](scores, lengths, A, rounded, n, r, columns, **tile)
        M = H.new_empty(batch, r, size)
        _pool[batch, triton.cdiv(size, COLUMNS)](rounded, H, M, lengths, n, r, **_pool_tile(n, r, size))
        ctx.save_for_backward(H, hidden, A, rounded, W_s1, W_s2, lengths)
        ctx.biases, ctx.columns = (b_s1 is not None, b_s2 is not None), columns
        ctx.set_materialize_grads(False)
        return M, A

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *given: Tensor | None) -> tuple[Tensor | None, ...]:
        H, hidden, A, rounded, W_s1, W_s2, lengths = ctx.saved_tensors
        (batch, r, n), size = A.shape, H.shape[2]
        dM = H.new_zeros(batch, r, size) if given[0] is None else given[0].contiguous()
        dA, dH = torch.empty_like(A), torch.empty_like(H)
        tile = _pool_tile(n, r, size)
        _pool_backward[batch, triton.cdiv(n, tile["WORDS"])](rounded, H, dM, dA, dH, lengths, n, r, **tile)
        d_scores = H.new_empty(batch * n, ctx.columns)
        grid, tile = _softmax_tiles(batch, n, ctx.columns)
        dA_given = dA if given[1] is None else given[1].contiguous()
        tile["BOTH"] = given[1] is not None
        _softmax_backward[grid](A, dA, dA_given, d_scores, n, r, ctx.columns, **tile)
        d_hidden = torch.ops.aten.tanh_backward(d_scores @ W_s2, hidden)  # before tanh
        words, dH = H.flatten(0, 1), dH.flatten(0, 1).addmm_(d_hidden, W_s1).view_as(H)
        sums = ((d_hidden, ctx.biases[0]), (d_scores, ctx.biases[1]))
        db_s1, db_s2 = (x.sum(0) if has_bias else None for x, has_bias in sums)
        return dH, d_hidden.T @ words, db_s1, d_scores.T @ hidden, db_s2, None, None


def _softmax_tiles(batch: int, n: int, rows: int) -> tuple[tuple[int, int], dict[str, int]]:
    """Thread blocks, and the words and rows of each."""
    words = max(16, triton.next_power_of_2(n))
    rows_each = min(triton.next_power_of_2(rows), max(1, MOST_WORDS // words))
    return (batch, triton.cdiv(rows, rows_each)), {"WORDS": words, "ROWS": rows_each}


def _pool_tile(n: int, r: int, size: int) -> dict[str, int]:
    return {
        "SIZE": size,  # known to the compiler, which then reads several columns at once
        "WORDS": min(64, max(16, triton.next_power_of_2(n))),
        "ROWS": max(16, triton.next_power_of_2(r)),
        "COLUMNS": COLUMNS,
    }


if triton is not None:

    @triton.jit  # type: ignore[untyped-decorator]
    def _softmax(  # type: ignore[no-untyped-def]
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
    def _softmax_backward(  # type: ignore[no-untyped-def]
        A_ptr, dA_ptr, dA_given_ptr, d_scores_ptr, n, r, columns,
        BOTH: tl.constexpr, WORDS: tl.constexpr, ROWS: tl.constexpr,
    ):  # fmt: skip
        sentence = tl.program_id(0).to(tl.int64)
        row = (tl.program_id(1) * ROWS + tl.arange(0, ROWS))[:, None]
        word = tl.arange(0, WORDS)[None, :]
        at, inside = (sentence * r + row) * n + word, (row < r) & (word < n)
        A = tl.load(A_ptr + at, mask=inside, other=0.0)
        dA = tl.load(dA_ptr + at, mask=inside, other=0.0)
        if BOTH:
            dA += tl.load(dA_given_ptr + at, mask=inside, other=0.0)
        d_scores = A * (dA - tl.sum(A * dA, 1)[:, None])
        to = d_scores_ptr + (sentence * n + word) * columns + row
        tl.store(to, d_scores.to(d_scores_ptr.dtype.element_ty), mask=(row < columns) & (word < n))

    @triton.jit  # type: ignore[untyped-decorator]
    def _pool(  # type: ignore[no-untyped-def]
        A_ptr, H_ptr, M_ptr, lengths_ptr, n, r, SIZE: tl.constexpr,
        WORDS: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
    ):  # fmt: skip
        """M = A H, some columns of a sentence."""
        sentence = tl.program_id(0).to(tl.int64)
        row, word = tl.arange(0, ROWS)[:, None], tl.arange(0, WORDS)
        column = (tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS))[None, :]
        M = tl.zeros((ROWS, COLUMNS), tl.float32)
        for start in range(0, tl.load(lengths_ptr + sentence), WORDS):
            at = start + word
            A_at, A_inside = (sentence * r + row) * n + at[None, :], (row < r) & (at[None, :] < n)
            A = tl.load(A_ptr + A_at, mask=A_inside, other=0.0)
            inside = (at[:, None] < n) & (column < SIZE)
            H = tl.load(H_ptr + (sentence * n + at[:, None]) * SIZE + column, mask=inside, other=0.0)
            M = tl.dot(A, H, M)
        to = M_ptr + (sentence * r + row) * SIZE + column
        tl.store(to, M.to(M_ptr.dtype.element_ty), mask=(row < r) & (column < SIZE))

    @triton.jit  # type: ignore[untyped-decorator]
    def _pool_backward(  # type: ignore[no-untyped-def]
        A_ptr, H_ptr, dM_ptr, dA_ptr, dH_ptr, lengths_ptr, n, r, SIZE: tl.constexpr,
        WORDS: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
    ):  # fmt: skip
        """dA = dM H^T and dH = A^T dM, some words of a sentence; zero on padding."""
        sentence = tl.program_id(0).to(tl.int64)
        start = tl.program_id(1) * WORDS
        row, word = tl.arange(0, ROWS)[:, None], start + tl.arange(0, WORDS)
        A_at, A_inside = (sentence * r + row) * n + word[None, :], (row < r) & (word[None, :] < n)
        A = tl.load(A_ptr + A_at, mask=A_inside, other=0.0)
        dA = tl.zeros((ROWS, WORDS), tl.float32)
        read = start < tl.load(lengths_ptr + sentence)
        for first in range(0, SIZE, COLUMNS):
            column = first + tl.arange(0, COLUMNS)[None, :]
            dM_at = dM_ptr + (sentence * r + row) * SIZE + column
            dM = tl.load(dM_at, mask=(row < r) & (column < SIZE) & read, other=0.0)
            H_at = (sentence * n + word[:, None]) * SIZE + column
            inside = (word[:, None] < n) & (column < SIZE)
            H = tl.load(H_ptr + H_at, mask=inside & read, other=0.0)
            dA = tl.dot(dM, tl.trans(H), dA)
            dH = tl.dot(tl.trans(A), dM)
            tl.store(dH_ptr + H_at, dH.to(dH_ptr.dtype.element_ty), mask=inside)
        tl.store(dA_ptr + A_at, dA, mask=A_inside)
