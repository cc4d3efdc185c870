"""The limits of search: what holds on either side of each."""

from __future__ import annotations

import warnings
from contextlib import closing
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from limelight.search import hit_words, index_folder, shards
from limelight.search.build import compact, tidy
from limelight.search.corpus import Corpus
from limelight.search.filters import make_conditions
from limelight.search.hit_words import Hit, HitWords
from limelight.search.index_folder import (
    MAX_CONFIG,
    IndexConfig,
    Source,
    open_shards,
    read_config,
    write_config,
    write_deleted,
)
from limelight.search.nearest import count_candidates
from limelight.search.shards import cut_shards, pack_shard, quantise, write_shard
from limelight.search.words import RULES, WordRules
from refusing import refuses
from search.test_index_folder import entry, write_header


def test_a_hundred_texts_for_each_hit_and_a_thousand_at_least_are_scored_again():
    assert [count_candidates(k) for k in (1, 10, 11, 50)] == [1000, 1000, 1100, 5000]


# ---------------------------------------------------------------- conditions


def test_a_search_takes_32_different_conditions():
    given = [f"stars>{k}" for k in range(32)]
    assert len(make_conditions([*given, given[0]])) == 32
    with refuses("option-value"):
        make_conditions([*given, "stars>32"])


def test_a_condition_has_16384_characters():
    (found,) = make_conditions({"city": "a" * (16_384 - 4)})
    assert len(found.value) == 16_380
    with refuses("option-value"):
        make_conditions({"city": "a" * (16_384 - 3)})


# ---------------------------------------------------------------- a corpus


@pytest.mark.parametrize(("lengths", "said"), [
    ([10_000, 10_000], None), ([10_001], "1 texts: 1 text has more than 10,000 characters; with --passages"),
    ([10_001, 3, 10_002], "3 texts: 2 texts have more than 10,000 characters"),
])  # fmt: skip
def test_texts_of_more_than_ten_thousand_characters_are_said(lengths, said):
    corpus = Corpus(["a" * length for length in lengths])
    with warnings.catch_warnings(record=True) as found, closing(corpus):
        warnings.simplefilter("always")
        corpus.check()
    assert [str(each.message).startswith(said or "") for each in found] == [True] * (said is not None)


def test_a_text_with_halves_of_characters_or_accents_is_put_aside_as_it_is():
    corpus = Corpus([{"text": "café \ud83d", "no": "ü"}])
    corpus.check()
    assert list(corpus.entries()) == [{"text": "café \ud83d", "row": 1, "columns": {"no": "ü"}}]
    assert b"caf\xc3\xa9" in b"".join(line for _, line in corpus._read())


# ---------------------------------------------------------------- words of hits


@pytest.mark.parametrize(("words", "can_read"), [(4096, True), (4097, False)])
def test_a_query_of_4096_words_is_read(words, can_read):
    tokenizer = SimpleNamespace(encode=lambda texts: (None, np.array([words])))
    model: Any = SimpleNamespace(tokenizer=tokenizer)
    assert hit_words._PairFinder(model, "a").can_read == can_read
    assert hit_words._count_words(model, "x" * 32 * 4096) == words
    assert hit_words._count_words(model, "x" * (32 * 4096 + 1)) == 4097


def test_a_hit_keeps_32_pairs_and_shows_five(monkeypatch):
    read = SimpleNamespace(
        text="a b c d e f", offsets=np.array([[k, k + 1] for k in range(0, 11, 2)]), known=np.ones(6, bool),
        parts=np.eye(6) + 0.1, vector=np.full(6, 1.6), effects=np.zeros((6, 6)),
    )  # fmt: skip
    model: Any = SimpleNamespace(
        word_parts=lambda texts: [read] * len(texts), tokenizer=SimpleNamespace(encode=lambda t: (0, [6]))
    )
    hit = Hit(9.6, "a b c d e f", "texts", 0, 1, None, {}, cosine=9.6)
    ((found,),) = hit_words.find_words(model, ["a b c d e f"], [[hit]])
    assert len(found.words.pairs) == 32
    assert [pair[:2] for pair in found.top_pairs()] == [(each, each) for each in "abcde"]
    assert len(found.to_dict()["words"]) == len(found.top_pairs()) == 5


def test_a_hit_shows_its_five_strongest_matches():
    shares = [0.1, 0.3, 0.2, 0.05, 0.2, 0.15]
    hit = Hit(1.0, "x", "t", 0, 1, None, {}, matches=tuple(zip("abcdef", shares, strict=True)))
    assert hit.top_matches() == [("b", 0.3), ("c", 0.2), ("e", 0.2), ("f", 0.15), ("a", 0.1)]
    assert hit.to_dict()["matches"] == [list(each) for each in hit.matches]
    assert "words" not in hit.to_dict()
    assert (hit.comparison, hit.top_pairs(), hit.meaning) == (None, [], 0.0)


def test_other_words_are_what_the_shown_pairs_leave_of_the_meaning():
    words = HitWords((("a", "b", 0.5), ("a", "c", 0.25)), None, lambda: pytest.fail("compared"))
    hit = Hit(0.4, "x", "t", 0, 1, 7, {"n": 1}, words, cosine=0.8, meaning_weight=0.5, key=3)
    assert hit.to_dict(pairs=1) == {
        "score": 0.4, "text": "x", "source": "t", "row": 1, "start": 7, "columns": {"n": 1}, "key": 3,
        "meaning": 0.4, "matches": [], "words": [("a", "b", 0.25)], "other_words": 0.4 - 0.25,
    }  # fmt: skip


def test_a_hit_of_a_database_has_no_parts():
    hit = Hit(0.5, "x", "t", 0, 1, None, {})
    assert (hit.meaning_weight, hit.cosine, hit.matches, hit.key, hit.words) == (1.0, 0.0, (), None, None)


