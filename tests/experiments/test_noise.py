"""Noisy copies: what is left out, what stands in for what, and what stays as it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from experiments.best_pair.noise import FREQUENT, LEFT_OUT, NEAREST, REPLACED, SIMILAR, noisy_copies
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from limelight.text.dataset import Split
from limelight.text.tokenizer import SPECIAL, UNKNOWN

WORDS = 60


def sentences(split: Split, second: bool = False) -> list[list[int]]:
    ids, lengths = (split.ids2, split.lengths2) if second else (split.ids, split.lengths)
    assert ids is not None
    assert lengths is not None
    return [part.tolist() for part in np.split(ids, np.cumsum(lengths)[:-1])]


def vectors(words: int = WORDS, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(words, 5)).astype(np.float32)


def alike(matrix: np.ndarray, vector: np.ndarray, word: int) -> set[int]:
    """The words whose cosines with a vector are largest, as far as they are large, by the definition."""
    length = np.linalg.norm(matrix, axis=1)
    own = np.linalg.norm(vector)
    others = [k for k in range(len(SPECIAL), len(matrix)) if k != word and length[k] and own]
    cosine = {k: vector @ matrix[k] / (own * length[k]) for k in others}
    nearest = sorted(others, key=lambda k: -cosine[k])[:NEAREST]
    return {k for k in nearest if cosine[k] >= SIMILAR}


def long_split(seed: int = 0, **more: Any) -> Split:
    """One sentence of 20,000 words, so that shares can be told."""
    ids = np.random.default_rng(seed).integers(len(SPECIAL), WORDS, 20_000)
    return Split(ids=ids, lengths=np.array([len(ids)]), **more)


def test_the_shares() -> None:
    noisy = noisy_copies(long_split(), 1, vectors(), seed=0)
    assert len(noisy.ids) == pytest.approx((1 - LEFT_OUT) * 20_000, rel=0.01)
    counted = noisy_copies(long_split(), 1, None, seed=0)  # without vectors, what is replaced can be told
    assert (counted.ids == UNKNOWN).mean() == pytest.approx(REPLACED / (1 - LEFT_OUT), rel=0.05)


def test_a_word_is_replaced_by_one_of_those_most_like_it() -> None:
    matrix = vectors()
    matrix[7] = 0  # a word without a vector
    matrix[9] = [0, 0, 0, 0, 1]  # a word like no other
    matrix[[*range(7), 8, *range(10, WORDS)], 4] = -1
    rare = WORDS - 1  # which stands in for no other
    often = np.arange(rare).repeat(FREQUENT)
    for word in range(WORDS):
        ids = np.concatenate([np.full(3_000, word), often, [rare] * (FREQUENT - 1)])
        split = Split(ids=ids, lengths=np.array([3_000, len(ids) - 3_000]))
        found = set(sentences(noisy_copies(split, 1, matrix, seed=word))[0]) - {word}
        assert found == (alike(matrix[:rare], matrix[word], word) if word >= len(SPECIAL) else set()), word
    assert not alike(matrix, matrix[9], 9)
    assert {len(alike(matrix, matrix[word], word)) for word in range(10, WORDS)} > {NEAREST}  # or fewer


@pytest.mark.parametrize("words", [2, 3, 4])
def test_where_there_are_hardly_any_words(words: int) -> None:
    split = Split(ids=np.arange(words).repeat(500), lengths=np.array([500] * words))
    found = noisy_copies(split, 1, vectors(words) / 10 + 1, seed=0)  # all alike
    for word, sentence in enumerate(sentences(found)):
        others = set(range(len(SPECIAL), words)) - {word} if word >= len(SPECIAL) else set()
        assert set(sentence) == {word, *others}


def test_labels_and_weights_go_along() -> None:
    split = Split(
        ids=np.arange(2, 8), lengths=np.array([1, 2, 3]), labels=np.array([2, 0, 1]),
        weights=np.array([1.0, 0.5, 3.0]), ids2=np.arange(10, 16), lengths2=np.array([3, 2, 1]),
    )  # fmt: skip
    found = noisy_copies(split, 3, vectors(), seed=0)
    assert found.labels.tolist() == [2, 0, 1] * 3
    assert found.weights.tolist() == [1.0, 0.5, 3.0] * 3
    assert len(found) == len(found.lengths2) == 9
    bare = noisy_copies(Split(ids=np.arange(2, 8), lengths=np.array([6])), 1, None, seed=0)
    assert bare.labels is bare.weights is bare.ids2 is bare.lengths2 is None


def test_the_seed_decides_and_copies_differ() -> None:
    split, matrix = long_split(), vectors()
    one, again, other = (noisy_copies(split, 2, matrix, seed) for seed in (0, 0, 1))
    assert np.array_equal(one.ids, again.ids)
    first, second = sentences(one)
    assert first != second
    assert not np.array_equal(one.ids, other.ids)
    assert sentences(noisy_copies(split, 1, matrix, 0))[0] == first


def test_the_texts_themselves_stay_as_they_are() -> None:
    split = long_split()
    before = split.ids.copy()
    split.ids.flags.writeable = False  # as a memory map is
    noisy_copies(split, 1, vectors(), seed=0)
    assert np.array_equal(split.ids, before)


@examples(100)
@given(
    lengths=st.lists(st.integers(1, 6), min_size=1, max_size=30), count=st.integers(1, 3),
    seed=st.integers(0, 2**32), known=st.booleans(),
)  # fmt: skip
def test_every_copy_is_a_shorter_sentence_in_the_same_order(
    lengths: list[int], count: int, seed: int, known: bool
) -> None:
    # each word is in the texts once and has a twin, which is like no other word: it can be followed
    total = sum(lengths)
    matrix = np.tile(np.eye(total, dtype=np.float32), (2, 1))
    matrix = np.concatenate([np.zeros((len(SPECIAL), total), dtype=np.float32), matrix]) if known else None
    words = np.arange(total) + len(SPECIAL)
    all_often = np.concatenate([words, words + total]).repeat(FREQUENT)  # a last row, so that none is rare
    ids, sizes = np.concatenate([words, all_often]), np.array([*lengths, len(all_often)])
    split = Split(ids, sizes, ids2=ids, lengths2=sizes)
    found = noisy_copies(split, count, matrix, seed)
    for second in (False, True):
        originals = sentences(split, second) * count
        for copy, original in zip(sentences(found, second), originals, strict=True):
            assert 1 <= len(copy) <= len(original)
            if len(original) < len(all_often):
                meant = [word - total if word >= len(SPECIAL) + total else word for word in copy]
                meant = [word for word in meant if known or word != UNKNOWN]
                assert meant == sorted(set(meant) & set(original))
