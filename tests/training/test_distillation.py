"""Teachers: what is learnt from them, that they equal networks trained alone, and that a run resumes."""

from __future__ import annotations

import dataclasses
import importlib
import signal
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from limelight.config.recipe import Recipe
from limelight.errors import LimelightError
from limelight.text.dataset import Dataset, Split
from limelight.text.noise import noisy_copies
from limelight.training import Fitted, fit
from limelight.training.checkpoint import Checkpoints
from limelight.training.distillation import Distillation
from limelight.training.distributed import Processes
from limelight.training.evaluate import logits
from limelight.training.run import TrainingRun
from limelight.training.setup import build_network
from limelight.training.step import Stepper
from training import toys


def taught(**options: Any) -> Recipe:
    return toys.recipe(**{"teachers": 2, "noisy_copies": 2, "dropout": 0.3, "epochs": 2, **options})


def weights(fitted: Fitted) -> dict[str, torch.Tensor]:
    return dict(fitted.network.state_dict())


def same(one: Fitted, other: Fitted) -> bool:
    a, b = weights(one), weights(other)
    return all(torch.equal(x, b[name]) for name, x in a.items()) and one.history == other.history


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x.astype(np.float64))
    return e / e.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("pair", [False, True])
def test_labels_and_answers_are_mixed(pair: bool) -> None:
    data = toys.dataset(pair=pair, weighted=True)
    train = data.splits["train"]
    recipe = taught(teacher_weight=0.7, noisy_copies=2, pair="concat", seed=5)
    distillation = Distillation(data, recipe)
    assert distillation.remaining == [1, 2]
    noisy = noisy_copies(train, 2, None, seed=5)
    answers, dev = [], []
    for teacher in (1, 2):
        alone = fit(data, distillation.teacher_recipe(teacher), show=False, device="cpu").network
        parts = [softmax(logits(alone, split)) for split in (train, noisy)]
        answers.append(np.concatenate(parts))
        dev.append(softmax(logits(alone, data.splits["dev"])))
        distillation.add(teacher, distillation.predict(alone, Processes(), threading.Event()))
    assert distillation.remaining == []
    assert distillation.accuracy() == np.mean(
        np.mean(dev, axis=0).argmax(axis=1) == data.splits["dev"].labels
    )
    found = distillation.training_data()
    expected = np.mean(answers, axis=0)
    expected[: len(train)] = 0.7 * expected[: len(train)] + 0.3 * np.eye(3)[train.labels]
    np.testing.assert_allclose(found.targets, expected, rtol=0, atol=1e-6)
    whole = found.dataset.splits["train"]
    assert found.dataset.splits["dev"] is data.splits["dev"]
    assert len(whole) == 3 * len(train)
    assert np.array_equal(whole.ids, np.concatenate([train.ids, noisy.ids]))
    assert np.array_equal(whole.labels, np.tile(train.labels, 3))
    assert np.array_equal(whole.weights, np.tile(train.weights, 3))
    if pair:
        assert np.array_equal(whole.lengths2, np.concatenate([train.lengths2, noisy.lengths2]))


def test_processes_share_the_answering() -> None:
    data = toys.dataset(rows=3000)
    distillation = Distillation(data, taught(noisy_copies=1))
    network = build_network(data, toys.recipe())
    one, *three = (
        distillation.predict(network, Processes(rank, size), threading.Event())
        for rank, size in ((0, 1), (0, 3), (1, 3), (2, 3))
    )
    for name, whole in one.items():
        assert np.array_equal(sum(part[name] for part in three), whole)
        expected = softmax(logits(network, distillation.whole.splits[name]))
        np.testing.assert_allclose(whole, expected, rtol=0, atol=1e-6)
    assert list(one) == ["train", "dev"]
    assert all((part["train"] == 0).all(axis=1).any() for part in three)


