"""What goes into an index: the texts of a table with their other columns, or the same in a list."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..errors import LimelightError, tidy_os_errors, warn
from ..storage.compression import check_file
from ..storage.json_file import to_json_values
from ..storage.open_files import open_regular
from ..tables.columns import choose_columns
from ..tables.formats import BadRowError, file_of
from ..tables.rows import check_text
from ..tables.table import column_names, read_values
from ..text.sentences import passage_spans, sentence_spans
from .keys import key_text

Row = str | Mapping[str, Any]  # a text, or one with columns
LONG_TEXT = 10_000  # characters: far more than one vector can say


class Corpus:
    """Texts to index, which can be read again from the start: a table, or texts in memory.

    >>> corpus = Corpus(["Good soup. Cold tea.", "Late train."])
    >>> [(entry["row"], entry["text"]) for entry in corpus.entries("sentences")]
    [(1, 'Good soup.'), (1, 'Cold tea.'), (2, 'Late train.')]
    >>> list(Corpus([{"text": "Good soup.", "stars": 4}]).entries())
    [{'text': 'Good soup.', 'row': 1, 'columns': {'stars': 4}}]
    """

    def __init__(
        self, given: str | Path | Iterable[Row], text: str | None = None, on_bad: str = "error",
        usual: str | None = None,
    ) -> None:  # fmt: skip
        self.on_bad, self.skipped = on_bad, 0
        self.key: str | None = None  # the column that names a row, in an index that has one
        self._texts: list[Any] | None = None
        if isinstance(given, str | os.PathLike):
            self.path = Path(given)
            check_file(file_of(self.path))
            self.name, self._where = self.path.name, str(given)
            if text is None and usual in column_names(self.path):  # the text column of the index so far
                text = usual
            self.text: str | None = choose_columns(self.path, text, need_label=False).text
            self._seen = self._stat()
            with tidy_os_errors(f"cannot read {self.path}"), open_regular(file_of(self.path)) as file:
                self.sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        else:
            self._texts = list(given)
            self.name, self._where = f"{len(self._texts):,} texts", "texts"
            self.text = text
            self.sha256 = hashlib.sha256(json.dumps(self._texts, default=str).encode()).hexdigest()

    def entries(self, unit: str = "texts") -> Iterator[dict[str, Any]]:
        """Each text, or each sentence or passage of it, with its row's number, from 1, and other columns."""
        for number, text, columns in self._rows():
            if unit == "texts":
                yield {"text": text, "row": number, "columns": columns}
                continue
            spans = list(sentence_spans(text) if unit == "sentences" else passage_spans(text))
            if not spans and self.key is not None:  # an update to a text without words replaces the row, too
                spans = [(0, len(text))]
            for start, end in spans:
                yield {"text": text[start:end], "row": number, "start": start, "columns": columns}

    def check(self, unit: str = "texts") -> None:
        """Raise if there is nothing to index, or at the first row that cannot be used."""
        columns = [] if self._texts is not None or self.key is None else column_names(self.path)
        if columns and self.key not in columns:
            fault = f"{self._where} has no column {self.key!r} to name its rows by"
            raise LimelightError(f"{fault}; its columns: {', '.join(columns)}", code="column-missing")
        long = sum(len(text) > LONG_TEXT for _, text, _ in self._rows())
        if next(self.entries(unit), None) is None:
            raise LimelightError(f"{self._where}: no {unit} to index", code="no-rows")
        if long and unit == "texts":
            which = f"{long:,} texts have" if long > 1 else "1 text has"
            todo = "with --passages (in Python: passages=True) the best passage is found and shown"
            warn(f"{self.name}: {which} more than {LONG_TEXT:,} characters; {todo}")

    def row_keys(self) -> Iterator[str]:
        """The keys of the rows."""
        return (key_text(columns.get(self.key or "")) or "" for _, _, columns in self._rows())

    def _rows(self) -> Iterator[tuple[int, str, dict[str, Any]]]:
        self.skipped, number, seen = 0, 0, dict[str, int]()
        for number, (text, columns) in enumerate(self._values(), 1):
            try:
                if isinstance(text, BadRowError):
                    raise text
                check_text(text, f"column {self.text!r}" if self.text else "it")
                if self.key is not None:
                    _check_key(self.key, columns.get(self.key), number, seen)
            except BadRowError as error:
                if self.on_bad == "error":
                    hint = "correct it, or skip such rows with --skip-bad (in Python: on_bad='skip')"
                    fault = f"{self._where}, row {number}: {error}; {hint}"
                    raise LimelightError(fault, code="row-unusable") from None
                self.skipped += 1
            else:
                yield number, text, columns
        if number == self.skipped:
            raise LimelightError(f"{self._where}: no texts to index", code="no-rows")
        if self._texts is None and self._stat() != self._seen:
            fault = f"{self.path} changed while it was being read; run this again"
            raise LimelightError(fault, code="file-changed")

    def _values(self) -> Iterator[tuple[Any, dict[str, Any]]]:
        if self._texts is not None:
            yield from (self._split_row(row) for row in self._texts)
            return
        assert self.text is not None
        others = [name for name in dict.fromkeys(column_names(self.path)) if name != self.text]
        for values in read_values(self.path, [self.text, *others]):
            if isinstance(values, BadRowError):
                yield values, {}
            else:
                kept = zip(others, values[1:], strict=True)
                yield values[0], {name: to_json_values(value, str) for name, value in kept}

    def _split_row(self, row: Any) -> tuple[Any, dict[str, Any]]:
        """The text of a row in memory, and its other columns."""
        if not isinstance(row, Mapping):
            return row, {}
        name = self.text or "text"
        others = {str(key): to_json_values(value, str) for key, value in row.items() if key != name}
        return row.get(name), others

    def _stat(self) -> tuple[int, int]:
        with tidy_os_errors(f"cannot read {self.path}"):
            found = os.stat(file_of(self.path))
        return found.st_size, found.st_mtime_ns


def _check_key(column: str, value: Any, number: int, seen: dict[str, int]) -> None:
    key = key_text(value)
    if key is None:
        raise BadRowError(f"its key, column {column!r}, must be text or a number")
    if seen.setdefault(key, number) != number:
        raise BadRowError(f"its key, {column} {key[:40]!r}, is that of row {seen[key]} too")
