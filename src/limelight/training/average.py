"""An exponential moving average of the trained weights, kept beside them on the device."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor


class Average:
    """Follows `weights`: after step t, average += (1 - d) * (weights - average), d = min(decay, t / (9 + t)).

    d is small while t is, so the untrained starting weights are soon forgotten. Frozen weights have no
    average, and with a decay of 0 there is none at all.

    >>> w = torch.nn.Parameter(torch.tensor([0.0]))
    >>> average = Average({"w": w}, decay=0.9)
    >>> with torch.no_grad():
    ...     _ = w.add_(10)
    >>> average.update(torch.tensor(1))
    >>> with average.in_place():
    ...     w.item()
    9.0
    >>> w.item()
    10.0
    """

    def __init__(self, weights: Mapping[str, Tensor], decay: float) -> None:
        self.decay = decay
        self.weights = {name: w for name, w in weights.items() if w.requires_grad and decay > 0}
        self.values = {name: w.detach().clone() for name, w in self.weights.items()}

    @torch.no_grad()
    def update(self, steps: Tensor) -> None:
        """Move towards the weights after this many steps, a tensor on the device."""
        if not self.values:
            return
        share = 1 - (steps / (9 + steps.double())).clamp(max=self.decay)
        for name, value in self.values.items():
            value.lerp_(self.weights[name], share.to(value.dtype))

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Swap the average in for the weights; no copy, and captured graphs still find both."""
        raw = {name: w.data for name, w in self.weights.items()}
        try:
            for name, w in self.weights.items():
                w.data = self.values[name]
            yield
        finally:
            for name, w in self.weights.items():
                w.data = raw[name]

    @torch.no_grad()
    def load(self, values: dict[str, Tensor]) -> None:
        """Load an average in place."""
        for name, value in self.values.items():
            value.copy_(values[name])