# ---------------------------------------------------------------- files


def test_a_new_index_is_of_whole_texts_without_words_keys_or_rows():
    config = IndexConfig("reader", "", 3, False, "int8")
    assert (config.unit, config.words, config.key, config.numbered, config.rows) == ("texts", 0, None, 0, 0)
    assert (config.sources, config.shards, config.deleted, config.language) == ([], [], None, "english")
    source = config.new_source("a", "b", "text")
    assert (source.finished, source.rows, source.before) == (False, 0, 0)
    assert replace(config, passages=True).unit == "passages"
    assert replace(config, sentences=True).unit == "sentences"


def test_the_header_of_a_shard_has_65536_bytes_at_most(tmp_path: Path):
    make(tmp_path, [2])
    for size, what in ((2**16, "its header is wrong"), (2**16 + 1, "not a safetensors file")):
        write_header(tmp_path, b"{}".ljust(size), b"\0" * 99)
        with refuses("file-damaged") as found:
            open_shards(tmp_path)
        assert what in str(found.value)


def test_a_description_has_64_mb_at_most(tmp_path: Path):
    assert MAX_CONFIG == 64 * 2**20
    make(tmp_path, [1])
    with (tmp_path / "index.json").open("r+b") as file:
        file.truncate(MAX_CONFIG + 1)
    with refuses("too-large"):
        read_config(tmp_path)


def test_an_index_says_by_which_rules_its_words_were_found():
    """Those of test_words.py: who changes the rules changes the number, and indexes are built again."""
    assert RULES == 3


class Long(str):
    """A text that says it has so many characters."""

    def __len__(self) -> int:
        return 2**27


def test_a_shard_has_texts_of_268_million_characters():
    found = cut_shards(({"text": Long(k)} for k in "abc"), 9)
    assert [[each["text"] for each in some] for some in found] == [["a", "b"], ["c"]]


def make(folder: Path, sizes: list[int], dead: tuple[int, ...] = (), key: str | None = None) -> None:
    """An index of shards of so many texts each, some of them deleted; no model has read them."""
    config = IndexConfig("reader", "0" * 64, 3, False, "int8", words=RULES, key=key, numbered=sum(sizes))
    rows = iter(range(1, sum(sizes) + 1))
    for number, size in enumerate(sizes):
        entries = [entry(f"text {row}", row) for row in islice(rows, size)]
        content = pack_shard(*quantise(np.tile(np.eye(3), (size, 1))[:size]), entries, WordRules(), key)
        config.shards.append(write_shard(folder, number, content, size))
    config.sources.append(Source("list", "rows:1", None, True, sum(sizes)))
    if dead:
        config.deleted = write_deleted(folder, np.isin(np.arange(sum(sizes)), dead))
    write_config(folder, config)


def texts(folder: Path) -> list[list[int]]:
    """The rows of each shard, without those that are deleted."""
    found = open_shards(folder)[1]
    return [
        [each.entry(at)["row"] for at in range(len(each)) if each.alive is None or each.alive[at]]
        for each in found
    ]


@pytest.mark.parametrize(("full", "sizes", "after"), [
    (128, [1] * 7, [1] * 7), (128, [1] * 8, [8]), (128, [1] * 4 + [64] + [1] * 4, [1] * 4 + [64] + [1] * 4),
    (128, [7] * 8, [56]), (128, [8] * 8, [64]), (127, [8] * 8, [8] * 8), (127, [7] * 9, [63]),
    (128, [64] + [1] * 8 + [64], [64, 8, 64]),
])  # fmt: skip
def test_eight_small_neighbours_of_a_size_are_joined(tmp_path, monkeypatch, full, sizes, after):
    monkeypatch.setattr(index_folder, "SHARD_TEXTS", full)
    make(tmp_path, sizes)
    tidy(tmp_path, WordRules())
    assert [len(each) for each in texts(tmp_path)] == after
    assert [*chain(*texts(tmp_path))] == [*range(1, sum(sizes) + 1)]
    assert len([*tmp_path.glob("shard-*")]) == len(after)


@pytest.mark.parametrize(("dead", "left"), [((1, 2), 8), ((1, 2, 5), 5)])
def test_deleted_texts_are_dropped_where_they_are_more_than_a_quarter(tmp_path, dead, left):
    make(tmp_path, [8], dead, "id")
    tidy(tmp_path, WordRules())
    config, (shard,) = open_shards(tmp_path)
    assert (config.rows, len(shard), shard.living) == (left, left, 8 - len(dead))
    assert (config.deleted is None) == (left < 8)
    assert texts(tmp_path) == [[row for row in range(1, 9) if row - 1 not in dead]]


@pytest.mark.parametrize(("key", "sha256"), [(None, "rows:1"), ("id", "")])
def test_a_table_of_which_rows_were_dropped_can_be_added_again_where_keys_tell_what_is_left(
    tmp_path, key, sha256
):
    make(tmp_path, [3, 2], (1,), key)
    compact(tmp_path, WordRules())
    config, _ = open_shards(tmp_path)
    assert (config.sources[0].sha256, config.sources[0].rows, config.sources[0].before) == (sha256, 4, 0)
    assert texts(tmp_path) == [[1, 3, 4, 5]]


def test_a_shard_that_is_more_than_half_full_stays_as_it_is(tmp_path, monkeypatch):
    monkeypatch.setattr(index_folder, "SHARD_TEXTS", 4)
    make(tmp_path, [2, 2, 1, 1, 3])
    compact(tmp_path, WordRules())
    assert texts(tmp_path) == [[1, 2], [3, 4], [5, 6], [7, 8, 9]]
    assert shards.SHARD_CHARACTERS == 2**28
