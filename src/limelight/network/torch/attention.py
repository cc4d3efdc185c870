"""H to A and M, and the penalty P: equations 5 to 8 of the paper; max pooling, its baseline."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from ...config.recipe import ModelRecipe
from . import attention_kernels as on_gpu
from .encoder import uniform
from .lstm.packing import mask
from .shared import missing_columns, pad_to


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
        if on_gpu.can_attend(H, r):
            return on_gpu.attend(H, W_s1, b_s1, W_s2, b_s2, lengths, r)
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
    P: Tensor = (Q @ Q.T - torch.eye(r, dtype=Q.dtype, device=Q.device)).square().sum() / r
    return P
