"""Planted sentences are what they say they are, and trained attention finds what was planted."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import planted_texts as planted
from drawing import examples
from limelight.errors import LimelightError
from planting import readings, trained
from refusing import refuses


@examples(40)
@given(aspects=st.integers(1, 4), seed=st.integers(0, 1000), extra=st.integers(0, 8))
def test_the_label_says_which_word_stands_where(aspects: int, seed: int, extra: int):
    texts, labels, places = planted.sentences(5, aspects, seed, (aspects, aspects + extra))
    assert places.shape == (5, aspects, 2)
    for text, label, spans in zip(texts, labels, places, strict=True):
        assert aspects <= len(text.split()) <= aspects + extra
        for sign, (start, end), (good, bad) in zip(label, spans, planted.ASPECTS.values(), strict=False):
            assert text[start:end] in (good if sign == "+" else bad)
        mentioned = [word for sides in planted.ASPECTS.values() for side in sides for word in side]
        assert sum(word in mentioned for word in text.split()) == aspects


def test_no_word_belongs_to_two_aspects_or_to_the_fillers():
    words = [word for sides in planted.ASPECTS.values() for side in sides for word in side]
    assert len({*words, *planted.FILLERS}) == len(words) + len(planted.FILLERS)


def test_the_same_seed_gives_the_same_sentences_and_the_aspects_are_independent():
    first, again, other = (planted.sentences(400, seed=seed) for seed in (3, 3, 4))
    assert first.texts == again.texts
    assert first.texts != other.texts
    signs = np.array([[sign == "+" for sign in label] for label in first.labels], float)
    assert np.abs(np.corrcoef(signs.T) - np.eye(3)).max() < 0.15
    assert len(set(first.labels)) == 8


@pytest.mark.parametrize("given", [{"n": 0}, {"n": 5, "aspects": 5}, {"n": 5, "words": (2, 9)}])
def test_impossible_sentences_are_an_error(given: dict):
    with pytest.raises(LimelightError):
        planted.sentences(**given)


def test_rows_are_matched_with_the_most_mass_in_all():
    mass = np.array([[0.9, 0.8], [0.7, 0.1]])  # greedily, the second aspect would be left with 0.1
    assert planted.match_rows(mass) == (1, 0)
    assert planted.recovered([mass, np.eye(2)]) == 1.0
    assert planted.recovered([np.array([[0.9, 0.8], [0.3, 0.1]])]) == 0.5  # one row cannot be two
    with refuses("invalid"):
        planted.match_rows(mass[:1])


# ---------------------------------------------------------------- trained networks, two seeds each


def masses_of(penalty: float) -> list[np.ndarray]:
    found = []
    for seed in (0, 1):
        read, new = readings(trained(penalty, seed))
        found += [planted.mass(each, spans) for each, spans in zip(read, new.places, strict=True)]
    return found


def redundancy_of(penalty: float) -> float:
    return float(np.mean([planted.redundancy(readings(trained(penalty, seed))[0]) for seed in (0, 1)]))


def test_trained_attention_finds_the_planted_words():
    read, new = readings(trained())
    right = np.mean([each.label == label for each, label in zip(read, new.labels, strict=True)])
    chance = np.mean([1 / len(each.offsets) for each in read])  # an even share of a word
    assert right > 0.95
    mean = np.mean(masses_of(10.0), axis=0)  # (rows, aspects)
    assert mean.sum() / 3 > 2 * 3 * chance  # all rows on all planted words
    assert mean.sum(axis=0).min() / 3 > 1.5 * chance  # every aspect is found


def test_as_many_rows_recover_as_many_aspects_if_the_penalty_keeps_them_apart():
    without, with_penalty = (planted.recovered(masses_of(penalty)) for penalty in (0.0, 10.0))
    assert with_penalty > 0.55
    assert with_penalty > without + 0.1


def test_the_penalty_lowers_the_redundancy_of_the_rows():
    assert redundancy_of(0.0) > 0.15
    assert redundancy_of(10.0) < redundancy_of(0.0) / 2
