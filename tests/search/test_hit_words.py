"""Which words make hits similar: the best pairs alone, some texts at a time, and exact sums."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

import limelight
from drawing import examples
from limelight import Index
from limelight.reading.comparison import largest_places
from limelight.runtime.embedder import Embedder
from limelight.search import hit_words
from limelight.search.hit_words import find_words
from refusing import refuses
from shared_reader import share_reader

TEXTS = ["Cold soup. " * 8, "A friendly host.", "The train was late again.", "Warm beer, cold tea and soup."]


@pytest.fixture(autouse=True)
def one_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    share_reader(monkeypatch)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Index.create(tmp_path_factory.mktemp("built") / "index", TEXTS).folder


@pytest.fixture
def index(built: Path) -> Index:
    return Index.open(built)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The texts of each call that finds out what each word does."""
    found, word_parts = list[list[str]](), Embedder.word_parts

    def noted(embedder: Embedder, texts: list[str]) -> object:
        if texts:
            found.append(list(texts))
        return word_parts(embedder, texts)

    monkeypatch.setattr(Embedder, "word_parts", noted)
    return found


def assert_exact(hit: object) -> None:
    facts = hit.to_dict()
    shown = sum(share for *_, share in facts["words"])
    assert shown + facts["other_words"] == pytest.approx(facts["meaning"], abs=1e-15)
    assert facts["meaning"] + sum(share for _, share in facts["matches"]) == facts["score"]


@examples(60)
@given(arrays(np.float32, array_shapes(min_dims=2, max_dims=2, max_side=9), elements=st.integers(-3, 3)),
       st.integers(0, 90))  # fmt: skip
def test_the_largest_places_are_those_of_a_stable_sort(matrix, count):
    order = np.argsort(-matrix, axis=None, kind="stable")[:count]
    expected = list(zip(*(axis.tolist() for axis in np.unravel_index(order, matrix.shape)), strict=True))
    assert largest_places(matrix, count) == expected


def test_a_hit_keeps_the_best_pairs_and_no_matrix(index, monkeypatch):
    monkeypatch.setattr(hit_words, "BEST_PAIRS", 7)
    for hit in index.search("The cold soup of a friendly host"):
        assert len(hit.words.pairs) == len(hit.top_pairs(99)) == 7
        assert all(value.ndim == 1 or value.shape[1] == 2
                   for value in vars(hit.words.text).values() if isinstance(value, np.ndarray))  # fmt: skip
        expected = [(a, b, hit.meaning_weight * share) for a, b, share in hit.comparison.top_pairs(7)]
        assert [pair[:2] for pair in hit.top_pairs(7)] == [pair[:2] for pair in expected]
        np.testing.assert_allclose([x for *_, x in hit.top_pairs(7)], [x for *_, x in expected], atol=1e-6)
        assert_exact(hit)


def test_texts_are_read_some_at_a_time(index, reads, monkeypatch):
    query = "cold soup of a kind host"
    whole = {hit.row: hit.to_dict() for hit in index.search(query)}
    assert [len(texts) for texts in reads] == [4, 1]  # the hits, the query
    reads.clear()
    monkeypatch.setattr(hit_words, "PIECE_WORDS", 11)
    hits = index.search(query)
    assert sorted(chain(*reads)) == sorted([query, *TEXTS])  # each once
    count = index.model.tokenizer.encode(TEXTS)[1].tolist()
    held = [[count[TEXTS.index(text)] for text in texts if text != query] for texts in reads]
    assert all(sum(each) <= 11 or len(each) == 1 for each in held)
    assert len(held) > 3
    for hit in hits:
        for name in ("other_words", "meaning", "score"):
            assert hit.to_dict()[name] == pytest.approx(whole[hit.row][name], abs=1e-6)
        assert_exact(hit)


def test_a_text_or_a_query_of_too_many_words_has_no_pairs(index, reads, monkeypatch):
    monkeypatch.setattr(hit_words, "MAX_WORDS", 6)
    hits = {hit.row: hit for hit in index.search("cold soup")}
    assert {row: bool(hit.words.pairs) for row, hit in hits.items()} == {1: False, 2: True, 3: True, 4: False}
    for hit in hits.values():
        assert_exact(hit)
    assert hits[1].to_dict()["other_words"] == hits[1].meaning > 0
    assert hits[1].comparison.matrix.sum() == pytest.approx(hits[1].cosine, abs=1e-12)  # if someone asks
    reads.clear()
    assert not any(hit.words.pairs for hit in index.search("cold soup and tea and warm beer"))
    assert reads == []


def test_a_text_of_too_many_characters_is_not_even_counted():
    assert hit_words._count_words(None, "x" * (32 * hit_words.MAX_WORDS + 1)) > hit_words.MAX_WORDS


def test_of_a_budget_the_first_hits_have_their_pairs(index, reads, monkeypatch):
    queries = ["cold soup", "late train"]
    found = index.search(queries, k=3, words=False)
    count = {text: int(index.model.tokenizer.encode([text])[1][0]) for text in TEXTS}
    most = sum(count[hit.text] for hit in found[0]) + count[found[1][0].text]
    hits = list(chain(*find_words(index.model, queries, found, most)))
    assert [bool(hit.words.pairs) for hit in hits] == [True] * 4 + [False] * 2
    assert [hit.text for hit in hits] == [hit.text for each in found for hit in each]
    assert sum(count.get(text, 0) for texts in reads for text in texts) == most
    for hit in hits:
        assert_exact(hit)
    fewer = list(chain(*find_words(index.model, queries, found, most - 1)))  # one does not fit
    assert [bool(hit.words.pairs) for hit in fewer] == [True] * 3 + [False] * 3
    reads.clear()
    counted, count_words = list[str](), hit_words._count_words
    monkeypatch.setattr(
        hit_words, "_count_words", lambda m, text: counted.append(text) or count_words(m, text)
    )
    assert not any(hit.words.pairs for hit in chain(*find_words(index.model, queries, found, 0)))
    assert (reads, counted) == ([], queries)  # nothing is left, and no text is looked at


def test_texts_that_a_database_found_are_explained_as_the_index_does(tmp_path):
    texts = ["The soup was cold.", "A late train.", "Chilly broth!"]
    index = limelight.Index.create(tmp_path / "index", texts, precision="float32")
    found = {hit.text: hit for hit in index.search("cold soup", k=3, by="meaning")}
    explained = limelight.explain_hits("cold soup", texts)
    assert [(hit.text, hit.row) for hit in explained] == [(text, k) for k, text in enumerate(texts, 1)]
    for hit in explained:
        assert hit.score == pytest.approx(found[hit.text].cosine, abs=0.01)  # the index has 8 bits a number
        assert hit.top_pairs(1)[0][:2] == found[hit.text].top_pairs(1)[0][:2]
    assert limelight.explain_hits("cold soup", []) == []
    with refuses("text-type"):
        limelight.explain_hits("cold soup", "Chilly broth!")
