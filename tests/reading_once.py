"""Counts how often each file is read: a file that is opened through here cannot go back."""

from __future__ import annotations

import io
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

SEEKING = (".parquet", ".xlsx")  # formats that begin at their end


class _Forward(io.FileIO):
    """A file that is read from its first byte to its last, as from a pipe."""

    def __init__(self, path: Path, counts: Counter[str]) -> None:
        super().__init__(path)
        self._counts = counts
        self._done = False

    def seekable(self) -> bool:
        return False

    def seek(self, *place: Any) -> int:
        raise io.UnsupportedOperation(f"{self.name} is read once")

    def readinto(self, buffer: Any) -> int:
        count = super().readinto(buffer) or 0
        if not count and not self._done:
            self._done = True
            self._counts[Path(str(self.name)).name] += 1
        return count


def count_passes(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """The files that were read to their end through `Path.open`, by name, and how often."""
    counts, original = Counter[str](), Path.open

    def opened(path: Path, mode: str = "r", *given: Any, **options: Any) -> Any:
        if mode != "rb" or path.suffix in SEEKING:
            return original(path, mode, *given, **options)
        return io.BufferedReader(_Forward(path, counts))

    monkeypatch.setattr(Path, "open", opened)
    return counts
