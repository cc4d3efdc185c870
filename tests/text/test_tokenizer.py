"""Words by the Penn Treebank's conventions, exact offsets, ids that plain `tokenizers` reproduces."""

from __future__ import annotations

import hashlib
import json
import random
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from limelight.errors import LimelightError
from limelight.text.numbering import number_words
from limelight.text.rules import ascii_rules
from limelight.text.splitting import split_words
from limelight.text.tokenizer import LONGEST, PAD, UNKNOWN, Tokenizer, has_joined_characters
from refusing import refuses
from reviews import words_of

CASED = Tokenizer.from_words([], lowercase=False)
WORDS = [
    "i",
    "do",
    "n't",
    "like",
    "it",
    "the",
    "a",
    ".",
    ",",
    "!",
    "good",
    "i̇",
    "stanbul",
    "i̇stanbul",
    "👍🏽",
    "<",
    ">",
]
TINY = Tokenizer.from_words(WORDS)

# One string per case, its words separated by "|".
SPLITS = [
    # contractions, elisions and possessives
    "I|'m|,|you|'re|,|they|'ve|,|we|'d|,|she|'ll|,|it|'s",
    "Cannot-do|and|wannabe",
    "the|hotel|'s|bar|,|the|boys|'|room|,|Ms.|Jones|'s",
    "'em|and|'cause|and|'90s|and|rock|'n'|roll",
    "O'Neil|at|five|o'clock|,|d'Or|,|Ka'anapali|,|ma'am",
    # quotes and brackets
    '"|Hello|,|"|he|said|.',
    "'|Hello|there|'",
    "``|so|''",
    "“|curly|”|and|‘|single|’|and|«|angled|»",
    "(|one|[|two|]|{|three|}|)",
    # runs of marks
    "wait|...|what|....|no|.....|.",
    "well|.|.|no",
    "so|!!!|really|?!|yes|!",
    "this|--|that|---|there",
    "***|five|**",
    "a|,|b|;|c|:|d",
    # full stops
    "Mr.|Smith|and|Dr.|Jones|of|St.|Paul",
    "the|U.S.|,|i.e.|at|5|p.m.|,|etc.",
    "a|Ph.D.|of|J.R.R.|Tolkien|and|George|W.|Bush",
    "no.|5|is|no|.|one",
    "my|wife|and|I|.|The|room",
    "the|end|.",
    "good.The|room",
    # numbers
    "1,000.50|and|3.14|and|.5|and|-2|and|+1",
    "$|5|and|£|3.50|and|US$|300|and|50|%",
    "1/2|and|2 1/2|hours|and|24/7",
    "10:30|am|and|5pm|on|12/25/2001|or|2001-12-25",
    "the|2nd|and|1990s|and|5.5-star",
    "(415) 555-1234|or|415-555-1234",
    # joined words
    "a|five-star|,|state-of-the-art|place",
    "and/or|him/her/them",
    "AT&T|and|R&B|and|C++|and|snake_case",
    # the web
    "see|http://example.com/a?b=c#d|.",
    "(|https://example.org|)",
    "www.example.com|or|example.com/menu|,|ok",
    "mail|joe.bloggs+x@mail.example.co.uk|now",
    "@name|'s|#tag|and|.|@other_one1|:|hi",
    "<b>|bold|</b>|<br />|end",
    "Q&amp;A|&quot;|x",
    # faces
    "yay|:)|:-(|;)|:D|=P|:'(|-_-|^_^",
    "thanks|👍🏽|👨\u200d👩\u200d👧|🇺🇸|🇫🇷|❤️|1️⃣|🏴\U000e0067\U000e0062\U000e007f|☺|☺",
    # other scripts and marks
    "cafe\u0301|na\u00efve|Z\u00fcrich",
    "Привет|,|мир|!",
    "שָׁלוֹם|עליכם",
    "日|本|語|と|中|文|。",
    "हिन्दी|می\u200cخواهم",
    "¿|qué|?",
    "70|°|and|©|and|½",
]


def joined(words: list[str]) -> str:
    """One string for a list of words, as in SPLITS."""
    return "|".join(words)


@pytest.mark.parametrize("expected", SPLITS)
def test_words_set_apart(expected: str) -> None:
    """Words that are all set apart by spaces stay as they are."""
    assert joined(CASED.split(expected.replace("|", " "))) == expected


