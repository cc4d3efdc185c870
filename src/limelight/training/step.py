"""One training step: eager on a CPU; on a GPU captured once per width as a CUDA graph and replayed."""

from __future__ import annotations

import copy
import math
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..config.recipe import Recipe
from ..network.torch.encoder import WordEmbedding
from ..network.torch.shared import tl, triton
from ..text.batches import as_targets, gather, row_lengths
from ..text.dataset import Dataset, Split
from ..text.tokenizer import PAD
from .checkpoint import select_prefix
from .context import NO_SIDE_STREAM, Processes, SideStream
from .evaluate import Scores
from .loss import Tensors
from .optimiser import WORDS, Average, Optimiser, moves_all

CHUNK = 2**22  # words looked at at a time


class Objective(ABC):
    """What a network learns from the training rows of a data set, by a recipe: override the methods."""

    dataset: Dataset
    recipe: Recipe
    measure: str  # what the mean score of the rows is called
    weights: np.ndarray | None = None  # (rows,): how much each counts
    targets: Any = None  # (rows, ...): learnt beside the labels, or in their place
    spells_words = False  # also from n-grams: then the training rows do not say which words move
    can_capture = True  # a step on a GPU, as a CUDA graph

    @abstractmethod
    def build_network(self) -> Any:
        """The network with its starting weights."""

    @abstractmethod
    def identity(self) -> dict[str, Any]:
        """What a checkpoint and the run that resumes from it must have in common."""

    def warmup(self, total: int) -> int:
        """Of all steps, the first ones in which the learning rate rises."""
        return 0

    def fit_start(self, stepper: Stepper, note: Callable[[str], None]) -> bool:
        """Prepare the network for its first step; whether it is a model already. `note` shows a line."""
        return False

    def fit_end(self, network: Any, note: Callable[[str], None]) -> None:  # noqa: B027
        """What the best network gets after the last step. `note` shows a line."""

    @abstractmethod
    def backward(self, stepper: Stepper, batch: Tensors | None, share: float) -> None:
        """Compute the gradients of a batch, a `share` of all rows or none, and count its figures."""

    @abstractmethod
    def evaluate(self, network: Any, processes: Processes) -> tuple[Scores | None, dict[str, float]]:
        """What the best epoch is chosen by, if there is such a thing, and the figures to record."""