def test_the_one_that_is_kept_learns_from_the_targets(monkeypatch: pytest.MonkeyPatch) -> None:
    data, recipe = toys.dataset(), taught()
    seen: list[tuple[Dataset, np.ndarray | None, Recipe]] = []
    start = TrainingRun.__init__

    def watched(
        self: TrainingRun, dataset: Dataset, own: Recipe, folder: Any, setting: Any, *more: Any, **rest: Any
    ) -> None:
        seen.append((dataset, more[0] if more else None, own))
        start(self, dataset, own, folder, setting, *more, **rest)

    monkeypatch.setattr(TrainingRun, "__init__", watched)
    fitted = fit(data, recipe, show=False, device="cpu")
    distillation = Distillation(data, recipe)
    assert [own.training.seed for _, _, own in seen] == [
        distillation.teacher_recipe(1).training.seed, distillation.teacher_recipe(2).training.seed, 0
    ]  # fmt: skip
    assert [own.training.teachers for _, _, own in seen] == [0, 0, 2]
    assert [own.training.noisy_copies for _, _, own in seen] == [0, 0, 2]
    assert [targets is None for _, targets, _ in seen] == [True, True, False]
    assert len(seen[2][0].splits["train"]) == 3 * len(data.splits["train"])
    assert fitted.recipe == recipe
    assert len(fitted.history) == 2


def test_every_seed_has_teachers_of_its_own() -> None:
    data = toys.dataset()
    seeds = [
        Distillation(data, taught(seed=s)).teacher_recipe(k).training.seed for s in range(3) for k in (1, 2)
    ]
    assert len({*seeds, 0, 1, 2}) == 9


def test_without_share_and_copies_the_labels_alone_are_learnt() -> None:
    data = toys.dataset()
    alone = fit(data, toys.recipe(epochs=2, dropout=0.3), show=False, device="cpu")
    found = fit(data, taught(teacher_weight=0.0, noisy_copies=0), show=False, device="cpu")
    for name, x in weights(alone).items():
        torch.testing.assert_close(weights(found)[name], x, rtol=0, atol=1e-5)


def test_without_teachers_the_copies_have_their_text_s_label(tmp_path: Path) -> None:
    data, recipe = toys.dataset(), taught(teachers=0)
    train = data.splits["train"]
    noisy = noisy_copies(train, 2, None, seed=0)
    whole = Split(
        ids=np.concatenate([train.ids, noisy.ids]), lengths=np.concatenate([train.lengths, noisy.lengths]),
        labels=np.tile(train.labels, 3),
    )  # fmt: skip
    by_hand = dataclasses.replace(data, splits={**data.splits, "train": whole})
    expected = fit(by_hand, recipe.override(noisy_copies=0), show=False, device="cpu")
    found = fit(data, recipe, tmp_path / "run", show=False, device="cpu")
    assert same(found, expected)
    assert same(fit(data, recipe, tmp_path / "run", resume=True, show=False, device="cpu"), expected)


def test_rows_that_weigh_nothing_teach_nothing() -> None:
    data = toys.dataset(rows=30)
    train = data.splits["train"]
    half = np.where(np.arange(30) < 20, 1.0, 0.0).astype(np.float32)
    wrong = dataclasses.replace(
        train, labels=np.where(half > 0, train.labels, (train.labels + 1) % 3), weights=half
    )
    right = dataclasses.replace(train, weights=half)
    found = [
        fit(
            dataclasses.replace(data, splits={**data.splits, "train": split}),
            taught(),
            show=False,
            device="cpu",
        )
        for split in (wrong, right)
    ]
    for name, x in weights(found[0]).items():
        torch.testing.assert_close(weights(found[1])[name], x, rtol=0, atol=1e-6)


# ---------------------------------------------------------------- interruptions


def stop_at(monkeypatch: pytest.MonkeyPatch, call: int) -> None:
    """Press Ctrl-C in the n-th step of all networks together."""
    press(monkeypatch, Stepper, "step", call)


