"""The model as people call it: order, batches, threads, readings, labels, bad input."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import trained
from drawing import examples
from limelight.errors import LimelightError
from limelight.network.onnx.arithmetic import Int8
from limelight.network.onnx.graph import Graph
from limelight.reading.reading import PairReading, Reading
from limelight.runtime import onnx_runner as runner
from limelight.runtime import runner as any_runner
from limelight.runtime.folder import BUNDLED
from limelight.runtime.model import Model
from limelight.runtime.reader import Reader
from limelight.runtime.session import Session
from refusing import refuses
from trained import ARCHITECTURES, PAIRS, network_of, recipe_of, texts_of, weights_of

LABELS = ("bad", "fair", "good")


def model_of(options: dict[str, Any] | None = None, pair: str | None = None, **how: Any) -> Model:
    recipe = recipe_of(options or {}, pair)
    weights = weights_of(network_of(recipe, pair is not None))
    parts = {"recipe": recipe, "tokenizer": trained.tokenizer(), "labels": LABELS, "pair": pair is not None}
    return Model.from_parts(weights=weights, **{**parts, **how})


@cache
def with_threads(threads: int, precision: str = "float32") -> Model:
    return model_of(threads=threads, precision=precision)


def torch_outputs(options: dict[str, Any], pair: str | None, *columns: list[str]) -> list[tuple[Any, ...]]:
    """One text or pair at a time through PyTorch: probabilities, M, A, ..."""
    network, words = network_of(recipe_of(options, pair), pair is not None), trained.tokenizer()
    results = []
    for row in zip(*columns, strict=True):
        ids = [torch.from_numpy(words.locate(text)[0]).long()[None] for text in row]
        with torch.no_grad():
            out = network(*(x for i in ids for x in (i, torch.tensor([i.shape[1]]))))
        results.append((out.logits.softmax(1)[0].numpy(), *(x[0].numpy() for x in out[1:] if x is not None)))
    return results


@pytest.mark.parametrize(
    ("options", "expected"), [({"max_row": True}, True), ({}, False), ({"pooling": "max"}, False)]
)
def test_a_reading_says_whether_its_last_row_is_the_max_pooled_one(options, expected: bool) -> None:
    assert model_of(options).read("good soup").max_row is expected


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_texts_as_pytorch_reads_them_one_by_one(name: str) -> None:
    texts = texts_of(25)
    model, expected = model_of(ARCHITECTURES[name]), torch_outputs(ARCHITECTURES[name], None, texts)
    P, M = model.predict_proba(texts, batch_words=50), model.embed(texts, batch_words=50)
    for k, (reading, (p, m, a)) in enumerate(zip(model.read_many(texts), expected, strict=True)):
        np.testing.assert_allclose(P[k], p, rtol=0, atol=1e-5)
        np.testing.assert_allclose(M[k], m, rtol=0, atol=1e-5)
        np.testing.assert_allclose(reading.attention, a, rtol=0, atol=1e-5)
        np.testing.assert_allclose(reading.embedding, m, rtol=0, atol=1e-5)
        np.testing.assert_allclose(reading.probabilities, p, rtol=0, atol=1e-5)


@pytest.mark.parametrize("pair", ["gated", "concat", "vectors"])
def test_pairs_as_pytorch_reads_them_one_by_one(pair: str) -> None:
    texts, texts2 = texts_of(20), texts_of(20, seed=1)
    model, expected = model_of(pair=pair), torch_outputs({}, pair, texts, texts2)
    P = model.predict_proba(texts, texts2, batch_words=50)
    for k, (reading, (p, m, a, m2, a2)) in enumerate(
        zip(model.read_many(texts, texts2), expected, strict=True)
    ):
        assert isinstance(reading, PairReading)
        np.testing.assert_allclose(P[k], p, rtol=0, atol=1e-5)
        np.testing.assert_allclose(reading.probabilities, p, rtol=0, atol=1e-5)
        for side, m_k, a_k in ((reading.first, m, a), (reading.second, m2, a2)):
            np.testing.assert_allclose(side.embedding, m_k, rtol=0, atol=1e-5)
            np.testing.assert_allclose(side.attention, a_k, rtol=0, atol=1e-5)


@examples(30)
@given(
    lengths=st.lists(st.integers(0, 40), min_size=1, max_size=40),
    budget=st.integers(1, 500),
    threads=st.integers(1, 4),
    precision=st.sampled_from(["float32", "int8"]),
)
def test_same_text_same_embedding_in_any_batch(
    lengths: list[int], budget: int, threads: int, precision: str
) -> None:
    texts = [" ".join(trained.WORDS[(k + t) % 40] for t in range(n)) for k, n in enumerate(lengths)]
    together = with_threads(threads, precision).embed(texts, batch_words=budget)
    alone = np.concatenate([with_threads(1, precision).embed([text]) for text in texts[:5]])
    np.testing.assert_allclose(together[:5], alone, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", ARCHITECTURES)
@pytest.mark.parametrize("pair", PAIRS)
def test_same_text_same_int8_answer_beside_others(
    name: str, pair: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also beside a long text, and with every product in int8, as in large models."""
    monkeypatch.setattr(Int8, "SMALL", 0)
    model = model_of(ARCHITECTURES[name], pair, precision="int8", threads=1)
    texts = [*texts_of(12), " ".join(trained.WORDS * 12)]
    columns = [texts] if pair is None else [texts, texts[::-1]]
    together = model.predict_proba(*columns, batch_words=10**5)
    for k in range(4):
        alone = model.predict_proba(*([column[k]] for column in columns))[0]
        np.testing.assert_allclose(together[k], alone, rtol=0, atol=1e-6)
    np.testing.assert_allclose(model.embed(texts, batch_words=10**5)[0], model.embed(texts[:1])[0], atol=1e-6)