class Stepper:
    """Holds the weights and their optimiser, and takes steps on rows of the training split."""

    def __init__(self, network: Any, objective: Objective, processes: Processes) -> None:
        self.network, self.objective, self.processes = network, objective, processes
        self.recipe, split = objective.recipe.training, objective.dataset.splits["train"]
        self.figures = ("loss", "penalty", objective.measure)
        self.device = next(network.parameters()).device
        self.lengths, self.rows = row_lengths(split), 0  # rows of the batch, over all processes
        alone_on_gpu = self.device.type == "cuda" and processes.size == 1 and objective.can_capture
        # with several processes, gradients are summed before a weight can be updated
        self.updates_early = alone_on_gpu
        self.side = SideStream(self.device) if alone_on_gpu else NO_SIDE_STREAM
        size = 4 * split.words + (0 if objective.targets is None else objective.targets.nbytes)
        # whether the training rows fit on the GPU beside the network; otherwise the host feeds it
        self.static = alone_on_gpu and size < torch.cuda.mem_get_info()[0] / 4
        feed = DeviceFeed if self.static else HostFeed
        self.feed: DeviceFeed | HostFeed = feed(split, self.device, objective.weights, objective.targets)
        self.compute_copy = _compute_copy(network, self.recipe.precision, self.device)
        network.words.sparse = self.device.type == "cpu" and processes.size == 1
        weights: dict[str, Tensor] = dict(network.named_parameters())
        copies: dict[str, Tensor] = dict(self.compute_copy.named_parameters())
        self.seen_words: SeenWords | None = None
        trains_words = network.words.weight.requires_grad and not objective.spells_words
        if self.device.type == "cpu" and trains_words and moves_all(self.recipe):
            self.seen_words = SeenWords(network.words, split)
            weights[WORDS] = copies[WORDS] = self.seen_words.rows
        total = self.recipe.epochs * math.ceil(len(split) / self.recipe.batch_size)
        self.optimiser = Optimiser(weights, self.recipe, copies, total, objective.warmup(total))
        self.average = Average(self.optimiser.weights, self.recipe.ema_decay)
        # sums of the figures over the rows, and the rows
        self.sums = torch.zeros(len(self.figures) + 1, dtype=torch.float64, device=self.device)
        # by the batch's rows and width: a captured step, and the rows on the device that it reads
        self.graphs: dict[tuple[int, int], tuple[torch.cuda.CUDAGraph, Tensor] | None] = {}
        self.pool: Any = None  # memory pool of the graphs
        # of higher priority than the side stream, whose many thread blocks would keep its kernels waiting
        self.stream = torch.cuda.Stream(priority=-1) if self.static else None

    def step(self, rows: np.ndarray, number: int) -> None:
        """Update the weights from these rows. Random choices depend on the seed and `number` only."""
        seed = zlib.crc32(f"{self.recipe.seed} {number} {self.processes.rank}".encode())
        # torch.manual_seed would seed every GPU, and only looking for one takes as long as a small layer
        if self.device.type == "cpu":
            torch.default_generator.manual_seed(seed)
        else:
            torch.cuda.manual_seed(seed)
        self.rows = len(rows)
        mine = torch.from_numpy(np.ascontiguousarray(rows[self.processes.rank :: self.processes.size]))
        if self.stream is None:
            self.update(self.feed.batch(mine) if len(mine) else None, len(mine) / len(rows))
            return
        width = bucket(int(self.lengths[rows].max()))
        with torch.cuda.stream(self.stream):
            self._replay(mine, width)

    def _replay(self, rows: Tensor, width: int) -> None:
        """The first batch of a shape is a warm-up, the second is captured, and all others replay that."""
        key = (len(rows), width)
        if key not in self.graphs:
            self.graphs[key] = None
            self.update(self.feed.batch(rows, width), 1.0)
            return
        if (captured := self.graphs[key]) is None:
            captured = torch.cuda.CUDAGraph(), rows.to(self.device)
            torch.cuda.current_stream().synchronize()
            torch.cuda.empty_cache()  # the warm-up's memory is not needed any more
            # one memory pool for all graphs of a run, as they never run at the same time; not shared between
            # runs, because a pool cannot be joined once its graphs are gone
            with torch.cuda.graph(captured[0], pool=self.pool, stream=torch.cuda.current_stream()):
                self.update(self.feed.batch(captured[1], width), 1.0)
            self.pool, self.graphs[key] = captured[0].pool(), captured
        graph, its_rows = captured
        its_rows.copy_(rows, non_blocking=True)
        graph.replay()

    def update(self, batch: Tensors | None, share: float) -> None:
        """Forward, backward, update; `share` is this process's share of the whole batch."""
        self.optimiser.clear()
        with self.optimiser.early_updates(self.side) if self.updates_early else nullcontext():
            self.objective.backward(self, batch, share)
        if self.processes.size > 1:
            self.processes.sum_gradients(self.optimiser.copies.values())
        self.optimiser.step()
        self.average.update(self.optimiser.steps)

    def read(self, *inputs: Any) -> Any:
        """The network's output, in training; its gradients go to the compute copy."""
        with self.seen_words.in_place() if self.seen_words else nullcontext():
            return self.compute_copy(*inputs)

    @torch.no_grad()
    def count(self, rows: int, *sums: Tensor) -> None:
        """Add the sums of the figures over some rows."""
        self.sums += torch.stack([*(x.double() for x in sums), torch.full_like(self.sums[0], rows)])

    def begin(self) -> None:
        """Wait for what other streams have copied, zeroed or loaded since the last step."""
        if self.stream is not None:
            self.stream.wait_stream(torch.cuda.current_stream())

    def finish(self) -> None:
        """Bring the network's weights up to date; on a GPU, make other streams wait for them."""
        if self.seen_words:
            self.seen_words.store()
        if self.stream is not None:
            torch.cuda.current_stream().wait_stream(self.stream)

    @torch.no_grad()
    def load(self, weights: dict[str, Tensor]) -> None:
        """Load weights, and the same as their average, in place: captured steps keep using the tensors."""
        for name, w in self.network.state_dict().items():
            w.copy_(weights[name])
        if self.compute_copy is not self.network:
            for to, w in zip(_tensors(self.compute_copy), _tensors(self.network), strict=True):
                to.copy_(w)  # in bf16
        if self.seen_words:
            self.seen_words.load()
        self.average.load(self._seen_rows(weights))

    @contextmanager
    def averaged(self) -> Iterator[None]:
        """Give the network the averaged weights for a while, if there is an average."""
        words = self.seen_words if self.average.values else None
        try:
            with self.average.in_place():
                if words:
                    words.store()
                yield
        finally:
            if words:
                words.store()

    def tensors(self) -> dict[str, Tensor]:
        """The state of the optimiser and the average for a checkpoint, independent of the device."""
        optimiser, average = self.optimiser.tensors(), dict(self.average.values)
        if self.seen_words:
            whole = self.seen_words.expand
            zeros = torch.zeros_like(self.network.words.weight)
            optimiser |= {k: whole(x, zeros) for k, x in optimiser.items() if k.startswith(WORDS)}
            average |= {k: whole(x, self.network.words.weight) for k, x in average.items() if k == WORDS}
        return {
            **{f"optimiser.{name}": x for name, x in optimiser.items()},
            **{f"average.{name}": x for name, x in average.items()},
        }

    def restore(self, tensors: dict[str, Tensor]) -> None:
        self.average.load(self._seen_rows(select_prefix(tensors, "average.")))
        self.optimiser.restore(self._seen_rows(select_prefix(tensors, "optimiser.")))

    def _seen_rows(self, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        """The tensors with only the seen rows of those that belong to the word table."""
        if self.seen_words is None:
            return tensors
        return {k: x[self.seen_words.ids] if k.startswith(WORDS) else x for k, x in tensors.items()}


class SeenWords:
    """A compact copy of the rows of the word table that occur in a split: the only ones Adam ever changes.

    Adam keeps moving a word after its gradient is gone, so it updates all rows at every step. Words that
    never occur keep a mean and a square of zero and never move: without them, the result is the same.
    """

    def __init__(self, words: WordEmbedding, split: Split) -> None:
        self.words = words
        self.ids = torch.from_numpy(np.flatnonzero(_occurs(split, len(words.weight))))
        self.places = torch.zeros(len(words.weight), dtype=torch.int64)
        self.places[self.ids] = torch.arange(len(self.ids))
        self.rows = words.weight.detach()[self.ids].requires_grad_()

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Let the network read these rows in place of the table's."""
        self.words.row_subset = (self.rows, self.places)
        try:
            yield
        finally:
            self.words.row_subset = None

    @torch.no_grad()
    def store(self) -> None:
        self.words.weight[self.ids] = self.rows

    @torch.no_grad()
    def load(self) -> None:
        self.rows.copy_(self.words.weight[self.ids])

    def expand(self, rows: Tensor, table: Tensor) -> Tensor:
        """A copy of a whole table with these rows in their places."""
        whole = table.detach().clone()
        whole[self.ids] = rows
        return whole


def _occurs(split: Split, words: int) -> np.ndarray:
    """(words,): whether a word occurs in the split; padding always counts, as the first row."""
    occurs = np.zeros(words, dtype=bool)
    occurs[PAD] = True
    for ids in (split.ids, split.ids2):
        if ids is not None:
            for start in range(0, len(ids), CHUNK):  # they may be larger than memory
                occurs[ids[start : start + CHUNK]] = True
    return occurs


def _tensors(network: nn.Module) -> Iterator[Tensor]:
    return chain(network.parameters(), network.buffers())


def _compute_copy(network: Any, precision: str, device: torch.device) -> Any:
    """The network that computes: itself, or a bf16 copy; updates go to the float32 original."""
    if precision == "float32" or device.type == "cpu":
        return network
    twin = copy.deepcopy(network).to(torch.bfloat16)
    for name in network.tables:  # only the rows of a batch are read, so the tables need no copy
        setattr(twin, name, getattr(network, name))
    return twin


# ---------------------------------------------------------------- rows as tensors

PerRow = np.ndarray | None  # a value for each row


class HostFeed:
    """Reads from the split's arrays, which may be memory-mapped and larger than memory."""

    def __init__(self, split: Split, device: torch.device, weights: PerRow = None, targets: PerRow = None):
        self.split, self.device, self.weights, self.targets = split, device, weights, targets

    def batch(self, rows: Tensor, width: int | None = None) -> Tensors:
        """The batch of these rows (on the host), padded to the longest or to `width`."""
        found = gather(self.split, rows.numpy(), width)
        labels = found.labels if found.labels is not None else np.zeros(len(rows), dtype=np.int64)
        weights, targets = (None if x is None else x[rows.numpy()] for x in (self.weights, self.targets))
        arrays = (found.ids, found.lengths, labels, weights, found.ids2, found.lengths2, targets)
        return Tensors(*(None if x is None else torch.from_numpy(x).to(self.device) for x in arrays))  # type: ignore[arg-type]


class DeviceFeed:
    """Holds the whole split on the GPU and gathers there: no host work and no copy in a step."""

    def __init__(self, split: Split, device: torch.device, weights: PerRow = None, targets: PerRow = None):
        def resident(array: np.ndarray | None, dtype: torch.dtype) -> Tensor | None:
            return None if array is None else torch.from_numpy(np.array(array)).to(device, dtype)

        self.device = device
        self.sides = [
            (resident(ids, torch.int32), resident(starts, torch.int64), resident(lengths, torch.int64))
            for ids, starts, lengths in split.sides
        ]
        labels = None if split.labels is None else as_targets(np.asarray(split.labels))
        self.labels = None if labels is None else torch.from_numpy(labels).to(device)
        self.weights = resident(weights, torch.float32)
        is_half = targets is not None and targets.dtype == np.float16  # as vectors are kept
        self.targets = resident(targets, torch.float16 if is_half else torch.float32)

    def batch(self, rows: Tensor, width: int | None = None) -> Tensors:
        """The batch of these rows (anywhere), padded to `width`: no other shapes, so it can be captured."""
        if width is None:
            raise ValueError("a batch on the device needs a width")
        rows = rows.to(self.device)
        first, *second = (_gather(*side, rows, width) for side in self.sides)  # type: ignore[arg-type]
        labels = torch.zeros_like(rows) if self.labels is None else self.labels[rows]
        weights, targets = (None if x is None else x[rows] for x in (self.weights, self.targets))
        ids2, lengths2 = second[0] if second else (None, None)
        return Tensors(*first, labels, weights, ids2, lengths2, targets)


def _gather(ids: Tensor, starts: Tensor, lengths: Tensor, rows: Tensor, width: int) -> tuple[Tensor, Tensor]:
    """The word ids (rows, width) of some rows, zero on padding, and their lengths."""
    if triton is not None and ids.is_cuda:
        return _gather_by_kernel(ids, starts, lengths, rows, width)
    own = lengths[rows]
    places = torch.arange(width, device=ids.device)
    inside = places < own[:, None]
    found = ids[torch.where(inside, starts[rows][:, None] + places, 0)]
    return torch.where(inside, found, 0).long(), own


def _gather_by_kernel(
    ids: Tensor, starts: Tensor, lengths: Tensor, rows: Tensor, width: int
) -> tuple[Tensor, Tensor]:
    found, own = rows.new_empty(len(rows), width), lengths.new_empty(len(rows))
    words = triton.next_power_of_2(width)
    _gather_kernel[(len(rows),)](ids, starts, lengths, rows, found, own, width, WIDTH=words)
    return found, own


def bucket(n: int) -> int:
    """The padded width for a batch whose longest sentence has n words: few widths, little waste.

    Multiples of 8, because products of other widths are several times slower in bf16.
    """
    step = 8
    while n > 16 * step:
        step *= 2
    return -(-n // step) * step


if triton is not None:

    @triton.jit  # type: ignore[untyped-decorator]
    def _gather_kernel(  # type: ignore[no-untyped-def]
        ids_ptr, starts_ptr, lengths_ptr, rows_ptr, found_ptr, own_ptr, width, WIDTH: tl.constexpr
    ):
        at = tl.program_id(0)
        row = tl.load(rows_ptr + at)
        length, start = tl.load(lengths_ptr + row), tl.load(starts_ptr + row)
        place = tl.arange(0, WIDTH)
        found = tl.load(ids_ptr + start + place, mask=place < length, other=0)
        tl.store(found_ptr + at * width + place, found.to(tl.int64), mask=place < width)
        tl.store(own_ptr + at, length)
