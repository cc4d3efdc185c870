"""The words and phrases that decided for a class: which are listed, in what order, with what figures."""

from __future__ import annotations

import numpy as np

from limelight.explain.model_report import AROUND_CHARACTERS, DecidedText, Snippet, telling_terms
from limelight.reading.reading import Reading

WEIGHTS = {"awful": 2.0, "bad": 1.0, "the": 3.0, "not": 0.5, "worth": 0.5, "soup": -1.0, "😡": 1.5, "!": 9.0}


def text(words: str, right: bool = True, **weights: float) -> DecidedText:
    """A text whose words count as in WEIGHTS, or as given."""
    offsets, at = [], 0
    for word in words.split():
        at = words.index(word, at)
        offsets.append((at, at := at + len(word)))
    n = len(offsets)
    reading = Reading(
        words, np.array(offsets).reshape(n, 2), np.ones(n, bool), np.full((1, n), 1 / max(n, 1)),
        np.zeros((1, 2)), ("no", "yes"), np.array([0.1, 0.9]),
    )  # fmt: skip
    found = {**WEIGHTS, **weights}
    return DecidedText([(reading, np.array([found.get(word.lower(), 0.0) for word in words.split()]))], right)


def terms(texts: list[DecidedText], most: int = 9) -> list[str]:
    return [each.term for each in telling_terms(texts, most)]


def test_a_term_has_its_texts_the_right_ones_and_its_mean_weight():
    texts = [text("Bad soup , bad"), text("bad", right=False), text("so BAD", bad=4.0), text("soup")]
    [found] = telling_terms(texts, 9)
    assert found[:4] == ("bad", 3, 2, (2.0 + 1.0 + 4.0) / 3)  # in the first text twice
    assert found.examples == (Snippet("so ", "BAD", ""), Snippet("", "Bad", " soup , bad"))


def test_the_weight_counts_and_how_many_texts_have_it_and_grammar_does_not():
    texts = [text("the awful the !"), text("the bad soup !"), text("bad the"), text("the soup , bad")]
    assert terms([*texts, text("the 😡")]) == ["bad"]  # in more than one text, as there are five
    assert terms(texts) == ["awful", "bad"]
    assert terms([text("bad")] * 9 + [text("awful")] * 2) == ["bad", "awful"]
    assert terms([text("bad , 😡")] * 9 + [text("😡")] * 9) == ["😡", "bad"]
    assert terms([text("the !")] * 9 + [text("")]) == []
    assert terms([]) == []


def test_a_phrase_is_listed_if_it_says_more_than_its_words():
    together = [text("it is not worth it")] * 6
    assert terms(together) == ["not worth"]  # and neither word again
    apart = [text("not a w"), text("b worth")] * 9
    assert terms(apart) == ["not", "worth"]
    assert "not worth" in terms(together + apart)
    assert terms([text("awful soup")] * 6) == ["awful"]  # soup speaks against it
    assert terms([text("bad thing", thing=0.04)] * 6) == ["bad"]  # which adds next to nothing
    assert terms([text("not , worth")] * 6) == ["not", "worth"]  # no neighbours
    assert terms([text("not worth")] * 1) == ["not", "worth"]  # a phrase of one text is chance


def test_phrases_do_not_run_from_one_text_of_a_pair_into_the_other():
    both = [DecidedText([*text("so not").sides, *text("worth it").sides], True)] * 6
    assert terms(both) == ["not", "worth"]


def test_snippets_are_short_and_right_ones_come_first():
    long = " ".join(f"w{k}" for k in range(50))
    texts = [
        text("bad " + long, right=False, bad=9.0),
        text(f"{long} bad {long}"),
        text(f"{long} bad {long}"),
    ]
    [found] = telling_terms(texts, 1)
    assert found.examples[0] == Snippet("…w44 w45 w46 w47 w48 w49 ", "bad", " w0 w1 w2 w3 w4 w5…")
    assert found.examples[1] == Snippet("", "bad", " w0 w1 w2 w3 w4 w5…")
    [found] = telling_terms([text(f"{'x' * 500} bad")] * 3, 1)
    assert len(found.examples[0].before) == AROUND_CHARACTERS + 1
