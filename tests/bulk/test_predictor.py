"""One class for every engine: batches of any kind in, the same kind out, with the model's columns."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import trained
from limelight.aspects.seeds import Aspects
from limelight.bulk import Predictor, predictor
from limelight.errors import LimelightError
from limelight.runtime import reader
from limelight.runtime.edits import write_aspects
from limelight.runtime.model import Model
from limelight.storage import files
from refusing import refuses

TEXTS = ["w1 w2 w3", "w4", "w5 w6 unheard", "w7 w8"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return trained.save(tmp_path_factory.mktemp("model") / "model")


@pytest.fixture(scope="module")
def model(folder) -> Model:
    return Model.load(folder)


def batches(**columns):
    arrays = {name: np.array(values, object) for name, values in columns.items()}
    return {"arrow": pa.table(columns), "pandas": pd.DataFrame(columns), "numpy": arrays, "lists": columns}


def values(batch, name: str) -> list:
    column = batch[name]
    return column.to_pylist() if hasattr(column, "to_pylist") else list(column)


@pytest.mark.parametrize("kind", ["arrow", "pandas", "numpy", "lists"])
def test_labels_for_any_kind_of_batch(folder, model, kind):
    given = batches(id=[7, 8, 9, 10], text=TEXTS)[kind]
    found = Predictor(folder, top=2, probabilities=True)(given)
    assert isinstance(found, dict if kind in ("numpy", "lists") else type(given))
    P = model.predict_proba(TEXTS)
    assert values(found, "label") == model.predict(TEXTS)
    np.testing.assert_allclose(values(found, "confidence"), P.max(axis=1), rtol=1e-6)
    np.testing.assert_allclose(values(found, "good"), P[:, 2], rtol=1e-6)
    assert values(found, "text") == TEXTS
    assert values(found, "id") == [7, 8, 9, 10]


@pytest.mark.parametrize("kind", ["arrow", "pandas", "numpy"])
@pytest.mark.parametrize("embed", ["vector", "matrix"])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
def test_embeddings_of_any_type(folder, model, kind, embed, dtype):
    found = Predictor(folder, embed=embed, dtype=dtype)(batches(text=TEXTS)[kind])
    M = np.array([np.array(each).tolist() for each in values(found, "embedding")], np.float32)
    if dtype == "int8":
        assert np.abs(M).max() == 127
        M *= np.array(values(found, "embedding_scale")).reshape(-1, *[1] * (M.ndim - 1))
    expected = model.embed(TEXTS, flat=embed == "vector")
    assert M.shape == expected.shape
    np.testing.assert_allclose(M, expected, atol={"float32": 1e-6, "float16": 1e-3, "int8": 0.005}[dtype])


def test_arrow_vectors_are_lists_of_fixed_size(folder):
    table = Predictor(folder, embed="vector", dtype="int8")(pa.table({"text": TEXTS}))
    assert table.schema.field("embedding").type == pa.list_(pa.int8(), 24)
    empty = Predictor(folder, embed="vector", dtype="int8")(pa.table({"text": TEXTS}).slice(0, 0))
    assert empty.schema == table.schema


def test_aspects(tmp_path):
    folder = trained.save(tmp_path / "model", labels=(1, 3, 5))
    plain = Predictor(folder).settings
    write_aspects(folder, Aspects.of({"four": ["w4"]}), "set")
    found = Predictor(folder, aspects=True)(pa.table({"text": TEXTS, "four_clause": TEXTS}))
    assert found.column_names[2:] == [
        "four_mentioned", "four_effect", "four_stars", "four_clause", "text", "given_four_clause",
    ]  # fmt: skip
    assert found["four_mentioned"].to_pylist() == [0, 1, 0, 0]
    assert found["four_clause"].to_pylist() == [None, "w4", None, None]
    assert found["four_stars"].type == pa.float64()
    frame = Predictor(folder, aspects=True)(pd.DataFrame({"text": TEXTS}))
    assert frame["four_effect"].tolist()[0] == 0
    assert frame["four_stars"].isna().tolist() == [True, False, True, True]
    settings = Predictor(folder, aspects=True).settings
    assert settings["aspects"] is True
    assert settings["model_sha256"] != plain["model_sha256"]
    with refuses("option-conflict"):
        Predictor(folder, embed="vector", aspects=True)


def test_words_and_abstaining(folder, model):
    table = Predictor(folder, words=True, abstain_below=0.5)(pa.table({"text": TEXTS}))
    assert table["label"].to_pylist() == model.predict(TEXTS, abstain_below=0.5)
    assert {each["word"] for each in table["words"][0].as_py()} <= set(TEXTS[0].split())
    frame = Predictor(folder, words=True)(pd.DataFrame({"text": TEXTS}))
    assert [each["word"] for each in frame["words"][1]] == ["w4"]


@pytest.mark.parametrize("kind", ["arrow", "pandas", "numpy"])
@pytest.mark.parametrize(("task", "column"), [("multi-label", "labels"), ("regression", "value")])
def test_other_tasks(tmp_path, kind, task, column):
    recipe = trained.recipe_of({"task": task})
    labels = ("value",) if task == "regression" else trained.LABELS
    weights = trained.weights_of(trained.network_of(recipe, classes=len(labels)))
    folder = trained.save(tmp_path / "model", recipe=recipe, weights=weights, labels=labels)
    found = values(Predictor(folder)(batches(text=TEXTS)[kind]), column)
    expected = Model.load(folder).predict(TEXTS)
    assert (
        [list(each) for each in found] == [list(each) for each in expected]
        if task == "multi-label"
        else (found == pytest.approx(expected, rel=1e-6))
    )


def test_pairs(tmp_path):
    folder = trained.save(tmp_path / "pairs", pair="gated")
    found = Predictor(folder)(pa.table({"premise": TEXTS, "hypothesis": TEXTS[::-1]}))
    assert found["label"].to_pylist() == Model.load(folder).predict(TEXTS, TEXTS[::-1])


def test_a_column_of_the_same_name_stays_under_another(folder):
    found = Predictor(folder)(pa.table({"text": TEXTS, "label": list("abcd")}))
    assert found.column_names == ["label", "confidence", "text", "given_label"]
    assert found["given_label"].to_pylist() == list("abcd")


def test_pandas_keeps_its_index(folder):
    frame = pd.DataFrame({"text": TEXTS}, index=[3, 1, 4, 1])
    assert Predictor(folder)(frame).index.tolist() == [3, 1, 4, 1]


def test_it_pickles_small_and_loads_once_in_a_process(folder, monkeypatch):
    loads = []
    load = predictor.load_exactly
    monkeypatch.setattr(predictor, "_loaded", {})
    monkeypatch.setattr(predictor, "load_exactly", lambda *a, **k: loads.append(a) or load(*a, **k))
    content = pickle.dumps(Predictor(folder))
    assert len(content) < 1000
    for _ in range(3):
        assert len(pickle.loads(content)({"text": TEXTS})["label"]) == 4
    assert len(loads) == 1


def test_another_model_at_the_same_path_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(predictor, "_loaded", {})
    folder = trained.save(tmp_path / "model")
    planned = Predictor(folder)
    trained.edit(folder, lambda config: config["facts"].update(data={"train": 7}))
    with refuses("model-differs"):
        planned({"text": TEXTS})


def test_a_model_that_is_swapped_while_it_is_loaded_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(predictor, "_loaded", {})
    folder, other = trained.save(tmp_path / "model"), trained.save(tmp_path / "other", facts={})
    planned, opened = Predictor(folder), reader.open_folder

    def swapped(*given):
        files.exchange(folder, other)
        return opened(*given)

    monkeypatch.setattr(reader, "open_folder", swapped)
    with refuses("model-differs"):
        planned({"text": TEXTS})
    assert planned({"text": TEXTS})["text"] == TEXTS  # it is back


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"embed": "rows"}, "embed is 'rows'"),
        ({"dtype": "int4"}, "dtype is 'int4'"),
        ({"embed": "vector", "top": 3}, "not embeddings"),
        ({"abstain_below": 2.0}, "abstain_below"),
    ],
)
def test_options_are_checked_at_once(folder, options, reason):
    with pytest.raises(LimelightError, match=reason):
        Predictor(folder, **options)


def test_a_batch_that_cannot_be_read(folder):
    with refuses("batch-type"):
        Predictor(folder)([1, 2])
    with refuses("text-type"):
        Predictor(folder)(pa.table({"text": ["w1", None]}))
    with refuses("column-missing"):
        Predictor(folder, text="review")({"text": TEXTS})
