"""A reader's map fitted to many classes."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from limelight.network.torch.heads import LinearHead
from limelight.training import starting_network as module
from limelight.training.run import fit
from limelight.training.starting_network import (
    LENGTH,
    STEPS,
    TEMPERATURE,
    build_network,
    contrast,
    fit_first_head,
    fit_map,
    fits_map,
    read_features,
)
from training.test_start import toy_data, toy_recipe, toy_start


def test_contrast_is_the_mean_over_all_pairs_of_a_class():
    rng = np.random.default_rng(0)
    v, y = rng.normal(size=(8, 5)), np.array([0, 1, 0, 2, 1, 0, 3, 3])  # the one of class 2 is alone
    unit = v / np.sqrt((v**2).sum(axis=1, keepdims=True))
    losses = []
    for i in range(8):
        others = [j for j in range(8) if j != i]
        whole = np.log(sum(np.exp(unit[i] @ unit[j] / TEMPERATURE) for j in others))
        own = [whole - unit[i] @ unit[j] / TEMPERATURE for j in others if y[j] == y[i]]
        losses += [np.mean(own)] if own else []
    assert len(losses) == 7
    assert float(contrast(torch.from_numpy(v), torch.from_numpy(y), torch.ones(8))) == pytest.approx(
        np.mean(losses), rel=1e-10
    )


def test_without_two_texts_of_a_class_there_is_nothing_to_move():
    v = torch.randn(4, 3, requires_grad=True)
    contrast(v, torch.arange(4), torch.ones(4)).backward()
    assert v.grad is not None
    assert not v.grad.any()


def test_the_map_alone_moves_and_not_far():
    data = toy_data(rows=60)
    network, split = build_network(data, toy_recipe(), toy_start(data)), data.splits["train"]
    before = {name: w.clone() for name, w in network.state_dict().items()}

    def loss() -> float:
        v = read_features(network, split, np.arange(len(split)))
        return float(contrast(v, torch.from_numpy(np.asarray(split.labels)), torch.ones(len(v))))

    at_first = loss()
    fit_map(network, split, None)
    changed = [name for name, w in network.state_dict().items() if not torch.equal(w, before[name])]
    assert changed == ["head.W_rows"]
    W = before["head.W_rows"]
    assert float((network.head.W_rows.detach() - W).norm() / W.norm()) < LENGTH * (STEPS + 1) / 2
    assert loss() < at_first - 0.01


def test_a_row_of_weight_0_is_not_there_and_others_count_by_theirs():
    data = toy_data(rows=60)
    split, rng = data.splits["train"], np.random.default_rng(0)

    def fitted(weights, labels=split.labels) -> torch.Tensor:
        network = build_network(data, toy_recipe(), toy_start(data))
        fit_map(network, dataclasses.replace(split, labels=labels), weights)
        return network.head.W_rows.detach()

    gone = np.ones(60, np.float32)
    gone[::4] = 0
    other = np.where(gone == 0, 1 - np.minimum(split.labels, 1), split.labels).astype(np.int32)
    torch.testing.assert_close(fitted(gone), fitted(gone, other))
    assert not torch.equal(fitted(None), fitted(None, other))
    some = rng.uniform(0.2, 2, 60).astype(np.float32)
    torch.testing.assert_close(fitted(some), fitted(3 * some))
    assert not torch.allclose(fitted(some), fitted(None), atol=1e-5)


def test_it_takes_many_classes_and_some_texts_but_not_thousands(monkeypatch):
    data = toy_data(rows=60)
    network, split = build_network(data, toy_recipe(), toy_start(data)), data.splits["train"]
    assert fits_map(network, split, 15)
    assert not fits_map(network, split, 14)
    assert not fits_map(network, split, 60)  # one text of each
    monkeypatch.setattr(module, "MAX_CONTRASTED", 59)
    assert not fits_map(network, split, 15)
    monkeypatch.undo()
    network.head = LinearHead(3, 12, 3)
    assert not fits_map(network, split, 15)


def test_the_first_classifier_reads_the_fitted_map(monkeypatch, capsys):
    monkeypatch.setattr(module, "MIN_CLASSES", 3)
    data = toy_data(rows=60, dev=0)
    start, recipe = toy_start(data), toy_recipe(epochs=0)
    found = fit(data, recipe, start=start, show=True).network
    network, split = build_network(data, recipe, start), data.splits["train"]
    frozen = fit_first_head(network, split, None, 0)
    fit_map(network, split, None)
    fit_first_head(network, split, None, 0, strength=frozen.strength)
    np.testing.assert_array_equal(found.head.W_o.detach(), network.head.to_linear().W_o.detach())
    shown = capsys.readouterr().err
    assert f"{frozen.score:.1%} right: logistic regression of the frozen reader" in shown
    assert "fitting the reader's vectors to the 3 classes" in shown


def test_an_order_of_classes_is_no_set_of_them(monkeypatch, capsys):
    monkeypatch.setattr(module, "MIN_CLASSES", 3)
    data = dataclasses.replace(toy_data(rows=60), task="ordinal")
    fit(data, toy_recipe(epochs=0, task="ordinal"), start=toy_start(data), show=True)
    assert "fitting the reader's" not in capsys.readouterr().err
