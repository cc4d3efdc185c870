"""Sentences: where they end, and that nothing but what is between them is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from limelight.text.splitting import PASSAGE_WORDS, passage_spans, sentence_spans


def split(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Good soup. Cold tea!", ["Good soup.", "Cold tea!"]),
        ("We lay in the sun. The pool was cold.", ["We lay in the sun.", "The pool was cold."]),
        ("I said no. Then we sat. Nobody came.", ["I said no.", "Then we sat.", "Nobody came."]),
        ("Room No. 5 has max. 20 guests.", ["Room No. 5 has max. 20 guests."]),
        ("A 10 min. walk. Nice.", ["A 10 min. walk.", "Nice."]),
        ("Open on Sat. and Sun. until noon.", ["Open on Sat. and Sun. until noon."]),
        ("Closed on Sat. 5 May. Sad.", ["Closed on Sat. 5 May.", "Sad."]),
        ("They wed. It rained in mar. Then not.", ["They wed.", "It rained in mar.", "Then not."]),
        ("Dr. No met Mr. Bond at 5 p.m. in Rome.", ["Dr. No met Mr. Bond at 5 p.m. in Rome."]),
        ("We left at 5 p.m. The bar was open.", ["We left at 5 p.m.", "The bar was open."]),
        ("It cost 3.50 each. 4 of us paid.", ["It cost 3.50 each.", "4 of us paid."]),
        ("J. R. Smith wrote it.", ["J. R. Smith wrote it."]),
        ("So do I. You too?", ["So do I.", "You too?"]),
        ("the room was nice. it had a view.", ["the room was nice.", "it had a view."]),
        ('"Too much!" she said. He left.', ['"Too much!" she said.', "He left."]),
        ("Well... we left. (It rained.) Then sun.", ["Well... we left.", "(It rained.)", "Then sun."]),
        ("It was nice.The pool too!Really.", ["It was nice.", "The pool too!", "Really."]),
        ("1. Good soup. 2. Cold tea.", ["1. Good soup.", "2. Cold tea."]),
        ("First line\n\nSecond line\nstill second", ["First line", "Second line\nstill second"]),
        ("汤很冷。我们走了！", ["汤很冷。", "我们走了！"]),
        ("Great!!! :) Loved it", ["Great!!!", ":) Loved it"]),
        ("booking.com is fine", ["booking.com is fine"]),
        ("...", []),
        ("", []),
    ],
)
def test_sentences(text, expected):
    assert split(text) == expected


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("Room No. 5 was cold.", "They said no. We left."),
        ("See nos. 3 and 4.", "We counted the nos. They were few."),
        ("Fig. 3 shows the pool.", "I ate a fig. The pool was cold."),
        ("As in figs. 2 and 3.", "We ate figs. The bread was old."),
        ("See sec. 5 of the rules.", "Wait a sec. The bus is here."),
        ("We had apt. 12 on the top floor.", "The name is apt. The view is not."),
        ("A max. 20 guests fit in.", "We enjoyed it to the max. The pool was cold."),
        ("The max. capacity is 20.", "My dog is called Max. He loved it."),
        ("A 5 min. walk to the sea.", "It took 5 min. The sea was warm."),
        ("Towels, soap etc. cost more.", "Towels, soap etc. The pool was cold."),
        ("Open Sat. 5 May.", "We sat. 5 minutes later they came."),
        ("On Sat. May 5 we left.", "The cat sat. The dog ran."),
        ("Closed on Sun. morning.", "We lay in the sun. The pool was cold."),
        ("On Sun. 6 June it rained.", "We lay in the sun. the pool was cold."),
        ("SAT. 5 MAY is full.", "We like the Sun. Maybe the Moon."),
        ("Sun. Dec. 24 is full.", "We like the Sun. The Moon too."),
        ("From Wed. 3 to Fri. 5 May.", "They were wed. The party was loud."),
        ("On Mar. 3 we came.", "Nothing could mar. The day was ours."),
        ("In Jan. it snows.", "We met Jan. She was kind."),
        ("We saw Rep. Jones there.", "We met our rep. She was kind."),
        ("The Hon. Jane Roe spoke.", "Thanks, hon. The soup was good."),
        ("The 2nd ed. by Smith is out.", "We met Ed. He was kind."),
        ("Lin et al. Show it in 2017.", "We met Al. He was kind."),
    ],
)
def test_an_abbreviation_that_is_a_word_too_goes_by_what_follows(one, two):
    assert (split(one), len(split(two))) == ([one], 2)


@examples(60)
@given(st.text(alphabet="aB1 .!?\n\"'()…。", max_size=60))
def test_only_what_has_no_word_is_left_out(text):
    spans = list(sentence_spans(text))
    edges = [0, *(edge for span in spans for edge in span), len(text)]
    assert edges == sorted(edges)
    between = "".join(text[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True))
    assert not any(each.isalnum() for each in between)
    assert all(text[a:b] == text[a:b].strip() and any(c.isalnum() for c in text[a:b]) for a, b in spans)


@examples(100)
@given(
    st.lists(st.tuples(st.sampled_from(["word", "a", "日本。", "e.g."]), st.integers(1, 260)), max_size=12)
)
def test_passages_cover_every_sentence_in_order(parts):
    text = " ".join(f"{'The ' + (word + ' ') * count}end." for word, count in parts)
    spans = list(passage_spans(text))
    starts, ends = [start for start, _ in spans], [end for _, end in spans]
    assert starts == sorted(set(starts))
    assert ends == sorted(set(ends))
    for start, end in sentence_spans(text):
        assert any(first < end and start < last for first, last in spans)
    covered = set().union(*(range(*span) for span in spans))
    assert all(text[at].isspace() for at in set(range(len(text))) - covered)
    assert all(len(text[start:end].split()) < 3 * PASSAGE_WORDS for start, end in spans)


def test_a_text_that_is_not_long_is_one_passage():
    text = "One two three. " * 50
    assert list(passage_spans(text)) == [(0, len(text) - 1)]
    assert list(passage_spans("...")) == []
