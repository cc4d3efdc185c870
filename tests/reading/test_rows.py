"""Which words rows read over many texts, and what that is called."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from limelight.reading.row_names import (
    MIN_OCCURRENCES,
    is_function_word,
    join_names,
    row_names,
    row_words,
    says_little,
)


def test_a_row_is_described_by_what_it_reads_more_than_its_share():
    lengths = np.array([4] * 10)
    ids = np.tile([0, 1, 2, 3], 10)
    A = np.zeros((3, 40))
    A[0] = np.tile([0.0, 0.7, 0.3, 0.0], 10)  # mostly word 1, hardly more than its share of word 2
    A[1] = 0.25
    A[2, 3::4] = 1.0
    found = row_words(ids, A, lengths)
    assert [[word for word, _ in row.words] for row in found] == [[1], [], [3]]
    assert found[0].words[0][1] == pytest.approx(0.7 - 0.25)
    assert [row.clear for row in found] == [False, False, True]  # 0.7 is less than three shares of 0.25


def test_rare_words_do_not_name_a_row():
    lengths = np.array([4] * 10)
    ids = np.concatenate([[100 + k, 1, 2, 3] for k in range(10)])
    A = np.tile([[1.0, 0.0, 0.0, 0.0]], 10)
    assert row_words(ids, A, lengths)[0].words == ()
    ids[::4] = 100
    assert row_words(ids, A, lengths)[0].words == ((100, 0.75),)
    assert MIN_OCCURRENCES <= 10


@examples(50)
@given(st.integers(0, 10_000), st.integers(1, 30), st.integers(1, 6))
def test_listed_words_get_at_least_twice_their_share(seed: int, texts: int, r: int):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 8, size=texts)
    ids = rng.integers(0, 6, size=lengths.sum())
    A = np.concatenate([rng.dirichlet(np.full(n, 0.3), size=r) for n in lengths], axis=1)
    even = np.repeat(1 / lengths, lengths)
    for row, found in zip(A, row_words(ids, A, lengths), strict=True):
        shares = [share for _, share in found.words]
        assert shares == sorted(shares, reverse=True)
        for word, share in found.words:
            mass, fair = row[ids == word].sum(), even[ids == word].sum()
            assert (ids == word).sum() >= MIN_OCCURRENCES
            assert mass >= 2 * fair
            assert share == pytest.approx((mass - fair) / texts)


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["man", "woman", "boy", "red"], "people: man, woman, boy"),
        (["not", "but", "n't", "no", "never"], "negation: not, n't, no"),
        (["is", "in", "are", "of", "with"], "auxiliary verbs: is, are"),
        ([".", "!", "?", "etc."], "punctuation: . ! ?"),
        (["more", ")", "most", "less"], "more, most, less"),
        (["to", "the", "but", "soup"], "small words: to, the, but"),
        (["soup", "broth", "stew", "bill"], "soup, broth, stew"),
        ([",", "@user", "soup"], "@user, soup"),
        (["2017", "1998", "two"], "numbers: 2017, 1998, two"),
        ([], ""),
    ],
)
def test_names(words: list[str], name: str):
    assert row_names([words], 1) == (name,)


@pytest.mark.parametrize("rows", [None, 5, "rows", [], [["a"]], {"rows": []}])
def test_what_is_not_a_list_for_every_row_gives_no_names(rows):
    assert row_names(rows, 2) == ()


def test_a_list_from_elsewhere_may_hold_anything():
    assert row_names([[1.5, None], "soup", None], 3) == ("1.5, None", "", "")


def test_several_rows_have_one_name():
    assert join_names(["", ""]) == ""
    assert join_names(["articles: the, a", "", "articles: the, a"]) == "articles: the, a"
    assert join_names(["articles: the, a", "http://a, soup"]) == "articles; http://a, soup"
    assert join_names(["a", "b", "c"]) == "a; b; …"


def test_small_words_say_little():
    assert [says_little(name) for name in ("articles: the", "punctuation: .", "soup", "people: man", "")] == [
        True, True, False, False, False,
    ]  # fmt: skip
    assert is_function_word("Of")
    assert not is_function_word("汤")
