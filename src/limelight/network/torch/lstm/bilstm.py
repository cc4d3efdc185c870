"""The bidirectional LSTM: each sentence read forwards and backwards, padding never read.

Several ways to the same numbers. On a CPU, `by_recurrence` computes both directions side by side over packed
sentences. On a Hopper GPU in bf16, `persistent` runs all time steps in one kernel. On other GPUs and in
float32, training uses `triton_kernels` and evaluation cuDNN. On a GPU shapes are static, for CUDA graphs.
"""

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from ....errors import needs_extra
from ..shared import mask, pad_units
from . import persistent
from .persistent import by_persistent
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


# ---------------------------------------------------------------- on a CPU, in plain PyTorch


class Packing(NamedTuple):
    """Words in time-step order, for each direction.

    A place is a word in the padded (batch * n) layout; a half place is its half of H for one direction.
    """

    read: Tensor  # (2 * words,): the place each direction reads
    write: Tensor  # (2 * words,): the half place it writes
    source: Tensor  # (batch * n * 2,): the inverse of `write`; 2 * words on padding
    before: Tensor  # (words - batch,): index of the previous word, for all words but first ones
    sizes: list[int]  # sentences still running at each time step


def pack(lengths: Tensor, n: int) -> Packing:
    """The longest sentence first, without padding. In numpy, whose small operations are cheaper."""
    order = np.argsort(-lengths.numpy(), kind="stable")
    longest_first = lengths.numpy()[order]
    if longest_first[0] > n:
        raise ValueError(f"a sentence of {longest_first[0]} words does not fit into a batch of width {n}")
    running = np.arange(longest_first[0])[:, None] < longest_first  # (steps, batch)
    sizes = running.sum(1)
    t, i = running.nonzero()
    read = order[i] * n + np.stack([t, longest_first[i] - 1 - t])  # (2, words)
    write = 2 * read + [[0], [1]]
    source = np.full(len(order) * n * 2, write.size)
    source[write] = np.arange(write.size).reshape(write.shape)
    before = np.arange(sizes[0], len(t)) - np.repeat(sizes[:-1], sizes[1:])
    tensor = torch.from_numpy
    return Packing(
        tensor(read.ravel()), tensor(write.ravel()), tensor(source), tensor(before), sizes.tolist()
    )


def by_recurrence(S: Tensor, lengths: Tensor, W_ih: Tensor, W_hh: Tensor, b: Tensor, clip: float) -> Tensor:
    """H (batch, n, 2u) from S (batch, n, d), as `bilstm`."""
    H: Tensor = _Recurrence.apply(S, W_ih, W_hh, b, pack(lengths, S.shape[1]), clip)
    return H


