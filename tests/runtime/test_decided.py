"""What decided: in one pass and without PyTorch, held against float64 numpy written word by word."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from drawing import examples
from explain.models import random_model
from limelight.runtime.decided import SHARES, most_weighted, word_weights
from limelight.runtime.model import Model
from trained import ARCHITECTURES, LABELS, WORDS

TEXTS = ["w1 w2 w3 w9 w2", "w7 unheard", "w5", ""]
SECOND = ["w3", "w2 w6 w2", "", "w1 w1"]
HEADS = ({"head": "linear"}, {"head": "full"}, {"head": "pruned"}, {"head": "pruned", "mix_units": 6})


def float64(model: Model) -> dict[str, np.ndarray]:
    return {name: array.astype(float) for name, array in model.weights.items()}


def states(model: Model, text: str) -> np.ndarray:
    """H (n, 2u)."""
    weights = float64(model)
    S = weights["words.weight"][model.tokenizer.locate(text)[0]]
    if "projection.W" in weights:
        S = reference.projection(S, **reference.part(weights, "projection"))
    encoder = reference.part(weights, "encoder")
    if model.recipe.model.embedding == "cnn":
        return reference.convolution(S, **encoder)
    return reference.stacked_bilstm(S, reference.numbered(encoder, "W_ih", "W_hh", "b"))


def matrix(model: Model, H: np.ndarray, values: np.ndarray) -> np.ndarray:
    """M of the attention that H gives, over other `values` of the words."""
    rows = []
    if model.recipe.model.embedding == "self-attention":
        _, A = reference.attention(H, **reference.part(float64(model), "pooling"))
        rows += [A @ values]
    if model.recipe.model.embedding != "self-attention" or model.recipe.model.max_row:
        rows += [np.array([[values[k, j] for j, k in enumerate(H.argmax(axis=0))]])]
    return np.concatenate(rows)


def logits(model: Model, F: np.ndarray) -> np.ndarray:
    head = reference.part(float64(model), "head")
    if model.recipe.model.head == "linear":
        return head["W_o"] @ F.ravel() + head["b_o"]
    return reference.full_head(F, **head) if "W_1" in head else reference.pruned_head(F, **head)


def features(model: Model, *M: np.ndarray) -> np.ndarray:
    if len(M) == 1:
        return M[0]
    return reference.relation(float64(model), *M)


@pytest.mark.parametrize("options", [*ARCHITECTURES.values(), *HEADS], ids=str)
def test_a_word_weighs_what_its_part_of_the_matrix_adds_to_the_logit(options: dict):
    """Its value times a complex 1 + ih: the logit's imaginary part, over h, is what the word adds."""
    model = random_model(**options)
    for text, reading in zip(TEXTS, model.read_many(TEXTS), strict=True):
        H, label = states(model, text), int(reading.probabilities.argmax())
        expected = []
        for t in range(len(H)):
            values = H.astype(complex)
            values[t] *= 1 + 1e-30j
            expected.append(logits(model, matrix(model, H, values))[label].imag * 1e30)
        np.testing.assert_allclose(reading.decided, expected, atol=1e-5)


@pytest.mark.parametrize("pair", [None, "gated", "concat", "vectors"])
@pytest.mark.parametrize(
    "options", [{}, {"max_row": True}, {"embedding": "max"}, {"embedding": "cnn"}], ids=str
)
def test_the_weights_of_a_linear_head_add_up_to_the_logit(options: dict, pair: str | None):
    model = random_model(pair, head="linear", **options)
    bias = model.weights["head.b_o"].astype(float)
    for first, second, reading in zip(
        TEXTS, SECOND, model.read_many(TEXTS, SECOND if pair else None), strict=True
    ):
        given = [first, second] if pair else [first]
        M = [matrix(model, H, H) for H in (states(model, text) for text in given)]
        label = int(reading.probabilities.argmax())
        added = sum(float(side.decided.sum()) for side in reading.sides)
        assert reading.sides[0].decided_by == "sum"
        assert added == pytest.approx(logits(model, features(model, *M))[label] - bias[label], abs=1e-4)


@pytest.mark.parametrize("pair", ["gated", "concat"])
@pytest.mark.parametrize("options", HEADS, ids=str)
def test_a_pair_shares_its_products_equally(options: dict, pair: str):
    """f(s, t) is the logit with M times s and M2 times t: each side has its slope less half the mixed one."""
    model = random_model(pair, **options)
    for first, second, reading in zip(TEXTS, SECOND, model.read_many(TEXTS, SECOND), strict=True):
        M, M2 = (matrix(model, H, H) for H in (states(model, first), states(model, second)))
        label, e = int(reading.probabilities.argmax()), 1e-4

        def f(s: float, t: float) -> float:
            return float(logits(model, features(model, s * M, t * M2))[label])  # noqa: B023

        mixed = (f(1 + e, 1 + e) - f(1 + e, 1 - e) - f(1 - e, 1 + e) + f(1 - e, 1 - e)) / (4 * e * e)
        slopes = (f(1 + e, 1) - f(1 - e, 1)) / (2 * e), (f(1, 1 + e) - f(1, 1 - e)) / (2 * e)
        for side, slope in zip(reading.sides, slopes, strict=True):
            assert side.decided.sum() == pytest.approx(slope - mixed / 2, abs=1e-4)


@examples(25)
@given(texts=st.lists(st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join), min_size=1, max_size=5))
def test_a_text_has_the_same_weights_alone_and_in_any_company(texts: list[str]):
    model = random_model(head="linear")
    for text, reading in zip(texts, model.read_many(texts), strict=True):
        alone = model.read(text)
        assert alone.decided.shape == (len(alone.offsets),)
        np.testing.assert_allclose(reading.decided, alone.decided, atol=1e-5)


def test_int8_weighs_words_nearly_the_same():
    model = random_model(head="linear")
    quick = Model.from_parts(
        weights=model.weights, recipe=model.recipe, tokenizer=model.tokenizer, labels=LABELS, precision="int8"
    )
    for a, b in zip(model.read_many(TEXTS), quick.read_many(TEXTS), strict=True):
        np.testing.assert_allclose(a.decided, b.decided, atol=0.05)


@examples(50)
@given(weights=st.lists(st.floats(-5, 5), min_size=1, max_size=60))
def test_the_words_with_most_weight_are_taken_first(weights: list[float]):
    chosen = most_weighted(np.array(weights))
    for share, mask in zip(SHARES, chosen, strict=True):
        assert mask.sum() == max(1, int(np.ceil(share * len(weights) - 1e-9)))
        if not mask.all():
            assert np.array(weights)[mask].min() >= np.array(weights)[~mask].max()


def test_a_max_pooled_unit_belongs_to_the_word_where_it_is_largest():
    H, W = np.array([[1.0, 5.0], [2.0, -1.0]]), np.array([[10.0, 1.0]])
    assert word_weights(np.array([[0.5, 0.5]]), H, W, max_rows=1).tolist() == [5.0, 20.0]
