"""Aspects found in texts: the nouns that are judged, grouped; the same ones every time."""

from __future__ import annotations

from functools import cache

import pandas as pd
import pytest

import limelight
from limelight import TextClassifier
from limelight.aspects import find as module
from limelight.aspects.find import aspects_given, find_aspects, find_in_texts, find_in_words
from refusing import refuses
from reviews import QUICK, THINGS, judged_reviews, words_of

REVIEWS = judged_reviews(200)


@pytest.fixture(autouse=True)
def _one_reader(monkeypatch):
    """Opened once for all tests."""
    monkeypatch.setattr(module, "reader_vectors", _reader)


_reader = cache(module.reader_vectors)


def test_the_things_that_are_judged_are_found_and_named():
    found = find_aspects(REVIEWS, 3)
    groups = {frozenset(aspect.seeds) for aspect in found}
    assert groups == {frozenset(words) for words in THINGS.values()}
    assert all(aspect.name == aspect.seeds[0] for aspect in found)
    assert limelight.find_aspects(REVIEWS, 3) == found  # again, and by its public name


@pytest.mark.filterwarnings("ignore:found 3 aspects")
def test_neither_opinions_nor_what_is_reviewed_nor_plurals_are_found():
    found = {seed for aspect in find_aspects(REVIEWS, 8) for seed in aspect.seeds}
    assert found <= {word for words in THINGS.values() for word in words}


def test_examples_and_shares():
    found = find_in_texts(REVIEWS, 3, words_of(REVIEWS))
    for each in found:
        assert 2 <= len(set(each.examples)) == len(each.examples) <= module.EXAMPLES
        assert all(any(seed in said for seed in each.aspect.seeds) for said in each.examples)
        assert all(any(said in text for text in REVIEWS) for said in each.examples)
    mentioned = sum(any(word in text.lower() for word in found[0].aspect.seeds) for text in REVIEWS)
    assert found[0].share == mentioned / len(REVIEWS)


def test_capitals_do_not_matter():
    cased = words_of(REVIEWS, lowercase=False)
    upper = [text.upper() if k % 2 else text for k, text in enumerate(REVIEWS)]
    cased_too = words_of(upper, lowercase=False)
    assert find_in_words(cased, *cased.encode(REVIEWS), 3) == find_in_words(
        cased_too, *cased_too.encode(upper), 3
    )


def test_few_texts_have_fewer_aspects_and_say_so():
    with pytest.warns(UserWarning, match="rather than 8"):
        assert 1 <= len(find_aspects(REVIEWS[:30], 8)) < 8


def test_many_texts_are_sampled(monkeypatch):
    monkeypatch.setattr(module, "MAX_TEXTS", 100)
    every_other = find_aspects(REVIEWS[::2], 3)
    assert find_aspects(REVIEWS, 3) == every_other


@pytest.mark.parametrize("texts", [[], ["Good."], ["We froze all night."] * 50])
def test_nothing_to_find_is_refused(texts):
    with refuses("no-aspects-found"):
        find_aspects(texts, 8)


@pytest.mark.parametrize("count", [0, -1, 101, True, 2.5])
def test_counts_that_are_refused(count):
    with refuses("option-value"):
        find_aspects(REVIEWS, count)


@pytest.mark.parametrize("texts", [[None, "x"], ["x", float("nan")], "one string"])
def test_texts_that_are_refused(texts):
    with refuses("text-type"):
        find_aspects(texts)


def test_a_column_with_its_own_index(monkeypatch):
    monkeypatch.setattr(module, "MAX_TEXTS", 100)
    assert find_aspects(pd.Series(REVIEWS, index=range(1000, 1000 + len(REVIEWS))), 3) == find_aspects(
        REVIEWS, 3
    )


def test_an_estimator_finds_them(tmp_path):
    stars = [1 if "terrible" in text or "awful" in text else 5 for text in REVIEWS]
    fitted = TextClassifier(**QUICK | {"epochs": 1}, aspects=3, progress=False).fit(REVIEWS, stars)
    assert {aspect.name for aspect in fitted.model_.aspects} <= {
        w for words in THINGS.values() for w in words
    }
    assert len(fitted.model_.aspects) == 3
    with refuses("no-aspects-found"):
        TextClassifier(**QUICK, aspects=3, progress=False).fit(["Good.", "Bad."] * 5, [1, 2] * 5)


def test_what_a_job_stores():
    assert aspects_given(8) == 8
    with refuses("option-value"):
        aspects_given(0)