class _Recurrence(torch.autograd.Function):
    """Both directions over packed words.

    The gradient is written out: whatever does not depend on the previous step (the factors of the gates'
    gradients, all weight gradients) is computed for all words at once. The views of all time steps are made
    in advance: making one costs as much as a small step's arithmetic.
    """

    @staticmethod
    def forward(
        ctx: Any, S: Tensor, W_ih: Tensor, W_hh: Tensor, b: Tensor, packing: Packing, clip: float
    ) -> Tensor:
        u = W_hh.shape[2]
        inputs = S.flatten(0, 1).index_select(0, packing.read).view(2, -1, S.shape[2])  # (2, words, d)
        gates = torch.baddbmm(b.unsqueeze(1), inputs, W_ih.transpose(1, 2))  # (2, words, 4u)
        news, cells, squashed = gates.new_empty(3, 2, inputs.shape[1], u)
        states, states_and_zero = _with_zero_row(gates, u)
        W = W_hh.transpose(1, 2).contiguous()
        before: tuple[Tensor, Tensor] | None = None
        views = [gates, *gates.split(u, 2), news, cells, squashed, states]
        for z, i, f, z_g, o, g, c, tanh_c, h in _steps(views, packing.sizes):
            if before is not None:
                h_before, c_before = (_first(x, z.shape[1]) for x in before)
                z.baddbmm_(h_before, W)
            torch.tanh(z_g, out=g)
            z.sigmoid_()  # z_g too, to no effect: one call on contiguous memory is cheaper than two on parts
            torch.mul(i, g, out=c)
            if before is not None:
                c.addcmul_(f, c_before)
            torch.mul(o, torch.tanh(c, out=tanh_c), out=h)
            before = h, c
        ctx.save_for_backward(inputs, W_ih, W_hh, gates, news, cells, squashed, states)
        ctx.packing, ctx.clip, ctx.shape = packing, clip, S.shape
        return states_and_zero.index_select(0, packing.source).view(*S.shape[:2], 2 * u)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *dH: Tensor) -> tuple[Tensor | None, ...]:
        inputs, W_ih, W_hh, gates, news, cells, squashed, states = ctx.saved_tensors
        packing: Packing = ctx.packing
        u = W_hh.shape[2]
        d_states = dH[0].reshape(-1, u).index_select(0, packing.write).view_as(states)
        d_gates, d_cells = _gate_factors(gates, news, cells, squashed, packing)  # become gradients below
        ifg, d_o = d_gates[..., : 3 * u].unflatten(2, (3, u)), d_gates[..., 3 * u :]
        views = [d_states, d_cells, d_gates, ifg, d_o, gates[..., u : 2 * u]]
        after: tuple[Tensor, Tensor] | None = None
        for dh, dc, dz, difg, do, f in reversed(_steps(views, packing.sizes)):
            if after is not None:
                _first(dh, after[0].shape[1]).add_(after[0])
            dc.mul_(dh)
            if after is not None:
                _first(dc, after[1].shape[1]).add_(after[1])
            difg.mul_(dc.unsqueeze(2))
            do.mul_(dh)
            if ctx.clip:
                dz.clamp_(-ctx.clip, ctx.clip)
            after = torch.bmm(dz, W_hh), dc.mul_(f)
        dS = None
        if ctx.needs_input_grad[0]:  # the sum of both directions'
            found, found_and_zero = _with_zero_row(d_gates, W_ih.shape[2])
            torch.bmm(d_gates, W_ih, out=found)
            dS = nn.functional.embedding_bag(packing.source.view(-1, 2), found_and_zero, mode="sum")
            dS = dS.view(ctx.shape)
        return dS, *_weight_gradients(d_gates, inputs, states, packing), None, None


def _gate_factors(
    gates: Tensor, news: Tensor, cells: Tensor, squashed: Tensor, packing: Packing
) -> tuple[Tensor, Tensor]:
    """The factors of the cell's and state's gradients for each gate, of all steps at once."""
    u, first = cells.shape[2], packing.sizes[0]
    i, _, _, o = gates.split(u, 2)
    factors = torch.addcmul(gates, gates, gates, value=-1)  # x (1 - x)
    d_i, d_f, d_g, d_o = factors.split(u, 2)
    d_i.mul_(news)
    d_f[:, :first] = 0  # before the first word the cell is empty
    d_f[:, first:].mul_(cells.index_select(1, packing.before))
    torch.sub(i, (i * news).mul_(news), out=d_g)  # i (1 - g^2)
    d_o.mul_(squashed)
    return factors, o - (o * squashed).mul_(squashed)  # o (1 - tanh(c)^2)


def _weight_gradients(
    d_gates: Tensor, inputs: Tensor, states: Tensor, packing: Packing
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of W_ih, W_hh and b from those of all gates."""
    later = d_gates[:, packing.sizes[0] :].transpose(1, 2)
    return (
        torch.bmm(d_gates.transpose(1, 2), inputs),
        torch.bmm(later, states.index_select(1, packing.before)),
        d_gates.sum(1),
    )


def _with_zero_row(like: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """An empty (2, words, size), and the same memory as rows with a zero row at the end, for padding."""
    rows = like.new_empty(like.shape[0] * like.shape[1] + 1, size)
    rows[-1] = 0
    return rows[:-1].view(*like.shape[:2], size), rows


def _steps(views: list[Tensor], sizes: list[int]) -> list[tuple[Tensor, ...]]:
    return list(zip(*(x.split(sizes, 1) for x in views), strict=True))


def _first(x: Tensor, size: int) -> Tensor:
    """The part of a step for the `size` longest sentences."""
    return x if x.shape[1] == size else x[:, :size]
