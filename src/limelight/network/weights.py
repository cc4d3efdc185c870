"""Weights as one model.safetensors, written small and read without trusting any of it.

Tensors are float32, or in few bits with float16 scales beside them (`quantise.py`): word vectors in 4 bits, a
reader's matrices in int8 (docs/format.md).
"""

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from ..errors import damaged
from ..storage.json_file import parse_object
from .onnx.graph import Location
from .parts import Shapes, check_names
from .quantise import GROUP, SCALE, Weights, pack, quantise, values

TABLES = ("words.weight", "grams.weight")  # read by rows
FILE = "model.safetensors"
MAX_HEADER = 2**20  # bytes; a few hundred per tensor are usual
_NUMPY = {"F32": "<f4", "F16": "<f2", "U8": "u1", "I8": "i1"}
_Layout = dict[str, tuple[str, tuple[int, ...]]]


def pack_words(weights: Weights) -> dict[str, np.ndarray]:
    """The weights with their words in 4 bits, if that loses nothing."""
    return {**weights, **_pack_exactly({"words.weight": weights["words.weight"]})}


def pack_all(weights: Weights) -> dict[str, np.ndarray]:
    """All weights rounded, as a reader stores them: tables in 4 bits, matrices in int8, biases not."""
    packed: dict[str, np.ndarray] = {}
    for name, array in weights.items():
        if name in TABLES:
            packed[name], packed[name + SCALE] = pack(array)
        elif ".b_" in name:
            packed[name] = np.asarray(array, np.float32)
        else:
            packed[name], packed[name + SCALE] = quantise(array, scales=np.float16)
    return packed


class PickledSmall(dict[str, np.ndarray]):
    """Weights that are pickled in few bits, each tensor where that loses nothing: of a reader, a sixth."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle, (_pack_exactly(self),)


def _unpickle(stored: Weights) -> PickledSmall:
    return PickledSmall(unpack_all(stored))


def _pack_exactly(weights: Weights) -> dict[str, np.ndarray]:
    packed: dict[str, np.ndarray] = {}
    for name, array in weights.items():
        fits = array.size and array.ndim > 1 and array.dtype == np.float32
        fits = fits and (name not in TABLES or array.shape[1] % GROUP == 0)
        small = pack_all({name: array}) if fits else {}
        packed |= small if small and np.array_equal(unpack_all(small)[name], array) else {name: array}
    return packed


def unpack_all(stored: Weights) -> dict[str, np.ndarray]:
    return {name: values(stored, name) for name in stored if not name.endswith(SCALE)}


def read_weights(content: bytes, expected: Shapes, file: str = FILE) -> dict[str, np.ndarray]:
    """Exactly the expected tensors in float32; shapes are checked before anything is unpacked."""
    locations = tensor_locations(content, expected, file)
    layout = _layout(header_of(content, file)[0], expected)
    return unpack_all({
        name: np.frombuffer(content, _NUMPY[dtype], prod(shape), locations[name].offset).reshape(shape)
        for name, (dtype, shape) in layout.items()
    })  # fmt: skip


def tensor_locations(content: bytes, expected: Shapes, file: str = FILE) -> dict[str, Location]:
    """Where each tensor is in the file."""
    header, start = header_of(content, file)
    layout = _layout(header, expected)
    header.pop("__metadata__", None)
    check_names(set(header), set(layout))
    locations = {}
    for name, (dtype, shape) in layout.items():
        begin, end = _offsets(file, name, header[name], dtype, shape)
        locations[name] = Location(file, start + begin, end - begin)
    end = start
    for location in sorted(locations.values(), key=lambda location: (location.offset, location.bytes)):
        if location.offset != end:
            raise damaged(f"the tensors in {file} overlap or leave gaps; fetch the folder again")
        end += location.bytes
    if end != len(content):
        raise damaged(f"{file} has {len(content):,} bytes; its header describes {end:,}")
    return locations


def header_of(content: bytes, file: str = FILE) -> tuple[dict[str, Any], int]:
    """The header of a safetensors file, and where its data begins."""
    if len(content) < 8:
        raise damaged(f"{file} is not a safetensors file: it is {len(content)} bytes long")
    size = int.from_bytes(content[:8], "little")
    if size > min(MAX_HEADER, len(content) - 8) or size % 4:
        raise damaged(f"{file} is damaged: its header claims to be {size:,} bytes long")
    return parse_object(content[8 : 8 + size], f"the header of {file}"), 8 + size


def _layout(header: Mapping[str, Any], expected: Shapes) -> _Layout:
    """The type and shape that each tensor must have, by the way the header says it is stored."""
    layout: _Layout = {}
    for name, shape in expected.items():
        entry = header.get(name)
        dtype = entry.get("dtype") if isinstance(entry, dict) else None
        if name == "vocabulary":  # of an old reader: bytes
            layout[name] = "U8", shape
        elif dtype == "U8" and name in TABLES:
            n, d = shape
            layout |= {name: ("U8", (n, d // 2)), name + SCALE: ("F16", (n, d // GROUP))}
        elif dtype == "I8" and len(shape) > 1 and name not in TABLES:
            layout |= {name: ("I8", shape), name + SCALE: ("F16", (*shape[:-1], 1))}
        else:
            layout[name] = "F32", shape
    return layout


def _offsets(file: str, name: str, entry: Any, dtype: str, shape: tuple[int, ...]) -> tuple[int, int]:
    """The start and end of a tensor in the data; its entry must match the recipe."""
    if not isinstance(entry, dict) or entry.get("dtype") != dtype or entry.get("shape") != list(shape):
        found = str(entry) if not isinstance(entry, dict) else f"{entry.get('dtype')} {entry.get('shape')}"
        raise damaged(f"{name} in {file} is {found[:80]}; the recipe needs {dtype} {list(shape)}")
    offsets = entry.get("data_offsets")
    if not (isinstance(offsets, list) and len(offsets) == 2 and all(type(x) is int for x in offsets)):
        raise damaged(f"{name} in {file} has no valid data_offsets: {str(offsets)[:60]}")
    begin, end = offsets
    size = prod(shape) * np.dtype(_NUMPY[dtype]).itemsize
    if begin < 0 or end - begin != size:
        raise damaged(f"{name} in {file} is at {begin} to {end}, which is not {size:,} bytes")
    return begin, end
