"""The moving average of the weights: its values, that it is what is judged and kept, and that it resumes."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from limelight.training import Callback, Fitted, fit
from limelight.training.checkpoint import select_prefix
from limelight.training.context import Processes
from limelight.training.evaluate import Scores
from limelight.training.label_objective import LabelObjective
from limelight.training.starting_network import build_network
from limelight.training.step import Stepper
from training import toys

module = importlib.import_module("limelight.training.label_objective")
Weights = dict[str, torch.Tensor]


def run(folder: Path | None = None, dev: int = 20, resume: bool = False, **options: Any) -> Fitted:
    recipe = toys.recipe(**options)
    return fit(toys.dataset(dev=dev), recipe, folder, show=False, device="cpu", resume=resume)


def copied(network: torch.nn.Module) -> Weights:
    return {name: w.clone() for name, w in network.state_dict().items()}


def same(a: Weights, b: Weights) -> bool:
    return a.keys() == b.keys() and all(torch.equal(x, b[name]) for name, x in a.items())


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])  # one with dense and one with sparse word gradients
def test_the_average_by_hand(optimizer: str) -> None:
    data, recipe = toys.dataset(), toys.recipe(ema_decay=0.4, optimizer=optimizer)
    network = build_network(data, recipe).double()
    stepper = Stepper(network, LabelObjective(data, recipe), Processes())
    expected = {name: w.numpy() for name, w in copied(network).items()}
    for t in range(12):
        stepper.step(np.arange(t, t + 8), t)
        stepper.finish()
        d = min(0.4, (1 + t) / (10 + t))
        expected = {
            name: d * x + (1 - d) * network.state_dict()[name].numpy() for name, x in expected.items()
        }
    raw = copied(network)
    with stepper.averaged():
        for name, w in network.state_dict().items():
            np.testing.assert_allclose(w.numpy(), expected[name], rtol=1e-12, atol=1e-14, err_msg=name)
    assert same(copied(network), raw)


def test_training_does_not_feel_the_average(tmp_path: Path) -> None:
    """The raw weights after the run are those of a run without one; the chosen ones are not."""
    plain, averaged = (run(tmp_path / str(a), ema_decay=a, dropout=0.5) for a in (0.0, 0.9))
    last = "checkpoint-000000021.safetensors"
    raw = [select_prefix(load_file(tmp_path / a / last), "weights.") for a in ("0.0", "0.9")]
    assert same(*raw)
    assert [r["loss"] for r in plain.history] == [r["loss"] for r in averaged.history]
    assert not same(copied(plain.network), copied(averaged.network))


def test_frozen_words_are_not_averaged() -> None:
    recipe = toys.recipe(ema_decay=0.9, fine_tune_words=False)
    data = toys.dataset()
    stepper = Stepper(build_network(data, recipe), LabelObjective(data, recipe), Processes())
    assert "words.weight" not in stepper.average.values
    assert set(stepper.average.values) == set(stepper.optimiser.weights)


def test_the_average_is_judged_kept_and_returned_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results, seen = (0.5, 0.7, 0.6), []

    def pretend(network: torch.nn.Module, split: Any, weights: Any, *rest: Any) -> Scores:
        seen.append(copied(network))
        return Scores(results[len(seen) - 1], 1.0)

    monkeypatch.setattr(module, "evaluate", pretend)
    fitted = run(tmp_path / "run", ema_decay=0.9, halve_on_plateau=True)
    assert same(copied(fitted.network), seen[1])
    saved = load_file(tmp_path / "run" / "checkpoint-000000021.safetensors")
    assert same(select_prefix(saved, "weights."), seen[1])
    assert same(select_prefix(saved, "average."), seen[1])
    before = load_file(tmp_path / "run" / "checkpoint-000000014.safetensors")
    assert same(select_prefix(before, "average."), seen[1])
    assert not same(select_prefix(before, "weights."), seen[1]), "training goes on from the raw ones"


def test_without_a_development_split_the_last_average_is_taken(tmp_path: Path) -> None:
    fitted = run(tmp_path / "run", dev=0, ema_decay=0.9)
    saved = load_file(tmp_path / "run" / "checkpoint-000000021.safetensors")
    assert same(copied(fitted.network), select_prefix(saved, "average."))


def test_callbacks_see_the_average() -> None:
    seen: list[Weights] = []

    class After(Callback):
        def on_epoch_end(self, run: Any, record: dict[str, Any]) -> None:
            seen.append(copied(run.network))

    recipe = toys.recipe(ema_decay=0.9, epochs=1)
    fitted = fit(toys.dataset(), recipe, show=False, device="cpu", callbacks=[After()])
    assert same(copied(fitted.network), seen[0])


def test_stopped_before_an_evaluation_it_gives_the_average(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import signal

    step = Stepper.step

    def pressed(self: Stepper, rows: Any, number: int) -> None:
        step(self, rows, number)
        if number == 3:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Stepper, "step", pressed)
    stopped = run(tmp_path / "run", ema_decay=0.9)
    saved = load_file(tmp_path / "run" / "checkpoint-000000004.safetensors")
    assert same(copied(stopped.network), select_prefix(saved, "average."))
    monkeypatch.undo()
    ended = run(tmp_path / "run", ema_decay=0.9, resume=True)
    whole = run(tmp_path / "whole", ema_decay=0.9)
    assert same(copied(ended.network), copied(whole.network))
    last = "checkpoint-000000021.safetensors"
    assert (tmp_path / "run" / last).read_bytes() == (tmp_path / "whole" / last).read_bytes()


def test_words_that_do_not_occur_keep_their_vectors_in_the_average() -> None:
    data = toys.dataset(rows=12)
    unused = int(np.flatnonzero(~np.isin(np.arange(len(data.tokenizer)), data.splits["train"].ids))[-1])
    started = build_network(data, toys.recipe()).words.weight[unused]
    fitted = fit(data, toys.recipe(ema_decay=0.9), show=False, device="cpu")
    assert torch.equal(fitted.network.words.weight[unused], started)
    used = int(data.splits["train"].ids[0])
    assert not torch.equal(
        fitted.network.words.weight[used], build_network(data, toys.recipe()).words.weight[used]
    )
