"""A graph, running: ONNX Runtime over weights that stay where they are."""

from __future__ import annotations

import numpy as np
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
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = 3
        self._tensors = graph.weights  # the session reads their memory and does not own it
        values = [onnxruntime.OrtValue.ortvalue_from_numpy(array) for array in self._tensors.values()]
        options.add_external_initializers(list(self._tensors), values)
        places = {name: Place("memory", 0, array.nbytes) for name, array in self._tensors.items()}
        self._session = onnxruntime.InferenceSession(
            graph.to_bytes(places), options, providers=["CPUExecutionProvider"]
        )

    def run(self, feed: dict[str, np.ndarray], *outputs: str) -> list[np.ndarray]:
        """The named outputs."""
        values: list[np.ndarray] = self._session.run(list(outputs), feed)
        return values
