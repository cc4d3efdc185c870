"""The bidirectional LSTM on a Hopper GPU: one kernel for all time steps (`persistent.cu`), in bf16."""

from __future__ import annotations

import functools
from importlib import resources
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from ..shared import pad_units
from .nvrtc import Kernel, compile_kernels, compiles

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


ARCHITECTURE = "sm_90a"
MULTIPROCESSORS = 132  # of the Hopper GPUs for which `Sizes` chooses
THREADS = {"forward": 384, "backward": 256}
ORDERING = {"prepare": 256, "pick": 256, "with_ones": 256}  # threads
SPREAD = 1056  # thread blocks of each; `prepare` does three jobs
MOST_COUNTED = 8192  # sentences that `prepare`, which compares all with all, sorts sooner than PyTorch


def by_persistent(
    S: Tensor, lengths: Tensor, W_ih: Tensor, W_hh: Tensor, b: Tensor, clip: float = 0.0
) -> Tensor:
    """H (batch, n, 2u) from S (batch, n, d), as `bilstm`."""
    H: Tensor = _Persistent.apply(S, lengths, *even(W_ih, W_hh, b), clip, torch.is_grad_enabled())
    return H[..., : W_hh.shape[2]].flatten(2)  # from (batch, n, 2, u)


def even(W_ih: Tensor, W_hh: Tensor, b: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The same LSTM with an even number of units, because the kernel works on pairs."""
    return pad_units(W_ih, W_hh, b, 1) if W_hh.shape[2] % 2 else (W_ih, W_hh, b)


def is_available(S: Tensor, units: int) -> bool:
    """Whether the kernel can run: thread block clusters and wgmma came with Hopper, and differ after it."""
    return (
        S.is_cuda
        and S.dtype == torch.bfloat16
        and units <= MAXIMUM_UNITS
        and torch.cuda.get_device_capability(S.device) == (9, 0)
        and _compiles(S.get_device())
    )


@functools.cache
def _compiles(device: int) -> bool:
    enough = _multiprocessors(device) >= 2 * LARGEST_CLUSTER  # not a small part of a GPU
    return enough and compiles(lambda: _ordering(device))


@functools.cache
def _multiprocessors(device: int) -> int:
    return int(torch.cuda.get_device_properties(device).multi_processor_count)


def sizes_for(units: int, batch: int, device: int) -> Sizes:
    """On a GPU with fewer multiprocessors, the smallest cluster."""
    return Sizes.of(units, min(batch, MANY) if _multiprocessors(device) >= MULTIPROCESSORS else MANY)


class _Persistent(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, S: Tensor, lengths: Tensor, W_ih: Tensor, W_hh: Tensor, b: Tensor, clip: float, trains: bool
    ) -> Tensor:
        batch, n, d = S.shape
        sizes = sizes_for(W_hh.shape[2], batch, S.get_device())
        kernels = kernels_for(sizes, "training" if trains else "evaluation", S.get_device())
        lengths = lengths.long().contiguous()
        S_1, (W_1, W_f, W_b), order = _prepare(sizes, S.reshape(-1, d), [W_ih, W_hh, b], lengths)
        gates = S_1 @ W_1.T  # (batch * n, 2 * width / 2 * 4 * 2): W_ih x + b
        H = S.new_empty(batch, n, 2, sizes.units)
        before = S.new_empty(batch * n, 2, sizes.width) if trains else None
        C = S.new_empty(batch * n, 2, sizes.cluster, 2, 4, 8) if trains else None
        kernels["forward"](
            thread_blocks(kernels["forward"], batch, sizes),
            gates, H, before, C, W_f, lengths, order, None, None, None, 0, batch, n,
        )  # fmt: skip
        if trains:
            ctx.save_for_backward(S_1, lengths, order, W_1, W_b, gates, before, C)
            ctx.sizes, ctx.clip, ctx.shape = sizes, clip, S.shape
        return H

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *dH: Tensor) -> tuple[Tensor | None, ...]:
        S_1, lengths, order, W_1, W_b, gates, before, C = ctx.saved_tensors
        sizes: Sizes = ctx.sizes
        batch, n, d = ctx.shape
        d_gates = torch.empty_like(gates)
        kernels = kernels_for(sizes, "training", S_1.get_device())
        kernels["backward"](
            thread_blocks(kernels["backward"], batch, sizes),
            gates, d_gates, dH[0].contiguous(), C, W_b, lengths, order, batch, n, float(ctx.clip),
        )  # fmt: skip
        by_direction = d_gates.view(-1, 2, 4 * sizes.width)
        dW_h = S_1.new_empty(2, 4 * sizes.width, sizes.width)
        for k in (0, 1):  # bmm is slower: it does not split K
            torch.mm(by_direction[:, k].T, before[:, k], out=dW_h[k])
        dS = (d_gates @ W_1)[:, :d].reshape(ctx.shape) if ctx.needs_input_grad[0] else None
        dW_1 = d_gates.T @ S_1
        dW_ih, dW_hh, db = _pick([dW_1, dW_h, dW_h], *unpacking(sizes, d, dW_1.device))
        return dS, None, dW_ih, dW_hh, db, None, None


# ---------------------------------------------------------------- the orders of weights and sentences


def _prepare(
    sizes: Sizes, S: Tensor, weights: list[Tensor], lengths: Tensor
) -> tuple[Tensor, list[Tensor], Tensor]:
    """`with_ones`, `pack`, and the sentences from the longest to the shortest, by one kernel."""
    (words, d), batch = S.shape, len(lengths)
    index, shapes = packing(sizes, d, S.device)
    S_1, packed = S.new_empty(words, columns(d)), S.new_empty(len(index))
    order = torch.empty_like(lengths) if batch <= MOST_COUNTED else None
    _ordering(S.get_device())["prepare"](
        3 * SPREAD, S.contiguous(), S_1, words, d, columns(d),
        *(x.contiguous() for x in weights), index, packed, *(x.numel() for x in weights[:2]), len(index),
        lengths, order, batch,
    )  # fmt: skip
    return S_1, _split(packed, shapes), lengths.argsort(descending=True) if order is None else order


def pack(sizes: Sizes, W_ih: Tensor, W_hh: Tensor, b: Tensor) -> list[Tensor]:
    """W_1 for the product with the words; W_hh as the forward kernel reads it, and as the backward one."""
    return _pick([W_ih, W_hh, b], *packing(sizes, W_ih.shape[2], W_ih.device))


def _pick(given: list[Tensor], index: Tensor, shapes: list[torch.Size]) -> list[Tensor]:
    found = given[0].new_empty(len(index))
    sizes = given[0].numel(), given[1].numel(), len(index)
    _ordering(found.get_device())["pick"](SPREAD, *(x.contiguous() for x in given), index, found, *sizes)
    return _split(found, shapes)


def _split(numbers: Tensor, shapes: list[torch.Size]) -> list[Tensor]:
    parts = numbers.split([shape.numel() for shape in shapes])
    return [part.view(shape) for part, shape in zip(parts, shapes, strict=True)]


def with_ones(S: Tensor) -> Tensor:
    """(words, columns): S, a one, zeros."""
    words, d = S.shape
    out = S.new_empty(words, columns(d))
    _ordering(S.get_device())["with_ones"](SPREAD, S.contiguous(), out, words, d, columns(d))
    return out


@functools.cache
def _ordering(device: int) -> dict[str, Kernel]:
    return compile_kernels(_source("ordering.cu"), dict.fromkeys(ORDERING, 0), ORDERING, 1, ARCHITECTURE)


# ---------------------------------------------------------------- the kernels


def thread_blocks(kernel: Kernel, batch: int, sizes: Sizes) -> int:
    """A cluster for each tile and direction, as many as the GPU holds."""
    return 2 * min(kernel.clusters // 2, -(-batch // sizes.rows)) * sizes.cluster


@functools.cache
def kernels_for(sizes: Sizes, use: str, device: int) -> dict[str, Kernel]:
    """For "training", "evaluation", or evaluation with W_ih x + b looked up in a "table"."""
    names = ("forward", "backward") if use == "training" else ("forward",)
    shared_memory = dict(zip(names, sizes.shared_memory, strict=False))
    return compile_kernels(_program(sizes, use), shared_memory, THREADS, sizes.cluster, ARCHITECTURE)


def _program(sizes: Sizes, use: str) -> str:
    units, cluster, own, blocks, rows = sizes
    settings = {
        "ROWS": rows, "CLUSTER": cluster, "OWN": own, "BLOCKS": blocks, "PAIRS": units // 2,
        "BUFFERS": sizes.buffers, "TRAINING": int(use == "training"), "TABLE": int(use == "table"),
    }  # fmt: skip
    defines = "".join(f"#define {name} {value}\n" for name, value in settings.items())
    columns = {32 * -(-own // 2), 32 * (own // 2), 8 * own * -(-cluster // 2)}
    products = "".join(map(_product, sorted(columns)))
    return defines + _source("persistent.cu").replace("PRODUCTS\n", products)


def _source(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text()


def _product(columns: int) -> str:
    """wgmma in C++ for a number of columns; half as many of its operands are sums."""
    sums = columns // 2
    each = ", ".join(f"%{i}" for i in range(sums))
    outputs = ", ".join(f'"+f"(d[{i}])' for i in range(sums))
    left, right, add = (f"%{sums + i}" for i in range(3))
    return (
        f"template <> struct Product<{columns}> {{\n"
        f"  static __device__ __forceinline__ void add(float* d, u64 left, u64 right, int add) {{\n"
        f'    asm volatile("{{\\n.reg .pred p;\\nsetp.ne.b32 p, {add}, 0;\\n"\n'
        f'      "wgmma.mma_async.sync.aligned.m64n{columns}k16.f32.bf16.bf16 "\n'
        f'      "{{{each}}}, {left}, {right}, p, 1, 1, 0, 0;\\n}}"\n'
        f'      : {outputs} : "l"(left), "l"(right), "r"(add));\n'
        f"  }}\n}};\n"
    )


# ---------------------------------------------------------------- with fixed weights


class GateTable:
    """The LSTM with fixed weights: W_ih x + b, looked up for every word x (words, d), and W_hh; in bf16."""

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
