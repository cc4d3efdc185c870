"""Files as offices have them: books of sheets, JSON arrays, text that is not UTF-8."""

from __future__ import annotations

import codecs
import datetime
import json
import re
import sys
import warnings
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from limelight.errors import LimelightError
from limelight.tables import excel, table
from limelight.tables.cells import KeptColumns, NewColumn
from limelight.tables.columns import Columns
from limelight.tables.encoding import guess_encoding, text_encoding
from limelight.tables.rows import Row, TableRows
from limelight.tables.table import column_names, open_table
from limelight.tables.writers import write_table
from refusing import refuses

COLUMNS = Columns("text", "stars")
SHEET = "xl/worksheets/sheet1.xml"
CAFE = [Row("Le café était “froid”.", "1"), Row("Très bon, 5 € de moins", "5")]
LINES = "text;stars\n" + "".join(f"{row.text};{row.label}\n" for row in CAFE)
GERMAN = "Die Suppe war heiß, der Kellner höflich und schnell."


def book(path: Path, **sheets: list[list[Any]]) -> Path:
    found = pytest.importorskip("openpyxl").Workbook()
    found.remove(found.active)
    for name, rows in sheets.items():
        sheet = found.create_sheet(name)
        for row in rows:
            sheet.append(row)
    found.save(path)
    return path


# ---------------------------------------------------------------- books


def test_the_first_sheet_is_read_and_that_there_are_others_is_said(tmp_path: Path) -> None:
    first, second = [["text", "stars"], ["Good", 5]], [["text", "stars"], ["Bad", 1]]
    path = book(tmp_path / "a.xlsx", May=first, June=second)
    with pytest.warns(UserWarning, match="first of its 2 sheets, 'May'; for another: a.xlsx#June"):
        assert list(TableRows(path, COLUMNS)) == [Row("Good", 5)]
    assert list(TableRows(f"{path}#June", COLUMNS)) == [Row("Bad", 1)]
    with refuses("sheet-missing"):
        column_names(Path(f"{path}#July"))


def test_empty_rows_and_cells_dates_and_errors(tmp_path: Path) -> None:
    day = datetime.datetime(2026, 5, 1)
    rows = [
        [],
        ["text", "day", "stars", None],
        ["Good", day, 5],
        [None, None, None],
        ["Bad", "#N/A", 1.5],
        ["So"],
    ]
    path = book(tmp_path / "a.xlsx", May=rows)
    with open_table(path) as found:
        assert found.names == ["text", "day", "stars"]
        found.hold()
        assert list(found.rows(found.names)) == [
            ["Good", "2026-05-01", 5],
            ["Bad", None, 1.5],
            ["So", None, None],
        ]
        assert list(found.columns().types) == ["text", "text", "float"]


def test_dates_are_counted_from_1904_where_the_book_says_so(tmp_path: Path) -> None:
    path = book(tmp_path / "a.xlsx", May=[["text", "day"], ["Good", datetime.datetime(2026, 5, 1)]])
    replaced(path, "<workbookPr[^>]*/>", '<workbookPr date1904="1"/>', "xl/workbook.xml")
    with open_table(path) as found:
        assert list(found.rows(["day"])) == [["2030-05-02"]]  # the number of a day four years earlier


