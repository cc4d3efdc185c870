"""The weights of the bundled reader, unpacked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

_FILE = Path(__file__).parent / "reader.safetensors"


def reader_weights() -> tuple[list[str], dict[str, np.ndarray]]:
    """The words the reader knows, from id 2 on, and its tensors in float32.

    >>> words, weights = reader_weights()
    >>> words[:3], len(words), weights["words.weight"].shape, weights["encoder.W_hh_0"].shape
    (['the', '.', 'a'], 42000, (42002, 256), (2, 1200, 300))
    """
    stored = load_file(_FILE)
    words = stored.pop("vocabulary").tobytes().decode().split("\n")
    names = [name for name in stored if not name.endswith(".scale")]
    return words, {name: _unpack(stored[name], stored.get(f"{name}.scale")) for name in names}


def _unpack(values: np.ndarray, scale: np.ndarray | None) -> np.ndarray:
    """Undo the rounding: bytes are pairs of 4-bit numbers, several to a scale; int8 has a scale per line."""
    if scale is None:
        return values
    scale = scale.astype(np.float32)
    if values.dtype != np.uint8:
        return np.asarray(values * scale)
    pairs = np.stack([values & 15, values >> 4], axis=-1).astype(np.float32) - 8  # (rows, d / 2, 2)
    groups = pairs.reshape(*scale.shape, -1) * scale[..., None]  # (rows, groups, 32)
    return np.asarray(groups.reshape(len(values), -1))
