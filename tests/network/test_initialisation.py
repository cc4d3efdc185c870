"""Starting weights: PyTorch's usual ones and those of the author's code."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from limelight.config.recipe import ModelRecipe
from limelight.network.torch.network import Network

SIZES = {"word_size": 40, "hidden": 30, "attention_hidden": 50, "rows": 6, "head_hidden": 80}


def author(pair: bool = False, **options: Any) -> dict[str, torch.Tensor]:
    torch.manual_seed(0)
    recipe = ModelRecipe(**{**SIZES, "author_code": True, **options})
    return {name: p.detach() for name, p in Network(recipe, 20, 5, pair).named_parameters()}


def assert_uniform(weight: torch.Tensor, bound: float) -> None:
    assert weight.abs().max() <= bound
    assert weight.abs().max() > 0.95 * bound
    assert weight.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.1)


def test_the_author_s_lstm_is_normal_and_all_biases_are_zero():
    parameters = author()
    for name in ("encoder.W_ih_0", "encoder.W_hh_0"):
        assert parameters[name].std().item() == pytest.approx(0.1, rel=0.05)
        assert parameters[name].abs().max() > 0.3  # a normal's tail, not a uniform's edge
    biases = {"encoder.b_0", "pooling.b_s1", "pooling.b_s2", "head.b_1", "head.b_2"}
    assert {name for name, p in parameters.items() if p.abs().max() == 0} == biases


def test_the_author_s_other_layers_are_glorot_uniform():
    parameters = author()
    assert_uniform(parameters["pooling.W_s1"], math.sqrt(6 / (50 + 60)))
    assert_uniform(parameters["pooling.W_s2"], math.sqrt(6 / (6 + 50)))
    assert_uniform(parameters["head.W_1"], math.sqrt(6 / (6 * 60 + 80)))
    assert_uniform(parameters["head.W_2"], math.sqrt(6 / (80 + 5)))


def test_the_author_s_gated_tensors_are_narrow():
    parameters = author(pair=True)
    for name in ("gate.W_fh", "gate.W_fp"):
        assert_uniform(parameters[name], 0.00398)


def test_groups_of_the_pruned_head_are_initialised_each_for_itself():
    parameters = author(head="pruned", row_units=20, column_units=30)
    assert_uniform(parameters["head.W_v_0"], math.sqrt(6 / (60 + 20)))
    assert_uniform(parameters["head.W_h_0"], math.sqrt(6 / (6 + 30)))


def test_pytorch_s_initialisation_is_uniform_within_one_over_the_root_of_the_inputs():
    torch.manual_seed(0)
    parameters = dict(Network(ModelRecipe(**SIZES), 20, 5).named_parameters())
    for name, fan_in in {
        "encoder.W_ih_0": 30,  # an LSTM's bound is that of its hidden units, everywhere
        "encoder.W_hh_0": 30,
        "pooling.W_s1": 60,
        "pooling.W_s2": 50,
        "head.W_1": 360,
        "head.W_2": 80,
    }.items():
        assert_uniform(parameters[name].detach(), fan_in**-0.5)


def test_the_same_seed_gives_the_same_network():
    torch.manual_seed(3)
    one = Network(ModelRecipe(**SIZES), 20, 5).state_dict()
    torch.manual_seed(3)
    other = Network(ModelRecipe(**SIZES), 20, 5).state_dict()
    assert all(torch.equal(one[name], other[name]) for name in one)
