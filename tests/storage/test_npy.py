from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from limelight.storage.array_files import ArrayWriter


@pytest.mark.parametrize("row", [(), (2, 3)])
def test_an_array_grows_without_knowing_its_size(tmp_path: Path, row: tuple[int, ...]) -> None:
    pieces = [np.random.default_rng(n).integers(0, 99, (n, *row)) for n in (0, 1, 1000, 123_456)]
    with open(tmp_path / "a.npy", "wb") as file:
        writer = ArrayWriter(file, np.int32)
        for piece in pieces:
            writer.append(piece)
        writer.finish()
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), np.concatenate(pieces))


def test_an_array_without_rows(tmp_path: Path) -> None:
    with open(tmp_path / "a.npy", "wb") as file:
        ArrayWriter(file, np.float32).finish()
    assert np.load(tmp_path / "a.npy").shape == (0,)
