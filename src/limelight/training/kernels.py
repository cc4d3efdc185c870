"""One weight's update in one pass over memory: a Triton kernel on a GPU, its twin in PyTorch elsewhere."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

try:
    import triton
    import triton.language as tl
except ImportError:  # a CPU build of PyTorch comes without it
    triton = None

CHUNK = 1 << 17  # numbers per pass of the twin: they stay in the cache from the first operation to the last
RULES = {"sgd": 0, "adagrad": 1, "adam": 2, "adamw": 3}


def update(
    rule: str,
    w: Tensor,
    gradient: Tensor,
    state: list[Tensor],
    numbers: Tensor,
    l2: float,
    epsilon: float,
    copy: Tensor | None,
) -> None:
    """Update `w` and `state` in place; write the new weights into `copy` (bf16) as well, if there is one.

    `numbers` holds rate, gradient factor, 1 - beta1^t and 1 - beta2^t.
    """
    if w.is_cuda and triton is not None and w.is_contiguous() and gradient.is_contiguous():
        _launch(rule, w, gradient, state, numbers, l2, epsilon, copy)
        return
    values = [float(x) for x in numbers] if not w.is_cuda else list(numbers.float())
    parts = [w.reshape(-1), gradient.reshape(-1), *(x.view(-1) for x in state)]
    size = w.numel() if w.is_cuda else CHUNK
    for start in range(0, w.numel(), size):
        piece = [x[start : start + size] for x in parts]
        _twin(rule, piece[0], piece[1].to(w.dtype), piece[2:], values, l2, epsilon)
    if copy is not None:
        copy.copy_(w)


def _twin(
    rule: str, w: Tensor, g: Tensor, state: list[Tensor], numbers: list[Any], l2: float, epsilon: float
) -> None:
    rate, factor, correct1, correct2 = numbers
    if not isinstance(factor, float) or factor != 1.0:
        g = g * factor
    if l2 and rule == "adamw":
        w.mul_(1 - rate * l2)
    elif l2:
        g = torch.add(g, w, alpha=l2)
    if rule == "sgd":
        w.sub_(g * rate)
    elif rule == "adagrad":
        state[0].addcmul_(g, g)
        w.sub_(g.mul(rate).div_(state[0].sqrt().add_(epsilon)))
    else:
        mean, square = state
        mean.lerp_(g, 1 - 0.9)
        square.mul_(0.999).addcmul_(g, g, value=1 - 0.999)
        step = (square / correct2).sqrt_().add_(epsilon)
        w.sub_((mean * (rate / correct1)).div_(step))


def _launch(
    rule: str,
    w: Tensor,
    g: Tensor,
    state: list[Tensor],
    numbers: Tensor,
    l2: float,
    epsilon: float,
    copy: Tensor | None,
) -> None:
    n, block = w.numel(), 2048
    first, second = [*state, w, w][:2]  # rules with fewer states never touch the rest
    _kernel[(triton.cdiv(n, block),)](
        w, g, first, second, copy if copy is not None else w, numbers.float(), l2, epsilon, n,
        RULE=RULES[rule], COPY=copy is not None, BLOCK=block, num_warps=8,
    )  # fmt: skip


if triton is not None:

    @triton.jit  # type: ignore[untyped-decorator]
    def _kernel(  # type: ignore[no-untyped-def]
        w_ptr, g_ptr, m_ptr, s_ptr, copy_ptr, numbers_ptr, l2, epsilon, n,
        RULE: tl.constexpr, COPY: tl.constexpr, BLOCK: tl.constexpr,
    ):  # fmt: skip
        at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        inside = at < n
        rate = tl.load(numbers_ptr)
        w = tl.load(w_ptr + at, mask=inside)
        g = tl.load(g_ptr + at, mask=inside).to(tl.float32) * tl.load(numbers_ptr + 1)
        if RULE == 3:
            w = w * (1 - rate * l2)
        else:
            g = g + l2 * w
        if RULE == 0:
            w = w - rate * g
        elif RULE == 1:
            square = tl.load(m_ptr + at, mask=inside) + g * g
            tl.store(m_ptr + at, square, mask=inside)
            w = w - rate * g / (tl.sqrt(square) + epsilon)
        else:
            mean = tl.load(m_ptr + at, mask=inside)
            mean = mean + (g - mean) * (1 - 0.9)
            square = tl.load(s_ptr + at, mask=inside) * 0.999 + g * g * (1 - 0.999)
            tl.store(m_ptr + at, mean, mask=inside)
            tl.store(s_ptr + at, square, mask=inside)
            step = tl.sqrt(square / tl.load(numbers_ptr + 3)) + epsilon
            w = w - rate / tl.load(numbers_ptr + 2) * mean / step
        tl.store(w_ptr + at, w, mask=inside)
        if COPY:
            tl.store(copy_ptr + at, w.to(copy_ptr.dtype.element_ty), mask=inside)
