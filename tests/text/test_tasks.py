"""Labels by task: how they are read, which arrays they make, and which are refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from limelight.config.recipe import TextRecipe
from limelight.errors import LimelightError
from limelight.tables.columns import Columns
from limelight.tables.rows import TableRows
from limelight.text.coerce import as_classes
from limelight.text.dataset import Dataset
from limelight.text.encode import encode_tables, encode_texts
from limelight.text.encode_steps import choose_held_out
from limelight.text.labels import (
    LabelColumn,
    LabelSets,
    NumberColumn,
    OrderedLabels,
    are_many_numbers,
    join_classes,
)  # fmt: skip
from limelight.text.tasks import LabelFormat, find_task
from refusing import refuses
from reviews import write_csv

TEXTS = ["cold soup", "warm soup", "cold bread", "nothing"]
SETS = [["cold", "soup"], ["soup"], ["cold"], []]


def jsonl(path: Path, labels: list, texts: list[str] = TEXTS) -> Path:
    lines = [json.dumps({"text": t, "label": y}) for t, y in zip(texts, labels, strict=True)]
    path.write_text("\n".join(lines) + "\n")
    return path


def encode(path: Path, dev: Path | None = None, **options) -> Dataset:
    out = path.with_name(f"{path.name}.data")
    recipe = TextRecipe(**options)
    return encode_tables(
        out, path, dev, label="label", recipe=recipe, holdout=0, progress=False, overwrite=True
    )


def test_lists_of_labels_become_ones_in_an_array(tmp_path):
    data = encode(jsonl(tmp_path / "a.jsonl", SETS))
    assert (data.task, data.labels) == ("multi-label", ("cold", "soup"))
    labels = data.splits["train"].labels
    assert labels.dtype == np.uint8
    assert labels.tolist() == [[1, 1], [0, 1], [1, 0], [0, 0]]
    assert data.facts["classes"]["train"] == {"cold": 2, "soup": 2}
    assert Dataset.open(tmp_path / "a.jsonl.data").task == "multi-label"


def test_two_spellings_of_an_accent_are_one_class(tmp_path):
    composed, separate = "caf\u00e9", "cafe\u0301"
    with pytest.warns(UserWarning, match="separate accents"):
        data = encode(
            jsonl(tmp_path / "a.jsonl", [composed, "tea", separate, "tea"]),
            jsonl(tmp_path / "dev.jsonl", [separate, separate, composed, "tea"]),
        )
    assert data.labels == (composed, "tea")
    assert data.splits["train"].labels.tolist() == [0, 1, 0, 1]
    assert data.splits["dev"].labels.tolist() == [0, 0, 0, 1]


def test_one_spelling_stays_as_it_is_and_the_other_means_the_same(recwarn):
    """A saved model answers with the labels it was given, and is evaluated on tables that spell otherwise."""
    composed, separate = "caf\u00e9", "cafe\u0301"
    assert LabelColumn([separate, "tea"]).classes() == (separate, "tea")
    assert LabelColumn([composed, "tea"]).index((separate, "tea"), "test.csv").tolist() == [0, 1]
    assert LabelColumn([separate, composed]).index((separate, composed), "test.csv").tolist() == [0, 1]
    assert join_classes((composed, "water"), (separate, "tea")) == (separate, "tea", "water")
    assert not recwarn.list
    with pytest.warns(UserWarning, match="separate accents"):
        assert as_classes([composed, separate])[0].tolist() == [separate, composed]


@pytest.mark.parametrize("mark", ["|", ";", ", "])
def test_a_separated_column_gives_the_same(tmp_path, mark):
    table = write_csv(tmp_path / "a.csv", text=TEXTS, label=[mark.join(each) for each in SETS])
    data = encode(table, separator=mark)
    expected = encode(jsonl(tmp_path / "a.jsonl", SETS))
    assert data.labels == expected.labels
    assert np.array_equal(data.splits["train"].labels, expected.splits["train"].labels)


def test_parquet_lists_and_repeated_labels(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"text": TEXTS, "label": [[3, 3], [5], [3, 5], []]}), tmp_path / "a.parquet")
    data = encode(tmp_path / "a.parquet")
    assert data.labels == (3, 5)
    assert data.splits["train"].labels.tolist() == [[1, 0], [0, 1], [1, 1], [0, 0]]


def test_a_dataset_of_numbers_and_of_ordered_labels(tmp_path):
    values = write_csv(tmp_path / "a.csv", text=TEXTS, label=["0.5", "-2", "1e1", "3"])
    data = encode(values, task="regression")
    assert (data.task, data.labels) == ("regression", ("value",))
    assert data.splits["train"].labels.tolist() == [0.5, -2.0, 10.0, 3.0]
    assert data.splits["train"].labels.dtype == np.float32
    data = encode(write_csv(tmp_path / "b.csv", text=TEXTS, label=[10, 9, 1, 9]), task="ordinal")
    assert data.labels == (1, 9, 10)
    assert data.splits["train"].labels.tolist() == [2, 1, 0, 1]


@pytest.mark.parametrize(
    ("labels", "options", "said"),
    [
        ([["cold"], "soup", [], []], {}, "line 2: 'soup' in column 'label' is not a list"),
        ([["cold"], None, [], []], {}, "line 2: no label"),
        ([["cold"], [None], [], []], {}, "line 2: no label"),
        ([["cold"], [["soup"]], [], []], {}, "line 2: ['soup'] in column 'label' is not a label"),
        (["cold", ["soup"], "soup", "soup"], {}, "line 2: ['soup'] in column 'label' is not a label"),
        (["cold", "soup", "x", "y"], {"task": "multi-label"}, "--separator"),
        ([[], [], [], []], {}, "no text has a label"),
        ([["a", "b"]] * 4, {}, "every text has the same labels"),
        ([1, 2, "three", 4], {"task": "regression"}, "line 3: 'three' in column 'label' is not a number"),
        ([1, 2, "3,5", 4], {"task": "regression"}, "line 3: '3,5'"),
        ([1, 2, None, 4], {"task": "regression"}, "line 3: no number"),
        ([1, True, 3, 4], {"task": "regression"}, "line 2: True"),
        ([1, 1e300, 3, 4], {"task": "regression"}, "line 2: 1e+300"),
        ([2.5] * 4, {"task": "regression"}, "every label is 2.5"),
        (["low", "high", "low", "high"], {"task": "ordinal"}, "'high' is not a number"),
    ],
)
def test_labels_that_do_not_fit_the_task_are_one_line(tmp_path, labels, options, said):
    with pytest.raises(LimelightError) as error:
        encode(jsonl(tmp_path / "a.jsonl", labels), **options)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_nan_is_a_missing_number(tmp_path):
    table = write_csv(tmp_path / "a.csv", text=TEXTS, label=["1", "nan", "2", "inf"])
    with refuses("row-unusable"):
        encode(table, task="regression")


def test_bad_numbers_can_be_skipped(tmp_path):
    table = write_csv(tmp_path / "a.csv", text=TEXTS, label=["1", "two", "", "4"])
    rows = TableRows(
        table, Columns("text", "label"), on_bad="skip", parse_label=LabelFormat("regression").parse
    )
    with pytest.warns(UserWarning, match="skipped 2"):
        assert [row.label for row in rows] == [1.0, 4.0]


def test_a_label_only_in_dev_is_named_with_its_row(tmp_path):
    train = jsonl(tmp_path / "a.jsonl", SETS)
    dev = jsonl(tmp_path / "dev.jsonl", [["cold"], [], ["cold", "late"], []])
    with refuses("label-unknown"):
        encode(train, dev)


def test_many_numbers_are_asked_about(tmp_path):
    numbers = [f"{k / 8}" for k in range(40)]
    table = write_csv(tmp_path / "a.csv", text=[f"text {k}" for k in range(40)], label=numbers)
    with refuses("task-ambiguous"):
        encode(table)
    with pytest.warns(UserWarning, match="40 labels occur only once"):
        assert len(encode(table, task="classification").labels) == 40
    assert not are_many_numbers([f"{k}" for k in range(100)])
    assert not are_many_numbers(["0.5", "1.5"])


def test_sets_numbers_and_order_as_columns():
    sets = LabelSets([("b", "a", "a"), (), ("c",)])
    assert sets.index(("a", "b", "c"), "x").tolist() == [[1, 1, 0], [0, 0, 0], [0, 0, 1]]
    with refuses("label-unknown"):
        sets.index(("a", "b"), "x")
    assert NumberColumn([1.5, 2.0]).classes() == ("value",)
    assert OrderedLabels([5, 1, 10]).classes() == (1, 5, 10)
    twice = OrderedLabels(["0.5", "0.50", "2"])
    assert twice.classes() == (0.5, 2.0)
    assert twice.index(twice.classes(), "a.csv").tolist() == [0, 0, 1]


def test_held_out_rows_cover_the_labels_and_the_range():
    rng = np.random.default_rng(0)
    sets = (rng.random((400, 6)) < [0.5, 0.3, 0.1, 0.05, 0.05, 0.02]).astype(np.uint8)
    held = choose_held_out(find_task("multi-label").column.strata(sets), 0.2, seed=0)
    assert 60 <= held.sum() <= 100
    assert sets[held].any(axis=0).all()
    assert sets[~held].any(axis=0).all()
    values = rng.exponential(size=500).astype(np.float32)
    strata = find_task("regression").column.strata(values)
    assert np.bincount(strata).tolist() == [50] * 10
    held = choose_held_out(strata, 0.1, seed=0)
    assert np.bincount(strata[held]).tolist() == [5] * 10
    assert find_task("regression").column.strata(np.array([1.0, 1, 1, 2], np.float32)).max() <= 1


def test_texts_in_memory(tmp_path):
    data = encode_texts(TEXTS, [("a",), (), {"b"}, ["a", "b"]], recipe=TextRecipe(), holdout=0)
    assert data.splits["train"].labels.tolist() == [[1, 0], [0, 0], [0, 1], [1, 1]]
    named = encode_texts(
        TEXTS, [[0], [], [0], [0]], recipe=TextRecipe(task="multi-label"), holdout=0, names=["x", "y"]
    )
    assert named.splits["train"].labels.tolist() == [[1, 0], [0, 0], [1, 0], [1, 0]]
    named.save(tmp_path / "data")
    assert np.array_equal(
        Dataset.open(tmp_path / "data").splits["train"].labels, named.splits["train"].labels
    )


def test_a_damaged_dataset_of_sets_is_refused(tmp_path):
    encode(jsonl(tmp_path / "a.jsonl", SETS))
    folder = tmp_path / "a.jsonl.data"
    np.save(folder / "train.labels.npy", np.full((4, 2), 7, np.uint8))
    with refuses("file-damaged"):
        Dataset.open(folder)
    about = json.loads((folder / "dataset.json").read_text())
    (folder / "dataset.json").write_text(json.dumps({**about, "task": "guessing"}))
    with refuses("file-damaged"):
        Dataset.open(folder)
