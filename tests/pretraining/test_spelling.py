"""Which words are spelled in training, and from which n-grams."""

from __future__ import annotations

from zlib import crc32

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from limelight.config.pretrain_recipe import ReaderRecipe
from limelight.text.spelling import gram_hashes, piece_tables, pieces, spell
from limelight.training.spelled_words import VARIANTS, SpelledWords, misspellings, uniform
from limelight.training.vector_objective import start_grams

VOCABULARY = ("<pad>", "<unk>", "the", "banana", "soup", "blorp", "zz")
CPU = torch.device("cpu")


def spelling(typos: float = 0.0, known: int = 5) -> SpelledWords:
    return SpelledWords(VOCABULARY, known, ReaderRecipe(buckets=50, typos=typos), CPU)


@examples(100)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60), min_size=1))
def test_the_table_has_the_n_grams_that_the_runtime_reads(words):
    for word, row in zip(words, piece_tables(words, 77)[0], strict=True):
        expected = [h % 77 + 1 for h in gram_hashes(word)]
        assert row.tolist() == expected + [0] * (32 - len(expected))


def test_unknown_words_are_spelled_and_known_ones_are_not():
    ids, *_, words = spelling().read(torch.tensor([[2, 5, 4], [6, 1, 0]]), torch.tensor([3, 2]))
    assert ids.tolist() == [[2, 0, 4], [0, 0, 0]]
    assert words.places.tolist() == [1, 3, 4]
    np.testing.assert_array_equal(words.buckets[:2], piece_tables(["blorp", "zz"], 50)[0])
    assert not words.buckets[2].any()  # no spelling is known: nothing is read


def test_typing_errors_are_drawn_by_place():
    u = torch.tensor([[0.05, 0.15, 0.25, 0.5]])
    ids = torch.tensor([[3, 3, 2, 3]])
    ids, *_, words = spelling(typos=0.2).read(ids, torch.tensor([4]), u)
    assert ids.tolist() == [[0, 0, 2, 3]]
    wrong = piece_tables(misspellings("banana", 0), 50)[0]
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


KNOWN = {"macrophage": 2, "genome": 3, "wide": 4, "expression": 5, "over": 6, "overexpression": 7, "b": 8}


@pytest.mark.parametrize(
    ("word", "stems", "grams"),
    [
        ("genome-wide", [3, 4], []),
        ("overexpression", [6, 5], []),  # never itself
        ("macrophages", [2], ["es", "s>", "es>"]),
        ("non-macrophages", [2], ["<no", "non", "on>", "<non", "non>", "<non>", "es", "s>", "es>"]),
        ("genomewider", [3], ["ew", "wi", "id", "de", "er", "r>", "ewi", "wid", "ide", "der", "er>"]),
        ("overs", [6], ["rs", "s>", "rs>"]),
        ("moreover", [6], ["<m", "mo", "or", "re", "eo", "<mo", "mor", "ore", "reo"]),
        ("kinase", [], ["<ki", "kin", "ina", "nas", "ase", "se>"]),
        ("b-", [8], []),
        ("--", [], ["<--", "-->", "<-->"]),
    ],
)
def test_a_word_is_the_known_words_in_it_and_the_rest(word, stems, grams):
    found = pieces(word, KNOWN)
    assert found.stems == stems
    assert found.grams[: len(grams)] == [crc32(gram.encode()) for gram in grams]
    assert bool(found.grams) == bool(grams)


@examples(200)
@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60))
def test_every_word_has_pieces_and_none_is_the_word_itself(word):
    known = {word: 2, word[: len(word) // 2 + 1]: 3, word[1:]: 4}
    found = pieces(word, known)
    assert found.grams or found.stems
    assert 2 not in found.stems or known[word] != 2
    assert len(found.grams) <= 32
    assert len(found.stems) <= 4


def test_a_spelled_word_is_the_mean_of_its_n_grams_and_that_of_its_known_words():
    random = np.random.default_rng(0)
    grams, table = random.standard_normal((51, 8)), random.standard_normal((9, 8))
    found = spell(["genome-wide", "macrophages", "kinase"], grams, table, KNOWN)
    rows = [[1 + h % 50 for h in pieces(word, KNOWN).grams] for word in ("macrophages", "kinase")]
    expected = [(table[3] + table[4]) / 2, grams[rows[0]].mean(0) + table[2], grams[rows[1]].mean(0)]
    np.testing.assert_allclose(found, expected)


def test_n_grams_start_so_that_they_spell_the_known_words():
    vocabulary = (*VOCABULARY, "bananas", "soups", "soupy")
    spelled = SpelledWords(vocabulary, len(vocabulary), ReaderRecipe(buckets=400, typos=0.0), CPU)
    table = torch.randn(len(vocabulary), 8, generator=torch.Generator().manual_seed(0))
    grams = start_grams(table, *spelled.pieces, 400)
    found = spell(vocabulary[2:], grams.numpy(), table.numpy(), {w: k for k, w in enumerate(vocabulary)})
    assert np.square(found - table[2:].numpy()).mean() < 0.25  # of 1
    assert not grams[0].any()
