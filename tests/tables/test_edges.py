"""Where one answer of tables ends and the next begins: limits, guesses, types, names in messages."""

from __future__ import annotations

import datetime
import io
import math
from decimal import Decimal
from pathlib import Path

import pytest

from limelight.tables import excel
from limelight.tables.cells import ABSENT, KeptColumns, NewColumn, as_text, find_type, is_formula, list_cells
from limelight.tables.columns import Columns, choose_columns
from limelight.tables.encoding import VARIABLE, guess_encoding, stated_encoding, text_encoding
from limelight.tables.formats import (
    BadRowError,
    BoundedLines,
    join_names,
    max_row,
    shorten,
    split_sheet,
    table_format,
)
from limelight.tables.rows import (
    Row,
    TableRows,
    check_label,
    check_text,
    chunks,
    is_missing,
    text_columns,
    texts_of,
)
from limelight.tables.table import open_table
from limelight.tables.writers import escape_formulas, format_of, require_format, write_table
from refusing import refuses

# ---------------------------------------------------------------- formats


@pytest.mark.parametrize(
    ("name", "form"),
    [("a.csv", "csv"), ("a.TSV", "tsv"), ("a.b.ndjson.zst", "jsonl"), ("a.txt.gz", "lines"),
     ("a.parquet", "parquet"), ("a.xlsx#b.csv", "xlsx"), ("a.json.bz2", "json")],
)  # fmt: skip
def test_the_format_of_a_name(name, form):
    assert table_format(Path(name)) == form


@pytest.mark.parametrize("name", ["a", "a.gz", "a.doc", "a.csv.zip", "a.parquet.gz", "a.xlsx.xz", ".csv"])
def test_what_no_name_of_a_table_is(name):
    with refuses("table-format"):
        table_format(Path(name))


def test_a_sheet_is_named_after_its_book():
    assert split_sheet(Path("x/Book.XLSX#May#2")) == (Path("x/Book.XLSX"), "May#2")
    assert split_sheet(Path("a.xlsx#")) == (Path("a.xlsx#"), "")
    assert split_sheet(Path("a.csv#b")) == (Path("a.csv#b"), "")


@pytest.mark.parametrize(("stated", "limit"), [("1", 1), ("1" + "0" * 14, 10**14)])
def test_the_longest_row_can_be_set(monkeypatch, stated, limit):
    monkeypatch.setenv("LIMELIGHT_MAX_ROW", stated)
    assert max_row() == limit


@pytest.mark.parametrize("stated", ["0", "-1", "1e6", "", "1" + "0" * 15])
def test_a_longest_row_that_cannot_be_is_refused(monkeypatch, stated):
    monkeypatch.setenv("LIMELIGHT_MAX_ROW", stated)
    with refuses("option-value"):
        max_row()


def test_a_row_may_be_as_long_as_the_limit_and_take_several_lines(monkeypatch):
    monkeypatch.setenv("LIMELIGHT_MAX_ROW", "6")
    lines = BoundedLines(io.StringIO("abcd\n\nxy\nabc\nx\n1234567"), "notes")
    rest = iter(lines)
    assert [next(rest), next(rest)] == ["abcd\n", "\n"]
    lines.start_row()
    assert [next(rest), (lines.begin, lines.number)] == ["xy\n", (3, 3)]
    lines.start_row()
    assert [next(rest), next(rest), (lines.begin, lines.number)] == ["abc\n", "x\n", (4, 5)]
    lines.start_row()
    with refuses("row-too-long") as found:
        next(rest)
    assert str(found.value).startswith("notes, line 6: a row of more than 6 characters")


def test_names_and_values_are_shortened_for_messages():
    assert join_names(["a b\n c"]) == "a b c"
    assert join_names([str(k) for k in range(20)]) == ", ".join(map(str, range(20)))
    assert join_names([str(k) for k in range(22)]).endswith("18, 19 and 2 more")
    assert shorten("x" * 40) == "x" * 40
    assert shorten("x" * 41) == "x" * 37 + "..."


# ---------------------------------------------------------------- encodings


