"""A run as a whole: repeatable, choosing by the development split, stopping, halving, resuming."""

from __future__ import annotations

import dataclasses
import importlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

import limelight
from limelight.errors import LimelightError
from limelight.text.dataset import Dataset
from limelight.training import Fitted, fit
from limelight.training import outcome as chosen
from limelight.training.checkpoint import select_prefix
from limelight.training.context import run_context
from limelight.training.evaluate import Scores, evaluate, logits
from limelight.training.starting_network import build_network
from refusing import refuses
from trained import restored
from training import toys

module = importlib.import_module("limelight.training.label_objective")


def run(data: Dataset | None = None, folder: Path | None = None, **options: Any) -> Fitted:
    how = {k: options.pop(k) for k in ("resume", "checkpoint_every") if k in options}
    return fit(data or toys.dataset(), toys.recipe(**options), folder, show=False, device="cpu", **how)


def weights(fitted: Fitted) -> dict[str, torch.Tensor]:
    return dict(fitted.network.state_dict())


def same(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> bool:
    return a.keys() == b.keys() and all(torch.equal(x, b[name]) for name, x in a.items())


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[dict[str, torch.Tensor]]]:
    """Make the evaluations give these accuracies (or (accuracy, loss)), and keep the weights of each."""

    def script(*results: float | tuple[float, float]) -> list[dict[str, torch.Tensor]]:
        seen: list[dict[str, torch.Tensor]] = []

        def pretend(network: torch.nn.Module, split: Any, weights: Any, *rest: Any) -> Scores:
            result = results[len(seen)]
            seen.append({name: w.clone() for name, w in network.state_dict().items()})
            accuracy, loss = result if isinstance(result, tuple) else (result, 1.0)
            return Scores(accuracy, loss)

        monkeypatch.setattr(module, "evaluate", pretend)
        return seen

    return script


@pytest.mark.parametrize(("optimizer", "pair"), [("sgd", False), ("adagrad", True), ("adam", False)])
def test_the_same_seed_gives_the_same_bits(optimizer: str, pair: bool) -> None:
    data = toys.dataset(pair=pair)
    np.random.seed(1)
    torch.manual_seed(1)
    first = run(data, optimizer=optimizer, dropout=0.5, dropout_words=0.3)
    np.random.seed(2)
    torch.manual_seed(2)
    second = run(data, optimizer=optimizer, dropout=0.5, dropout_words=0.3)
    assert same(weights(first), weights(second))
    assert first.history == second.history
    other = run(data, optimizer=optimizer, dropout=0.5, dropout_words=0.3, seed=1)
    assert not same(weights(first), weights(other))


def test_it_leaves_the_random_numbers_of_others_alone() -> None:
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    run()
    assert torch.equal(torch.rand(3), expected)


