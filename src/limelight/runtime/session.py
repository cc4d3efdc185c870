"""A graph, running: ONNX Runtime over weights that stay where they are."""

from __future__ import annotations

import os
from weakref import WeakSet

import numpy as np

# Nobody asked for its telemetry; and the thread that sends it makes every forked child hang when it ends.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
import onnxruntime

from .onnx_file import Graph, Place


class Session:
    """Runs a graph. Safe to call from several threads at once; each call may itself use several.

    >>> graph = Graph("double")
    >>> w = graph.weight("w", np.ones(2, np.float32))
    >>> graph.output("y", graph.op("Mul", graph.input("x", "float32", 2), w), "float32", 2)
    >>> Session(graph).run({"x": np.array([3, 4], np.float32)}, "y")[0].tolist()
    [3.0, 4.0]
    """

    def __init__(self, graph: Graph, threads: int = 1) -> None:
        self._graph, self._threads = graph, threads  # kept: the session reads its weights in place
        self._session: onnxruntime.InferenceSession | None = self._start()
        if threads > 1:
            _with_threads.add(self)

    def _start(self) -> onnxruntime.InferenceSession:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = self._threads, 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = 3
        tensors = self._graph.weights
        values = [onnxruntime.OrtValue.ortvalue_from_numpy(array) for array in tensors.values()]
        options.add_external_initializers(list(tensors), values)
        places = {name: Place("memory", 0, array.nbytes) for name, array in tensors.items()}
        content = self._graph.to_bytes(places)
        return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])

    def run(self, feed: dict[str, np.ndarray], *outputs: str) -> list[np.ndarray]:
        """The named outputs."""
        session = self._session
        if session is None:  # there was a fork
            session = self._session = self._start()
        values: list[np.ndarray] = session.run(list(outputs), feed)
        return values


_with_threads: WeakSet[Session] = WeakSet()


def _stop() -> None:
    """A forked child has none of its parent's threads, but would wait for them; so both start their own."""
    for session in list(_with_threads):
        session._session = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_stop)
