"""How much memory there is: what cannot fit is refused before it is tried."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from ..errors import LimelightError

UNKNOWN = 2**63
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")  # of a container


def total_memory() -> int:
    """Bytes this process can have at most: the machine's memory, or a container's share of it.

    >>> total_memory() > 2**20
    True
    """
    limits = [UNKNOWN]
    with suppress(AttributeError, ValueError, OSError):  # not on Windows
        limits.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for path in _LIMITS:
        with suppress(OSError, ValueError):  # no such file, or "max"
            limits.append(int(Path(path).read_text()))
    return min(limits)


def check_memory(need: int, what: str, todo: str = "use a machine with more") -> None:
    """Raise if something needs more memory than there is.

    >>> check_memory(10**15, "this network")
    ... # doctest: +ELLIPSIS
    Traceback (most recent call last):
    limelight.errors.LimelightError: this network needs at least 931,322 GiB of memory, there are ...; use ...
    """
    if need > (have := total_memory()):
        needs = f"needs at least {min(need, 2**90) // 2**30:,} GiB of memory"
        raise LimelightError(f"{what} {needs}, there are {have // 2**30:,}; {todo}", code="memory")