@pytest.mark.parametrize(("device", "devices"), [("cpu", []), ("cuda", [1])])
def test_the_random_state_of_the_device_used_is_restored(
    device: str, devices: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a GPU itself: test_gpu.py."""
    forked: list[Any] = []
    fork = torch.random.fork_rng
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 1)
    monkeypatch.setattr(torch.random, "fork_rng", lambda devices: (forked.append(devices), fork([]))[1])
    with run_context(torch.device(device), None, show=False, checkpoint_every=600.0):
        pass
    assert forked == [devices]


def test_building_a_network_does_not_seed_the_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "manual_seed_all", lambda seed: pytest.fail("seeded all GPUs"))
    build_network(toys.dataset(), toys.recipe())


def test_it_learns() -> None:
    fitted = run(toys.dataset(rows=200, dev=60), epochs=4, penalty=0.1)
    assert fitted.history[-1]["loss"] < 0.7 * fitted.history[0]["loss"]
    assert fitted.history[-1]["dev_accuracy"] > 0.7
    assert not fitted.network.training


def test_the_history_tells_what_happened() -> None:
    data = toys.dataset()
    fitted = run(data, epochs=2, learning_rate=0.01)
    assert [sorted(record) for record in fitted.history] == [
        ["accuracy", "dev_accuracy", "dev_loss", "epoch", "loss", "penalty", "rate", "steps"]
    ] * 2
    assert [(r["epoch"], r["steps"], r["rate"]) for r in fitted.history] == [(1, 7, 0.01), (2, 14, 0.01)]
    best = max(fitted.history, key=lambda r: (r["dev_accuracy"], -r["dev_loss"]))
    scores = evaluate(fitted.network, data.splits["dev"])
    assert (scores.score, scores.loss) == (best["dev_accuracy"], best["dev_loss"])


def test_the_figures_of_an_epoch_are_means_over_its_rows() -> None:
    """With a rate of 0 the network stays as it is, so the mean over the batches is the mean over the rows."""
    data = toys.dataset(rows=29)
    fitted = run(data, epochs=1, learning_rate=0.0)
    scores = evaluate(build_network(data, toys.recipe()), data.splits["train"])
    assert fitted.history[0]["loss"] == pytest.approx(scores.loss, abs=1e-6)
    assert fitted.history[0]["accuracy"] == scores.score


@pytest.mark.parametrize(
    ("results", "best"),
    [
        ((0.5, 0.7, 0.6), 1),
        ((0.5, 0.7, 0.7), 1),  # equal: the earlier one
        (((0.5, 2.0), (0.5, 1.0), (0.5, 1.5)), 1),  # equal accuracy: the smaller loss
        (((0.5, 1.0), (0.6, 9.0), (0.5, 0.1)), 1),  # accuracy before loss
        ((0.0, 0.0, 0.0), 0),
    ],
)
def test_the_development_split_chooses(scripted: Any, results: Any, best: int) -> None:
    seen = scripted(*results)
    fitted = run()
    assert fitted.state.best_epoch == best
    assert same(weights(fitted), seen[best])
    assert not same(seen[0], seen[1])


def test_without_a_development_split_the_last_epoch_is_taken(tmp_path: Path) -> None:
    fitted = run(toys.dataset(dev=0), tmp_path / "run", epochs=2)
    assert fitted.state.best_epoch == 1
    assert "dev_accuracy" not in fitted.history[0]
    saved = load_file(tmp_path / "run" / "checkpoint-000000014.safetensors")
    assert same(weights(fitted), select_prefix(saved, "weights."))


@pytest.mark.parametrize(
    ("patience", "results", "epochs"),
    [(1, (0.5, 0.4, 0.9), 2), (2, (0.5, 0.4, 0.6, 0.5, 0.6, 0.9), 5), (0, (0.5, 0.4, 0.3, 0.2), 4)],
)
def test_patience(scripted: Any, patience: int, results: Any, epochs: int) -> None:
    scripted(*results)
    fitted = run(epochs=epochs if patience == 0 else 10, patience=patience)
    assert len(fitted.history) == epochs
    assert fitted.state.finished
    assert not fitted.interrupted


def test_in_the_first_steps_the_newest_weights_are_kept(scripted: Any) -> None:
    """Seven steps an epoch: the first two epochs neither win, nor wait, nor halve."""
    seen = scripted(0.9, 0.8, 0.5, 0.6, 0.4)
    fitted = run(
        epochs=9, min_steps=14, patience=1, halve_on_plateau=True, optimizer="sgd", learning_rate=0.4
    )
    assert [record["rate"] for record in fitted.history] == [0.4] * 5
    assert (fitted.state.best_epoch, fitted.state.best_accuracy) == (3, 0.6)
    assert same(weights(fitted), seen[3])


def test_who_is_never_judged_is_the_last(scripted: Any) -> None:
    seen = scripted(0.9, (0.5, 2.0))
    fitted = run(epochs=2, min_steps=14, patience=1)
    assert (fitted.state.best_epoch, fitted.state.best_accuracy, fitted.state.best_loss) == (1, 0.5, 2.0)
    assert same(weights(fitted), seen[1])


def test_resumed_before_it_is_judged(tmp_path: Path) -> None:
    whole = run(epochs=4, min_steps=14)
    run(folder=tmp_path / "run", epochs=1, min_steps=14)
    rest = run(folder=tmp_path / "run", epochs=4, min_steps=14, resume=True)
    assert rest.history == whole.history
    assert rest.state.best_epoch == whole.state.best_epoch >= 2
    assert same(weights(rest), weights(whole))


@pytest.mark.parametrize(
    ("schedule", "accuracies", "kept"),
    [
        ("constant", [0.70, 0.66, 0.64], 0),
        ("cosine", [0.70, 0.66, 0.64], 1),
        ("linear", [0.70, 0.66, 0.70], 2),
        ("cosine", [0.60, 0.70, 0.66], 2),
        ("cosine", [0.70, 0.66, 0.62], 1),  # the best stays what all are held against
    ],
)
def test_where_the_rate_falls_to_zero_the_newest_within_an_error_of_the_best_is_kept(
    schedule: str, accuracies: list[float], kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = iter([Scores(accuracy, 1.0, error=0.05) for accuracy in accuracies])
    monkeypatch.setattr(module, "evaluate", lambda *_: next(found))
    state = run(epochs=3, schedule=schedule).state
    assert (state.best_epoch, state.best_accuracy) == (kept, max(accuracies))


def test_the_error_is_that_of_the_mean_of_the_scores() -> None:
    data = toys.dataset()
    network = build_network(data, toys.recipe())
    split = data.splits["dev"]
    right = logits(network, split).argmax(axis=1) == split.labels
    assert 0 < right.mean() < 1
    expected = np.sqrt(right.mean() * (1 - right.mean()) / len(split))
    assert evaluate(network, split).error == pytest.approx(expected, rel=1e-12)


def test_weighted_rows_are_judged_by_their_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain accuracy would choose the first epoch."""
    found = iter([Scores(0.9, 1.0, (0.5, 1.0)), Scores(0.8, 1.0, (0.7, 1.0)), Scores(0.9, 1.0, (0.6, 1.0))])
    data = toys.dataset()
    dev = data.splits["dev"]
    data.splits["dev"] = dataclasses.replace(dev, weights=np.arange(len(dev), dtype=np.float32))
    given = []

    def pretend(network: torch.nn.Module, split: Any, row_weights: Any, *rest: Any) -> Scores:
        given.append(row_weights)
        return next(found)

    monkeypatch.setattr(module, "evaluate", pretend)
    fitted = run(data)
    assert (fitted.state.best_epoch, fitted.state.best_accuracy) == (1, 0.7)
    assert [record["dev_accuracy"] for record in fitted.history] == [0.9, 0.8, 0.9]
    assert [record["dev_weighted_accuracy"] for record in fitted.history] == [0.5, 0.7, 0.6]
    np.testing.assert_allclose(given[0], np.arange(len(dev)) / np.arange(len(dev)).mean(), rtol=1e-6)


def test_what_was_judged_without_weights_does_not_defend_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scripted: Any
) -> None:
    """A checkpoint from before the rows were weighted: 0.9 of all rows is not 0.9 of the weighted ones."""
    scripted(0.9)
    run(folder=tmp_path / "run", epochs=1)
    data = toys.dataset()
    dev = data.splits["dev"]
    data.splits["dev"] = dataclasses.replace(dev, weights=np.ones(len(dev), dtype=np.float32))
    found = iter([Scores(0.5, 1.0, (0.6, 1.0)), Scores(0.5, 1.0, (0.5, 1.0))])
    monkeypatch.setattr(module, "evaluate", lambda *_: next(found))
    fitted = run(data, tmp_path / "run", epochs=3, resume=True)
    assert (fitted.state.best_epoch, fitted.state.best_accuracy) == (1, 0.6)


