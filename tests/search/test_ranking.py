"""By meaning and words together, the best k are those of the sum that is shown."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from limelight.search import nearest, ranking
from limelight.search.nearest import ExactSearch
from limelight.search.postings import Postings, pack_postings
from limelight.search.ranking import Ranking
from limelight.search.shards import Shard
from limelight.search.words import WordRules
from search.vectors import shards_of

WORDS = ["soup", "tea", "host", "train", "late", "cold"]


def shards_with_words(V: np.ndarray, texts: list[str], size: int) -> list[Shard]:
    parts = [texts[at : at + size] for at in range(0, len(texts), size)]
    postings = [Postings(**pack_postings(part, WordRules())) for part in parts]
    return [replace(shard, postings=each) for shard, each in zip(shards_of(V, size), postings, strict=True)]


def unit_rows(random: np.random.Generator, n: int) -> np.ndarray:
    V = random.normal(size=(n, 8)).astype(np.float32)
    return V / np.linalg.norm(V, axis=1, keepdims=True)


@examples(40)
@given(seed=st.integers(0, 2**32), n=st.integers(1, 30), size=st.integers(1, 12), is_rough=st.booleans())
def test_the_best_by_both_are_the_best_of_all_sums(seed, n, size, is_rough):
    random = np.random.default_rng(seed)
    texts = [" ".join(random.choice(WORDS, random.integers(1, 6))) for _ in range(n)]
    found = Ranking(shards_with_words(unit_rows(random, n), texts, size), ExactSearch(1))
    query, Q = " ".join(random.choice(WORDS, 3)), unit_rows(random, 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nearest, "TEXTS_PER_CANDIDATE", 0)
        everything = found.rank([query], Q, n, "both", is_rough)[0]
        words = found.words.scores(found.words.query(query))
        cosines = {each.place: each.cosine for each in found.rank([query], Q, n, "meaning")[0]}
        for each in everything:
            assert each.score == pytest.approx(0.4 * cosines[each.place] + 0.6 * words[each.place], abs=1e-6)
        for k in range(1, n + 1):
            best = [each.score for each in found.rank([query], Q, k, "both", is_rough)[0]]
            assert best == pytest.approx([each.score for each in everything[:k]], abs=1e-6)


@pytest.mark.parametrize("is_rough", [False, True])
def test_what_is_shown_decides_who_comes_first(is_rough, monkeypatch):
    """The first text is nearer in meaning, the second has the words: other weights would have it lose."""
    monkeypatch.setattr(nearest, "TEXTS_PER_CANDIDATE", 0)
    V = np.array([[1, 0], [0.5, 0.866]], np.float32)
    found = Ranking(shards_with_words(V, ["tea host", "cold soup"], 2), ExactSearch(1))
    (best,) = found.rank(["cold soup"], V[:1], 1, "both", is_rough)[0]
    meaning, words = 0.5, found.words.scores(found.words.query("cold soup"))[1]
    assert ranking.WORD_WEIGHT * words > (1 - ranking.WORD_WEIGHT) * meaning
    assert (1 - ranking.WORD_WEIGHT) * words < ranking.WORD_WEIGHT * meaning
    assert best.place == 1
