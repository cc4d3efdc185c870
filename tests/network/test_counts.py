"""The paper's table of model sizes before and after pruning, counted on networks that take no memory."""

from __future__ import annotations

import pytest
import torch

from limelight.config.presets import preset
from limelight.config.recipe import ModelRecipe
from limelight.network.parts import parameters_by_part
from limelight.network.torch.network import Network

U2, R = 600, 30  # 2u and r
PRUNED_YELP = {"head": "pruned", "row_units": 150, "column_units": 10}
PRUNED_AGE = {"head": "pruned", "row_units": 25, "column_units": 20}
PRUNED_SNLI = {"head": "pruned", "row_units": 300, "column_units": 10}
SNLI = {"word_size": 300, "attention_hidden": 150, "head_hidden": 4000}

# options, classes, pair; then the weights and biases of the hidden layer and the softmax's weights
TABLE = {
    "Yelp, original": ({"head_hidden": 3000}, 5, False, 54_000_000, 3_000, 15_000),
    "Yelp, pruned": (PRUNED_YELP, 5, False, 2_700_000 + 180_000, 4_500 + 6_000, 52_500),
    "Age, original": ({"head_hidden": 4000}, 5, False, 72_000_000, 4_000, 20_000),
    "Age, pruned": (PRUNED_AGE, 5, False, 450_000 + 360_000, 750 + 12_000, 63_750),
    "SNLI, original": (SNLI, 3, True, 72_000_000, 4_000, 12_000),
    "SNLI, pruned": ({**SNLI, **PRUNED_SNLI}, 3, True, 5_400_000 + 180_000, 9_000 + 6_000, 45_000),
}


def count(recipe: ModelRecipe, classes: int, pair: bool = False) -> dict[str, int]:
    with torch.device("meta"):
        network = Network(recipe, vocabulary=1_000, classes=classes, pair=pair)
    parts = parameters_by_part({name: tuple(w.shape) for name, w in network.named_parameters()})
    assert sum(parts.values()) == sum(p.numel() for p in network.parameters())
    return parts


@pytest.mark.parametrize("row", TABLE)
def test_the_pruning_table(row):
    options, classes, pair, hidden, biases, softmax = TABLE[row]
    parts = count(ModelRecipe(**options), classes, pair)
    assert parts["hidden"] == hidden
    assert parts["hidden biases"] == biases
    assert parts["softmax"] == softmax
    assert parts["softmax biases"] == classes
    assert parts["gate"] == (21_600_000 if pair else 0)


@pytest.mark.parametrize(
    ("row", "printed"), [("Yelp, pruned", 2_890_500), ("Age, pruned", 822_750), ("SNLI, pruned", 5_595_000)]
)
def test_the_pruned_hidden_layer_with_its_biases(row, printed):
    options, classes, pair, *_ = TABLE[row]
    parts = count(ModelRecipe(**options), classes, pair)
    assert parts["hidden"] + parts["hidden biases"] == printed


def test_the_other_parts():
    """Two directions of 4 gates; an attention of exactly W_s1 and W_s2."""
    parts = count(preset("yelp-literal").model, 5)
    assert parts["encoder"] == 2 * 4 * 300 * (100 + 300 + 1)
    assert parts["attention"] == 350 * U2 + R * 350
    assert parts["encoder"] + parts["attention"] == 1_182_900
    assert parts["words"] == 100_000


def test_the_presets_have_the_paper_s_sizes():
    yelp, snli = count(preset("yelp").model, 5), count(preset("snli").model, 3, pair=True)
    assert (yelp["hidden"], yelp["softmax"]) == (54_000_000, 15_000)
    assert (snli["hidden"], snli["softmax"], snli["gate"]) == (72_000_000, 12_000, 2 * R * U2 * U2)
    assert count(preset("age").model, 5)["hidden"] == 30 * 600 * 2000


@pytest.mark.parametrize("encoder", ["bilstm", "cnn"])
def test_a_baseline_has_one_row(encoder):
    parts = count(ModelRecipe(encoder=encoder, pooling="max"), 5)
    assert parts["hidden"] == U2 * 3000
    assert parts["attention"] == 0
    assert parts["encoder"] == (U2 * 100 * 3 + U2 if encoder == "cnn" else 962_400)


def test_the_author_s_attention_has_biases():
    parts = count(ModelRecipe(author_code=True), 5)
    assert parts["attention"] == 350 * U2 + R * 350 + 350 + R
