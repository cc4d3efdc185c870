"""Plain programs in place of the kernels of the persistent LSTM: they read and write as the kernels do."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from limelight.network.torch.lstm import persistent
from limelight.network.torch.lstm.persistent import Sizes, columns


def pick(given, index, shapes):
    """What the kernel `pick` does."""
    numbers = torch.cat([given[0].new_zeros(1), *(x.flatten() for x in given)])
    found = numbers[index.abs().long()] * torch.where(index < 0, 0.5, 1.0)
    return [x.view(shape) for x, shape in zip(found.split([s.numel() for s in shapes]), shapes, strict=True)]


def with_ones(S):
    """What the kernel `with_ones` does."""
    words, d = S.shape
    return torch.cat([S, S.new_ones(words, 1), S.new_zeros(words, columns(d) - d - 1)], 1)


class PlainKernel:
    """One of them."""

    clusters = 132

    def __init__(self, name: str, program: str) -> None:
        self.run, self.training = getattr(self, name), "#define TRAINING 1" in program
        self.table = "#define TABLE 1" in program

    def __call__(self, blocks: int, *arguments: Any) -> None:
        assert blocks > 0
        self.run(*arguments)

    def pick(self, a, b, c, index, to, a_size, b_size, count):
        assert (a_size, b_size, count) == (a.numel(), b.numel(), index.numel())
        to.copy_(pick([a, b, c], index, [index.shape])[0])

    def with_ones(self, S, to, words, d, width):
        assert (words, d, width) == (*S.shape, to.shape[1])
        to.copy_(with_ones(S))

    def prepare(
        self, S, S_1, words, d, width, a, b, c, index, to, a_size, b_size, count, lengths, order, batch
    ):
        assert batch == len(lengths)
        self.with_ones(S, S_1, words, d, width)
        self.pick(a, b, c, index, to, a_size, b_size, count)
        if order is not None:
            order.copy_(lengths.argsort(descending=True, stable=True))

    def forward(self, gates, H, before, C, W, lengths, order, more, ids, starts, known, batch, n):
        """States in H, and in training the gates, the states before and the cells of each word."""
        u, width = H.shape[3], gates.shape[1] // 8
        assert sorted(order.tolist() if order is not None else range(batch)) == list(range(batch))
        H.zero_()
        for row, direction in itertools.product(range(batch), (0, 1)):
            h, c = H.new_zeros(W.shape[2] * 8), H.new_zeros(width)
            for t in order_of_words(int(lengths[row]), direction):
                word = int(ids[starts[row] + t]) if self.table else row * n + t
                found = gates if not self.table or word < known else more
                x = found[word - (known if found is more else 0)].view(2, -1, 4, 2)[direction]
                x = x.transpose(0, 1).flatten(1)  # (4, width)
                z = torch.einsum("ckoguv,kv->gcou", W[direction], h.view(-1, 8)).flatten(1)[:, :width]
                i, f, o = (torch.tanh(z[k] + x[k] / 2) / 2 + 0.5 for k in (0, 1, 3))
                g = torch.tanh(z[2] + x[2])
                if self.training:
                    before[row * n + t, direction] = h[:width]
                c = f * c + i * g
                h[:width] = o * torch.tanh(c)
                H[row, t, direction] = h[:u]
                if self.training:
                    activated = torch.stack([i, f, g, o]).view(4, -1, 2).transpose(0, 1)
                    gates.view(batch * n, 2, -1, 4, 2)[row * n + t, direction] = activated
                    C.view(batch * n, 2, -1)[row * n + t, direction, :width] = c
            if self.training:
                before.view(batch, n, 2, -1)[row, int(lengths[row]) :, direction] = 0

    def backward(self, gates, d_gates, dH, C, W, lengths, order, batch, n, clip):
        """The gradients at the gates; zero on padding."""
        u, width = dH.numel() // (batch * n * 2), gates.shape[1] // 8
        d_gates.zero_()
        for row, direction in itertools.product(range(batch), (0, 1)):
            dh_after, dc_after = gates.new_zeros(width), gates.new_zeros(width)
            times = order_of_words(int(lengths[row]), direction)
            cells = [C.view(batch * n, 2, -1)[row * n + t, direction, :width] for t in times]
            for s in reversed(range(len(times))):
                word = row * n + times[s]
                i, f, g, o = gates.view(batch * n, 2, -1, 4, 2)[word, direction].transpose(0, 1).flatten(1)
                above = torch.nn.functional.pad(dH.view(batch * n, 2, u)[word, direction], (0, width - u))
                dh, tanh_c = above + dh_after, torch.tanh(cells[s])
                dc = dc_after + dh * o * (1 - tanh_c**2)
                c_before = cells[s - 1] if s else torch.zeros_like(dc)
                dz = torch.stack(
                    [
                        dc * g * i * (1 - i),
                        dc * c_before * f * (1 - f),
                        dc * i * (1 - g**2),
                        dh * tanh_c * o * (1 - o),
                    ]
                )
                dz = dz.clamp(-clip, clip) if clip else dz
                d_gates.view(batch * n, 2, -1, 4, 2)[word, direction] = dz.view(4, -1, 2).transpose(0, 1)
                room = torch.nn.functional.pad(dz, (0, 8 * W.shape[1] * W.shape[2] - width))
                by_block = room.view(4, *W.shape[1:3], 8)
                dh_after = torch.einsum("gcou,cognu->n", by_block, W[direction])
                dc_after = dc * f


def order_of_words(length: int, direction: int) -> list[int]:
    return list(range(length)) if direction == 0 else list(reversed(range(length)))


@contextmanager
def plain_kernels(as_if: int = 1) -> Iterator[None]:
    """Plain programs do what kernels do, on a CPU, in the sizes chosen for so many sentences."""

    def compile_kernels(source, shared_memory, threads, cluster, architecture):
        assert set(shared_memory) <= set(threads)
        return {name: PlainKernel(name, source) for name in shared_memory}

    def clear() -> None:
        persistent.kernels_for.cache_clear()
        persistent._ordering.cache_clear()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(persistent, "compile_kernels", compile_kernels)
        patch.setattr(persistent, "sizes_for", lambda units, batch, device: Sizes.of(units, as_if))
        patch.setattr(persistent, "is_available", lambda S, units: units <= persistent.MAXIMUM_UNITS)
        patch.setattr(torch.cuda, "current_stream", lambda device: SimpleNamespace(synchronize=lambda: None))
        clear()
        yield
        clear()
