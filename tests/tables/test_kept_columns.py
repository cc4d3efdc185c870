"""Tables written again: every column is kept, in order, whatever the format and whatever is in it."""

from __future__ import annotations

import csv
import io
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from limelight.tables.cells import KeptColumns, NewColumn, free_names
from limelight.tables.columns import Columns
from limelight.tables.rows import Row, open_rows
from limelight.tables.table import open_table
from limelight.tables.writers import escape_formulas, write_stream, write_table
from refusing import refuses

LABEL = [NewColumn("label", "label", "int")]


def rewrite(source: Path, out: Path, on_bad: str = "error") -> Path:
    """The table with a column `label` of row numbers before its own."""
    rows, kept = open_rows(open_table(source), Columns("text"), on_bad)
    with write_table(out, out.suffix[1:], LABEL, kept) as writer:
        some = list(rows)
        for k in range(0, len(some), 2):  # in parts, and so across Arrow's batches
            part = some[k : k + 2]
            writer.append(part, [range(k, k + len(part))])
    return out


def read_csv(path: Path, delimiter: str = ",") -> list[list[str]]:
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.reader(file, delimiter=delimiter))


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


ODD = 'id,text,"a ""b"", c",,id\n007,"two\nlines, 😀",=1+1, x ,8\n,Soup.,,,\n'


def test_csv_keeps_every_cell_as_it_is(tmp_path):
    (tmp_path / "in.csv").write_text(ODD, encoding="utf-8")
    with pytest.warns(UserWarning, match="'id' is 'id_2'"):
        rewrite(tmp_path / "in.csv", tmp_path / "out.csv")
    head, *rows = read_csv(tmp_path / "out.csv")
    assert head == ["label", "id", "text", 'a "b", c', "", "id_2"]
    assert rows == [["0", "007", "two\nlines, 😀", "=1+1", " x ", "8"], ["1", "", "Soup.", "", "", ""]]


@pytest.mark.filterwarnings("ignore:.*share a name")
def test_csv_to_the_other_formats(tmp_path):
    (tmp_path / "in.csv").write_text(ODD, encoding="utf-8")
    found = read_csv(rewrite(tmp_path / "in.csv", tmp_path / "out.tsv"), "\t")
    assert found[1] == ["0", "007", "two\nlines, 😀", "=1+1", " x ", "8"]
    for row in (
        read_jsonl(rewrite(tmp_path / "in.csv", tmp_path / "out.jsonl"))[0],
        pq.read_table(rewrite(tmp_path / "in.csv", tmp_path / "out.parquet")).to_pylist()[0],
    ):
        assert list(row.items()) == [
            ("label", 0), ("id", "007"), ("text", "two\nlines, 😀"), ('a "b", c', "=1+1"), ("", " x "),
            ("id_2", "8"),
        ]  # fmt: skip


JSON = [
    {"text": "Good soup", "id": 1, "deep": {"a": [1, None]}},
    {"id": 2.5, "text": "Cold", "late": True},
    {"text": "rude", "id": None, "big": 10**30, "label": "x"},
]


@pytest.mark.filterwarnings("ignore:.*share a name")
def test_jsonl_keeps_keys_types_and_what_is_missing(tmp_path):
    source = tmp_path / "in.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in JSON))
    found = read_jsonl(rewrite(source, tmp_path / "out.jsonl"))
    JSON[2]["given_label"] = JSON[2].pop("label")
    assert found == [{"label": k, **row} for k, row in enumerate(JSON)]
    head, *rows = read_csv(rewrite(source, tmp_path / "out.csv"))
    assert head == ["label", "text", "id", "deep", "late", "big", "given_label"]
    assert rows[0] == ["0", "Good soup", "1", '{"a": [1, null]}', "", "", ""]
    assert rows[1][2:5] == ["2.5", "", "true"]
    table = pq.read_table(rewrite(source, tmp_path / "out.parquet"))
    assert [str(table.schema.field(name).type) for name in ("label", "id", "late", "big", "deep")] == [
        "int64", "double", "bool", "string", "string"
    ]  # fmt: skip
    assert table["id"].to_pylist() == [1.0, 2.5, None]
    assert table["big"].to_pylist() == [None, None, str(10**30)]


def nested() -> pa.Table:
    return pa.table({
        "id": pa.array([7, None, 9, 10, 11], pa.int16()),
        "text": ["a", "b", " ", "d", "é"],
        "when": pa.array([1, 2, 3, None, 10**18 + 1], pa.timestamp("ns", "UTC")),
        "tags": [["x"], [], None, ["😀"], ["y", None]],
        "deep": [{"k": [1.5, float("nan")]}] * 5,
        "kind": pa.array(["u", "v", "u", "v", None]).dictionary_encode(),
        "map": pa.array([[("k", 1)]] * 5, pa.map_(pa.string(), pa.int32())),
        "price": pa.array([1, 2, 3, 4, 5]).cast(pa.decimal128(30, 2)),
        "raw": [b"\xff\x00"] * 5,
    })  # fmt: skip


def test_parquet_passes_through_as_it_is(tmp_path):
    table = nested()
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=2)
    with pytest.warns(UserWarning, match="skipped 1 of its 5 rows"):
        rewrite(tmp_path / "in.parquet", tmp_path / "out.parquet", "skip")
    found = pq.read_table(tmp_path / "out.parquet")
    kept = table.take([0, 1, 3, 4])
    assert found.column_names == ["label", *table.column_names]
    for name in table.column_names:
        assert found.schema.field(name).type == pq.read_schema(tmp_path / "in.parquet").field(name).type
        assert str(found[name].to_pylist()) == str(kept[name].to_pylist()), name  # NaN is not equal to itself