def test_the_threads_are_for_one_call_at_a_time() -> None:
    """Another does its work itself rather than wait: a short text behind a long one would take as long."""
    model, texts = with_threads(2), [text * 30 for text in ("w1 ", "w2 ", "w3 ")]
    with model._runner.pool() as pool, model._runner.pool() as other:
        assert pool is not None
        assert other is None
        busy = model.embed(texts, batch_words=30)
    assert (busy == model.embed(texts, batch_words=30)).all()
    with model._runner.pool() as again:
        assert again is pool


@pytest.mark.parametrize(
    "name", [name for name, options in ARCHITECTURES.items() if not {"cnn", "words"} & set(options.values())]
)
@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_two_directions_in_two_threads(name: str, precision: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A single batch that is large runs so, and gives what it gives in one thread."""
    texts = texts_of(6)
    one, two = (model_of(ARCHITECTURES[name], precision=precision, threads=n) for n in (1, 2))
    M, A = one.embed(texts), one.read(texts[0]).attention
    monkeypatch.setattr(runner, "TWO_THREADS", 0)
    monkeypatch.delattr(runner.OnnxRunner, "encoder")  # only the other way is left
    np.testing.assert_allclose(two.embed(texts), M, rtol=0, atol=1e-6)
    np.testing.assert_allclose(two.read(texts[0]).attention, A, rtol=0, atol=1e-6)


def test_embedding_keeps_the_order_over_many_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = texts_of(200)
    whole = model_of().embed(texts)
    monkeypatch.setattr(any_runner, "CHUNK_TEXTS", (7, 7))
    np.testing.assert_allclose(model_of().embed(texts), whole, rtol=0, atol=1e-6)
    np.testing.assert_allclose(model_of().embed(iter(texts)), whole, rtol=0, atol=1e-6)
    streamed = list(model_of().embed_stream(iter(texts)))
    assert [len(part) for part in streamed] == [7] * 28 + [4]
    assert model_of().embed(texts, flat=True).shape == (200, 3 * 12)


def test_progress_counts_texts(capsys: pytest.CaptureFixture[str]) -> None:
    model_of().predict(texts_of(30), progress=True)
    assert "30/30" in capsys.readouterr().err
    model_of().predict(texts_of(30))
    assert capsys.readouterr().err == ""


def test_int8_is_near_and_keeps_the_order() -> None:
    texts = texts_of(60)
    exact, near = model_of(), model_of(precision="int8")
    assert np.abs(near.predict_proba(texts) - exact.predict_proba(texts)).mean() < 0.01
    assert np.abs(near.embed(texts, batch_words=40) - exact.embed(texts)).mean() < 0.01


def test_streams_read_no_further_than_they_must(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(any_runner, "CHUNK_TEXTS", (5, 5))
    taken = []

    def endless() -> Any:
        while True:
            taken.append(1)
            yield "w1 w2"

    for stream in (model_of().embed_stream(endless()), model_of().predict_proba_stream(endless())):
        taken.clear()
        assert len(next(stream)) == 5
        assert len(taken) == 5
        stream.close()


def test_each_sentence_of_a_pair_is_encoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    model, encoded = model_of(pair="gated"), []
    run = Session.run

    def counting(self: Session, feed: dict[str, np.ndarray], *outputs: str) -> list[np.ndarray]:
        encoded.append(len(feed.get("lengths", ())))
        return run(self, feed, *outputs)

    monkeypatch.setattr(Session, "run", counting)
    hypotheses = texts_of(50, seed=3)
    premise = "w1 w2 w3 w4"
    P = model.predict_proba([premise] * 50, hypotheses)
    assert sum(encoded) == len({premise, *hypotheses})
    np.testing.assert_allclose(P[7], model.predict_proba([premise], [hypotheses[7]])[0], rtol=0, atol=1e-6)


@pytest.mark.parametrize("labels", [("a", "b", "c"), (1, 2, 5), (0.5, 1.5, 2.5), np.array([3, 1, 2])])
def test_labels_come_back_as_they_went_in(labels: Any) -> None:
    texts = texts_of(30)
    found = model_of(labels=labels).predict(texts)
    best = model_of().predict_proba(texts).argmax(axis=1)
    assert found == [list(labels)[k] for k in best]
    assert {type(x) for x in found} == {type(np.asarray(labels)[0].item())}


def test_reading_knows_words_offsets_and_the_unknown() -> None:
    reading = model_of().read("W1, unheard w2!")
    assert isinstance(reading, Reading)
    assert reading.words == ("W1", ",", "unheard", "w2", "!")
    assert reading.known.tolist() == [True, False, False, True, False]
    assert reading.attention.shape == (3, 5)
    np.testing.assert_allclose(reading.attention.sum(axis=1), 1, atol=1e-6)
    assert reading.label in LABELS


def test_texts_are_cut_where_the_recipe_says() -> None:
    model, whole = model_of({"max_length": 4}), model_of()
    long = "w1 w2 w3 w4 w5 w6"
    np.testing.assert_allclose(model.embed([long, "w9"]), whole.embed(["w1 w2 w3 w4", "w9"]), atol=1e-6)
    assert model.read(long).words == ("w1", "w2", "w3", "w4")


def test_nothing_gives_nothing() -> None:
    assert model_of().predict_proba([]).shape == (0, 3)
    assert model_of().embed([]).shape == (0, 3, 12)
    assert model_of().embed([], flat=True).shape == (0, 36)
    assert model_of().predict([]) == []
    assert model_of().read_many([]) == []
    assert model_of(pair="gated").predict_proba([], []).shape == (0, 3)
    assert model_of(pair="gated").read_many([], []) == []


def test_a_text_without_words_is_one_unknown() -> None:
    P = model_of().predict_proba(["", "   ", "unheard"])
    np.testing.assert_allclose(P[0], P[2], atol=1e-6)
    np.testing.assert_allclose(P[1], P[2], atol=1e-6)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_a_reading_without_words_is_of_numbers(name: str) -> None:
    empty, unknown = model_of(ARCHITECTURES[name]).read_many(["", "unheard"])
    assert np.isfinite(empty.embedding).all()
    for part in ("embedding", "attention", "overall", "probabilities"):
        np.testing.assert_allclose(getattr(empty, part), getattr(unknown, part), atol=1e-6)


def test_a_document_of_100_000_words() -> None:
    words = [trained.WORDS[k % 40] for k in range(100_000)]
    model = model_of({"hidden": 2, "word_size": 2})
    M = model.embed([" ".join(words), "w1 w2"])
    assert np.isfinite(M).all()
    np.testing.assert_allclose(M[1], model.embed(["w1 w2"])[0], atol=1e-6)


class Liar:
    """Says another length than it has."""

    def __len__(self) -> int:
        return 9

    def __iter__(self) -> Iterator[str]:
        return iter(["w1"])


def test_columns_of_arrow_are_taken() -> None:
    model, texts = model_of({"hidden": 2, "word_size": 2}), ["w1 w2", "w3"]
    for column in (pa.array(texts), pa.chunked_array([texts[:1], texts[1:]])):
        np.testing.assert_array_equal(model.predict_proba(column), model.predict_proba(texts))
        assert [reading.text for reading in model.read_many(column)] == texts


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.predict("one text"), "expected a list of texts; got one text"),
        (lambda m: m.predict(["good", None]), "text 1 is None, of type NoneType"),
        (lambda m: m.predict(None), "expected a list or a column of texts, not NoneType"),
        (lambda m: m.predict(3), "expected a list or a column of texts, not int"),
        (lambda m: m.read_many(None), "expected a list or a column of texts, not NoneType"),
        (lambda m: m.embed([b"bytes"]), "of type bytes; every text must be a string"),
        (lambda m: m.predict(pd.DataFrame({"text": ["a"] * 9})), "a column of texts, not DataFrame"),
        (lambda m: m.predict({"a": "b"}), "a column of texts, not dict"),
        (lambda m: m.predict({"a"}), "a column of texts, not set"),
        (lambda m: m.embed(Liar()), "is 9, but they yield 1"),
        (lambda m: m.predict(["a"], ["b"]), "reads single texts, not pairs"),
        (lambda m: m.read("a", "b"), "reads single texts, not pairs"),
        (lambda m: m.embed(["a"], batch_words=0), "batch_words is 0; it must be at least 1"),
    ],
)
def test_bad_input_is_one_line(call: Any, message: str) -> None:
    with pytest.raises(LimelightError, match=message) as error:
        call(model_of())
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["predict", "predict_proba", "embed", "read", "read_many", "read_stream"])
def test_a_misspelt_option_is_one_of_the_method_that_was_called(name: str) -> None:
    with pytest.raises(TypeError, match=rf"\.{name}\(\) got an unexpected keyword argument 'batchwords'"):
        getattr(model_of(), name)(["a"], batchwords=3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.predict(["a"]), "reads pairs of texts"),
        (lambda m: m.read("a"), "reads pairs of texts"),
        (lambda m: m.predict(["a", "b"], ["c"]), "more first texts than second"),
        (lambda m: m.predict(["a"], ["b", "c"]), "more second texts than first"),
    ],
)
def test_bad_pairs_are_one_line(call: Any, message: str) -> None:
    with pytest.raises(LimelightError, match=message):
        call(model_of(pair="concat"))


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"precision": "int4"}, "precision is 'int4'; it must be one of: float32, int8"),
        ({"threads": 0}, "threads is 0"),
        ({"labels": ["a"]}, "at least two labels"),
        (
            {"labels": ["a", "b"]},
            "head.b_2 is float32 \\(3,\\); the recipe needs float32 \\(2,\\)|head.W_2 is",
        ),
        ({"labels": ["a", "a", "b"]}, "not distinct"),
        ({"labels": ["1", 1, 2]}, "not distinct"),  # one key in JSON
        ({"labels": [None, "a", "b"]}, "a label must be text"),
    ],
)
def test_parts_that_do_not_fit(how: dict[str, Any], message: str) -> None:
    with pytest.raises(LimelightError, match=message):
        model_of(**how)


def test_a_model_travels_to_other_processes() -> None:
    model = model_of()
    expected = model.predict_proba(["w1 w2"])
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict_proba(["w1 w2"]), expected)


@pytest.mark.parametrize("pair", PAIRS)
def test_no_torch_is_imported(tmp_path: Path, pair: str | None) -> None:
    model_of(pair=pair).save(tmp_path / "model")
    second = "" if pair is None else ", 'w2 w3'"
    second_list = "" if pair is None else ", ['w2 w3']"
    program = f"""
import sys
from limelight.runtime.model import Model
model = Model.load({str(tmp_path / "model")!r})
model.predict(["w1 w2"]{second_list}); model.embed(["w1"]); model.read("w1 w2"{second})
heavy = {{"torch", "onnx", "jinja2", "tqdm", "sklearn", "pyarrow", "pandas"}} & set(sys.modules)
assert not heavy, heavy
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_thread_that_outlives_the_main_one_still_gets_answers(tmp_path: Path) -> None:
    model_of().save(tmp_path / "model")
    program = f"""
import threading, time
from limelight.runtime import onnx_runner as runner
from limelight.runtime import runner as any_runner
from limelight.runtime.model import Model
runner.TWO_THREADS = 0
model = Model.load({str(tmp_path / "model")!r}, threads=2)

def serve():
    threading.main_thread().join()
    one = model.embed(["w1 w2"])
    many = model.embed(["w1 w2"] + ["w3 " * n for n in range(200)], batch_words=64)
    print((abs(one[0] - many[0]) < 1e-6).all())

threading.Thread(target=serve).start()
"""
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout == "True\n", done.stderr


@pytest.mark.parametrize("threads", [1, 3])
def test_a_forked_child_answers_and_ends(tmp_path: Path, threads: int) -> None:
    model_of().save(tmp_path / "model")
    program = f"""
import multiprocessing, os, sys
import numpy as np
from limelight.runtime import onnx_runner as runner
from limelight.runtime import runner as any_runner
from limelight.runtime.model import Model
runner.TWO_THREADS = 0
model = Model.load({str(tmp_path / "model")!r}, threads={threads})
texts = ["w1 w2", "w3 \u00e9t\u00e9"] + ["w4 " * n for n in range(1, 60)]
expected = model.predict_proba(texts, batch_words=64)

def differences(texts):
    one = model.predict_proba(texts[:1])
    return [float(abs(found - expected[: len(found)]).max()) for found in (one, model.predict_proba(texts))]

def ended(work):
    pid = os.fork()
    if pid == 0:
        sys.exit(work())
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

unused, used = ended(lambda: 0), ended(lambda: 7 if max(differences(texts)) < 1e-6 else 8)
with multiprocessing.get_context("fork").Pool(2) as pool:
    pooled = pool.map(differences, [texts] * 3)
print(unused, used, np.max(pooled) < 1e-6, max(differences(texts)) < 1e-6)
"""
    told = {k: v for k, v in os.environ.items() if k != "ORT_DISABLE_TELEMETRY"}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60, env=told)
    assert done.stdout == "0 7 True True\n", done.stderr


