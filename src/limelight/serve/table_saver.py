"""Writes the table of labels a moment after the last key: the journal has everything before that."""

from __future__ import annotations

import threading
from pathlib import Path

from ..errors import LimelightError
from ..labelling.session import LabelSession
from .metrics import log

PAUSE = 3.0  # seconds without a key


class TableSaver:
    """`table` is where the texts came from and `text` their column; without it there is a column `text`."""

    def __init__(
        self, session: LabelSession, out: str | Path, table: str | Path | None = None,
        text: str | None = None, pause: float = PAUSE,
    ) -> None:  # fmt: skip
        self.out, self._session, self._table, self._text = Path(out), session, table, text
        self._pause, self._lock = pause, threading.Lock()
        self._timer: threading.Timer | None = None

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
        return self._session.save(self.out, self._table, text=self._text)

    def close(self) -> None:
        """Write what is not written yet."""
        with self._lock:
            waiting, self._timer = self._timer, None
        if waiting is not None:
            waiting.cancel()
            self.save()

    def _save_soon(self) -> None:
        with self._lock:
            self._timer = None
        try:
            self.save()
        except (LimelightError, OSError) as error:  # such as a full disk: the journal has it all
            log(f"the table is not written: {error}")
