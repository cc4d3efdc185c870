"""Weight updates in one pass over memory: PyTorch's fused rules on a CPU, a Triton kernel on a GPU."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.optim.adagrad import adagrad
from torch.optim.adam import adam
from torch.optim.sgd import sgd

from ..network.torch.optional_triton import tl, triton

RULES = {"sgd": 0, "adagrad": 1, "adam": 2, "adamw": 3}
FUSED = {"fused": True, "maximize": False, "grad_scale": None, "found_inf": None}


class WeightUpdate(NamedTuple):
    """A weight (or some of its rows), its gradient and state; `copy` (bf16) gets the new weights too."""

    w: Tensor
    g: Tensor
    state: list[Tensor]
    copy: Tensor | None = None


def update(rule: str, updates: list[WeightUpdate], numbers: Tensor) -> None:
    """Update all weights and states in place.

    `numbers`: learning rate, the gradient's factor, step t, 1 - beta1^t, 1 - beta2^t, weight decay, epsilon.
    """
    if updates and not updates[0].w.is_cuda:
        _on_cpu(rule, updates, numbers)
        return
    for w, g, state, copy in updates:
        if triton is not None:
            _on_gpu(rule, w, g.contiguous(), state, numbers, copy)
        else:
            _in_plain_operations(rule, w, g, state, numbers)
            if copy is not None:
                copy.copy_(w)


def _on_cpu(rule: str, updates: list[WeightUpdate], numbers: Tensor) -> None:
    """All weights in one call."""
    rate, _, t, _, _, decay, epsilon = numbers.tolist()
    weights, gradients = [each.w for each in updates], [each.g for each in updates]
    steps_before = list(torch.full((len(updates),), t - 1, dtype=torch.float32).unbind())
    common = {**FUSED, "lr": rate, "weight_decay": decay}
    if rule == "sgd":
        sgd(weights, gradients, [None] * len(updates), momentum=0.0, dampening=0.0, nesterov=False, **common)
    elif rule == "adagrad":
        squares = [each.state[0] for each in updates]
        adagrad(weights, gradients, squares, steps_before, lr_decay=0.0, eps=epsilon, **common)
    else:
        means, squares = [each.state[0] for each in updates], [each.state[1] for each in updates]
        adam(
            weights, gradients, means, squares, [], steps_before, beta1=0.9, beta2=0.999, eps=epsilon,
            amsgrad=False, decoupled_weight_decay=rule == "adamw", **common,
        )  # fmt: skip


def _in_plain_operations(rule: str, w: Tensor, g: Tensor, state: list[Tensor], numbers: Tensor) -> None:
    rate, factor, _, correct1, correct2, decay, epsilon = numbers.to(w.dtype)
    g = g.to(w.dtype) * factor
    if rule == "adamw":
        w.mul_(1 - rate * decay)
    else:
        g = g + decay * w
    if rule == "sgd":
        w.sub_(rate * g)
    elif rule == "adagrad":
        state[0].add_(g * g)
        w.sub_(rate * g / (state[0].sqrt() + epsilon))
    else:
        mean, square = state
        mean.lerp_(g, 1 - 0.9)
        square.mul_(0.999).add_(g * g, alpha=1 - 0.999)
        w.sub_(rate * (mean / correct1) / ((square / correct2).sqrt() + epsilon))


def _on_gpu(
    rule: str, w: Tensor, g: Tensor, state: list[Tensor], numbers: Tensor, copy: Tensor | None
) -> None:
    n, block = w.numel(), 1024
    first, second = [*state, w, w][:2]  # a rule with fewer states does not touch the others
    _kernel[(triton.cdiv(n, block),)](
        w, g, first, second, copy if copy is not None else w, numbers, n,
        RULE=RULES[rule], COPY=copy is not None, BLOCK=block, num_warps=8,
    )  # fmt: skip


if triton is not None:

    @triton.jit  # type: ignore[untyped-decorator]
    def _kernel(  # type: ignore[no-untyped-def]
        w_ptr, g_ptr, m_ptr, s_ptr, copy_ptr, numbers_ptr, n,
        RULE: tl.constexpr, COPY: tl.constexpr, BLOCK: tl.constexpr,
    ):  # fmt: skip
        at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        inside = at < n
        w = tl.load(w_ptr + at, mask=inside)
        rate, decay = tl.load(numbers_ptr).to(w.dtype), tl.load(numbers_ptr + 5).to(w.dtype)
        epsilon = tl.load(numbers_ptr + 6).to(w.dtype)
        g = tl.load(g_ptr + at, mask=inside).to(w.dtype) * tl.load(numbers_ptr + 1).to(w.dtype)
        if RULE == 3:
            w = w * (1 - rate * decay)
        else:
            g = g + decay * w
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
            correct1, correct2 = tl.load(numbers_ptr + 3).to(w.dtype), tl.load(numbers_ptr + 4).to(w.dtype)
            w = w - rate / correct1 * mean / (tl.sqrt(square / correct2) + epsilon)
        tl.store(w_ptr + at, w, mask=inside)
        if COPY:
            tl.store(copy_ptr + at, w.to(copy_ptr.dtype.element_ty), mask=inside)
