"""Words as numbers: the compiled part gives what Python gives, and survives whatever it is told."""

from __future__ import annotations

import pickle
from array import array
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from limelight.text import numbering
from limelight.text.numbering import Numbering, number_words
from limelight.text.tokenizer import UNKNOWN, Tokenizer
from reviews import words_of

needs_compiled = pytest.mark.skipif(numbering.compiled is None, reason="installed without a C compiler")

KNOWN = {
    word: k
    for k, word in enumerate(("<pad>", "<unk>", "the", "i", "I", "i.", "no.", "st", "", "n't", "2 1/2"))
}
FORBIDDEN = frozenset({"hilton", "the", "word"})
NUMBERINGS = [
    Numbering(lowercase, True, *options)
    for lowercase in (True, False)
    for options in ((), (frozenset(), KNOWN, 1), (FORBIDDEN, KNOWN, 1))
]
PIECES = r"""
I I. The the you no. No. nO. fig. 5 12 555 1234 (555) 1/2 12) 415-555-1234 st. St. st Mr. etc etc...
cannot Cannot cannot. gonna, wanna! gimme: lemme's can't DON'T it's Keith's boys' 'em 'tis '90s '90
o'clock O'Neil y'all c'mon s'more ol' 'n' n't <b> </b> <br /> <unk> <a href=x> <3 < > >_< :) :-( ;) =P :'(
-_- ^_^ http://a.b/c?d=e. example.com/menu joe@x.co.uk mailto:joe@x.y <joe@x.y> @name #tag AT&T AT&amp;T
C++ c# US$ $5.50 1,000.50 .5 ,5 -.5 10:30am 50% 5.5-star U.S. u.s. i.e. Ph.D. J. p.m.. good.The good!The
well.. ..... -- ** __ @@ '' `` << &quot; &#39; a/b/c/d snake_case -a five-star- ( ) [ { " ' ` , ; : . ! ?
?! % & * + = \ | ~ # end. end?! end: end; end) end" end.) (word (5 (word) "word" 'word' word's. word.'
miss Miss. Ill. ill. la. co. Inc.: fig.5 1st HILTON/x
"""
AWKWARD = st.one_of(
    st.sampled_from(PIECES.split()),
    st.text(st.sampled_from("aInoST.,;:!?'\"()<>-_/ 019@#&$*+=^`\x00\x1f\x7f\n\t"), max_size=7),
    st.builds(str.__mul__, st.sampled_from("aZ1-.'"), st.integers(20, 90)),
    st.text(st.sampled_from("aéÉ’İΣσ日カ\u0301\u00ad\u200d\u00a0٣½👍🏽\ud800.)1"), max_size=5),
    st.text(max_size=3),
)
SPACES = st.sampled_from(
    ("", " ", " ", " ", "  ", "\n", "\t", "\r\n", "\x0b", "\x0c", "\x1c", "\u00a0", "\u3000", "\x85")
)
TEXTS = st.lists(st.lists(st.tuples(AWKWARD, SPACES).map("".join), max_size=8).map("".join), max_size=3)


def in_python(numbering_: Numbering, texts: list[str]) -> numbering.NumberedWords:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numbering, "compiled", None)
        return numbering_.number(texts)


@needs_compiled
@examples(100)
@given(TEXTS)
def test_the_compiled_part_gives_what_python_gives(texts: list[str]) -> None:
    for each in NUMBERINGS:
        assert each.number(texts) == in_python(each, texts)


@pytest.mark.parametrize("compiled", [numbering.compiled, None])
def test_words_are_numbered_as_they_come(compiled: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numbering, "compiled", compiled)
    for _ in range(2):  # new, and remembered
        found = number_words(["No. 5 is good.", "", "É good", "The no."], True, True, ["the"])
        assert found.words == ["no.", "5", "is", "good", ".", "", "é", "no"]
        assert array("i", found.numbers).tolist() == [0, 1, 2, 3, 4, 5, 6, 3, 7, 4]
        assert array("i", found.lengths).tolist() == [5, 1, 2, 2]
    tokenizer = Tokenizer.from_words(["good", "日"])
    ids, lengths, others = tokenizer.encode_open(["Good soup", "日本語の" * 5, "très good", ""])
    assert (others, lengths.tolist()) == (["soup", "très"], [2, 20, 2, 1])
    assert ids.tolist() == [2, 4, *[3, UNKNOWN, UNKNOWN, UNKNOWN] * 5, 5, 2, UNKNOWN]
    assert tokenizer.encode(["Good soup"])[0].tolist() == [2, UNKNOWN]


