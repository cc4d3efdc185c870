"""Which words are spelled in training, and from which n-grams."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from limelight.text.spelling import gram_hashes
from limelight.training.spelled_words import VARIANTS, SpelledWords, gram_table, misspellings, uniform

VOCABULARY = ("<pad>", "<unk>", "the", "banana", "soup", "blorp", "zz")
CPU = torch.device("cpu")


def spelling(typos: float = 0.0, known: int = 5) -> SpelledWords:
    return SpelledWords(VOCABULARY, known, 50, typos, 0, CPU)


@examples(100)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60), min_size=1))
def test_the_table_has_the_n_grams_that_the_runtime_reads(words):
    for word, row in zip(words, gram_table(["x", "y", *words], 77)[2:], strict=True):
        expected = [h % 77 + 1 for h in gram_hashes(word)]
        assert row.tolist() == expected + [0] * (32 - len(expected))


def test_unknown_words_are_spelled_and_known_ones_are_not():
    ids, *_, words = spelling().read(torch.tensor([[2, 5, 4], [6, 1, 0]]), torch.tensor([3, 2]))
    assert ids.tolist() == [[2, 0, 4], [0, 0, 0]]
    assert words.places.tolist() == [1, 3, 4]
    np.testing.assert_array_equal(words.buckets[:2], gram_table(["blorp", "zz"], 50))
    assert not words.buckets[2].any()  # no spelling is known: nothing is read


def test_typing_errors_are_drawn_by_place():
    u = torch.tensor([[0.05, 0.15, 0.25, 0.5]])
    ids = torch.tensor([[3, 3, 2, 3]])
    ids, *_, words = spelling(typos=0.2).read(ids, torch.tensor([4]), u)
    assert ids.tolist() == [[0, 0, 2, 3]]
    wrong = gram_table(misspellings("banana", 0), 50)
    np.testing.assert_array_equal(words.buckets, wrong[[1, 3]])


def test_short_words_are_never_misspelled():
    ids, *_ = spelling(typos=0.5).read(torch.tensor([[2, 3]]), torch.tensor([2]), torch.tensor([[0.1, 0.1]]))
    assert ids.tolist() == [[2, 0]]


@pytest.mark.parametrize("word", ["soup", "restaurant", "çedilla"])
def test_a_misspelling_differs_by_one_slip(word):
    for wrong in misspellings(word, seed=3):
        assert abs(len(wrong) - len(word)) <= 1
        assert set(wrong) <= set(word)
    assert len(misspellings(word, seed=3)) == VARIANTS


def test_random_numbers_depend_on_row_place_step_and_seed_alone():
    rows, step = torch.arange(64), torch.tensor(5)
    u = uniform(rows, 9, step, seed=1)
    np.testing.assert_array_equal(uniform(rows[3::2], 9, step, seed=1), u[3::2])
    np.testing.assert_array_equal(uniform(rows, 4, step, seed=1), u[:, :4])
    for other in (
        uniform(rows, 9, step + 1, seed=1),
        uniform(rows, 9, step, seed=2),
        uniform(rows + 1, 9, step, 1),
    ):
        assert abs(np.corrcoef(u.flatten(), other.flatten())[0, 1]) < 0.15
    assert 0 <= u.min() < u.max() < 1
