"""What a reader's training needs, in parts that can be sent, and joined again."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from limelight.network.quantise import SCALE, values

READER = Path(__file__).parents[2] / "experiments/reader"


@pytest.fixture(autouse=True)
def scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(READER))
    for name in ("on_gpu", "teachers"):
        sys.modules.pop(name, None)


def test_parts_hold_all_files_and_no_more_than_they_may(tmp_path: Path) -> None:
    import on_gpu

    files = {
        "corpus/a.txt.xz": 700,
        "corpus/b.txt.xz": 500,
        "corpus/texts.json": 10,
        "teachers/t/model-1.safetensors": 900,
        "teachers/t/1_Pooling/config.json": 3,
        "work/tokenizer.json": 80,
        "work/words.txt": 20,
    }
    for name, size in files.items():
        path = tmp_path / "from" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode().ljust(size)[:size])
    (tmp_path / "from/corpus/report.json").write_text("not needed")
    folders = (tmp_path / "from" / name for name in ("corpus", "teachers", "work"))
    lines = list(on_gpu.pack(*folders, tmp_path / "parts", 1000))
    assert len(lines) == 3
    for part in (tmp_path / "parts").iterdir():
        assert sum(path.stat().st_size for path in part.rglob("*") if path.is_file()) <= 1000
    for _ in range(2):  # a call may be repeated
        on_gpu.join(tmp_path / "parts", tmp_path / "all")
    found = [path for path in (tmp_path / "all").rglob("*") if path.is_file()]
    joined = {path.relative_to(tmp_path / "all").as_posix(): path.read_bytes() for path in found}
    assert joined == {name: (tmp_path / "from" / name).read_bytes() for name in files}


def test_a_teacher_is_stored_in_8_bits_and_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import teachers

    rng = np.random.default_rng(0)
    weights = {f"encoder.{k}.weight": rng.normal(size=(6, 40)).astype(np.float32) for k in range(3)}
    weights["encoder.0.bias"] = rng.normal(size=6).astype(np.float32)
    monkeypatch.setattr(teachers, "MOST_BYTES", 600)
    sizes = teachers.write(tmp_path / "t", weights, {"config.json": b"{}", "tokenizer.json": b"[]"}, True)
    assert len(sizes) == 2
    stored = {
        k: v for path in (tmp_path / "t").glob("model-*.safetensors") for k, v in load_file(path).items()
    }
    assert {name for name in stored if not name.endswith(SCALE)} == set(weights)
    for name, w in weights.items():
        np.testing.assert_allclose(values(stored, name), w, atol=np.abs(w).max() / 200)
    np.testing.assert_array_equal(stored["encoder.0.bias"], weights["encoder.0.bias"])
    assert json.loads((tmp_path / "t/1_Pooling/config.json").read_text())["pooling_mode_cls_token"]
