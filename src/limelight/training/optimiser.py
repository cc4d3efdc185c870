"""SGD, AdaGrad, Adam, AdamW and an average of the weights: plain tensors, no host synchronisation.

torch.optim does not offer three things a run needs at once: steps of every rule that can be captured as a
CUDA graph; float32 weights behind a bf16 copy that computes; and sparse gradients of the word vectors with
the same result as a dense update.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor
from torch.optim.adagrad import adagrad
from torch.optim.adam import adam
from torch.optim.sgd import sgd

from ..config.recipe import TrainingRecipe
from ..network.torch.shared import tl, triton
from ..text.tokenizer import PAD
from .context import SideStream

EPSILON = {"adagrad": 1e-10, "adam": 1e-8, "adamw": 1e-8, "sgd": 0.0}
WORDS = "words.weight"
Group = tuple[float, float]  # weight decay, and what the rate is multiplied by
DENORMAL_LIMIT, SWEEP = 1e-30, 100  # in 100 steps, no mean fades from 1e-30 to 1e-38, where denormals start
STATES = {"sgd": (), "adagrad": ("square",), "adam": ("mean", "square"), "adamw": ("mean", "square")}


class Optimiser:
    """Updates `weights` from the gradients of `copies` (the same parameters, or their bf16 copies)."""

    def __init__(
        self,
        weights: Mapping[str, Tensor],
        recipe: TrainingRecipe,
        copies: Mapping[str, Tensor] | None = None,
        total: int = 1,
        warmup: int = 0,
    ) -> None:
        self.recipe = recipe
        self.total, self.warmup = total, warmup  # steps of the whole run, and those in which the rate rises
        self.weights = {name: w for name, w in weights.items() if w.requires_grad}
        self.copies = copies or self.weights
        self.rule = recipe.optimizer
        device = next(iter(self.weights.values())).device
        self.rate = torch.tensor(recipe.learning_rate, dtype=torch.float64, device=device)
        self.steps = torch.zeros((), dtype=torch.int64, device=device)
        self.fixed = {
            (decay, factor): torch.tensor([decay, EPSILON[self.rule]], dtype=torch.float64, device=device)
            for decay in (0.0, recipe.weight_decay)
            for factor in (1.0, recipe.encoder_rate)
        }
        self.numbers: dict[Group, Tensor] = {}  # of the step under way
        self.norms: dict[str, Tensor] = {}  # of the gradients that have come
        self.updated: set[str] = set()  # the weights that are done
        self.state = {
            f"{name}.{kind}": torch.zeros_like(w, memory_format=torch.contiguous_format).detach()
            for name, w in self.weights.items()
            for kind in STATES[self.rule]
        }
        self.dense: Tensor | None = None  # zeros, into which a sparse gradient is written for Adam

    def clear(self) -> None:
        for w in self.copies.values():
            w.grad = None

    @contextmanager
    def early_updates(self, side: SideStream) -> Iterator[None]:
        """Within this, update each weight as soon as it has its gradient; `step` does the rest.

        On a GPU, updates are limited by memory bandwidth and run on the side stream, beside the rest of the
        backward pass, which is not. With `clip_norm` they need all gradients, and only norms come early.
        """
        with side.aside():
            self._begin()
        hooks = [
            w.register_post_accumulate_grad_hook(partial(self._update_early, side, name))
            for name, w in self.copies.items()
            if w.requires_grad
        ]
        try:
            yield
        except BaseException:
            self.numbers = {}  # the step is not under way any more
            raise
        finally:
            for hook in hooks:
                hook.remove()
            side.join()

    @torch.no_grad()
    def _update_early(self, side: SideStream, name: str, w: Tensor) -> None:
        assert w.grad is not None
        with side.aside():
            gradient = _summed(w.grad)
            if self.recipe.clip_norm:
                self.norms[name] = _norm(gradient)
            else:
                self._apply({name: gradient})
                self.updated.add(name)

    @torch.no_grad()
    def step(self) -> None:
        """Clip, then update every weight that has a gradient."""
        if not self.numbers:
            self._begin()
        gradients = {
            name: _summed(w.grad)
            for name, w in self.copies.items()
            if w.grad is not None and name not in self.updated
        }
        self._clip(gradients)
        self._apply(gradients)
        self.numbers = {}
        self.steps += 1
        if not self.steps.is_cuda and int(self.steps) % SWEEP == 0:
            # without a gradient, Adam's means shrink; denormal ones would slow a CPU down 25 times
            for name, x in self.state.items():
                if name.endswith(".mean"):
                    x.copy_(torch.nn.functional.hardshrink(x, DENORMAL_LIMIT))

    @torch.no_grad()
    def _begin(self) -> None:
        """What all updates of a step need to know: the learning rate and the like."""
        one, t = torch.ones_like(self.rate), (self.steps + 1).double()
        rate, rest = self._rate_at(t), [one, t, 1 - 0.9**t, 1 - 0.999**t]
        self.numbers = {
            (decay, factor): torch.cat([torch.stack([rate * factor, *rest]), fixed])
            for (decay, factor), fixed in self.fixed.items()
        }
        self.norms, self.updated = {}, set()

    def _clip(self, gradients: dict[str, Tensor]) -> None:
        """Clip the norm of all gradients: in place, or on a GPU by a factor for the updates to apply."""
        if not self.recipe.clip_norm:
            return
        norms = [self.norms[name] if name in self.norms else _norm(g) for name, g in gradients.items()]
        norm = torch.linalg.vector_norm(torch.stack(norms))
        factor = (self.recipe.clip_norm / (norm + 1e-6)).clamp(max=1.0)
        if factor.is_cuda:
            for numbers in self.numbers.values():
                numbers[1] = factor
        elif factor < 1:
            torch._foreach_mul_([_values(g) for g in gradients.values()], float(factor))

    def _apply(self, gradients: dict[str, Tensor]) -> None:
        updates = {name: self._prepare(name, g) for name, g in gradients.items()}
        for group, numbers in self.numbers.items():
            some = [each for name, each in updates.items() if self._group(name) == group]
            update_weights(self.rule, some, numbers)
        for name, gradient in gradients.items():
            if not gradient.is_sparse:
                continue
            rows = gradient._indices()[0]
            if self.dense is not None:
                self.dense[rows] = 0
                continue
            update = updates[name]
            for whole, copy in zip(self._weight_and_state(name), [update.w, *update.state], strict=True):
                whole[rows] = copy

    def present_rate(self) -> Tensor:
        """The learning rate of the latest step by the schedule, on the device, where steps are counted."""
        return self._rate_at(self.steps.double())

    def _rate_at(self, t: Tensor) -> Tensor:
        rate = self.rate
        if self.warmup:
            rate = rate * (t / self.warmup).clamp(max=1.0)
        if self.recipe.schedule == "constant":
            return rate
        done = ((t - 1) / self.total).clamp(0.0, 1.0)
        left = 1 - done if self.recipe.schedule == "linear" else (1 + torch.cos(torch.pi * done)) / 2
        return rate * left

    def _group(self, name: str) -> Group:
        """Weight decay applies to weights only, not to biases or words; an encoder has its own rate."""
        without = name == WORDS or name.rpartition(".")[2].startswith("b")
        factor = self.recipe.encoder_rate if name.startswith("encoder.") else 1.0
        return 0.0 if without else self.recipe.weight_decay, factor

    def _weight_and_state(self, name: str) -> list[Tensor]:
        return [self.weights[name], *(self.state[f"{name}.{kind}"] for kind in STATES[self.rule])]

    def _prepare(self, name: str, gradient: Tensor) -> WeightUpdate:
        """The update of a weight: of all of it or, with a sparse gradient, of some rows."""
        w, *state = self._weight_and_state(name)
        if not gradient.is_sparse:
            copy = self.copies[name]
            return WeightUpdate(w, gradient, state, None if copy is w else copy)
        rows, values = gradient._indices()[0], gradient._values()
        if not moves_all(self.recipe):
            return WeightUpdate(w[rows], values, [x[rows] for x in state])
        if self.dense is None:
            self.dense = torch.zeros_like(w)
        self.dense[rows] = values  # Adam keeps moving rows that once had a gradient
        return WeightUpdate(w, self.dense, state)

    def tensors(self) -> dict[str, Tensor]:
        return {**self.state, "rate": self.rate, "steps": self.steps}

    @torch.no_grad()
    def restore(self, tensors: dict[str, Tensor]) -> None:
        for name, tensor in self.tensors().items():
            tensor.copy_(tensors[name])


class Average:
    """Follows `weights`: after step t, average += (1 - d) * (weights - average), d = min(decay, t / (9 + t)).

    d is small while t is, so the untrained starting weights are soon forgotten. Frozen weights have no
    average, and with a decay of 0 there is none at all.
    """

    def __init__(self, weights: Mapping[str, Tensor], decay: float) -> None:
        self.decay = decay
        self.weights = {name: w for name, w in weights.items() if w.requires_grad and decay > 0}
        self.values = {name: w.detach().clone() for name, w in self.weights.items()}

    @torch.no_grad()
    def update(self, steps: Tensor) -> None:
        """Move towards the weights after this many steps, a tensor on the device."""
        if not self.values:
            return
        share = 1 - (steps / (9 + steps.double())).clamp(max=self.decay)
        for name, value in self.values.items():
            value.lerp_(self.weights[name], share.to(value.dtype))

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Swap the average in for the weights; no copy, and captured graphs still find both."""
        raw = {name: w.data for name, w in self.weights.items()}
        try:
            for name, w in self.weights.items():
                w.data = self.values[name]
            yield
        finally:
            for name, w in self.weights.items():
                w.data = raw[name]

    @torch.no_grad()
    def load(self, values: dict[str, Tensor]) -> None:
        for name, value in self.values.items():
            value.copy_(values[name])


