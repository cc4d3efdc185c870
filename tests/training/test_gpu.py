"""A GPU gives what a CPU gives: captured steps, kernels and averages, in exact float32 and in bf16."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

from limelight.training import fit
from limelight.training.context import NO_SIDE_STREAM, Processes
from limelight.training.label_objective import LabelObjective
from limelight.training.starting_network import build_network
from limelight.training.step import Stepper
from training import toys

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")

RECIPES: dict[str, dict[str, Any]] = {
    "paper": {"optimizer": "sgd", "clip_norm": 0.5, "weight_decay": 1e-3},
    "adagrad": {"optimizer": "adagrad", "penalty_scale": "author", "clip_gates": 0.1},
    "adamw": {"optimizer": "adamw", "weight_decay": 0.1, "class_weight": "balanced"},
    "average": {"ema_decay": 0.9},
    "scheduled": {"schedule": "cosine"},
    "halved": {"ema_decay": 0.9, "halve_on_plateau": True, "epochs": 5},
    "projected": {"projection": 6, "fine_tune_words": False},
    "stacked": {
        "layers": 2,
        "max_row": True,
        "head": "pruned",
        "row_units": 4,
        "column_units": 0,
        "mix_units": 5,
    },
    "author": {"author_code": True},
    "max": {"pooling": "max", "layers": 2},
    "cnn": {"encoder": "cnn", "pooling": "max"},
}


@pytest.fixture(autouse=True)
def exact() -> Iterator[None]:
    """Products in whole float32: TF32's rounding would soon lead elsewhere."""
    before = torch.backends.cudnn.allow_tf32
    torch.backends.cudnn.allow_tf32 = False
    yield
    torch.backends.cudnn.allow_tf32 = before


def histories(pair: bool | str, **options: Any) -> list[list[dict[str, Any]]]:
    recipe = toys.recipe(**{"learning_rate": 0.003, "patience": 0, "pair": pair or "gated", **options})
    data = toys.dataset(rows=80, pair=bool(pair))
    return [fit(data, recipe, device=device, show=False).history for device in ("cpu", "cuda")]


def test_the_random_state_stays_as_it_was() -> None:
    torch.cuda.manual_seed(7)
    before = torch.cuda.get_rng_state()
    fit(toys.dataset(), toys.recipe(epochs=1, dropout=0.5), device="cuda", show=False)
    assert torch.equal(torch.cuda.get_rng_state(), before)


@pytest.mark.parametrize("pair", [False, "concat", "gated"])
@pytest.mark.parametrize("name", RECIPES)
def test_the_same_losses_on_both(name: str, pair: bool | str) -> None:
    on_cpu, on_gpu = histories(pair, **RECIPES[name])
    for ours, theirs in zip(on_gpu, on_cpu, strict=True):
        assert ours["rate"] == pytest.approx(theirs["rate"], rel=1e-9)
        for key in ("loss", "dev_loss", "penalty"):
            assert ours[key] == pytest.approx(theirs[key], abs=2e-4, rel=2e-4), (key, ours["epoch"])


@pytest.mark.parametrize("pair", [False, "gated"])
@pytest.mark.parametrize("name", RECIPES)
def test_bf16_is_close(name: str, pair: bool | str) -> None:
    on_cpu, on_gpu = histories(pair, **RECIPES[name], precision="bf16")
    assert on_gpu[-1]["loss"] == pytest.approx(on_cpu[-1]["loss"], abs=0.05)


@pytest.mark.parametrize("name", ["paper", "adagrad", "average"])
@pytest.mark.parametrize("precision", ["float32", "bf16"])
def test_early_updates_change_no_bit(name: str, precision: str) -> None:
    """On a side stream or after the backward pass. Words are frozen: their gradients have no fixed order."""
    recipe = toys.recipe(
        **RECIPES[name],
        pair="gated",
        head="full",
        head_hidden=3000,
        fine_tune_words=False,
        precision=precision,
    )
    data = toys.dataset(rows=80, pair=True)
    found = []
    for early in (True, False):
        torch.manual_seed(0)
        network = build_network(data, recipe).cuda().train()
        stepper = Stepper(network, LabelObjective(data, recipe), Processes())
        if not early:
            stepper.updates_early, stepper.side = False, NO_SIDE_STREAM
        for number in range(30):
            stepper.step(np.arange(8) + 8 * (number % 8), number)
        stepper.finish()
        found.append({**network.state_dict(), **stepper.tensors(), "sums": stepper.sums})
    for key, x in found[0].items():
        assert torch.equal(x, found[1][key]), key
