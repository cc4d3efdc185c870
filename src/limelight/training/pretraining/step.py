"""One step of pretraining: the reader's vectors towards the teacher's, and their similarities too."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from ...config.pretrain_recipe import ReaderRecipe
from ...network.torch.attention import penalty
from ...network.torch.network import Network
from ...text.dataset import Split
from ..distributed import Processes
from ..loss import Tensors
from ..seen_words import SeenWords
from ..step import Stepper
from .spelling import Spelling, uniform
from .teacher import Vectors

WARMUP, WARMUP_SHARE = 300, 0.05  # steps in which the learning rate rises, and at most this share of all
ROUND_FROM = 0.75  # of the steps: from here on, words are read in 4 bits, as they will be stored


class ReaderStepper(Stepper):
    """(1 - cosine) + w KL(teacher || student) of the similarities within the batch + c P."""

    figures = ("loss", "penalty", "cosine")

    def __init__(
        self,
        network: Network,
        split: Split,
        recipe: ReaderRecipe,
        processes: Processes,
        spelling: Spelling,
        vectors: Vectors,
    ) -> None:
        super().__init__(network, split, recipe.recipe, processes, None, vectors)  # type: ignore[arg-type]
        self.reader_recipe, self.spelling = recipe, spelling
        self.round_from = math.floor(ROUND_FROM * self.optimiser.total)

    def _warmup(self, total: int) -> int:
        return min(WARMUP, math.ceil(WARMUP_SHARE * total))

    def _find_seen_words(self, split: Split) -> SeenWords | None:
        return None  # words are spelled too, so that the split does not say which rows move

    def step(self, rows: np.ndarray, number: int) -> None:
        """Update the weights from these rows of the whole batch."""
        self.rows = len(rows)
        super().step(rows, number)

    def _backward(self, batch: Tensors | None, share: float) -> None:
        rank, size, device = self.processes.rank, self.processes.size, self.device
        places = torch.arange(rank, self.rows, size, device=device)  # of this process's rows in the batch
        output = None
        if batch is not None:
            assert batch.targets is not None
            u = uniform(places, batch.ids.shape[1], self.optimiser.steps, self.recipe.training.seed)
            self.computing.rounding.copy_(self.optimiser.steps >= self.round_from)  # type: ignore[operator,union-attr]
            output = self.computing(*self.spelling.read(batch.ids, batch.lengths, u))
            v, t = F.normalize(output.logits.float(), dim=1), F.normalize(batch.targets.float(), dim=1)
        else:
            v = t = torch.zeros(0, self._vector_size, device=device)
        v, t = self._whole_batch(v, t, places)
        if output is None:
            return
        cosine = (v * t).sum(1).mean()
        loss = 1 - cosine
        if self.reader_recipe.kl_weight and self.rows > 1:
            loss = loss + self.reader_recipe.kl_weight * divergence(v, t, self.reader_recipe.temperature)
        P = penalty(output.A) if self.penalised else torch.zeros_like(loss)
        (loss + self.reader_recipe.penalty * P * share).backward()
        rows = len(places)
        self._count(rows, loss.detach() * rows, P.detach() * rows, cosine.detach() * rows)

    @property
    def _vector_size(self) -> int:
        return len(self.network.vector.W_rows)  # type: ignore[union-attr,arg-type]

    def _whole_batch(self, v: Tensor, t: Tensor, places: Tensor) -> tuple[Tensor, Tensor]:
        """The vectors of all processes; the gradient goes to this one's, and is summed with the others'."""
        if self.processes.size == 1:
            return v, t
        whole = torch.zeros(self.rows, 2 * self._vector_size, dtype=v.dtype, device=self.device)
        whole[places] = torch.cat([v.detach(), t], dim=1)
        self.processes.sum(whole)
        all_v, all_t = whole.chunk(2, dim=1)
        return all_v.index_copy(0, places, v), all_t


def divergence(v: Tensor, t: Tensor, temperature: float) -> Tensor:
    """KL of two softmaxes over the other sentences of the batch, the teacher's and the student's; the mean.

    >>> v = torch.eye(3)
    >>> divergence(v, v, 0.05).item(), bool(divergence(v, torch.ones(3, 3).div(3**0.5), 0.05) < 1e-6)
    (0.0, True)
    """
    itself = torch.eye(len(v), dtype=torch.bool, device=v.device)
    student = F.log_softmax((v @ v.T / temperature).masked_fill(itself, -1e4), dim=1)
    with torch.no_grad():
        teacher = F.log_softmax((t @ t.T / temperature).masked_fill(itself, -1e4), dim=1)
    return (teacher.exp() * (teacher - student)).sum(1).mean()
