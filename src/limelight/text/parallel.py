"""Work that several cores share: how many there are, and results in the order of what was asked."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from typing import TypeVar

Item = TypeVar("Item")
T = TypeVar("T")


def count_cores() -> int:
    """The cores this process may use; a container often gives fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_order(submit: Callable[[Item], Future[T]], items: Iterable[Item], ahead: int) -> Iterator[T]:
    """The results of all items, in order, with some items submitted ahead of the one that is waited for.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> with ThreadPoolExecutor(2) as threads:
    ...     list(in_order(lambda x: threads.submit(abs, x), [-1, 2, -3], ahead=2))
    [1, 2, 3]
    """
    pending = deque[Future[T]]()
    for item in items:
        pending.append(submit(item))
        if len(pending) > ahead:
            yield pending.popleft().result()
    while pending:
        yield pending.popleft().result()
