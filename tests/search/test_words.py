"""Search by words is BM25 as the books have it, and every score is the sum of its parts."""

from __future__ import annotations

import json
import math
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trained
from drawing import examples
from limelight import Index
from limelight.runtime.edits import write_forbidden
from limelight.search import index_folder, postings, ranking
from limelight.search.postings import POSTINGS, Postings, WordSearch, pack_postings
from limelight.search.results import _effects
from limelight.search.words import MAX_STEMMED, WordRules, find_words
from refusing import refuses
from search.first_format import write_first_format
from shared_reader import share_reader

TEXTS = ["The soup was cold. Cold soup!", "A friendly host.", "The train was late.", "Cold tea, warm beer."]
WORDS = ["soup", "soups", "Tea", "tea", "kinase", "a", "the", "日本", "x-ray"]


@pytest.fixture(autouse=True)
def one_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    share_reader(monkeypatch)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Index.create(tmp_path_factory.mktemp("built") / "index", TEXTS).folder


@pytest.fixture
def index(built: Path) -> Index:
    return Index.open(built)


def search_of(texts: list[str], size: int) -> WordSearch:
    parts = [texts[at : at + size] for at in range(0, len(texts), size)]
    rules = WordRules()
    return WordSearch([Postings(**pack_postings(part, rules)) for part in parts], rules)


def normal(text: str) -> list[str]:
    return [word for _, _, word in WordRules().find(text)]


def plain_bm25(texts: list[str], query: str, k1: float = 1.2, b: float = 0.75) -> list[float]:
    """The formula of Robertson and Zaragoza (2009), divided by the sum of its limits for endless counts."""
    documents = [normal(text) for text in texts]
    mean = sum(map(len, documents)) / len(documents)
    scores, limit = np.zeros(len(texts)), 0.0
    for word in normal(query):  # as often as the query has it
        having = sum(word in each for each in documents)
        idf = math.log(1 + (len(texts) - having + 0.5) / (having + 0.5))
        idf *= 0.25 if word in ("a", "the") else 1
        limit += idf * (k1 + 1)
        for k, each in enumerate(documents):
            tf = each.count(word)
            scores[k] += idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * len(each) / mean))
    return (scores / limit).tolist()


@examples(60)
@given(seed=st.integers(0, 2**32), size=st.integers(1, 12))
def test_scores_are_those_of_the_formula_in_any_shards(seed, size):
    choose = random.Random(seed)
    texts = [" ".join(choose.choices(WORDS, k=choose.randint(1, 8))) for _ in range(choose.randint(1, 12))]
    query = " ".join(choose.choices([*WORDS, "unheard"], k=choose.randint(1, 5)))
    search = search_of(texts, size)
    found = search.query(query)
    scores = search.scores(found)
    np.testing.assert_allclose(scores, plain_bm25(texts, query), rtol=1e-5)
    shares = search.shares(found, range(len(texts)))
    exact = [sum(share for _, share in each) for each in shares]
    np.testing.assert_allclose(exact, plain_bm25(texts, query), rtol=1e-6)
    allowed, k = np.array([choose.random() < 0.7 for _ in texts]), choose.randint(1, 4)
    for mask in (None, allowed):
        some = [at for at in np.flatnonzero(scores) if mask is None or mask[at]]
        expected = sorted(some, key=lambda at: (-exact[at], at))[:k]
        assert search.best(found, k, mask) == expected


def test_what_is_kept_of_words_is_bounded(monkeypatch):
    monkeypatch.setattr(postings, "KEPT_PER_TEXT", 1)
    search = search_of(["cold soup", "cold tea", "cold beer"], 2)
    for query in ("soup tea", "cold", "beer cold"):
        scores = search.scores(search.query(query))
        whole = search_of(["cold soup", "cold tea", "cold beer"], 3)
        assert scores.tolist() == whole.scores(whole.query(query)).tolist()
        assert sum(len(each.places) for each in search._kept.values()) <= 3


def test_words_that_no_text_has_are_not_kept():
    search = search_of(["cold soup", "cold tea"], 1)
    for k in range(5):
        search.query(f"soup unheard{k}")
    assert list(search._kept) == ["soup"]


def test_a_text_full_of_the_query_has_a_score_near_one():
    search = search_of(["soup " * 5000, "tea " * 5000], 2)
    assert 0.999 < search.scores(search.query("soups"))[0] < 1


def test_words_without_spaces_are_characters():
    assert normal("Kinases of 日本 don't") == ["kinas", "of", "日", "本", "don", "t"]


