"""A trained reader as it is stored, rounded: its figures and what its rows read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from ...runtime.folder import as_stored
from .run import PretrainingRun, describe_rows, encode, mean_cosine


def measure_stored(run: PretrainingRun, weights: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Cosine to the teacher, overlap of rows and the words that each reads, on the held-out texts."""
    stored = as_stored(weights)
    network = run.network
    with torch.no_grad():
        for name, x in network.state_dict().items():
            x.copy_(torch.from_numpy(stored[name]))
    network.rounding.zero_()
    split, vectors = run.dev_split, run.lesson.dev
    if split is None or vectors is None:
        return {}
    cosine = mean_cosine(encode(network, split, run.spelling), vectors)
    found = describe_rows(network, split, run.spelling, run.dataset.tokenizer.vocabulary)
    return {
        "held_out": len(split),
        "cosine": round(cosine, 4),
        **found,
        "overlap": round(found["overlap"], 4),
    }