GLUED = {
    "I don't think you can't or won't.": "I|do|n't|think|you|ca|n't|or|wo|n't|.",
    "I cannot, I'm gonna, you wanna, we gotta": "I|can|not|,|I|'m|gon|na|,|you|wan|na|,|we|got|ta",
    "Cannot-do and wannabe": "Cannot-do|and|wannabe",
    "DON'T! WE'RE": "DO|N'T|!|WE|'RE",
    "don’t, it’s": "do|n’t|,|it|’s",
    "didn`t couldn't've y'all 'twas": "did|n`t|could|n't|'ve|y'|all|'t|was",
    "the hotel's bar (\"the boys' room\")": "the|hotel|'s|bar|(|\"|the|boys|'|room|\"|)",
    "wait...what?! So good!!!": "wait|...|what|?!|So|good|!!!",
    "well.. no......": "well|.|.|no|.....|.",
    "this--that and word—word": "this|--|that|and|word|—|word",
    "Mr. Smith, of the U.S., at 5 p.m. etc.": "Mr.|Smith|,|of|the|U.S.|,|at|5|p.m.|etc.",
    "my wife and I. The room": "my|wife|and|I|.|The|room",
    "by J. K. Rowling.": "by|J.|K.|Rowling|.",
    "No.5 and no. 5, but no. Really.": "No.|5|and|no.|5|,|but|no|.|Really|.",
    "$1,000.50 (50%off) at 10:30am, US$300": "$|1,000.50|(|50|%|off|)|at|10:30|am|,|US$|300",
    "2 1/2 hours, 5'4\", the '90s.": "2 1/2|hours|,|5|'|4|\"|,|the|'90s|.",
    "nice,very;nice": "nice|,|very|;|nice",
    "yay:) (see http://example.com/a.) #tag,#other": "yay|:)|(|see|http://example.com/a|.|)|#tag|,|#other",
    "a/b/c/d": "a/b/c|/|d",
    "one-I've and Smith-O'Neil's": "one-I|'ve|and|Smith-O'Neil|'s",
    "👍👍🏽🇺🇸🇫🇷ok": "👍|👍🏽|🇺🇸|🇫🇷|ok",
    "我的iPhone很好，真的。": "我|的|iPhone|很|好|，|真|的|。",
    "第3章は〇です": "第|3|章|は|〇|で|す",
    "コーヒーとｺｰﾋｰ、すごーい！": "コーヒー|と|ｺｰﾋｰ|、|す|ごー|い|！",
    "น้ำซุปอร่อย ๑๒๓": "น้ำ|ซุ|ป|อ|ร่|อ|ย|๑๒๓",
    "ຊຸບ ໑໒": "ຊຸ|ບ|໑໒",
    "ខ្មែរល្អ": "ខ្មែ|រ|ល្អ",
    "မြန်မာ": "မြ|န်|မာ",
    "葛\U000e0100飾区𠮷野家": "葛\U000e0100|飾|区|𠮷|野|家",
    "한국어 中文 العربية": "한국어|中|文|العربية",
    "好👍🏽好http://example.com/a中文": "好|👍🏽|好|http://example.com/a|中|文",
    "tab\tand\nline\u3000and\u00a0space": "tab|and|line|and|space",
}


@pytest.mark.parametrize("text", GLUED)
def test_words_of_running_text(text: str) -> None:
    assert joined(CASED.split(text)) == GLUED[text]


@pytest.mark.parametrize("text", [text for text in GLUED if "J. K." not in text])
def test_lowercase_splits_at_the_same_places(text: str) -> None:
    assert joined(Tokenizer.from_words([]).split(text)) == GLUED[text]


def test_texts_that_are_split_already_stay_so() -> None:
    plain = Tokenizer.from_words(["很好"], split_characters=False)
    assert plain.split("我的 iPhone 很好") == ["我的", "iPhone", "很好"]
    assert Tokenizer(plain.to_json()).split_characters is False
    assert Tokenizer(TINY.to_json()).split_characters is True
    assert has_joined_characters(["soup", "很好"])
    assert not has_joined_characters(["soup", "好", "コーヒー", "น้ำ", "ខ្មែ", "한국어", "naïve"])