def test_a_tokenizer_is_copied_without_what_it_remembers() -> None:
    tokenizer = Tokenizer.from_words(["good", "soup"])
    expected = tokenizer.encode(["Good cold soup"])[0].tolist()
    assert pickle.loads(pickle.dumps(tokenizer)).encode(["Good cold soup"])[0].tolist() == expected
    assert tokenizer.forbid(["cold"]).encode(["Good cold soup"])[0].tolist() == [2, 3]
    assert tokenizer.encode(["Good cold soup"])[0].tolist() == expected


def test_threads_share_a_tokenizer() -> None:
    texts = [f"Room {k} has {k % 7} beds, no. {k}: it's fine!" for k in range(500)]
    tokenizer = words_of(texts, max_words=500)
    expected = tokenizer.encode(texts)[0].tolist()
    with ThreadPoolExecutor(4) as threads:
        for ids, _ in threads.map(tokenizer.encode, [texts] * 8):
            assert ids.tolist() == expected


def told(*numbers: int) -> Callable[[str], bytes]:
    return lambda text: array("i", numbers).tobytes()


@needs_compiled
@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((("a",), b"\1", told(), told(0)), ValueError),  # no flags
        ((("a",), b"\1", told(0, -1), told(0)), ValueError),
        ((("a",), b"\1", told(0, 2**30), told(0)), ValueError),
        ((("a",), b"\1", lambda text: None, told(0)), TypeError),
        ((("a",), b"\1", lambda text: b"abc", told(0)), ValueError),
        ((("a",), b"\0", told(0), told()), ValueError),  # a text without a number
        ((("a",), b"", told(0), told(0)), ValueError),
        (((b"a",), b"\1", told(0), told(0)), TypeError),
        ((["a"], b"\1", told(0), told(0)), TypeError),
    ],
)
def test_wrong_answers_are_refused(arguments: tuple[Any, ...], error: type[Exception]) -> None:
    splitter = numbering.compiled.Splitter(bytes(16), True, 0, 0)
    with pytest.raises(error):
        splitter.number(*arguments)
    found = splitter.number(("b",), b"\1", told(0, 7), told(0))  # and it goes on
    assert found == (array("i", [0]).tobytes(), array("i", [1]).tobytes(), array("i", [7]).tobytes())


@needs_compiled
def test_more_pieces_than_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the room of the compiled part texts are split as a whole; beyond the bound it starts afresh."""
    splitter = numbering.compiled.Splitter(bytes(16), True, 9, 0)
    texts = tuple(f"{k}a {k}b {k}c {k}d" for k in range(40_000))
    numbers, lengths, _ = splitter.number(texts, bytes([1]) * len(texts), told(0, 3), told(5))
    whole = array("i", lengths).count(1)
    assert (len(splitter), whole) == (131_072, len(texts) - 131_072 // 4)
    assert array("i", numbers).tolist() == [3] * 131_072 + [5] * whole
    monkeypatch.setattr(numbering, "MAX_REMEMBERED", 3)
    small = Numbering(True, True)
    for text in ("a b c d e", "f g", "a g"):
        assert small.number([text]) == in_python(small, [text])


@needs_compiled
def test_odd_answers_do_no_harm() -> None:
    splitter = numbering.compiled.Splitter(bytes(16), False, 0, 0)
    with pytest.raises(RuntimeError, match="one call at a time"):
        splitter.number(("a",), b"\1", lambda text: splitter.number((), b"", told(), told())[0], told(0))
    many = told(*range(100))  # more words than letters: the text is split as a whole
    assert splitter.number(("abc",), b"\1", many, told(5))[2] == array("i", [5]).tobytes()
    for way in (b"\1", b"\2", b"\3"):
        assert splitter.number(("né",), way, told(0, 3), told(5))[2] == array("i", [3]).tobytes()
        assert splitter.number(("\ud800",), way, told(0, 3), told(5))[2] == array("i", [5]).tobytes()
    for wrong in ((bytes(15), True, 0, 0), (bytes(16), True, -1, 0), (bytes(16), True, 0, -1)):
        with pytest.raises(ValueError, match="key"):
            numbering.compiled.Splitter(*wrong)