def test_an_encoding_is_stated_for_a_while(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    assert stated_encoding() is None
    with text_encoding("UTF8"):
        assert stated_encoding() == "utf-8-sig"
        with text_encoding("cp1251"), text_encoding(None):
            assert stated_encoding() == "cp1251"
        assert stated_encoding() == "utf-8-sig"
    assert stated_encoding() is None
    for name in ("base64", "no such", "rot13"):
        with refuses("option-value"), text_encoding(name):
            pass
    assert stated_encoding() is None


@pytest.mark.parametrize(
    ("head", "found"),
    [
        (b"", None),
        (b"plain", None),
        ("é".encode() * 3, None),
        ("plain \ufffd".encode(), None),  # another program's damage
        ("plain text, \ufffd\ufffd, and ".encode() + b"\xe9", None),  # and a byte that is wrong now
        ("\ufeffé".encode(), None),
        ("ab".encode("utf-16-le"), "utf-16-le"),
        ("日本語".encode("utf-16"), "utf-16"),
        ("ab".encode("utf-32-be"), "utf-32-be"),
        ("ab".encode("utf-32"), "utf-32"),
        ("naïve".encode("cp1252"), "cp1252"),
        (b"na\xefve \xc3\xa9", None),  # as much of it is UTF-8
        (b"na\xefve \xef\xef \xc3\xa9 xxxxxxxxxxx", "cp1252"),
        (b"na\xefve\0", None),
        (b"a\0b\0" * 2 + b"abcd" * 3, None),  # zeros here and there
        (b"na\xefve \x81", None),  # which Windows-1252 has not
    ],
)
def test_guesses(head, found):
    assert guess_encoding(head) == found


# ---------------------------------------------------------------- columns


@pytest.mark.parametrize(
    ("names", "given", "expected"),
    [
        (["Text", "LABEL"], {}, Columns("Text", "LABEL")),
        (["review text", "stars", "city"], {}, Columns("review text", "stars")),
        (["review-text", "a"], {}, Columns("review-text", "a")),
        (["text", "a", "b"], {"need_label": False}, Columns("text")),
        (["premise", "hypothesis", "a"], {"pair": None}, Columns("premise", "a", "hypothesis")),
        (["text1", "text2", "premise", "hypothesis"], {"text": "premise", "pair": True, "need_label": False},
         Columns("premise", None, "hypothesis")),
        (["text1", "text2", "premise", "hypothesis"], {"text2": "text2", "need_label": False},
         Columns("text1", None, "text2")),
        (["a", "b"], {"text": "b", "text2": "a", "need_label": False}, Columns("b", None, "a")),
        (["text", "review"], {"label": "review"}, Columns("text", "review")),
        (["text", "label", "stars"], {"text": "text", "label": "stars"}, Columns("text", "stars")),
    ],
)  # fmt: skip
def test_columns_by_their_names(names, given, expected):
    assert choose_columns("t.csv", names=names, **given) == expected


@pytest.mark.parametrize(
    ("names", "given", "code"),
    [
        (["text", "review", "a"], {}, "column-ambiguous"),
        (["text", "label", "stars"], {}, "column-ambiguous"),
        (["text", "a", "b"], {}, "column-ambiguous"),
        (["text", "text2"], {"pair": None}, "column-ambiguous"),
        (["text1", "text2", "premise", "hypothesis"], {"pair": True}, "column-ambiguous"),
        (["premise", "a"], {"pair": True}, "column-ambiguous"),
        (["text", "text", "a"], {"text": "text"}, "column-twice"),
        (["text", "a"], {"text": "text", "label": "text"}, "column-twice"),
        (["text", "a"], {"label": "b"}, "column-missing"),
    ],
)
def test_columns_that_names_do_not_say(names, given, code):
    with refuses(code):
        choose_columns("t.csv", names=names, **given)


@pytest.mark.parametrize(("wrong", "said"), [("Stars", "did you mean 'stars'? It has"), ("xyz", "; it has")])
def test_a_name_that_is_nearly_right_is_suggested(wrong, said):
    with refuses("column-missing") as found:
        choose_columns("t.csv", names=["text", "stars"], label=wrong)
    assert said in str(found.value)


def write_columns(path: Path, *columns: tuple[str, str]) -> Path:
    """A table of two rows, in which each column has the same text twice."""
    row = ",".join(text for _, text in columns)
    path.write_text(f"{','.join(name for name, _ in columns)}\n{row}\n{row}\n")
    return path


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        ([("a", "x" * 20), ("b", "y" * 10)], "a"),
        ([("a", "x" * 19), ("b", "y" * 3)], None),  # too short for a text
        ([("a", "x" * 21), ("b", "y" * 11)], None),  # not twice as long as the other
        ([("a" * 11, "x" * 22), ("b", "y")], "a" * 11),
        ([("a" * 12, "x" * 22), ("b", "y")], None),  # a header of such a length may be a row
        ([("1.5", "x" * 30), ("b", "y")], None),  # a number is no header
        ([("a", "x" * 30), ("a", "y")], None),
    ],
)
def test_a_text_is_known_by_its_length_where_no_name_says_it(tmp_path, columns, text):
    path = write_columns(tmp_path / "t.csv", *columns)
    if text is None:
        with refuses("column-ambiguous"):
            choose_columns(path, need_label=False)
    else:
        with pytest.warns(UserWarning, match="its texts are the longest"):
            assert choose_columns(path, need_label=False).text == text


