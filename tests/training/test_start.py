"""Training that starts from pretrained weights."""

from __future__ import annotations

import dataclasses
import signal

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from limelight.config.recipe import Recipe
from limelight.network.parts import rows_of
from limelight.network.torch.heads import LinearHead, ScaledLinearHead, VectorHead
from limelight.runtime.start import Start
from limelight.text.batches import as_targets
from limelight.training import Callback, label_objective, starting_network
from limelight.training.context import Processes
from limelight.training.evaluate import logits
from limelight.training.label_objective import LabelObjective
from limelight.training.loss import TASK_LOSSES
from limelight.training.run import fit
from limelight.training.starting_network import (
    FOLDS,
    MAX_CROSS_VALIDATED,
    STRENGTH_LAST,
    STRENGTHS,
    FirstHead,
    build_network,
    fit_first_head,
    fit_last_head,
    fit_linear,
    read_features,
)
from limelight.training.step import Stepper
from refusing import refuses
from training import toys

OPTIONS = {"start": "toy", "head": "linear", "fine_tune_words": False, "schedule": "cosine"}


def toy_recipe(**options) -> Recipe:
    return toys.recipe(**{**OPTIONS, "learning_rate": 0.005, **options})


def toy_start(data, labels=(), seed: int = 0) -> Start:
    """A reader of random weights; its vectors have five numbers."""
    rng = np.random.default_rng(seed)
    recipe = toys.recipe(seed=7, vector_size=5, vector_rank=4).model
    network = build_network(data, toys.recipe(seed=7))
    weights = {k: w.numpy() for k, w in network.state_dict().items() if not k.startswith("head.")}
    weights["vector.W_shared"] = rng.normal(size=(4, 2 * recipe.hidden)).astype(np.float32)
    weights["vector.W_rows"] = rng.normal(size=(5, recipe.rows * 4)).astype(np.float32)
    return Start(Recipe(model=recipe), data.tokenizer, weights, labels)


def toy_data(**options):
    data = toys.dataset(**options)
    return dataclasses.replace(data, vectors=np.array(toy_start(data).weights["words.weight"]))


# ---------------------------------------------------------------- the heads


def test_a_vector_head_is_a_linear_map_of_M():
    rng = np.random.default_rng(0)
    shared, rows, M = rng.normal(size=(4, 6)), rng.normal(size=(5, 12)), rng.normal(size=(7, 3, 6))
    head = VectorHead(torch.from_numpy(shared), torch.from_numpy(rows), classes=2).double()
    with torch.no_grad():
        head.W_o.copy_(torch.from_numpy(W := rng.normal(size=(2, 5))))
        head.b_o.copy_(torch.from_numpy(b := rng.normal(size=2)))
        head.scale.fill_(0.3)
    v = 0.3 * np.stack([rows @ np.concatenate([shared @ m for m in one]) for one in M])
    expected = v @ W.T + b
    np.testing.assert_allclose(head(torch.from_numpy(M)).detach(), expected, rtol=1e-12)
    np.testing.assert_allclose(head.to_linear().double()(torch.from_numpy(M)).detach(), expected, rtol=1e-5)


def test_a_steady_head_is_the_linear_one_in_another_scale():
    linear, M = LinearHead(3, 6, 2), torch.randn(7, 3, 6)
    steady = ScaledLinearHead(linear)
    torch.testing.assert_close(steady(M), linear(M))
    torch.testing.assert_close(steady.to_linear().W_o, linear.W_o)
    assert torch.allclose(steady.W_scaled, linear.W_o * 18**0.5)


# ---------------------------------------------------------------- logistic regression


@pytest.mark.parametrize("strength", [0.5, 10.0])
def test_logistic_regression_is_scikit_learns(strength: float):
    rng = np.random.default_rng(0)
    v, y, w = rng.normal(size=(60, 5)), rng.integers(0, 3, 60), rng.uniform(0.1, 2, 60)
    theirs = LogisticRegression(C=strength, tol=1e-10, max_iter=5000).fit(v, y, w)
    W, b = fit_linear(*map(torch.from_numpy, (v, y, w)), 3, strength)
    np.testing.assert_allclose(W, theirs.coef_, atol=1e-3)
    np.testing.assert_allclose(b - b.mean(), theirs.intercept_ - theirs.intercept_.mean(), atol=1e-3)


