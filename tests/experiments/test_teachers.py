"""Teachers: what is learnt from them, and that a run goes on with the next one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from experiments.best_pair.noise import noisy_copies
from experiments.best_pair.teachers import mix, taught_recipe, teach, train_taught, with_copies

from limelight.network.outputs import activate
from limelight.training import fit
from limelight.training.evaluate import logits
from refusing import refuses
from training import toys

HOW = {"show": False, "device": "cpu"}


def test_labels_and_predictions_are_mixed(tmp_path: Path) -> None:
    data, recipe = toys.dataset(pair=True, weighted=True), toys.recipe(pair="concat", epochs=1, seed=5)
    train = data.splits["train"]
    whole, noisy = with_copies(data, 2, seed=5), noisy_copies(train, 2, None, seed=5)
    answers = [teach(data, whole, recipe, k, tmp_path, **HOW) for k in (1, 2)]
    assert not np.array_equal(*answers)  # each has a seed of its own
    expected = np.mean(answers, axis=0)
    expected[: len(train)] = 0.7 * expected[: len(train)] + 0.3 * np.eye(3)[train.labels]
    np.testing.assert_allclose(mix(answers, np.asarray(train.labels), 0.7), expected, rtol=0, atol=1e-6)
    found = whole.splits["train"]
    assert np.array_equal(found.ids, np.concatenate([train.ids, noisy.ids]))
    assert np.array_equal(found.lengths2, np.concatenate([train.lengths2, noisy.lengths2]))
    assert np.array_equal(found.labels, np.tile(train.labels, 3))
    assert np.array_equal(found.weights, np.tile(train.weights, 3))


def test_a_teacher_predicts_rows_and_copies_and_is_trained_once(tmp_path: Path, monkeypatch) -> None:
    data, recipe = toys.dataset(), toys.recipe(epochs=1)
    whole = with_copies(data, 1, seed=0)
    found = teach(data, whole, recipe, 1, tmp_path, **HOW)
    assert found.shape == (2 * len(data.splits["train"]), 3)
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-6)
    monkeypatch.setattr("experiments.best_pair.teachers.fit", lambda *_, **__: pytest.fail("trained again"))
    assert np.array_equal(teach(data, whole, recipe, 1, tmp_path), found)


def test_the_network_that_is_kept_learns_the_targets() -> None:
    data, recipe = toys.dataset(rows=60), toys.recipe(epochs=20, learning_rate=0.02)
    target = np.array([0.1, 0.2, 0.7])
    targets = np.tile(target, (60, 1)).astype(np.float32)
    fitted = fit(data, recipe.override(patience=0), targets=targets, **HOW)
    fitted_last = activate("classification", logits(fitted.network, data.splits["train"]).astype(float))
    assert np.abs(fitted_last.mean(axis=0) - target).max() < 0.15


def test_a_taught_run(tmp_path: Path) -> None:
    fitted = train_taught(toys.dataset(), toys.recipe(epochs=1), tmp_path, teachers=1, copies=1, **HOW)
    assert fitted.history[0]["steps"] == 13  # 50 rows and 50 copies in batches of 8
    assert [path.name for path in tmp_path.iterdir()] == ["answers-1.npy"]


def test_teachers_need_classes(tmp_path: Path) -> None:
    from training.test_task_losses import of_task

    with refuses("task-option"):
        train_taught(of_task("multi-label"), toys.recipe(), tmp_path)


def test_the_recipe_is_that_of_the_documents() -> None:
    model = taught_recipe().model
    assert (model.layers, model.mix_units, model.rows) == (3, 512, 16)