def test_parquet_to_text(tmp_path):
    pq.write_table(nested().slice(0, 2), tmp_path / "in.parquet")
    (first, second) = read_jsonl(rewrite(tmp_path / "in.parquet", tmp_path / "out.jsonl"))
    assert (first["id"], second["id"], first["tags"], first["deep"]) == (7, None, ["x"], {"k": [1.5, None]})
    assert first["when"].startswith("1970-01-01 00:00:00.000000001")
    row = read_csv(rewrite(tmp_path / "in.parquet", tmp_path / "out.csv"))[1]
    assert row[4:6] == ['["x"]', '{"k": [1.5, null]}']
    assert row[8] == "1.00"


def test_names_are_free():
    assert free_names(["a", "b"], ["label"]) == ["a", "b"]
    assert free_names(["label", "given_label"], ["label"]) == ["label_2", "given_label"]
    assert free_names(["x", "x", "x_2", "x"], []) == ["x", "x_3", "x_2", "x_4"]


def test_only_names_that_change_are_said(tmp_path):
    (tmp_path / "in.csv").write_text("id,text,label\n7,Soup.,x\n")
    with pytest.warns(UserWarning, match="its column 'label' is 'given_label': no two"):
        rewrite(tmp_path / "in.csv", tmp_path / "out.csv")
    (tmp_path / "in.csv").write_text("id,text\n7,Soup.\n")
    with warnings.catch_warnings(action="error", category=UserWarning):
        rewrite(tmp_path / "in.csv", tmp_path / "out.jsonl")


@examples(100)
@given(st.lists(st.sampled_from(["a", "a_2", "label", "given_label", ""])), st.booleans())
def test_no_name_is_given_twice(names, some):
    taken = ["label", "a"] if some else []
    found = [*taken, *free_names(names, taken)]
    assert len(set(found)) == len(found) == len(taken) + len(names)


@examples(100)
@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5), min_size=1
    )
)
def test_any_cells_survive_csv(cells):
    stream = io.StringIO(newline="")
    names = [str(k) for k in range(len(cells))]
    kept = KeptColumns(names, ["text"] * len(names))
    write_stream(stream, "csv", LABEL, kept).append([Row("a", cells=cells)], [[3]])
    assert list(csv.reader(io.StringIO(stream.getvalue(), newline=""))) == [["label", *names], ["3", *cells]]


def test_new_columns_of_every_kind(tmp_path):
    new = [
        NewColumn("label", "label", "text"), NewColumn("share", "probability"), NewColumn("words", "words"),
        NewColumn("embedding", "vector"),
    ]  # fmt: skip
    M = np.arange(6, dtype=np.float32).reshape(1, 2, 3) / 3
    values = [["good"], np.array([2 / 3], np.float32), [[("soup", 0.5), ("cold", -0.25)]], M]
    rows = [Row("soup", cells=["soup"])]
    for form in ("csv", "jsonl", "parquet"):
        with write_table(tmp_path / f"a.{form}", form, new, KeptColumns(["text"], ["text"])) as writer:
            writer.append(rows, values)
    (row,) = read_csv(tmp_path / "a.csv")[1:]
    assert row[:3] == ["good", "0.666667", "soup +0.500, cold -0.250"]
    np.testing.assert_array_equal(np.array(json.loads(row[3]), np.float32), M[0])
    (line,) = read_jsonl(tmp_path / "a.jsonl")
    assert line["words"] == [["soup", 0.5], ["cold", -0.25]]
    np.testing.assert_array_equal(np.array(line["embedding"], np.float32), M[0])
    table = pq.read_table(tmp_path / "a.parquet")
    assert table["words"].to_pylist() == [
        [{"word": "soup", "weight": 0.5}, {"word": "cold", "weight": -0.25}]
    ]
    assert table["embedding"].to_pylist()[0] == M.ravel().tolist()
    assert json.loads(table.schema.field("embedding").metadata[b"shape"]) == [2, 3]


def test_nothing_appears_if_writing_fails(tmp_path):
    (tmp_path / "in.csv").write_text("text\na\n")
    rows, kept = open_rows(open_table(tmp_path / "in.csv"), Columns("text"), "error")
    some = list(rows)
    for form in ("csv", "parquet"):
        with (
            pytest.raises(ValueError, match="zip"),
            write_table(tmp_path / f"o.{form}", form, LABEL, kept) as writer,
        ):
            writer.append(some, [[0], [0]])
    assert [each.name for each in tmp_path.iterdir()] == ["in.csv"]


def test_halves_of_characters_and_formulas(tmp_path):
    (tmp_path / "in.jsonl").write_text('{"text": "a", "note": "\\ud83d", "f": "=1"}\n')
    table = pq.read_table(rewrite(tmp_path / "in.jsonl", tmp_path / "o.parquet"))
    assert table["note"].to_pylist() == ["?"]
    assert read_jsonl(rewrite(tmp_path / "in.jsonl", tmp_path / "o.jsonl"))[0]["note"] == "?"
    assert escape_formulas(["=1", "1", 2]) == ["'=1", "1", 2]
    assert escape_formulas(["-1.5", "+2", "-1e-07", "-1+2"]) == ["-1.5", "+2", "-1e-07", "'-1+2"]


def test_a_column_of_the_text_twice_is_an_error(tmp_path):
    (tmp_path / "in.csv").write_text("text,text\na,b\n")
    with refuses("column-twice"), warnings.catch_warnings():
        open_rows(open_table(tmp_path / "in.csv"), Columns("text"), "error")