def test_the_first_head_is_fitted_to_the_frozen_vectors():
    data = toy_data(rows=80)
    network = build_network(data, toy_recipe(), toy_start(data))
    before = {k: w.clone() for k, w in network.state_dict().items() if not k.startswith("head.")}
    found = fit_first_head(network, data.splits["train"], None, seed=0)
    assert all(torch.equal(w, network.state_dict()[k]) for k, w in before.items())
    right = (logits(network, data.splits["train"]).argmax(axis=1) == data.splits["train"].labels).mean()
    assert found.score is not None
    assert 0.34 < found.score <= right + 0.1
    assert (
        fit_first_head(build_network(data, toy_recipe(), toy_start(data)), data.splits["train"], None, 0)
        == found
    )


def test_cross_validation_needs_some_rows_and_leaves_out_a_single_fold_of_many(monkeypatch):
    data = toy_data(rows=5)
    network = build_network(data, toy_recipe(), toy_start(data))
    assert fit_first_head(network, data.splits["train"], None, 0) == FirstHead(10.0, None)
    fits: list[int] = []
    fit_linear = starting_network.fit_linear
    monkeypatch.setattr(
        starting_network, "fit_linear", lambda v, *more: fits.append(len(v)) or fit_linear(v, *more)
    )
    for rows, folds in ((MAX_CROSS_VALIDATED, FOLDS), (MAX_CROSS_VALIDATED + 1, 1)):
        fits.clear()
        fit_first_head(
            build_network(data, toy_recipe(), toy_start(data)), toys.split(rows, longest=3), None, 0
        )
        assert len(fits) == folds * len(STRENGTHS) + 1
        assert fits[-1] == rows


# ---------------------------------------------------------------- the first classifier as a model


class Stop(Callback):
    """Ctrl-C after the first step."""

    def on_batch_end(self, run, rows):
        signal.raise_signal(signal.SIGINT)


def frozen(data):
    return fit(data, toy_recipe(epochs=0), show=False, start=toy_start(data))


def test_without_epochs_the_first_classifier_is_the_model():
    data = toy_data()
    found = frozen(data)
    assert found.history == []
    assert (found.state.best_epoch, found.state.number, found.state.finished) == (-1, 0, True)
    assert isinstance(found.network.head, LinearHead)
    start = toy_start(data)
    np.testing.assert_array_equal(found.network.encoder.W_hh_0.detach(), start.weights["encoder.W_hh_0"])
    right = (found.logits("dev").argmax(axis=1) == np.asarray(data.splits["dev"].labels)).mean()
    assert found.state.first["dev_accuracy"] == found.state.best_accuracy == pytest.approx(right)
    with refuses("option-value"):
        fit(toys.dataset(), toys.recipe(epochs=0), show=False)


def test_the_first_classifier_is_kept_until_an_epoch_is_better():
    data = toy_data()
    still = toy_recipe(epochs=2, learning_rate=1e-12, schedule="constant")
    worse = fit(data, still, show=False, start=toy_start(data))
    assert worse.state.best_epoch == -1
    assert worse.state.waited == 2
    np.testing.assert_array_equal(worse.logits("dev"), frozen(data).logits("dev"))
    better = fit(data, toy_recipe(epochs=4), show=False, start=toy_start(data))
    assert better.state.best_epoch >= 0
    assert better.state.best_loss < better.state.first["dev_loss"]


def test_where_the_loss_is_lost_in_the_first_epoch_the_first_classifier_is_kept(capsys):
    data = toy_data()
    start, how = toy_start(data), {"optimizer": "sgd", "learning_rate": 1e30}
    lost = fit(data, toy_recipe(epochs=2, **how), start=start)
    assert "; keeping the first classifier" in capsys.readouterr().err
    np.testing.assert_array_equal(lost.logits("dev"), frozen(data).logits("dev"))


@pytest.mark.parametrize("dev", [True, False])
def test_a_run_stopped_in_its_first_epoch_keeps_the_first_classifier_and_resumes(tmp_path, dev):
    data = toy_data()
    if not dev:
        data = dataclasses.replace(data, splits={"train": data.splits["train"]})
    how = {"show": False, "start": toy_start(data)}
    stopped = fit(data, toy_recipe(epochs=2), tmp_path, callbacks=[Stop()], **how)
    assert stopped.interrupted
    assert stopped.state.is_model
    stopped.splits["train"] = data.splits["train"]
    np.testing.assert_array_equal(stopped.logits("train"), frozen(data).logits("train"))
    resumed = fit(data, toy_recipe(epochs=2), tmp_path, resume=True, **how)
    whole = fit(data, toy_recipe(epochs=2), **how)
    assert resumed.state == whole.state
    np.testing.assert_array_equal(resumed.logits("train"), whole.logits("train"))


