"""An encoder of the user's own: what it gets, what it must return, and attention over its states."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests import reference
from tests.modules import FrozenTable, Gru, Pieces
from tests.refusing import refuses
from torch import nn

import limelight.network
from limelight.config.presets import preset
from limelight.config.recipe import Recipe
from limelight.network.modules import OURS, Modules, check_modules, recipe_with, split_modules
from limelight.network.parts import shapes
from limelight.network.torch.module import ModuleEncoder, mean_of_pieces
from limelight.network.torch.network import Network

WORDS = ("<pad>", "<unk>", "good", "soup", "waiters")
IDS, LENGTHS = torch.tensor([[2, 3, 4], [4, 2, 0], [1, 0, 0]]), torch.tensor([3, 2, 1])


def network_with(module: nn.Module, **options) -> Network:
    torch.manual_seed(0)
    recipe = recipe_with(preset("tiny").override(attention_hidden=4, rows=3, **options), Modules(module))
    return Network(recipe.model, len(WORDS), 2, modules=Modules(module), words=WORDS).double().eval()


@pytest.mark.parametrize("module", [Gru(), FrozenTable(), Pieces()], ids=lambda each: type(each).__name__)
def test_attention_over_the_states_of_a_module(module):
    """Each text alone through the module, then equations 5 and 6 in float64."""
    network = network_with(module)
    with torch.no_grad():
        output = network(IDS, LENGTHS)
    W_s1, W_s2 = (w.detach().numpy() for w in (network.pooling.W_s1, network.pooling.W_s2))
    for row, (ids, n) in enumerate(zip(IDS, LENGTHS.tolist(), strict=True)):
        text = [WORDS[k] if k > 1 else "" for k in ids[:n].tolist()]
        given = (
            ([text],) if hasattr(module, "reads") else (network.words(ids[None, :n]), LENGTHS[row : row + 1])
        )
        with torch.no_grad():
            H = module.double()(*given)[0].numpy()
        A = np.array([reference.softmax(W_s2[r] @ np.tanh(W_s1 @ H.T)) for r in range(3)])
        np.testing.assert_allclose(output.A[row, :, :n], A, atol=1e-12)
        np.testing.assert_allclose(output.M[row], A @ H, atol=1e-12)
        assert not output.A[row, :, n:].any()
    module.float()


def test_the_weights_are_those_of_the_module():
    network = network_with(Pieces())
    expected = shapes(network.recipe, len(WORDS), 2, False, Modules(Pieces()))
    state = {name: tuple(w.shape) for name, w in network.state_dict().items() if w.is_floating_point()}
    assert expected == state
    assert expected["encoder.module.embed.weight"] == (97, 8)
    assert expected["words.weight"] == (len(WORDS), 0)


def test_the_authors_initialisation_leaves_a_module_alone():
    module = Gru()
    before = module.gru.bias_hh_l0.clone()
    network = network_with(module, author_code=True)
    assert before.any()
    assert torch.equal(network.encoder.module.gru.bias_hh_l0.float(), before)


class Wrong(nn.Module):
    size = 4

    def __init__(self, found) -> None:
        super().__init__()
        self.found = found

    def forward(self, S, lengths):
        return self.found


@pytest.mark.parametrize(
    "found", [torch.zeros(2, 3, 5), torch.zeros(2, 2, 4), torch.zeros(2, 3, 4).long(), None]
)
def test_states_of_another_shape_are_refused(found):
    with refuses("encoder-output"):
        ModuleEncoder(Wrong(found), 4)(torch.zeros(2, 3, 7), torch.tensor([3, 1]))


def test_padding_may_hold_anything():
    H = ModuleEncoder(Wrong(torch.full((1, 2, 4), float("nan"))), 4)(torch.zeros(1, 2, 7), torch.tensor([1]))
    assert H[0, 0].isnan().all()
    assert not H[0, 1].any()


@pytest.mark.parametrize("module", [["lstm"], len, Gru, nn.Linear(2, 2), nn.Identity()])
def test_what_is_no_encoder_is_refused(module):
    with refuses("encoder-type"):
        check_modules(Modules(module))


def test_a_module_settles_options_of_the_recipe():
    recipe = recipe_with(preset("small"), Modules(Gru()))
    assert (recipe.model.encoder, recipe.model.hidden) == ("module", 6)
    assert (recipe.text.start, recipe.text.vectors) == ("", "default")
    recipe = recipe_with(preset("light"), Modules(Pieces()))
    assert (recipe.model.encoder, recipe.text.vectors, recipe.text.min_count) == ("word-module", "", 1)
    for options in ({"hidden": 8}, {"start": "reader"}):
        with refuses("option-conflict"):
            recipe_with(Recipe().override(**options), Modules(Gru()), options)
    with refuses("option-conflict"):
        recipe_with(Recipe().override(word_size=8), Modules(Pieces()), ["word_size"])
    assert split_modules({"rows": 3}) == ({"rows": 3}, OURS)


def test_a_word_is_the_mean_of_its_pieces():
    rng = np.random.default_rng(0)
    states, places = rng.standard_normal((2, 6, 3)), np.array([[-1, 0, 0, 2, 2, 2], [-1, 0, 1, -1, -1, -1]])
    found = mean_of_pieces(torch.from_numpy(states), torch.from_numpy(places), 3).numpy()
    for text in range(2):
        for word in range(3):
            own = states[text, places[text] == word]
            np.testing.assert_allclose(found[text, word], own.mean(axis=0) if len(own) else 0, atol=1e-15)


def test_public_names():
    assert dir(limelight.network) == sorted(limelight.network.__all__)
    assert all(getattr(limelight.network, name) for name in limelight.network.__all__)
