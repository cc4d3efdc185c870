"""Encoding: the words and ids of plain `tokenizers`, and nothing left behind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import trainers

from drawing import examples
from limelight.config.recipe import TextRecipe
from limelight.text.arrays import WordStore
from limelight.text.encode import Texts, encode_tables, encode_texts
from limelight.text.encode_steps import choose_held_out
from limelight.text.learnt_rows import row_hash
from limelight.text.numbering import number_words
from limelight.text.tokenizer import LONGEST, UNKNOWN, Tokenizer, choose_words

ODD = [
    "Good soup, don't you think?", "BAD soup!!! 2 1/2 stars", "I cannot. The soup; the Soup",
    "<pad> <unk> <b x>", "Crème brûlée... très bon", "İstanbul ΣΑΣ ΟΔΟΣ", "我的iPhone很好 スープ", "\u200b",
    "so \ud800 odd \udfff", "👍🏽 ok", "x" * (LONGEST + 1) + " soup", "soup " * 9 + "é",
    "mail me@home.org, http://soup.com/a?b", "a\tb\nc\rd\x1fe",
]  # fmt: skip
TEXTS = [f"{text} {'soup ' * (k % 3)}w{k % 7}" for k, text in enumerate(ODD * 3)] + ODD
PLAIN = TextRecipe()
STRICT = TextRecipe(max_length=4, min_count=2, max_words=20, lowercase=False, split_characters=False)
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*skipped"),
    pytest.mark.filterwarnings("ignore:.*occurs? only once"),
]


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("limelight.text.encode_steps.CHUNK_ROWS", 5)


def clean(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def plain_vocabulary(texts: list[str], recipe: TextRecipe) -> Tokenizer:
    """The words that `tokenizers` itself counts and chooses."""
    rules = {"lowercase": recipe.lowercase, "split_characters": recipe.split_characters}
    counter = tokenizers.Tokenizer.from_str(Tokenizer.from_words([], **rules).to_json())
    trainer = trainers.WordLevelTrainer(
        vocab_size=recipe.max_words, min_frequency=recipe.min_count, special_tokens=[], show_progress=False
    )
    counter.train_from_iterator(map(clean, texts), trainer)
    words = counter.get_vocab()
    return Tokenizer.from_words([w for w in sorted(words, key=words.get) if len(w) <= LONGEST], **rules)


def plain_ids(tokenizer: Tokenizer, texts: list[str], recipe: TextRecipe) -> tuple[list[int], list[int]]:
    plain = tokenizers.Tokenizer.from_str(tokenizer.to_json())
    found = [(plain.encode(clean(text)).ids or [UNKNOWN])[: recipe.max_length or None] for text in texts]
    return [each for ids in found for each in ids], [len(ids) for ids in found]


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("recipe", [PLAIN, STRICT])
def test_held_out_rows_of_pairs_and_skipped_rows(tmp_path: Path, recipe: TextRecipe) -> None:
    """The words are those of both texts of the rows that stay, before they are truncated."""
    rows = [{"text": text, "text2": text[::-1], "label": k % 2} for k, text in enumerate(TEXTS)]
    rows.insert(7, {"text": "", "text2": "nothing", "label": 1})
    train = write(tmp_path / "train.jsonl", rows)
    test = write(tmp_path / "test.jsonl", [{"text": "New soup", "text2": "soup", "label": 0}] * 6)
    dataset = encode_tables(
        tmp_path / "set", train, test=test, text="text", text2="text2", label="label", on_bad="skip",
        recipe=recipe, holdout=0.3, progress=False,
    )  # fmt: skip
    held = choose_held_out(np.arange(len(TEXTS)) % 2, 0.3, 0)
    split = {
        "train": [text for text, out in zip(TEXTS, held, strict=True) if not out],
        "dev": [text for text, out in zip(TEXTS, held, strict=True) if out],
        "test": ["New soup"] * 6,
    }
    expected = plain_vocabulary([part for text in split["train"] for part in (text, text[::-1])], recipe)
    assert dataset.tokenizer.to_json() == expected.to_json()
    for name, texts in split.items():
        second = ["soup"] * 6 if name == "test" else [text[::-1] for text in texts]
        ids, lengths = plain_ids(expected, texts, recipe)
        ids2, lengths2 = plain_ids(expected, second, recipe)
        found = {array: values.tolist() for array, values in dataset.splits[name].arrays().items()}
        own = np.flatnonzero(held == (name == "dev")) % 2 if name != "test" else np.zeros(6)
        assert found.pop("labels") == own.tolist()
        hashes = [row_hash(*both) for both in zip(texts, second, strict=True)]
        assert found.pop("hashes", None) == (None if name == "test" else hashes)
        assert found == {"ids": ids, "lengths": lengths, "ids2": ids2, "lengths2": lengths2}
    assert dataset.facts["skipped"] == {"train": 1, "test": 0}


@pytest.mark.usefixtures("small_chunks")
def test_texts_in_memory() -> None:
    weights = [0.5 + k % 3 for k in range(len(TEXTS))]
    numbers = [k % 2 for k in range(len(TEXTS))]
    dev = Texts(ODD, numbers[: len(ODD)], weights=weights[: len(ODD)])
    dataset = encode_texts(TEXTS, numbers, weights=weights, recipe=PLAIN, dev=dev)
    expected = plain_vocabulary(TEXTS, PLAIN)
    assert dataset.tokenizer.hash == expected.hash
    for name, texts in (("train", TEXTS), ("dev", ODD)):
        split = dataset.splits[name]
        assert (split.ids.tolist(), split.lengths.tolist()) == plain_ids(expected, texts, PLAIN)
        assert split.ids.dtype == split.lengths.dtype == np.int32
        assert split.weights.tolist() == weights[: len(texts)]


WORDS = tokenizers.Tokenizer.from_str(Tokenizer.from_words([]).to_json())


CHARACTERS = st.one_of(st.characters(exclude_characters="\0"), st.sampled_from("aB <>1.'\n\udc80"))


@examples(100)
@given(st.lists(st.text(CHARACTERS, max_size=20), min_size=1, max_size=4))
def test_whatever_the_texts(texts: list[str]) -> None:
    expected = []
    for text in texts:
        normal = WORDS.normalizer.normalize_str(clean(text))
        expected.append([word for word, _ in WORDS.pre_tokenizer.pre_tokenize_str(normal)] or [""])
    found = number_words(texts, True, True)
    words = iter([found.words[k] for k in np.frombuffer(found.numbers, np.int32)])
    lengths = np.frombuffer(found.lengths, np.int32).tolist()
    assert [[next(words) for _ in range(length)] for length in lengths] == expected
    assert next(words, None) is None
    assert len(found.words) == len(set(found.words))


def test_ties_at_the_end_of_the_vocabulary() -> None:
    counts = {"z": 2, "b": 2, "a": 2, "soup": 3, "x" * (LONGEST + 1): 9, "dev": 0}
    assert choose_words(counts, 1, 4) == ["soup", "a", "b"]  # what is too long takes up its place
    assert choose_words(counts, 3, 9) == ["soup"]
    assert choose_words(counts, 1, 99) == ["soup", "a", "b", "z"]


@pytest.mark.parametrize("fault", [KeyboardInterrupt, MemoryError])
def test_an_interrupted_run_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: type[BaseException]
) -> None:
    table = write(tmp_path / "train.jsonl", [{"text": t, "label": k % 2} for k, t in enumerate(TEXTS)])

    def interrupt(*arguments: Any) -> None:
        raise fault

    monkeypatch.setattr(WordStore, "append", interrupt)
    with pytest.raises(fault):
        encode_tables(tmp_path / "set", table, recipe=PLAIN, progress=False)
    assert list(tmp_path.iterdir()) == [table]
