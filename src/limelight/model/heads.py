"""M to a label: the two-layer perceptron of section 2 and its pruned form of appendix A."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .dropout import Dropout
from .encoder import uniform


class FullHead(nn.Module):
    """Every hidden unit sees all of M: r * 2u * b weights.

    >>> FullHead(rows=3, size=4, b=5, classes=2)(torch.randn(7, 3, 4)).shape
    torch.Size([7, 2])
    """

    def __init__(self, rows: int, size: int, b: int, classes: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.W_1, self.b_1 = uniform((rows * size) ** -0.5, b, rows * size), uniform((rows * size) ** -0.5, b)
        self.W_2, self.b_2 = uniform(b**-0.5, classes, b), uniform(b**-0.5, classes)
        self.dropout = Dropout(dropout)

    def forward(self, M: Tensor) -> Tensor:
        """M (batch, rows, size) -> logits (batch, classes)."""
        hidden = torch.relu(nn.functional.linear(M.flatten(1), self.W_1, self.b_1))
        return nn.functional.linear(self.dropout(hidden), self.W_2, self.b_2)

    def hidden_parameters(self) -> tuple[list[nn.Parameter], list[nn.Parameter]]:
        """Weights and biases of the hidden layer."""
        return [self.W_1], [self.b_1]

    def softmax_parameters(self) -> tuple[list[nn.Parameter], list[nn.Parameter]]:
        """Weights and biases of the softmax layer."""
        return [self.W_2], [self.b_2]


class PrunedHead(nn.Module):
    """Appendix A: p hidden units for each row of M (M^v), q for each column (M^h), a softmax over both.

    More layers continue group by group on top of M^v and M^h. With `mix`, as many units then read all groups.

    >>> PrunedHead(rows=3, size=4, p=5, q=2, classes=2)(torch.randn(7, 3, 4)).shape
    torch.Size([7, 2])
    """

    def __init__(
        self,
        rows: int,
        size: int,
        p: int,
        q: int,
        classes: int,
        layers: int = 1,
        dropout: float = 0.0,
        mix: int = 0,
    ) -> None:
        super().__init__()
        self.layers, self.p, self.q = layers, p, q
        self.dropout = Dropout(dropout)
        for k in range(layers):
            if p:
                self._add_groups(f"v_{k}", rows, size if k == 0 else p, p)
            if q:
                self._add_groups(f"h_{k}", size, rows if k == 0 else q, q)
        units = rows * p + size * q
        self.mix = mix
        if mix:
            self.W_m, self.b_m = uniform(units**-0.5, mix, units), uniform(units**-0.5, mix)
            units = mix
        self.W_o, self.b_o = uniform(units**-0.5, classes, units), uniform(units**-0.5, classes)

    def _add_groups(self, name: str, groups: int, inputs: int, units: int) -> None:
        self.register_parameter(f"W_{name}", uniform(inputs**-0.5, groups, inputs, units))
        self.register_parameter(f"b_{name}", uniform(inputs**-0.5, groups, units))

    def forward(self, M: Tensor) -> Tensor:
        """M (batch, rows, size) -> logits (batch, classes)."""
        parts = []
        if self.p:
            parts.append(self._stack("v", M).flatten(1))  # M^v: (batch, rows * p)
        if self.q:
            parts.append(self._stack("h", M.transpose(1, 2)).flatten(1))  # M^h: (batch, size * q)
        units = torch.cat(parts, dim=1)
        if self.mix:
            units = self.dropout(torch.relu(nn.functional.linear(units, self.W_m, self.b_m)))
        return nn.functional.linear(units, self.W_o, self.b_o)

    def _stack(self, side: str, groups: Tensor) -> Tensor:
        for k in range(self.layers):
            W, b = getattr(self, f"W_{side}_{k}"), getattr(self, f"b_{side}_{k}")
            # (groups, batch, in) @ (groups, in, units): each group has weights of its own
            groups = torch.baddbmm(b.unsqueeze(1), groups.transpose(0, 1), W).transpose(0, 1)
            groups = self.dropout(torch.relu(groups))
        return groups

    def hidden_parameters(self) -> tuple[list[nn.Parameter], list[nn.Parameter]]:
        """Weights and biases of the hidden layers."""
        named = list(self.named_parameters())
        return (
            [x for name, x in named if name.startswith(("W_v", "W_h", "W_m"))],
            [x for name, x in named if name.startswith(("b_v", "b_h", "b_m"))],
        )

    def softmax_parameters(self) -> tuple[list[nn.Parameter], list[nn.Parameter]]:
        """Weights and biases of the softmax layer."""
        return [self.W_o], [self.b_o]
