"""The whole network against the reference: values, the loss's gradient, and sentences of every kind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.func import functional_call

import reference
from agreement import assert_agree, pad, randomise, values_of
from drawing import examples
from limelight.config.recipe import ModelRecipe
from limelight.network.parts import ENCODERS, POOLINGS
from limelight.network.torch.attention import penalty
from limelight.network.torch.network import Network

BASELINES = [("bilstm", "max"), ("cnn", "max")]
EMBEDDINGS = [*((encoder, "self-attention") for encoder in ENCODERS), *BASELINES]
VOCABULARY, CLASSES = 7, 3
SENTENCES, OTHERS = [[3, 1, 5, 2], [2, 4], [6]], [[5], [1, 3, 3], [2, 6]]
LABELS = [2, 0, 1]


def small(**options: Any) -> ModelRecipe:
    sizes = {
        "word_size": 3,
        "hidden": 2,
        "attention_hidden": 3,
        "rows": 2,
        "head_hidden": 4,
        "vector_size": 4,
    }
    return ModelRecipe(**{**sizes, "row_units": 2, "column_units": 1, "vector_rank": 3, **options})


def tensors(sentences: list[list[int]], extra: int = 0) -> tuple[Tensor, Tensor]:
    return pad([torch.tensor(s, dtype=torch.long) for s in sentences], extra, rubbish=0)


VARIANTS = [{"encoder": e, "pooling": p} for e, p in EMBEDDINGS] + [
    {"head": "pruned"},
    {"head": "pruned", "mix_units": 3},
    {"author_code": True, "layers": 2},
    {"encoder": "cnn", "pooling": "max", "head": "pruned"},
    {"projection": 2},
    {"author_code": True},
    {"projection": 4, "encoder": "cnn", "pooling": "max"},
]
PAIRS = [
    {"pair": "gated"},
    {"pair": "concat"},
    {"pair": "gated", "head": "pruned"},
    {"pair": "concat", "pooling": "max"},
    {"pair": "concat", "author_code": True},
    {"pair": "vectors"},
    {"pair": "vectors", "head": "pruned", "pooling": "max"},
]


def reference_loss(recipe: ModelRecipe, pair: bool, v: dict[str, np.ndarray]) -> np.ndarray:
    if pair:
        outputs = [reference.pair_network(recipe, v, *ids) for ids in zip(SENTENCES, OTHERS, strict=True)]
    else:
        outputs = [reference.network(recipe, v, ids) for ids in SENTENCES]
    loss = sum(reference.cross_entropy(o[0], y) for o, y in zip(outputs, LABELS, strict=True)) / len(LABELS)
    loss = loss + 0.3 * reference.penalty([o[2] for o in outputs])
    return loss + 0.3 * reference.penalty([o[4] for o in outputs]) if pair else loss


def network_loss(network: Network, pair: bool) -> Tensor:
    output = network(*tensors(SENTENCES, 2), *(tensors(OTHERS, 1) if pair else ()))
    loss = nn.functional.cross_entropy(output.logits, torch.tensor(LABELS)) + 0.3 * penalty(output.A)
    return loss + 0.3 * penalty(output.A2) if pair else loss


@pytest.mark.parametrize(
    ("options", "pair"), [(o, False) for o in VARIANTS] + [(o, True) for o in PAIRS], ids=str
)
def test_the_loss_and_all_of_its_gradient_equal_the_reference(options, pair):
    """Cross-entropy and penalty of a padded batch; every entry of every parameter's gradient."""
    recipe = small(**options)
    network = randomise(Network(recipe, VOCABULARY, CLASSES, pair), 1)
    values = values_of(network)
    loss = network_loss(network, pair)
    assert loss.item() == pytest.approx(float(reference_loss(recipe, pair, values)), abs=1e-10)
    loss.backward()
    expected = reference.gradient(lambda v: reference_loss(recipe, pair, v), values)
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None
        np.testing.assert_allclose(parameter.grad.numpy(), expected[name], rtol=0, atol=1e-10, err_msg=name)
    silent = {name for name, slope in expected.items() if np.abs(slope).max() < 1e-6}
    assert silent <= {"pooling.b_s2"}  # a softmax does not feel what is added to all of its inputs


recipes = st.builds(
    small,
    encoder=st.sampled_from(list(ENCODERS)),
    pooling=st.sampled_from(list(POOLINGS)),
    word_size=st.integers(1, 4),
    projection=st.integers(0, 3),
    hidden=st.integers(1, 3),
    layers=st.integers(1, 2),
    attention_hidden=st.integers(1, 4),
    rows=st.integers(1, 4),
    author_code=st.booleans(),
    pair=st.sampled_from(["gated", "concat", "vectors"]),
    vector_size=st.integers(2, 5),
    vector_rank=st.integers(1, 4),
    head=st.sampled_from(["full", "pruned"]),
    head_hidden=st.integers(1, 5),
    row_units=st.integers(0, 3),
    column_units=st.integers(1, 2),
    mix_units=st.integers(0, 2),
)
sentences = st.lists(st.integers(1, VOCABULARY - 1), min_size=1, max_size=6)


@examples(40)
@given(
    recipe=recipes,
    batch=st.lists(sentences, min_size=1, max_size=3),
    classes=st.integers(2, 4),
    extra=st.integers(0, 3),
    seed=st.integers(0, 1000),
)
def test_any_network_equals_the_reference(recipe, batch, classes, extra, seed):
    network = randomise(Network(recipe, VOCABULARY, classes), seed)

    def expected(v):
        return list(zip(*(reference.network(recipe, v, ids) for ids in batch), strict=True))

    assert_agree(
        lambda v: functional_call(network, v, tensors(batch, extra))[:3], expected, values_of(network)
    )


