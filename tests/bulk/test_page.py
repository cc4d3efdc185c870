"""What docs/bulk.md shows runs, where its engine is installed; Ray's part is in test_ray.py."""

from __future__ import annotations

import re
import sys
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import trained
from limelight.runtime.model import Model

PAGE = Path(__file__).parents[2] / "docs" / "bulk.md"
SNIPPETS = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
COMMANDS = [line for block in re.findall(r"^```bash\n(.*?)^```$", PAGE.read_text(), re.M | re.S)
            for line in block.splitlines()]  # fmt: skip
TEXTS = [text or "w1" for text in trained.texts_of(12, longest=6)]


def write_tables(folder: Path) -> list[str]:
    """What the page names: a model, and a folder of reviews, whose texts are returned."""
    trained.save(folder / "model")
    (folder / "reviews").mkdir()
    pq.write_table(pa.table({"id": range(12), "text": TEXTS}), folder / "reviews" / "a.parquet")
    return TEXTS


@pytest.fixture
def place(tmp_path, monkeypatch) -> Path:
    write_tables(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def engine_of(snippet: str) -> str:
    """The package it needs beside Limelight."""
    return re.match(r"(?:import|from) (\w+)", snippet)[1]


@pytest.mark.parametrize("snippet", [each for each in SNIPPETS if engine_of(each) != "ray"], ids=engine_of)
def test_snippets(snippet, place, monkeypatch):
    if not find_spec(engine_of(snippet)):
        pytest.skip(f"{engine_of(snippet)} is not installed")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    exec(compile(snippet, str(PAGE), "exec"), {})
    for out in place.glob("*-answers*"):
        found = pq.read_table(out).sort_by("id")
        assert found["label"].to_pylist() == Model.load("model").predict(TEXTS)
        assert found["text"].to_pylist() == TEXTS