def test_halving_returns_to_the_best_weights(scripted: Any, tmp_path: Path) -> None:
    seen = scripted(0.5, 0.7, 0.6, 0.6)
    fitted = run(folder=tmp_path / "run", epochs=4, halve_on_plateau=True, optimizer="sgd", learning_rate=0.4)
    assert [record["rate"] for record in fitted.history] == [0.4, 0.4, 0.4, 0.2]
    saved = load_file(tmp_path / "run" / "checkpoint-000000028.safetensors")
    assert saved["optimiser.rate"].item() == 0.1
    assert same(select_prefix(saved, "weights."), seen[1])
    assert same(weights(fitted), seen[1])
    assert not same(seen[2], seen[3])


def test_clipping_at_the_gates_reaches_the_lstm() -> None:
    free, wide, tight = (run(epochs=1, clip_gates=c, optimizer="sgd") for c in (0.0, 1e6, 1e-5))
    assert same(weights(free), weights(wide))
    start = build_network(toys.dataset(), toys.recipe()).encoder.W_hh_0
    moved = [(weights(f)["encoder.W_hh_0"] - start).abs().max().item() for f in (free, tight)]
    assert moved[1] < 0.1 * moved[0]
    run(epochs=1, clip_gates=0.5, encoder="cnn", pooling="max")  # a CNN has none: nothing to clip


