"""Writes the table of labels a moment after the last key: the journal has everything before that."""

from __future__ import annotations

import shlex
import threading
from itertools import chain, count
from pathlib import Path

from ...errors import LimelightError, tidy_os_errors
from ...labelling.journal import journal_of
from ...labelling.save import SEPARATOR
from ...labelling.session import LabelSession
from ...tables.writers import LISTS, format_of
from ...text.tasks import MULTI_LABEL, ORDINAL
from ..http.metrics import log

PAUSE = 3.0  # seconds without a key
_FOR_CSV = ("cell-unusable", "sheet-full")  # what only Excel cannot hold


class TableSaver:
    """`table` is where the texts came from and `text` their column; without it there is a column `text`."""

    def __init__(
        self, session: LabelSession, out: str | Path, table: str | Path | None = None,
        text: str | None = None, pause: float = PAUSE,
    ) -> None:  # fmt: skip
        self.out, self._session, self._table, self._text = Path(out), session, table, text
        self._pause, self._lock, self._saving = pause, threading.Lock(), threading.Lock()
        self._timer: threading.Timer | None = None
        self.fault = ""  # why the table could not be written when it was tried last

    @property
    def source(self) -> dict[str, str]:
        """The table of the texts and their column, empty for texts of a list: the page says how to go on."""
        return {"table": str(self._table or ""), "text": self._text or ""}

    def train_command(self) -> str:
        """What to type to train on the table; words that were marked are learnt as reasons."""
        session, lists = self._session, format_of(self.out) in LISTS
        parts = ["limelight", "train", str(self.out), "--text", self._text or "text"]
        parts += ["--label", "labels" if session.several and lists else "label"]
        if session.several or session.ordered:
            parts += ["--task", (MULTI_LABEL if session.several else ORDINAL).name]
        if any(session.marks(row) for row in range(len(session.texts))):
            parts += ["--reasons", "marks"]
        if session.several and not lists:
            parts += ["--separator", SEPARATOR]
        model = self.out.with_name(f"{self.out.name.split('.')[0]}-model")
        return shlex.join([*parts, "--out", str(model)])

    def touch(self) -> None:
        """Something was said: write it soon."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = threading.Timer(self._pause, self._save_soon)
            self._timer.daemon = True
            self._timer.start()

    def save(self) -> int:
        """Write the table now; the number of its rows."""
        try:
            with self._saving, tidy_os_errors(f"cannot write {self.out}"):  # an older state never comes last
                rows = self._session.save(self.out, self._table, text=self._text)
        except LimelightError as error:
            self.fault = f"{error}; {self._way_out(error.code)}"
            raise LimelightError(self.fault, code=error.code) from error
        self.fault = ""
        return rows

    def close(self) -> int:
        """Write the table for the last time; the number of its rows."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
        return self.save()

    def _save_soon(self) -> None:
        try:
            self.save()
        except LimelightError as error:  # such as a full disk: the page says it, too
            log(f"the table is not written: {error}")

    def _way_out(self, code: str) -> str:
        journal = journal_of(self.out)
        if code not in _FOR_CSV:
            return f"all labels are in {journal}"
        ends = chain([""], (f"-{k}" for k in count(2)))
        names = (self.out.with_name(f"{self.out.stem}{end}.csv") for end in ends)
        other = next(name for name in names if not name.exists() and not journal_of(name).exists())
        return f"all labels are in {journal}: rename it to {journal_of(other).name} and give --out {other}"
