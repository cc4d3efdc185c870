"""Weights as one model.safetensors, read without trusting any of it."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from ..errors import LimelightError
from ..storage.array_files import safetensors_pieces
from ..storage.json_file import parse_object
from .onnx_file import Location
from .shapes import Shapes, check_names

MAX_HEADER = 2**20  # bytes; a few hundred per tensor are usual


def write_weights(weights: Mapping[str, np.ndarray]) -> bytes:
    """The bytes of a safetensors file.

    >>> content = write_weights({"w": np.array([1.0, 2.0], np.float32)})
    >>> read_weights(content, {"w": (2,)})["w"].tolist()
    [1.0, 2.0]
    """
    return b"".join(safetensors_pieces(weights))


def read_weights(content: bytes, expected: Shapes) -> dict[str, np.ndarray]:
    """Views into `content`: exactly the expected tensors, float32, side by side, nothing between or after.

    >>> read_weights(b"rubbish", {})
    Traceback (most recent call last):
    limelight.errors.LimelightError: model.safetensors is not a safetensors file: it is 7 bytes long
    """
    locations = tensor_locations(content, expected)
    return {
        name: np.frombuffer(content, "<f4", prod(shape), locations[name].offset).reshape(shape)
        for name, shape in expected.items()
    }


def tensor_locations(content: bytes, expected: Shapes) -> dict[str, Location]:
    """Where each tensor is in the file."""
    header, start = _header(content)
    header.pop("__metadata__", None)
    check_names(set(header), set(expected))
    locations = {}
    for name, shape in expected.items():
        begin, end = _offsets(name, header[name], shape)
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


def _offsets(name: str, entry: Any, shape: tuple[int, ...]) -> tuple[int, int]:
    """The start and end of a tensor in the data; its entry must match the recipe."""
    if not isinstance(entry, dict) or entry.get("dtype") != "F32" or entry.get("shape") != list(shape):
        found = (
            str(entry)[:80] if not isinstance(entry, dict) else f"{entry.get('dtype')} {entry.get('shape')}"
        )
        raise LimelightError(
            f"{name} in model.safetensors is {found[:80]}; the recipe needs F32 {list(shape)}"
        )
    offsets = entry.get("data_offsets")
    if not (isinstance(offsets, list) and len(offsets) == 2 and all(type(x) is int for x in offsets)):
        raise LimelightError(f"{name} in model.safetensors has no valid data_offsets: {str(offsets)[:60]}")
    begin, end = offsets
    if begin < 0 or end - begin != 4 * prod(shape):
        raise LimelightError(
            f"{name} in model.safetensors is at {begin} to {end}, which is not {4 * prod(shape):,} bytes"
        )
    return begin, end