def test_pretrained_vectors_are_used() -> None:
    data = toys.dataset()
    vectors = np.random.default_rng(0).normal(size=(len(data.tokenizer), 5)).astype(np.float32)
    vectors[0] = 0
    data = Dataset(data.tokenizer, data.labels, data.splits, vectors, {})
    frozen = run(data, epochs=1, fine_tune_words=False)
    assert frozen.recipe.model.word_size == 5
    np.testing.assert_array_equal(weights(frozen)["words.weight"].numpy(), vectors)
    tuned = weights(run(data, epochs=1))["words.weight"].numpy()
    assert (tuned != vectors).any()
    assert np.abs(tuned - vectors).max() < 1, "they must start from the given ones"


def test_a_run_may_go_on_for_more_epochs(tmp_path: Path) -> None:
    long = run(folder=tmp_path / "long", epochs=4, dropout=0.5)
    run(folder=tmp_path / "short", epochs=2, dropout=0.5)
    assert len(run(folder=tmp_path / "short", epochs=2, dropout=0.5, resume=True).history) == 2
    longer = run(folder=tmp_path / "short", epochs=4, patience=9, dropout=0.5, resume=True)
    assert same(weights(longer), weights(long))
    assert toys.contents(tmp_path / "short") == toys.contents(tmp_path / "long")


def test_resuming_a_finished_run_changes_nothing(tmp_path: Path) -> None:
    first = run(folder=tmp_path / "run")
    before = toys.contents(tmp_path / "run")
    (tmp_path / "run" / "history.jsonl").unlink()
    again = run(folder=tmp_path / "run", resume=True)
    assert toys.contents(tmp_path / "run") == before
    assert same(weights(again), weights(first))
    assert again.history == first.history == [json.loads(x) for x in before["history.jsonl"].splitlines()]


def test_checkpoints_change_nothing(tmp_path: Path) -> None:
    with_them = run(folder=tmp_path / "run", checkpoint_every=0.0, dropout=0.5)
    assert same(weights(with_them), weights(run(dropout=0.5)))


def test_a_loss_beyond_numbers_ends_the_run(scripted: Any, tmp_path: Path) -> None:
    with refuses("diverged"):
        run(optimizer="sgd", learning_rate=1e30)
    seen = scripted(0.5, (0.9, float("nan")))
    fitted = run(folder=tmp_path / "run", epochs=5)
    assert fitted.state.finished
    assert same(weights(fitted), seen[0]), "what was best before is kept"
    assert len(fitted.history) == 1
    assert "NaN" not in (tmp_path / "run" / "history.jsonl").read_text()


def test_what_needs_a_folder_says_so() -> None:
    with refuses("folder-needed"):
        run(resume=True)


def test_no_labels_is_one_line() -> None:
    data = toys.dataset()
    train = data.splits["train"]
    unlabelled = Dataset(data.tokenizer, (), {"train": type(train)(train.ids, train.lengths)}, None, {})
    with refuses("no-labels"):
        run(unlabelled)


