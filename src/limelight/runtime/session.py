"""ONNX Runtime sessions that read a graph's weights in place."""

import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, TypeVar
from weakref import WeakSet

import numpy as np

# Nobody asked for its telemetry, and the thread that sends it makes every forked child hang on exit.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
import onnxruntime

from ..network.onnx.graph import Graph, Location

# Held while sessions and thread pools are started: threads share one, and a fork waits until it is complete.
start_lock = threading.Lock()
# Weights of which a text needs a few rows are given with every call, in place: a session would copy them.
TABLES = "words."
T = TypeVar("T")
# What the errors of ONNX Runtime say where memory, or a thread for want of it, cannot be had.
_NO_MEMORY = re.compile("Failed to allocate memory|bad.?alloc|PosixThread|Cannot allocate memory")


@contextmanager
def _memory_errors() -> Iterator[None]:
    """ONNX Runtime's own errors about memory as what they are in Python."""
    try:
        yield
    except Exception as error:
        if _NO_MEMORY.search(str(error)):
            raise MemoryError("ONNX Runtime is out of memory") from error
        raise


class locked_cached_property(cached_property[T]):  # noqa: N801 - used as a decorator
    """A cached property for several threads: the first one computes it, the others wait for it."""

    def __get__(self, instance: object, owner: type[Any] | None = None) -> T:  # type: ignore[override]
        with start_lock:
            return super().__get__(instance, owner)


class _Calls:
    """Calls of sessions in progress. A fork waits for their end: a child would inherit their locks."""

    def __init__(self) -> None:
        self.door, self.ended, self.inside = threading.Lock(), threading.Condition(threading.Lock()), 0

    def __enter__(self) -> None:
        with self.door, self.ended:
            self.inside += 1

    def __exit__(self, *_: object) -> None:
        with self.ended:
            self.inside -= 1
            self.ended.notify()

    def stop(self) -> None:
        """Let no call begin, and wait until none is left."""
        self.door.acquire()
        self.ended.acquire()
        self.ended.wait_for(lambda: not self.inside)

    def resume(self) -> None:
        self.ended.release()
        self.door.release()


_calls = _Calls()


class Session:
    """Runs a graph. Threads may share it; a single call may itself use several threads."""

    def __init__(self, graph: Graph, threads: int = 1) -> None:
        self._graph, self._threads = graph, threads  # kept: the session reads its weights in place
        self._tables = {name: array for name, array in graph.weights.items() if name.startswith(TABLES)}
        self._session: onnxruntime.InferenceSession | None = self._start()
        if threads > 1:
            _multithreaded.add(self)

    def _start(self) -> onnxruntime.InferenceSession:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = self._threads, 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = 4  # errors are raised; it need not log them too
        tensors = {name: a for name, a in self._graph.weights.items() if name not in self._tables}
        values = [onnxruntime.OrtValue.ortvalue_from_numpy(array) for array in tensors.values()]
        options.add_external_initializers(list(tensors), values)
        locations = {name: Location("memory", 0, array.nbytes) for name, array in tensors.items()}
        content = self._graph.to_bytes(locations, self._tables)
        with _memory_errors():
            return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])

    def run(self, feed: dict[str, np.ndarray], *outputs: str) -> list[np.ndarray]:
        session = self._session or self._restart()
        with _calls, _memory_errors():
            values: list[np.ndarray] = session.run(list(outputs), {**feed, **self._tables})
        return values

    def _restart(self) -> onnxruntime.InferenceSession:
        with start_lock:
            if self._session is None:
                self._session = self._start()
            return self._session


_multithreaded: WeakSet[Session] = WeakSet()


def _before_fork() -> None:
    """Stop sessions that have threads: a child has none of its parent's threads, but would wait for them."""
    start_lock.acquire()
    _calls.stop()
    for session in list(_multithreaded):
        session._session = None


def _after_fork() -> None:
    _calls.resume()
    start_lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
