"""A table is read once, from a file that cannot go back; again, only from what was put aside."""

from __future__ import annotations

import gzip
import json
import zipfile
from collections import Counter
from collections.abc import Callable
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from limelight.config.recipe import TextRecipe
from limelight.tables import aside
from limelight.tables.aside import Aside
from limelight.tables.columns import Columns
from limelight.tables.parquet import open_parquet
from limelight.tables.rows import RowNumbers, TableRows, open_rows
from limelight.tables.table import open_table
from limelight.text.encode import encode_tables
from reading_once import count_passes
from refusing import refuses

TEXTS = [f"soup {k}, with\nbread" for k in range(300)]
JSON = "".join(json.dumps({"text": text, "id": k}) + "\n" for k, text in enumerate(TEXTS))
CSV = "text,id\n" + "".join(f'"{text}",{k}\n' for k, text in enumerate(TEXTS))
FILES: dict[str, bytes] = {
    "a.csv": CSV.encode(),
    "a.tsv": CSV.replace('",', '"\t').replace("text,", "text\t").encode(),
    "a.jsonl": JSON.encode(),
    "a.json": f"[{','.join(JSON.splitlines())}]".encode(),
    "a.txt": "".join(text.replace("\n", " ") + "\n" for text in TEXTS).encode(),
    "a.csv.gz": gzip.compress(CSV.encode()),
    "a.csv.zst": zstandard.ZstdCompressor().compress(CSV.encode()),
}


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    return count_passes(monkeypatch)


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_cannot_go_back(name: str, tmp_path: Path, passes: Counter[str]) -> None:
    (tmp_path / name).write_bytes(FILES[name])
    with open_table(tmp_path / name) as table:
        assert len(table.head()) == 100
        rows, kept = open_rows(table, Columns("text"), "error")
        assert [row.text.replace("\n", " ") for row in rows] == [text.replace("\n", " ") for text in TEXTS]
        assert set(kept.names) == ({"text"} if name == "a.txt" else {"text", "id"})
    assert passes == {name: 1}


