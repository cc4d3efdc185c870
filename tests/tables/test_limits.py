"""The limits of tables: what holds on either side of each."""

from __future__ import annotations

import gc
import io
import warnings
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from limelight.tables import arrow_columns, excel, table
from limelight.tables.cells import ArrowBlock, ArrowRow, is_formula
from limelight.tables.columns import Columns
from limelight.tables.formats import BadRowError
from limelight.tables.rows import show_reading
from refusing import refuses

openpyxl = pytest.importorskip("openpyxl")


def written(*cells: Any) -> list[Any]:
    """The cells of a row as a book has them."""
    file = io.BytesIO()
    sheet = excel.SheetWriter(file, [f"c{k}" for k in range(len(cells))])
    sheet.write(cells)
    sheet.finish()
    return list(next(openpyxl.load_workbook(file).active.iter_rows(min_row=2)))


def test_whole_numbers_of_fifteen_digits_are_numbers_and_longer_ones_text():
    most = 10**15 - 1
    found = written(most, -most, 10**15, -(10**15), 0)
    assert [cell.value for cell in found] == [most, -most, "1000000000000000", "-1000000000000000", 0]
    assert [cell.data_type for cell in found] == ["n", "n", "s", "s", "n"]


def test_fractions_are_numbers_and_what_is_not_finite_is_text_or_empty():
    found = written(1.5, float("inf"), float("nan"), None, True)
    assert [cell.value for cell in found] == [1.5, "inf", None, None, True]
    assert not any(cell.quotePrefix for cell in found)


def test_a_sheet_has_the_size_that_excel_states():
    """Microsoft: "Excel specifications and limits"."""
    assert (excel.MAX_ROWS, excel.MAX_COLUMNS, excel.MAX_CELL) == (1_048_576, 16_384, 32_767)
    excel.SheetWriter(io.BytesIO(), [f"c{k}" for k in range(16_384)]).close()
    with refuses("sheet-full"):
        excel.SheetWriter(io.BytesIO(), [f"c{k}" for k in range(16_385)])


def test_what_is_held_in_memory_has_a_limit():
    assert (excel.MAX_BYTES, table.MAX_ARRAY) == (1_073_741_824, 268_435_456)


def test_only_digits_that_a_spreadsheet_reads_make_a_number():
    assert is_formula("-٣")
    assert not is_formula("-3")


def test_rows_that_follow_each_other_are_one_slice():
    blocks = [ArrowBlock(pa.record_batch({"a": list(range(5))})) for _ in "ab"]
    rows = [ArrowRow(blocks[k], place) for k, place in ((0, 1), (0, 2), (0, 4), (1, 0), (1, 1), (0, 2))]
    found = arrow_columns._slices(rows)
    assert [each.column(0).to_pylist() for each in found] == [[1, 2], [4], [0, 1], [2]]


@pytest.mark.parametrize(("progress", "disable"), [(True, None), (False, True)])
def test_reading_is_shown_on_a_terminal_if_asked(monkeypatch, progress, disable):
    shown: list[Any] = []
    monkeypatch.setattr("tqdm.tqdm", lambda *given, **how: shown.append((given, how)))
    show_reading([], Path("folder/a.csv"), progress)
    how = {"unit": " rows", "leave": False, "disable": disable}
    assert shown == [(([], "reading a.csv"), how)]


def books(path: Path, *rows: list[Any]) -> Path:
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(path)
    return path


@pytest.mark.parametrize("name", ["a.parquet", "a.xlsx"])
def test_the_texts_of_a_row_may_have_as_many_characters_as_are_allowed(tmp_path, monkeypatch, name):
    monkeypatch.setenv("LIMELIGHT_MAX_ROW", "10")
    rows = [("aaaaa", "bbbbb", 7), ("aaaaaa", "bbbbb", 7), ("", "b" * 10, 123456789012)]
    if name == "a.xlsx":
        books(tmp_path / name, ["a", "b", "n"], *rows)
    else:
        columns = dict(zip("abn", map(list, zip(*rows, strict=True)), strict=True))
        pq.write_table(pa.table(columns), tmp_path / name)
    with table.open_table(tmp_path / name) as opened:
        assert opened.number == 0
        found = list(opened.rows(["a", "b", "n"]))
    assert [isinstance(row, BadRowError) for row in found] == [False, True, False]
    assert str(found[1]) == "more than 10 characters (LIMELIGHT_MAX_ROW)"


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.xlsx"])
def test_a_table_that_cannot_be_opened_is_closed(tmp_path, name):
    books(tmp_path / name) if name == "a.xlsx" else (tmp_path / name).write_text("")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with refuses("no-rows"):
            table.open_table(tmp_path / name)
        gc.collect()
    assert [each for each in said if each.category is ResourceWarning] == []


def test_before_it_is_read_a_table_is_at_no_row(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n\n1,2\n")
    with table.open_table(tmp_path / "a.csv") as opened:
        assert (opened.number, opened._begin) == (0, (1, 1))  # the header was looked at
        assert list(opened.rows(["b"])) == [["2"]]
        assert opened.place == f"{tmp_path / 'a.csv'}, row 3"
    assert table._CsvTable._begin == (0, 0)


def test_columns_of_reasons_are_not_shown():
    columns = Columns("a", reasons="why", not_reasons="why not")
    assert repr(columns) == "Columns(text='a', label=None, text2=None)"
    assert (Columns("a").reasons, Columns("a").not_reasons) == (None, None)
