"""What is minimised: the penalty with its coefficient and scale, weights of rows and classes, dropout."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch

import reference
from limelight.config.recipe import ModelRecipe
from limelight.network.parts import rows_of
from limelight.text.dataset import Dataset
from limelight.training.context import Processes
from limelight.training.label_objective import LabelObjective, row_weights
from limelight.training.loss import Loss, Tensors, loss
from limelight.training.starting_network import build_network
from limelight.training.step import HostFeed, Stepper
from training import toys

SCALES = ("paper", "author")


def loss_of(
    data: Dataset,
    rows: list[int],
    weights: np.ndarray | None = None,
    width: int | None = None,
    **options: Any,
) -> Loss:
    recipe = toys.recipe(**options)
    network = build_network(data, recipe).double()
    feed = HostFeed(data.splits["train"], torch.device("cpu"), weights)
    batch = feed.batch(torch.tensor(rows), width)
    output = network(batch.ids, batch.lengths, batch.ids2, batch.lengths2)
    rows = rows_of(recipe.model).attention
    return loss(output, batch, recipe.training, rows, len(data.tokenizer))


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("pair", [False, True])
@pytest.mark.parametrize("width", [None, 16])  # of each side's own, or of both: a captured step's
def test_the_penalty_is_that_of_every_sentence_by_itself(scale: str, pair: bool, width: int | None) -> None:
    data = toys.dataset(pair=pair)
    recipe = toys.recipe(penalty=0.7, penalty_scale=scale)
    found = loss_of(data, list(range(6)), width=width, penalty=0.7, penalty_scale=scale)
    parameters = {k: w.double().numpy() for k, w in build_network(data, recipe).state_dict().items()}
    entropies, penalties = [], []
    for row in range(6):
        sentences = [words(data, row, side) for side in range(1 + pair)]
        if pair:
            logits, _, A, _, A2 = reference.pair_network(ModelRecipe(), parameters, *sentences)
        else:
            logits, _, A = reference.network(ModelRecipe(), parameters, *sentences)
        penalties.append(sum(reference.penalty([x], scale) for x in ((A, A2) if pair else (A,))))
        entropies.append(reference.cross_entropy(logits, int(data.splits["train"].labels[row])))
    assert found.labels.item() == pytest.approx(np.mean(entropies), abs=1e-12)
    assert found.penalty.item() == pytest.approx(np.mean(penalties), abs=1e-10)
    assert found.total.item() == pytest.approx(np.mean(entropies) + 0.7 * np.mean(penalties), abs=1e-10)


@pytest.mark.parametrize("pair", [False, True])
def test_the_aspect_penalty_sums_each_rows_attention_by_word_over_the_batch(pair: bool) -> None:
    data = toys.dataset(pair=pair)
    recipe = toys.recipe(penalty=0.0)
    parameters = {k: w.double().numpy() for k, w in build_network(data, recipe).state_dict().items()}
    Q = np.zeros((recipe.model.rows, len(data.tokenizer)))
    for row in range(6):
        sentences = [words(data, row, side) for side in range(1 + pair)]
        if pair:
            _, _, *both = reference.pair_network(ModelRecipe(), parameters, *sentences)
            attention = [both[0], both[2]]
        else:
            attention = [reference.network(ModelRecipe(), parameters, *sentences)[2]]
        for A, ids in zip(attention, sentences, strict=True):
            for t, word in enumerate(ids):
                Q[:, word] += A[:, t]
    Q /= np.linalg.norm(Q, axis=1, keepdims=True)
    G = Q @ Q.T
    P = (G**2).sum() / len(Q) - 1  # off the diagonal
    plain = loss_of(data, list(range(6)), penalty=0.0)
    found = loss_of(data, list(range(6)), penalty=0.0, aspect_penalty=0.7)
    assert found.total.item() == pytest.approx(plain.total.item() + 0.7 * P, abs=1e-10)
    assert found.penalty.item() == 0.0  # progress shows the paper's penalty


def words(data: Dataset, row: int, side: int) -> list[int]:
    split = data.splits["train"]
    ids, starts, lengths = split.sides[side]
    return ids[starts[row] : starts[row] + lengths[row]].tolist()


@pytest.mark.parametrize("scale", SCALES)
def test_training_follows_the_penalty_and_its_coefficient(scale: str) -> None:
    """A step of SGD is the rate times the gradient, so the gradient of P can be read off the steps."""
    data = toys.dataset()
    moves = [move(data, penalty=p, penalty_scale=scale) for p in (0.0, 0.5, 1.0)]
    of_half, of_one = moves[1] - moves[0], moves[2] - moves[0]
    assert of_one.abs().max() > 1e-7, "the attention starts almost even, where P is flat, but not quite"
    assert torch.allclose(of_one, 2 * of_half, rtol=1e-5, atol=1e-14)


def move(data: Dataset, **options: Any) -> torch.Tensor:
    recipe = toys.recipe(optimizer="sgd", learning_rate=1.0, **options)
    network = build_network(data, recipe).double()
    before = network.pooling.W_s2.detach().clone()
    Stepper(network, LabelObjective(data, recipe), Processes()).step(np.arange(8), 0)
    return network.pooling.W_s2.detach() - before


def test_the_max_row_is_not_penalised() -> None:
    data = toys.dataset()
    without, joined = (loss_of(data, list(range(6)), penalty=0.7, max_row=m) for m in (False, True))
    assert joined.penalty.item() == pytest.approx(without.penalty.item(), abs=1e-12)


@pytest.mark.parametrize("encoder", ["bilstm", "cnn"])
def test_baselines_are_not_penalised(encoder: str) -> None:
    data = toys.dataset()
    found = loss_of(data, list(range(6)), encoder=encoder, pooling="max", penalty=5.0)
    assert found.penalty.item() == 0
    assert found.total.item() == found.labels.item()


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("pair", [False, True])
def test_a_batch_twice_is_the_batch_once(scale: str, pair: bool) -> None:
    data = toys.dataset(pair=pair)
    once, twice = (loss_of(data, rows, penalty_scale=scale) for rows in ([0, 1, 2], [0, 1, 2, 0, 1, 2]))
    for a, b in zip(once, twice, strict=True):
        assert a.item() == pytest.approx(b.item(), abs=1e-12)


def test_rows_count_by_their_weights() -> None:
    data = toys.dataset(weighted=True)
    split = data.splits["train"]
    weights = row_weights(data, toys.recipe())
    np.testing.assert_allclose(weights, split.weights / split.weights.mean(dtype=np.float64), rtol=1e-6)
    each = [loss_of(data, [row]).labels.item() for row in range(7)]
    found = loss_of(data, list(range(7)), weights)
    assert found.labels.item() == pytest.approx(np.mean(weights[:7] * each), abs=1e-7)


@pytest.mark.parametrize("weighted", [False, True])
def test_balanced_classes_have_the_same_total(weighted: bool) -> None:
    data = toys.dataset(rows=80, weighted=weighted)
    split = data.splits["train"]
    weights = row_weights(data, toys.recipe(class_weight="balanced"))
    totals = np.bincount(split.labels, weights)
    np.testing.assert_allclose(totals, 80 / 3, rtol=1e-5)
    if weighted:
        inside = split.labels == 1
        np.testing.assert_allclose(
            weights[inside] / weights[inside][0], split.weights[inside] / split.weights[inside][0], rtol=1e-5
        )


def test_development_rows_have_weights_of_their_own() -> None:
    data = toys.dataset(rows=80)
    dev = data.splits["dev"]
    balanced = row_weights(data, toys.recipe(class_weight="balanced"), "dev")
    counts = np.bincount(dev.labels)
    np.testing.assert_allclose(
        np.bincount(dev.labels, balanced)[counts > 0], len(dev) / (counts > 0).sum(), rtol=1e-5
    )
    data.splits["dev"] = dataclasses.replace(dev, weights=np.zeros(len(dev), dtype=np.float32))
    assert row_weights(data, toys.recipe(), "dev") is None
    assert row_weights(toys.dataset(dev=0), toys.recipe(class_weight="balanced"), "dev") is None


def test_without_weights_there_are_none() -> None:
    assert row_weights(toys.dataset(), toys.recipe()) is None


KINDS = [f.name for f in dataclasses.fields(ModelRecipe) if f.name.startswith("dropout")]


@pytest.mark.parametrize("kind", KINDS)
def test_dropout_acts_in_training_alone(kind: str) -> None:
    data = toys.dataset()
    network = build_network(data, toys.recipe(layers=2, **{kind: 0.5}))
    ids, lengths = torch.tensor([[5, 9, 7]]), torch.tensor([3])

    def logits() -> torch.Tensor:
        return network(ids, lengths).logits

    assert not torch.equal(network.train()(ids, lengths).logits, logits())
    network.eval()
    assert torch.equal(logits(), logits())
    assert torch.equal(logits(), build_network(data, toys.recipe(layers=2)).eval()(ids, lengths).logits)


def test_low_precision_is_summed_in_float32() -> None:
    data = toys.dataset()
    network = build_network(data, toys.recipe())
    output = network(torch.tensor([[5, 9, 7]]), torch.tensor([3]))
    low = output._replace(logits=output.logits.bfloat16())
    batch = Tensors(torch.tensor([[5, 9, 7]]), torch.tensor([3]), torch.tensor([1]))
    assert loss(low, batch, toys.recipe().training, 1).total.dtype == torch.float32


def test_probabilities_are_learnt_from_in_place_of_labels() -> None:
    data, rows = toys.dataset(), [4, 0, 2]
    recipe = toys.recipe(penalty=0.0)
    targets = np.random.default_rng(0).dirichlet([1, 1, 1], len(data.splits["train"]))
    weights = np.arange(1.0, len(targets) + 1)
    feed = HostFeed(data.splits["train"], torch.device("cpu"), weights, targets)
    batch = feed.batch(torch.tensor(rows))
    logits = np.random.default_rng(1).normal(size=(3, 3))
    output = (
        build_network(data, recipe)
        .double()(batch.ids, batch.lengths)
        ._replace(logits=torch.from_numpy(logits))
    )
    found = loss(output, batch, recipe.training, 0)
    entropies = [
        sum(p * reference.cross_entropy(x, label) for label, p in enumerate(row))
        for x, row in zip(logits, targets[rows], strict=True)
    ]
    assert found.total.item() == pytest.approx(np.mean(weights[rows] * entropies), abs=1e-12)
    labels = data.splits["train"].labels[rows]
    plain = [reference.cross_entropy(x, int(label)) for x, label in zip(logits, labels, strict=True)]
    assert found.labels.item() == pytest.approx(np.mean(weights[rows] * plain), abs=1e-12)
