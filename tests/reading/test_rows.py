"""Which words rows read over many texts, and what that is called."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from limelight.reading.rows import (
    MIN_OCCURRENCES,
    is_function_word,
    join_names,
    row_words,
    saved_names,
    says_little,
)

WORDS = [f"w{k}" for k in range(200)]


def test_a_row_is_described_by_what_it_reads_more_than_its_share():
    lengths = np.array([4] * 10)
    ids = np.tile([0, 1, 2, 3], 10)
    A = np.zeros((3, 40))
    A[0] = np.tile([0.0, 0.7, 0.3, 0.0], 10)  # mostly word 1, hardly more than its share of word 2
    A[1] = 0.25
    A[2, 3::4] = 1.0
    found = row_words(WORDS, ids, A, lengths)
    assert [[word for word, _ in row.words] for row in found] == [[1], [], [3]]
    assert found[0].words[0][1] == pytest.approx(0.7 - 0.25)
    assert [row.name for row in found] == ["", "", "w3"]  # 0.7 is less than three shares of 0.25


def test_rare_words_do_not_name_a_row():
    lengths = np.array([4] * 10)
    ids = np.concatenate([[100 + k, 1, 2, 3] for k in range(10)])
    A = np.tile([[1.0, 0.0, 0.0, 0.0]], 10)
    assert row_words(WORDS, ids, A, lengths)[0].words == ()
    ids[::4] = 100
    assert row_words(WORDS, ids, A, lengths)[0].words == ((100, 0.75),)
    assert MIN_OCCURRENCES <= 10


@examples(50)
@given(st.integers(0, 10_000), st.integers(1, 30), st.integers(1, 6))
def test_listed_words_get_at_least_twice_their_share(seed: int, texts: int, r: int):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 8, size=texts)
    ids = rng.integers(0, 6, size=lengths.sum())
    A = np.concatenate([rng.dirichlet(np.full(n, 0.3), size=r) for n in lengths], axis=1)
    even = np.repeat(1 / lengths, lengths)
    for row, found in zip(A, row_words(WORDS, ids, A, lengths), strict=True):
        shares = [share for _, share in found.words]
        assert shares == sorted(shares, reverse=True)
        for word, share in found.words:
            mass, fair = row[ids == word].sum(), even[ids == word].sum()
            assert (ids == word).sum() >= MIN_OCCURRENCES
            assert mass >= 2 * fair
            assert share == pytest.approx((mass - fair) / texts)


def name_of(**shares: float) -> str:
    """The name of a row that gives words these shares of its attention, in ten texts with each word once.

    "rest" stands for many words, none of which it reads more than others.
    """
    words = [*(word for word in shares if word != "rest"), *(f"word{k}" for k in range(20))]
    A = [*(share for word, share in shares.items() if word != "rest"), *[shares.get("rest", 0.0) / 20] * 20]
    ids = np.tile(np.arange(len(words)), 10)
    return row_words(words, ids, np.tile([A], 10), np.full(10, len(words)))[0].name


@pytest.mark.parametrize(
    ("shares", "name"),
    [
        ({"man": 0.4, "woman": 0.3, "red": 0.2, "rest": 0.1}, "people: man, woman"),
        ({"is": 0.3, "are": 0.25, "in": 0.2, "rest": 0.25}, "auxiliary verbs: is, are"),
        ({".": 0.4, "!": 0.3, "rest": 0.3}, "punctuation: . !"),
        ({"to": 0.3, "the": 0.2, "but": 0.2, "rest": 0.3}, "small words: to, the, but"),
        ({"2017": 0.4, "two": 0.3, "rest": 0.3}, "numbers: 2017, two"),
        ({"soup": 0.3, "broth": 0.2, "rest": 0.5}, "soup, broth"),
        ({"soup": 0.3, ",": 0.2, "rest": 0.5}, "soup"),  # the comma says nothing
        ({"not": 0.2, "n't": 0.15, "rest": 0.65}, "not, n't"),  # not most of what it reads
        ({"soup": 0.2, "rest": 0.8}, ""),
        ({".": 0.4, "soup": 0.1, "rest": 0.5}, ""),
        ({"rest": 1.0}, ""),
    ],
)
def test_a_row_is_named_by_what_most_of_its_attention_is_on(shares: dict[str, float], name: str):
    assert name_of(**shares) == name


def test_a_row_that_mostly_reads_and_is_not_called_negation():
    """Where there is a negation it is read ten times as much as its share, but there hardly ever is one."""
    words, lengths = ["and", "not", *(f"word{k}" for k in range(8))], np.full(50, 9)
    ids = np.tile([0, *range(2, 10)], 50)
    A = np.tile([[0.6, *[0.05] * 8]], 50)
    ids[:45:9], A[0, :45] = 1, np.tile([0.92, *[0.01] * 8], 5)  # the first five texts have "not"
    assert row_words(words, ids, A, lengths)[0].name == "linking words: and"


def test_special_ids_are_no_words():
    ids, A = np.tile([0, 1, 2, 3, 3], 5), np.tile([[0.6, 0.4, 0.0, 0.0, 0.0]], 5)
    found = row_words(["[pad]", "soup", "a", "b"], ids, A, np.full(5, 5), special=1)
    assert found[0] == (((1, pytest.approx(0.2)),), "")


def test_saved_names_are_taken_as_they_are():
    assert saved_names({"row_names": ["people: man", ""], "rows": [["x"], ["y"]]}, 2) == ("people: man", "")
    assert saved_names({"rows": [["man", "woman", "boy", "red"], []]}, 2) == ("man, woman, boy", "")


@pytest.mark.parametrize("rows", [None, 5, "rows", [], [["a"]], {"rows": []}])
def test_what_is_not_a_list_for_every_row_gives_no_names(rows):
    assert saved_names({"rows": rows, "row_names": rows}, 2) == ()


def test_a_list_from_elsewhere_may_hold_anything():
    assert saved_names({"rows": [[1.5, None], "soup", None]}, 3) == ("1.5, None", "", "")
    assert saved_names({"row_names": [1.5, None, "soup"]}, 3) == ("", "", "soup")


def test_several_rows_have_one_name():
    assert join_names(["", ""]) == ""
    assert join_names(["articles: the, a", "", "articles: the, a"]) == "articles: the, a"
    assert join_names(["articles: the, a", "http://a, soup"]) == "articles; http://a, soup"
    assert join_names(["a", "b", "c"]) == "a; b; …"


def test_small_words_say_little():
    assert all(map(says_little, ("articles: the", "punctuation: .", "would, but")))
    assert not any(map(says_little, ("soup", "people: man", "but, soup", "")))
    assert is_function_word("Of")
    assert not is_function_word("汤")