# ---------------------------------------------------------------- rows


@pytest.mark.parametrize("value", [None, "", math.nan])
def test_what_is_missing(value):
    assert is_missing(value)
    for check in (check_text, check_label):
        with pytest.raises(BadRowError, match=r"^no "):
            check(value, "column 'a'")


@pytest.mark.parametrize("value", [0, False, " ", "x", [], 0.0])
def test_what_is_not_missing(value):
    assert not is_missing(value)


@pytest.mark.parametrize(
    ("value", "text"),
    [(True, "true"), (3, "3"), (2.5, "2.5"), (Decimal("1.10"), "1.10"), (" soup ", " soup "),
     (datetime.date(2026, 5, 1), "2026-05-01"), (datetime.time(9, 30), "09:30:00")],
)  # fmt: skip
def test_a_text_may_be_a_plain_value(value, text):
    assert check_text(value, "a") == text
    assert texts_of([value, None, math.nan])[0] == text


@pytest.mark.parametrize(
    ("value", "said"),
    [(" \n", "only spaces"), ("a\0b", "a NUL"), ([1], "is not text"), (b"a", "is not text")],
)
def test_what_no_text_is(value, said):
    with pytest.raises(BadRowError, match=said):
        check_text(value, "a")


def test_a_label_is_a_text_or_a_number_of_at_most_300_digits():
    for value in ("a", True, 0, -2.5, 10**300 - 1, -(10**300) + 1):
        assert check_label(value, "a") == value
    for value in (10**300, -(10**300)):
        with pytest.raises(BadRowError, match="300 digits"):
            check_label(value, "a")
    for value in (math.inf, -math.inf, [1], {}):
        with pytest.raises(BadRowError, match="is not a label"):
            check_label(value, "a")


def test_chunks_end_by_rows_or_by_characters_of_both_texts():
    rows = [Row("abc", text2="de"), Row("abcde"), Row("a"), Row("b", text2="c")]
    assert [len(chunk) for chunk in chunks(rows, size=9, characters=10)] == [2, 2]
    assert [len(chunk) for chunk in chunks(rows, size=9, characters=11)] == [3, 1]
    assert [len(chunk) for chunk in chunks(iter(rows), size=1)] == [1, 1, 1, 1]
    assert [len(chunk) for chunk in chunks([Row("a")] * 1001)] == [1000, 1]
    assert [len(chunk) for chunk in chunks([Row("a" * 500_000)] * 3)] == [2, 1]
    assert list(chunks([])) == []


def test_texts_of_rows_are_seen_once():
    seen: list[Row] = []
    rows = [Row("a", text2="b"), Row("c")]
    first, second = text_columns(rows, True, seen.append)
    assert (list(first), list(second), seen) == (["a", "c"], ["b", ""], rows)
    first, second = text_columns(rows, False)
    assert (list(first), second) == (["a", "c"], None)


def test_further_columns_come_with_their_rows(tmp_path):
    (tmp_path / "a.csv").write_text("text,label,x,y\ngood soup, 5 ,1,2\n")
    rows = TableRows(tmp_path / "a.csv", Columns("text", "label"), further=["y", "x"])
    assert list(rows) == [Row("good soup", "5", None, ["2", "1"])]
    assert (rows.number, rows.name_row(0)) == (2, f"{tmp_path / 'a.csv'}, row 2")


def test_reasons_come_before_further_columns(tmp_path):
    (tmp_path / "a.csv").write_text("text,label,x,why,no,y\nNice pool,5,1,pool,Nice,2\n")
    columns = Columns("text", "label", reasons="why", not_reasons="no")
    rows = TableRows(tmp_path / "a.csv", columns, parse_reasons=lambda row: row, further="xy")
    assert list(rows) == [Row("Nice pool", "5", None, ["1", "2"], ["pool", "Nice"])]