@pytest.mark.parametrize(
    ("device", "message"), [("gpu", "must be auto, cpu or cuda"), ("cuda", "no GPU here")]
)
def test_a_device_that_is_not_there(device: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(LimelightError, match=message):
        fit(toys.dataset(), toys.recipe(), device=device)


def test_training_from_the_memory_map_is_training_from_memory(tmp_path: Path) -> None:
    data = toys.dataset(pair=True, weighted=True)
    data.save(tmp_path / "data")
    opened = Dataset.open(tmp_path / "data")
    assert isinstance(opened.splits["train"].ids, np.memmap)
    assert same(weights(run(opened, epochs=2)), weights(run(data, epochs=2)))


@pytest.mark.parametrize("pair", [False, True])
def test_a_projection_is_trained_before_words_that_stay(pair: bool, tmp_path: Path) -> None:
    data = toys.dataset(pair=pair)
    vectors = np.random.default_rng(0).normal(size=(len(data.tokenizer), 5)).astype(np.float32)
    data = Dataset(data.tokenizer, data.labels, data.splits, vectors, {"recipe": {}})
    options = {"projection": 4, "fine_tune_words": False, "ema_decay": 0.9}
    fitted = run(data, tmp_path / "run", **options)
    assert (fitted.recipe.model.word_size, fitted.recipe.model.projection) == (5, 4)
    best = load_file(tmp_path / "run" / f"best-{fitted.state.best_epoch:04d}.safetensors")
    np.testing.assert_array_equal(best["words.weight"].numpy(), vectors)
    W = best["projection.W"].numpy()
    assert (
        build_network(data, toys.recipe(word_size=5, projection=4)).projection.W.detach().numpy() != W
    ).any()
    again = run(data, tmp_path / "run", resume=True, **options)
    assert same(weights(again), weights(fitted))

    facts = chosen.facts_of(data, fitted, {})
    chosen.save(tmp_path / "model", data, fitted, facts, overwrite=False)
    model = limelight.load(tmp_path / "model")
    split = data.splits["dev"]
    texts = [" ".join(f"w{k - 2}" for k in ids) for ids in sentences(split.ids, split.lengths)]
    others = (
        [" ".join(f"w{k - 2}" for k in ids) for ids in sentences(split.ids2, split.lengths2)]
        if pair
        else None
    )
    expected = torch.from_numpy(logits(fitted.network, split)).softmax(1)
    np.testing.assert_allclose(model.predict_proba(texts, others), expected, rtol=0, atol=1e-5)
    torch.testing.assert_close(weights_in(restored(model)), weights(fitted))


def weights_in(network: torch.nn.Module) -> dict[str, torch.Tensor]:
    return dict(network.state_dict())


def sentences(ids: np.ndarray, lengths: np.ndarray) -> list[np.ndarray]:
    return np.split(ids, np.cumsum(lengths)[:-1])


def test_a_schedule_ends_with_the_last_epoch(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = toys.dataset(rows=40)
    options = {"schedule": "linear", "learning_rate": 0.01, "batch_size": 12, "patience": 0}
    ends = [3, 7, 11, 15]  # steps before the last one of each epoch
    whole = fit(data, toys.recipe(**options, epochs=4), show=False)
    assert [record["rate"] for record in whole.history] == pytest.approx([0.01 * (1 - k / 16) for k in ends])
    half = fit(data, toys.recipe(**options, epochs=2), tmp_path, show=False)
    assert half.history[-1]["rate"] == pytest.approx(0.01 * (1 - 7 / 8))
    longer = fit(data, toys.recipe(**options, epochs=4), tmp_path, resume=True)
    assert capsys.readouterr().err.splitlines()[0] == (
        "resuming in epoch 3 at step 8; the rate, 0.0056 here, falls to zero by the end of epoch 4"
    )
    assert longer.history[2:] != whole.history[2:]  # the steps of the first half were shorter
    for ours, theirs in zip(longer.history[2:], whole.history[2:], strict=True):
        assert ours["rate"] == theirs["rate"]
    fit(data, toys.recipe(**options, epochs=3), tmp_path, resume=True)  # it has had more already
    assert capsys.readouterr().err.splitlines()[0] == "resuming after epoch 4, the last, at step 16"


def test_a_network_that_cannot_fit_is_refused_before_it_is_built() -> None:
    for options in (
        {"hidden": 10**9},
        {"word_size": 10**12},
        {"encoder": "cnn", "pooling": "max", "hidden": 10**300},
    ):
        with refuses("memory"):
            fit(toys.dataset(), toys.recipe(**options), show=False)
