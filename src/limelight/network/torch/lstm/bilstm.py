"""The bidirectional LSTM: each sentence read forwards and backwards, padding never read.

Several ways to the same numbers. On a CPU, `recurrence` computes both directions side by side over packed
sentences, with one matrix product for all input projections and one for each weight gradient. On a Hopper GPU
in bf16, `persistent` runs all time steps in one kernel. On other GPUs and in float32, training uses
`triton_kernels` and evaluation cuDNN. All are in static shapes: a whole training step can be captured as one
CUDA graph.
"""

import torch
from torch import Tensor, nn

from ....errors import needs_extra
from . import persistent
from .packing import mask, pad_units
from .persistent import by_persistent
from .recurrence import by_recurrence
from .triton_kernels import by_triton, is_available, is_faster


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
        raise needs_extra(f"{what}: pip install triton, or train on the CPU")
    return by_cudnn(S, lengths, W_ih, W_hh, b)


# ---------------------------------------------------------------- cuDNN, in static shapes


def by_cudnn(S: Tensor, lengths: Tensor, W_ih: Tensor, W_hh: Tensor, b: Tensor) -> Tensor:
    """One bidirectional call: cuDNN runs both directions at the same time.

    Its backward direction starts at the end of the padded width, so it gets the sentences moved to the
    right, their last words at that end; it then reads the padding only after the first word.
    """
    batch, n, _ = S.shape
    u = W_hh.shape[2]
    to_right, to_left = _moves(lengths, n)
    X = torch.cat([S, _move(S, to_right)], dim=2)  # each direction weighs its own half
    weights, width = _cudnn_weights(W_ih, W_hh, b)
    start = S.new_zeros(2, batch, width)
    H = torch.lstm(X, [start, start], weights, True, 1, 0.0, torch.is_grad_enabled(), True, True)[0]
    forwards, backwards = H[..., :u], H[..., width : width + u]
    H = torch.cat([forwards, _move(backwards, to_left)], dim=2)
    return H * mask(lengths, n).unsqueeze(2)


def _cudnn_weights(W_ih: Tensor, W_hh: Tensor, b: Tensor) -> tuple[list[Tensor], int]:
    """The weights as cuDNN wants them: contiguous, and with a number of units that suits the tensor cores."""
    W_ih, W_hh, b = pad_units(W_ih, W_hh, b, -W_hh.shape[2] % 16)
    d, pad = W_ih.shape[2], nn.functional.pad
    W_f, W_b = pad(W_ih[0], (0, d)), pad(W_ih[1], (d, 0))  # (4 width, 2d)
    zero = torch.zeros_like(b[0])  # cuDNN has a second bias
    pieces = [W_f, W_hh[0], W_b, W_hh[1], b[0], zero, b[1], zero]
    whole = torch.cat([x.flatten() for x in pieces])
    parts = [x.view_as(y) for x, y in zip(whole.split([y.numel() for y in pieces]), pieces, strict=True)]
    return [parts[k] for k in (0, 1, 4, 5, 2, 3, 6, 7)], W_hh.shape[2]


def _moves(lengths: Tensor, n: int) -> tuple[Tensor, Tensor]:
    """Two (batch * n,): the indices that move all sentences to the right, and back."""
    t = torch.arange(n, device=lengths.device)
    sentence = torch.arange(len(lengths), device=lengths.device)[:, None] * n
    room = n - lengths[:, None]
    return (sentence + (t - room) % n).flatten(), (sentence + (t + room) % n).flatten()


def _move(X: Tensor, places: Tensor) -> Tensor:
    return X.flatten(0, 1).index_select(0, places).view(X.shape)
