"""Weights as one model.safetensors, read without trusting any of it.

All are float32. Word vectors that 4 bits hold exactly, such as a reader's, take an eighth of that: as bytes
`words.weight` (n, d / 2) and float16 `words.weight.scale` (n, d / 32).
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from ..errors import LimelightError
from ..storage.json_file import parse_object
from .onnx.graph import Location
from .parts import Shapes, check_names
from .quantise import GROUP, SCALE, WORDS, pack, unpack, word_vectors

_NUMPY = {"F32": "<f4", "F16": "<f2", "U8": "u1"}
MAX_HEADER = 2**20  # bytes; a few hundred per tensor are usual


def pack_words(weights: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The weights with their words in 4 bits, if that loses nothing."""
    words = weights[WORDS]
    if words.shape[1] % GROUP == 0:
        packed, scale = pack(words)
        if np.array_equal(unpack(packed, scale), words):
            return {**weights, WORDS: packed, SCALE: scale}
    return dict(weights)


def read_weights(content: bytes, expected: Shapes) -> dict[str, np.ndarray]:
    """Views into `content`: exactly the expected tensors, float32, side by side, nothing between or after.

    >>> read_weights(b"rubbish", {})
    Traceback (most recent call last):
    limelight.errors.LimelightError: model.safetensors is not a safetensors file: it is 7 bytes long
    """
    locations, layout = tensor_locations(content, expected), _layout(_header(content)[0], expected)
    arrays = {
        name: np.frombuffer(content, _NUMPY[dtype], prod(shape), locations[name].offset).reshape(shape)
        for name, (dtype, shape) in layout.items()
    }
    if SCALE in arrays:
        arrays[WORDS] = word_vectors(arrays)
        del arrays[SCALE]
    return arrays


def tensor_locations(content: bytes, expected: Shapes) -> dict[str, Location]:
    """Where each tensor is in the file."""
    header, start = _header(content)
    layout = _layout(header, expected)
    header.pop("__metadata__", None)
    check_names(set(header), set(layout))
    locations = {}
    for name, (dtype, shape) in layout.items():
        begin, end = _offsets(name, header[name], dtype, shape)
        locations[name] = Location("model.safetensors", start + begin, end - begin)
    end = start
    for location in sorted(locations.values(), key=lambda location: location.offset):
        if location.offset != end:
            raise LimelightError(
                "the tensors in model.safetensors overlap or leave gaps; fetch the folder again"
            )
        end += location.bytes
    if end != len(content):
        raise LimelightError(f"model.safetensors has {len(content):,} bytes; its header describes {end:,}")
    return locations


def _header(content: bytes) -> tuple[dict[str, Any], int]:
    if len(content) < 8:
        raise LimelightError(f"model.safetensors is not a safetensors file: it is {len(content)} bytes long")
    size = int.from_bytes(content[:8], "little")
    if size > min(MAX_HEADER, len(content) - 8) or size % 4:
        raise LimelightError(f"model.safetensors is damaged: its header claims to be {size:,} bytes long")
    return parse_object(content[8 : 8 + size], "the header of model.safetensors"), 8 + size


def _layout(header: Mapping[str, Any], expected: Shapes) -> dict[str, tuple[str, tuple[int, ...]]]:
    """The type and shape that each tensor must have."""
    layout = {name: ("F32", shape) for name, shape in expected.items()}
    entry = header.get(WORDS)
    if isinstance(entry, dict) and entry.get("dtype") == "U8":
        n, d = expected[WORDS]
        layout |= {WORDS: ("U8", (n, d // 2)), SCALE: ("F16", (n, d // GROUP))}
    return layout


def _offsets(name: str, entry: Any, dtype: str, shape: tuple[int, ...]) -> tuple[int, int]:
    """The start and end of a tensor in the data; its entry must match the recipe."""
    if not isinstance(entry, dict) or entry.get("dtype") != dtype or entry.get("shape") != list(shape):
        found = (
            str(entry)[:80] if not isinstance(entry, dict) else f"{entry.get('dtype')} {entry.get('shape')}"
        )
        raise LimelightError(
            f"{name} in model.safetensors is {found[:80]}; the recipe needs {dtype} {list(shape)}"
        )
    offsets = entry.get("data_offsets")
    if not (isinstance(offsets, list) and len(offsets) == 2 and all(type(x) is int for x in offsets)):
        raise LimelightError(f"{name} in model.safetensors has no valid data_offsets: {str(offsets)[:60]}")
    begin, end = offsets
    size = prod(shape) * np.dtype(_NUMPY[dtype]).itemsize
    if begin < 0 or end - begin != size:
        raise LimelightError(
            f"{name} in model.safetensors is at {begin} to {end}, which is not {size:,} bytes"
        )
    return begin, end