def test_an_older_tokenizer_keeps_its_rules(tmp_path: Path) -> None:
    """What older versions wrote: one rule, words by spaces and marks alone."""
    parts = json.loads(CASED.to_json())
    parts["pre_tokenizer"] = parts["pre_tokenizer"]["pretokenizers"][1]
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(parts))
    old = Tokenizer.load(path)
    assert old.split("日本語 と中文。") == ["日本語", "と中文", "。"]
    assert old.to_json() == path.read_text()


def test_case() -> None:
    assert TINY.locate("GOOD Good good")[0].tolist() == [TINY.vocabulary.index("good")] * 3
    cased = Tokenizer.from_words(["good"], lowercase=False)
    assert cased.locate("GOOD Good good")[0].tolist() == [UNKNOWN, UNKNOWN, 2]
    assert (TINY.lowercase, cased.lowercase) == (True, False)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("İstanbul, İİ!", ["İstanbul", ",", "İİ", "!"]),  # lower case is longer than upper case
        ("a 👨\u200d👩\u200d👧 b", ["a", "👨\u200d👩\u200d👧", "b"]),
        ("e\u0301e\u0301 x", ["e\u0301e\u0301", "x"]),
        ("שלום (עולם) x", ["שלום", "(", "עולם", ")", "x"]),
        ("ẞ STRASSE ﬁn", ["ẞ", "STRASSE", "ﬁn"]),
    ],
)
def test_offsets_are_characters_of_the_original_text(text: str, words: list[str]) -> None:
    for tokenizer in (TINY, CASED):
        _, offsets = tokenizer.locate(text)
        assert [text[start:end] for start, end in offsets] == words
        assert offsets.dtype == np.int32


@pytest.mark.parametrize("text", ["", "   ", "\n\t\u3000", "\u200b", "\x00"])
def test_a_text_without_a_word_is_one_unknown(text: str) -> None:
    ids, offsets = TINY.locate(text)
    assert (ids.tolist(), offsets.tolist()) == ([UNKNOWN], [[0, 0]])
    ids, lengths = TINY.encode(["good", text, "good"])
    good = TINY.vocabulary.index("good")
    assert (ids.tolist(), lengths.tolist()) == ([good, UNKNOWN, good], [1, 1, 1])
    assert TINY.split(text) == []


def test_lone_surrogates_and_nul_are_harmless() -> None:
    text = "good \ud800 good\x00good \udfff\ud83d"
    ids, offsets = TINY.locate(text)
    good = TINY.vocabulary.index("good")
    assert ids.tolist() == [good, UNKNOWN, good, good, UNKNOWN, UNKNOWN]
    assert offsets.tolist() == [[0, 4], [5, 6], [7, 11], [12, 16], [17, 18], [18, 19]]
    assert TINY.encode([text])[0].tolist() == ids.tolist()
    assert words_of([text.replace("\x00", " ")]).vocabulary[2:] == ("good", "\ufffd")


@pytest.mark.parametrize("lowercase", [True, False])
def test_special_names_in_a_text_are_ordinary_words(lowercase: bool) -> None:
    trained = words_of(["<unk> <pad> <UNK> <Pad>"] * 3, lowercase=lowercase)
    ids, _ = trained.locate("<pad> <unk>")
    assert PAD not in ids
    assert UNKNOWN not in ids
    assert trained.split("<pad>") == ["<", "pad", ">"]


def test_emoji_that_are_known_are_read_as_themselves() -> None:
    known = Tokenizer.from_words(["good", "!!", "😂", "❤️", "👍🏽"])
    found, expected = known.encode(["good😂!! ❤️👍🏽🙈"])[0], ("good", "😂", "!!", "❤️", "👍🏽")
    assert found.tolist() == [*(known.ids[each] for each in expected), UNKNOWN]


def test_training_is_by_frequency_then_alphabet() -> None:
    texts = ["b b b c c a a", "é z d"]
    assert words_of(texts).vocabulary == ("<pad>", "<unk>", "b", "a", "c", "d", "z", "é")
    assert words_of(texts, min_count=2).vocabulary == ("<pad>", "<unk>", "b", "a", "c")
    assert words_of(texts, max_words=2).vocabulary == ("<pad>", "<unk>", "b", "a")
    assert words_of(["B b"]).vocabulary[2:] == ("b",)
    assert words_of(["B b"], lowercase=False).vocabulary[2:] == ("B", "b")


