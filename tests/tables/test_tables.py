"""Tables: every format gives the same rows, and everything that can be wrong is said in one line."""

from __future__ import annotations

import bz2
import csv
import datetime
import gzip
import json
import lzma
import os
import re
import sys
import tracemalloc
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from limelight.config.recipe import TextRecipe
from limelight.errors import LimelightError
from limelight.tables.cells import free_names
from limelight.tables.columns import Columns, choose_columns
from limelight.tables.formats import file_of
from limelight.tables.rows import Row, TableRows, chunks
from limelight.tables.table import column_names, open_table
from limelight.text.coerce import as_classes, as_texts
from limelight.text.encode import encode_texts
from limelight.text.labels import LabelColumn
from refusing import refuses

TEXTS = ["Good soup.", 'The "best" pie,\nby far', "naïve café 🍲", "tab\there"]
STARS = [5, 4, 3, 1]
COLUMNS = Columns("text", "stars")


def write_csv(path: Path, texts: list[str] = TEXTS, delimiter: str = ",") -> Path:
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(["stars", "text"])
        writer.writerows(zip(STARS, texts, strict=False))
    return path


def write_jsonl(path: Path) -> Path:
    lines = [json.dumps({"stars": s, "text": t}) for s, t in zip(STARS, TEXTS, strict=True)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_parquet(path: Path) -> Path:
    pq.write_table(pa.table({"stars": STARS, "text": TEXTS}), path, row_group_size=3)
    return path


def write_json(path: Path) -> Path:
    path.write_text(
        json.dumps([{"stars": s, "text": t} for s, t in zip(STARS, TEXTS, strict=True)], indent=1)
    )
    return path


def write_excel(path: Path, sheets: dict[str, list[tuple[Any, ...]]] | None = None) -> Path:
    """A book; a path with a sheet is as it would be given."""
    book = pytest.importorskip("openpyxl").Workbook()
    book.remove(book.active)
    for name, rows in (sheets or {"Reviews": [("stars", "text"), *zip(STARS, TEXTS, strict=True)]}).items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(file_of(path))
    return path


@pytest.mark.parametrize(
    ("name", "write", "label"),
    [
        ("a.csv", write_csv, str),
        ("a.tsv", lambda path: write_csv(path, delimiter="\t"), str),
        ("a.jsonl", write_jsonl, int),
        ("a.ndjson", write_jsonl, int),
        ("a.json", write_json, int),
        ("a.parquet", write_parquet, int),
        ("a.xlsx", write_excel, int),
        ("a.xlsx#Reviews", write_excel, int),
    ],
)
def test_every_format_gives_the_same_rows(
    tmp_path: Path, name: str, write: Callable[[Path], Path], label: type
) -> None:
    path = write(tmp_path / name)
    assert column_names(path) == ["stars", "text"]
    assert list(TableRows(path, COLUMNS)) == [Row(t, label(s)) for t, s in zip(TEXTS, STARS, strict=True)]
    assert [row.label for row in TableRows(path, Columns("text"))] == [None] * 4


@pytest.mark.parametrize(
    ("suffix", "compress"),
    [
        (".gz", gzip.compress),
        (".xz", lzma.compress),
        (".bz2", bz2.compress),
        (".zst", lambda data: zstandard.ZstdCompressor().compress(data)),
    ],
)
def test_compressed(tmp_path: Path, suffix: str, compress: Callable[[bytes], bytes]) -> None:
    plain = write_csv(tmp_path / "a.csv")
    packed = tmp_path / f"a.csv{suffix}"
    packed.write_bytes(compress(plain.read_bytes()))
    assert list(TableRows(packed, COLUMNS)) == list(TableRows(plain, COLUMNS))
    packed.write_bytes(compress(plain.read_bytes()[:30]) + compress(plain.read_bytes()[30:]))
    assert list(TableRows(packed, COLUMNS)) == list(TableRows(plain, COLUMNS))
    packed.write_bytes(packed.read_bytes()[:-9])
    with refuses("file-damaged"):
        list(TableRows(packed, COLUMNS))


def test_byte_order_mark_crlf_and_blank_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"\xef\xbb\xbftext, stars\r\nGood soup, 5 \r\n\r\nBad pie,1\r\n\r\n")
    assert list(TableRows(path, COLUMNS)) == [Row("Good soup", "5"), Row("Bad pie", "1")]