# 50 rows in batches of 8: 14 steps of each teacher, then 38 with the copies
@pytest.mark.parametrize(
    ("step", "predicted", "said"),
    [
        (3, 0, ["0 of 2 teachers are done", "teacher 1 of 2: resuming in epoch 1 at step 3"]),
        (20, 1, ["1 of 2 teachers are done", "teacher 2 of 2: resuming in epoch 1 at step 6"]),
        (40, 2, ["2 of 2 teachers are done", "resuming in epoch 1 at step 12"]),
    ],
)
def test_ctrl_c_anywhere(
    step: int, predicted: int, said: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    data, recipe = toys.dataset(), taught()
    whole = fit(data, recipe, tmp_path / "whole", show=False, device="cpu")
    with monkeypatch.context() as patch:
        stop_at(patch, step)
        stopped = fit(data, recipe, tmp_path / "run", show=False, device="cpu")
    assert stopped.interrupted
    assert len(list((tmp_path / "run").glob("answers-*.safetensors"))) == predicted
    with pytest.raises(LimelightError, match="already holds a run"):
        fit(data, recipe, tmp_path / "run", show=False, device="cpu")
    capsys.readouterr()
    ended = fit(data, recipe, tmp_path / "run", resume=True, device="cpu")
    told = capsys.readouterr().err.splitlines()
    assert [line for line in told if "done" in line or "resuming" in line] == said
    assert not any("no checkpoint yet" in line for line in told)
    assert same(ended, whole)
    assert sorted(toys.contents(tmp_path / "run")) == sorted(toys.contents(tmp_path / "whole"))


@pytest.mark.parametrize("dev", [20, 0])
@pytest.mark.parametrize(
    ("step", "epochs"),
    [(9, (1,)), (15, (2,)), (23, (2, 1)), (29, (2, 2))],  # that each teacher has had
)
def test_an_interrupted_run_gives_the_best_there_is(
    step: int, epochs: tuple[int, ...], dev: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, recipe = toys.dataset(dev=dev), taught()
    recipes = [Distillation(data, recipe).teacher_recipe(teacher) for teacher in (1, 2)]
    found = [
        fit(data, each.override(epochs=count), show=False, device="cpu")
        for each, count in zip(recipes, epochs, strict=False)
    ]
    if dev:
        best = max(found, key=lambda fitted: (fitted.state.best_accuracy, -fitted.state.best_loss))
    else:  # the last that has come to its end
        best = [fitted for fitted, count in zip(found, epochs, strict=True) if count == max(epochs)][-1]
    stop_at(monkeypatch, step)
    stopped = fit(data, recipe, show=False, device="cpu")
    assert stopped.interrupted
    assert same(stopped, best)
    assert stopped.recipe == recipes[found.index(best)]


@pytest.mark.parametrize("seed", range(4))
def test_a_teacher_may_be_better_than_the_last_network_so_far(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, recipe = toys.dataset(), taught(teachers=1, noisy_copies=0, teacher_weight=0.5, seed=seed)
    teacher = fit(data, Distillation(data, recipe).teacher_recipe(1), show=False, device="cpu")
    after_one = fit(data, recipe, show=False, device="cpu").history[0]  # 7 steps of the last network
    stop_at(monkeypatch, 14 + 10)
    stopped = fit(data, recipe, show=False, device="cpu")
    merits = [(after_one["dev_accuracy"], -after_one["dev_loss"])]
    merits.append((teacher.state.best_accuracy, -teacher.state.best_loss))
    assert stopped.interrupted
    assert (stopped.state.best_accuracy, -stopped.state.best_loss) == max(merits)


def test_teachers_whose_answers_nobody_wants_are_not_trained(capsys: pytest.CaptureFixture[str]) -> None:
    data = toys.dataset()
    silent = fit(data, taught(teacher_weight=0, noisy_copies=0), device="cpu")
    assert "teacher" not in capsys.readouterr().err
    assert same(silent, fit(data, taught(teachers=0, noisy_copies=0), show=False, device="cpu"))


@pytest.mark.parametrize("where", ["evaluate", "answer"])
def test_ctrl_c_between_two_networks(where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, recipe = toys.dataset(), taught()
    whole = fit(data, recipe, tmp_path / "whole", show=False, device="cpu")
    steps: list[int] = []
    with monkeypatch.context() as patch:
        step = Stepper.step
        patch.setattr(Stepper, "step", lambda *given: (steps.append(1), step(*given))[1])
        if where == "evaluate":
            press(patch, importlib.import_module("limelight.training.run"), "evaluate", 2)
        else:
            press(patch, Distillation, "predict", 1)
        stopped = fit(data, recipe, tmp_path / "run", show=False, device="cpu")
    assert stopped.interrupted
    assert len(steps) == 14
    assert not list((tmp_path / "run").glob("answers-*"))
    assert same(fit(data, recipe, tmp_path / "run", resume=True, show=False, device="cpu"), whole)


def press(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, call: int) -> None:
    """Press Ctrl-C in the n-th call of a function."""
    function, calls = getattr(owner, name), [0]

    def pressed(*given: Any) -> Any:
        calls[0] += 1
        if calls[0] == call:
            signal.raise_signal(signal.SIGINT)
        return function(*given)

    monkeypatch.setattr(owner, name, pressed)


def test_a_finished_run_resumes_to_itself(tmp_path: Path) -> None:
    data, recipe = toys.dataset(), taught()
    whole = fit(data, recipe, tmp_path / "run", show=False, device="cpu")
    before = toys.contents(tmp_path / "run")
    assert same(fit(data, recipe, tmp_path / "run", resume=True, show=False, device="cpu"), whole)
    assert toys.contents(tmp_path / "run") == before


def test_damaged_answers_are_given_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, recipe, folder = toys.dataset(), taught(), tmp_path / "run"
    whole = fit(data, recipe, folder, show=False, device="cpu")
    before = toys.contents(folder)
    path = folder / "answers-1.safetensors"
    path.write_bytes(path.read_bytes()[:-5])
    assert same(fit(data, recipe, folder, resume=True, device="cpu"), whole)
    told = capsys.readouterr().err
    assert "1 of 2 teachers are done" in told
    assert "training teacher 1 again" in told
    assert toys.contents(folder) == before


def test_what_a_kill_left_of_a_teacher_goes(tmp_path: Path) -> None:
    data, recipe, folder = toys.dataset(), taught(), tmp_path / "run"
    fit(data, recipe, folder, show=False, device="cpu")
    before = toys.contents(folder)
    fit(data, Distillation(data, recipe).teacher_recipe(2), folder / "teacher-2", show=False, device="cpu")
    fit(data, recipe, folder, resume=True, show=False, device="cpu")
    assert toys.contents(folder) == before


def test_a_full_disk_does_not_end_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data, recipe = toys.dataset(), taught()
    whole = fit(data, recipe, show=False, device="cpu")

    def full(*given: object) -> None:
        raise LimelightError("cannot write answers: No space left on device")

    monkeypatch.setattr("limelight.training.distillation.checkpoint.write", full)
    assert same(fit(data, recipe, tmp_path / "run", device="cpu"), whole)
    assert (
        "warning: cannot write answers: No space left on device; training continues"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize("teachers", [0, 1])
def test_a_run_of_another_kind_is_refused(
    teachers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run without teachers is not gone on with as one that has them, nor the other way round."""
    data, folder = toys.dataset(), tmp_path / "run"
    with monkeypatch.context() as patch:
        stop_at(patch, 17)
        fit(data, taught(teachers=teachers, noisy_copies=0), folder, show=False, device="cpu")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    message = "holds a run with teachers" if teachers else "was made with teachers 0, this run has 1"
    with pytest.raises(LimelightError, match=message):
        fit(
            data, taught(teachers=1 - teachers, noisy_copies=0), folder, resume=True, show=False, device="cpu"
        )
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_answers_of_another_recipe_are_refused(tmp_path: Path) -> None:
    data, folder = toys.dataset(), tmp_path / "run"
    fit(data, taught(), folder, show=False, device="cpu")
    for path in folder.glob("checkpoint-*"):
        path.unlink()
    with pytest.raises(
        LimelightError, match=r"answers-1\.safetensors was made with learning_rate 0\.02, this run has 0\.5"
    ):
        fit(data, taught(learning_rate=0.5), folder, resume=True, show=False, device="cpu")


def test_progress_names_the_teachers(capsys: pytest.CaptureFixture[str]) -> None:
    fit(toys.dataset(), taught(epochs=1), device="cpu")
    lines = capsys.readouterr().err.splitlines()
    assert [line.split("  ")[0] for line in lines if "together" not in line] == [
        "making 2 noisy copies of every text",
        "teacher 1 of 2: epoch 1/1", "teacher 1 of 2: predicting 150 texts",
        "teacher 2 of 2: epoch 1/1", "teacher 2 of 2: predicting 150 texts", "epoch 1/1", lines[-1],
    ]  # fmt: skip
    assert lines[-1].startswith("peak memory")
    assert lines[-3].startswith("the teachers together: dev ")


def test_a_folder_of_a_teacher_is_a_run(tmp_path: Path) -> None:
    (tmp_path / "teacher-1").mkdir()
    with pytest.raises(LimelightError, match=r"already holds a run .teacher-1."):
        Checkpoints(tmp_path).check_unused()