# ---------------------------------------------------------------- the last classifier


def last_head(network, split, weights=None):
    """W (classes, v) and b, fitted to a network whose classifier was at random before."""
    with torch.no_grad():
        for w in network.head.last_layer():
            w.normal_(std=3.0)
    fit_last_head(network, split, weights)
    return [w.detach().clone() for w in network.head.last_layer()]


@pytest.mark.parametrize("weighted", [False, True])
def test_the_last_classifier_is_where_the_loss_has_no_slope(weighted: bool):
    data = toy_data(rows=300)
    network, split = build_network(data, toy_recipe(), toy_start(data)), data.splits["train"]
    weights = np.random.default_rng(0).uniform(0.2, 2, len(split)).astype(np.float32) if weighted else None
    last, bias = last_head(network, split, weights)
    X = read_features(network, split, np.arange(len(split)))
    scale = X.norm(dim=1).mean()
    W = (last.double() * scale).requires_grad_()
    losses = TASK_LOSSES["classification"].losses(X / scale @ W.T + bias.double(), targets(split))
    losses = losses * torch.from_numpy(weights) if weights is not None else losses
    strength = STRENGTH_LAST * len(toys.CLASSES)  # what scikit-learn calls C
    (strength * losses.sum() + W.square().sum() / 2).backward()
    assert W.grad is not None
    assert W.grad.abs().max() < 1e-2
    for again, w in zip(last_head(network, split, weights), (last, bias), strict=True):
        torch.testing.assert_close(again, w, atol=1e-3, rtol=1e-3)  # wherever it begins


class KeepBest(Callback):
    def on_train_end(self, run):
        self.best = run.best


def refitted(data, recipe, **more) -> tuple[np.ndarray, np.ndarray]:
    """The classifier that training ends with, and the one that is fitted to the network it has found."""
    keep, start = KeepBest(), toy_start(data)
    fitted = fit(data, recipe, show=False, start=start, callbacks=[keep], **more)
    network = build_network(data, recipe, start)
    network.load_state_dict(keep.best)
    fit_last_head(network, data.splits["train"], None)
    return tuple(head.W_o.detach().numpy() for head in (fitted.network.head, network.head.to_linear()))


def test_training_from_a_reader_ends_with_the_classifier_of_the_best_network(monkeypatch):
    monkeypatch.setattr(label_objective, "MIN_ROWS_LAST", 120)
    found, expected = refitted(toy_data(rows=120), toy_recipe(epochs=3))
    np.testing.assert_array_equal(found, expected)


def test_an_interrupted_run_does_not_wait_for_the_last_classifier(monkeypatch):
    monkeypatch.setattr(label_objective, "MIN_ROWS_LAST", 120)
    monkeypatch.setattr(label_objective, "fit_last_head", lambda *_: pytest.fail("fitted"))
    data, best = toy_data(rows=120), toy_recipe(epochs=3)

    class StopLater(Callback):
        def on_epoch_end(self, run, record):
            signal.raise_signal(signal.SIGINT)

    fitted = fit(data, best, show=False, start=toy_start(data), callbacks=[StopLater()])
    assert fitted.interrupted
    assert fitted.state.best_epoch == 0


@pytest.mark.parametrize("what", ["few rows", "loss", "targets", "ordinal"])
def test_other_classifiers_stay_as_the_steps_have_left_them(what: str, monkeypatch):
    monkeypatch.setattr(label_objective, "MIN_ROWS_LAST", 121 if what == "few rows" else 120)
    data, more = toy_data(rows=120), {}
    if what == "loss":
        more = {"loss": lambda output, labels: torch.nn.functional.cross_entropy(output.logits, labels)}
    elif what == "targets":
        more = {"targets": np.eye(3, dtype=np.float32)[data.splits["train"].labels]}
    elif what == "ordinal":
        data = dataclasses.replace(data, task="ordinal")
    found, fitted = refitted(data, toy_recipe(epochs=3, task=data.task), **more)
    assert np.abs(found - fitted).max() > 1e-3