@pytest.mark.parametrize("mark", [";", "\t", "|"])
def test_csv_as_spreadsheets_write_it_where_the_comma_is_for_decimals(tmp_path: Path, mark: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f'"text"{mark}stars\nGood, warm soup{mark}5\n"Bad{mark} pie"{mark}1\n')
    assert choose_columns(path) == COLUMNS
    assert list(TableRows(path, COLUMNS)) == [Row("Good, warm soup", "5"), Row(f"Bad{mark} pie", "1")]
    path.write_bytes(f"\ufeffsep={mark}\r\ntext{mark}stars\r\nGood, warm soup{mark}5\r\n".encode())
    assert list(TableRows(path, COLUMNS)) == [Row("Good, warm soup", "5")]
    path.write_text(f"text,stars{mark}old\nGood{mark},5\n")
    assert list(TableRows(path, Columns("text", f"stars{mark}old"))) == [Row(f"Good{mark}", "5")]


def test_a_line_of_ten_megabytes(tmp_path: Path) -> None:
    text = "soup " * 2_000_000
    assert [row.text for row in TableRows(write_csv(tmp_path / "a.csv", [text]), COLUMNS)] == [text]


def test_pairs(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("premise,hypothesis,label\nIt rains,It is wet,yes\n")
    chosen = choose_columns(path, pair=True)
    assert chosen == Columns("premise", "label", "hypothesis")
    assert list(TableRows(path, chosen)) == [Row("It rains", "yes", "It is wet")]
    with refuses("column-ambiguous"):
        choose_columns(path)


@pytest.mark.parametrize(
    ("header", "named", "expected"),
    [
        ("text,label", {}, Columns("text", "label")),
        ("Review,Stars,id", {}, Columns("Review", "Stars")),
        ("text,age_group", {}, Columns("text", "age_group")),
        ("text,age,gender", {"label": "gender"}, Columns("text", "gender")),
        ("a,b,c", {"text": "b", "label": "a"}, Columns("b", "a")),
        ("id,text,label", {"need_label": False}, Columns("text")),
        ("text,label,review", {"text": "review"}, Columns("review", "label")),
        ("a,b,y", {"text": "a", "text2": "b"}, Columns("a", "y", "b")),
        ("sentence1,sentence2,label", {"pair": True}, Columns("sentence1", "label", "sentence2")),
        ("text,other,label", {"text2": "other", "text": "text"}, Columns("text", "label", "other")),
        ("Premise,Hypothesis,label", {"pair": None}, Columns("Premise", "label", "Hypothesis")),
        ("premise,hypothesis,label", {"pair": None, "text": "hypothesis"}, Columns("hypothesis", "label")),
        ("text,premise,hypothesis,label", {"pair": None}, Columns("text", "label")),
        ("text,text2,label", {"pair": None, "text": "text"}, Columns("text", "label")),
        ("text,text2,label", {"pair": None, "text2": "text2"}, Columns("text", "label", "text2")),
        ("text,text2,label", {"pair": False}, Columns("text", "label")),
    ],
)
def test_choosing(tmp_path: Path, header: str, named: dict[str, object], expected: Columns) -> None:
    path = tmp_path / "a.csv"
    path.write_text(header + "\n")
    assert choose_columns(path, **named) == expected  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("header", "named", "code", "said"),
    [
        ("text,review,label", {}, "column-ambiguous", "(--text); it has: text, review, label"),
        ("text,label,stars", {}, "column-ambiguous", "--label"),
        ("text,age,gender", {}, "column-ambiguous", "--label"),
        ("Good soup here,5", {}, "column-ambiguous", "Good soup here, 5"),
        ("Good soup here", {"need_label": False}, "column-ambiguous", "--text"),
        ("text,stars", {"label": "star"}, "column-missing", "'stars'? It has"),
        ("text,stars", {"text": "body"}, "column-missing", "'body'; it has the columns: text, stars"),
        ("text,stars", {"pair": True}, "column-ambiguous", "--text2"),
        ("text,text,stars", {"text": "text"}, "column-twice", "2 columns named 'text'"),
        ("text,stars", {"text": "text", "label": "text"}, "column-twice", "text, text"),
        ("Text,text2,label", {"pair": None}, "column-ambiguous", "--text2 text2, for single texts"),
    ],
)
def test_choosing_wrong(tmp_path: Path, header: str, named: dict[str, object], code: str, said: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(header + "\n")
    with refuses(code) as error:
        choose_columns(path, **named)  # type: ignore[arg-type]
    assert said in str(error.value)
    assert str(path) in str(error.value)


@pytest.mark.parametrize(
    ("name", "content", "code", "said"),
    [
        ("a.csv", b"", "no-rows", "is empty; its first line must name the columns"),
        ("a.csv", b"\n\n", "no-rows", "is empty"),
        ("a.csv", b"text,stars\n", "no-rows", "has no rows; it needs at least one below its header"),
        ("a.csv", b"text,star\nGood,5\n", "column-missing", "has no column 'stars'; did you mean 'star'?"),
        (
            "a.csv",
            b"text,stars\nGood,5\n,1\n",
            "row-unusable",
            "row 3: no text in column 'text'; correct it, or skip such rows with --skip-bad",
        ),
        ("a.csv", b"text,stars\n  \t,5\n", "row-unusable", "row 2: only spaces in column 'text'"),
        (
            "a.csv",
            "text,stars\n\u3000\u00a0,5\n".encode(),
            "row-unusable",
            "row 2: only spaces in column 'text'",
        ),
        ("a.csv", b"text,stars\nGood,\n", "row-unusable", "row 2: no label in column 'stars'"),
        (
            "a.csv",
            b"text,stars\nGood,5\nBad\n",
            "row-unusable",
            "row 3: it has 1 fields, the header has 2 (text, stars)",
        ),
        ("a.csv", b"text,stars\nGood, very,5\n", "row-unusable", "row 2: it has 3 fields, the header has 2"),
        (
            "a.csv",
            b'text,stars\n"Good,5\nBad,1\n',
            "csv-quotes",
            "lines 2 to 3: a quotation mark is never closed",
        ),
        ("a.csv", b'text,stars\n"Good" soup,5\n', "csv-quotes", "line 2: ',' expected after '\"'"),
        ("a.csv", b'sep=;\ntext;stars\n"Good" soup;5\n', "csv-quotes", "line 3: ';' expected after '\"'"),
        ("a.csv", b"sep=;\n", "no-rows", "is empty; its first line must name the columns"),
        (
            "a.csv",
            b"text,stars\nGood,5\nBad \x81,1\n",
            "not-utf8",
            "line 3: the byte at offset 22 is not UTF-8",
        ),
        ("a.csv", b"text,stars\nGood,5\nBad,1\x81", "not-utf8", "line 3: the byte at offset 23 is not UTF-8"),
        ("a.jsonl", b"", "no-rows", "is empty; every line must be a JSON object"),
        ("a.jsonl", b" \n", "no-rows", "is empty"),
        ("a.jsonl", b'{"text": "Good", "stars": 5}\n{"text": \n', "row-unusable", "line 2: it is not JSON"),
        (
            "a.jsonl",
            b'{"text": "Good", "stars": 5}\n[1]\n',
            "row-unusable",
            "line 2: [1] is not a JSON object",
        ),
        (
            "a.jsonl",
            b'{"text": "Good", "stars": 5}\n{"stars": 5}\n',
            "row-unusable",
            "line 2: no text in column 'text'",
        ),
        (
            "a.jsonl",
            b'{"text": [7], "stars": 5}\n',
            "row-unusable",
            "line 1: [7] in column 'text' is not text",
        ),
        (
            "a.jsonl",
            b'{"text": "Good", "stars": [[5]]}\n',
            "row-unusable",
            "line 1: [[5]] in column 'stars' is not a label",
        ),
        (
            "a.jsonl",
            b'{"text": "Good", "stars": NaN}\n',
            "row-unusable",
            "line 1: no label in column 'stars'",
        ),
        (
            "a.jsonl",
            b'{"text": "Good", "stars": Infinity}\n',
            "row-unusable",
            "line 1: inf in column 'stars' is not a label",
        ),
        (
            "a.jsonl",
            b'{"text": "Go\x81od", "stars": 5}\n',
            "not-utf8",
            "line 1: the byte at offset 12 is not UTF-8",
        ),
        ("a.parquet", b"text,stars\nGood,5\n", "file-damaged", "not a readable parquet file"),
        ("a.parquet", b"", "file-damaged", "not a readable parquet file"),
        ("a.csv.gz", b"text,stars\nGood,5\n", "file-damaged", "cannot read"),
        ("a.csv.xz", b"text,stars\nGood,5\n", "file-damaged", "cannot read"),
        ("a.csv.zst", b"text,stars\nGood,5\n", "file-damaged", "cannot read"),
        (
            "a.md",
            b"text,stars\nGood,5\n",
            "table-format",
            "its name must end in .csv, .tsv, .jsonl, .json, .parquet, .xlsx or .txt",
        ),
        ("a.parquet.gz", b"", "table-format", "its name must end in"),
        ("a", b"", "table-format", "its name must end in"),
    ],
)
def test_bad_input_is_one_clear_line(tmp_path: Path, name: str, content: bytes, code: str, said: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with refuses(code) as error:
        list(TableRows(path, COLUMNS))
    assert said in str(error.value)
    assert str(path) in str(error.value)


def test_missing_file_and_folder(tmp_path: Path) -> None:
    with refuses("file-missing"):
        column_names(tmp_path / "a.csv")
    (tmp_path / "b.csv").mkdir()
    with refuses("file-type"):
        column_names(tmp_path / "b.csv")


def test_utf8_error_beyond_the_first_block(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    good = "text,stars\n" + "süße Suppe,5\n" * 9999
    path.write_bytes(good.encode() + b"\x80,1\n")
    with refuses("not-utf8") as error:
        list(TableRows(path, COLUMNS))
    assert f"line 10001: the byte at offset {len(good.encode())} is" in str(error.value)


def test_parquet_with_other_types(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    table = {"text": pa.array(["a", "b"]).dictionary_encode(), "stars": [True, False], "n": [1.5, 2.5]}
    pq.write_table(pa.table(table), path)
    assert list(TableRows(path, COLUMNS)) == [Row("a", True), Row("b", False)]
    assert list(TableRows(path, Columns("n", "stars"))) == [Row("1.5", True), Row("2.5", False)]


def test_parquet_without_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": pa.array([], pa.string()), "stars": pa.array([], pa.int64())}), path)
    with refuses("no-rows"):
        list(TableRows(path, COLUMNS))


def test_parquet_bytes_that_are_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    broken = pa.StringArray.from_buffers(1, pa.array([0, 2], pa.int32()).buffers()[1], pa.py_buffer(b"a\xff"))
    pq.write_table(pa.table({"text": broken, "stars": [1]}), path)
    with refuses("not-utf8"):
        list(TableRows(path, COLUMNS))


@pytest.mark.parametrize(
    ("library", "name", "extra"),
    [
        ("pyarrow", "a.parquet", "tables"), ("zstandard", "a.csv.zst", "tables"),
        ("openpyxl", "a.xlsx", "excel"),
    ],
)  # fmt: skip
def test_a_library_that_is_not_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: str, name: str, extra: str
) -> None:
    (tmp_path / name).write_bytes(b"")
    monkeypatch.setitem(sys.modules, library, None)
    with refuses("needs-extra") as error:
        column_names(tmp_path / name)
    assert f"{name} needs {library}: pip install '.[{extra}]'" in str(error.value)


def test_skipping_counts(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("text,stars\nGood,5\n,1\n  ,2\nFine,\nshort\nBad,1\n")
    reader = TableRows(path, COLUMNS, on_bad="skip")
    with pytest.warns(UserWarning, match="skipped 4 of its 6 rows, .*: rows 3, 4, 5, 6$"):
        assert [row.text for row in reader] == ["Good", "Bad"]
    assert reader.skipped == 4
    path.write_text("text,stars\n,5\n")
    with refuses("no-rows"):
        list(TableRows(path, COLUMNS, on_bad="skip"))
    with refuses("option-value"):
        TableRows(path, COLUMNS, on_bad="ignore")


@pytest.mark.filterwarnings("ignore:.*skipped")
@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_a_nul_character_makes_a_bad_row(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name == "a.csv":
        path.write_bytes(b"text,stars\nGood,5\nB\0ad,1\n")
    else:
        path.write_text('{"text": "Good", "stars": "5"}\n{"text": "B\\u0000ad", "stars": "1"}\n')
    with refuses("row-unusable") as error:
        list(TableRows(path, COLUMNS))
    place = "row 3" if name == "a.csv" else "line 2"
    assert f"{place}: a NUL character in column 'text'" in str(error.value)
    rows = TableRows(path, COLUMNS, on_bad="skip")
    assert [row.text for row in rows] == ["Good"]
    assert rows.skipped == 1


def test_chunks_end_by_rows_or_by_characters() -> None:
    many = [Row("x" * 30)] * 7
    assert [len(c) for c in chunks(many, size=3)] == [3, 3, 1]
    assert [len(c) for c in chunks(many, size=100, characters=60)] == [2, 2, 2, 1]


words = st.text(
    st.characters(exclude_categories=("Cs",), exclude_characters="\0"), min_size=1, max_size=20
).filter(str.strip)


@examples(60)
@given(st.lists(words, min_size=1, max_size=5))
def test_any_text_survives(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    folder = tmp_path_factory.mktemp("tables")
    table = {"text": texts, "stars": ["1"] * len(texts)}
    with open(folder / "a.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerows([list(table), *zip(*table.values(), strict=True)])
    lines = [json.dumps({"text": t, "stars": "1"}, ensure_ascii=False) for t in texts]
    (folder / "a.jsonl").write_text("\n".join(lines), encoding="utf-8", newline="")
    pq.write_table(pa.table(table), folder / "a.parquet")
    for name in ("a.csv", "a.jsonl", "a.parquet"):
        assert [row.text for row in TableRows(folder / name, COLUMNS)] == texts


def spoil(content: bytes, position: int, cut: int, inserted: bytes) -> bytes:
    """The content with some bytes at a place replaced by others."""
    position %= len(content) + 1
    return content[:position] + inserted + content[position + cut :]


SAMPLES = {
    ".csv": b'text,stars\n"Good ""old"" soup",1\nBad caf\xc3\xa9,2\n',
    ".tsv": b"text\tstars\nGood\t1\nBad\t2\n",
    ".jsonl": b'{"text": "Good", "stars": 1}\n{"text": "Bad \\u00e9", "stars": "2"}\n',
    ".jsonl.gz": gzip.compress(b'{"text": "Good", "stars": 1}\n'),
    ".csv.zst": zstandard.ZstdCompressor().compress(b"text,stars\nGood,1\n"),
}


@examples(300)
@given(st.sampled_from(sorted(SAMPLES)), st.integers(0, 10**6), st.integers(0, 9), st.binary(max_size=4))
def test_whatever_the_damage_it_is_rows_or_one_line(
    tmp_path_factory: pytest.TempPathFactory, kind: str, position: int, cut: int, inserted: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / f"damaged{kind}"
    path.write_bytes(spoil(SAMPLES[kind], position, cut, inserted))
    try:
        found = list(TableRows(path, COLUMNS))
    except LimelightError as error:
        said = str(error)
    else:
        said = ""
        assert all(row.text.strip() and row.label is not None for row in found)
    assert "\n" not in said


@pytest.mark.parametrize(
    ("name", "content", "row"),
    [
        ("a.csv", "text,label\nshort,1\n" + "x" * 2000 + ",1\n", "line 3"),
        ("a.csv", "text,label\n\n" + '"' + "x\n" * 1000 + '",1\n', "line 3"),  # no line of it is long
        ("a.csv", "text,label\nshort,1\n" + '"a\n","b\n",' * 200 + "\n", "line 3"),  # nor any field
        ("a.csv", "text" * 1000 + ",label\nshort,1\n", "line 1"),
        ("a.jsonl", '{"text": "short"}\n\n{"text": "' + "x" * 2000 + '"}\n', "line 3"),
        ("a.txt", "short\n\n" + "x" * 2000 + "\n", "line 3"),
        ("a.parquet", [{"text": "short", "label": 1}, {"text": "x" * 2000, "label": 1}], "row 2"),
    ],
)
def test_a_row_that_is_too_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: Any, row: str
) -> None:
    monkeypatch.setenv("LIMELIGHT_MAX_ROW", "1000")
    path = tmp_path / name
    if isinstance(content, str):
        path.write_text(content)
    else:
        pq.write_table(pa.Table.from_pylist(content), path)
    with refuses("row-unusable" if name == "a.parquet" else "row-too-long") as error:
        list(TableRows(path, Columns("text", None)))
    assert re.search(f"{name}, {row}: (a row of )?more than 1,000 characters", str(error.value))
    assert "LIMELIGHT_MAX_ROW" in str(error.value)


def test_the_limit_of_a_row_must_be_a_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIMELIGHT_MAX_ROW", "lots")
    (tmp_path / "a.csv").write_text("text\nshort\n")
    with refuses("option-value"):
        list(TableRows(tmp_path / "a.csv", Columns("text", None)))


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".bz2", ".zst"])
def test_a_decompression_bomb(tmp_path: Path, suffix: str) -> None:
    """160 MiB without a line end, from a few hundred kilobytes at most: refused before it is in memory."""
    path = tmp_path / f"bomb.csv{suffix}"
    compressors: dict[str, Any] = {
        ".gz": lambda: zlib.compressobj(wbits=31),
        ".xz": lambda: lzma.LZMACompressor(preset=0),
        ".bz2": lambda: bz2.BZ2Compressor(1),
        ".zst": lambda: zstandard.ZstdCompressor().compressobj(),
    }
    pack, block = compressors[suffix](), b"x" * 2**20
    with path.open("wb") as file:
        file.write(pack.compress(b"text,label\n"))
        for _ in range(160):
            file.write(pack.compress(block))
        file.write(pack.flush())
    assert path.stat().st_size < 2**19
    tracemalloc.start()
    try:
        with refuses("row-too-long"):
            list(TableRows(path, Columns("text", "label")))
        assert tracemalloc.get_traced_memory()[1] < 2**27
    finally:
        tracemalloc.stop()


def test_a_device_is_not_a_table(tmp_path: Path) -> None:
    (tmp_path / "a.csv").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "b.csv")
    for name in ("a.csv", "b.csv"):
        with refuses("file-type"):
            list(TableRows(tmp_path / name, Columns("text", "label")))


def test_integers_of_many_digits_as_labels(tmp_path: Path) -> None:
    """More than a float or Python's own parser can hold: they stay text, or are refused."""
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({"text": "soup", "label": label}) + "\n" for label in (1, 10**400)))
    with refuses("row-unusable") as error:
        list(TableRows(path, Columns("text", "label")))
    assert "line 2: an integer of more than 300 digits" in str(error.value)
    path.write_text('{"text": "soup", "label": 1}\n{"text": "soup", "label": ' + "9" * 5000 + "}\n")
    with refuses("row-unusable") as error:
        list(TableRows(path, Columns("text", "label")))
    assert "line 2: it is not JSON" in str(error.value)
    for digits, kind in ((300, int), (301, str), (5000, str)):
        labels = LabelColumn(["1", "9" * digits])
        assert {type(label) for label in labels.classes()} == {kind}
        assert labels.index(labels.classes(), "a.csv").tolist() == [0, 1]
    with refuses("row-unusable"):
        encode_texts(["a", "b"] * 2, [1, 10**400] * 2, recipe=TextRecipe())
    with refuses("label-type"):
        as_classes([1, 10**5000])


@pytest.mark.parametrize(
    ("name", "content", "place"),
    [
        (
            "a.csv",
            'text,stars\n"two\nlines",5\n\n,1\n',
            "row 4 (line 5)",
        ),  # a spreadsheet shows the blank line
        ("a.csv", "sep=;\ntext;stars\nGood;5\n;1\n", "row 3 (line 4)"),  # but not what is for itself
        ("a.csv", "text,stars\nGood,5\n,1\n", "row 3"),
        ("a.csv", 'text,stars\n"two\nlines",5\nGood\n', "row 3 (line 4)"),
        ("a.jsonl", '{"text": "Good", "stars": 5}\n\n{"stars": 1}\n', "line 3"),
        ("a.json", '[{"text": "Good", "stars": 5},\n\n{"stars": 1}]', "row 2"),
        ("a.parquet", [{"text": "Good", "stars": 5}, {"text": None, "stars": 1}], "row 2"),
    ],
)
def test_a_bad_row_is_named_as_people_find_it(tmp_path: Path, name: str, content: Any, place: str) -> None:
    path = tmp_path / name
    if isinstance(content, str):
        path.write_text(content)
    else:
        pq.write_table(pa.Table.from_pylist(content), path)
    with refuses("row-unusable") as error:
        list(TableRows(path, COLUMNS))
    assert f"{name}, {place}: " in str(error.value)


def test_of_many_skipped_rows_the_first_are_named(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "Good"}\n' + '{"text": ""}\n' * 7)
    with pytest.warns(UserWarning, match=r"skipped 7 of its 8 rows, .*: lines 2, 3, 4, 5, 6, \.\.\.$"):
        list(TableRows(path, Columns("text"), on_bad="skip"))


# ---------------------------------------------------------------- numbers among texts


DAY = datetime.datetime(2026, 5, 1)
NUMBERS: list[Any] = [3, 3.0, 2.5, 1e22, True, False]
AS_TEXT = ["3", "3.0", "2.5", "1e+22", "true", "false"]


@pytest.mark.filterwarnings("ignore:.*skipped")
def test_a_number_in_a_column_of_texts_is_its_text(tmp_path: Path) -> None:
    rows = [{"text": each} for each in [*NUMBERS, float("nan"), None]]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "a.json").write_text(json.dumps(rows))
    for name in ("a.jsonl", "a.json"):
        read = TableRows(tmp_path / name, Columns("text"), on_bad="skip")
        assert [row.text for row in read] == AS_TEXT
        assert read.skipped == 2  # NaN and null are no text
    write_excel(tmp_path / "a.xlsx", {"May": [("text",), *((each,) for each in [3, 2.5, True, DAY])]})
    texts = [row.text for row in TableRows(tmp_path / "a.xlsx", Columns("text"))]
    assert texts == ["3", "2.5", "true", "2026-05-01"]
    for column, expected in (
        (pa.array([3, None]), "3"),
        (pa.array([3.0, float("nan")]), "3.0"),
        (pa.array([True, None]), "true"),
        (pa.array([DAY.date(), None]), "2026-05-01"),
        (pa.array([DAY.replace(hour=12), None]), "2026-05-01 12:00:00"),
        (pa.array([3, None]).cast(pa.decimal128(30, 2)), "3.00"),
    ):
        pq.write_table(pa.table({"text": column}), tmp_path / "a.parquet")
        assert [row.text for row in TableRows(tmp_path / "a.parquet", Columns("text"), on_bad="skip")] == [
            expected
        ]


def test_what_is_neither_text_nor_number_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": [b"Good"]}), tmp_path / "a.parquet")
    (tmp_path / "a.jsonl").write_text('{"text": {"en": "Good"}}\n')
    for name in ("a.parquet", "a.jsonl"):
        with refuses("row-unusable"):
            list(TableRows(tmp_path / name, Columns("text")))


def test_a_number_among_the_texts_of_a_list_is_its_text() -> None:
    assert as_texts(["Good soup", 3, True]) == ["Good soup", "3", "true"]
    for wrong in ([3, 4], ["Good soup", None], ["Good soup", float("nan")], ["Good soup", ["x"]]):
        with refuses("text-type"):  # a list without any text is another column
            as_texts(wrong)


# ---------------------------------------------------------------- many columns


class Compared(str):
    """A name that counts how often it is compared."""

    count = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        Compared.count += 1
        return str.__eq__(self, other)


@pytest.mark.parametrize("name", ["a.csv", "a.xlsx"])
def test_ten_thousand_columns_take_as_many_comparisons(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"c{k}" for k in range(10_000)]
    if name == "a.csv":
        (tmp_path / name).write_text(",".join(names) + "\n" + ",".join(names) + "\n")
    else:
        write_excel(tmp_path / name, {"May": [tuple(names), tuple(names)]})
    monkeypatch.setattr(Compared, "count", 0)
    with open_table(tmp_path / name) as table:
        table.hold()
        assert list(table.rows([Compared(each) for each in names])) == [names]
        assert Compared.count <= 2 * len(names)
        assert table.columns().types == ["text"] * len(names)


def test_ten_thousand_columns_of_one_name_take_as_many_new_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Compared, "count", 0)
    found = free_names([Compared("id")] * 10_000, [])
    assert len(set(found)) == 10_000
    assert Compared.count <= 60_000