def edit(path: Path, change: Callable[[dict[str, str]], object]) -> Path:
    """A book whose parts, by name, are changed."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name).decode() for name in archive.namelist()}
    change(parts)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return path


def replaced(path: Path, old: str, new: str, part: str = SHEET) -> Path:
    """A book in one part of which a pattern is replaced."""

    def change(parts: dict[str, str]) -> None:
        parts[part], count = re.subn(old, new, parts[part])
        assert count

    return edit(path, change)


TWENTY = [["text", "stars"], *([f"Soup {k}", k % 5] for k in range(20))]


@pytest.mark.parametrize(
    "stated", ['<dimension ref="A1:B3"/>', '<dimension ref="A1"/>', "", '<dimension ref="A1:ZZ99"/>']
)
def test_every_row_is_read_whatever_size_the_sheet_states(stated: str, tmp_path: Path) -> None:
    path = replaced(book(tmp_path / "a.xlsx", May=TWENTY), "<dimension[^>]*>", stated)
    with open_table(path) as found:
        assert found.names == ["text", "stars"]
        assert [text for (text,) in found.rows(["text"])] == [f"Soup {k}" for k in range(20)]


def test_rows_out_of_order_or_far_down_are_read_too(tmp_path: Path) -> None:
    path = book(tmp_path / "a.xlsx", May=TWENTY[:4])
    for old, new in (("2", "9"), ("3", "5"), ("4", "999999999999")):
        replaced(path, f'<row r="{old}"([^>]*)><c r="A{old}"([^>]*)>', rf'<row r="{new}"\1><c\2>')
        replaced(path, f'<c r="B{old}"', "<c")
    rows = TableRows(path, COLUMNS)
    assert [(row.text, rows.number) for row in rows] == [
        ("Soup 0", 9), ("Soup 1", 5), ("Soup 2", 999999999999),
    ]  # fmt: skip


def test_a_row_has_the_number_that_excel_shows(tmp_path: Path) -> None:
    path = book(
        tmp_path / "a.xlsx", May=[[], ["text", "stars"], ["Good", 5], [], ["", 1], ["Bad", 1, "more"]]
    )
    with refuses("row-unusable") as error:
        list(TableRows(path, COLUMNS))
    assert "a.xlsx, row 5: no text" in str(error.value)
    with pytest.warns(UserWarning, match="skipped 2 of its 3 rows, which cannot be used: rows 5, 6$"):
        assert list(TableRows(path, COLUMNS, on_bad="skip")) == [Row("Good", 5)]


def test_a_sheet_that_cannot_be_seen_is_not_the_first(tmp_path: Path) -> None:
    path = book(tmp_path / "a.xlsx", Lists=[["a"], ["b"]], May=TWENTY)
    replaced(path, '(name="Lists"[^>]*state=")visible', r"\1hidden", "xl/workbook.xml")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert column_names(path) == ["text", "stars"]
    assert column_names(Path(f"{path}#Lists")) == ["a"]


def test_formulas_without_values_are_said(tmp_path: Path) -> None:
    path = book(tmp_path / "a.xlsx", May=[["text", "stars"], ["Good", "=4+1"], ["=1", "=2"]])
    with (
        pytest.warns(UserWarning, match="formulas were saved without their values, such as in row 2"),
        open_table(path) as found,
    ):
        assert list(found.rows(["text", "stars"])) == [["Good", None]]
    replaced(path, "<f>4\\+1</f><v ?/>|<f>4\\+1</f><v></v>", "<f>4+1</f><v>5</v>")
    with pytest.warns(UserWarning, match="such as in row 3"), open_table(path) as found:
        assert list(found.rows(["text", "stars"])) == [["Good", 5]]
    replaced(path, r"<c r=\"([AB]3)\"[^>]*><f>", r'<c r="\1" t="str"><f>')  # their value is an empty text
    with warnings.catch_warnings(), open_table(path) as found:
        warnings.simplefilter("error")
        assert list(found.rows(["text", "stars"])) == [["Good", 5]]


def test_merged_cells_are_the_first_of_them(tmp_path: Path) -> None:
    library = pytest.importorskip("openpyxl")
    found = library.Workbook()
    for row in [["text", "stars"], ["Good", 5], ["Fine", None], ["Bad", 1]]:
        found.active.append(row)
    found.active.merge_cells("B2:B3")
    found.save(tmp_path / "a.xlsx")
    with open_table(tmp_path / "a.xlsx") as table:
        assert list(table.rows(["text", "stars"])) == [["Good", 5], ["Fine", None], ["Bad", 1]]


def shared_texts(path: Path, *stored: str) -> Path:
    """A book as Excel saves it: a column of texts, which are in a table of their own."""
    book(path, May=[[k] for k in range(len(stored))])
    return edit(path, lambda parts: share(parts, stored))


def share(parts: dict[str, str], stored: Sequence[str]) -> None:
    main = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    override = f'<Override PartName="/xl/texts.xml" ContentType="{main}.sharedStrings+xml"/></Types>'
    parts["[Content_Types].xml"] = parts["[Content_Types].xml"].replace("</Types>", override)
    parts[SHEET] = parts[SHEET].replace('t="n"', 't="s"')
    texts = "".join(f"<si><t>{text}</t></si>" for text in stored)
    namespace = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    parts["xl/texts.xml"] = f'<sst xmlns="{namespace}">{texts}</sst>'


def test_texts_that_excel_escaped(tmp_path: Path) -> None:
    stored = [
        "text",
        "a_x000D_\nb",
        "a_x005F_x000D_b",
        "_xD83D__xDE00_",
        "_xD83D_",
        "x005F_",
        "#N/A",
        "_x00_",
    ]
    with open_table(shared_texts(tmp_path / "a.xlsx", *stored)) as found:
        texts = [text for (text,) in found.rows(["text"])]
    assert texts == ["a\r\nb", "a_x000D_b", "😀", "\ufffd", "x005F_", "#N/A", "_x00_"]


def test_the_cells_of_a_book_pass_through(tmp_path: Path) -> None:
    path = book(tmp_path / "a.xlsx", May=[["text", "stars", "ok"], ["Good", 5, True], ["Bad", None, False]])
    with open_table(path) as found:
        kept = found.columns()
        with write_table(tmp_path / "b.csv", "csv", [], kept) as writer:
            writer.append(list(TableRows(found, Columns("text"), keep=True)), [])
    assert (tmp_path / "b.csv").read_text() == "text,stars,ok\nGood,5,true\nBad,,false\n"


@pytest.mark.parametrize(
    ("rows", "code"),
    [
        ([], "no-rows"),
        ([["text", "stars"]], "no-rows"),
        ([["text", "stars"], ["Good", 5, "more"]], "row-unusable"),
    ],
)
def test_a_book_that_cannot_be_used(rows: list[list[Any]], code: str, tmp_path: Path) -> None:
    with refuses(code):
        list(TableRows(book(tmp_path / "a.xlsx", May=rows), COLUMNS))


def test_a_damaged_book(tmp_path: Path) -> None:
    path = book(tmp_path / "a.xlsx", May=[["text", "stars"], ["Good", 5]])
    whole = path.read_bytes()
    path.write_bytes(whole[:-40])
    with refuses("file-damaged"):
        column_names(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("notes.txt", "no book")
    with refuses("file-damaged"):
        column_names(path)


def test_a_book_that_would_not_fit_into_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = book(tmp_path / "a.xlsx", May=[["text", "stars"], ["Good", 5]])
    monkeypatch.setattr(excel, "MAX_BYTES", 1000)
    with refuses("file-too-large"):
        column_names(path)


# ---------------------------------------------------------------- books that are written


KEPT = KeptColumns(["text", "id"], ["text", "int"], "in.jsonl")


def save(path: Path, *rows: dict[str, Any], kept: KeptColumns = KEPT) -> Path:
    pytest.importorskip("openpyxl")
    with write_table(path, "xlsx", [NewColumn("p", "probability")], kept) as writer:
        for row in rows:
            writer.append([Row("", cells=row)], [np.full(1, 1 / 3, np.float32)])
    return path


def test_a_book_is_written_with_its_types(tmp_path: Path) -> None:
    rows = [
        {"text": " two\nlines 😀 <b> ", "id": 7},
        {"text": "half a \ud83d character", "id": 10**17 + 1},  # more digits than a number of Excel has
        {"text": "-1.5", "id": float("nan")},
        {"text": "lists", "id": [1, None]},
        {"text": "true", "id": True},
        {"text": "none"},
    ]
    with open_table(save(tmp_path / "a.xlsx", *rows)) as found:
        assert found.names == ["p", "text", "id"]
        assert list(found.rows(found.names)) == [
            [0.333333, " two\nlines 😀 <b> ", 7],
            [0.333333, "half a ? character", "100000000000000001"],
            [0.333333, "-1.5", None],
            [0.333333, "lists", "[1, null]"],
            [0.333333, "true", True],
            [0.333333, "none", None],
        ]


def test_no_text_becomes_a_formula_or_an_error(tmp_path: Path) -> None:
    texts = ["=1+1", "=", "@SUM(1)", "+cmd|' /C calc'!A0", "#N/A"]
    path = save(tmp_path / "a.xlsx", *({"text": text} for text in texts))
    sheet = pytest.importorskip("openpyxl").load_workbook(path).active
    cells = [row[1] for row in sheet.iter_rows(min_row=2)]
    assert [(cell.value, cell.data_type) for cell in cells] == [(text, "s") for text in texts]
    assert all(cell.quotePrefix for cell in cells)  # so that it stays a text when someone edits it


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        *((error, error) for error in ("#N/A", "#DIV/0!", "#NULL!", "#VALUE!", "#REF!", "#NAME?", "#NUM!")),
        ("a_x000D_b", "a_x005F_x000D_b"),
        ("_x005F_", "_x005F_x005F_"),
        ("_x0041_x0042_", "_x005F_x0041_x005F_x0042_"),
        ("=_xabcd_", "=_x005F_xabcd_"),
        ("two\r\nlines", "two_x000D_\nlines"),
        ("a\0b\uffff\x0bc", "a_x0000_b_xFFFF__x000B_c"),
        ("_x0041\rb", "_x005F_x0041_x000D_b"),  # or the start of the return would end an escaped A
        ("x005F_ _x00D_ _X000D_", "x005F_ _x00D_ _X000D_"),
        (
            "_x000D_" * 4_681,
            "_x005F_x000D_" * 4_681,
        ),  # 32,767 characters; more when escaped, which is allowed
    ],
)
def test_a_text_is_stored_as_the_format_asks_and_comes_back(text: str, stored: str, tmp_path: Path) -> None:
    path = save(tmp_path / "a.xlsx", {text: text}, kept=KeptColumns([text], ["text"]))
    sheet = pytest.importorskip("openpyxl").load_workbook(path).active
    assert [sheet["B1"].value, sheet["B2"].value] == [stored, stored]
    with open_table(path) as found:
        assert found.names == ["p", text]
        assert list(found.rows([text])) == [[text]]


@examples(300)
@given(st.lists(st.sampled_from(["_", "x", "0041", "D83d", "\r", "\n", "\0", "\uffff", "😀"])).map("".join))
def test_escaping_has_an_inverse_and_gives_what_xml_can_hold(text: str) -> None:
    stored = excel._escape(text)
    assert excel._unescape(stored) == text
    assert not set(stored) & set("\r\0\uffff")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "a" * 32_768,
            "row 1, column 'text': 32,768 characters, and a cell of Excel holds 32,767; write .csv",
        ),
        ("😀" * 16_384, "32,768 characters"),  # Excel counts halves
    ],
)
def test_what_a_cell_cannot_hold_is_said(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(LimelightError, match=said) as error:
        save(tmp_path / "a.xlsx", {"text": text})
    assert error.value.code == "cell-unusable"
    assert list(tmp_path.iterdir()) == []
    assert not sys.modules["openpyxl.worksheet._writer"].ALL_TEMP_FILES


def test_what_a_cell_can_just_hold_is_whole(tmp_path: Path) -> None:
    longest = "a" * 32_767
    with open_table(save(tmp_path / "a.xlsx", {"text": longest})) as found:
        assert list(found.rows(["text"])) == [[longest]]


def test_what_a_sheet_cannot_hold_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wide = [f"c{k}" for k in range(2**14)]
    with refuses("sheet-full"):
        save(tmp_path / "a.xlsx", kept=KeptColumns(wide, ["text"] * len(wide)))
    monkeypatch.setattr(excel, "MAX_ROWS", 3)
    save(tmp_path / "a.xlsx", *[{"text": "a"}] * 2)
    with pytest.raises(LimelightError, match="more than 2 rows"):
        save(tmp_path / "b.xlsx", *[{"text": "a"}] * 3)
    assert [path.name for path in tmp_path.iterdir()] == ["a.xlsx"]


# ---------------------------------------------------------------- JSON arrays


def test_json_that_is_an_object_on_every_line(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('\n{"text": "Good", "stars": 5}\n{"text": "Bad", "stars": 1}\n')
    assert list(TableRows(path, COLUMNS)) == [Row("Good", 5), Row("Bad", 1)]


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("[", "table-format"),
        ("[]", "no-rows"),
        ("[1, 2]", "table-format"),
        ("[" * 100_000, "table-format"),
        ('{"rows": []', "table-format"),
        ('[{"text": "Good", "stars": 5}, 7]', "row-unusable"),
    ],
)
def test_json_that_is_not_a_table(content: str, code: str, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(content)
    with refuses(code):
        list(TableRows(tmp_path / "a.json", COLUMNS))


def test_an_array_that_would_not_fit_into_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.json").write_text(json.dumps([{"text": "Good", "stars": 5}] * 9))
    monkeypatch.setattr(table, "MAX_ARRAY", 100)
    with refuses("file-too-large"):
        column_names(tmp_path / "a.json")


# ---------------------------------------------------------------- encodings


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-16-le", "utf-32", "utf-32-be"])
def test_what_is_not_utf8_is_guessed_and_said(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(LINES.encode(encoding))
    with pytest.warns(UserWarning, match=f"{encoding}; if not, name it with --encoding"):
        assert list(TableRows(path, COLUMNS)) == CAFE
    with text_encoding(encoding), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(TableRows(path, COLUMNS)) == CAFE


@pytest.mark.parametrize("name", ["a.tsv", "a.txt", "a.jsonl", "a.json"])
def test_every_text_format_takes_an_encoding(name: str, tmp_path: Path) -> None:
    content = '{"text": "Супа нет"}' if "json" in name else "text\nСупа нет"
    (tmp_path / name).write_bytes((f"[{content}]" if name == "a.json" else content).encode("cp1251"))
    with text_encoding("windows-1251"):
        assert [row.text for row in TableRows(tmp_path / name, Columns("text"))][-1] == "Супа нет"


@pytest.mark.parametrize(
    ("head", "found"),
    [
        (GERMAN.encode(), None),
        (GERMAN.encode("utf-8-sig"), None),
        (GERMAN.encode("latin-1"), "cp1252"),
        (GERMAN.encode("utf-16-be"), "utf-16-be"),  # without a mark
        (GERMAN.encode("utf-16-le"), "utf-16-le"),
        (GERMAN.encode("utf-32"), "utf-32"),
        (GERMAN.encode("utf-32-be"), "utf-32-be"),
        (codecs.BOM_UTF32_BE + GERMAN.encode("utf-32-be"), "utf-32"),
        (b"\xfe\xff" + GERMAN.encode("utf-16-be"), "utf-16"),
        (GERMAN.encode() + b" \xfc", None),  # UTF-8 with a damaged byte
        ("Суп был горячим.".encode("cp1251"), None),  # some other country's
        ("スープは熱かった。".encode("shift_jis"), None),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", None),
        (b"", None),
    ],
)
def test_only_what_is_likely_is_guessed(head: bytes, found: str | None) -> None:
    assert guess_encoding(head) == found


@pytest.mark.parametrize(("accents", "found"), [(3, "cp1252"), (4, None)])
def test_a_third_of_the_letters_may_have_accents(accents: int, found: str | None) -> None:
    letters = "é" * accents + "s" * (9 - accents)
    assert guess_encoding(f"{letters}, 5\n".encode("cp1252")) == found  # signs and digits do not count


def test_a_character_cut_at_the_end_of_the_head_is_not_damage() -> None:
    head = b"a" * (2**20 - 1) + "é".encode()
    assert guess_encoding(head[: 2**20]) is None


def test_an_encoding_that_the_file_does_not_have(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(LINES.encode())
    for encoding in ("ascii", "utf-16"):
        with text_encoding(encoding), refuses("not-encoding"):
            list(TableRows(path, COLUMNS))


@pytest.mark.parametrize("name", ["klingon", "base64"])
def test_an_encoding_that_does_not_exist(name: str) -> None:
    with refuses("option-value"), text_encoding(name):
        pass