# ---------------------------------------------------------------- the run


def test_training_starts_from_the_weights_and_ends_with_a_plain_head():
    data = toy_data()
    start = toy_start(data)
    network = build_network(data, toy_recipe(), start)
    np.testing.assert_array_equal(network.encoder.W_hh_0.detach(), start.weights["encoder.W_hh_0"])
    np.testing.assert_array_equal(network.pooling.W_s1.detach(), start.weights["pooling.W_s1"])
    np.testing.assert_array_equal(network.words.weight.detach(), data.vectors)
    fitted = fit(data, toy_recipe(epochs=4), show=False, start=start)
    assert isinstance(fitted.network.head, LinearHead)
    assert not np.array_equal(fitted.network.encoder.W_hh_0.detach(), start.weights["encoder.W_hh_0"])
    np.testing.assert_array_equal(fitted.network.words.weight.detach(), data.vectors)  # frozen
    assert fitted.history[-1]["loss"] < fitted.history[0]["loss"]


def test_few_steps_change_little_of_the_start():
    data = toy_data(rows=8, dev=0)
    start = toy_start(data)
    fitted = fit(data, toy_recipe(epochs=1, learning_rate=1e-4), show=False, start=start)
    W = fitted.network.encoder.W_hh_0.detach().numpy()
    assert np.abs(W - start.weights["encoder.W_hh_0"]).max() < 2e-4


def test_with_fewer_than_three_rows_a_class_the_reader_stays_as_it_is():
    for rows, frozen in ((3 * len(toys.CLASSES) - 1, True), (3 * len(toys.CLASSES), False)):
        data = toy_data(rows=rows, dev=0)
        start = toy_start(data)
        network = fit(data, toy_recipe(epochs=2), show=False, start=start).network
        same = np.array_equal(network.encoder.W_hh_0.detach(), start.weights["encoder.W_hh_0"])
        assert same == frozen, rows


def test_an_interrupted_run_ends_with_the_same_bits(tmp_path):
    data = toy_data()
    start, recipe = toy_start(data), toy_recipe(epochs=4)
    whole = fit(data, recipe, show=False, start=start)

    class Interrupt(Callback):
        def on_epoch_end(self, run, record):
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fit(data, recipe, tmp_path, show=False, start=start, checkpoint_every=0, callbacks=[Interrupt()])
    rest = fit(data, recipe, tmp_path, show=False, start=start, resume=True)
    for name, w in whole.network.state_dict().items():
        assert torch.equal(w, rest.network.state_dict()[name])


def test_a_run_is_not_resumed_from_other_weights(tmp_path):
    data = toy_data()
    fit(data, toy_recipe(epochs=1), tmp_path, show=False, start=toy_start(data))
    with refuses("run-differs"):
        fit(data, toy_recipe(epochs=2), tmp_path, show=False, start=toy_start(data, seed=1), resume=True)


def test_going_on_with_a_model_keeps_its_classifier():
    data = toy_data()
    fitted = fit(data, toy_recipe(epochs=2), show=False, start=toy_start(data))
    weights = {k: w.numpy() for k, w in fitted.network.state_dict().items()}
    same = Start(fitted.recipe, data.tokenizer, weights, data.labels)
    network = build_network(data, toy_recipe(), same)
    np.testing.assert_allclose(
        logits(network, data.splits["dev"]), logits(fitted.network, data.splits["dev"]), atol=1e-5
    )
    other = build_network(data, toy_recipe(), dataclasses.replace(same, labels=("a", "b", "c")))
    assert not np.allclose(other.head.to_linear().W_o.detach(), weights["head.W_o"])
    np.testing.assert_array_equal(other.encoder.W_hh_0.detach(), weights["encoder.W_hh_0"])


@pytest.mark.parametrize("head", ["linear", "pruned"])
def test_pairs_start_from_a_reader_too(head: str):
    data = toys.dataset(pair=True)
    data = dataclasses.replace(data, vectors=np.array(toy_start(toys.dataset()).weights["words.weight"]))
    start = toy_start(toys.dataset())
    recipe = toy_recipe(head=head, pair="concat", row_units=3, column_units=0, epochs=2)
    fitted = fit(data, recipe, show=False, start=start)
    assert fitted.history[-1]["loss"] < fitted.history[0]["loss"]
    assert fitted.recipe.model.head == "pruned"


