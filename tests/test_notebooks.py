"""The notebooks run from the first cell to the last, on a few texts, and are kept without outputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from limelight import bundled
from limelight.bundled import made_reviews
from limelight.config import presets

NOTEBOOKS = sorted((Path(__file__).parent.parent / "notebooks").glob("*.ipynb"))
each_notebook = pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)


def code_cells(notebook: Path) -> list[dict[str, Any]]:
    return [cell for cell in json.loads(notebook.read_text())["cells"] if cell["cell_type"] == "code"]


@pytest.fixture
def little(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few texts and one epoch, which is enough to run and not to learn."""
    sentences = {
        split: tuple(column[:50] for column in bundled.sentences(split)) for split in ("train", "test")
    }
    monkeypatch.setattr(bundled, "sentences", sentences.get)
    reviews = made_reviews.made_reviews(60)
    monkeypatch.setattr(made_reviews, "made_reviews", lambda count, seed=0: reviews)
    for name in ("small", "light"):
        quick = presets.preset(name).override(epochs=1, extra_words=1000)
        monkeypatch.setitem(presets.PRESETS, name, quick)


@each_notebook
def test_a_notebook_runs(notebook, little, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for cell in code_cells(notebook):
        exec(compile("".join(cell["source"]), notebook.name, "exec"), names)


@each_notebook
def test_a_notebook_is_kept_without_outputs(notebook):
    assert not any(cell["outputs"] or cell["execution_count"] for cell in code_cells(notebook))
