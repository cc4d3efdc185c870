"""The same sentence gives the same M, A and logits: alone, in any batch, with any padding, after saving."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file
from torch import Tensor

from drawing import examples
from limelight.config.recipe import ModelRecipe
from limelight.network.torch.network import Network, Output

TOLERANCE = {torch.float32: 1e-6, torch.float64: 1e-12}
EMBEDDINGS = ({}, {"pooling": "max"}, {"encoder": "cnn", "pooling": "max"}, {"encoder": "words"})
LENGTHS = (1, 2, 3, 3, 5, 8, 13, 40)
VOCABULARY = 50


def make(dtype: torch.dtype, seed: int = 0, pairs: bool = False, **options: Any) -> Network:
    """With dropout everywhere, since it must not be felt outside training."""
    torch.manual_seed(seed)
    sizes = {"word_size": 10, "hidden": 8, "attention_hidden": 6, "rows": 4, "head_hidden": 12}
    dropout = {f.name: 0.5 for f in fields(ModelRecipe) if f.name.startswith("dropout")}
    recipe = ModelRecipe(**{**sizes, "row_units": 3, "column_units": 2, **dropout, **options})
    return Network(recipe, VOCABULARY, 3, pairs).to(dtype).eval()


def sentences() -> list[Tensor]:
    generator = torch.Generator().manual_seed(1)
    return [torch.randint(1, VOCABULARY, (n,), generator=generator) for n in LENGTHS]


def read(network: Network, chosen: list[Tensor], pads: int = 0, filling: int = 0) -> Output:
    """The chosen sentences as one batch, `pads` more places than the longest needs."""
    n = max(len(s) for s in chosen) + pads
    ids = torch.full((len(chosen), n), filling)
    for k, sentence in enumerate(chosen):
        ids[k, : len(sentence)] = sentence
    batch = ids, torch.tensor([len(s) for s in chosen])
    with torch.no_grad():
        return network(*batch, *(x.flip(0) for x in batch)) if network.pair else network(*batch)


def assert_same(one: Output, k: int, other: Output, j: int, n: int, tolerance: float) -> None:
    """Sentence k of one output and sentence j of another, both of n words."""
    for name in ("logits", "M"):
        a, b = getattr(one, name)[k], getattr(other, name)[j]
        torch.testing.assert_close(a, b, rtol=0, atol=tolerance)
    torch.testing.assert_close(one.A[k, :, :n], other.A[j, :, :n], rtol=0, atol=tolerance)
    assert one.A[k, :, n:].count_nonzero() == other.A[j, :, n:].count_nonzero() == 0


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("embedding", EMBEDDINGS, ids=str)
@examples(12)
@given(
    chosen=st.lists(st.sampled_from(range(len(LENGTHS))), min_size=1, max_size=8),
    pads=st.integers(0, 200),
    filling=st.sampled_from([0, 7]),
)
def test_a_sentence_is_the_same_alone_and_in_any_batch(embedding, dtype, chosen, pads, filling):
    """Any company, any order, 0 to 200 pads, and even words where the padding should be."""
    network, all_sentences = make(dtype, **embedding), sentences()
    together = read(network, [all_sentences[k] for k in chosen], pads, filling)
    for place, k in enumerate(chosen):
        alone = read(network, [all_sentences[k]])
        assert_same(together, place, alone, 0, LENGTHS[k], TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("pads", [0, 1, 60, 200])
@pytest.mark.parametrize(
    "options",
    [
        {"layers": 2},
        {"head": "pruned", "mix_units": 5},
        {"author_code": True},
        {"projection": 6},
        {"max_row": True},
    ],
)
def test_padding_changes_nothing_in_other_shapes_of_the_network(options, pads, dtype):
    network, all_sentences = make(dtype, **options), sentences()
    together = read(network, all_sentences[::-1], pads)
    for k, sentence in enumerate(all_sentences):
        place = len(all_sentences) - 1 - k
        assert_same(together, place, read(network, [sentence]), 0, LENGTHS[k], TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("pair", ["gated", "concat", "vectors"])
def test_a_pair_is_the_same_alone_and_in_a_batch(pair, dtype):
    network, (a, b, c) = make(dtype, pairs=True, pair=pair), sentences()[4:7]
    together = read(network, [a, b, c], pads=60)  # read as (a, c), (b, b), (c, a)
    with torch.no_grad():
        for k, (premise, hypothesis) in enumerate([(a, c), (b, b), (c, a)]):
            lengths = torch.tensor([len(premise)]), torch.tensor([len(hypothesis)])
            alone = network(premise[None], lengths[0], hypothesis[None], lengths[1])
            assert_same(together, k, alone, 0, len(premise), TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("options", [*EMBEDDINGS, {"head": "pruned"}], ids=str)
def test_a_sentence_is_the_same_after_saving_and_loading(options, dtype, tmp_path):
    network, other = make(dtype, seed=0, **options), make(dtype, seed=1, **options)
    before = read(network, sentences())
    assert (read(other, sentences()).logits - before.logits).abs().max() > 1e-3
    save_file(network.state_dict(), tmp_path / "model.safetensors")
    other.load_state_dict(load_file(tmp_path / "model.safetensors"))
    after = read(other, sentences())
    for name in ("logits", "M", "A"):
        assert torch.equal(getattr(before, name), getattr(after, name))