# ---------------------------------------------------------------- the column of texts, by what is in it


LONG = "We had a lovely time, and the soup was warm."


def test_texts_are_known_by_their_length(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"Stars,Date,Hotel,Notes\n5,2026-05-01,Grand,{LONG!r}\n1,2026-05-02,Plaza,{LONG!r}\n")
    path.write_text(path.read_text().replace("'", '"'))
    with pytest.warns(UserWarning, match="taking 'Notes' for the text: its texts are the longest; --text"):
        assert choose_columns(path) == Columns("Notes", "Stars")
    with open_table(path) as table:
        with pytest.warns(UserWarning, match="taking 'Notes'"):
            chosen = choose_columns(table)
        assert [row.text for row in TableRows(table, chosen)] == [LONG, LONG]  # the head is not lost


@pytest.mark.parametrize("named", ["Review text", "review-text", " REVIEW_TEXT"])
def test_spaces_and_hyphens_do_not_matter_in_usual_names(named: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"Stars,Date,Hotel,{named}\n5,2026-05-01,Grand,Good\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert choose_columns(path) == Columns(named.strip(), "Stars")


@pytest.mark.parametrize(
    "lines",
    [
        f"notes,more,stars\n{LONG[:30]},{LONG[:40]},5\n".replace(", ", " "),  # two are long
        "notes,stars\nGood soup,5\n",  # none is
        f"{LONG},5\n{LONG},1\n{LONG},5\n".replace(", ", " "),  # without a header
        f"good soup,5\n{LONG},1\n{LONG},5\n".replace(", ", " "),
        f"notes,notes,stars\n{LONG},a,5\n".replace(", ", " "),
    ],
)
def test_texts_are_not_guessed_in_doubt(lines: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(lines)
    with refuses("column-ambiguous"):
        choose_columns(tmp_path / "a.csv")
