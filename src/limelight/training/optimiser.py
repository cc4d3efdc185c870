"""SGD, AdaGrad, Adam and AdamW, with their state as plain tensors and no host synchronisation.

Written out, rather than taken from torch.optim, for three things a run needs at once: a whole step that
can be captured as a CUDA graph for every rule; float32 weights behind a bf16 copy that computes; and
sparse gradients of the word vectors, with the same result as the dense update.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from ..config.recipe import TrainingRecipe
from ..text.tokenizer import PAD
from . import kernels
from .kernels import Part

EPSILON = {"adagrad": 1e-10, "adam": 1e-8, "adamw": 1e-8, "sgd": 0.0}
WORDS = "words.weight"
FADED, SWEEP = 1e-30, 100  # in 100 steps, a mean does not fade from the one bound to 1e-38, the other
STATES = {"sgd": (), "adagrad": ("square",), "adam": ("mean", "square"), "adamw": ("mean", "square")}


class Optimiser:
    """Updates `weights` from the gradients of `computing` (the same parameters, or their bf16 copies).

    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimiser = Optimiser({"w": w}, TrainingRecipe(optimizer="sgd", learning_rate=0.5))
    >>> w.grad = torch.tensor([1.0])
    >>> optimiser.step()
    >>> w.item()
    0.5
    """

    def __init__(
        self,
        weights: Mapping[str, Tensor],
        recipe: TrainingRecipe,
        computing: Mapping[str, Tensor] | None = None,
        total: int = 1,
    ) -> None:
        self.recipe, self.total = recipe, total  # steps of the whole run
        self.weights = {name: w for name, w in weights.items() if w.requires_grad}
        self.computing = computing or self.weights
        self.rule = recipe.optimizer
        device = next(iter(self.weights.values())).device
        self.rate = torch.tensor(recipe.learning_rate, dtype=torch.float64, device=device)
        self.steps = torch.zeros((), dtype=torch.int64, device=device)
        self.fixed = {
            l2: torch.tensor([l2, EPSILON[self.rule]], dtype=torch.float64, device=device)
            for l2 in (0.0, recipe.weight_decay)
        }
        self.state = {
            f"{name}.{kind}": torch.zeros_like(w, memory_format=torch.contiguous_format).detach()
            for name, w in self.weights.items()
            for kind in STATES[self.rule]
        }
        self.dense: Tensor | None = None  # zeros, where a sparse gradient is written for Adam

    def clear(self) -> None:
        """Forget the gradients."""
        for w in self.computing.values():
            w.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """Clip, then update every weight that has a gradient."""
        self.steps += 1
        gradients = {name: _summed(w.grad) for name, w in self.computing.items() if w.grad is not None}
        numbers = self._numbers(self._clip([_values(g) for g in gradients.values()]))
        parts = {name: self._part(name, g) for name, g in gradients.items()}
        for l2, fixed in self.fixed.items():
            some = [part for name, part in parts.items() if self._l2(name) == l2]
            kernels.update(self.rule, some, torch.cat([numbers, fixed]))
        for name, gradient in gradients.items():
            if gradient.is_sparse:
                self._put_back(name, gradient._indices()[0], parts[name])
        if not self.steps.is_cuda and int(self.steps) % SWEEP == 0:
            self._sweep()

    def _clip(self, gradients: list[Tensor]) -> Tensor | None:
        """Clip the norm in place; on a GPU, return the factor for the update to apply."""
        if not self.recipe.clip_norm:
            return None
        precise = [torch.promote_types(g.dtype, torch.float32) for g in gradients]
        norms = [
            torch.linalg.vector_norm(g, dtype=d).double() for g, d in zip(gradients, precise, strict=True)
        ]
        norm = torch.linalg.vector_norm(torch.stack(norms))
        factor: Tensor = (self.recipe.clip_norm / (norm + 1e-6)).clamp(max=1.0)
        if factor.is_cuda:
            return factor
        if factor < 1:
            torch._foreach_mul_(gradients, float(factor))
        return None

    def _numbers(self, factor: Tensor | None) -> Tensor:
        """(5,): rate, factor of the gradient, step and Adam's corrections, on the device and in float64."""
        one, t = torch.ones_like(self.rate), self.steps.double()
        return torch.stack(
            [self.present_rate(), one if factor is None else factor, t, 1 - 0.9**t, 1 - 0.999**t]
        )

    def present_rate(self) -> Tensor:
        """The rate of the latest step, by the schedule; found on the device, where steps are counted."""
        if self.recipe.schedule == "constant":
            return self.rate
        done = ((self.steps - 1).double() / self.total).clamp(0.0, 1.0)
        left = 1 - done if self.recipe.schedule == "linear" else (1 + torch.cos(torch.pi * done)) / 2
        return self.rate * left

    def _l2(self, name: str) -> float:
        """L2 is on weights alone: not on biases, and not on word vectors."""
        return 0.0 if name == WORDS or name.rpartition(".")[2].startswith("b") else self.recipe.weight_decay

    def _whole(self, name: str) -> list[Tensor]:
        return [self.weights[name], *(self.state[f"{name}.{kind}"] for kind in STATES[self.rule])]

    def _part(self, name: str, gradient: Tensor) -> Part:
        """What the update of a weight works on: all of it or, with a sparse gradient, some of its rows."""
        w, *state = self._whole(name)
        if not gradient.is_sparse:
            return Part(w, gradient, state, self.computing[name] if self.computing[name] is not w else None)
        rows, values = gradient._indices()[0], gradient._values()
        if not moves_all(self.recipe):
            return Part(w[rows], values, [x[rows] for x in state])
        if self.dense is None:
            self.dense = torch.zeros_like(w)
        self.dense[rows] = values  # Adam goes on moving a row that once had a gradient
        return Part(w, self.dense, state)

    def _put_back(self, name: str, rows: Tensor, part: Part) -> None:
        """After the update of some rows: zeros where their gradient was, or their copies into the whole."""
        if self.dense is not None:
            self.dense[rows] = 0
            return
        for whole, copy in zip(self._whole(name), [part.w, *part.state], strict=True):
            whole[rows] = copy

    def _sweep(self) -> None:
        """Clear means that have faded away.

        Without a gradient, Adam's mean shrinks by a tenth a step until it is denormal, and stays so: a
        processor then takes 25 times as long. Far earlier it has become too small to move a weight.
        """
        for name, x in self.state.items():
            if name.endswith(".mean"):
                x.copy_(torch.nn.functional.hardshrink(x, FADED))

    def tensors(self) -> dict[str, Tensor]:
        """All state, for a checkpoint."""
        return {**self.state, "rate": self.rate, "steps": self.steps}

    @torch.no_grad()
    def restore(self, tensors: dict[str, Tensor]) -> None:
        """The inverse of `tensors`, in place."""
        for name, tensor in self.tensors().items():
            tensor.copy_(tensors[name])


def _summed(gradient: Tensor) -> Tensor:
    """A sparse gradient has an entry for every occurrence of a word: one row per word, zeros for padding."""
    if not gradient.is_sparse:
        return gradient
    summed = gradient.coalesce()
    if summed._nnz() and summed._indices()[0, 0] == PAD:
        summed._values()[0] = 0
    return summed


def _values(gradient: Tensor) -> Tensor:
    return gradient._values() if gradient.is_sparse else gradient


def moves_all(recipe: TrainingRecipe) -> bool:
    """Whether a word without a gradient may move all the same."""
    return recipe.optimizer in ("adam", "adamw")
