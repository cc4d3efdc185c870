"""A minimal ONNX writer: operators and tensors in, the bytes of a model file out.

An ONNX file is a small protobuf message. Writing its dozen fields here keeps the `onnx` package out of the
runtime: a trained model builds its graphs from its recipe and never runs a graph from outside.
"""

import struct
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...errors import LimelightError

IR_VERSION = 8
OPSETS = {"": 17, "com.microsoft": 1}  # the second is ONNX Runtime's own: int8 LSTM
MAX_BYTES = 2**31 - 1  # protobuf's limit

_TYPES = {"float32": 1, "uint8": 2, "int8": 3, "int32": 6, "int64": 7, "bool": 9, "float16": 10}
_FLOAT, _INT, _STRING, _INTS = 1, 2, 3, 7  # AttributeProto.AttributeType
_EXTERNAL = 1  # TensorProto.DataLocation


class Location(NamedTuple):
    """Where a tensor's bytes are stored outside the graph."""

    file: str
    offset: int
    bytes: int


class Graph:
    """Operators in the order they run, built call by call; values are referred to by name."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.weights: dict[str, np.ndarray] = {}
        self._constants: dict[str, np.ndarray] = {}
        self._nodes: list[bytes] = []
        self._inputs: list[bytes] = []
        self._outputs: list[bytes] = []
        self._domains = {""}
        self._count = 0

    def input(self, name: str, dtype: str, *shape: str | int) -> str:
        """Declare an input; a name in the shape stands for any size."""
        self._inputs.append(_value(name, dtype, shape))
        return name

    def output(self, name: str, value: str, dtype: str, *shape: str | int) -> None:
        """Declare an output: `value`, under the name `name`."""
        self._nodes.append(_node("Identity", [value], name, "", {}))
        self._outputs.append(_value(name, dtype, shape))

    def weight(self, name: str, array: np.ndarray) -> str:
        """Add a tensor of the model; using a name again refers to the same tensor."""
        self.weights[name] = np.ascontiguousarray(array)
        return name

    def constant(self, value: Any, dtype: str) -> str:
        """Add a small tensor of the graph itself: a shape, an axis, a bound."""
        name = f"constant_{len(self._constants)}"
        self._constants[name] = np.asarray(value, dtype)
        return name

    def op(self, kind: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """Add an operator with one output; "" omits an optional input."""
        self._count += 1
        name = f"{kind}_{self._count}"
        self._nodes.append(_node(kind, inputs, name, domain, attributes))
        self._domains.add(domain)
        return name

    def to_bytes(self, locations: Mapping[str, Location] | None = None, given: Collection[str] = ()) -> bytes:
        """The bytes of a file; tensors named in `locations` stay outside it, those in `given` are inputs."""
        locations = locations or {}
        tensors = {n: array for n, array in {**self.weights, **self._constants}.items() if n not in given}
        inputs = [_value(name, self.weights[name].dtype.name, self.weights[name].shape) for name in given]
        graph = _message(
            *((1, node) for node in self._nodes),
            (2, self.name),
            *((5, _tensor(name, array, locations.get(name))) for name, array in tensors.items()),
            *((11, value) for value in (*self._inputs, *inputs)),
            *((12, value) for value in self._outputs),
        )
        opsets = [(8, _message((1, domain), (2, OPSETS[domain]))) for domain in sorted(self._domains)]
        model = _message((1, IR_VERSION), (2, "limelight"), (7, graph), *opsets)
        if len(model) > MAX_BYTES:
            wrong = f"the model is {len(model):,} bytes as ONNX; the format allows {MAX_BYTES:,}"
            raise LimelightError(wrong, code="too-large")
        return model


# ---------------------------------------------------------------- ONNX's messages


def _value(name: str, dtype: str, shape: Sequence[str | int]) -> bytes:
    dims = [_message((1, n) if isinstance(n, int) else (2, n)) for n in shape]
    tensor_type = _message((1, _TYPES[dtype]), (2, _message(*((1, dim) for dim in dims))))
    return _message((1, name), (2, _message((1, tensor_type))))


def _node(kind: str, inputs: Sequence[str], output: str, domain: str, attributes: Mapping[str, Any]) -> bytes:
    return _message(
        *((1, name) for name in inputs),
        (2, output),
        (3, output),
        (4, kind),
        *((5, _attribute(name, value)) for name, value in attributes.items()),
        (7, domain),
    )


def _attribute(name: str, value: float | int | str | Sequence[int]) -> bytes:
    if isinstance(value, float):
        return _message((1, name), (2, value), (20, _FLOAT))
    if isinstance(value, int):
        return _message((1, name), (3, value), (20, _INT))
    if isinstance(value, str):
        return _message((1, name), (4, value), (20, _STRING))
    return _message((1, name), *((8, n) for n in value), (20, _INTS))


def _tensor(name: str, array: np.ndarray, location: Location | None) -> bytes:
    head = [*((1, n) for n in array.shape), (2, _TYPES[array.dtype.name]), (8, name)]
    if location is None:
        return _message(*head, (9, array.tobytes()))
    entries = {"location": location.file, "offset": str(location.offset), "length": str(location.bytes)}
    pairs = [(13, _message((1, key), (2, value))) for key, value in entries.items()]
    return _message(*head, *pairs, (14, _EXTERNAL))


# ---------------------------------------------------------------- protobuf's wire format


def _message(*fields: tuple[int, Any]) -> bytes:
    return b"".join(part for number, value in fields for part in _field(number, value))


def _field(number: int, value: int | float | str | bytes) -> tuple[bytes, ...]:
    if isinstance(value, int):
        return _varint(number << 3), _varint(value)
    if isinstance(value, float):
        return _varint(number << 3 | 5), struct.pack("<f", value)
    content = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2), _varint(len(content)), content


def _varint(n: int) -> bytes:
    n &= 0xFFFF_FFFF_FFFF_FFFF  # negative numbers as two's complement
    out = bytearray()
    while n > 0x7F:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)
