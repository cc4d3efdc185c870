"""The bidirectional LSTM on a GPU: one small Triton kernel per time step, for both directions at once.

cuDNN needs about 7 microseconds per step and direction at the paper's sizes, most of it waiting. Here kernels
follow each other without a gap once a training step is captured as a CUDA graph. Each finds its words by the
sentence's length: nothing is reversed or moved, and padding is never read.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from ..shared import pad_units, tl, triton

ALIGNMENT = 16  # units are padded to a multiple


def by_triton(S: Tensor, lengths: Tensor, W_ih: Tensor, W_hh: Tensor, b: Tensor, clip: float = 0.0) -> Tensor:
    """H (batch, n, 2u) from S (batch, n, d), as `bilstm`."""
    u = W_hh.shape[2]
    wider = pad_units(W_ih, W_hh, b, -u % ALIGNMENT)
    H: Tensor = _Steps.apply(S, lengths, *wider, clip)  # (batch, n, 2, u or more)
    return H[..., :u].flatten(2)


def is_available(S: Tensor) -> bool:
    """Whether the kernels can run: on a GPU with Triton, in a precision that training uses."""
    return triton is not None and S.is_cuda and S.dtype in (torch.float32, torch.bfloat16, torch.float16)


def is_faster(S: Tensor) -> bool:
    """Whether they beat cuDNN, as measured on an H200: always in bf16, in float32 only for small batches."""
    return S.dtype != torch.float32 or len(S) <= 64


class _Steps(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, S: Tensor, lengths: Tensor, W_ih: Tensor, W_hh: Tensor, b: Tensor, clip: float
    ) -> Tensor:
        batch, n, d = S.shape
        u = W_hh.shape[2]
        gates = torch.addmm(b.flatten(), S.reshape(-1, d), W_ih.flatten(0, 1).T)  # (batch * n, 2 * 4 * u)
        H = S.new_empty(batch, n, 2, u)
        C = torch.empty(batch, n, 2, u, dtype=torch.float32, device=S.device)
        W = W_hh.transpose(1, 2).contiguous()  # (2, u, 4u)
        grid, sizes = _launch(batch, u, inner=128 if batch <= 32 else 64)
        for s in range(n):
            _forward_step[grid](gates, H, C, W, lengths, s, n, batch, u, FIRST=s == 0, **sizes)
        ctx.save_for_backward(S, lengths, W_ih, W_hh, gates, H, C)
        ctx.clip = clip
        return H

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *dH: Tensor) -> tuple[Tensor | None, ...]:
        S, lengths, W_ih, W_hh, gates, H, C = ctx.saved_tensors
        batch, n, d = S.shape
        u = W_hh.shape[2]
        d_gates = torch.empty_like(gates)
        d_cell = torch.empty(batch, 2, u, dtype=torch.float32, device=S.device)
        d_states = dH[0].contiguous()
        grid, sizes = _launch(batch, u, inner=256 if batch <= 32 else 128 if batch <= 128 else 64)
        for s in reversed(range(n)):
            _backward_step[grid](
                gates, d_gates, d_states, d_cell, C, W_hh, lengths, s, n, batch, ctx.clip, u,
                FIRST=s == 0, LAST=s == n - 1, CLIP=ctx.clip > 0, **sizes,
            )  # fmt: skip
        by_direction = d_gates.view(-1, 2, 4 * u).transpose(0, 1)  # (2, batch * n, 4u)
        pad = torch.nn.functional.pad  # the state before each word: zero at the ends and on padding
        before = [pad(H[:, :-1, 0], (0, 0, 1, 0)), pad(H[:, 1:, 1], (0, 0, 0, 1))]  # (batch, n, u) each
        dW_hh = torch.bmm(by_direction.transpose(1, 2), torch.stack(before).flatten(1, 2))
        dW_ih = (d_gates.T @ S.reshape(-1, d)).view_as(W_ih)
        dS = (d_gates @ W_ih.flatten(0, 1)).view_as(S)
        db = d_gates.sum(0, dtype=torch.float32).to(S.dtype).view(2, 4 * u)
        return dS, None, dW_ih, dW_hh, db, None


def _launch(batch: int, u: int, inner: int) -> tuple[tuple[int, int, int], dict[str, Any]]:
    """Small tiles for small batches, to spread a step over the whole GPU."""
    rows, units = (16, 16) if batch <= 32 else (16, 32) if batch <= 128 else (64, 32)
    warps, stages = (4, 4) if 32 < batch <= 128 else (4, 3)
    tf32 = torch.backends.cudnn.allow_tf32  # as cuDNN's own LSTM does
    grid = 2, triton.cdiv(u, units), triton.cdiv(batch, rows)
    sizes = {"ROWS": rows, "UNITS": units, "INNER": inner, "PRECISION": "tf32" if tf32 else "ieee"}
    return grid, {**sizes, "num_warps": warps, "num_stages": stages}


if triton is not None:

    @triton.jit  # type: ignore[untyped-decorator]
    def _tanh(x):  # type: ignore[no-untyped-def]
        return 2 * tl.sigmoid(2 * x) - 1

    @triton.jit  # type: ignore[untyped-decorator]
    def _place(lengths, s, n, batch, ROWS: tl.constexpr):  # type: ignore[no-untyped-def]
        """This program's rows, whether they still run at step s, and where their word of step s is."""
        direction = tl.program_id(0)
        row = tl.program_id(2) * ROWS + tl.arange(0, ROWS)
        inside = row < batch
        length = tl.load(lengths + row, mask=inside, other=0).to(tl.int32)
        running = s < length
        word = tl.where(running & (direction == 1), length - 1 - s, s)
        here = (row.to(tl.int64) * n + word) * 2 + direction  # of (batch, n, 2)
        return row, inside, length, running, here, (1 - 2 * direction) * 2

    @triton.jit(do_not_specialize=["s", "n", "batch"])  # type: ignore[untyped-decorator]
    def _forward_step(  # type: ignore[no-untyped-def]
        gates, H, C, W, lengths, s, n, batch, u: tl.constexpr, FIRST: tl.constexpr,
        ROWS: tl.constexpr, UNITS: tl.constexpr, INNER: tl.constexpr, PRECISION: tl.constexpr,
    ):  # fmt: skip
        _, inside, _, running, here, ahead = _place(lengths, s, n, batch, ROWS)
        unit = tl.program_id(1) * UNITS + tl.arange(0, UNITS)
        own = inside[:, None] & (unit < u)[None, :]
        at = gates + here[:, None] * 4 * u + unit[None, :]
        # loaded before the product and used after it, so the two waits overlap
        from_i = tl.load(at, mask=own, other=0)
        from_f = tl.load(at + u, mask=own, other=0)
        from_g = tl.load(at + 2 * u, mask=own, other=0)
        from_o = tl.load(at + 3 * u, mask=own, other=0)
        i = tl.zeros((ROWS, UNITS), tl.float32)
        f, g, o, c = i, i, i, i
        if not FIRST:
            before = here - ahead
            c = tl.load(C + before[:, None] * u + unit[None, :], mask=own & running[:, None], other=0)
            for start in range(0, u, INNER):
                k = start + tl.arange(0, INNER)
                h = tl.load(
                    H + before[:, None] * u + k[None, :], mask=running[:, None] & (k < u)[None, :], other=0
                )
                w = W + (tl.program_id(0) * u + k[:, None]) * 4 * u + unit[None, :]
                there = (k < u)[:, None] & (unit < u)[None, :]
                i = tl.dot(h, tl.load(w, mask=there, other=0), i, input_precision=PRECISION)
                f = tl.dot(h, tl.load(w + u, mask=there, other=0), f, input_precision=PRECISION)
                g = tl.dot(h, tl.load(w + 2 * u, mask=there, other=0), g, input_precision=PRECISION)
                o = tl.dot(h, tl.load(w + 3 * u, mask=there, other=0), o, input_precision=PRECISION)
        i, f = tl.sigmoid(i + from_i.to(tl.float32)), tl.sigmoid(f + from_f.to(tl.float32))
        g, o = _tanh(g + from_g.to(tl.float32)), tl.sigmoid(o + from_o.to(tl.float32))
        c = tl.where(running[:, None], f * c + i * g, 0.0)
        h = o * _tanh(c)
        tl.store(at, i, mask=own)
        tl.store(at + u, f, mask=own)
        tl.store(at + 2 * u, g, mask=own)
        tl.store(at + 3 * u, o, mask=own)
        tl.store(C + here[:, None] * u + unit[None, :], c, mask=own)
        tl.store(H + here[:, None] * u + unit[None, :], h, mask=own)

    @triton.jit(do_not_specialize=["s", "n", "batch"])  # type: ignore[untyped-decorator]
    def _backward_step(  # type: ignore[no-untyped-def]
        gates, d_gates, d_states, d_cell, C, W, lengths, s, n, batch, clip, u: tl.constexpr,
        FIRST: tl.constexpr, LAST: tl.constexpr, CLIP: tl.constexpr,
        ROWS: tl.constexpr, UNITS: tl.constexpr, INNER: tl.constexpr, PRECISION: tl.constexpr,
    ):  # fmt: skip
        row, inside, length, running, here, ahead = _place(lengths, s, n, batch, ROWS)
        unit = tl.program_id(1) * UNITS + tl.arange(0, UNITS)
        own = inside[:, None] & (unit < u)[None, :]
        live = own & running[:, None]
        state = here[:, None] * u + unit[None, :]
        cell = d_cell + (row * 2 + tl.program_id(0))[:, None] * u + unit[None, :]
        at = here[:, None] * 4 * u + unit[None, :]
        # loaded before the product and used after it, so the two waits overlap
        i, f = tl.load(gates + at, mask=own, other=0), tl.load(gates + at + u, mask=own, other=0)
        g, o = tl.load(gates + at + 2 * u, mask=own, other=0), tl.load(gates + at + 3 * u, mask=own, other=0)
        from_above = tl.load(d_states + state, mask=live, other=0)
        c = tl.load(C + state, mask=own, other=0)
        c_before = tl.zeros((ROWS, UNITS), tl.float32)
        if not FIRST:
            c_before = tl.load(C + state - ahead * u, mask=live, other=0)
        dh = tl.zeros((ROWS, UNITS), tl.float32)
        dc = dh
        if not LAST:
            continues = s + 1 < length
            dc = tl.load(cell, mask=own & continues[:, None], other=0)
            for start in range(0, 4 * u, INNER):
                k = start + tl.arange(0, INNER)
                next_gates = d_gates + (here + ahead)[:, None] * 4 * u + k[None, :]
                dz = tl.load(next_gates, mask=continues[:, None] & (k < 4 * u)[None, :], other=0)
                w = W + (tl.program_id(0) * 4 * u + k[:, None]) * u + unit[None, :]
                there = (k < 4 * u)[:, None] & (unit < u)[None, :]
                dh = tl.dot(dz, tl.load(w, mask=there, other=0), dh, input_precision=PRECISION)
        dh += from_above.to(tl.float32)
        i, f, g, o = i.to(tl.float32), f.to(tl.float32), g.to(tl.float32), o.to(tl.float32)
        tanh_c = _tanh(c)
        dc += dh * o * (1 - tanh_c * tanh_c)
        tl.store(cell, dc * f, mask=own)
        di = tl.where(live, dc * g * i * (1 - i), 0.0)
        df = tl.where(live, dc * c_before * f * (1 - f), 0.0)
        dg = tl.where(live, dc * i * (1 - g * g), 0.0)
        do = tl.where(live, dh * tanh_c * o * (1 - o), 0.0)
        if CLIP:
            di, df = tl.clamp(di, -clip, clip), tl.clamp(df, -clip, clip)
            dg, do = tl.clamp(dg, -clip, clip), tl.clamp(do, -clip, clip)
        tl.store(d_gates + at, di, mask=own)
        tl.store(d_gates + at + u, df, mask=own)
        tl.store(d_gates + at + 2 * u, dg, mask=own)
        tl.store(d_gates + at + 3 * u, do, mask=own)
