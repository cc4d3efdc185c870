"""What each word contributes to the similarity of two texts: exact, and as float64 computes it."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import limelight
import reference
import trained
from drawing import examples
from limelight.network.parts import rows_of
from limelight.runtime.model import Model
from limelight.runtime.reader import Reader
from limelight.runtime.word_parts import matrix_without, max_without, rows_without
from refusing import refuses
from trained import ARCHITECTURES, network_of, recipe_of, weights_of

TEXTS = [
    "The soup was cold.",
    "Chilly broth, wasn't it?",
    "",
    " ",
    "soup",
    "blorptastic 😀 soup",
    "a b " * 700,
]
NAMES = ("self-attention", "biases, max row", "two layers", "max", "cnn", "projected", "one unit")
WORDS = st.lists(st.sampled_from([*trained.WORDS, "unheard"]), max_size=12).map(" ".join)
LETTERS = st.text(st.sampled_from("abcdefg .,!é汤😀\n"), max_size=40)


@cache
def reader_of(embedding: str = "self-attention", precision: str = "float32") -> Reader:
    """A tiny reader with random weights."""
    shapes = {
        "words.weight": (9, 32), "grams.weight": (7, 32), "encoder.W_ih_0": (2, 20, 32),
        "encoder.W_hh_0": (2, 20, 5), "encoder.b_0": (2, 20), "pooling.W_s1": (4, 10), "pooling.W_s2": (3, 4),
        "vector.W_shared": (6, 10), "vector.W_rows": (8, 18),
    }  # fmt: skip
    if embedding == "max":
        shapes = {name: shape for name, shape in shapes.items() if not name.startswith("pooling.")}
        shapes["vector.W_rows"] = (8, 6)
    random = np.random.default_rng(0)
    weights = {name: random.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    return Reader.from_parts(words=tuple("abcdefg"), weights=weights, precision=precision)


@cache
def model_of(name: str, **options: Any) -> Model:
    recipe = recipe_of({**ARCHITECTURES[name], **options})
    return Model.from_parts(
        weights=weights_of(network_of(recipe)), recipe=recipe, tokenizer=trained.tokenizer(), labels=(0, 1, 2)
    )


@pytest.fixture(scope="module")
def bundled() -> Reader:
    return limelight.load("reader")


# ---------------------------------------------------------------- float64, one word at a time


def rows(weights: dict[str, np.ndarray], H: np.ndarray, attention: np.ndarray, has_max: bool) -> np.ndarray:
    """M (r, 2u) of some words: what attention there is on them, scaled to 1; then a max-pooled row."""
    M = [(row / row.sum()) @ H for row in attention]
    return np.array([*M, *(reference.max_pooling(H)[0] if has_max else ())])


def expected_parts(weights: dict[str, np.ndarray], recipe: Any, S: np.ndarray) -> np.ndarray:
    """(n, size), from the definition at the top of the module."""
    H = reference.states(recipe, weights, S)
    n, has_max = len(H), not rows_of(recipe).attention or recipe.max_row
    A = np.empty((0, n))
    if rows_of(recipe).attention:
        A = reference.attention(H, **reference.part(weights, "pooling"))[1]

    def unit(kept: list[int]) -> np.ndarray:
        M = rows(weights, H[kept], A[:, kept], has_max)
        if "vector.W_rows" in weights:
            shared = weights["vector.W_shared"]
            maps = weights["vector.W_rows"].T.reshape(len(M), len(shared), -1)
            v = sum(m @ shared.T @ W for m, W in zip(M, maps, strict=True))
        else:
            v = M.ravel()
        return v / np.linalg.norm(v)

    e = unit(list(range(n)))
    if n == 1:
        return e[None]
    effects = np.array([e - unit([s for s in range(n) if s != t]) for t in range(n)])
    return effects + (e - effects.sum(axis=0)) / n


@pytest.mark.parametrize("name", NAMES)
def test_a_models_parts_follow_from_their_definition(name):
    model = model_of(name)
    weights = {key: np.asarray(array, float) for key, array in model.weights.items()}
    for text in ("w3 w1 w3 unheard w5", "w7", "w1 w2"):
        S = weights["words.weight"][model.tokenizer.locate(text)[0]]
        (found,) = model.word_parts([text])
        np.testing.assert_allclose(
            found.parts, expected_parts(weights, model.recipe.model, S), rtol=0, atol=2e-5
        )
        np.testing.assert_allclose(
            found.vector, unit_of(model.embed([text], flat=True)[0]), rtol=0, atol=1e-6
        )


@pytest.mark.parametrize("pooling", ["self-attention", "max"])
def test_a_readers_parts_follow_from_their_definition(pooling):
    reader = reader_of(pooling)
    weights = {key: np.asarray(array, float) for key, array in reader.weights.items()}
    for text in ("a b c a", "g", "", "f e"):
        S = weights["words.weight"][reader.tokenizer.locate(text)[0]]
        (found,) = reader.word_parts([text])
        np.testing.assert_allclose(
            found.parts, expected_parts(weights, reader.recipe.model, S), rtol=0, atol=2e-5
        )


def expected_together(model: Any, texts: tuple[str, str]) -> np.ndarray:
    """(n, m): each cosine by itself, of states with 0.2 of the states beside them."""
    weights = {key: np.asarray(array, float) for key, array in model.weights.items()}
    sides = []
    for text in texts:
        H = reference.states(
            model.recipe.model, weights, weights["words.weight"][model.tokenizer.locate(text)[0]]
        )
        n = len(H)
        sides.append([H[t] + 0.2 * sum(H[s] for s in (t - 1, t + 1) if 0 <= s < n) for t in range(n)])
    return np.array([[unit_of(a) @ unit_of(b) for b in sides[1]] for a in sides[0]])


@pytest.mark.parametrize("name", NAMES)
def test_which_words_belong_together_follows_from_its_definition(name):
    model, texts = model_of(name), ("w3 w1 w3 unheard w5", "w7 w1")
    found = model.compare(*texts)
    np.testing.assert_allclose(found.together, expected_together(model, texts), rtol=0, atol=2e-5)


def test_a_reader_finds_words_that_belong_together(bundled):
    texts = "A lamb is looking at the camera", "The cat looks into a lens"
    found = reader_of().compare("a b c a", "g")
    np.testing.assert_allclose(
        found.together, expected_together(reader_of(), ("a b c a", "g")), rtol=0, atol=2e-5
    )
    found = bundled.compare(*texts)
    joined = [(found.first.words[s], found.second.words[t]) for s, t in np.argwhere(found.nearest)]
    assert {("looking", "looks"), ("camera", "lens")} <= set(joined)


def unit_of(v: np.ndarray) -> np.ndarray:
    return v / np.linalg.norm(v)


# ---------------------------------------------------------------- nothing is left over


def check_exact(model: Any, a: str, b: str, similarity: float) -> None:
    found = model.compare(a, b)
    assert found.similarity == pytest.approx(similarity, abs=1e-5)
    assert found.matrix.shape == (len(found.first.words), len(found.second.words))
    assert found.matrix.sum(dtype=float) == pytest.approx(found.similarity, abs=1e-5)
    for side, contributions in zip((found.first, found.second), found.contributions, strict=True):
        n = len(side.words)
        even = (found.similarity - side.effects.sum(dtype=float)) / n
        np.testing.assert_allclose(contributions, side.effects + even, rtol=0, atol=1e-5)


@examples(30)
@given(LETTERS, LETTERS, st.sampled_from(["self-attention", "max"]))
def test_all_pairs_of_words_add_up_to_a_readers_similarity(a, b, embedding):
    reader = reader_of(embedding)
    v, w = reader.encode([a, b])
    check_exact(reader, a, b, float(v @ w))


@examples(30)
@given(WORDS, WORDS, st.sampled_from(NAMES))
def test_all_pairs_of_words_add_up_to_the_cosine_of_m(a, b, name):
    model = model_of(name)
    M = model.embed([a, b], flat=True)
    check_exact(model, a, b, float(unit_of(M[0]) @ unit_of(M[1])))


def test_the_bundled_readers_similarity_adds_up(bundled):
    vectors = bundled.encode(TEXTS)
    for k, text in enumerate(TEXTS):
        check_exact(bundled, text, TEXTS[0], float(vectors[k] @ vectors[0]))


def test_parts_add_up_to_what_encode_gives_and_are_the_same_in_any_batch(bundled):
    alone = [bundled.word_parts([text])[0] for text in TEXTS]
    for found, single, v in zip(bundled.word_parts(TEXTS), alone, bundled.encode(TEXTS), strict=True):
        np.testing.assert_allclose(found.parts.sum(axis=0), v, rtol=0, atol=1e-5)
        np.testing.assert_allclose(found.parts, single.parts, rtol=0, atol=1e-5)
        assert (found.text, found.parts.dtype) == (single.text, np.float32)


def test_int8_adds_up_too():
    reader = reader_of(precision="int8")
    found = reader.compare("a b c", "c b g")
    assert found.matrix.sum(dtype=float) == pytest.approx(found.similarity, abs=1e-5)


# ---------------------------------------------------------------- as people call it


def test_identical_texts(bundled):
    found = bundled.compare("The soup was cold.", "The soup was cold.")
    assert found.similarity == pytest.approx(1, abs=1e-5)
    np.testing.assert_allclose(found.matrix, found.matrix.T, atol=1e-6)
    assert {a == b for a, b, _ in found.top_pairs(3)} == {True}


def test_the_words_that_two_texts_share_bind_them(bundled):
    found = bundled.compare("the committee rejected the zebra proposal", "we photographed a zebra at noon")
    assert found.top_pairs(1)[0][:2] == ("zebra", "zebra")
    assert [found.first.words[k] for k in [found.first.effects.argmax()]] == ["zebra"]
    assert [found.second.words[k] for k in [found.second.effects.argmax()]] == ["zebra"]


def test_texts_without_words_are_one_empty_word(bundled):
    found = bundled.compare("", "soup")
    assert found.first.words == ("",)
    assert not found.first.known[0]
    assert np.isfinite(found.matrix).all()


def test_unknown_words_are_marked(bundled):
    assert bundled.compare("blorptastic soup", "soup").first.known.tolist() == [False, True]


def test_many_pairs_are_what_each_pair_gives(bundled):
    many = bundled.compare_many(iter(TEXTS[:3]), TEXTS[2:5])
    for found, a, b in zip(many, TEXTS[:3], TEXTS[2:5], strict=True):
        np.testing.assert_allclose(found.matrix, bundled.compare(a, b).matrix, atol=1e-6)
        assert (found.first.text, found.second.text) == (a, b)
    assert bundled.compare_many([], []) == []
    assert bundled.word_parts([]) == []
    with refuses("pair-or-text"):
        bundled.compare_many(["a"], [])
    with refuses("text-type"):
        bundled.compare(None, "soup")


def test_a_model_compares_only_the_words_it_reads():
    model = model_of("max", max_length=2)
    assert model.compare("w1 w2 w3", "w1").first.words == ("w1", "w2")


# ---------------------------------------------------------------- one word left out


def test_a_row_that_reads_one_word_only_has_nothing_left_without_it():
    found = rows_without(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, 0.0]]))
    np.testing.assert_array_equal(found[:, 0], [[0, 0], [1, 2]])


def test_little_attention_on_the_others_is_not_lost_in_rounding():
    A = np.array([[1.0, 3e-9, 1e-9]], np.float32)
    found = rows_without(np.array([[100.0], [4.0], [8.0]], np.float32), A)
    assert found[0, 0, 0] == pytest.approx(5, rel=1e-5)


def test_the_next_best_word_takes_over_a_maximum():
    H = np.array([[1.0, 7.0, 2.0], [5.0, 7.0, 1.0], [4.0, 0.0, 0.0]])
    np.testing.assert_array_equal(max_without(H)[:, 0], [[5, 7, 1], [4, 7, 2], [5, 7, 2]])


@pytest.mark.parametrize("max_rows", [0, 1])
def test_a_text_in_slices_is_the_text_as_a_whole(max_rows):
    random = np.random.default_rng(0)
    A, H = random.dirichlet(np.ones(600), size=3), random.normal(size=(600, 2))
    A[1] = 1e-7
    A[1, 300] = 1  # nearly all attention is on a word of the second slice: without it, little is left
    whole = matrix_without(H, A, max_rows)
    parts = [matrix_without(H, A, max_rows, slice(start, start + 256)) for start in range(0, 600, 256)]
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    np.testing.assert_allclose(whole[300, 1], np.delete(H, 300, axis=0).mean(axis=0), atol=1e-9)


def test_words_past_the_first_block_are_left_out_too():
    random = np.random.default_rng(0)
    A, states = random.dirichlet(np.ones(600), size=2), random.normal(size=(600, 3))
    found = rows_without(states, A)
    for t in (0, 255, 256, 599):
        kept = np.delete(np.arange(600), t)
        expected = (A[:, kept] / A[:, kept].sum(axis=1, keepdims=True)) @ states[kept]
        np.testing.assert_allclose(found[t], expected, atol=1e-6)
