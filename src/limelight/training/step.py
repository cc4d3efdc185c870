"""One training step: eager on a CPU; on a GPU captured once per width as a CUDA graph and replayed."""

from __future__ import annotations

import copy
import math
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..config.recipe import Recipe
from ..model.network import Network
from ..text.batches import row_lengths
from ..text.dataset import Split
from .average import Average
from .checkpoint import weights_of
from .distributed import Group
from .feed import DeviceFeed, HostFeed, bucket
from .loss import Tensors, loss
from .optimiser import WORDS, Optimiser, moves_all
from .seen_words import Occurring


class Stepper:
    """Holds the weights and their optimiser, and takes steps on rows of the training split."""

    def __init__(
        self,
        network: Network,
        split: Split,
        recipe: Recipe,
        group: Group,
        row_weights: np.ndarray | None,
        targets: np.ndarray | None = None,
    ) -> None:
        self.network, self.recipe, self.group = network, recipe, group
        self.device = next(network.parameters()).device
        self.lengths = row_lengths(split)
        self.static = self.device.type == "cuda" and group.size == 1 and _fits(split, targets)
        feed = DeviceFeed if self.static else HostFeed
        self.feed: DeviceFeed | HostFeed = feed(split, self.device, row_weights, targets)
        self.computing = _computing(network, recipe, self.device)
        network.words.sparse = self.device.type == "cpu" and group.size == 1
        weights: dict[str, Tensor] = dict(network.named_parameters())
        computing: dict[str, Tensor] = dict(self.computing.named_parameters())
        self.occurring: Occurring | None = None
        if self.device.type == "cpu" and network.words.weight.requires_grad and moves_all(recipe.training):
            self.occurring = Occurring(network.words, split)
            weights[WORDS] = computing[WORDS] = self.occurring.rows
        total = recipe.training.epochs * math.ceil(len(split) / recipe.training.batch_size)
        self.optimiser = Optimiser(weights, recipe.training, computing, total)
        self.average = Average(self.optimiser.weights, recipe.training.ema_decay)
        self.penalised = recipe.model.attention_rows
        self.sums = torch.zeros(4, dtype=torch.float64, device=self.device)  # loss, penalty, right, rows
        self.graphs: dict[tuple[int, int], Graph | None] = {}
        self.pool: Any = None  # of the graphs' memory
        self.stream = torch.cuda.Stream() if self.static else None

    def step(self, rows: np.ndarray, number: int) -> None:
        """Update the weights from these rows. Its random choices follow from the seed and `number` alone."""
        seed = _mix(self.recipe.training.seed, number, self.group.rank)
        # torch.manual_seed also looks for a GPU, which takes as long as a small layer
        torch.default_generator.manual_seed(seed) if self.device.type == "cpu" else torch.manual_seed(seed)
        mine = rows[self.group.rank :: self.group.size]
        if self.stream is None:
            self._update(self.feed.batch(self.feed.rows(mine)) if len(mine) else None, len(mine) / len(rows))
            return
        width = bucket(int(self.lengths[rows].max()))
        with torch.cuda.stream(self.stream):
            self._replay(self.feed.rows(rows), width)

    def _replay(self, rows: Tensor, width: int) -> None:
        """The first batch of a shape warms up, the second is captured, all others replay the capture."""
        key = (len(rows), width)
        if key not in self.graphs:
            self.graphs[key] = None
            self._update(self.feed.batch(rows, width), 1.0)
            return
        graph = self.graphs[key]
        if graph is None:
            graph = self.graphs[key] = Graph(self, rows, width)
        graph.replay(rows)

    def _update(self, batch: Tensors | None, share: float) -> None:
        """Forward, backward, update; `share` is this process's part of the whole batch."""
        self.optimiser.clear()
        if batch is not None:
            with self.occurring.read() if self.occurring else nullcontext():
                output = self.computing(batch.ids, batch.lengths, batch.ids2, batch.lengths2)
            parts = loss(output, batch, self.recipe.training, self.penalised)
            (parts.total * share if share != 1.0 else parts.total).backward()
            self._count(batch, output.logits, parts.cross_entropy, parts.penalty)
        if self.group.size > 1:
            self.group.sum_gradients(self.optimiser.computing.values())
        self.optimiser.step()
        self.average.update(self.optimiser.steps)

    @torch.no_grad()
    def _count(self, batch: Tensors, logits: Tensor, entropy: Tensor, penalty: Tensor) -> None:
        rows = len(batch.labels)
        right = (logits.argmax(dim=1) == batch.labels).sum()
        self.sums += torch.stack(
            [entropy * rows, penalty * rows, right, torch.full_like(right, rows)]
        ).double()

    def begin(self) -> None:
        """Wait for what other streams have copied, zeroed or loaded in between."""
        if self.stream is not None:
            self.stream.wait_stream(torch.cuda.current_stream())

    def finish(self) -> None:
        """Bring the network's weights up to date; on a GPU, for other streams."""
        if self.occurring:
            self.occurring.store()
        if self.stream is not None:
            torch.cuda.current_stream().wait_stream(self.stream)

    @torch.no_grad()
    def load(self, weights: dict[str, Tensor]) -> None:
        """Replace the weights and their average in place (a captured graph goes on using them)."""
        for name, w in self.network.state_dict().items():
            w.copy_(weights[name])
        if self.computing is not self.network:
            for to, w in zip(self.computing.parameters(), self.network.parameters(), strict=True):
                to.copy_(w)  # in bf16
        if self.occurring:
            self.occurring.fetch()
        self.average.load(self._own(weights))

    @contextmanager
    def averaged(self) -> Iterator[None]:
        """Meanwhile, the network has the averaged weights, if an average is kept."""
        words = self.occurring if self.average.values else None
        try:
            with self.average.in_place():
                if words:
                    words.store()
                yield
        finally:
            if words:
                words.store()

    def tensors(self) -> dict[str, Tensor]:
        """The state of the optimiser and the average, for a checkpoint: the same on every device."""
        optimiser, average = self.optimiser.tensors(), dict(self.average.values)
        if self.occurring:
            whole = self.occurring.spread
            nothing = torch.zeros_like(self.network.words.weight)
            optimiser |= {k: whole(x, nothing) for k, x in optimiser.items() if k.startswith(WORDS)}
            average |= {k: whole(x, self.network.words.weight) for k, x in average.items() if k == WORDS}
        return {
            **{f"optimiser.{name}": x for name, x in optimiser.items()},
            **{f"average.{name}": x for name, x in average.items()},
        }

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """The inverse of `tensors`, from those of a checkpoint."""
        self.average.load(self._own(weights_of(tensors, "average.")))
        self.optimiser.restore(self._own(weights_of(tensors, "optimiser.")))

    def _own(self, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        """Of the words' tensors, the rows that are trained here."""
        if self.occurring is None:
            return tensors
        return {k: x[self.occurring.ids] if k.startswith(WORDS) else x for k, x in tensors.items()}


class Graph:
    """A captured step for one batch size and width."""

    def __init__(self, stepper: Stepper, rows: Tensor, width: int) -> None:
        self.rows = rows.clone()
        self.graph = torch.cuda.CUDAGraph()
        torch.cuda.current_stream().synchronize()
        torch.cuda.empty_cache()  # what the first batch of this shape took is not needed beside the graphs
        # one pool of memory for all widths: graphs are replayed one after another, never side by side;
        # for one run only, because a pool cannot be joined once its graphs are gone
        with torch.cuda.graph(self.graph, pool=stepper.pool, stream=torch.cuda.current_stream()):
            stepper._update(stepper.feed.batch(self.rows, width), 1.0)
        stepper.pool = self.graph.pool()

    def replay(self, rows: Tensor) -> None:
        """The step on other rows."""
        self.rows.copy_(rows)
        self.graph.replay()


def _computing(network: Network, recipe: Recipe, device: torch.device) -> nn.Module:
    """The network that runs: itself, or a bf16 copy whose float32 original takes the updates."""
    if recipe.training.precision == "float32" or device.type == "cpu":
        return network
    twin = copy.deepcopy(network).to(torch.bfloat16)
    twin.words = network.words  # only the words of a batch are read: no copy of the table is needed
    return twin


def _fits(split: Split, targets: np.ndarray | None) -> bool:
    """Whether the split can live on the GPU beside the network; otherwise it is fed from the host."""
    size = 4 * split.words + (0 if targets is None else targets.nbytes)
    return size < torch.cuda.mem_get_info()[0] / 4


def _mix(seed: int, number: int, rank: int) -> int:
    """One number for the generator from (seed, step, process)."""
    return zlib.crc32(f"{seed} {number} {rank}".encode())