@pytest.mark.parametrize(
    ("text", "forms"),
    [
        ("The news is new", ["the", "news", "is", "new"]),  # not the plural of new
        ("News, reviews, crews", ["news", "review", "crew"]),
        ("basis tennis", ["basi", "tenni"]),
        ("Connected: connecting connections", ["connect"] * 3),
        ("mp3s, A320s and B-52s", ["mp3s", "a320s", "and", "b", "52s"]),  # codes keep their letters
        ("status glass bias", ["status", "glass", "bias"]),
        ("Weighs 1.8kg, 1,8 kg.", ["weigh", "1.8kg", "1,8", "kg"]),
        ("v2.10.3 of 1,000,000", ["v2.10.3", "of", "1,000,000"]),
        ("In 2019. 5 of them,3 left", ["in", "2019", "5", "of", "them", "3", "left"]),
        ("at 5.Then a.5 or 5,x", ["at", "5", "then", "a", "5", "or", "5", "x"]),
        ("共 1.8公斤", ["共", "1.8", "公", "斤"]),
    ],
)
def test_which_words_a_text_has(text, forms):
    assert normal(text) == WordRules().forms(text) == forms
    assert all(
        text[start:end].casefold().startswith(form[:-1]) for start, end, form in WordRules().find(text)
    )


@pytest.mark.parametrize(
    ("language", "word", "others"),
    [
        ("german", "Häusern", ["Haus", "Häuser", "Hause"]),
        ("french", "continuation", ["continuer", "continué"]),
        ("spanish", "bibliotecas", ["biblioteca"]),
        ("dutch", "huizen", ["huis"]),
        ("czech", "knihy", ["kniha", "knihu"]),
    ],
)
def test_forms_of_a_word_are_one_in_the_language_of_the_index(language, word, others):
    rules = WordRules(language=language)
    assert {rules.normal_form(each) for each in others} == {rules.normal_form(word)}
    assert WordRules(language="none").normal_form(word) == word.casefold()


def test_a_run_of_letters_that_is_no_word_is_not_stemmed():
    at_most, more = ("y" * k + "ing" for k in (MAX_STEMMED - 3, MAX_STEMMED - 2))
    assert WordRules().normal_form(at_most) != at_most
    assert WordRules().normal_form(more) == more


def test_labels_and_groups_show_words_that_people_can_read():
    assert [form for _, _, form in find_words("Universities of connected studies, basis")] == [
        "university", "of", "connected", "study", "basis",
    ]  # fmt: skip


def test_a_word_that_is_repeated_in_a_query_counts_each_time():
    search = search_of(["soup", "tea", "beer"], 3)
    once, twice = (search.scores(search.query(query)) for query in ("soup tea", "soup tea soups"))
    assert once[0] == once[1]
    assert twice[0] == pytest.approx(2 * twice[1])


def test_function_words_are_weighed_down_but_found():
    search = search_of(["whether", "tea", "beer"], 3)
    scores = search.scores(search.query("Whether tea"))
    assert scores[0] == pytest.approx(scores[1] / 4)
    assert search.scores(search.query("whether"))[0] > 0.4
    foreign = WordSearch(search.shards, WordRules(language="none"))
    assert len(set(foreign.scores(foreign.query("whether tea"))[:2])) == 1


def test_texts_without_words_have_no_postings():
    search = search_of(["...", "soup"], 1)
    assert search.scores(search.query("soup")).tolist()[0] == 0
    assert search.scores(search.query("...")).tolist() == [0, 0]
    assert search.best(search.query("..."), 2) == []
    assert search.shares(search.query("..."), [0, 1]) == [[], []]


@pytest.mark.parametrize(
    ("array", "values"),
    [("places", [0, 2]), ("places", [-1, 1]), ("places", [1, 0]), ("lengths", [-5, 1]), ("counts", [0, 1])],
)
def test_crafted_postings_are_refused(array, values):
    postings = Postings(**pack_postings(["soup", "soup"], WordRules()))
    given = np.array(values, getattr(postings, array).dtype)
    with refuses("file-damaged"):
        replace(postings, **{array: given}).of("soup")


def test_arrays_that_do_not_fit_together_are_noticed():
    postings = Postings(**pack_postings(["cold soup", "soup"], WordRules()))
    assert postings.fit_together(2)
    assert not postings.fit_together(3)
    for name in POSTINGS:
        assert not replace(postings, **{name: getattr(postings, name)[:-1]}).fit_together(2)
    assert not replace(postings, word_ends=np.array([9, 8])).fit_together(2)


