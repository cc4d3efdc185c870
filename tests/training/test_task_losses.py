"""What is learnt by task, against plain numpy in float64; and whole runs on made-up data."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from limelight.network.outputs import activate
from limelight.runtime.start import Start
from limelight.text.dataset import Dataset
from limelight.text.tasks import find_task
from limelight.training.evaluate import evaluate, logits
from limelight.training.loss import TASK_LOSSES
from limelight.training.outcome import results_of, weights_of
from limelight.training.run import fit, standardise
from limelight.training.starting_network import fit_linear
from refusing import refuses
from training import toys

RNG = np.random.default_rng(0)
Z = RNG.normal(size=(9, 4)) * 3
SETS = (RNG.random((9, 4)) < 0.4).astype(np.float32)
VALUES = RNG.normal(size=9).astype(np.float32)


def of_task(task: str, rows: int = 60, dev: int = 30) -> Dataset:
    """The toy data, whose words tell the class: as sets of labels, as an order, or as numbers."""
    data = toys.dataset(rows, dev)

    def labels(classes: np.ndarray) -> np.ndarray:
        if task == "multi-label":  # the class, and a label that all but the first share
            return np.stack([classes == 0, classes == 1, classes == 2, classes > 0], axis=1).astype(np.uint8)
        return (100 + 10 * classes).astype(np.float32) if task == "regression" else classes

    names = {"multi-label": ("a", "b", "c", "not a"), "regression": ("value",), "ordinal": (1, 2, 3)}[task]
    splits = {
        name: dataclasses.replace(split, labels=labels(np.asarray(split.labels)))
        for name, split in data.splits.items()
    }
    return dataclasses.replace(data, task=task, labels=names, splits=splits)


def test_losses_and_scores_of_sets():
    objective = TASK_LOSSES["multi-label"]
    p = 1 / (1 + np.exp(-Z))
    expected = -(SETS * np.log(p) + (1 - SETS) * np.log(1 - p)).sum(axis=1)
    found = objective.losses(torch.from_numpy(Z), torch.from_numpy(SETS))
    assert np.allclose(found.numpy(), expected, atol=1e-12)
    f1 = []
    for row, true in zip(p > 0.5, SETS.astype(bool), strict=True):
        total = row.sum() + true.sum()
        f1.append(2 * (row & true).sum() / total if total else 1.0)
    assert np.allclose(objective.scores(torch.from_numpy(Z), torch.from_numpy(SETS)).numpy(), f1)


def test_losses_and_scores_of_ordered_classes():
    objective, labels = TASK_LOSSES["ordinal"], np.arange(9) % 4
    p = np.exp(Z) / np.exp(Z).sum(axis=1, keepdims=True)
    losses = []
    for row, label in zip(p, labels, strict=True):
        sides = [row[: k + 1].sum() if label <= k else row[k + 1 :].sum() for k in range(3)]
        losses.append(-np.log(sides).sum())
    found = objective.losses(torch.from_numpy(Z), torch.from_numpy(labels))
    assert np.allclose(found.numpy(), losses, atol=1e-10)
    middle = [next(k for k in range(4) if row[: k + 1].sum() >= 0.5) for row in p]
    assert find_task("ordinal").decide(p).tolist() == middle
    scores = objective.scores(torch.from_numpy(Z), torch.from_numpy(labels))
    assert scores.tolist() == (np.array(middle) == labels).tolist()
    far = torch.tensor([[900.0, 0.0, -900.0]])
    assert torch.isfinite(objective.losses(far, torch.tensor([2]))).all()


def test_losses_and_scores_of_numbers():
    objective = TASK_LOSSES["regression"]
    found = objective.losses(torch.from_numpy(Z[:, :1]), torch.from_numpy(VALUES))
    expected = (Z[:, 0] - VALUES.astype(np.float64)) ** 2
    assert np.allclose(found.numpy(), expected, atol=1e-12)
    scores = objective.scores(torch.from_numpy(Z[:, :1]), torch.from_numpy(VALUES))
    assert np.allclose(scores.numpy(), 1 - expected, atol=1e-12)


@pytest.mark.parametrize("task", ["multi-label", "regression"])
def test_the_first_head_is_the_usual_linear_model(task):
    linear_model = pytest.importorskip("sklearn.linear_model")
    v = RNG.normal(size=(80, 5))
    strength, w = 3.0, np.ones(80)
    if task == "multi-label":
        y = (v @ RNG.normal(size=(5, 3)) + RNG.normal(size=(80, 3)) > 0).astype(np.float32)
        models = [linear_model.LogisticRegression(C=strength, tol=1e-10).fit(v, column) for column in y.T]
        expected = np.concatenate([each.coef_ for each in models])
        intercepts = np.concatenate([each.intercept_ for each in models])
    else:
        y = (v @ RNG.normal(size=5) + 2 + RNG.normal(size=80)).astype(np.float32)
        ridge = linear_model.Ridge(alpha=1 / (2 * strength)).fit(v, y)
        expected, intercepts = ridge.coef_[None], np.array([ridge.intercept_])
    W, b = fit_linear(*map(torch.from_numpy, (v, y, w)), len(expected), strength, TASK_LOSSES[task].losses)
    assert np.allclose(W.numpy(), expected, atol=1e-3)
    assert np.allclose(b.numpy(), intercepts, atol=1e-3)


@pytest.mark.parametrize("task", ["multi-label", "ordinal", "regression"])
def test_a_run_learns_and_can_be_resumed_to_the_bit(task, tmp_path):
    data = of_task(task)
    recipe = toys.recipe(epochs=12, learning_rate=0.03, penalty=0.0)
    whole = fit(data, recipe, show=False)
    found = results_of(whole, data, ("dev",))["dev"].to_dict()
    main = {"multi-label": "micro_f1", "ordinal": "accuracy", "regression": "r2"}[task]
    assert found[main] > (0.5 if task == "ordinal" else 0.6), found
    fit(data, recipe.override(epochs=5), tmp_path / "run", show=False)
    again = fit(data, recipe, tmp_path / "run", show=False, resume=True)
    first, second = weights_of(whole), weights_of(again)
    assert all(np.array_equal(first[name], second[name]) for name in first)
    assert whole.recipe.text.task == task


def test_numbers_come_out_in_the_users_unit():
    data = of_task("regression")
    scaled, scale = standardise(data)
    train = np.asarray(scaled.splits["train"].labels, dtype=np.float64)
    assert train.mean() == pytest.approx(0, abs=1e-6)
    assert train.std() == pytest.approx(1, abs=1e-6)
    fitted = fit(data, toys.recipe(epochs=12, learning_rate=0.03, penalty=0.0), show=False)
    values = logits(fitted.network, data.splits["dev"])[:, 0]
    assert 95 < values.min() < values.max() < 125
    best = fitted.history[fitted.state.best_epoch]
    error = np.square(values - data.splits["dev"].labels).mean() / scale.deviation**2
    assert best["dev_loss"] == pytest.approx(error, rel=1e-4)
    assert best["dev_r2"] == pytest.approx(1 - error, rel=1e-4)


def test_numbers_that_are_all_equal_once_others_are_held_out_stay_finite():
    data = of_task("regression")
    train = dataclasses.replace(data.splits["train"], labels=np.full(60, 7, np.float32))
    scaled, scale = standardise(dataclasses.replace(data, splits={**data.splits, "train": train}))
    assert scale == (7.0, 1.0)
    assert not np.asarray(scaled.splits["train"].labels).any()


@pytest.mark.parametrize("head", ["full", "pruned", "linear"])
def test_a_model_of_numbers_goes_on_where_it_was(head):
    data = of_task("regression")
    recipe = toys.recipe(epochs=12, learning_rate=0.03, penalty=0.0, head=head)
    first = fit(data, recipe, show=False)
    start = Start(first.recipe, data.tokenizer, weights_of(first), data.labels)
    slow = recipe.override(start="first", epochs=1, learning_rate=1e-9, schedule="constant")
    vectors = weights_of(first)["words.weight"]
    more = dataclasses.replace(of_task("regression", rows=40), vectors=vectors)  # of another mean
    second = fit(more, slow, show=False, start=start)
    before, after = (logits(each.network, data.splits["dev"]) for each in (first, second))
    assert np.allclose(before, after, atol=1e-2)


def test_evaluate_gives_the_means_of_the_rows_by_weight():
    data = of_task("multi-label")
    fitted = fit(data, toys.recipe(epochs=1), show=False)
    dev, weights = data.splits["dev"], np.linspace(0.5, 2, 30)
    found = evaluate(fitted.network, dev, weights, task=TASK_LOSSES["multi-label"])
    p = activate("multi-label", logits(fitted.network, dev).astype(np.float64))
    losses = -np.log(np.where(dev.labels == 1, p, 1 - p)).sum(axis=1)
    assert found.loss == pytest.approx(losses.mean())
    assert found.weighted is not None
    assert found.weighted[1] == pytest.approx(np.average(losses, weights=weights))


def test_balanced_classes_are_for_one_class_a_row():
    with refuses("task-option"):
        fit(of_task("multi-label"), toys.recipe(class_weight="balanced"), show=False)


def test_thresholds_need_a_development_set():
    assert fit(of_task("multi-label", dev=0), toys.recipe(epochs=1), show=False).thresholds is None
    found = fit(of_task("multi-label"), toys.recipe(epochs=1), show=False).thresholds
    assert found is not None
    assert found.shape == (4,)
    assert ((found > 0) & (found < 1)).all()
