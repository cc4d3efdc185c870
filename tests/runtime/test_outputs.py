"""Outputs, answers, thresholds and metrics by task, against plain numpy and scikit-learn; saved folders."""

from __future__ import annotations

import json

import numpy as np
import onnxruntime
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from limelight import Model
from limelight.network.outputs import HALFWAY, activate, choose_thresholds, unit
from limelight.text.metrics import OrdinalMetrics
from limelight.text.tasks import CLASSIFICATION, MULTI_LABEL, REGRESSION, find_task
from refusing import refuses
from trained import edit, network_of, predict_table, recipe_of, save, texts_of, tokenizer, weights_of

SEVERAL = {"task": "multi-label", "head": "linear"}


def model_of(options, pair=None, labels=("a", "b", "c"), **more) -> tuple[Model, torch.nn.Module]:
    recipe = recipe_of(options, pair)
    network = network_of(recipe, pair is not None, len(labels))
    parts = {"weights": weights_of(network), "recipe": recipe, "tokenizer": tokenizer()}
    return Model.from_parts(**parts, labels=labels, pair=pair is not None, **more), network


def test_a_vector_of_length_1_or_none():
    assert unit(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist() == [[0.6, 0.8], [0.0, 0.0]]


def f1_of(predicted: np.ndarray, true: np.ndarray) -> float:
    total = predicted.sum() + true.sum()
    return 2 * (predicted & true).sum() / total if total else 0.0


@examples(50)
@given(st.integers(0, 2**30), st.integers(5, 40), st.integers(1, 3), st.floats(0, 1))
def test_a_threshold_is_the_best_of_all(seed, rows, digits, share):
    rng = np.random.default_rng(seed)
    p = np.round(rng.uniform(0.1, 1, (rows, 1)), digits)
    truth = np.zeros((rows, 1), np.uint8)
    truth[rng.permutation(rows)[: max(5, round(share * rows))]] = 1
    (found,) = choose_thresholds(p, truth)
    every = [f1_of(p >= t, truth == 1) for t in [0.0, *np.unique(p) + 1e-9, *np.unique(p)]]
    assert f1_of(p >= found, truth == 1) == pytest.approx(max(every))


@pytest.mark.parametrize("times", [1, 4, 100])
def test_the_rarer_a_label_the_nearer_its_threshold_to_that_of_all(times):
    p = np.array([[0.9, 0.9], [0.8, 0.2], [0.7, 0.1], [0.6, 0.1], [0.5, 0.1], [0.1, 0.05]]).repeat(times, 0)
    truth = np.array([[1, 1], [1, 0], [1, 0], [1, 0], [1, 0], [0, 0]]).repeat(times, 0)

    def between(own: float, common: float, rows: int) -> float:
        share = rows / (rows + HALFWAY)
        odds = (own / (1 - own)) ** share * (common / (1 - common)) ** (1 - share)
        return odds / (1 + odds)

    expected = [between(0.3, 0.35, 5 * times), between(0.55, 0.35, times)]
    assert choose_thresholds(p, truth) == pytest.approx(expected)
    assert choose_thresholds(p, np.zeros_like(truth)).tolist() == [0.5, 0.5]


def test_metrics_of_sets_are_scikit_learns():
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(0)
    P, truth = rng.random((50, 6)), (rng.random((50, 6)) < 0.3).astype(np.uint8)
    thresholds = rng.uniform(0.3, 0.7, 6)
    found = MULTI_LABEL.measure(P, truth, thresholds)
    predicted = thresholds <= P
    assert found.micro_f1 == pytest.approx(metrics.f1_score(truth, predicted, average="micro"))
    assert found.macro_f1 == pytest.approx(metrics.f1_score(truth, predicted, average="macro"))
    assert found.subset_accuracy == pytest.approx(metrics.accuracy_score(truth, predicted))
    loss = -np.log(np.where(truth == 1, P, 1 - P)).sum(axis=1).mean()
    assert found.loss == pytest.approx(loss)
    assert found.to_dict()["rows"] == 50


def test_metrics_of_numbers():
    stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(0)
    y = np.round(rng.normal(size=60), 1)
    x = y + rng.normal(size=60)
    found = REGRESSION.measure(x[:, None], y)
    assert found.spearman == pytest.approx(stats.spearmanr(x, y).statistic)
    assert found.pearson == pytest.approx(stats.pearsonr(x, y).statistic)
    assert found.mae == pytest.approx(np.abs(x - y).mean())
    assert found.r2 == pytest.approx(1 - ((x - y) ** 2).sum() / ((y - y.mean()) ** 2).sum())
    constant = REGRESSION.measure(np.zeros((4, 1)), np.arange(4.0))
    assert (constant.spearman, constant.pearson) == (0.0, 0.0)


def test_ordered_classes_also_have_a_mean_error():
    P = np.eye(4)[[0, 1, 3, 3]]
    found = find_task("ordinal").measure(P, np.array([0, 2, 0, 3]))
    assert isinstance(found, OrdinalMetrics)
    assert found.mae == 1.0
    assert found.accuracy == 0.5
    assert found.to_dict()["macro_f1"] == CLASSIFICATION.measure(P, np.array([0, 2, 0, 3])).macro_f1


@pytest.mark.parametrize("task", ["multi-label", "regression", "ordinal"])
@pytest.mark.parametrize("head", ["linear", "full", "pruned"])
@pytest.mark.parametrize("pair", [None, "concat"])
def test_the_runtime_gives_what_the_network_gives(task, head, pair, tmp_path):
    if pair and head == "linear":
        return
    labels = ("value",) if task == "regression" else (1, 2, 3)
    model, network = model_of({"task": task, "head": head}, pair, labels)
    texts = [text or "w1" for text in texts_of(12)]
    sides = [texts, texts[::-1]] if pair else [texts]
    ids = [[model.tokenizer.locate(text)[0] for text in side] for side in sides]
    expected = []
    for row in zip(*ids, strict=True):
        inputs = []
        for each in row:
            inputs += [torch.from_numpy(each[None].astype(np.int64)), torch.tensor([len(each)])]
        with torch.no_grad():
            expected.append(network(*inputs).logits[0].double().numpy())
    expected = activate(task, np.array(expected))
    found = model.predict_proba(*sides)
    assert np.allclose(found, expected, atol=1e-5)
    if task == "multi-label":
        assert ((found > 0) & (found < 1)).all()
        assert not np.allclose(found.sum(axis=1), 1)
    model.save(tmp_path / "model")
    for name in ("model.onnx", "model.int8.onnx"):
        session = onnxruntime.InferenceSession(tmp_path / "model" / name)
        assert session.get_outputs()[0].name == ("values" if task == "regression" else "probabilities")
    again = Model.load(tmp_path / "model")
    assert again.task == task
    assert again.predict(*sides) == model.predict(*sides)
    small = Model.load(tmp_path / "model", precision="int8").predict_proba(*sides)
    assert np.abs(small - found).max() < (0.5 if task == "regression" else 0.15)


def test_answers_follow_the_thresholds(tmp_path):
    model, _ = model_of(SEVERAL, thresholds=np.array([0.0, 1.0, 0.5]))
    P = model.predict_proba(texts_of(9))
    assert [set(each) - {"c"} for each in model.predict(texts_of(9))] == [{"a"}] * 9
    assert [("c" in each) for each in model.predict(texts_of(9))] == (P[:, 2] >= 0.5).tolist()
    model.save(tmp_path / "model")
    assert Model.load(tmp_path / "model").thresholds.tolist() == [0.0, 1.0, 0.5]
    card = (tmp_path / "model" / "README.md").read_text()
    assert "any number of labels" in card
    assert "| threshold |" in card
    assert "labels, any number" in repr(model)


@pytest.mark.parametrize("wrong", [[0.5], "0.5", [0.5, 0.5, 2], [0.5, 0.5, None]])
def test_damaged_thresholds_are_refused(tmp_path, wrong):
    model, _ = model_of(SEVERAL, thresholds=np.array([0.4, 0.5, 0.6]))
    model.save(tmp_path / "model")
    edit(tmp_path / "model", lambda config: config.update(thresholds=wrong))
    with refuses("file-damaged"):
        Model.load(tmp_path / "model")


def test_a_folder_from_before_tasks_is_a_classifier(tmp_path):
    save(tmp_path / "model")

    def older(config: dict) -> None:
        del config["recipe"]["text"]["task"]
        del config["recipe"]["text"]["separator"]

    edit(tmp_path / "model", older)
    model = Model.load(tmp_path / "model")
    assert model.task == "classification"
    assert np.allclose(model.predict_proba(["w1 w2"]).sum(), 1)


def test_what_decided_each_label_adds_up_to_its_probability():
    model, network = model_of(SEVERAL, thresholds=np.array([0.0, 0.0, 0.5]))
    reading = model.read("w1 w2 w3 w9")
    ids = torch.tensor(model.tokenizer.locate("w1 w2 w3 w9")[0][None].astype(np.int64))
    with torch.no_grad():
        z = network(ids, torch.tensor([4])).logits[0].numpy()
    explained = {reading.target: reading.decided, **dict(reading.decided_further)}
    assert set(explained) >= {0, 1}
    biases = (reading.bias, *reading.bias_further)
    for (label, weights), bias in zip(explained.items(), biases, strict=True):
        assert weights.sum() + bias == pytest.approx(1 / (1 + np.exp(-z[label])), abs=1e-4)
    assert reading.answer == model.predict(["w1 w2 w3 w9"])[0]
    assert json.dumps(reading.to_dict())


def test_decisions():
    P = np.array([[0.9, 0.2], [0.1, 0.4]])
    several, number = find_task("multi-label"), find_task("regression")
    assert several.decide(P).tolist() == [[True, False], [False, False]]
    assert several.to_labels(several.decide(P), ["x", "y"]) == [("x",), ()]
    assert number.to_labels(number.decide(P[:, :1]), ["value"]) == [0.9, 0.1]
    assert several.explained(P[1]) == [1]
    assert number.explained(P[1, :1]) == [0]
    assert find_task("classification").explained(P[1]) == [1]


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_tables_of_several_labels_and_of_numbers(tmp_path, form):
    (tmp_path / "new.csv").write_text("id,text\n1,w1 w2\n2,w3\n")
    model, _ = model_of({**SEVERAL, "separator": ";"}, thresholds=np.array([0.0, 0.0, 1.0]))
    out = tmp_path / f"a.{form}"
    assert predict_table(model, tmp_path / "new.csv", out, words=True, probabilities=True) == 2
    if form == "csv":
        assert out.read_text().splitlines()[1].startswith("a;b,")
    elif form == "jsonl":
        first = json.loads(out.read_text().splitlines()[0])
        assert first["labels"] == ["a", "b"]
        assert set(first["probabilities"]) == {"a", "b", "c"}
    else:
        pq = pytest.importorskip("pyarrow.parquet")
        assert pq.read_table(out).column("labels").to_pylist() == [["a", "b"]] * 2
    with refuses("model-task"):
        predict_table(model, tmp_path / "new.csv", tmp_path / "b.csv", top=2)
    numbers, _ = model_of({"task": "regression", "head": "linear"}, labels=("value",))
    out = tmp_path / f"n.{form}"
    predict_table(numbers, tmp_path / "new.csv", out)
    value = numbers.predict(["w1 w2"])[0]
    if form == "csv":
        assert float(out.read_text().splitlines()[1].split(",")[0]) == pytest.approx(value, rel=1e-4)
    with refuses("model-task"):
        predict_table(numbers, tmp_path / "new.csv", tmp_path / "c.csv", probabilities=True)