@pytest.mark.parametrize(
    ("ends", "fit"),
    [([], False), ([6], True), ([7], False), ([-1, 6], False), ([3, 3, 6], True), ([0, 5, 3, 6], False)],
)
def test_the_ends_of_parts_never_go_back(ends, fit):
    assert postings.are_ends(np.array(ends, np.int64), 6) == fit
    assert postings.are_ends(np.zeros(0, np.int64), 0)


def test_a_word_that_a_text_is_full_of_is_counted_up_to_what_16_bits_hold():
    assert pack_postings(["soup " * 65536], WordRules())["counts"].tolist() == [65535]


# ---------------------------------------------------------------- in an index


@pytest.mark.parametrize("by", ranking.SCORERS)
def test_the_parts_of_a_hit_add_up_to_its_score(index, by):
    for hit in index.search("A cold soup for a friendly kinase", k=4, by=by):
        assert hit.meaning + sum(share for _, share in hit.matches) == hit.score
        if by != "words":
            pairs = hit.meaning_weight * hit.comparison.matrix
            assert pairs.sum() == pytest.approx(hit.meaning, abs=1e-12)
            assert hit.comparison.similarity == hit.cosine
            facts = hit.to_dict(pairs=3)
            shown = sum(share for _, _, share in facts["words"])
            assert shown + facts["other_words"] == pytest.approx(facts["meaning"], abs=1e-15)


def test_both_is_a_weighted_sum(index):
    meaning, found, both = (
        {hit.row: hit.score for hit in index.search("cold soup", by=by)}
        for by in ("meaning", "words", "both")
    )
    for row, score in both.items():
        assert score == pytest.approx(0.4 * meaning[row] + 0.6 * found.get(row, 0), abs=1e-12)


def test_a_hit_says_which_words_match(index):
    hit = index.search("Soups, cold kinase", k=1)[0]
    assert [word for word, _ in hit.matches] == ["Soups", "cold"]
    assert hit.to_dict()["matches"] == [list(each) for each in hit.matches]
    assert hit.to_dict()["meaning"] == hit.meaning


def test_by_words_only_texts_that_match_are_hits(index):
    hits = index.search("cold kinase", by="words")
    assert [hit.row for hit in hits] == [1, 4]
    assert all(hit.comparison is None and hit.cosine == 0 for hit in hits)
    assert index.search("kinase", by="words") == []


def test_a_query_with_no_word_of_the_index_goes_by_meaning(index):
    hits = index.search("chilly broth")
    assert [hit.matches for hit in hits] == [()] * 4
    assert [hit.row for hit in hits] == [hit.row for hit in index.search("chilly broth", by="meaning")]


@pytest.mark.parametrize("by", ranking.SCORERS)
@pytest.mark.parametrize("query", ["", " \n"])
def test_an_empty_query_is_refused(index, by, query):
    with refuses("text-without-words"):
        index.search(query, by=by)


def test_by_words_marks_alone_are_no_query(index):
    with refuses("text-without-words"):
        index.search("?!", by="words")


def test_another_way_is_refused(index):
    with refuses("option-value"):
        index.search("soup", by="magic")


@pytest.mark.parametrize("by", ranking.SCORERS)
def test_a_hit_has_the_same_score_alone_or_among_many(index, by, monkeypatch):
    queries = ["cold soup", "late friendly host", "the beer"]
    many = index.search(queries, k=4, by=by, words=False)
    monkeypatch.setattr(ranking, "SCORES_AT_ONCE", 1)  # query by query
    for query, hits in zip(queries, many, strict=True):
        scores = {hit.row: hit.score for hit in hits}
        for alone in (index.search(query, k=1, by=by), index.search(query, k=4, by=by)):
            assert {hit.row: hit.score for hit in alone} == {hit.row: scores[hit.row] for hit in alone}
            assert alone[0].row == hits[0].row


@pytest.mark.parametrize("by", ranking.SCORERS)
def test_of_equal_texts_the_first_comes_first(tmp_path, by, monkeypatch):
    monkeypatch.setattr(index_folder, "SHARD_TEXTS", 2)
    index = Index.create(tmp_path / "index", ["cold soup", "tea", "cold soup", "cold soup", "cold soup"])
    assert [hit.row for hit in index.search("cold soup", k=4, by=by)] == [1, 3, 4, 5]
    assert [hit.row for hit in index.search("cold soup", k=2, by=by)] == [1, 3]


