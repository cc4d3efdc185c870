"""SGD, AdaGrad, Adam and AdamW, with their state as plain tensors and no host synchronisation.

Written out, rather than taken from torch.optim, for three things a run needs at once: a whole step that
can be captured as a CUDA graph for every rule; float32 weights behind a bf16 copy that computes; and
AdaGrad and SGD that touch only the word vectors that occurred, with the same result as the dense update.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..recipe import TrainingRecipe
from . import kernels

EPSILON = {"adagrad": 1e-10, "adam": 1e-8, "adamw": 1e-8, "sgd": 0.0}
STATES = {"sgd": (), "adagrad": ("square",), "adam": ("mean", "square"), "adamw": ("mean", "square")}


class Optimiser:
    """Updates `weights` from the gradients of `computing` (the same parameters, or their bf16 copies).

    >>> w = nn.Parameter(torch.tensor([1.0]))
    >>> optimiser = Optimiser({"w": w}, TrainingRecipe(optimiser="sgd", rate=0.5))
    >>> w.grad = torch.tensor([1.0])
    >>> optimiser.step()
    >>> w.item()
    0.5
    """

    def __init__(
        self,
        weights: dict[str, nn.Parameter],
        recipe: TrainingRecipe,
        computing: dict[str, nn.Parameter] | None = None,
    ) -> None:
        self.recipe = recipe
        self.weights = {name: w for name, w in weights.items() if w.requires_grad}
        self.computing = computing or self.weights
        self.rule = recipe.optimiser
        device = next(iter(self.weights.values())).device
        self.rate = torch.tensor(recipe.rate, dtype=torch.float64, device=device)
        self.steps = torch.zeros((), dtype=torch.int64, device=device)
        epsilon = EPSILON[self.rule]
        self.fixed = torch.tensor([[0.0, epsilon], [recipe.l2, epsilon]], dtype=torch.float64, device=device)
        self.state = {
            f"{name}.{kind}": torch.zeros_like(w, memory_format=torch.contiguous_format).detach()
            for name, w in self.weights.items()
            for kind in STATES[self.rule]
        }

    def clear(self) -> None:
        """Forget the gradients."""
        for w in self.computing.values():
            w.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """Clip, then update every weight that has a gradient."""
        self.steps += 1
        gradients = {name: _summed(w.grad) for name, w in self.computing.items() if w.grad is not None}
        scale = self._clip([_values(g) for g in gradients.values()])
        numbers = self._numbers(scale)
        for name, gradient in gradients.items():
            if gradient.is_sparse:
                self._update_rows(name, gradient, numbers)
            else:
                self._update(name, gradient, numbers)

    def _clip(self, gradients: list[Tensor]) -> Tensor | None:
        """Bound each entry in place; return the factor that bounds the norm, applied with the update."""
        if self.recipe.clip_value:
            for g in gradients:
                g.clamp_(-self.recipe.clip_value, self.recipe.clip_value)
        if not self.recipe.clip_norm:
            return None
        precise = [torch.promote_types(g.dtype, torch.float32) for g in gradients]
        norms = [
            torch.linalg.vector_norm(g, dtype=d).double() for g, d in zip(gradients, precise, strict=True)
        ]
        norm = torch.linalg.vector_norm(torch.stack(norms))
        factor: Tensor = (self.recipe.clip_norm / (norm + 1e-6)).clamp(max=1.0)
        return factor

    def _numbers(self, factor: Tensor | None) -> Tensor:
        """(5,): rate, factor of the gradient, step and Adam's corrections, on the device and in float64."""
        one, t = torch.ones_like(self.rate), self.steps.double()
        return torch.stack([self.rate, one if factor is None else factor, t, 1 - 0.9**t, 1 - 0.999**t])

    def _fixed(self, name: str) -> Tensor:
        """(2,): L2 and epsilon. L2 is on weights alone: not on biases, and not on word vectors."""
        bias = name.rpartition(".")[2].startswith("b")
        return self.fixed[int(not bias and name != "words.weight")]

    def _update(self, name: str, gradient: Tensor, numbers: Tensor) -> None:
        w = self.weights[name]
        state = [self.state[f"{name}.{kind}"] for kind in STATES[self.rule]]
        copy = self.computing[name] if self.computing[name] is not w else None
        kernels.update(self.rule, w, gradient, state, torch.cat([numbers, self._fixed(name)]), copy)

    def _update_rows(self, name: str, gradient: Tensor, numbers: Tensor) -> None:
        """Rows without a gradient stay as they are, which is what SGD and AdaGrad do with a zero gradient."""
        rows, values = gradient._indices()[0], gradient._values()
        w = self.weights[name]
        state = [self.state[f"{name}.{kind}"] for kind in STATES[self.rule]]
        parts = [x[rows] for x in (w, *state)]
        kernels.update(self.rule, parts[0], values, parts[1:], torch.cat([numbers, self._fixed(name)]))
        for whole, part in zip((w, *state), parts, strict=True):
            whole[rows] = part

    def tensors(self) -> dict[str, Tensor]:
        """All state, for a checkpoint."""
        return {**self.state, "rate": self.rate, "steps": self.steps}

    @torch.no_grad()
    def restore(self, tensors: dict[str, Tensor]) -> None:
        """The inverse of `tensors`, in place."""
        for name, tensor in self.tensors().items():
            tensor.copy_(tensors[name])


def _summed(gradient: Tensor) -> Tensor:
    """A sparse gradient has an entry for every occurrence of a word: one row per word."""
    return gradient.coalesce() if gradient.is_sparse else gradient


def _values(gradient: Tensor) -> Tensor:
    return gradient._values() if gradient.is_sparse else gradient


def can_be_sparse(recipe: TrainingRecipe) -> bool:
    """Whether updating only the words that occurred gives the dense result."""
    return recipe.optimiser in ("sgd", "adagrad")
