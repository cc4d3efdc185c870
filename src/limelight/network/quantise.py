"""Numbers in few bits, for all who store or compute with them.

8 bits: whole multiples, -127 to 127, of a scale for each line. 4 bits: -7 to 7, two to a byte, the first in
its lower half, and a float16 scale for each GROUP. Scales are beside a tensor, under its name and `.scale`.
"""

from collections.abc import Mapping

import numpy as np

GROUP = 32  # numbers of a word vector that share a scale
TOP_4, TOP_8 = 7, 127
SCALE = ".scale"
Weights = Mapping[str, np.ndarray]
_HALVES = np.array([(byte % 16 - 8, byte // 16 - 8) for byte in range(256)], np.float32)
_NUMBERS = _HALVES.view(np.float64)[:, 0]  # both numbers of a byte as one of 8 bytes: looked up at once


def quantise(
    numbers: np.ndarray, top: int = TOP_8, axis: int = -1, scales: type = np.float32
) -> tuple[np.ndarray, np.ndarray]:
    """Integers from -top to top, and the scales that undo it, one for each line along `axis`."""
    largest = np.maximum(numbers.max(axis=axis, keepdims=True), -numbers.min(axis=axis, keepdims=True))
    least = 1e-7 if scales is np.float16 else 1e-30  # no scale is 0
    scale = np.maximum(largest / np.float32(top), least).astype(scales)
    rounded = numbers / scale.astype(np.float32)
    np.rint(rounded, out=rounded)
    return rounded.clip(-top, top, out=rounded).astype(np.int8), scale


def pack(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """4 bits: (n, d) -> (n, d / 2) bytes and (n, d / GROUP) float16 scales."""
    rounded, scale = quantise(rows.reshape(len(rows), -1, GROUP), TOP_4, scales=np.float16)
    pairs = (rounded + 8).astype(np.uint8).reshape(len(rows), -1, 2)
    return pairs[..., 0] | pairs[..., 1] << 4, scale[..., 0]


def unpack(packed: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """The inverse, (n, d) in float32."""
    groups = _NUMBERS[np.ascontiguousarray(packed)].view(np.float32).reshape(*scale.shape, GROUP)
    groups *= scale.astype(np.float32)[..., None]
    return np.asarray(groups.reshape(len(packed), -1))


def round_to_4_bits(rows: np.ndarray) -> np.ndarray:
    """The nearest vectors that 4 bits can hold; of a size that GROUP does not divide, the same."""
    return unpack(*pack(rows)) if rows.shape[1] % GROUP == 0 else rows


def values(weights: Weights, name: str, every: int = 1) -> np.ndarray:
    """A tensor in float32, whichever way it is stored; or one of `every` so many of its lines."""
    found, scale = weights[name][::every], weights.get(name + SCALE)
    if scale is None:
        return found
    if found.dtype == np.uint8:
        return unpack(found, scale[::every])
    return np.asarray(found.astype(np.float32) * scale[::every].astype(np.float32))
