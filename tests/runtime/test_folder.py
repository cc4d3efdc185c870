"""The saved folder: what goes in comes out, and whatever is wrong with it is one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

import trained
from limelight.errors import LimelightError
from limelight.runtime.config_file import FILES
from limelight.runtime.folder import open_folder
from limelight.runtime.model import Model
from refusing import refuses
from trained import FACTS, LABELS, PAIRS, network_of, recipe_of, save, texts_of, weights_of


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_a_saved_model_answers_as_before(tmp_path: Path, pair: str | None, precision: str) -> None:
    recipe = recipe_of({}, pair)
    weights = weights_of(network_of(recipe, pair is not None))
    model = Model.from_parts(
        weights=weights, recipe=recipe, tokenizer=trained.tokenizer(), labels=LABELS, pair=pair is not None,
        facts=FACTS, precision=precision,
    )  # fmt: skip
    model.save(tmp_path / "model")
    again = Model.load(tmp_path / "model", precision=precision)
    columns = [texts_of(20), texts_of(20, seed=1)][: 1 + (pair is not None)]
    np.testing.assert_array_equal(again.predict_proba(*columns), model.predict_proba(*columns))
    assert (again.labels, again.recipe, again.pair, again.facts) == (LABELS, recipe, pair is not None, FACTS)


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("name", ["model.onnx", "model.int8.onnx"])
def test_the_onnx_files_answer_as_the_runtime(tmp_path: Path, pair: str | None, name: str) -> None:
    folder = save(tmp_path / "model", pair)
    session = onnxruntime.InferenceSession(folder / name)
    ids, n = np.array([[2, 9, 4], [7, 0, 0]], np.int32), np.array([3, 1], np.int32)
    pairs = {"pairs": np.array([[0, 1]], np.int32)} if pair else {}
    P, M, A = session.run(["probabilities", "M", "A"], {"ids": ids, "lengths": n, **pairs})
    model = Model.load(folder, precision="int8" if "int8" in name else "float32")
    texts = ["w0 w7 w2", "w5"]
    np.testing.assert_allclose(M, model.embed(texts), atol=1e-6 if name == "model.onnx" else 2e-3)
    expected = model.predict_proba(texts[:1], texts[1:]) if pair else model.predict_proba(texts)
    np.testing.assert_allclose(P, expected, atol=1e-6 if name == "model.onnx" else 2e-3)
    assert A[1, :, 1:].max() == 0


def test_the_weights_are_stored_once(tmp_path: Path) -> None:
    folder = save(tmp_path / "model")
    assert (folder / "model.onnx").stat().st_size < 12_000  # the graph alone
    assert sorted(f.name for f in folder.iterdir()) == sorted([*FILES["text"], "README.md", "config.json"])


@pytest.mark.parametrize("labels", [(1, 2, 3), ("1", "2", "3"), (1.0, 2.0, 2.5), (True, False, "maybe")])
def test_labels_keep_their_types(tmp_path: Path, labels: tuple[Any, ...]) -> None:
    found = open_folder(save(tmp_path / "model", labels=labels)).labels
    assert found == labels
    assert [type(x) for x in found] == [type(x) for x in labels]


def test_nothing_is_overwritten_or_half_written(tmp_path: Path) -> None:
    folder = save(tmp_path / "model")
    with refuses("exists"):
        save(folder)
    with pytest.raises(LimelightError, match="must be JSON values"):
        save(tmp_path / "other", facts={"when": object()})
    assert [f.name for f in tmp_path.iterdir()] == ["model"]
    save(folder, labels=("x", "y", "z"), overwrite=True)
    assert open_folder(folder).labels == ("x", "y", "z")


def test_what_could_not_be_opened_is_not_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("limelight.runtime.config_file.MAX_CONFIG", 10_000)
    with pytest.raises(LimelightError, match=r"^config.json would be 1\d,\d{3} bytes; the limit is 10,000"):
        save(tmp_path / "model", facts={"note": "long " * 2000})
    assert list(tmp_path.iterdir()) == []


def test_facts_become_plain_json(tmp_path: Path) -> None:
    facts = {"loss": float("inf"), "rows": np.int64(3), "confusion": np.array([[1, 2]]), "pair": (True, None)}
    found = open_folder(save(tmp_path / "model", facts=facts)).facts
    assert found == {"loss": None, "rows": 3, "confusion": [[1, 2]], "pair": [True, None]}


def test_weights_that_are_not_finite_are_not_saved(tmp_path: Path) -> None:
    weights = weights_of(network_of(recipe_of({"rows": 2})))
    weights["head.b_2"] = np.array([0, np.nan, 0], np.float32)
    with pytest.raises(LimelightError, match=r"head\.b_2 .* not finite"):
        save(tmp_path / "model", weights=weights)


def test_links_and_an_edited_card_are_fine(tmp_path: Path) -> None:
    folder = save(tmp_path / "model")
    (folder / "README.md").write_text("mine")
    (tmp_path / "linked").mkdir()
    for file in folder.iterdir():  # a cache of the hub looks like this
        (tmp_path / "linked" / file.name).symlink_to(file)
    assert open_folder(tmp_path / "linked").labels == LABELS


def test_what_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for path in (tmp_path / "file", tmp_path / "missing"):
        with pytest.raises(LimelightError, match="is not a folder"):
            open_folder(path)
