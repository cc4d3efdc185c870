"""Texts of old classes that a model keeps by choice, and learns from again as it goes on."""

from __future__ import annotations

import json
import shutil
import warnings
from pathlib import Path

import pytest

import limelight
from limelight.config.presets import preset
from limelight.tables.rows import Row
from limelight.training.rehearsal import Drawn, rehearsal_path
from limelight.training.train_job import TrainJob
from refusing import refuses
from reviews import QUICK, reviews, write_csv

FAIR = ["The soup was average and the waiter decent.", "An ordinary soup, a passable waiter."] * 20


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model of reviews of 1 or 5 stars, and beside it three texts of each class."""
    folder = tmp_path_factory.mktemp("old")
    texts, stars = reviews(200)
    table = write_csv(folder / "reviews.csv", text=texts, stars=stars)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", ".*may forget")  # there is nothing to forget
        limelight.fit(table, out=folder / "model", rehearse=3, progress=False, **QUICK)
    return folder / "model"


def kept(model: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in rehearsal_path(model).read_text().splitlines()]


def go_on(old: Path, tmp_path: Path, **options: object) -> limelight.Model:
    """With a new class, in a table whose columns have other names."""
    table = write_csv(tmp_path / "more.csv", review=FAIR, rating=[3] * len(FAIR))
    options = {"start": str(old), "epochs": 1, "preset": "tiny", "progress": False, **options}
    return limelight.fit(table, out=tmp_path / "new", **options)  # type: ignore[arg-type]


def test_a_set_has_so_many_texts_of_each_class_and_is_not_in_the_folder(old: Path) -> None:
    texts = set(reviews(200)[0])
    assert [row["label"] for row in kept(old)] == ["1"] * 3 + ["5"] * 3
    assert all(row["text"] in texts for row in kept(old))
    assert rehearsal_path(old).stat().st_mode & 0o077 == 0
    assert not any("rehearsal" in path.name for path in old.iterdir())


def test_a_new_class_alone_does_not_displace_what_is_rehearsed(old: Path, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "none of the labels")
        model = go_on(old, tmp_path, rehearse=2)
    assert model.labels == (1, 3, 5)
    assert model.facts["data"]["train"] == len(FAIR) + 6
    assert sorted(str(row["label"]) for row in kept(tmp_path / "new")) == ["1", "1", "3", "3", "5", "5"]
    assert not (tmp_path / "new.run").exists()


def test_the_set_of_another_model_is_not_used(old: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(old, other)
    content = rehearsal_path(old).read_text().replace(str(kept(old)[0]["model"]), "f" * 64)
    rehearsal_path(other).write_text(content)
    with pytest.warns(UserWarning, match="belongs to another model"), refuses("label-count"):
        go_on(other, tmp_path)  # the table has one class


def test_what_may_be_lost_is_said(old: Path, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    shutil.copytree(old, plain)
    table = write_csv(tmp_path / "more.csv", text=[*FAIR, "cold"], stars=[*[3] * len(FAIR), 1])
    with pytest.warns(UserWarning, match=r"1 of the 41 rows are of the 2 classes that .* may forget"):
        limelight.fit(
            table, out=tmp_path / "new", start=str(plain), epochs=1, preset="tiny", holdout=0, progress=False
        )


def test_what_cannot_be_rehearsed_is_refused_first(old: Path, tmp_path: Path) -> None:
    table = write_csv(tmp_path / "reviews.csv", text=reviews(20)[0], stars=reviews(20)[1])
    for options, code in (
        ({"rehearse": -1}, "option-value"),
        ({"rehearse": 2, "task": "regression"}, "task-option"),
    ):
        with refuses(code):
            limelight.fit(table, out=tmp_path / "new", preset="tiny", progress=False, **options)
        assert not (tmp_path / "new").exists()
    rehearsal_path(tmp_path / "new").write_text("mine")
    with refuses("exists"):
        TrainJob(tmp_path / "new", preset("tiny"), {"train": [str(table)]}, rehearse=2).run(show=False)
    assert rehearsal_path(tmp_path / "new").read_text() == "mine"


def draw(count: int) -> list[Row]:
    drawn = Drawn(4, seed=0)
    for k in range(count):
        drawn.add(Row(f"{k}", k % 3))
    return drawn.rows()


def test_a_sample_of_each_label() -> None:
    found = draw(300)
    assert [row.label for row in found] == [0] * 4 + [1] * 4 + [2] * 4
    assert len({row.text for row in found}) == 12
    assert draw(300) == found
