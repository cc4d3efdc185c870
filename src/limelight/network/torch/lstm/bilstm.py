"""The bidirectional LSTM: each sentence read forwards and backwards, padding never read.

Several ways to the same numbers. On a CPU, `recurrence` computes both directions side by side over packed
sentences, with one matrix product for all input projections and one for each weight gradient. On a Hopper GPU
in bf16, `persistent` runs all time steps in one kernel. On other GPUs and in float32, training uses
`triton_kernels` and evaluation cuDNN. All are in static shapes: a whole training step can be captured as one
CUDA graph.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ....errors import LimelightError
from . import persistent
from .cudnn import by_cudnn
from .packing import mask
from .persistent import by_persistent
from .recurrence import by_recurrence
from .triton_kernels import by_triton, is_available, is_faster

__all__ = ["bilstm", "mask"]


def bilstm(S: Tensor, lengths: Tensor, W_ih: Tensor, W_hh: Tensor, b: Tensor, clip: float = 0.0) -> Tensor:
    """H (batch, n, 2u) from S (batch, n, d); direction 0 reads forwards, direction 1 backwards.

    W_ih (2, 4u, d), W_hh (2, 4u, u) and b (2, 4u) hold the gates in PyTorch's order: input, forget, cell,
    output. H is zero on padding. `clip` bounds each gradient at the gates, as the author's code does.
    """
    if persistent.is_available(S, W_hh.shape[2]):
        return by_persistent(S, lengths, W_ih, W_hh, b, clip)
    if is_available(S) and torch.is_grad_enabled() and (is_faster(S) or clip):
        return by_triton(S, lengths, W_ih, W_hh, b, clip)
    if not S.is_cuda:
        return by_recurrence(S, lengths, W_ih, W_hh, b, clip)
    if clip and torch.is_grad_enabled():
        what = "clip_gates needs Triton on a GPU, and float32 or bf16"
        raise LimelightError(f"{what}: pip install triton, or train on the CPU", code="needs-extra")
    return by_cudnn(S, lengths, W_ih, W_hh, b)
