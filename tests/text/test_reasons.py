"""Marked words as further texts to learn from."""

from __future__ import annotations

import json

import numpy as np
import pytest

from limelight.config.recipe import TextRecipe
from limelight.tables.formats import BadRowError
from limelight.tables.rows import Row
from limelight.text.encode import encode_tables, encode_texts
from limelight.text.reasons import parse_marks, with_reasons
from refusing import refuses

TEXTS = ["Nice pool, rude staff.", "Lovely view", "The staff was rude and RUDE", "Fine"]
LABELS = [0, 1, 0, 1]


def words_of(dataset, split="train"):
    found = dataset.splits[split]
    vocabulary = dataset.tokenizer.vocabulary
    return [[" ".join(vocabulary[k] for k in side) for side in found.row(n)] for n in range(len(found))]


def test_the_marked_words_alone_and_the_text_without_the_others_have_the_label():
    dataset = encode_texts(
        TEXTS, LABELS, recipe=TextRecipe(), holdout=0,
        reasons=["rude staff", None, ["rude"], ""], not_reasons=[["pool"], None, None, None],
    )  # fmt: skip
    assert [row[0] for row in words_of(dataset)] == [
        "nice pool , rude staff .", "lovely view", "the staff was rude and rude", "fine",
        "rude staff", "nice , rude staff .", "rude . rude",
    ]  # fmt: skip
    assert dataset.splits["train"].labels.tolist() == [0, 1, 0, 1, 0, 0, 0]
    assert dataset.facts["reasons"] == 3


def test_weights_follow_and_words_are_counted_once():
    plain = encode_texts(TEXTS, LABELS, None, [1, 2, 3, 4], recipe=TextRecipe(), holdout=0)
    marked = encode_texts(
        TEXTS,
        LABELS,
        None,
        [1, 2, 3, 4],
        recipe=TextRecipe(),
        holdout=0,
        reasons=["pool", None, "staff", None],
    )
    assert marked.tokenizer.hash == plain.tokenizer.hash
    assert marked.splits["train"].weights.tolist() == [1, 2, 3, 4, 1, 3]


def test_the_marks_of_held_out_rows_are_not_learnt():
    texts = [f"good soup {k}" for k in range(20)] + [f"cold soup {k}" for k in range(20)]
    marks = [text.split()[0] for text in texts]
    dataset = encode_texts(texts, [1] * 20 + [0] * 20, recipe=TextRecipe(), holdout=0.25, reasons=marks)
    assert len(dataset.splits["dev"]) == 10
    assert len(dataset.splits["train"]) == 60
    assert all(len(row[0].split()) == 3 for row in words_of(dataset, "dev"))
    assert sum(row[0] in ("good", "cold") for row in words_of(dataset)) == 30


def test_of_a_pair_a_text_without_marks_stays_whole():
    dataset = encode_texts(
        ["A man sleeps", "A dog runs"], [0, 1], ["He is awake", "An animal moves"], recipe=TextRecipe(),
        holdout=0, reasons=["awake", "dog | animal"],
    )  # fmt: skip
    assert words_of(dataset)[2:] == [["a man sleeps", "awake"], ["dog", "animal"]]


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_a_table_has_them_in_columns_which_other_splits_need_not_have(tmp_path, suffix):
    rows = [("rude staff, nice pool", 0, "rude staff"), ("nice", 1, ""), ("rude", 0, ""), ("good", 1, "good")]
    table, dev = tmp_path / f"train.{suffix}", tmp_path / f"dev.{suffix}"
    if suffix == "csv":
        table.write_text("text,label,why\n" + "".join(f'"{a}",{b},{c}\n' for a, b, c in rows))
        dev.write_text("text,label\nnice,1\nrude,0\n")
    else:
        named = [{"text": a, "label": b, "why": [[0, 4]] if c == "rude staff" else None} for a, b, c in rows]
        table.write_text("".join(json.dumps(each) + "\n" for each in named))
        dev.write_text('{"text": "nice", "label": 1}\n{"text": "rude", "label": 0}\n')
    dataset = encode_tables(
        tmp_path / "out", table, dev, text="text", label="label", reasons="why", recipe=TextRecipe(),
        progress=False,
    )  # fmt: skip
    assert words_of(dataset)[4:] == ([["rude staff"]] if suffix == "csv" else [["rude"]])
    assert len(dataset.splits["dev"]) == 2


def test_what_is_not_in_the_text_is_an_error_of_its_row(tmp_path):
    table = tmp_path / "train.csv"
    table.write_text("text,label,why\nnice pool,1,pool\nrude staff,0,noise\n")
    with refuses("row-unusable") as error:
        encode_tables(tmp_path / "out", table, reasons="why", text="text", label="label", recipe=TextRecipe())
    assert "row 3" in str(error.value)
    with refuses("row-unusable"):
        encode_texts(["nice"], [1], recipe=TextRecipe(), reasons=[[[0, 9]]])
    with refuses("column-missing"):
        encode_tables(tmp_path / "out", table, reasons="no", text="text", label="label", recipe=TextRecipe())
    with refuses("length-mismatch"):
        encode_texts(["nice", "bad"], [1, 0], recipe=TextRecipe(), reasons=["nice"])


@pytest.mark.parametrize("cell", ["[1, 2", [3], [[1, 2, 3]], 7, {"a": 1}, [["a", "b"]]])
def test_marks_of_another_form_are_refused(cell):
    with pytest.raises(BadRowError):
        with_reasons(Row("a b c d", 0, reasons=(cell, None)))


def test_a_mark_of_the_whole_text_or_of_nothing_adds_nothing():
    assert with_reasons(Row("rude", 0, reasons=("rude", None))).reasons == []
    assert with_reasons(Row("rude", 0, reasons=(None, "rude"))).reasons == []
    assert parse_marks(" | ") == []
    assert parse_marks(np.array([[1, 3]])) == [(1, 3)]


@pytest.mark.parametrize(
    ("text", "mark", "alone"),
    [
        ("房间很脏乱", "脏", "脏"),
        ("They don't care", "n't", "n't"),
        ("bad😡 food", "😡", "😡"),
        ("rude staff, rude", ["rude", "staff"], "rude staff . rude"),
        ("A rudeness, rude", "rude", "rude"),
    ],
)
def test_a_phrase_is_found_as_whole_words(text, mark, alone):
    assert with_reasons(Row(text, 0, reasons=(mark, None))).reasons == [(alone, None)]


def test_marks_without_labels_or_of_other_types_are_told():
    with refuses("argument-missing"):
        encode_texts(["nice"], recipe=TextRecipe(), reasons=["nice"])
    with pytest.raises(BadRowError):
        parse_marks("[" * 100_000)
    pandas = pytest.importorskip("pandas")
    assert parse_marks(pandas.NA) == []
    assert parse_marks([np.array([1, 2]), (np.int64(3), np.int64(4))]) == [(1, 2), (3, 4)]


def test_the_facts_count_the_rows_of_the_table():
    dataset = encode_texts(
        TEXTS, LABELS, recipe=TextRecipe(), holdout=0, reasons=["pool", None, "staff", None]
    )
    assert dataset.facts["rows"] == {"train": 4}
    assert len(dataset.splits["train"]) == 6
