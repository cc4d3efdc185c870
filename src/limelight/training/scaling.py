"""Numbers to predict, brought to mean 0 and variance 1 for training, whatever their unit.

The last layer is linear, so afterwards it takes the unit in, and a trained model knows nothing of this.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np
import torch

from ..network.torch.heads import LAST_LAYER
from ..network.torch.network import Network
from ..runtime.start import Start
from ..text.dataset import Dataset
from .last_layer import last_layer


class Scale(NamedTuple):
    """number = mean + deviation * output."""

    mean: float
    deviation: float


def standardise(dataset: Dataset) -> tuple[Dataset, Scale | None]:
    """The data set with scaled numbers, and their scale; of another task, the data set itself and None."""
    if dataset.task != "regression":
        return dataset, None
    values = np.asarray(dataset.splits["train"].labels, dtype=np.float64)
    scale = Scale(float(values.mean()), float(values.std()) or 1.0)  # all others may be held out
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
    W, b = last_layer(network)
    W.mul_(scale.deviation)
    b.mul_(scale.deviation).add_(scale.mean)


def scale_start(start: Start, scale: Scale) -> Start:
    """A trained model to go on with, whose output is scaled as the numbers are."""
    if not start.labels:
        return start
    weights = dict(start.weights)
    for name in LAST_LAYER:
        if name in weights:
            bias = scale.mean if name.startswith("head.b") else 0.0
            weights[name] = ((weights[name] - bias) / scale.deviation).astype(np.float32)
    return dataclasses.replace(start, weights=weights)