def test_shards_and_adding_do_not_change_scores(tmp_path, index, monkeypatch):
    monkeypatch.setattr(index_folder, "SHARD_TEXTS", 1)
    small = Index.create(tmp_path / "small", TEXTS[:2])
    small.add(TEXTS[2:])
    for by in ranking.SCORERS:
        one, other = (each.search("the cold soup", by=by, words=False) for each in (index, small))
        assert [(hit.text, hit.score) for hit in one] == [(hit.text, hit.score) for hit in other]


# ---------------------------------------------------------------- an index from an earlier version


@pytest.fixture
def old(tmp_path: Path) -> Index:
    return write_first_format(tmp_path / "old", [TEXTS])


def test_an_old_index_is_searched_by_meaning_and_says_so(old, index):
    hits = old.search("cold soup", k=4)
    assert [(hit.row, hit.score) for hit in hits] == [
        (hit.row, hit.score) for hit in index.search("cold soup", k=4, by="meaning")
    ]
    for by in ("words", "both"):
        with refuses("index-without-words"):
            old.search("cold soup", by=by)


def test_an_old_index_is_not_changed(old):
    for change in (lambda: old.add(["Chilly broth."]), lambda: old.delete([1]), old.compact):
        with refuses("index-without-words"):
            change()
    assert len(Index.open(old.folder)) == len(TEXTS)
    old.verify()


def test_an_index_that_another_process_built_again_is_compacted_by_its_own_rules(tmp_path):
    texts = ["Connected rooms.", "A late train."]
    index = Index.create(tmp_path / "index", texts, language="none")
    assert not index.search("connecting", by="words")
    Index.create(index.folder, [*texts, "A bed."], overwrite=True).delete([3])
    index.compact()
    assert [hit.text for hit in index.search("connecting", by="words")] == texts[:1]


@pytest.mark.parametrize("words", [-1, 2, 4, True, None, "2", [2]])
def test_rules_that_nobody_knows_are_refused(built, tmp_path, words):
    refuse_config(built, tmp_path, {"words": words})


@pytest.mark.parametrize("language", ["klingon", "../english", "porter", "", 7, None])
def test_languages_that_nobody_knows_are_refused(built, tmp_path, language):
    refuse_config(built, tmp_path, {"language": language})
    with refuses("option-value"):
        Index.create(tmp_path / "new", TEXTS, language=language)


def refuse_config(built: Path, tmp_path: Path, fields: dict[str, object]) -> None:
    data = json.loads((built / "index.json").read_text()) | fields
    del data["sha256"]
    text = json.dumps({**data, "sha256": index_folder._checksum(data)})
    (tmp_path / "index.json").write_text(text)
    with refuses("file-damaged"):
        index_folder.read_config(tmp_path)


# ---------------------------------------------------------------- words that the model must not read


def test_a_forbidden_word_counts_for_nothing(tmp_path):
    """Whichever it is, wherever it stands, or none: the scores are the same to the bit."""
    model = trained.save(tmp_path / "model")
    write_forbidden(model, ["hilton", "ritz"])
    given = {
        "named": ["Hilton w1 w2", "w3 hilton/w9 w4", "w1 w5 RITZ", "HILTON-style w2 w6"],
        "others": ["ritz w1 w2", "w3 @ritz w4", "w1 w5 hilton", "ritz.The w2 w6"],
        "without": ["w1 w2", "w3 w4", "w1 w5", "w2 w6"],
    }
    found = {}
    for name, texts in given.items():
        index = Index.create(tmp_path / name, texts, model=model, precision="float32")
        index.add(["w1 ritz"])
        index.delete([5])
        index.compact()  # the words of all texts are found again
        found[name] = [
            [(hit.key, hit.score, hit.matches) for hit in index.search(query, by=by)]
            for query in ("w1 w2", "w1 hilton w2", "RITZ, w4 w5")
            for by in ranking.SCORERS
        ]
        assert found[name][:3] == found[name][3:6]  # the query has it, or not
        with refuses("text-without-words"):
            index.search("Hilton ritz", by="words")
    assert found["named"] == found["others"] == found["without"]


def test_a_page_lights_no_forbidden_word(tmp_path):
    model = trained.save(tmp_path / "model")
    write_forbidden(model, ["hilton"])
    index = Index.create(tmp_path / "index", ["w1 hilton-w2", "w1 w2"], model=model)
    hits = index.search("w2 w1", by="words")
    side = _effects(hits[-1], index.word_rules)
    assert hits[-1].text == "w1 hilton-w2"
    assert [side.text[start:end] for start, end in side.offsets] == ["w1"]
