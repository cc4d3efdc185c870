"""What our writer writes, the safetensors library reads."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

from limelight.storage.array_files import DTYPES, safetensors_header, safetensors_pieces


def file_of(tensors: dict[str, Any], **options: Any) -> bytes:
    return b"".join(safetensors_pieces(tensors, **options))


@pytest.mark.parametrize("dtype", sorted(DTYPES))
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 4), (2, 3, 5)])
def test_every_dtype_and_shape_is_read_back(dtype: str, shape: tuple[int, ...]) -> None:
    values = np.random.default_rng(0).integers(0, 2, shape).astype(dtype)
    found = safetensors.numpy.load(file_of({"x": values}))["x"]
    assert (found.dtype, found.shape) == (values.dtype, values.shape)
    np.testing.assert_array_equal(found, values)


def test_tensors_of_all_dtypes_are_aligned_and_equal() -> None:
    tensors = {name: np.arange(3).astype(name) for name in DTYPES}
    content = file_of(tensors, metadata={"about": '{"é": "\\u0000"}'})
    assert int.from_bytes(content[:8], "little") % 8 == 0
    found = safetensors.numpy.load(content)
    assert found.keys() == tensors.keys()
    for name, values in tensors.items():
        np.testing.assert_array_equal(found[name], values)
    begin = 8 + int.from_bytes(content[:8], "little")
    for name, values in tensors.items():
        assert (content.find(values.tobytes(), begin) - begin) % values.itemsize == 0, name


def test_the_bytes_are_those_of_the_library() -> None:
    tensors = {"b": np.ones((2, 3), np.float32), "a": np.zeros(5, np.float32), "c": np.ones(1)}
    assert file_of(tensors) == safetensors.numpy.save(tensors)
    assert file_of(tensors, metadata={"a": "b"}) == safetensors.numpy.save(tensors, {"a": "b"})


def test_metadata_is_read_back(tmp_path) -> None:
    (tmp_path / "a").write_bytes(file_of({}, metadata={"limelight": '{"é": 1}'}))
    with safetensors.safe_open(tmp_path / "a", "np") as file:
        assert file.metadata() == {"limelight": '{"é": 1}'}


def test_other_memory_layouts() -> None:
    tensors = {"columns": np.asfortranarray(np.arange(6.0).reshape(2, 3)), "big": np.arange(3, dtype=">i4"),
               "strided": np.arange(10)[::3]}  # fmt: skip
    found = safetensors.numpy.load(file_of(tensors))
    for name, values in tensors.items():
        np.testing.assert_array_equal(found[name], values)


def test_torch_tensors_are_fetched_one_at_a_time() -> None:
    torch = pytest.importorskip("torch")
    tensors = {"w": torch.ones(2, 3).T, "n": torch.arange(3), "yes": torch.tensor(True)}
    fetched: list[Any] = []

    def fetch(tensor: Any) -> np.ndarray:
        fetched.append(tensor)
        return np.asarray(tensor)

    pieces = safetensors_pieces(tensors, to_numpy=fetch)
    content = next(pieces)
    for count, piece in enumerate(pieces, 1):
        assert len(fetched) == count
        content += bytes(piece)
    found = safetensors.numpy.load(content)
    assert {name: x.tolist() for name, x in found.items()} == {n: x.tolist() for n, x in tensors.items()}


def test_a_shape_that_is_known_last() -> None:
    file = io.BytesIO(bytes(256))
    file.seek(256)
    file.write(np.ones((1000, 4), np.float32).data)
    file.seek(0)
    file.write(safetensors_header({"rows": ("float32", (1000, 4))}, size=256))
    assert safetensors.numpy.load(file.getvalue())["rows"].shape == (1000, 4)