def pair_data(task: str = "classification"):
    data = toys.dataset(pair=True, rows=80)
    vectors = np.array(toy_start(toys.dataset()).weights["words.weight"])
    if task == "regression":
        splits = {
            name: dataclasses.replace(split, labels=np.asarray(split.labels, dtype=np.float32))
            for name, split in data.splits.items()
        }
        data = dataclasses.replace(data, splits=splits, labels=("value",), task=task)
    return dataclasses.replace(data, vectors=vectors)


VECTORS = {"pair": "vectors", "vector_size": 5, "vector_rank": 4}


def test_a_pair_of_vectors_has_the_readers_cosine_among_its_features():
    data, start = pair_data(), toy_start(toys.dataset())
    network = build_network(data, toy_recipe(**VECTORS), start)
    M, M2 = torch.randn(2, 6, sum(rows_of(network.recipe)), 2 * network.recipe.hidden)
    W_shared, W_rows = (start.weights[f"vector.{name}"] for name in ("W_shared", "W_rows"))
    u, v = ((x.numpy() @ W_shared.T).reshape(6, -1) @ W_rows.T for x in (M, M2))
    cosines = (u * v).sum(1) / np.linalg.norm(u, axis=1) / np.linalg.norm(v, axis=1)
    F = network.relate(M, M2).detach().numpy()
    assert F.shape == (6, 1, 20)
    np.testing.assert_allclose(F[:, 0, 15:].mean(axis=1), cosines, rtol=1e-4)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_a_pair_of_vectors_starts_with_a_linear_model_of_them(task: str):
    """Its weights are where the penalised loss has no slope; for numbers, the cosine has no penalty."""
    data, start = pair_data(task), toy_start(toys.dataset())
    network, split = build_network(data, toy_recipe(**VECTORS), start), data.splits["train"]
    found = fit_first_head(network, split, None, 0, task)
    X = read_features(network, split, np.arange(len(split)))
    scale = X.norm(dim=1).mean()
    W = (network.head.W_scaled.detach().double() * scale).requires_grad_()
    losses = TASK_LOSSES[task].losses(X / scale @ W.T + network.head.b_o.detach().double(), targets(split))
    penalty = W.square().sum()
    if task == "regression":
        penalty = penalty - (1 - 1e-4) * W[0, 15:].sum() ** 2 / 5
    (found.strength * losses.sum() + penalty / 2).backward()
    assert (found.score is None) == (task == "regression")
    assert W.grad is not None
    assert W.grad.abs().max() < 1e-2
    fitted = fit(data, toy_recipe(**VECTORS, epochs=2), show=False, start=start)
    assert fitted.recipe.model.head == "linear"
    assert isinstance(fitted.network.head, LinearHead)


@pytest.mark.parametrize(
    ("task", "reader", "given", "pair", "head"),
    [
        ("regression", True, "auto", "vectors", "linear"),
        ("classification", True, "auto", "concat", "pruned"),
        ("regression", False, "auto", "concat", "pruned"),
        ("regression", True, "gated", "gated", "pruned"),
        ("classification", True, "vectors", "vectors", "linear"),
    ],
)
def test_how_texts_are_compared_is_settled_by_the_task(task, reader, given, pair, head):
    options = {"pair": given, "row_units": 3, "column_units": 0, "epochs": 1}
    recipe = toy_recipe(**{**VECTORS, **options}, **({} if reader else {"start": ""}))
    start = toy_start(toys.dataset()) if reader else None
    fitted = fit(pair_data(task), recipe, show=False, start=start)
    assert (fitted.recipe.model.pair, fitted.recipe.model.head) == (pair, head)


def targets(split) -> torch.Tensor:
    return torch.from_numpy(as_targets(np.asarray(split.labels)))


def test_the_rate_rises_over_the_first_tenth_of_the_steps():
    data = toy_data(rows=80, dev=0)
    recipe = toy_recipe(epochs=10, learning_rate=1.0)  # 100 steps
    network = build_network(data, recipe, toy_start(data))
    stepper = Stepper(network, LabelObjective(data, recipe), Processes())
    rates = []
    for _ in range(100):
        stepper.optimiser.steps += 1
        rates.append(float(stepper.optimiser.present_rate()))
    t = np.arange(100)
    np.testing.assert_allclose(rates, np.minimum((t + 1) / 10, 1) * (1 + np.cos(np.pi * t / 100)) / 2)
