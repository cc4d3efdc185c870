"""The runner of the GPU, on PyTorch's CPU device: the same answers as ONNX Runtime's."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import trained
from limelight.bulk import Predictor
from limelight.bulk import run as run_bulk
from limelight.bulk.job import _cores_per_gpu
from limelight.cli import main
from limelight.errors import LimelightError
from limelight.runtime import devices, gpu
from limelight.runtime.gpu import TorchRunner
from limelight.runtime.model import Model
from limelight.runtime.reader import load
from plain_kernels import plain_kernels
from refusing import refuses
from trained import ARCHITECTURES, LABELS, network_of, recipe_of, texts_of, weights_of

TEXTS = ["w1", "", "w2 w1 unheard", *texts_of(40), "w7"]
OTHERS = TEXTS[::-1]
CLOSE = {"atol": 1e-4, "rtol": 0}


class OnCpu(TorchRunner):
    device = "cpu"


def with_torch(model: Any, precision: str = "float32", threads: int = 1) -> Any:
    """The same model, run by PyTorch."""
    other = pickle.loads(pickle.dumps(model))
    other._runner = OnCpu(model.parts, precision, threads)
    return other


def model_of(options: dict[str, Any], pair: str | None = None) -> Model:
    recipe = recipe_of(options, pair)
    task = options.get("task")
    labels: Any = {"regression": ["value"], "ordinal": [1, 2, 3]}.get(str(task), LABELS)
    weights = weights_of(network_of(recipe, pair is not None, len(labels)))
    thresholds = np.full(3, 0.5) if task == "multi-label" else None
    return Model.from_parts(
        weights=weights, recipe=recipe, tokenizer=trained.tokenizer(), labels=labels, pair=pair is not None,
        thresholds=thresholds, threads=1,
    )  # fmt: skip


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_every_architecture_embeds_and_predicts_as_on_the_cpu(name: str) -> None:
    model = model_of(ARCHITECTURES[name])
    other = with_torch(model)
    np.testing.assert_allclose(other.embed(TEXTS), model.embed(TEXTS), **CLOSE)
    np.testing.assert_allclose(other.predict_proba(TEXTS), model.predict_proba(TEXTS), **CLOSE)
    assert other.predict(TEXTS, batch_words=64) == model.predict(TEXTS)


@pytest.mark.parametrize("pair", ["gated", "concat"])
@pytest.mark.parametrize("head", ["full", "pruned", "linear"])
def test_pairs(pair: str, head: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "PAIRS", 7)
    model = model_of({"head": head}, pair)
    other = with_torch(model)
    np.testing.assert_allclose(
        other.predict_proba(TEXTS, OTHERS), model.predict_proba(TEXTS, OTHERS), **CLOSE
    )
    M, M2 = model.embed(TEXTS), model.embed(OTHERS)
    np.testing.assert_allclose(other.classify(M, M2), model.classify(M, M2), **CLOSE)


@pytest.mark.parametrize("task", ["multi-label", "ordinal", "regression"])
def test_tasks(task: str) -> None:
    model = model_of({"task": task})
    other = with_torch(model)
    np.testing.assert_allclose(other.predict_proba(TEXTS), model.predict_proba(TEXTS), **CLOSE)
    assert (
        np.allclose(other.predict(TEXTS), model.predict(TEXTS))
        if task == "regression"
        else (other.predict(TEXTS) == model.predict(TEXTS))
    )


def test_a_text_of_3000_words_among_short_ones() -> None:
    model, texts = model_of({}), ["w1", "w1 w2 w3 " * 1000, ""]
    np.testing.assert_allclose(with_torch(model).embed(texts), model.embed(texts), **CLOSE)


@pytest.mark.parametrize("kind", ["model", "reader"])
def test_words_looked_up_as_gates(kind: str) -> None:
    """What a Hopper GPU does, with plain programs for its kernels; for a reader also spelled words."""
    model = model_of({}) if kind == "model" else load("reader", threads=1)
    texts = TEXTS if kind == "model" else ["Zxqvorp soup", "é x!"]
    with plain_kernels():
        other = with_torch(model)
        assert other._runner.table is not None
        np.testing.assert_allclose(other.embed(texts), model.embed(texts), **CLOSE)


MISSING = {"text 1 has no word ids": [[2], []], "text 1 has the word id 99": [[2], [3, 99]], "id -1": [[-1]]}


@pytest.mark.parametrize("message", MISSING)
def test_word_ids_that_are_not_there(message: str) -> None:
    model = model_of({})
    for each in (model, with_torch(model)):
        with pytest.raises(LimelightError, match=message):
            each.embed_ids([np.array(text, np.int64) for text in MISSING[message]])


def test_readings_and_comparisons() -> None:
    model = model_of({})
    other = with_torch(model)
    for ours, theirs in zip(other.read_many(TEXTS), model.read_many(TEXTS), strict=True):
        np.testing.assert_allclose(ours.attention, theirs.attention, **CLOSE)
        np.testing.assert_allclose(ours.decided, theirs.decided, **CLOSE)
        np.testing.assert_allclose(ours.probabilities, theirs.probabilities, **CLOSE)
    ours, theirs = (each.compare(TEXTS[2], TEXTS[5]).matrix for each in (other, model))
    np.testing.assert_allclose(ours, theirs, **CLOSE)


def test_a_text_has_one_M_alone_and_in_any_batch() -> None:
    other = with_torch(model_of({}))
    together = other.embed(TEXTS)
    alone = np.concatenate([other.embed([text]) for text in TEXTS])
    np.testing.assert_allclose(together, alone, atol=1e-6)


def test_word_ids_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    model = model_of({})
    other = with_torch(model)
    monkeypatch.setattr(gpu, "SENTENCES", 16)
    ids = [model.tokenizer.locate(text)[0] for text in TEXTS]
    np.testing.assert_allclose(other.embed_ids(ids), model.embed_ids(ids), **CLOSE)
    assert other.embed_ids([]).shape == (0, 3, 12)


def test_words_split_by_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "TEXTS", 4)
    reader = load("reader", threads=1)
    texts = ["The soup was cold.", "", "Zxqvorp soup", "zxqvorp!", "Über-Suppe", "é"] * 4
    both = with_torch(reader, threads=2)
    np.testing.assert_allclose(both.encode(texts), reader.encode(texts), **CLOSE)
    pairs = model_of({}, "concat")
    several = with_torch(pairs, threads=2)
    np.testing.assert_allclose(
        several.predict_proba(TEXTS, OTHERS), pairs.predict_proba(TEXTS, OTHERS), **CLOSE
    )
    assert len(several._runner.splitters._processes) == 2
    again = pickle.loads(pickle.dumps(several))  # without its processes and its network
    assert not {"splitters", "running"} & set(vars(again._runner))
    for each in (both, several):
        each._runner.splitters.shutdown()


def test_the_reader() -> None:
    reader = load("reader", threads=1)
    texts = ["The soup was cold.", "", "Zxqvorp!", "word " * 40, "é", "A train is late."]
    other = with_torch(reader)
    np.testing.assert_allclose(other.embed(texts), reader.embed(texts), **CLOSE)
    np.testing.assert_allclose(other.encode(texts), reader.encode(texts), **CLOSE)
    given = {"batch_size": 1, "normalize_embeddings": False}
    np.testing.assert_allclose(other.encode(texts, **given), reader.encode(texts, **given), **CLOSE)
    np.testing.assert_allclose(other.read(texts[0]).attention, reader.read(texts[0]).attention, **CLOSE)
    ours, theirs = (each.compare(texts[0], texts[5]).similarity for each in (other, reader))
    assert ours == pytest.approx(theirs, abs=1e-4)


def test_bf16_is_near() -> None:
    model = model_of({})
    near = with_torch(model, "bf16").embed(TEXTS[:20])
    exact = model.embed(TEXTS[:20])
    assert near.dtype == np.float32
    assert 1e-5 < np.abs(near - exact).max() < 0.05


@pytest.fixture
def matmul() -> Any:
    """The settings of products, as a program may have them: with TF32."""
    settings = torch.backends.cuda.matmul
    before, settings.allow_tf32 = settings.allow_tf32, True
    yield settings
    settings.allow_tf32 = before


def test_float32_never_uses_tf32(matmul: Any) -> None:
    model, seen = with_torch(model_of({})), list[bool]()
    inner = model._runner.network.encoder.forward

    def forward(*given: Any) -> Any:
        seen.extend([torch.backends.cudnn.allow_tf32, matmul.allow_tf32])
        return inner(*given)

    model._runner.network.encoder.forward = forward
    model.embed(["w1"])
    assert seen == [False, False]
    assert torch.backends.cudnn.allow_tf32
    assert matmul.allow_tf32


def test_weights_that_are_too_large() -> None:
    model = model_of({})
    large = {**model.weights, "head.W_2": np.full_like(model.weights["head.W_2"], 3e38)}
    other = with_torch(model)
    other._runner.weights = large
    with refuses("not-finite"):
        other.predict_proba(TEXTS)


def test_without_a_gpu() -> None:
    if torch.cuda.is_available():
        pytest.skip("there is one")
    with refuses("no-gpu"):
        load("reader", device="cuda")
    assert type(load("reader", device="auto")._runner).__name__ == "OnnxRunner"


@pytest.mark.parametrize(
    ("device", "precision", "expected"),
    [
        ("gpu", None, "device is 'gpu'"),
        ("cpu", "bf16", "precision is 'bf16'.*float32, int8"),
        ("cuda", "int8", "precision is 'int8'.*bf16, float32"),
    ],
)
def test_devices_and_precisions(device: str, precision: str | None, expected: str) -> None:
    with pytest.raises(LimelightError, match=expected):
        load("reader", device=device, precision=precision)


def test_auto_takes_a_gpu_that_pytorch_sees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices.ctypes, "CDLL", lambda name: name)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert devices.choose_device("auto", None) == ("cuda", "bf16")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert devices.choose_device("auto", None) == ("cpu", "float32")


def test_auto_leaves_pytorch_alone_without_a_driver() -> None:
    code = """
