"""SGD, AdaGrad, Adam and AdamW against their definitions in numpy, one number at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from limelight.config.recipe import TrainingRecipe
from limelight.training import optimiser as kernels
from limelight.training.context import NO_SIDE_STREAM, Processes
from limelight.training.label_objective import LabelObjective
from limelight.training.optimiser import Optimiser
from limelight.training.starting_network import build_network
from limelight.training.step import Stepper
from training import toys

RULES = ("sgd", "adagrad", "adam", "adamw")
SHAPES = {"words.weight": (6, 3), "head.W_1": (4, 5), "head.b_1": (5,), "encoder.W_hh_0": (2, 4, 2)}
STEPS = 20


def numpy_step(
    rule: str, w: dict[str, Any], g: dict[str, Any], memory: dict[str, Any], t: int, recipe: TrainingRecipe
) -> None:
    """The textbook rules; `memory` holds what they remember of each weight."""
    if recipe.clip_norm:
        norm = np.sqrt(sum((x**2).sum() for x in g.values()))
        g = {k: x * min(1, recipe.clip_norm / (norm + 1e-6)) for k, x in g.items()}
    for k in w:
        decay = recipe.weight_decay if k in ("head.W_1", "encoder.W_hh_0") else 0
        if rule == "adamw":
            w[k] = w[k] * (1 - recipe.learning_rate * decay)
        gradient = g[k] + (0 if rule == "adamw" else decay * w[k])
        if rule == "sgd":
            w[k] = w[k] - recipe.learning_rate * gradient
        elif rule == "adagrad":
            memory[k] = memory.get(k, 0) + gradient**2
            w[k] = w[k] - recipe.learning_rate * gradient / (np.sqrt(memory[k]) + 1e-10)
        else:
            m, v = memory.get(k, (0, 0))
            memory[k] = m, v = 0.9 * m + 0.1 * gradient, 0.999 * v + 0.001 * gradient**2
            m_hat, v_hat = m / (1 - 0.9**t), v / (1 - 0.999**t)
            w[k] = w[k] - recipe.learning_rate * m_hat / (np.sqrt(v_hat) + 1e-8)


def one_by_one(rule: str, parts: list[kernels.WeightUpdate], numbers: torch.Tensor) -> None:
    for w, g, state, _ in parts:
        kernels._in_plain_operations(rule, w, g, state, numbers)


OPTIONS: list[dict[str, float]] = [
    {}, {"weight_decay": 0.1}, {"clip_norm": 0.5}, {"clip_norm": 1e6},
    {"weight_decay": 0.05, "clip_norm": 1.0},
]  # fmt: skip


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("way", ["fused", "plainly"])
def test_the_rules_are_the_textbook_s(
    rule: str, options: dict[str, float], way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if way == "plainly":
        monkeypatch.setattr(kernels, "_on_cpu", one_by_one)
    rng = np.random.default_rng(0)
    recipe = TrainingRecipe(optimizer=rule, learning_rate=0.05, **options)
    expected = {name: rng.normal(size=shape) for name, shape in SHAPES.items()}
    weights = {name: nn.Parameter(torch.tensor(x)) for name, x in expected.items()}
    optimiser, memory = Optimiser(weights, recipe), {}
    for t in range(1, STEPS + 1):
        gradients = {name: rng.normal(size=shape) for name, shape in SHAPES.items()}
        for name, w in weights.items():
            w.grad = torch.tensor(gradients[name])
        optimiser.step()
        numpy_step(rule, expected, gradients, memory, t, recipe)
    for name, w in weights.items():
        np.testing.assert_allclose(w.detach().numpy(), expected[name], rtol=0, atol=1e-10, err_msg=name)


@pytest.mark.parametrize("rule", RULES)
def test_updating_only_the_words_that_occurred_changes_no_bit(rule: str) -> None:
    recipe = TrainingRecipe(optimizer=rule, learning_rate=0.05, weight_decay=0.1)
    generator = torch.Generator().manual_seed(0)
    start = torch.randn(50, 7, generator=generator)
    dense, sparse = nn.Parameter(start.clone()), nn.Parameter(start.clone())
    optimisers = [Optimiser({"words.weight": w}, recipe) for w in (dense, sparse)]
    for _ in range(STEPS):
        rows = 1 + torch.randperm(49, generator=generator)[:13]
        dense.grad = torch.zeros(50, 7)
        dense.grad[rows] = torch.randn(13, 7, generator=generator)
        sparse.grad = dense.grad.to_sparse(1)
        for optimiser in optimisers:
            optimiser.step()
        assert torch.equal(dense, sparse)
    for name, x in optimisers[0].tensors().items():
        assert torch.equal(x, optimisers[1].tensors()[name]), name


def test_a_mean_fades_to_zero_and_the_weights_do_not_notice() -> None:
    """Numbers below 1e-38 are slow to compute with, and without a gradient a mean would stay there."""
    start = torch.randn(20, 5, generator=torch.Generator().manual_seed(0))
    w, plain = nn.Parameter(start.clone()), nn.Parameter(start.clone())
    recipe = TrainingRecipe(optimizer="adam", learning_rate=0.05)
    optimiser, adam = Optimiser({"words.weight": w}, recipe), torch.optim.Adam([plain], lr=0.05)
    for step in range(1000):
        plain.grad = torch.zeros_like(start) if step else start.sin()
        w.grad = plain.grad.clone()
        optimiser.step()
        adam.step()
        faintest = optimiser.state["words.weight.mean"].abs()
        assert not ((faintest > 0) & (faintest < torch.finfo(torch.float32).tiny)).any()
    torch.testing.assert_close(w, plain, rtol=0, atol=1e-6)
    assert not optimiser.state["words.weight.mean"].any()


@pytest.mark.parametrize("rule", RULES)
def test_a_batch_without_words_moves_no_word(rule: str) -> None:
    w = nn.Parameter(torch.ones(50, 7))
    w.grad = torch.zeros(50, 7).to_sparse(1)
    Optimiser({"words.weight": w}, TrainingRecipe(optimizer=rule, clip_norm=1.0)).step()
    assert torch.equal(w, torch.ones(50, 7))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("options", [{}, {"clip_norm": 0.05}], ids=str)
def test_training_on_sparse_gradients_is_training_on_dense_ones(rule: str, options: dict[str, float]) -> None:
    """To the last digits: a word that occurs several times has its gradients added in another order."""
    sparse, dense = (words_after_training(rule, sparse, **options) for sparse in (True, False))
    for name, x in sparse.items():
        assert torch.allclose(x, dense[name], rtol=0, atol=1e-5), name


def words_after_training(
    rule: str, sparse: bool, early: bool = False, **options: Any
) -> dict[str, torch.Tensor]:
    data = toys.dataset()
    recipe = toys.recipe(optimizer=rule, learning_rate=0.05, weight_decay=0.01, dropout=0.5, **options)
    network = build_network(data, recipe)
    stepper = Stepper(network, LabelObjective(data, recipe), Processes())
    network.words.sparse = sparse
    stepper.updates_early = early
    for number in range(6):
        stepper.step(np.arange(5 * number, 5 * number + 5), number)
    assert all(w.grad is None or w.grad.is_sparse == (sparse and w is network.words.weight)
               for w in network.parameters())  # fmt: skip
    stepper.finish()
    return {**{k: w.clone() for k, w in network.state_dict().items()}, **stepper.tensors()}


@pytest.mark.parametrize("rule", RULES)
def test_the_padding_stays_zero_and_unread_words_are_not_decayed(rule: str) -> None:
    data, recipe = toys.dataset(rows=8), toys.recipe(optimizer=rule, weight_decay=0.5)
    network = build_network(data, recipe)
    before = network.words.weight.detach().clone()
    stepper = Stepper(network, LabelObjective(data, recipe), Processes())
    for number in range(3):
        stepper.step(np.arange(8), number)
    stepper.finish()
    after = network.words.weight.detach()
    assert not after[0].any()
    read = np.isin(np.arange(toys.WORDS + 2), data.splits["train"].ids)
    assert not read.all()
    assert torch.equal(after[~read], before[~read])
    assert all((after[k] != before[k]).any() for k in np.flatnonzero(read))


@pytest.mark.parametrize("rule", RULES)
def test_weight_decay_moves_weights_but_no_biases(rule: str) -> None:
    """With gradients of zero, only decay is left."""
    weights = {name: nn.Parameter(torch.ones(shape)) for name, shape in SHAPES.items()}
    optimiser = Optimiser(weights, TrainingRecipe(optimizer=rule, learning_rate=0.1, weight_decay=0.5))
    for w in weights.values():
        w.grad = torch.zeros_like(w)
    optimiser.step()
    moved = {name for name, w in weights.items() if not torch.equal(w, torch.ones_like(w))}
    assert moved == {"head.W_1", "encoder.W_hh_0"}
    assert all((weights[name] < 1).all() for name in moved)


@pytest.mark.parametrize("rule", RULES)
def test_its_state_can_be_taken_out_and_put_back(rule: str) -> None:
    def step(optimiser: Optimiser, w: nn.Parameter, seed: int) -> None:
        w.grad = torch.randn(3, generator=torch.Generator().manual_seed(seed))
        optimiser.step()

    recipe = TrainingRecipe(optimizer=rule, learning_rate=0.1)
    one = nn.Parameter(torch.ones(3))
    first = Optimiser({"w": one}, recipe)
    step(first, one, 1)
    other = nn.Parameter(one.detach().clone())
    second = Optimiser({"w": other}, recipe)
    second.restore({name: x.clone() for name, x in first.tensors().items()})
    step(first, one, 2)
    step(second, other, 2)
    assert torch.equal(one, other)


def test_frozen_words_are_not_touched() -> None:
    data, recipe = toys.dataset(), toys.recipe(fine_tune_words=False)
    network = build_network(data, recipe)
    before = network.words.weight.clone()
    stepper = Stepper(network, LabelObjective(data, recipe), Processes())
    stepper.step(np.arange(8), 0)
    assert torch.equal(network.words.weight, before)
    assert not [name for name in stepper.optimiser.state if name.startswith("words")]


@pytest.mark.parametrize(
    ("schedule", "rates"),
    [
        ("constant", [0.5, 0.5, 0.5, 0.5, 0.5]),
        ("linear", [0.5, 0.375, 0.25, 0.125, 0.0]),
        ("cosine", [0.5, 0.25 + 0.125 * 2**0.5, 0.25, 0.25 - 0.125 * 2**0.5, 0.0]),
    ],
)
def test_the_rate_follows_the_schedule(schedule: str, rates: list[float]) -> None:
    w = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    recipe = TrainingRecipe(optimizer="sgd", learning_rate=0.5, schedule=schedule)
    optimiser = Optimiser({"w": w}, recipe, total=4)
    steps = []
    for _ in rates:  # the fifth is one more than was planned
        before, w.grad = w.item(), torch.ones_like(w)
        optimiser.step()
        steps.append(before - w.item())
    assert steps == pytest.approx(rates, abs=1e-12)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("options", [{"weight_decay": 0.1}, {"clip_norm": 0.05}], ids=str)
def test_early_updates_change_no_bit(rule: str, options: dict[str, float]) -> None:
    recipe = TrainingRecipe(optimizer=rule, learning_rate=0.05, **options)
    generator = torch.Generator().manual_seed(0)
    start = {name: torch.randn(shape, generator=generator) for name, shape in SHAPES.items()}
    early, late = ({name: nn.Parameter(x.clone()) for name, x in start.items()} for _ in range(2))
    first, second = Optimiser(early, recipe), Optimiser(late, recipe)
    for _ in range(3):
        first.clear()
        second.clear()
        with first.early_updates(NO_SIDE_STREAM):
            sum((w * w.sin()).sum() for w in early.values()).backward()
            moved = {name for name in SHAPES if not torch.equal(early[name], late[name])}
            assert moved == (set() if recipe.clip_norm else set(SHAPES))
        first.step()
        sum((w * w.sin()).sum() for w in late.values()).backward()
        second.step()
        for name, w in early.items():
            assert torch.equal(w, late[name]), name
    for name, x in first.tensors().items():
        assert torch.equal(x, second.tensors()[name]), name


def test_later_gradients_move_nothing() -> None:
    """Hooks end with `early_updates`, also after an error."""
    w = nn.Parameter(torch.ones(3))
    optimiser = Optimiser({"w": w}, TrainingRecipe(optimizer="sgd", learning_rate=0.5))
    with pytest.raises(KeyError), optimiser.early_updates(NO_SIDE_STREAM):
        raise KeyError
    w.sum().backward()
    assert torch.equal(w, torch.ones(3))
    optimiser.clear()
    with optimiser.early_updates(NO_SIDE_STREAM):
        w.sum().backward()
    optimiser.step()
    assert w.tolist() == [0.5, 0.5, 0.5]


def test_a_step_that_failed_half_way_is_forgotten() -> None:
    w = nn.Parameter(torch.ones(3))
    optimiser = Optimiser({"w": w}, TrainingRecipe(optimizer="sgd", learning_rate=0.5))

    def fail() -> None:
        w.sum().backward()
        raise KeyError

    with pytest.raises(KeyError), optimiser.early_updates(NO_SIDE_STREAM):
        fail()
    assert w.tolist() == [0.5, 0.5, 0.5]
    optimiser.clear()
    w.sum().backward()
    optimiser.step()
    assert w.tolist() == [0.0, 0.0, 0.0]
    assert optimiser.steps == 1


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("options", [{}, {"clip_norm": 0.05}], ids=str)
def test_early_updates_from_sparse_gradients(rule: str, options: dict[str, float]) -> None:
    early, late = (words_after_training(rule, True, early, **options) for early in (True, False))
    for name, x in early.items():
        assert torch.equal(x, late[name]), name
