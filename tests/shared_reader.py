"""The bundled reader, opened once for many tests of what is done with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from limelight.network.modules import OURS
from limelight.runtime import folder, reader

_opened: dict[Any, folder.Parts] = {}  # by what was asked for
_started: dict[Any, reader.Reader] = {}


def share_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands and indexes that load the bundled reader get the same one; other models are loaded anew."""
    really_start = reader._start

    def open_folder(path: str | Path = "reader", sha256: str | None = None, modules: Any = OURS) -> Any:
        if not folder.is_reader(path):
            return folder.open_folder(path, sha256, modules)
        if (path, sha256) not in _opened:
            _opened[path, sha256] = folder.open_folder(path, sha256, modules)
        return _opened[path, sha256]

    def start(parts: folder.Parts, **options: Any) -> Any:
        if not any(parts is each for each in _opened.values()):
            return really_start(parts, **options)
        key = (id(parts), *sorted(options.items()))
        if key not in _started:
            _started[key] = really_start(parts, **options)
        return _started[key]

    monkeypatch.setattr(reader, "open_folder", open_folder)
    monkeypatch.setattr(reader, "_start", start)