@pytest.mark.parametrize("letter", ["x", "é"])
def test_what_is_too_long_for_a_word_stays_unknown(letter: str) -> None:
    longest, longer, file = (letter * n for n in (LONGEST, LONGEST + 1, 100_000))
    texts = ["good " + longest, f"{longer} good {longer}", file, file, "good"]
    trained = words_of(texts)
    assert trained.vocabulary == ("<pad>", "<unk>", "good", longest)
    assert trained.hash == words_of(["good", "good", f"good {longest}"]).hash
    ids, lengths = trained.encode(texts)
    assert (ids.tolist(), lengths.tolist()) == ([2, 3, 1, 2, 1, 1, 1, 2], [2, 3, 1, 1, 1])
    assert [trained.locate(text)[0].tolist() for text in texts] == [[2, 3], [1, 2, 1], [1], [1], [2]]


def test_the_order_of_the_texts_changes_nothing() -> None:
    words = [f"w{number}" for number in range(500)]
    texts = [" ".join(random.Random(row).choices(words, k=20)) for row in range(400)]
    shuffled = random.Random(1).sample(texts, len(texts))
    assert words_of(texts).hash == words_of(shuffled).hash


@pytest.mark.parametrize("options", [{"min_count": 0}, {"max_words": 0}, {"max_words": -1}])
def test_impossible_sizes(options: dict[str, int]) -> None:
    with refuses("option-value"):
        words_of(["a"], **options)


@pytest.mark.parametrize("words", [["a", "a"], ["<pad>"], ["<unk>", "a"]])
def test_words_that_cannot_be_a_vocabulary(words: list[str]) -> None:
    with refuses("tokenizer-words"):
        Tokenizer.from_words(words)


def test_saved_file_is_the_tokenizer(tmp_path: Path) -> None:
    TINY.save(tmp_path / "tokenizer.json")
    again = Tokenizer.load(tmp_path / "tokenizer.json")
    assert again.to_json() == TINY.to_json() == (tmp_path / "tokenizer.json").read_text("utf-8")
    assert (again.vocabulary, again.lowercase, len(again)) == (TINY.vocabulary, True, len(WORDS) + 2)
    assert again.hash == TINY.hash == hashlib.sha256(TINY.to_json().encode()).hexdigest()
    assert Tokenizer(CASED.to_json()).lowercase is False
    assert [file.name for file in tmp_path.iterdir()] == ["tokenizer.json"]


ODD = [
    *GLUED,
    "İstanbul 👍🏽",
    "<pad><unk>",
    "x\x00y",
    "\u200d\u200d",
    "a" * 1000,
    "'" * 9,
    "n't",
    "1 1/2/3 4",
]


@pytest.mark.parametrize("lowercase", [True, False])
def test_plain_tokenizers_gives_the_same_ids(tmp_path: Path, lowercase: bool) -> None:
    ours = words_of(list(GLUED), lowercase=lowercase, max_words=60)
    ours.save(tmp_path / "tokenizer.json")
    plain = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    for text in ODD:
        expected = plain.encode(text)
        ids, offsets = ours.locate(text)
        if expected.ids:
            assert ids.tolist() == expected.ids
            assert offsets.tolist() == [list(pair) for pair in expected.offsets]
        assert ours.encode([text])[0].tolist() == ids.tolist()


def changed(**changes: object) -> bytes:
    return json.dumps(json.loads(TINY.to_json()) | changes).encode()


