"""How the persistent kernel spreads units over thread blocks, and in which order it reads the weights."""

from __future__ import annotations

import functools
from typing import NamedTuple

import torch
from torch import Tensor

MAXIMUM_UNITS = 512
SHARED_MEMORY = 232_448  # bytes a thread block can have
# Of them for barriers, and behind these for what wgmma reads beyond 32 rows: 64 bytes, but compute-sanitizer
# takes them for 1,024.
ROOM = 32 + 1024
LARGEST_CLUSTER = 16
# Clusters that an H100 or H200 holds, by their size, one thread block on a multiprocessor; of larger ones 7.
HELD = {1: 132, 2: 66, 3: 39, 4: 30, 5: 21, 6: 17, 7: 15, 8: 15}
MANY = 64 * 67  # sentences: more tiles than it holds clusters of any size


class Sizes(NamedTuple):
    """How the units, in blocks of 8, are spread over a cluster of thread blocks."""

    units: int
    cluster: int
    own: int  # blocks of units per thread block
    blocks: int  # in all
    rows: int = 64  # sentences of a tile

    @classmethod
    @functools.cache
    def of(cls, units: int, batch: int) -> Sizes:
        """Tiles of 32 sentences if the GPU holds clusters for all of them at once, else of 64.

        Of such clusters the largest, which has the least to do in a step. With too many tiles for any, the
        smallest whose shared memory holds W_hh.

        >>> Sizes.of(300, batch=32), Sizes.of(300, batch=4096).cluster
        (Sizes(units=300, cluster=13, own=3, blocks=38, rows=32), 6)
        """
        blocks = -(-units // 8)
        least, most = max(2, -(-blocks // LARGEST_CLUSTER)), 8  # more would need too many registers
        every = [
            cls(units, -(-blocks // own), own, blocks, rows)
            for rows in (32, 64)
            for own in range(least, most + 1)
        ]
        fitting = [s for s in every if max(s.shared_memory) <= SHARED_MEMORY]
        at_once = (s for s in fitting if 2 * -(-batch // s.rows) <= HELD.get(s.cluster, 7))
        return next(at_once, min(fitting, key=lambda s: (-s.rows, s.cluster, s.own)))

    @property
    def width(self) -> int:
        """Units in memory, a multiple of 8."""
        return 8 * self.blocks

    @property
    def buffers(self) -> int:
        """Places for states, two if there is room: then nobody need wait until one is free."""
        return 2 if self._forwards(2) <= SHARED_MEMORY else 1

    @property
    def shared_memory(self) -> tuple[int, int]:
        """Bytes a thread block needs forwards and backwards."""
        weights = 16 * 4 * self.own * self.width
        backwards = weights + (6 + self.cluster) * self.own * 16 * self.rows + ROOM
        return self._forwards(self.buffers), backwards

    def _forwards(self, buffers: int) -> int:
        inner = 2 * -(-self.blocks // 2)
        return 16 * inner * 32 * self.own + buffers * inner * 16 * self.rows + ROOM


@functools.cache
def packing(sizes: Sizes, d: int, device: torch.device) -> tuple[Tensor, list[torch.Size]]:
    """Which number of W_ih, W_hh and b, all counted from 1, comes where; 0 for zero, negative if halved."""
    W_ih, W_hh, b = _counted((2, 4 * sizes.units, d), (2, 4 * sizes.units, sizes.units), (2, 4 * sizes.units))
    by_block = _by_block(W_hh, sizes)
    W_1 = _by_pairs(torch.cat([W_ih, b.unsqueeze(2)], 2), columns(d), sizes)
    # for the backward kernel: (direction, thread block, unit / 8, gate, unit read, unit % 8)
    backwards = by_block[..., : sizes.width].permute(0, 2, 3, 1, 5, 4)
    return _flat([W_1, _forwards(by_block), backwards], device)


@functools.cache
def unpacking(sizes: Sizes, d: int, device: torch.device) -> tuple[Tensor, list[torch.Size]]:
    """The same for the gradients: which number of those in the kernels' order comes where."""
    dW_1, dW_h = _counted((2, 4 * sizes.width, columns(d)), (2, 4 * sizes.width, sizes.width))
    dW_1, dW_h = _by_gates(dW_1, sizes), _by_gates(dW_h, sizes)
    return _flat([dW_1[..., :d], dW_h[..., : sizes.units], dW_1[..., d]], device)


def _counted(*shapes: tuple[int, ...]) -> list[Tensor]:
    """Tensors of these shapes with the numbers 1, 2, 3, ..., through all of them."""
    sizes = [torch.Size(shape).numel() for shape in shapes]
    numbers = torch.arange(1, sum(sizes) + 1, dtype=torch.int32).split(sizes)
    return [part.view(shape) for part, shape in zip(numbers, shapes, strict=True)]


def _flat(parts: list[Tensor], device: torch.device) -> tuple[Tensor, list[torch.Size]]:
    return torch.cat([part.flatten() for part in parts]).to(device), [part.shape for part in parts]


def columns(d: int) -> int:
    """Of S with a one beside each word, for the bias: a multiple of 8."""
    return 8 * (d // 8 + 1)


def _by_pairs(W: Tensor, width: int, sizes: Sizes) -> Tensor:
    """(2 * units / 2 * 4 * 2, width) from (2, 4u, d): the four gates of two units side by side."""
    u, d = sizes.units, W.shape[2]
    out = W.new_zeros(2, sizes.width // 2, 4, 2, width)
    out[:, : u // 2, ..., :d] = W.view(2, 4, u // 2, 2, d).transpose(1, 2)
    return out.view(8 * sizes.width, width)


def _by_gates(W: Tensor, sizes: Sizes) -> Tensor:
    """(2, 4u, d) from (2, width / 2 * 4 * 2, d): back to PyTorch's order."""
    u, d = sizes.units, W.shape[2]
    return W.view(2, -1, 4, 2, d)[:, : u // 2].transpose(1, 2).reshape(2, 4 * u, d)


def _by_block(W_hh: Tensor, sizes: Sizes) -> Tensor:
    """W_hh (2, 4u, u) as (direction, gate, thread block, unit / 8, unit % 8, unit read), with zeros."""
    u, cluster, own, blocks, *_ = sizes
    W = W_hh.new_zeros(2, 4, 8 * own * cluster, 16 * -(-blocks // 2))
    W[:, :, :u, :u] = W_hh.view(2, 4, u, u)
    return W.view(2, 4, cluster, own, 8, -1)


def _forwards(by_block: Tensor) -> Tensor:
    """For the forward kernel: (direction, thread block, read / 8, unit / 8, gate, unit % 8, read % 8).

    Negative, to be halved, for the gates i, f and o: sigmoid(z) = tanh(z / 2) / 2 + 1 / 2.
    """
    W: Tensor = by_block.unflatten(5, (-1, 8)).permute(0, 2, 5, 3, 1, 4, 6).contiguous()
    W[:, :, :, :, :2] *= -1
    W[:, :, :, :, 3] *= -1
    return W