# ---------------------------------------------------------------- gradients, sparse or not


def _summed(gradient: Tensor) -> Tensor:
    """Sum a sparse gradient's entries of the same word, and clear those of padding."""
    if not gradient.is_sparse:
        return gradient
    summed = gradient.coalesce()
    if summed._nnz() and summed._indices()[0, 0] == PAD:
        summed._values()[0] = 0
    return summed


def _norm(gradient: Tensor) -> Tensor:
    values = _values(gradient)
    precise = torch.promote_types(values.dtype, torch.float32)
    norm: Tensor = torch.linalg.vector_norm(values, dtype=precise).double()
    return norm


def _values(gradient: Tensor) -> Tensor:
    return gradient._values() if gradient.is_sparse else gradient


def moves_all(recipe: TrainingRecipe) -> bool:
    """Whether a weight without a gradient may move."""
    return recipe.optimizer in ("adam", "adamw")


# ------------- updates in one pass over memory: PyTorch's fused rules on a CPU, a Triton kernel on a GPU

RULES = {"sgd": 0, "adagrad": 1, "adam": 2, "adamw": 3}
FUSED = {"fused": True, "maximize": False, "grad_scale": None, "found_inf": None}


class WeightUpdate(NamedTuple):
    """A weight (or some of its rows), its gradient and state; `copy` (bf16) gets the new weights too."""

    w: Tensor
    g: Tensor
    state: list[Tensor]
    copy: Tensor | None = None


def update_weights(rule: str, updates: list[WeightUpdate], numbers: Tensor) -> None:
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
