"""A bidirectional LSTM with fixed weights on a Hopper GPU: W_ih x + b is looked up for each word."""

from __future__ import annotations

from torch import Tensor

from .layout import Sizes
from .persistent import even, kernels_for, pack, thread_blocks, with_ones


class GateTable:
    """W_ih x + b of every word x (words, d), and W_hh; all in bf16."""

    def __init__(self, S: Tensor, W_ih: Tensor, W_hh: Tensor, b: Tensor) -> None:
        self.units, self.weights = W_hh.shape[2], even(W_ih, W_hh, b)
        self.packed: dict[Sizes, list[Tensor]] = {}
        self.gates = self.of(S)

    def of(self, S: Tensor) -> Tensor:
        """W_ih x + b of other words."""
        sizes = self._sizes(batch=1)
        W_1 = self._packed(sizes)[0]
        return with_ones(kernels_for(sizes, "table", S.get_device()), S) @ W_1.T

    def __call__(
        self, ids: Tensor, starts: Tensor, lengths: Tensor, n: int, more: Tensor | None = None
    ) -> Tensor:
        """H (batch, n, 2u) of sentences whose word ids begin at `starts` in ids, the longest first.

        Ids beyond the table are those of `more` words, as given by `of`.
        """
        batch, sizes = len(lengths), self._sizes(len(lengths))
        W_f = self._packed(sizes)[1]
        H = self.gates.new_empty(batch, n, 2, sizes.units)
        kernel = kernels_for(sizes, "table", H.get_device())["forward"]
        kernel(
            thread_blocks(kernel, batch, sizes),
            self.gates, H, None, None, W_f, lengths, None, more, ids, starts, len(self.gates), batch, n,
        )  # fmt: skip
        return H[..., : self.units].flatten(2)

    def _sizes(self, batch: int) -> Sizes:
        return Sizes.of(self.weights[1].shape[2], batch)

    def _packed(self, sizes: Sizes) -> list[Tensor]:
        if sizes not in self.packed:
            kernels = kernels_for(sizes, "table", self.weights[0].get_device())
            self.packed[sizes] = pack(kernels, sizes, *self.weights)
        return self.packed[sizes]
