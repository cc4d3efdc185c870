"""M to a label: the perceptron of section 2, its pruned form of appendix A, and linear maps; pairs of M."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from ...config.recipe import ModelRecipe
from .encoder import uniform
from .shared import Dropout, missing_columns, pad_to

LAST_LAYER = ("head.W_o", "head.b_o", "head.W_2", "head.b_2")  # of a network, by their names


class Head(nn.Module):
    """M to logits: some features of M, and a last layer that reads them."""

    last = ("W_o", "b_o")  # its names

    def last_layer(self) -> tuple[Tensor, Tensor]:
        """Weights (classes, features) and biases (classes,)."""
        return getattr(self, self.last[0]), getattr(self, self.last[1])

    def features(self, M: Tensor) -> Tensor:
        """What the last layer reads: (batch, features)."""
        return M.flatten(1)

    def forward(self, M: Tensor) -> Tensor:
        """M (batch, rows, size) -> logits (batch, classes); on a GPU by a product with some more classes."""
        features, (W, b) = self.features(M), self.last_layer()
        (classes, size), more = W.shape, missing_columns(features, len(W))
        logits = nn.functional.linear(features, pad_to(W, classes + more, size), pad_to(b, classes + more))
        return logits[:, :classes]


class FullHead(Head):
    """Every hidden unit sees all of M: r * 2u * b weights.

    >>> FullHead(rows=3, size=4, b=5, classes=2)(torch.randn(7, 3, 4)).shape
    torch.Size([7, 2])
    """

    last = ("W_2", "b_2")

    def __init__(self, rows: int, size: int, b: int, classes: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.W_1, self.b_1 = uniform((rows * size) ** -0.5, b, rows * size), uniform((rows * size) ** -0.5, b)
        self.W_2, self.b_2 = uniform(b**-0.5, classes, b), uniform(b**-0.5, classes)
        self.dropout = Dropout(dropout)

    def features(self, M: Tensor) -> Tensor:
        dropped: Tensor = self.dropout(torch.relu(nn.functional.linear(M.flatten(1), self.W_1, self.b_1)))
        return dropped


class PrunedHead(Head):
    """Appendix A: p hidden units for each row of M (M^v), q for each column (M^h), a softmax over both.

    With `mix`, a second hidden layer of that many units reads both.

    >>> PrunedHead(rows=3, size=4, p=5, q=2, classes=2)(torch.randn(7, 3, 4)).shape
    torch.Size([7, 2])
    """

    def __init__(
        self, rows: int, size: int, p: int, q: int, classes: int, dropout: float = 0.0, mix: int = 0
    ) -> None:
        super().__init__()
        self.p, self.q = p, q
        self.dropout = Dropout(dropout)
        if p:
            self.W_v_0, self.b_v_0 = uniform(size**-0.5, rows, size, p), uniform(size**-0.5, rows, p)
        if q:
            self.W_h_0, self.b_h_0 = uniform(rows**-0.5, size, rows, q), uniform(rows**-0.5, size, q)
        units = rows * p + size * q
        self.mix = mix
        if mix:
            self.W_m, self.b_m = uniform(units**-0.5, mix, units), uniform(units**-0.5, mix)
            units = mix
        self.W_o, self.b_o = uniform(units**-0.5, classes, units), uniform(units**-0.5, classes)

    def features(self, M: Tensor) -> Tensor:
        parts = []
        if self.p:
            parts.append(self._groups(M, self.W_v_0, self.b_v_0))  # M^v: (batch, rows * p)
        if self.q:
            parts.append(self._groups(M.transpose(1, 2), self.W_h_0, self.b_h_0))  # M^h: (batch, size * q)
        units = torch.cat(parts, dim=1)
        if self.mix:
            units = self.dropout(torch.relu(nn.functional.linear(units, self.W_m, self.b_m)))
        return units

    def _groups(self, X: Tensor, W: Tensor, b: Tensor) -> Tensor:
        """X (batch, groups, in) -> (batch, groups * units): each group has weights of its own."""
        units = torch.baddbmm(b.unsqueeze(1), X.transpose(0, 1), W).transpose(0, 1)
        dropped: Tensor = self.dropout(torch.relu(units)).flatten(1)
        return dropped


class LinearHead(Head):
    """No hidden layer: each logit is a sum over the rows of M, and so over the words.

    >>> LinearHead(rows=3, size=4, classes=2)(torch.randn(7, 3, 4)).shape
    torch.Size([7, 2])
    """

    def __init__(self, rows: int, size: int, classes: int) -> None:
        super().__init__()
        self.W_o, self.b_o = uniform((rows * size) ** -0.5, classes, rows * size), uniform(0.0, classes)


class VectorMap(nn.Module):
    """v = sum over the rows of M: V_r U m_r, linear in M; U is shared, each row has its own V_r.

    >>> VectorMap(rows=3, size=4, rank=2, vector=5)(torch.randn(7, 3, 4)).shape
    torch.Size([7, 5])
    """

    def __init__(self, rows: int, size: int, rank: int, vector: int) -> None:
        super().__init__()
        self.W_shared = nn.Parameter(torch.randn(rank, size) * size**-0.5)
        self.W_rows = nn.Parameter(torch.randn(vector, rows * rank) * (rows * rank) ** -0.5)

    def forward(self, M: Tensor) -> Tensor:
        """M (batch, rows, size) -> v (batch, vector)."""
        return nn.functional.linear(nn.functional.linear(M, self.W_shared).flatten(1), self.W_rows)

    def scaled(self, M: Tensor) -> Tensor:
        """(batch, 1, vector): v with a mean square of 1, so that products have the cosine for their mean."""
        scaled: Tensor = (nn.functional.normalize(self(M), dim=1) * len(self.W_rows) ** 0.5).unsqueeze(1)
        return scaled


class VectorHead(Head):
    """A linear head in three factors, for training: M to a reader's vector v, as it was learnt, to logits."""

    def __init__(self, W_shared: Tensor, W_rows: Tensor, classes: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.W_shared, self.W_rows = nn.Parameter(W_shared), nn.Parameter(W_rows)  # (k, 2u), (v, r * k)
        self.W_o, self.b_o = nn.Parameter(torch.zeros(classes, len(W_rows))), uniform(0.0, classes)
        # brings v to length 1; W_rows keeps its size, by which steps of Adam are small or large
        self.register_buffer("scale", torch.ones(()))
        self.scale: Tensor
        self.dropout = Dropout(dropout)

    def features(self, M: Tensor) -> Tensor:
        """A reader's vector v (batch, v)."""
        dropped: Tensor = self.dropout(nn.functional.linear(self.rows(M), self.W_rows) * self.scale)
        return dropped

    def rows(self, M: Tensor) -> Tensor:
        """What v is a linear map of: U m_r of every row, side by side (batch, r * k)."""
        return nn.functional.linear(M, self.W_shared).flatten(1)

    @torch.no_grad()
    def to_linear(self) -> LinearHead:
        """The same map as one matrix."""
        k, size = self.W_shared.shape
        rows = self.W_rows.shape[1] // k
        W = (self.scale * self.W_o @ self.W_rows).view(-1, rows, k) @ self.W_shared  # (classes, rows, size)
        head = LinearHead(rows, size, len(self.W_o)).to(W.device)
        head.W_o.copy_(W.flatten(1))
        head.b_o.copy_(self.b_o)
        return head


class ScaledLinearHead(Head):
    """A linear head for training: its weights are held `scale` times as large.

    Each step of Adam moves every weight by about the learning rate, and a logit by the sum over all of M:
    too far, where M is large. Here a step moves a logit as far as in a layer of few inputs.
    """

    last = ("W_scaled", "b_o")

    def __init__(self, linear: LinearHead) -> None:
        super().__init__()
        self.scale = linear.W_o.shape[1] ** 0.5
        self.W_scaled = nn.Parameter(linear.W_o.detach() * self.scale)  # (classes, rows * size)
        self.b_o = nn.Parameter(linear.b_o.detach().clone())

    def features(self, M: Tensor) -> Tensor:
        scaled: Tensor = M.flatten(1) / self.scale
        return scaled

    @torch.no_grad()
    def to_linear(self) -> LinearHead:
        """The same map with plain weights."""
        head = LinearHead(1, self.W_scaled.shape[1], len(self.b_o)).to(self.b_o.device)
        head.W_o.copy_(self.W_scaled / self.scale)
        head.b_o.copy_(self.b_o)
        return head


# ---------------------------------------------------------------- pairs: two embeddings to one


class GatedEncoder(nn.Module):
    """F_r = batcheddot(M_h, W_fh) * batcheddot(M_p, W_fp): a weight matrix for each row, on each side.

    >>> GatedEncoder(rows=3, size=4)(torch.randn(7, 3, 4), torch.randn(7, 3, 4)).shape
    torch.Size([7, 3, 4])
    """

    def __init__(self, rows: int, size: int) -> None:
        super().__init__()
        self.W_fp = uniform(size**-0.5, rows, size, size)
        self.W_fh = uniform(size**-0.5, rows, size, size)

    def forward(self, M_p: Tensor, M_h: Tensor) -> Tensor:
        """Two (batch, rows, size) -> F_r (batch, rows, size)."""
        return batched_dot(M_p, self.W_fp) * batched_dot(M_h, self.W_fh)


def gated(M: Tensor, W_p: Tensor, W_h: Tensor) -> Tensor:
    """batcheddot(M_p, W_p) * batcheddot(M_h, W_h), of M (2 * batch, rows, in): M_p, and then M_h."""
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


def concat_features(u: Tensor, v: Tensor) -> Tensor:
    """[u; v; |u-v|; u*v] row by row: two (batch, rows, size) -> (batch, rows, 4 * size).

    >>> concat_features(torch.tensor([[[2.0]]]), torch.tensor([[[3.0]]])).tolist()
    [[[2.0, 3.0, 1.0, 6.0]]]
    """
    return torch.cat([u, v, (u - v).abs(), u * v], dim=2)


HEADS: dict[str, Callable[[ModelRecipe, int, int, int], Head]] = {
    "full": lambda o, rows, size, classes: FullHead(rows, size, o.head_hidden, classes, o.dropout),
    "linear": lambda o, rows, size, classes: LinearHead(rows, size, classes),
    "pruned": lambda o, rows, size, classes: PrunedHead(
        rows, size, o.row_units, o.column_units, classes, o.dropout, o.mix_units
    ),
}
