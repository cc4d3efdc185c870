"""Sheets of .xlsx files, read and written. Needs openpyxl."""

import datetime
import math
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from ..errors import LimelightError, damaged, need, no_rows, warn
from ..storage.compression import tidy_reading
from .abstract import CellTable
from .cells import KeptColumns, as_text, as_unicode, find_type, is_formula
from .formats import join_names, max_row, shorten, split_sheet

MAX_BYTES = 2**30  # of a book when it is unpacked: the library holds all its different texts in memory
MAX_ROWS, MAX_COLUMNS, MAX_CELL = 2**20, 2**14, 2**15 - 1  # of a sheet; characters as UTF-16 counts them
MAX_DIGITS = 15  # of a whole number: Excel drops the others
_ERRORS = frozenset(("#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#N/A"))
_CONTROL = "\0-\x08\x0b-\x1f\ufffe\uffff"  # what XML cannot hold, and the return, which it would change
_TO_ESCAPE = re.compile(f"[{_CONTROL}]|_(?=x[0-9A-Fa-f]{{4}}[_{_CONTROL}])")  # "_" if it would look escaped
_ESCAPED = re.compile("_x([0-9A-Fa-f]{4})_")  # ST_Xstring of ECMA-376: a character's number in UTF-16


class ExcelTable(CellTable):
    """The first sheet of a book, or the one after `#`. Its first row that is not empty names the columns."""

    def begin(self) -> None:
        file, sheet = split_sheet(self.path)
        self._book = _open_book(file, self._open)
        self._sheet = _choose_sheet(self._book, file, sheet)
        self._source = self._read()
        self.names = self._header()

    def columns(self) -> KeptColumns:
        self.hold()
        types = [""] * len(self.names)
        for _, cells, fault in self._items():
            if fault is None:
                types = [find_type([value], before) for value, before in zip(cells, types, strict=True)]
        return KeptColumns(self.names, types, str(self.path))

    def _header(self) -> list[str]:
        for _, names, _ in self._source:
            return list(names)
        raise no_rows(f"{self.path} is empty; the first row of its sheet must name the columns")

    def _read(self) -> Iterator[tuple[int, Any, str | None]]:
        """The header, then every row that is not empty, by the number that Excel shows."""
        width, limit = 0, max_row()
        with _tidy(self.path):
            for number, cells in self._rows():
                if not width:
                    names = [as_text(each).strip() for each in _fill(cells, max(cells))]
                    width = max((k for k, name in enumerate(names, 1) if name), default=0)
                    if width:
                        yield number, names[:width], None
                elif max(cells) > width:
                    yield number, None, f"it has cells to the right of the {width} columns of the header"
                elif sum(len(each) for each in cells.values() if isinstance(each, str)) > limit:
                    yield number, None, f"more than {limit:,} characters (LIMELIGHT_MAX_ROW)"
                else:
                    yield number, _fill(cells, width), None

    def _rows(self) -> Iterator[tuple[int, dict[int, Any]]]:
        """The number of each row that is not empty, and its cells by column, from 1.

        The library's own way goes by the size that the sheet states, which may be wrong.
        """
        from openpyxl.worksheet._reader import FORMULA_TAG, WorkSheetParser

        book = self._book.wb

        def parse_cell(element: Any) -> Any:
            found = WorkSheetParser.parse_cell(parser, element)
            is_text = element.get("t") == "str"  # which may be empty
            if found["value"] is None and not is_text and element.find(FORMULA_TAG) is not None:
                what = f"formulas were saved without their values, such as in row {found['row']}"
                warn(f"{self.path}: {what}, and count as empty; open the book in Excel and save it")
                del parser.parse_cell  # it is said once
            return found

        with self._book.archive.open(self._sheet) as source:
            parser = WorkSheetParser(
                source, self._book.shared_strings, data_only=True, epoch=book.epoch,
                date_formats=book._date_formats, timedelta_formats=book._timedelta_formats,
            )  # fmt: skip
            parser.parse_cell, parser.parse_extensions = parse_cell, lambda element: None  # it would warn
            for number, row in parser.parse():
                values = ((cell["column"], _value(cell["value"])) for cell in row if cell["data_type"] != "e")
                if cells := {column: value for column, value in values if value is not None}:
                    yield number, cells


def _fill(cells: dict[int, Any], width: int) -> list[Any]:
    return [cells.get(column) for column in range(1, width + 1)]


def _value(cell: Any) -> Any:
    """Dates as text, and text as it was before it was escaped."""
    if isinstance(cell, str):
        return _unescape(cell) or None
    if isinstance(cell, datetime.date | datetime.time):
        return str(cell).removesuffix(" 00:00:00")
    return str(cell) if isinstance(cell, datetime.timedelta) else cell


def _escape(text: str) -> str:
    """The text as a book holds it: control characters by number, and what only looks like that made safe."""
    return _TO_ESCAPE.sub(lambda found: f"_x{ord(found[0]):04X}_", text)


def _unescape(text: str) -> str:
    """The inverse of `_escape`."""
    if "_x" not in text:
        return text
    found = _ESCAPED.sub(lambda each: chr(int(each[1], 16)), text)
    return found.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # two halves are a character


