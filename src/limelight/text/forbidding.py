"""Whether a word is one that must not be read, however it is written.

Characters that nobody sees, such as a soft hyphen, and accents that the word itself does not have change
nothing: "hil\\u00adton" and "hílton" are "hilton". But "große" is not "größe", which has one more.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from itertools import chain
from unicodedata import category, combining, normalize

Spans = list[tuple[int, int]]
_MARK = re.compile("[!-/:-@\\[-`{-~\u2010-\u2027]")  # of ASCII; typographic hyphens, dashes and quotes
# Control characters but for tabs and line ends, and Unicode's Default_Ignorable_Code_Point.
_HIDDEN = re.compile(
    "[\0-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_LETTER_MARKS = (0, 7, 8, 9)  # combining classes: vowel signs, nuktas, kana's voicing, viramas


@lru_cache(maxsize=2**15)
def is_forbidden(word: str, forbidden: frozenset[str]) -> bool:
    """Whether a word, or a part of it between marks, is one of these, which are casefolded."""
    return any(_has_forbidden(each, forbidden) for each in _spellings(word))


def blank_divided(text: str, forbidden: frozenset[str], spans: Callable[[str], Spans]) -> str:
    """The text with spaces in place of forbidden words that have hidden characters in them.

    The rules, by which `spans` finds words, divide some of them there.
    """
    if (text.isascii() and text.isprintable()) or not _HIDDEN.search(text):  # the first is quicker
        return text
    places = [k for k, character in enumerate(text) if not _HIDDEN.match(character)]
    shown, edges = "".join(text[k] for k in places), [-1, *places, len(text)]
    for start, end in spans(shown):
        first, last = edges[start] + 1, edges[end + 1]  # with the hidden ones around it
        if last - first > end - start and is_forbidden(shown[start:end], forbidden):
            text = f"{text[:first]}{' ' * (last - first)}{text[last:]}"
    return text


def _has_forbidden(word: str, forbidden: frozenset[str]) -> bool:
    known = _by_letters(forbidden)
    if word.isalpha():
        return word in known.get(word, ())
    marks = [mark.start() for mark in _MARK.finditer(word)]
    starts, ends = [0, *(mark + 1 for mark in marks)], [*marks, len(word)]
    most = _most_parts(forbidden)
    parts = (word[start:end] for k, start in enumerate(starts) for end in ends[k : k + most])
    return any(_is_within(each, part) for part in parts for each in known.get(_letters(part), ()))


@lru_cache(maxsize=8)
def _most_parts(words: frozenset[str]) -> int:
    """How many parts between marks one of these words has: "coca-cola" has two."""
    return max((1 + len(_MARK.findall(word)) for word in words), default=1)


@lru_cache(maxsize=8)
def _by_letters(words: frozenset[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for word in chain.from_iterable(map(_spellings, words)):
        found.setdefault(_letters(word), []).append(word)
    return found


def _spellings(word: str) -> set[str]:
    """A word casefolded, its accents apart, without what nobody sees; and without an iota below a letter.

    That is an accent, too, but casefolded it is a letter.
    """
    if word.isascii() and word.isprintable():
        return {word.casefold()}
    apart = normalize("NFKD", _HIDDEN.sub("", word))
    return {normalize("NFKD", each.casefold()) for each in (apart, apart.replace("\u0345", ""))}


def _letters(word: str) -> str:
    """One of the spellings without its accents."""
    if word.isascii():
        return word
    kept: list[str] = []
    for character in word:
        # A mark at the start stands on the space before the word.
        if not (_is_accent(character, kept[-1]) if kept else category(character)[0] == "M"):
            kept.append(character)
    return "".join(kept)


def _is_accent(character: str, letter: str) -> bool:
    """Whether a character is a mark that does not make this letter another one, as a vowel sign does."""
    kind, is_near = category(character), ord(character) >> 8 == ord(letter) >> 8  # of the same script
    return kind == "Me" or (kind[0] == "M" and not (is_near and combining(character) in _LETTER_MARKS))


def _is_within(word: str, other: str) -> bool:
    """Whether a word is what is left of another one without some of its characters."""
    rest = iter(other)
    return all(character in rest for character in word)
