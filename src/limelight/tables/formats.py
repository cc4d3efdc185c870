"""The formats of tables, how long a row may be, and names and values in error messages."""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, AnyStr, Generic

from ..errors import LimelightError, bad_value
from ..storage.compression import COMPRESSIONS

FORMATS = {
    ".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json",
    ".parquet": "parquet", ".xlsx": "xlsx", ".txt": "lines",
}  # fmt: skip
_COMPRESSED_ALREADY = ("parquet", "xlsx")


class BadRowError(Exception):
    """What is wrong with a row, without its file and number."""


def table_format(path: Path) -> str:
    """The format of a table, by its file name."""
    suffixes = [suffix.lower() for suffix in file_of(path).suffixes]
    compressed = suffixes.pop() if suffixes and suffixes[-1] in COMPRESSIONS else ""
    found = FORMATS.get(suffixes[-1] if suffixes else "")
    if found is None or (compressed and found in _COMPRESSED_ALREADY):
        raise LimelightError(
            f"{path} is not a table; its name must end in .csv, .tsv, .jsonl, .json, .parquet, .xlsx or .txt "
            f"(all but parquet and xlsx also with {', '.join(COMPRESSIONS)} after it)",
            code="table-format",
        )
    return found


def split_sheet(path: Path) -> tuple[Path, str]:
    """The file and the sheet that a path names; without one, ""."""
    found = re.fullmatch(r"(.+\.xlsx)#(.+)", path.name, re.IGNORECASE)
    return (path.with_name(found[1]), found[2]) if found else (path, "")


def file_of(path: Path) -> Path:
    """The file that a path names, without the sheet in it."""
    return split_sheet(path)[0]


def max_row() -> int:
    """The most characters of a row of a table: a few compressed bytes can become gigabytes."""
    stated = os.environ.get("LIMELIGHT_MAX_ROW", str(2**24))
    if not re.fullmatch("[1-9][0-9]{0,14}", stated):
        raise bad_value(f"LIMELIGHT_MAX_ROW is {shorten(stated)!r}; it must be a number of characters")
    return int(stated)


class BoundedLines(Generic[AnyStr]):
    """The lines of a file. A row, which may take several, is an error if it is longer than `max_row`.

    `number` is that of the last line, `begin` that of the first one of its row.
    """

    def __init__(self, file: IO[AnyStr], name: str | Path) -> None:
        self.limit, self.number, self.begin = max_row(), 0, 1
        self._file: IO[AnyStr] = file
        self._name, self._held = name, 0

    def start_row(self) -> None:
        """What follows belongs to the next row."""
        self._held, self.begin = 0, self.number + 1

    def __iter__(self) -> Iterator[AnyStr]:
        readline, most = self._file.readline, self.limit + 1
        while line := readline(most):
            self.number += 1
            self._held += len(line)
            if self._held > self.limit:
                raise LimelightError(
                    f"{self._name}, line {self.begin}: a row of more than {self.limit:,} characters; if that "
                    "is right, allow more with the environment variable LIMELIGHT_MAX_ROW",
                    code="row-too-long",
                )
            yield line


def join_names(names: Sequence[str]) -> str:
    """Names for an error message, shortened to a line."""
    shown = ", ".join(shorten(" ".join(name.split())) for name in names[:20])
    return shown + (f" and {len(names) - 20} more" if len(names) > 20 else "")


def shorten(text: str) -> str:
    """The beginning of a text, for an error message."""
    return text if len(text) <= 40 else text[:37] + "..."