# What a stranger may write: some of it makes `tokenizers` hang, take gigabytes or panic (no Exception).
HOSTILE: list[tuple[str, object]] = [
    ("normalizer", {"type": "Prepend", "prepend": "x" * 100}),
    ("normalizer", {"type": "Replace", "pattern": {"String": ""}, "content": "xx"}),
    ("normalizer", {"type": "Sequence", "normalizers": [{"type": "Lowercase"}] * 2}),
    ("normalizer", {"type": "Precompiled", "precompiled_charsmap": "AAAA"}),
    ("pre_tokenizer", {"type": "FixedLength", "length": 0}),
    ("pre_tokenizer", {
        "type": "Split", "pattern": {"Regex": "(a|a)*$"}, "behavior": "Removed", "invert": True}),
    ("pre_tokenizer", None),
    ("pre_tokenizer", {"type": "Sequence", "pretokenizers": []}),
    ("post_processor", {"type": "TemplateProcessing", "single": [], "pair": [], "special_tokens": {}}),
    ("decoder", {"type": "Fuse"}),
    ("truncation", {"max_length": 5, "strategy": "LongestFirst", "stride": 0, "direction": "Right"}),
    ("padding", {"strategy": {"Fixed": 10**9}, "direction": "Right", "pad_to_multiple_of": None,
                 "pad_id": 0, "pad_type_id": 0, "pad_token": "<pad>"}),
    ("added_tokens", [{"id": 0, "content": "a", "single_word": False, "lstrip": False, "rstrip": False,
                       "normalized": False, "special": False}]),
    ("version", "2.0"),
    ("more", 1),
]  # fmt: skip


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not valid JSON"),
        (TINY.to_json().encode()[:-40], "not valid JSON"),
        (b"[1, 2]", "not a JSON object"),
        (b"\xff\xfe", "not a Limelight tokenizer"),
        (b'{"model": {"type": "WordLevel", "vocab": {"a": 0}}}', "'version'"),
        (
            changed(model={"type": "WordLevel", "vocab": {"a": 0, "<unk>": 1}, "unk_token": "<unk>"}),
            "starting with",
        ),
        (
            changed(
                model={"type": "WordLevel", "vocab": {"<pad>": 0, "<unk>": 1, "a": 3}, "unk_token": "<unk>"}
            ),
            "0, 1, 2",
        ),
        (
            changed(model={"type": "WordLevel", "vocab": {"<pad>": 0, "<unk>": True}, "unk_token": "<unk>"}),
            "0, 1, 2",
        ),
        (
            changed(
                model={
                    "type": "WordLevel",
                    "vocab": {"<pad>": 0, "<unk>": 1, "\ud800": 2},
                    "unk_token": "<unk>",
                }
            ),
            "not text",
        ),
        *((changed(**{part: value}), f"'{part}'") for part, value in HOSTILE),
    ],
)
def test_a_foreign_file_is_one_clear_line(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(content)
    with pytest.raises(LimelightError, match=message) as caught:
        Tokenizer.load(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_huge_vocabulary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    TINY.save(tmp_path / "tokenizer.json")
    monkeypatch.setattr("limelight.text.tokenizer.MAX_TOKENIZER", 100)
    with refuses("too-large"):
        Tokenizer.load(tmp_path / "tokenizer.json")
    with refuses("tokenizer-damaged"):  # what could not be loaded is not made
        Tokenizer.from_words(["good"])


def test_limits_beyond_any_machine_integer() -> None:
    assert words_of(["a b a"], max_words=10**30).vocabulary == ("<pad>", "<unk>", "a", "b")
    assert len(words_of(["a b a"], min_count=10**30)) == 2


def test_a_missing_file(tmp_path: Path) -> None:
    with refuses("os-error"):
        Tokenizer.load(tmp_path / "nothing.json")


ALPHABET = st.text(
    st.one_of(st.characters(), st.sampled_from(list("aAbnt sd.,-'’\"!?/@#<>&$%:;()1 2_*`\n")), st.just("İ")),
    max_size=40,
)


@examples(400)
@given(st.lists(ALPHABET, max_size=4))
def test_whatever_the_text(texts: list[str]) -> None:
    """Offsets rise and cover every visible character; all ways to the ids agree; n is at least 1."""
    for tokenizer in (TINY, CASED):
        ids, lengths = tokenizer.encode(texts)
        assert lengths.sum() == len(ids)
        for text, end in zip(texts, np.cumsum(lengths), strict=True):
            located, offsets = tokenizer.locate(text)
            assert located.tolist() == ids[end - len(located) : end].tolist()
            assert PAD not in located
            assert (np.diff(offsets.ravel()) >= 0).all()
            if tokenizer.split(text):
                rest = list(text)
                for start, stop in offsets:
                    assert stop > start
                    rest[start:stop] = " " * (stop - start)
                assert not any(character.isalnum() for character in rest)


@examples(1000)
@given(
    st.lists(
        st.one_of(
            st.sampled_from([*GLUED, *(text.replace("|", " ") for text in SPLITS)]),
            st.text(st.characters(max_codepoint=127), max_size=20),
            st.text(st.sampled_from("aAbnt sd.,-'\"!?/@#<>&$%:;()1 2_*`\n"), max_size=20),
        ),
        max_size=6,
    )
)
def test_python_splits_ascii_as_tokenizers_does(pieces: list[str]) -> None:
    """Two engines, one set of rules: `encode` takes the quicker one, `split` and `locate` the other."""
    text = "".join(pieces).encode("ascii", "ignore").decode()
    for tokenizer, read in ((TINY, text.lower()), (CASED, text)):
        assert ascii_rules().findall(read) == tokenizer.split(read)


NEIGHBOURS = """
I. W. The the was é. É. 2 1/2 ١ 1/2² (020) 555 1234-567 no. No. Fig. x-no. 5 5. 1,5 5) ½ <b class= x> <3
c'monx. 'emb. don't gonna… café! “so” O’Neil’s n’t l’été « »; A&B http://x.y/é :) Dr. U.S. a.é 👍🏽
x\u0301. \u200d. e\u00ad. 汤2 2汤 ｶﾀ ไทย. <unk> İ ẞ
"""
SPACES = ("", " ", " ", "  ", "\n", "\r\n", "\u00a0", "\u3000", "\u2028", "\x85", "\x1c", "\u200b")


@examples(200)
@given(
    st.lists(
        st.tuples(
            st.one_of(
                st.sampled_from([*NEIGHBOURS.split(), *GLUED]),
                st.text(st.sampled_from("aInoé’'.,-)(1٣2/<> ³½"), max_size=6),
                st.text(max_size=4),
            ),
            st.sampled_from(SPACES),
        ),
        max_size=8,
    )
)
def test_pieces_between_spaces_have_the_words_of_the_whole_text(pieces: list[tuple[str, str]]) -> None:
    text = "".join(chain.from_iterable(pieces))
    for lowercase, split_characters in ((True, True), (False, True), (True, False)):
        found = number_words([text], lowercase, split_characters)
        words = [found.words[k] for k in np.frombuffer(found.numbers, np.int32)]
        assert words == (split_words(text, lowercase, split_characters) or [""])


def test_many_texts_are_encoded_in_order() -> None:
    """More than one chunk: ids stay in the order of the texts."""
    texts = [("good " * (row % 7 * 3000)).strip() + " it" for row in range(60)]
    ids, lengths = TINY.encode(texts)
    assert lengths.tolist() == [row % 7 * 3000 + 1 for row in range(60)]
    assert (ids[np.cumsum(lengths) - 1] == TINY.vocabulary.index("it")).all()
    assert (ids == TINY.vocabulary.index("it")).sum() == 60
    assert [array.shape for array in TINY.encode([])] == [(0,), (0,)]


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "é",
        "-",
        ".",
        "'",
        "a.b.",
        "a-",
        "a/",
        "a'",
        "1,",
        "ae'a",
        "http://.",
        "a@",
        "<a ",
        "x. ",
        "\u200d",
        " ",
    ],
)
def test_long_lines_do_not_blow_up(unit: str) -> None:
    """A quadratic rule would take hours on this line, and the library refuses deep backtracking."""
    text = (unit * 300_000)[:300_000] + " §"
    words = CASED.split(text)
    assert words[-1] == "§"
    if unit.isascii():
        assert ascii_rules().findall(text[:-2]) == words[:-1]
    assert sum(map(len, words)) == len(text) - sum(map(text.count, " \u200d"))


def test_one_string_is_not_a_list_of_texts() -> None:
    with refuses("text-type"):
        Tokenizer.from_words(["o"]).encode("one string")


def test_what_is_built_when_first_needed_has_no_lock_that_a_fork_could_copy() -> None:
    """On Python 3.11, `cached_property` has one: a child forked while it is held would wait for ever."""
    made = Tokenizer.from_words(["soup"])
    assert made._built is None
    assert made.encode(["soup"])[0].tolist() == [2]  # ASCII needs nothing
    assert made._built is None
    assert made.encode(["sóup"])[0].tolist() == [1]  # nor does a word between spaces
    assert made._built is None
    assert made.locate("sóup")[0].tolist() == [1]
    assert made._built is not None
    assert not any("cached_property" in type(each).__name__ for each in vars(Tokenizer).values())