def test_a_table_of_no_rows_and_one_of_no_good_rows(tmp_path):
    for content in ("text,label\n", "text,label\n,1\n"):
        (tmp_path / "a.csv").write_text(content)
        with refuses("no-rows"):
            list(TableRows(tmp_path / "a.csv", Columns("text", "label"), on_bad="skip"))
    with refuses("option-value"):
        TableRows(tmp_path / "a.csv", Columns("text"), on_bad="drop")


def test_a_key_that_is_empty_is_one_like_any_other(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"": "soup", "a": 1}\n{"a": 2}\n')
    with open_table(tmp_path / "a.jsonl") as table:
        assert list(table.rows(["", "a", None])) == [["soup", 1, None], [None, 2, None]]


# ---------------------------------------------------------------- cells


@pytest.mark.parametrize(
    ("values", "kind"),
    [([], ""), ([None, ABSENT], ""), ([True, False], "bool"), ([1, True], "text"), ([1, 2.5], "float"),
     ([2.5, 1, None], "float"), ([2**63 - 1, -(2**63)], "int"), ([2**63], "text"), ([-(2**63) - 1], "text"),
     ([1, "a"], "text"), ([[1]], "text"), (["a", 1.5, 2], "text")],
)  # fmt: skip
def test_the_type_of_a_column(values, kind):
    assert find_type(values) == kind


def test_a_cell_as_text():
    values = ["a", None, ABSENT, math.nan, 2.0, True, [1, None], {"é": math.nan}, datetime.date(2026, 1, 2)]
    assert [as_text(value) for value in values] == [
        "a", "", "", "", "2.0", "true", "[1, null]", '{"é": null}', "2026-01-02",
    ]  # fmt: skip
    assert list_cells({"a": None}, ["b", "a"]) == [ABSENT, None]


@pytest.mark.parametrize("text", ["=1", "+x", "-x", "@x", "\tx", "\rx", "-1.5.2", "+", "=1e5"])
def test_a_formula(text):
    assert is_formula(text)
    assert escape_formulas([text]) == [f"'{text}"]


@pytest.mark.parametrize("text", ["-1", "+1.5", "-2e10", "-2.5e-3", "", "x=1", "1", " =1"])
def test_no_formula(text):
    assert not is_formula(text)
    assert escape_formulas([text, -1]) == [text, -1]


# ---------------------------------------------------------------- writing


def test_the_format_to_write_is_that_of_the_name():
    names = ["a.csv", "a.TSV", "a.ndjson", "a.parquet", "a.xlsx"]
    assert [format_of(name) for name in names] == ["csv", "tsv", "jsonl", "parquet", "xlsx"]
    assert [format_of(name) for name in ("a.json", "a.txt", "a.npy", "a")] == [None] * 4
    assert require_format("a.jsonl") == "jsonl"
    with refuses("table-format"):
        require_format("a.npy")


def test_a_file_is_replaced_only_if_asked(tmp_path):
    path, kept, new = tmp_path / "a.csv", KeptColumns(["id"], ["text"]), [NewColumn("label", "label", "text")]
    for overwrite, label in ((False, "x"), (True, "y")):
        with write_table(path, "csv", new, kept, overwrite=overwrite) as table:
            table.append([Row("", cells=["7"])], [[label]])
        assert path.read_text() == f"label,id\n{label},7\n"
    with refuses("exists"), write_table(path, "csv", new, kept):
        pass


@pytest.mark.parametrize("more", [0, 1])
def test_a_book_of_as_many_bytes_as_are_allowed_is_read(tmp_path, monkeypatch, more):
    from zipfile import ZipFile

    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (("text",), ("Good soup.",)):
        book.active.append(row)
    book.save(tmp_path / "a.xlsx")
    size = sum(each.file_size for each in ZipFile(tmp_path / "a.xlsx").infolist())
    monkeypatch.setattr(excel, "MAX_BYTES", size - more)
    if more:
        with refuses("file-too-large"):
            open_table(tmp_path / "a.xlsx")
    else:
        with open_table(tmp_path / "a.xlsx") as table:
            assert list(table.rows(["text"])) == [["Good soup."]]
