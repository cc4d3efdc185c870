"""Exchanging two names in one step, where the system can."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

_AT_FDCWD = -100  # paths are relative to the working folder
_RENAME_EXCHANGE = 2


def exchange(one: Path, other: Path) -> bool:
    """Let two existing files or folders trade names; False where that is not possible, and nothing changed.

    Linux can, on most of its file systems; there is no moment at which one of the names is missing.

    >>> exchange(Path("no such folder"), Path("nor this one"))
    False
    """
    if sys.platform != "linux":
        return False
    try:
        renameat2 = ctypes.CDLL(None).renameat2
    except (OSError, AttributeError):  # a C library older than 2018, or another one
        return False
    return bool(renameat2(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0)