import ctypes, sys
import limelight
def missing(name): raise OSError(name)
ctypes.CDLL = missing
limelight.load("reader", device="auto").encode("Soup")
assert "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


# ---------------------------------------------------------------- commands and bulk jobs


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A saved model beside a table; the GPU is PyTorch's CPU."""
    monkeypatch.setattr(TorchRunner, "device", "cpu")
    monkeypatch.chdir(tmp_path)
    rows = [{"text": text or "w3", "label": LABELS[k % 3]} for k, text in enumerate(TEXTS)]
    Path("table.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return trained.save(tmp_path / "model")


@pytest.mark.parametrize("precision", ["float32", "bf16"])
def test_commands(folder: Path, capsys: pytest.CaptureFixture[str], precision: str) -> None:
    def run(*args: str) -> str:
        assert main(list(args)) == 0
        return capsys.readouterr().out

    near = 1e-4 if precision == "float32" else 0.1
    on_gpu = ["--device", "cuda", "--precision", precision]
    predict = ["predict", "model", "table.jsonl", "--probabilities", "--json"]
    for line, other in zip(run(*predict).splitlines(), run(*predict, *on_gpu).splitlines(), strict=True):
        ours, theirs = (json.loads(x)["probabilities"] for x in (line, other))
        assert ours == pytest.approx(theirs, abs=near)
    evaluate = ["evaluate", "model", "table.jsonl", "--json"]
    ours, theirs = (json.loads(run(*evaluate, *how))["loss"] for how in ([], on_gpu))
    assert ours == pytest.approx(theirs, abs=near)
    for name, how in (("cpu.npy", []), ("gpu.npy", on_gpu)):
        run("embed", "model", "table.jsonl", "--out", name, *how)
    np.testing.assert_allclose(np.load("gpu.npy"), np.load("cpu.npy"), atol=near)


def test_bulk_jobs(folder: Path) -> None:
    from pyarrow.parquet import read_table

    on_gpu = Predictor("model", embed="vector", device="cuda")
    assert on_gpu.settings["precision"] == "bf16"
    for out, how in (("cpu", {}), ("gpu", {"device": "cuda", "precision": "float32"})):
        run_bulk(Predictor("model", embed="vector", **how), "table.jsonl", out)
    ours, theirs = (np.stack(read_table(out)["embedding"].to_numpy()) for out in ("cpu", "gpu"))
    np.testing.assert_allclose(ours, theirs, **CLOSE)
    with pytest.raises(LimelightError, match="precision 'float32', not 'bf16'"):
        run_bulk(on_gpu, "table.jsonl", "cpu")


def test_a_job_is_planned_without_a_gpu(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TorchRunner, "device", "cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    predictor = Predictor("model", device="cuda")
    assert predictor.columns_of(["text", "label"], "table").text == "text"
    with pytest.raises(LimelightError, match="no GPU"):
        predictor({"text": ["w1"]})


def test_a_ray_cluster_without_a_gpu() -> None:
    with pytest.raises(LimelightError, match="no GPU"):
        _cores_per_gpu({"CPU": 4.0})


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_on_a_real_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "TEXTS", 16)
    texts = ["The soup was cold.", "", "Zxqvorp!", "word " * 3000, "é", *texts_of(90)]
    reader, exact = load("reader"), load("reader", device="cuda", precision="float32", threads=2)
    np.testing.assert_allclose(exact.embed(texts), reader.embed(texts), **CLOSE)
    np.testing.assert_allclose(exact.encode(texts), reader.encode(texts), **CLOSE)
    near = load("reader", device="cuda", threads=2)
    assert (near.encode(texts) * reader.encode(texts)).sum(axis=1).min() > 0.995
    model, texts2 = model_of({}, "gated"), texts[::-1]
    weights = {"weights": model.weights, "recipe": model.recipe, "tokenizer": model.tokenizer}
    other = Model.from_parts(**weights, labels=LABELS, pair=True, device="cuda", precision="float32")
    np.testing.assert_allclose(
        other.predict_proba(texts, texts2), model.predict_proba(texts, texts2), **CLOSE
    )
