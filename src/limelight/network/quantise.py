"""Word vectors in 4 bits: two numbers to a byte, the first in its lower half, and a scale for each GROUP."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

GROUP, TOP = 32, 7
WORDS, SCALE = "words.weight", "words.weight.scale"


def word_vectors(weights: Mapping[str, np.ndarray], every: int = 1) -> np.ndarray:
    """The word vectors (n, d) in float32, whichever way they are stored; or one of `every` so many.

    >>> rows = np.tile(np.float32([-7, 7]), (4, 16))
    >>> stored = dict(zip((WORDS, SCALE), pack(rows)))
    >>> np.array_equal(word_vectors(stored), rows), np.array_equal(word_vectors({WORDS: rows}), rows)
    (True, True)
    """
    words = weights[WORDS][::every]
    return unpack(words, weights[SCALE][::every]) if SCALE in weights else words


def pack(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(n, d) -> (n, d / 2) bytes and (n, d / GROUP) float16 scales.

    >>> packed, scale = pack(np.linspace(-7, 7, 32, dtype=np.float32)[None])
    >>> packed.shape, scale.tolist(), unpack(packed, scale)[0, [0, 20, 31]].tolist()
    ((1, 16), [[1.0]], [-7.0, 2.0, 7.0])
    """
    rounded, scale = quantise(rows.reshape(len(rows), -1, GROUP), TOP)
    pairs = (rounded + 8).astype(np.uint8).reshape(len(rows), -1, 2)
    return pairs[..., 0] | pairs[..., 1] << 4, scale[..., 0]


def unpack(packed: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """The inverse, (n, d) in float32."""
    pairs = np.stack([packed & 15, packed >> 4], axis=-1).astype(np.float32) - 8  # (n, d / 2, 2)
    groups = pairs.reshape(*scale.shape, GROUP) * scale.astype(np.float32)[..., None]
    return np.asarray(groups.reshape(len(packed), -1))


def round_to_4_bits(rows: np.ndarray) -> np.ndarray:
    """The nearest vectors that 4 bits can hold; of a size that GROUP does not divide, the same."""
    return unpack(*pack(rows)) if rows.shape[1] % GROUP == 0 else rows


def quantise(values: np.ndarray, top: int) -> tuple[np.ndarray, np.ndarray]:
    """Whole multiples of a float16 scale for each line of the last dimension."""
    scale = np.maximum(np.abs(values).max(axis=-1, keepdims=True) / top, 1e-7).astype(np.float16)
    rounded = np.rint(values / scale.astype(np.float32)).clip(-top, top)
    return rounded.astype(np.int8), scale
