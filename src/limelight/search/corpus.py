"""What goes into an index: the texts of a table with their other columns, or the same in a list."""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..errors import LimelightError, bad_value, no_rows, tidy_os_errors, warn
from ..storage.compression import check_file
from ..storage.json_file import to_json_values
from ..tables.aside import Aside
from ..tables.columns import choose_columns
from ..tables.formats import BadRowError, file_of
from ..tables.rows import check_text
from ..tables.table import open_table
from ..text.splitting import passage_spans, sentence_spans
from .shards import key_text

Row = str | Mapping[str, Any]  # a text, or one with columns
LONG_TEXT = 10_000  # characters: far more than one vector can say
_encode = json.JSONEncoder(ensure_ascii=False).encode


class Corpus:
    """Texts to index: a table, or texts in memory. `check` reads them, once."""

    def __init__(
        self, given: str | Path | Iterable[Row], text: str | None = None, on_bad: str = "error",
        usual: str | None = None,
    ) -> None:  # fmt: skip
        self.text, self._usual, self.on_bad = text, usual, on_bad
        self.key: str | None = None  # the column that names a row, in an index that has one
        self.keys: dict[str, int] = {}  # those of the rows, with their numbers
        self.sha256, self.skipped, self._long, self._given = "", 0, 0, given
        self._rows: Aside | None = None
        self.path = Path(given) if isinstance(given, str | os.PathLike) else None
        if self.path is not None:
            check_file(file_of(self.path))
            self.name, self._where = self.path.name, str(given)
        elif not isinstance(given, Iterable):
            raise bad_value(f"the corpus is of type {type(given).__name__}; give a table's path or texts")
        else:
            self.name = self._where = "texts"

    def check(self, unit: str = "texts", folder: Path | None = None) -> None:
        """Read everything and put it aside, beside a folder. Raise if there is nothing to index, or at the
        first row that cannot be used."""
        place = folder and next(each for each in folder.resolve().parents if each.is_dir())
        self._rows, digest = Aside(self._where, place), hashlib.sha256()
        for row, line in self._read():
            self._rows.append(row)
            digest.update(line + b"\n")
        self.sha256 = digest.hexdigest()
        if next(self.entries(unit), None) is None:
            raise no_rows(f"{self._where}: no {unit} to index")
        if self._long and unit == "texts":
            which = f"{self._long:,} texts have" if self._long > 1 else "1 text has"
            todo = "with --passages (in Python: passages=True) the best passage is found and shown"
            warn(f"{self.name}: {which} more than {LONG_TEXT:,} characters; {todo}")

    def close(self) -> None:
        """Forget what was put aside."""
        if self._rows is not None:
            self._rows.close()

    def entries(self, unit: str = "texts") -> Iterator[dict[str, Any]]:
        """Each text, or each sentence or passage of it, with its row's number, from 1, and other columns."""
        for number, text, columns in self._rows or ():
            if unit == "texts":
                yield {"text": text, "row": number, "columns": columns}
                continue
            spans = list(sentence_spans(text) if unit == "sentences" else passage_spans(text))
            if not spans and self.key is not None:  # an update to a text without words replaces the row, too
                spans = [(0, len(text))]
            for start, end in spans:
                yield {"text": text[start:end], "row": number, "start": start, "columns": columns}

    def _read(self) -> Iterator[tuple[list[Any], bytes]]:
        """The number, text and columns of each row that can be used; and the same as JSON."""
        number = 0
        for number, (text, columns) in enumerate(self._values(), 1):
            try:
                if isinstance(text, BadRowError):
                    raise text
                text = check_text(text, f"column {self.text!r}" if self.text else "it")
                found = self._line(number, text, columns)
            except BadRowError as error:
                if self.on_bad == "error":
                    hint = "correct it, or skip such rows with --skip-bad (in Python: on_bad='skip')"
                    fault = f"{self._where}, row {number}: {error}; {hint}"
                    raise LimelightError(fault, code="row-unusable") from None
                self.skipped += 1
            else:
                self._long += len(text) > LONG_TEXT
                yield found
        if number == self.skipped:
            raise no_rows(f"{self._where}: no texts to index")
        if self.path is None:
            self.name = f"{number:,} texts"

    def _line(self, number: int, text: str, columns: dict[str, Any]) -> tuple[list[Any], bytes]:
        try:
            columns = {str(name): to_json_values(value, str) for name, value in columns.items()}
            row = [number, text, columns]
            line = _encode(row)
        except (ValueError, RecursionError):
            fault = "a column has a number of thousands of digits, or lists that are nested too deeply"
            raise BadRowError(fault) from None
        if self.key is not None:
            key = key_text(columns.get(self.key))
            if key is None:
                raise BadRowError(f"its key, column {self.key!r}, must be text or a number")
            if self.keys.setdefault(key, number) != number:
                raise BadRowError(f"its key, {self.key} {key[:40]!r}, is that of row {self.keys[key]} too")
        return row, line.encode("utf-8", "surrogatepass")

    def _values(self) -> Iterator[tuple[Any, dict[str, Any]]]:
        """The text of each row, or what is wrong with it, and its other columns."""
        if self.path is None:
            assert not isinstance(self._given, str | Path)
            name = self.text or "text"
            for row in self._given:
                if isinstance(row, Mapping):
                    yield row.get(name), {key: value for key, value in row.items() if key != name}
                else:
                    yield row, {}
            return
        before = self._stat()
        with open_table(self.path) as table:
            if self.text is None and self._usual in table.names:  # the text column of the index so far
                self.text = self._usual
            self.text = choose_columns(table, self.text, need_label=False).text
            if self.key is not None and self.key not in table.names:
                fault = f"{self._where} has no column {self.key!r} to name its rows by"
                raise LimelightError(f"{fault}; its columns: {', '.join(table.names)}", code="column-missing")
            others = [name for name in dict.fromkeys(table.names) if name != self.text]
            for values in table.rows([self.text, *others]):
                if isinstance(values, BadRowError):
                    yield values, {}
                else:
                    yield values[0], dict(zip(others, values[1:], strict=True))
        if self._stat() != before:
            fault = f"{self.path} changed while it was being read; run this again"
            raise LimelightError(fault, code="file-changed")

    def _stat(self) -> tuple[int, int]:
        assert self.path is not None
        with tidy_os_errors(f"cannot read {self.path}"):
            found = os.stat(file_of(self.path))
        return found.st_size, found.st_mtime_ns
