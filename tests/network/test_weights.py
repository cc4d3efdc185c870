"""Weights from a file that may be from anyone."""

from __future__ import annotations

import json
import tracemalloc

from limelight.network.weights import read_weights
from refusing import refuses


def test_scales_of_another_shape_are_refused_before_anything_is_multiplied() -> None:
    """A column times a row would be a table of a million times their size."""
    names = {"vector.W": ("I8", (4000, 1)), "vector.W.scale": ("F16", (1, 4000))}
    header, content = {}, b""
    for name, (dtype, shape) in names.items():
        data = b"\1" * (4000 * (2 if dtype == "F16" else 1))
        header[name] = {
            "dtype": dtype,
            "shape": list(shape),
            "data_offsets": [len(content), len(content) + len(data)],
        }
        content += data
    start = json.dumps(header).encode()
    start += b" " * (-len(start) % 8)
    file = len(start).to_bytes(8, "little") + start + content
    tracemalloc.start()
    try:
        with refuses("file-damaged"):
            read_weights(file, {"vector.W": (4000, 1)})
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()
