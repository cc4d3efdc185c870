"""Numbers to predict, brought to mean 0 and variance 1 for training, whatever their unit.

The last layer is linear, so afterwards it takes the unit in, and a trained model knows nothing of this.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np
import torch

from ..model.network import Network
from ..text.dataset import Dataset


class Scale(NamedTuple):
    """number = mean + deviation * output."""

    mean: float
    deviation: float


def standardise(dataset: Dataset) -> tuple[Dataset, Scale | None]:
    """The data set with scaled numbers, and their scale; of another task, the data set itself and None."""
    if dataset.task != "regression":
        return dataset, None
    values = np.asarray(dataset.splits["train"].labels, dtype=np.float64)
    scale = Scale(float(values.mean()), float(values.std()))
    splits = {
        name: dataclasses.replace(split, labels=_scaled(np.asarray(split.labels), scale))
        for name, split in dataset.splits.items()
    }
    return dataclasses.replace(dataset, splits=splits), scale


def _scaled(values: np.ndarray, scale: Scale) -> np.ndarray:
    return ((values.astype(np.float64) - scale.mean) / scale.deviation).astype(np.float32)


@torch.no_grad()
def unscale(network: Network, scale: Scale) -> None:
    """Make the network's output a number in the user's unit."""
    names = dict(network.head.named_parameters())
    W, b = (names.get(f"{letter}_2", names.get(f"{letter}_o")) for letter in "Wb")
    assert W is not None
    assert b is not None
    W.mul_(scale.deviation)
    b.mul_(scale.deviation).add_(scale.mean)
