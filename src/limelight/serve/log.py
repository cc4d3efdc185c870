"""One line on standard error for each request and each event; never a text, nor anything else from a body."""

from __future__ import annotations

import sys
import time
from contextlib import suppress


def log(line: str) -> None:
    """Write a line with the time; a closed or full stream is no reason to stop serving.

    >>> log("small: loaded the new model")
    """
    if not line.isprintable():  # such as an error that quotes a name from someone's folder
        line = "".join(each if each.isprintable() else " " for each in line)
    moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    with suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(f"{moment} {line}\n")
        sys.stderr.flush()
