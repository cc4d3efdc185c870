"""A bidirectional LSTM with fixed weights on a Hopper GPU: W_ih x + b is looked up for each word."""

from __future__ import annotations

import torch
from torch import Tensor

from .layout import Sizes
from .persistent import even, kernels_for, pack, sizes_for, thread_blocks, with_ones


class GateTable:
    """W_ih x + b of every word x (words, d), and W_hh; all in bf16."""

    def __init__(self, S: Tensor, W_ih: Tensor, W_hh: Tensor, b: Tensor) -> None:
        self.units, self.weights, self.device = W_hh.shape[2], even(W_ih, W_hh, b), S.get_device()
        self.W_1 = self._pack(self._sizes(batch=1), 0)
        self.W_hh: dict[Sizes, Tensor] = {}  # as the kernel of these sizes reads it
        self.gates = self.of(S)
        torch.cuda.current_stream(self.device).synchronize()  # other streams may read it next

    def of(self, S: Tensor) -> Tensor:
        """W_ih x + b of other words."""
        return with_ones(S) @ self.W_1.T

    def __call__(
        self, ids: Tensor, starts: Tensor, lengths: Tensor, n: int, more: Tensor | None = None
    ) -> Tensor:
        """H (batch, n, 2u) of sentences whose ids (int32) begin at `starts`, the longest first.

        Ids beyond the table are those of `more` words, as given by `of`.
        """
        batch, sizes = len(lengths), self._sizes(len(lengths))
        if sizes not in self.W_hh:
            self.W_hh[sizes] = self._pack(sizes, 1)
        H = self.gates.new_empty(batch, n, 2, sizes.units)
        kernel = kernels_for(sizes, "table", self.device)["forward"]
        kernel(
            thread_blocks(kernel, batch, sizes),
            self.gates, H, None, None, self.W_hh[sizes], lengths, None, more, ids, starts, len(self.gates),
            batch, n,
        )  # fmt: skip
        return H[..., : self.units].flatten(2)

    def _sizes(self, batch: int) -> Sizes:
        return sizes_for(self.weights[1].shape[2], batch, self.device)

    def _pack(self, sizes: Sizes, which: int) -> Tensor:
        packed = pack(sizes, *self.weights)[which].clone()  # the others are not kept
        torch.cuda.current_stream(self.device).synchronize()
        return packed