def test_a_fork_waits_for_calls_in_progress() -> None:
    """A child would inherit the locks they hold, and wait for them forever."""
    graph = Graph("same")
    graph.output("y", graph.input("x", "float32", 1), "float32", 1)
    session, begun, go_on, ended = Session(graph), *(threading.Event() for _ in range(3))

    class Slow:
        def run(self, *_: Any) -> list[np.ndarray]:
            begun.set()
            go_on.wait(30)
            ended.set()
            return []

    session._session = Slow()  # type: ignore[assignment]
    caller = threading.Thread(target=session.run, args=({}, "y"))
    caller.start()
    begun.wait()
    threading.Timer(0.05, go_on.set).start()
    pid = os.fork()
    if pid == 0:
        os._exit(0 if ended.is_set() else 1)
    caller.join()
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_many_callers_at_once() -> None:
    model, texts = model_of(threads=2), texts_of(40)
    expected = model.embed(texts)
    with ThreadPoolExecutor(6) as callers:
        for found in callers.map(lambda _: model.embed(texts, batch_words=32), range(12)):
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


class SlowSession(Session):
    """Counts how often each graph is started, slowly enough for other threads to ask meanwhile."""

    started: ClassVar[list[str]] = []

    def __init__(self, graph: Graph, threads: int = 1) -> None:
        self.started.append(graph.name)
        time.sleep(0.1)
        super().__init__(graph, threads)


