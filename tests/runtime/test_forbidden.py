"""Words that a model must not read: every answer is as if they were not in the text."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import limelight
from drawing import examples
from limelight import Model
from limelight.runtime.edits import read_forbidden, write_forbidden
from limelight.runtime.folder import MAX_FORBIDDEN, forbidden_words
from limelight.serve.explorer.one_file import pack_model
from limelight.text.tokenizer import Tokenizer
from refusing import refuses
from trained import ARCHITECTURES, WORDS, network_of, recipe_of, save, tokenizer, weights_of

FORBIDDEN = ("w3", "hilton", "größe", "coca-cola")  # one that the model knows, and some that it does not
JOINED = ["hilton.The", "HILTON!good", "w1/w3", "w3-style", "O’Hilton", "@hilton", "größe-w1", "Coca-Cola/w1"]
SPELLINGS = [*FORBIDDEN, "W3", "Hilton", "GRÖSSE", *JOINED]
SENTENCES = st.lists(st.sampled_from([*WORDS[:3], *WORDS[4:8], ",", "but", "😀", "unheard"]), max_size=9)
INSERTED = st.lists(st.tuples(st.integers(0, 9), st.sampled_from(SPELLINGS)), max_size=4)


def model_of(name: str, pair: str | None = None) -> Model:
    recipe = recipe_of(ARCHITECTURES[name], pair)
    weights = weights_of(network_of(recipe, bool(pair)))
    facts = {"forbidden": {"words": sorted(word.casefold() for word in FORBIDDEN), "history": []}}
    return Model.from_parts(
        weights=weights, recipe=recipe, tokenizer=tokenizer(), labels=("a", "b", "c"), pair=bool(pair),
        facts=facts, threads=1,
    )  # fmt: skip


MODELS = {name: model_of(name) for name in ("self-attention", "max row", "max", "cnn", "pruned")}


def with_words(sentence: list[str], inserted: list[tuple[int, str]]) -> str:
    words = list(sentence)
    for place, word in inserted:
        words.insert(place, word)
    return " ".join(words)


@given(st.sampled_from(sorted(MODELS)), SENTENCES, INSERTED)
@examples(60)
def test_answers_embeddings_and_readings_are_the_same_without_them(name, sentence, inserted):
    model, plain, changed = MODELS[name], " ".join(sentence), with_words(sentence, inserted)
    assert np.array_equal(model.predict_proba([plain]), model.predict_proba([changed]))
    assert np.array_equal(model.embed([plain]), model.embed([changed]))
    first, second = model.read(plain), model.read(changed)
    assert np.array_equal(first.scores.logits, second.scores.logits)
    assert np.array_equal(first.decided, second.decided)
    assert first.words == second.words
    assert all(word.casefold() not in model.tokenizer.forbidden for word in second.words)


# A soft hyphen, joiners, variation selectors, a filler, marks above and below.
HIDDEN = "\u00ad\u034f\u200c\u200d\ufe00\ufe0f\U000e0100\u3164\u0301\u0308\u0323\u0336\u20dd"


@pytest.mark.parametrize("word", ["hilton", "café", "Marriott"])
@pytest.mark.parametrize("hidden", HIDDEN, ids=lambda c: f"{ord(c):04x}")
def test_a_word_with_characters_that_hardly_show_goes_too(word, hidden):
    split = Tokenizer.from_words([]).forbid([word.casefold()]).split
    for place in range(1, len(word) + 1):
        assert split(f"the {word[:place]}{hidden}{word[place:]} was") == ["the", "was"]
        twice = f"{word[:place]}{hidden}\u00ad{word[place:].upper()}"
        assert split(f"the {twice} was") == ["the", "was"]


def test_vowels_of_a_script_still_tell_words_apart():
    tokenizer = Tokenizer.from_words([]).forbid(["की", "hilton"])
    assert tokenizer.split("का की कु Hílton Hiltons") == ["का", "कु", "Hiltons"]


@pytest.mark.parametrize("word", SPELLINGS)
def test_a_word_that_has_one_between_marks_goes_too(word):
    assert MODELS["cnn"].tokenizer.split(f"w1 {word} w2") == ["w1", "w2"]


def test_pictures_show_them_without_a_weight():
    reading = MODELS["self-attention"].read("w1 Hilton w2")
    assert [tuple(place) for place in reading.offsets.tolist()] == [(0, 2), (10, 12)]
    assert "Hilton" in limelight.reading.to_terminal(reading)


def test_a_text_of_nothing_else_is_one_without_words():
    model = MODELS["self-attention"]
    assert np.array_equal(model.predict_proba(["Hilton w3"]), model.predict_proba([""]))


def test_pairs():
    model = model_of("self-attention", "gated")
    plain, changed = model.predict_proba(["w1"], ["w2 w4"]), model.predict_proba(["w1 hilton"], ["w2 w3 w4"])
    assert np.array_equal(plain, changed)


def test_aspects_do_not_end_at_them():
    model = MODELS["self-attention"].with_aspects({"room": ["w1"]})
    assert model.read("w1 Hilton w2, w5").aspects[0].clause == "w1 Hilton w2"


def test_they_are_kept_in_the_folder_and_allowed_again(tmp_path):
    folder = save(tmp_path / "model")
    before = limelight.load(folder).predict_proba(["w1 w3"])
    assert write_forbidden(folder, ["W3", " hilton"]) == ["hilton", "w3"]
    assert read_forbidden(folder) == ["hilton", "w3"]
    model = limelight.load(folder)
    assert np.array_equal(model.predict_proba(["w1 w3"]), model.predict_proba(["w1"]))
    model.save(tmp_path / "again")
    assert read_forbidden(tmp_path / "again") == ["hilton", "w3"]
    assert write_forbidden(folder, allow=["w3"]) == ["hilton"]
    assert np.array_equal(limelight.load(folder).predict_proba(["w1 w3"]), before)
    history = [each["edit"] for each in limelight.load(folder).facts["forbidden"]["history"]]
    assert history == ["forbid w3, hilton", "allow w3"]


@pytest.mark.parametrize("word", ["", "two words", "don't", "a,b", "x" * 101])
def test_words_that_are_refused(tmp_path, word):
    folder = save(tmp_path / "model")
    with refuses("word-form"):
        write_forbidden(folder, [word])
    with refuses("word-unknown"):
        write_forbidden(folder, allow=["never"])


@pytest.mark.parametrize(
    "fact", [[], {"words": ["a"]}, {"words": "a", "history": []}, {"words": ["A"], "history": []},
             {"words": [1], "history": []}, {"words": ["a"] * (MAX_FORBIDDEN + 1), "history": []}],
)  # fmt: skip
def test_damaged_facts_are_refused(fact):
    with refuses("file-damaged"):
        forbidden_words(fact)


def test_a_page_that_runs_alone_is_refused():
    with refuses("forbidden-words"):
        pack_model(MODELS["self-attention"], words=None, most=10**6)