class SheetWriter:
    """A book of one sheet, written row by row. What a sheet cannot hold is an error, never cut or changed."""

    def __init__(self, file: BinaryIO, names: Sequence[str]) -> None:
        if len(names) > MAX_COLUMNS:
            raise _full(f"{len(names):,} columns", f"{MAX_COLUMNS:,}")
        library = need("openpyxl", "writing .xlsx", "excel")
        self._file, self._names, self._rows = file, names, 0
        self._book = library.Workbook(write_only=True)
        self._sheet = self._book.create_sheet("Sheet")
        self._sheet.freeze_panes = "A2"
        self._text_cell = library.cell.WriteOnlyCell
        self.write(names)

    def write(self, cells: Sequence[Any]) -> None:
        """Write a row; the first is the names."""
        if self._rows == MAX_ROWS:
            raise _full(f"more than {MAX_ROWS - 1:,} rows", "that")
        self._sheet.append([self._cell(value, k) for k, value in enumerate(cells)])
        self._rows += 1

    def finish(self) -> None:
        """Write the book; until now the rows are in a temporary file of the library."""
        self._book.save(self._file)

    def close(self) -> None:
        """After an error, remove the library's temporary file; otherwise, nothing."""
        if not self._sheet.closed:
            with suppress(Exception):
                self._sheet.close()
                self._sheet._writer.cleanup()

    def _cell(self, value: Any, column: int) -> Any:
        if isinstance(value, float) and math.isfinite(value):
            return value
        if isinstance(value, int) and abs(value) < 10**MAX_DIGITS:
            return value
        text = as_unicode(as_text(value))
        if (size := len(text.encode("utf-16-le")) // 2) > MAX_CELL:
            row = f"row {self._rows}" if self._rows else "the header"
            where = f"{row}, column {shorten(self._names[column])!r}"
            fault = f"{where}: {size:,} characters, and a cell of Excel holds {MAX_CELL:,}"
            raise LimelightError(f"{fault}; write .csv or .parquet instead", code="cell-unusable")
        escaped, is_plain = _escape(text), text not in _ERRORS and not is_formula(text)
        if is_plain and escaped == text:
            return text or None
        cell = self._text_cell(self._sheet)
        cell.data_type, cell._value = "s", escaped  # as `value` the library would take it for more, or cut it
        cell.quotePrefix = not is_plain  # a text after someone edits it, too
        return cell


def _full(given: str, most: str) -> LimelightError:
    fault = f"{given}, and a sheet of Excel holds {most}; write .csv or .parquet instead"
    return LimelightError(fault, code="sheet-full")


def _open_book(path: Path, stack: ExitStack) -> Any:
    """The library's reader of a book, whose sheets are not looked at yet, open until the stack is closed."""
    need("openpyxl", path, "excel")
    from openpyxl.reader.excel import ExcelReader, apply_stylesheet

    with _tidy(path), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of styles
        reader = ExcelReader(stack.enter_context(path.open("rb")), read_only=True, keep_links=False)
        size = sum(each.file_size for each in reader.archive.infolist())
        if size > MAX_BYTES:
            wrong = f"{path} has {size:,} bytes when unpacked, more than {MAX_BYTES:,}"
            raise LimelightError(f"{wrong}; save the sheet as .csv", code="file-too-large")
        reader.read_manifest()
        _read_strings(reader)
        reader.read_workbook()
        apply_stylesheet(reader.archive, reader.wb)  # by which a number is a date
        return reader


def _read_strings(reader: Any) -> None:
    """The shared texts as they are escaped: the library's own way loses which ones were."""
    from openpyxl.cell.text import Text
    from openpyxl.xml.constants import SHARED_STRINGS, SHEET_MAIN_NS
    from openpyxl.xml.functions import iterparse

    part = reader.package.find(SHARED_STRINGS)
    if part is None:
        return
    with reader.archive.open(part.PartName[1:]) as file:
        for _, node in iterparse(file):
            if node.tag == f"{{{SHEET_MAIN_NS}}}si":
                reader.shared_strings.append(Text.from_tree(node).content)
                node.clear()


def _choose_sheet(book: Any, path: Path, name: str) -> str:
    """The part of a book that holds the sheet: without a name, the first that can be seen."""
    with _tidy(path):
        found = [(sheet, rel.target) for sheet, rel in book.parser.find_sheets() if "chart" not in rel.Type]
    sheets = {sheet.name: part for sheet, part in found if part in book.valid_files}
    if name or not sheets:
        if name in sheets:
            return str(sheets[name])
        fault = f"{path} has no sheet {name!r}; it has: {join_names(list(sheets))}"
        raise LimelightError(fault, code="sheet-missing")
    names = [sheet.name for sheet, _ in found if sheet.state == "visible"] or list(sheets)
    if len(names) > 1:
        other = f"for another: {path.name}#{names[1]}"
        warn(f"{path}: reading the first of its {len(names)} sheets, {names[0]!r}; {other}")
    return str(sheets[names[0]])


@contextmanager
def _tidy(path: Path) -> Iterator[None]:
    """Turn any failure to read a book into a one-line error: what a damaged one raises depends on where."""
    try:
        with tidy_reading(path):
            yield
    except (LimelightError, MemoryError, GeneratorExit):
        raise
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise damaged(f"{path} is not a readable .xlsx file ({reason})") from None
