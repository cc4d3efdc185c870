"""The notebooks run from the first cell to the last, on a few texts, and are kept without outputs."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

import limelight
from limelight import bundled
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
    monkeypatch.syspath_prepend(NOTEBOOKS[0].parent)
    made_reviews = importlib.import_module("made_reviews")
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


def test_the_made_reviews_are_the_same_every_time_fit_their_stars_and_have_their_aspects(monkeypatch):
    monkeypatch.syspath_prepend(NOTEBOOKS[0].parent)
    made_reviews = importlib.import_module("made_reviews").made_reviews
    rows = made_reviews(405)
    assert rows == made_reviews(405) != made_reviews(405, seed=1)
    assert {row["stars"] for row in rows} == {1, 2, 3, 4, 5}
    bitter = [row["stars"] for row in rows if "We will not be back" in row["text"]]
    assert sum(bitter) / len(bitter) < 3
    found = limelight.find_aspects([row["text"] for row in rows], 6)
    names = ["room", "staff", "breakfast", "bathroom", "location", "price"]
    assert all(sum(name in each.seeds for each in found) == 1 for name in names)
