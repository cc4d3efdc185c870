"""The bidirectional LSTM's arithmetic: each sentence read forwards and backwards, padding never read.

Three ways to the same numbers. On a CPU, `_Recurrence` computes both directions side by side over packed
sentences, with one matrix product for all input projections and one for each weight gradient. On a GPU,
training uses kernels of our own (`lstm_triton`) and evaluation cuDNN; both in static shapes, so that a
whole training step can be captured as one CUDA graph.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from .triton_kernels import available, by_steps, faster


def bilstm(S: Tensor, lengths: Tensor, W_ih: Tensor, W_hh: Tensor, b: Tensor, clip: float = 0.0) -> Tensor:
    """H (batch, n, 2u) from S (batch, n, d); direction 0 reads forwards, direction 1 backwards.

    W_ih (2, 4u, d), W_hh (2, 4u, u) and b (2, 4u) hold the gates in PyTorch's order: input, forget, cell,
    output. H is zero on padding. `clip` bounds each gradient at the gates, as the author's code does.
    """
    if available(S) and torch.is_grad_enabled() and (faster(S) or clip):
        return by_steps(S, lengths, W_ih, W_hh, b, clip)
    if S.is_cuda and not clip:
        return _by_cudnn(S, lengths, W_ih, W_hh, b)
    return _by_recurrence(S, lengths, W_ih, W_hh, b, clip)


# ---------------------------------------------------------------- GPU: cuDNN, static shapes


def _by_cudnn(S: Tensor, lengths: Tensor, W_ih: Tensor, W_hh: Tensor, b: Tensor) -> Tensor:
    """One bidirectional call for both: cuDNN runs the directions side by side.

    The backward direction starts at the end of the padded width, so it gets the sentences moved to the
    right, where their last words stand at that end; it reads the padding only after the first word.
    """
    batch, n, _ = S.shape
    u = W_hh.shape[2]
    to_right, to_left = _moves(lengths, n)
    X = torch.cat(
        [S, _Move.apply(S, to_right, to_left)], dim=2
    )  # each direction has weights for its own half
    weights, width = _cudnn_weights(W_ih, W_hh, b)
    start = S.new_zeros(2, batch, width)
    H = torch.lstm(X, [start, start], weights, True, 1, 0.0, torch.is_grad_enabled(), True, True)[0]
    forwards, backwards = H[..., :u], H[..., width : width + u]
    H = torch.cat([forwards, _Move.apply(backwards, to_left, to_right)], dim=2)
    return H * mask(lengths, n).unsqueeze(2)


def _cudnn_weights(W_ih: Tensor, W_hh: Tensor, b: Tensor) -> tuple[list[Tensor], int]:
    """The weights as cuDNN wants them: in one piece, and with a number of units that suits the tensor cores.

    A unit whose weights are all zero has state zero, so the added ones change nothing.
    """
    u, d = W_hh.shape[2], W_ih.shape[2]
    more = -u % 16
    width = u + more
    pad = nn.functional.pad
    W_ih = pad(W_ih.view(2, 4, u, d), (0, 0, 0, more)).flatten(1, 2)
    W_hh = pad(W_hh.view(2, 4, u, u), (0, more, 0, more)).flatten(1, 2)
    b = pad(b.view(2, 4, u), (0, more)).flatten(1, 2)
    W_f, W_b = pad(W_ih[0], (0, d)), pad(W_ih[1], (d, 0))  # (4 width, 2d)
    none = torch.zeros_like(b[0])  # cuDNN has a second bias
    pieces = [W_f, W_hh[0], W_b, W_hh[1], b[0], none, b[1], none]
    whole = torch.cat([x.flatten() for x in pieces])
    parts = [x.view_as(y) for x, y in zip(whole.split([y.numel() for y in pieces]), pieces, strict=True)]
    return [parts[k] for k in (0, 1, 4, 5, 2, 3, 6, 7)], width


def _moves(lengths: Tensor, n: int) -> tuple[Tensor, Tensor]:
    """Two (batch * n,): which row of the flattened words to take to move all sentences right, and back."""
    t = torch.arange(n, device=lengths.device)
    sentence = torch.arange(len(lengths), device=lengths.device)[:, None] * n
    room = n - lengths[:, None]
    return (sentence + (t - room) % n).flatten(), (sentence + (t + room) % n).flatten()


class _Move(torch.autograd.Function):
    """Words to other places. It is a permutation, so its gradient is the move back."""

    @staticmethod
    def forward(ctx: Any, X: Tensor, there: Tensor, back: Tensor) -> Tensor:
        ctx.save_for_backward(back)
        return X.flatten(0, 1).index_select(0, there).view(X.shape)

    @staticmethod
    def backward(ctx: Any, *dX: Tensor) -> tuple[Tensor | None, ...]:
        (back,) = ctx.saved_tensors
        return dX[0].flatten(0, 1).index_select(0, back).view(dX[0].shape), None, None


def reversal(lengths: Tensor, n: int) -> Tensor:
    """(batch, n): where to look so that each sentence is reversed by its own length; padding stays put.

    >>> reversal(torch.tensor([3, 1]), 4).tolist()
    [[2, 1, 0, 3], [0, 1, 2, 3]]
    """
    t = torch.arange(n, device=lengths.device)
    return torch.where(t < lengths[:, None], lengths[:, None] - 1 - t, t)


def mask(lengths: Tensor, n: int) -> Tensor:
    """(batch, n): True on words, False on padding.

    >>> mask(torch.tensor([2, 1]), 3).tolist()
    [[True, True, False], [True, False, False]]
    """
    return torch.arange(n, device=lengths.device) < lengths[:, None]


# ---------------------------------------------------------------- CPU: packed sentences


class _Packing(NamedTuple):
    """Sentences laid out time step by time step, for each direction.

    A place is a word in the padded (batch * n) layout; a half place is its half of H for one direction.
    """

    read: Tensor  # (2 * words,): the place that each direction reads
    write: Tensor  # (2 * words,): the half place that it writes to
    home: Tensor  # (batch * n * 2,): the inverse, which direction's word writes there; 2 * words for none
    before: Tensor  # (words - batch,): position of the word before it, for all words but the first ones
    sizes: list[int]  # sentences that are still running at each time step


def _pack(lengths: Tensor, n: int) -> _Packing:
    """The longest sentence first and no padding at all. In numpy, whose small operations cost less."""
    own = lengths.numpy()
    order = np.argsort(-own, kind="stable")
    longest_first = own[order]
    if longest_first[0] > n:
        raise ValueError(f"a sentence of {longest_first[0]} words does not fit into a batch that is {n} wide")
    running = np.arange(longest_first[0])[:, None] < longest_first  # (steps, batch)
    sizes = running.sum(1)
    t, i = running.nonzero()
    read = order[i] * n + np.stack([t, longest_first[i] - 1 - t])  # (2, words)
    write = 2 * read + [[0], [1]]
    home = np.full(len(own) * n * 2, write.size)
    home[write] = np.arange(write.size).reshape(write.shape)
    before = np.arange(sizes[0], len(t)) - np.repeat(sizes[:-1], sizes[1:])
    tensor = torch.from_numpy
    return _Packing(tensor(read.ravel()), tensor(write.ravel()), tensor(home), tensor(before), sizes.tolist())


def _pack_static(lengths: Tensor, n: int) -> _Packing:
    """Padding kept, so that no shape depends on the lengths: what a CUDA graph needs."""
    batch = len(lengths)
    i = torch.arange(batch, device=lengths.device)
    t = torch.arange(n, device=lengths.device)[:, None].expand(n, batch)
    times = torch.stack([t, reversal(lengths, n).T])  # (2, n, batch)
    direction = torch.arange(2, device=lengths.device)
    read = i * n + times
    write = 2 * read + direction[:, None, None]
    home = ((direction * n + times.permute(2, 1, 0)) * batch).add_(i[:, None, None])  # (batch, n, 2)
    before = torch.arange(batch * (n - 1), device=lengths.device)
    return _Packing(read.flatten(), write.flatten(), home.flatten(), before, [batch] * n)


def _by_recurrence(S: Tensor, lengths: Tensor, W_ih: Tensor, W_hh: Tensor, b: Tensor, clip: float) -> Tensor:
    if S.is_cuda:
        return _by_static_recurrence(S, lengths, W_ih, W_hh, b, clip)
    H: Tensor = _Recurrence.apply(S, W_ih, W_hh, b, _pack(lengths, S.shape[1]), clip)
    return H


def _by_static_recurrence(
    S: Tensor, lengths: Tensor, W_ih: Tensor, W_hh: Tensor, b: Tensor, clip: float
) -> Tensor:
    n = S.shape[1]
    H: Tensor = _Recurrence.apply(S, W_ih, W_hh, b, _pack_static(lengths, n), clip)
    return H * mask(lengths, n).unsqueeze(2)


class _Recurrence(torch.autograd.Function):
    """Both directions over packed words.

    The gradient is written out, so that what does not depend on the step before it (the factors of the
    gates' gradients, all weight gradients) is done for all words at once. All views of a time step are made
    ahead: making one costs as much as a small step's arithmetic.
    """

    @staticmethod
    def forward(
        ctx: Any, S: Tensor, W_ih: Tensor, W_hh: Tensor, b: Tensor, packing: _Packing, clip: float
    ) -> Tensor:
        u = W_hh.shape[2]
        inputs = S.flatten(0, 1).index_select(0, packing.read).view(2, -1, S.shape[2])  # (2, words, d)
        gates = torch.baddbmm(b.unsqueeze(1), inputs, W_ih.transpose(1, 2))  # (2, words, 4u)
        news, cells, squashed = gates.new_empty(3, 2, inputs.shape[1], u)
        states, states_and_none = _with_none(gates, u)
        W = W_hh.transpose(1, 2).contiguous()
        before: tuple[Tensor, Tensor] | None = None
        views = [gates, *gates.split(u, 2), news, cells, squashed, states]
        for z, i, f, z_g, o, g, c, tanh_c, h in _steps(views, packing.sizes):
            if before is not None:
                h_before, c_before = (_first(x, z.shape[1]) for x in before)
                z.baddbmm_(h_before, W)
            torch.tanh(z_g, out=g)
            z.sigmoid_()  # z_g as well: one call on a whole piece of memory costs less than two on parts
            torch.mul(i, g, out=c)
            if before is not None:
                c.addcmul_(f, c_before)
            torch.mul(o, torch.tanh(c, out=tanh_c), out=h)
            before = h, c
        ctx.save_for_backward(inputs, W_ih, W_hh, gates, news, cells, squashed, states)
        ctx.packing, ctx.clip, ctx.shape = packing, clip, S.shape
        return states_and_none.index_select(0, packing.home).view(*S.shape[:2], 2 * u)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *dH: Tensor) -> tuple[Tensor | None, ...]:
        inputs, W_ih, W_hh, gates, news, cells, squashed, states = ctx.saved_tensors
        packing: _Packing = ctx.packing
        u = W_hh.shape[2]
        d_states = dH[0].reshape(-1, u).index_select(0, packing.write).view_as(states)
        d_gates, d_cells = _gate_factors(gates, news, cells, squashed, packing)  # until each step is done
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
        dS = _word_gradients(d_gates, W_ih, packing).view(ctx.shape) if ctx.needs_input_grad[0] else None
        return dS, *_weight_gradients(d_gates, inputs, states, packing), None, None


def _gate_factors(
    gates: Tensor, news: Tensor, cells: Tensor, squashed: Tensor, packing: _Packing
) -> tuple[Tensor, Tensor]:
    """What the gradients of cell and state are multiplied with, gate by gate; no step waits for another."""
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
    d_gates: Tensor, inputs: Tensor, states: Tensor, packing: _Packing
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of W_ih, W_hh and b, from those of all gates at once."""
    later = d_gates[:, packing.sizes[0] :].transpose(1, 2)
    return (
        torch.bmm(d_gates.transpose(1, 2), inputs),
        torch.bmm(later, states.index_select(1, packing.before)),
        d_gates.sum(1),
    )


def _word_gradients(d_gates: Tensor, W_ih: Tensor, packing: _Packing) -> Tensor:
    """(batch * n, d): the gradient of S, at each place the sum of what the two directions found."""
    found, found_and_none = _with_none(d_gates, W_ih.shape[2])
    torch.bmm(d_gates, W_ih, out=found)
    return nn.functional.embedding_bag(packing.home.view(-1, 2), found_and_none, mode="sum")


def _with_none(like: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """Room for (2, words, size), and the same as rows with one more at the end: zeros, for padding."""
    rows = like.new_empty(like.shape[0] * like.shape[1] + 1, size)
    rows[-1] = 0
    return rows[:-1].view(*like.shape[:2], size), rows


def _steps(views: list[Tensor], sizes: list[int]) -> list[tuple[Tensor, ...]]:
    """The views of each time step."""
    return list(zip(*(x.split(sizes, 1) for x in views), strict=True))


def _first(x: Tensor, size: int) -> Tensor:
    """The part of a step for the `size` longest sentences."""
    return x if x.shape[1] == size else x[:, :size]