@examples(30)
@given(
    recipe=recipes,
    batch=st.lists(st.tuples(sentences, sentences), min_size=1, max_size=3),
    extra=st.tuples(st.integers(0, 3), st.integers(0, 3)),
    seed=st.integers(0, 1000),
)
def test_any_pair_network_equals_the_reference(recipe, batch, extra, seed):
    network = randomise(Network(recipe, VOCABULARY, CLASSES, pair=True), seed)
    premises, hypotheses = zip(*batch, strict=True)
    inputs = (*tensors(premises, extra[0]), *tensors(hypotheses, extra[1]))

    def expected(v):
        return list(zip(*(reference.pair_network(recipe, v, *ids) for ids in batch), strict=True))

    assert_agree(lambda v: functional_call(network, v, inputs), expected, values_of(network))


def test_a_sentence_means_the_same_on_either_side_of_a_pair():
    """The encoder and the attention are shared between premise and hypothesis."""
    network = randomise(Network(small(), VOCABULARY, CLASSES, pair=True), 0)
    one, other = tensors(SENTENCES), tensors(OTHERS)
    there, back = network(*one, *other), network(*other, *one)
    torch.testing.assert_close(there.M, back.M2, rtol=0, atol=1e-12)
    torch.testing.assert_close(there.A, back.A2, rtol=0, atol=1e-12)
    assert (there.logits - back.logits).abs().max() > 1e-3


UNUSUAL = {"only unknown words": [1, 1, 1], "one word": [4], "one unknown word": [1], "empty": []}


@pytest.mark.parametrize("pair", [False, True])
@pytest.mark.parametrize(("encoder", "pooling"), EMBEDDINGS)
def test_unusual_sentences_have_a_finite_embedding_and_attention_that_sums_to_one(encoder, pooling, pair):
    network = randomise(Network(small(encoder=encoder, pooling=pooling), VOCABULARY, CLASSES, pair), 0)
    batch = tensors([[3, 2, 5, 6], *UNUSUAL.values()], extra=2)
    output = network(*batch, *(batch if pair else ()))
    for M, A in [(output.M, output.A), (output.M2, output.A2)][: 1 + pair]:
        torch.testing.assert_close(A.sum(2), torch.ones(A.shape[:2]).double(), rtol=0, atol=1e-12)
        assert M.isfinite().all()
        assert M[1:4].abs().amax(dim=(1, 2)).min() > 0
    assert output.logits.isfinite().all()
    (output.logits.sum() + penalty(output.A, batch[1])).backward()
    assert all(p.grad.isfinite().all() for p in network.parameters() if p.grad is not None)


@pytest.mark.parametrize("name", UNUSUAL)
@pytest.mark.parametrize(("encoder", "pooling"), EMBEDDINGS)
def test_an_unusual_sentence_is_the_same_alone(encoder, pooling, name):
    network = randomise(Network(small(encoder=encoder, pooling=pooling), VOCABULARY, CLASSES), 0)
    alone = network(*tensors([UNUSUAL[name]], extra=0 if UNUSUAL[name] else 1))
    among = network(*tensors([[3, 2, 5, 6], UNUSUAL[name]], extra=60))
    torch.testing.assert_close(among.M[1:], alone.M, rtol=0, atol=1e-12)
    torch.testing.assert_close(among.logits[1:], alone.logits, rtol=0, atol=1e-12)
    torch.testing.assert_close(among.A[1:, :, : alone.A.shape[2]], alone.A, rtol=0, atol=1e-12)


def test_a_document_of_5_000_words_goes_forward_and_backward():
    """Paragraphs and articles work unchanged, and are as exact as a sentence."""
    n = 5_000
    network = randomise(Network(small(hidden=8, rows=3), VOCABULARY, CLASSES), 0)
    ids = torch.randint(1, VOCABULARY, (1, n), generator=torch.manual_seed(0))
    output = network(ids, torch.tensor([n]))
    logits, M, A = reference.network(ModelRecipe(), values_of(network), ids[0].tolist())
    np.testing.assert_allclose(output.logits[0].detach().numpy(), logits, rtol=0, atol=1e-10)
    np.testing.assert_allclose(output.M[0].detach().numpy(), M, rtol=0, atol=1e-10)
    np.testing.assert_allclose(output.A[0].detach().numpy(), A, rtol=0, atol=1e-10)
    (output.logits.sum() + penalty(output.A)).backward()
    for parameter in network.parameters():
        assert parameter.grad is not None
        assert parameter.grad.isfinite().all()
        assert parameter.grad.abs().max() > 0


@pytest.mark.parametrize("head", ["full", "pruned"])
def test_the_max_row_stands_below_the_attention_s(head):
    """It is not in the paper: the rows of the attention, then one of max pooling, of the same H."""
    network = randomise(Network(small(max_row=True, head=head), VOCABULARY, CLASSES), 0)
    values = values_of(network)
    output = network(*tensors(SENTENCES, 2))
    for k, ids in enumerate(SENTENCES):
        M, A = reference.embed(network.recipe, values, ids)
        np.testing.assert_allclose(output.M[k].detach(), M, atol=1e-10)
        np.testing.assert_allclose(output.A[k, :, : len(ids)].detach(), A, atol=1e-10)
        np.testing.assert_allclose(output.logits[k].detach(), reference.classify(values, M), atol=1e-10)
