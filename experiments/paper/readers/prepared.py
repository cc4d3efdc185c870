"""The folder that every reader writes: train.jsonl, dev.jsonl, test.jsonl and about.json, all or nothing."""

from __future__ import annotations

import array
import contextlib
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np
from tqdm import tqdm

from limelight.errors import LimelightError
from limelight.storage.files import FolderLayout, atomic_folder

from .splits import SPLITS, Sizes, by_group, by_row

Item = TypeVar("Item")
Row = dict[str, str | int]
Parsed = Row | str  # a row, or the reason to drop it
About = dict[str, Any]
_TABLES = tuple(f"{split}.jsonl" for split in SPLITS)
LAYOUT = FolderLayout("a folder of prepared tables", ("about.json", *_TABLES), ())
MOST_UNUSABLE = 0.05  # with more unusable rows than this, it is the wrong file or damaged

BROKEN_JSON = "broken JSON"
NO_TEXT = "no text"
NOT_UNICODE = "not Unicode"

_encode = json.JSONEncoder(ensure_ascii=False).encode  # `dumps` would make one for every row


def json_object(line: bytes) -> dict[str, Any] | None:
    """Parse a line as a JSON object, or None. Bytes that are not UTF-8 are found later, in its texts.

    >>> json_object(b'{"stars": 4}'), json_object(b'{"stars": 4'), json_object(b"[4]")
    ({'stars': 4}, None, None)
    """
    try:
        found = json.loads(line.decode("utf-8", "surrogateescape"))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def text_problem(text: object) -> str | None:
    """Why a value cannot be used as a text, or None.

    >>> text_problem("Good soup."), text_problem("  "), text_problem("half a pair: \\ud83d")
    (None, 'no text', 'not Unicode')
    """
    if not isinstance(text, str) or not text or text.isspace():
        return NO_TEXT
    try:
        text.encode()
    except UnicodeEncodeError:
        return NOT_UNICODE
    return None


@contextlib.contextmanager
def prepared(
    out: str | Path, source: str, overwrite: bool, expected: Collection[str] = (), **about: Any
) -> Iterator[Tables]:
    """Write the three tables through `Tables`, then about.json; nothing is left if anything fails.

    `expected` are reasons to drop a row that belong to the data and are no sign of damage.

    >>> import tempfile
    >>> out = Path(tempfile.mkdtemp(), "data")
    >>> with prepared(out, "example", overwrite=False) as tables:
    ...     for split in SPLITS:
    ...         tables.copy(split, ["Good soup."], lambda text: {"text": text, "label": 5})
    >>> (out / "dev.jsonl").read_text()
    '{"text": "Good soup.", "label": 5}\\n'
    """
    with atomic_folder(out, LAYOUT, overwrite) as folder:
        with contextlib.ExitStack() as stack:
            files = {s: stack.enter_context(_new(folder / f"{s}.jsonl")) for s in SPLITS}
            tables = Tables(source, files, expected)
            yield tables
        tables.about = {"source": source, **about, **tables.about, **tables.counts()}
        (folder / "about.json").write_text(json.dumps(tables.about, indent=2) + "\n", encoding="utf-8")


class Tables:
    """The three tables being written, and the counts of dropped rows."""

    def __init__(self, source: str, files: dict[str, IO[str]], expected: Collection[str] = ()) -> None:
        self.about: About = {}
        self._source, self._files, self._expected = source, files, expected
        self._read = 0
        self._rows = dict.fromkeys(files, 0)
        self._dropped: Counter[str] = Counter()

    def copy(self, split: str, items: Iterable[Item], parse: Callable[[Item], Parsed]) -> None:
        """Write all items into a split that the distribution itself has."""
        for item in _progress(items, split):
            row = parse(item)
            if self._is_row(row):
                self._write(split, row)
        self._check()
        if not self._rows[split]:
            raise LimelightError(
                f"{self._source}: no usable rows for {split}{self._reasons()}", code="no-rows"
            )

    def split(
        self,
        items: Callable[[], Iterable[Item]],
        parse: Callable[[Item], Parsed],
        sizes: Sizes,
        seed: int,
        apart: str | None = None,
    ) -> None:
        """Write items into random splits; `apart` names a column whose values must not be shared by splits.

        In two passes, to hold a few bytes per row in memory and no text: the first finds the usable rows, the
        second writes those drawn, in the order of the source.
        """
        usable, groups = self._survey(items(), parse, apart)
        self._check()
        try:
            splits = by_group(usable, groups, sizes, seed) if apart else by_row(usable, sizes, seed)
        except LimelightError as error:
            raise LimelightError(f"{self._source}: {error}{self._reasons()}", code="no-rows") from None
        for item, split in zip(_progress(items(), "writing", len(splits)), splits.tobytes(), strict=False):
            if split:
                self._write(SPLITS[split - 1], parse(item))

    def counts(self) -> About:
        """The row counts for about.json; `not_drawn` rows are usable, but beyond the sizes asked for."""
        not_drawn = self._read - sum(self._rows.values()) - self._dropped.total()
        return {"rows": self._rows, "not_drawn": not_drawn, "dropped": dict(sorted(self._dropped.items()))}

    def _survey(
        self, items: Iterable[Item], parse: Callable[[Item], Parsed], apart: str | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Which items are rows, and for `apart` the number of each row's group."""
        usable, groups = bytearray(), array.array("q")
        numbers: dict[str | int, int] = {}
        for item in _progress(items, "checking"):
            row = parse(item)
            usable.append(self._is_row(row))
            if apart:
                groups.append(0 if isinstance(row, str) else numbers.setdefault(row[apart], len(numbers)))
        return np.frombuffer(usable, dtype=bool), np.array(groups, dtype=np.int64)

    def _is_row(self, row: Parsed) -> bool:
        self._read += 1
        if isinstance(row, str):
            self._dropped[row] += 1
        return not isinstance(row, str)

    def _write(self, split: str, row: Parsed) -> None:
        if isinstance(row, str):
            raise LimelightError(
                f"{self._source}: the files changed while they were read; start again", code="source-changed"
            )
        self._files[split].write(_encode(row) + "\n")
        self._rows[split] += 1

    def _check(self) -> None:
        """Raise if so many rows are unusable that this must be the wrong file."""
        unusable = sum(count for reason, count in self._dropped.items() if reason not in self._expected)
        if unusable > MOST_UNUSABLE * self._read:
            raise LimelightError(
                f"{self._source}: {unusable:,} of {self._read:,} rows cannot be used{self._reasons()}; "
                "check that this is the right file, and complete",
                code="source-damaged",
            )

    def _reasons(self) -> str:
        reasons = ", ".join(f"{reason}: {count:,}" for reason, count in self._dropped.most_common(4))
        return f" ({reasons})" if reasons else ""


def _new(path: Path) -> IO[str]:
    return open(path, "w", encoding="utf-8", newline="\n")


def _progress(items: Iterable[Item], what: str, total: int | None = None) -> Iterable[Item]:
    """A bar on a terminal, nothing elsewhere."""
    bar: Iterable[Item] = tqdm(items, desc=what, total=total, unit=" rows", unit_scale=True, disable=None)
    return bar
