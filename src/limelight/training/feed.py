"""Rows of a data set as tensors: gathered on the host, or from a copy that lives on the GPU."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ..network.torch.optional_triton import tl, triton
from ..text.batches import as_targets, gather
from ..text.dataset import Split
from .loss import Tensors

PerRow = np.ndarray | None  # a value for each row


class HostFeed:
    """Reads from the split's arrays, which may be memory-mapped and larger than memory."""

    def __init__(self, split: Split, device: torch.device, weights: PerRow = None, targets: PerRow = None):
        self.split, self.device, self.weights, self.targets = split, device, weights, targets

    def batch(self, rows: Tensor, width: int | None = None) -> Tensors:
        """The batch of these rows (on the host), padded to the longest or to `width`."""
        found = gather(self.split, rows.numpy(), width)
        labels = found.labels if found.labels is not None else np.zeros(len(rows), dtype=np.int64)
        weights = None if self.weights is None else self.weights[rows.numpy()]
        targets = None if self.targets is None else self.targets[rows.numpy()]
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
        sides = [x for side in self.sides for x in _gather(*side, rows, width)]  # type: ignore[arg-type]
        labels = torch.zeros_like(rows) if self.labels is None else self.labels[rows]
        weights = None if self.weights is None else self.weights[rows]
        targets = None if self.targets is None else self.targets[rows]
        found = Tensors(sides[0], sides[1], labels, weights, targets=targets)
        return found._replace(ids2=sides[2], lengths2=sides[3]) if len(sides) > 2 else found


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
    found = torch.empty(len(rows), width, dtype=torch.int64, device=ids.device)
    own = lengths.new_empty(len(rows))
    _gather_kernel[(len(rows),)](
        ids, starts, lengths, rows, found, own, width, WIDTH=triton.next_power_of_2(width)
    )
    return found, own


def bucket(n: int) -> int:
    """The padded width for a batch whose longest sentence has n words: few widths, little waste.

    Multiples of 8, because products of other widths are several times slower in bf16.

    >>> [bucket(n) for n in (1, 9, 33, 70, 200, 1000)]
    [8, 16, 40, 72, 208, 1024]
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