def test_a_second_pass_without_what_was_put_aside_is_an_error_of_ours(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(FILES["a.csv"])
    with open_table(tmp_path / "a.csv") as table:
        next(table.rows(["text"]))  # a pass that ends early is one, too
        with pytest.raises(AssertionError, match="read once"):
            next(table.rows(["text"]))
        with pytest.raises(AssertionError, match="read once"):
            table.hold()


def write(folder: Path, name: str) -> Path:
    path = folder / name
    if name == "a.parquet":
        pq.write_table(pa.table({"text": TEXTS, "id": range(300)}), path, row_group_size=70)
    elif name == "a.xlsx":
        book = pytest.importorskip("openpyxl").Workbook()
        for row in [("text", "id"), *zip(TEXTS, range(300), strict=True)]:
            book.active.append(row)
        book.save(path)
    else:
        path.write_bytes(FILES[name])
    return path


@pytest.mark.parametrize("in_memory", [0, 2**26])
@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.parquet", "a.xlsx"])
def test_what_is_held_comes_again_from_memory_or_from_the_disk(
    name: str, in_memory: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aside, "IN_MEMORY", in_memory)
    with open_table(write(tmp_path, name)) as table:
        table.hold()
        for count in (150, 300, 300):  # a pass that ends early goes on where it stopped
            rows = TableRows(table, Columns("text"))
            texts = [row.text for row in islice(rows, count)]
            assert texts == TEXTS[:count]
            assert rows.number - rows.numbers[0] == count - 1


def test_the_columns_of_a_long_table_leave_its_rows_to_be_read(tmp_path: Path, passes: Counter[str]) -> None:
    (tmp_path / "a.jsonl").write_bytes(FILES["a.jsonl"])
    with open_table(tmp_path / "a.jsonl") as table:
        assert table.columns().types == ["text", "int"]
        assert [row for (row,) in table.rows(["id"])] == list(range(300))
    assert passes == {"a.jsonl": 1}


def test_the_head_of_a_parquet_table_is_its_first_rows(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": TEXTS, "id": list(range(300))}), tmp_path / "a.parquet")
    with open_table(tmp_path / "a.parquet") as table:
        assert [tuple(row) for row in table.head()] == [(TEXTS[k], k) for k in range(100)]
        assert [row for (row,) in table.rows(["id"])] == list(range(300))


def test_a_parquet_table_that_is_open_already_is_read_from_where_it_is(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": ["here"]}), tmp_path / "a.parquet")
    with (tmp_path / "a.parquet").open("rb") as file, open_parquet(tmp_path / "gone.parquet", file) as found:
        assert found.read().to_pydict() == {"text": ["here"]}
    with open_parquet(tmp_path / "a.parquet") as found:
        assert found.read().to_pydict() == {"text": ["here"]}


def test_arrow_types_survive_being_put_aside(tmp_path: Path) -> None:
    kinds = pa.array(["u", "v", None]).dictionary_encode()
    table = pa.table({"text": ["a", "b", "c"], "kind": kinds, "deep": [{"k": [1.5]}] * 3})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=1)
    with open_table(tmp_path / "a.parquet") as opened:
        opened.hold()
        for _ in range(2):
            rows = [row[-1] for row in opened.rows(["text"], keep=True)]  # type: ignore[index]
        assert [row.block.cells(row.place) for row in rows][1] == ("b", "v", {"k": [1.5]})


@pytest.mark.parametrize("name", ["a.parquet", "a.xlsx"])
def test_files_that_are_read_by_parts_give_each_part_once(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Any] = []

    def counted(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(self: Any, *given: Any, **options: Any) -> Any:
            read.append(given[0] if given else "batches")
            return original(self, *given, **options)

        return call

    path = write(tmp_path, name)
    monkeypatch.setattr(pq.ParquetFile, "iter_batches", counted(pq.ParquetFile.iter_batches))
    monkeypatch.setattr(zipfile.ZipFile, "open", counted(zipfile.ZipFile.open))
    with open_table(path) as table:
        table.head()
        rows, _ = open_rows(table, Columns("text"), "error")
        assert len(list(rows)) == 300
    assert read.count("batches" if name == "a.parquet" else "xl/worksheets/sheet1.xml") == 1


def test_no_room_to_put_rows_aside_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Any, line: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.SpooledTemporaryFile.write", full)
    with refuses("os-error") as error:
        full_disk = Aside("a.csv")
        full_disk.append(["Good soup."])
        list(full_disk)
    assert "TMPDIR" in str(error.value)


def test_encoding_reads_each_table_once(tmp_path: Path, passes: Counter[str]) -> None:
    for name in ("train.csv", "dev.csv"):
        (tmp_path / name).write_text("text,label\n" + "Good soup.,1\nCold soup.,2\n" * 50)
    encode_tables(
        tmp_path / "out", tmp_path / "train.csv", tmp_path / "dev.csv", recipe=TextRecipe(), progress=False
    )
    assert passes == {"train.csv": 1, "dev.csv": 1}


def test_a_table_given_twice_is_read_for_each(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("text,label\nGood soup.,1\nCold soup.,2\n")
    found = encode_tables(tmp_path / "out", [path, path], recipe=TextRecipe(), holdout=0, progress=False)
    assert found.facts["rows"] == {"train": 4}


def test_a_row_far_down_is_named_without_reading_again(tmp_path: Path, passes: Counter[str]) -> None:
    """The label of a row among several files, some of whose rows are skipped."""
    for name, rows in (
        ("train.csv", "good,1\nbad,2\n"),
        ("a.csv", "good,1\n,1\n"),
        ("b.csv", ",1\nbad,2\nodd,7\n"),
    ):
        (tmp_path / name).write_text("text,label\n" + rows)
    dev = [tmp_path / "a.csv", tmp_path / "b.csv"]
    with refuses("label-unknown") as error, pytest.warns(UserWarning, match="skipped"):
        encode_tables(
            tmp_path / "out", tmp_path / "train.csv", dev, recipe=TextRecipe(), on_bad="skip", progress=False
        )
    assert "b.csv, row 4: the label '7'" in str(error.value)
    assert passes == {"train.csv": 1, "a.csv": 1, "b.csv": 1}


def test_numbers_of_rows_take_memory_only_for_gaps() -> None:
    rng, numbers, expected = np.random.default_rng(0), RowNumbers(), []
    number = 1
    for _ in range(1000):
        number += int(rng.integers(1, 3))
        numbers.append(number)
        expected.append(number)
    assert [numbers[k] for k in range(len(numbers))] == expected
    assert len(numbers._first) == 1 + sum(b - a > 1 for a, b in pairwise(expected))
