"""ONNX Runtime's errors, as the rest of the package sees them."""

from __future__ import annotations

import numpy as np
import pytest

from limelight.network.onnx.graph import Graph
from limelight.runtime.session import Session


class Failing:
    """In place of a session that fails as ONNX Runtime does, with types of its own."""

    def __init__(self, message: str) -> None:
        self.message = message

    def run(self, *given: object) -> None:
        raise type("Fail", (Exception,), {})(self.message)


def make_session() -> Session:
    graph = Graph("double")
    w = graph.weight("w", np.ones(2, np.float32))
    graph.output("y", graph.op("Mul", graph.input("x", "float32", 2), w), "float32", 2)
    return Session(graph)


@pytest.mark.parametrize(
    "message",
    ["bfc_arena.cc:360 Failed to allocate memory for requested buffer of size 4608000", "std::bad_alloc"],
)
def test_out_of_memory_is_a_memory_error(message):
    session = make_session()
    session._session = Failing(message)
    with pytest.raises(MemoryError):
        session.run({"x": np.ones(2, np.float32)}, "y")


def test_a_thread_that_cannot_be_started_is_a_memory_error(monkeypatch):
    def refuse(*given: object, **options: object) -> None:
        raise RuntimeError("env.cc:327 PosixThread::PosixThread pthread_create failed, error code: 11")

    monkeypatch.setattr("onnxruntime.InferenceSession", refuse)
    with pytest.raises(MemoryError):
        make_session()


def test_other_errors_stay_what_they_are():
    session = make_session()
    session._session = Failing("invalid feed")
    with pytest.raises(Exception, match="invalid feed") as found:
        session.run({}, "y")
    assert not isinstance(found.value, MemoryError)


def test_the_table_of_words_is_not_copied():
    graph, table = Graph("words"), np.arange(6, dtype=np.float32).reshape(3, 2)
    rows = graph.op("Gather", graph.weight("words.weight", table), graph.input("ids", "int32", "n"))
    graph.output("y", rows, "float32", "n", 2)
    session, ids = Session(graph), np.array([2], np.int32)
    assert session.run({"ids": ids}, "y")[0].tolist() == [[4, 5]]
    table[2] = 7, 8
    assert session.run({"ids": ids}, "y")[0].tolist() == [[7, 8]]