def test_threads_that_arrive_together_share_one_session_and_one_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "Session", SlowSession)
    monkeypatch.setattr(SlowSession, "started", [])
    pools: list[Any] = []

    class SlowPool(ThreadPoolExecutor):
        def __init__(self, threads: int) -> None:
            pools.append(threads)
            time.sleep(0.1)
            super().__init__(threads)

    monkeypatch.setattr(runner, "ThreadPoolExecutor", SlowPool)
    model, texts, together = model_of(threads=2), texts_of(60), threading.Barrier(4)

    def call(_: int) -> np.ndarray:
        together.wait()
        return model.predict_proba(texts, batch_words=32)

    with ThreadPoolExecutor(4) as callers:
        found = list(callers.map(call, range(4)))
    assert sorted(SlowSession.started) == ["encoder", "head"]
    assert pools == [2]
    for P in found[1:]:
        np.testing.assert_allclose(P, found[0], rtol=0, atol=1e-6)


@pytest.mark.parametrize("pair", [None, "gated"])
def test_reading_many_texts_uses_all_threads(pair: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    columns = [texts_of(200), texts_of(200, seed=1)][: 1 + (pair is not None)]
    expected = model_of(pair=pair, threads=1).read_many(*columns)
    run, seen, both = Session.run, set(), threading.Barrier(2)

    def watched(self: Session, feed: dict[str, np.ndarray], *outputs: str) -> list[np.ndarray]:
        if "A" in outputs and threading.get_ident() not in seen:
            seen.add(threading.get_ident())
            both.wait(timeout=20)  # only two threads at once get past
        return run(self, feed, *outputs)

    monkeypatch.setattr(Session, "run", watched)
    found = model_of(pair=pair, threads=2).read_many(*columns)
    assert len(seen) == 2
    for one, other in zip(found, expected, strict=True):
        for a, b in zip(one.sides, other.sides, strict=True):
            assert (a.text, a.words) == (b.text, b.words)
            np.testing.assert_allclose(a.attention, b.attention, rtol=0, atol=1e-6)
            np.testing.assert_allclose(a.embedding, b.embedding, rtol=0, atol=1e-6)
            np.testing.assert_allclose(a.probabilities, b.probabilities, rtol=0, atol=1e-6)


def test_word_ids_and_embeddings_give_what_texts_give() -> None:
    model, texts = model_of(), texts_of(80)
    M = model.embed_ids([model.tokenizer.locate(text)[0] for text in texts])
    np.testing.assert_allclose(M, model.embed(texts), rtol=0, atol=1e-6)
    assert M.shape[1:] == model.embedding_shape
    np.testing.assert_allclose(model.classify(M), model.predict_proba(texts), rtol=0, atol=1e-6)
    pair = model_of(pair="gated")
    M, M2 = pair.embed(texts[:40]), pair.embed(texts[40:])
    expected = pair.predict_proba(texts[:40], texts[40:])
    np.testing.assert_allclose(pair.classify(M, M2), expected, rtol=0, atol=1e-6)
    with refuses("pair-or-text"):
        pair.classify(M)
    with refuses("pair-or-text"):
        model.classify(M, M2)


@pytest.mark.parametrize("precision", ["float32", "int8"])
@pytest.mark.parametrize("part", ["words", "pooling", "head"])
def test_answers_that_are_not_finite_are_an_error(part: str, precision: str) -> None:
    recipe = recipe_of({"encoder": "cnn", "pooling": "max"} if part == "words" else {})
    weights = {
        name: array * np.float32(1e20) if name.startswith((part, "head")) else array
        for name, array in weights_of(network_of(recipe)).items()
    }
    model = Model.from_parts(
        weights=weights, recipe=recipe, tokenizer=trained.tokenizer(), labels=LABELS, precision=precision
    )
    with refuses("not-finite"):
        model.predict(["w1 w2 w3", "w4"])
    with refuses("not-finite"):
        model.read("w1 w2 w3")


def test_a_pickled_reader_is_hardly_larger_than_its_folder() -> None:
    reader = Reader.load()
    content = pickle.dumps(reader)
    assert len(content) < 1.1 * sum(file.stat().st_size for file in BUNDLED.iterdir())
    again = pickle.loads(content)
    assert all(np.array_equal(again.weights[name], array) for name, array in reader.weights.items())
    assert again.weights is again._runner.weights
