"""The bidirectional LSTM on a Hopper GPU: one kernel for all time steps (`persistent.cu`), in bf16."""

from __future__ import annotations

import functools
from importlib import resources
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from .nvrtc import Kernel, compile_kernels

ROWS = 64  # sentences of a tile
THREADS = {"forward": 256 + 64, "backward": 256}
MAXIMUM_UNITS = 512
SHARED_MEMORY = 232_448  # bytes a thread block can have
LARGEST_CLUSTER = 16


class Sizes(NamedTuple):
    """How the units, in blocks of 8, are spread over a cluster of thread blocks."""

    units: int
    cluster: int
    own: int  # blocks of units per thread block
    blocks: int  # in all

    @classmethod
    @functools.cache
    def of(cls, units: int) -> Sizes:
        """The smallest cluster whose shared memory holds W_hh; at most 8 blocks each, for the registers."""
        blocks = -(-units // 8)
        every = (cls(units, c, max(2, -(-blocks // c)), blocks) for c in range(1, LARGEST_CLUSTER + 1))
        return next(s for s in every if s.own <= 8 and max(s.shared_memory) <= SHARED_MEMORY)

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
        backwards = weights + (6 + self.cluster) * self.own * 16 * ROWS + 32
        return self._forwards(self.buffers), backwards

    def _forwards(self, buffers: int) -> int:
        inner = 2 * -(-self.blocks // 2)
        return 16 * inner * 32 * self.own + buffers * inner * 16 * ROWS + 32


def by_persistent(
    S: Tensor, lengths: Tensor, W_ih: Tensor, W_hh: Tensor, b: Tensor, clip: float = 0.0
) -> Tensor:
    """H (batch, n, 2u) from S (batch, n, d), as `bilstm`."""
    u = W_hh.shape[2]
    if u % 2:  # the kernel works on pairs of units
        pad = torch.nn.functional.pad
        W_ih = pad(W_ih.unflatten(1, (4, u)), (0, 0, 0, 1)).flatten(1, 2)
        W_hh = pad(W_hh.unflatten(1, (4, u)), (0, 1, 0, 1)).flatten(1, 2)
        b = pad(b.unflatten(1, (4, u)), (0, 1)).flatten(1, 2)
    H: Tensor = _Persistent.apply(S, lengths, W_ih, W_hh, b, clip, torch.is_grad_enabled())
    return H[..., :u].flatten(2)  # from (batch, n, 2, u)


def is_available(S: Tensor, units: int) -> bool:
    """Whether the kernel can run: thread block clusters and wgmma came with Hopper, and differ after it."""
    return (
        S.is_cuda
        and S.dtype == torch.bfloat16
        and units <= MAXIMUM_UNITS
        and torch.cuda.get_device_capability(S.device) == (9, 0)
        and _compiles(Sizes.of(units), S.get_device())
    )


@functools.cache
def _compiles(sizes: Sizes, device: int) -> bool:
    try:
        return all(kernel.clusters >= 2 for kernel in _kernels(sizes, True, device).values())
    except (OSError, RuntimeError):  # a PyTorch without NVRTC, or a driver too old for it
        return False


class _Persistent(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        S: Tensor,
        lengths: Tensor,
        W_ih: Tensor,
        W_hh: Tensor,
        b: Tensor,
        clip: float,
        training: bool,
    ) -> Tensor:
        batch, n, d = S.shape
        sizes = Sizes.of(W_hh.shape[2])
        S_1 = _with_ones(S.reshape(-1, d))
        W_1 = _by_pairs(torch.cat([W_ih, b.unsqueeze(2)], 2), S_1.shape[1], sizes)
        gates = S_1 @ W_1.T  # (batch * n, 2 * width / 2 * 4 * 2): W_ih x + b
        H = S.new_empty(batch, n, 2, sizes.units)
        before = S.new_empty(batch * n, 2, sizes.width) if training else H
        C = S.new_empty(batch * n, 2, sizes.cluster, 2, 4, 8) if training else H
        lengths = lengths.long()
        order = lengths.argsort(descending=True) if batch > ROWS else torch.arange(batch, device=S.device)
        by_block = _by_block(W_hh, sizes)
        kernel = _kernels(sizes, training, S.get_device())["forward"]
        kernel(
            _thread_blocks(kernel, batch, sizes),
            gates, H, before, C, _forwards(by_block), lengths, order, batch, n,
        )  # fmt: skip
        if training:
            ctx.save_for_backward(S_1, lengths, order, W_1, _backwards(by_block, sizes), gates, before, C)
            ctx.sizes, ctx.clip, ctx.shape = sizes, clip, S.shape
        return H

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *dH: Tensor) -> tuple[Tensor | None, ...]:
        S_1, lengths, order, W_1, W_b, gates, before, C = ctx.saved_tensors
        sizes: Sizes = ctx.sizes
        batch, n, d = ctx.shape
        d_gates = torch.empty_like(gates)
        kernel = _kernels(sizes, True, S_1.get_device())["backward"]
        kernel(
            _thread_blocks(kernel, batch, sizes),
            gates, d_gates, dH[0].contiguous(), C, W_b, lengths, order, batch, n, float(ctx.clip),
        )  # fmt: skip
        by_direction = d_gates.view(-1, 2, 4 * sizes.width)
        # bmm is slower: it does not split K
        dW_h = torch.stack([by_direction[:, k].T @ before[:, k] for k in (0, 1)])
        dW_1 = _by_gates((d_gates.T @ S_1).view(2, 4 * sizes.width, -1), sizes)
        dS = (d_gates @ W_1)[:, :d].reshape(ctx.shape) if ctx.needs_input_grad[0] else None
        dW_hh = _by_gates(dW_h, sizes)[..., : sizes.units]
        return dS, None, dW_1[..., :d], dW_hh, dW_1[..., d], None, None


def _with_ones(S: Tensor) -> Tensor:
    """(words, a multiple of 8): S, a one, zeros; so the product adds the bias, and its gradient comes along.

    Matrix products on a GPU are several times slower at other widths.
    """
    words, d = S.shape
    out = S.new_empty(words, 8 * (d // 8 + 1))
    if S.element_size() == 2 and d % 4 == 0 and S.is_contiguous():  # copied in 8 bytes, four times faster
        out.view(torch.int64)[:, : d // 4] = S.view(torch.int64)
    else:
        out[:, :d] = S
    out[:, d:] = 0
    out[:, d] = 1
    return out


def _by_pairs(W: Tensor, columns: int, sizes: Sizes) -> Tensor:
    """(2 * width / 2 * 4 * 2, columns) from (2, 4u, d): the four gates of two units side by side."""
    u, d = sizes.units, W.shape[2]
    out = W.new_zeros(2, sizes.width // 2, 4, 2, columns)
    out[:, : u // 2, ..., :d] = W.view(2, 4, u // 2, 2, d).transpose(1, 2)
    return out.view(8 * sizes.width, columns)


def _by_gates(W: Tensor, sizes: Sizes) -> Tensor:
    """(2, 4u, d) from (2, width / 2 * 4 * 2, d): back to PyTorch's order."""
    u, d = sizes.units, W.shape[2]
    return W.view(2, -1, 4, 2, d)[:, : u // 2].transpose(1, 2).reshape(2, 4 * u, d)


def _by_block(W_hh: Tensor, sizes: Sizes) -> Tensor:
    """W_hh (2, 4u, u) as (direction, gate, thread block, unit / 8, unit % 8, unit read), with zeros."""
    u, cluster, own, blocks = sizes
    W = W_hh.new_zeros(2, 4, 8 * own * cluster, 16 * -(-blocks // 2))
    W[:, :, :u, :u] = W_hh.view(2, 4, u, u)
    return W.view(2, 4, cluster, own, 8, -1)


def _forwards(by_block: Tensor) -> Tensor:
    """For the forward kernel: (direction, thread block, read / 8, unit / 8, gate, unit % 8, read % 8).

    Halved for the gates i, f and o: sigmoid(z) = tanh(z / 2) / 2 + 1 / 2, and halving is exact.
    """
    W: Tensor = by_block.unflatten(5, (-1, 8)).permute(0, 2, 5, 3, 1, 4, 6).contiguous()
    W[:, :, :, :, :2] *= 0.5
    W[:, :, :, :, 3] *= 0.5
    return W


def _backwards(by_block: Tensor, sizes: Sizes) -> Tensor:
    """For the backward kernel: (direction, thread block, unit / 8, gate, unit read, unit % 8)."""
    return by_block[..., : sizes.width].permute(0, 2, 3, 1, 5, 4).contiguous()


def _thread_blocks(kernel: Kernel, batch: int, sizes: Sizes) -> int:
    """A cluster for each tile and direction, as many as the GPU holds."""
    return 2 * min(kernel.clusters // 2, -(-batch // ROWS)) * sizes.cluster


@functools.cache
def _kernels(sizes: Sizes, training: bool, device: int) -> dict[str, Kernel]:
    shared_memory = dict(zip(("forward", "backward"), sizes.shared_memory, strict=True))
    return compile_kernels(_program(sizes, training), shared_memory, THREADS, sizes.cluster, "sm_90a")


def _program(sizes: Sizes, training: bool) -> str:
    units, cluster, own, blocks = sizes
    settings = {
        "CLUSTER": cluster, "OWN": own, "BLOCKS": blocks, "PAIRS": units // 2, "BUFFERS": sizes.buffers,
        "TRAINING": int(training),
    }  # fmt: skip
    defines = "".join(f"#define {name} {value}\n" for name, value in settings.items())
    columns = {32 * -(-own // 2), 32 * (own // 2), 8 * own * -(-cluster // 2)}
    return defines + _source().replace("PRODUCTS\n", "".join(map(_product, sorted(columns))))


def _source() -> str:
    return resources.files(__package__).joinpath("persistent.cu").read_text()


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
