"""A text split into the pieces that are drawn: its words and the gaps between them, exactly as written."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .comparison import ComparedText
    from .reading import Reading


_JOINER = "\u200d"
_CONTRACTED = {"n't", "'s", "'re", "'ve", "'ll", "'d", "'m"}  # which tokenizers split from the word before
PASSAGE_MARGIN = 3  # words of a passage on either side
# Control characters would vanish, break XML or control a terminal; each gets a visible stand-in.
_STAND_INS = (
    {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n\r"}
    | {0x7F: 0x2421}
    | dict.fromkeys([*range(0x80, 0xA0), *range(0xD800, 0xE000), 0xFFFE, 0xFFFF], 0xFFFD)
)
# These would overwrite a terminal's line, or turn the order of what follows around.
FOR_TERMINALS = {0x0D: 0x240D} | dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)], 0xFFFD)


@dataclass(frozen=True)
class Pieces:
    """The words of a text as drawn. Those of a contraction ("ca", "n't") or of one emoji are one piece."""

    text: str  # printable, with as many characters as the original
    spans: tuple[tuple[int, int], ...]
    firsts: np.ndarray  # (pieces,): the index of the first word of each piece
    known: tuple[bool, ...]

    def weights(self, weights: np.ndarray) -> np.ndarray:
        """(pieces, ...): the weights of the words, summed where several are drawn as one piece."""
        if len(weights) == len(self.firsts):
            return weights
        return np.asarray(np.add.reduceat(weights, self.firsts))

    @cached_property
    def words(self) -> list[str]:
        return [self.text[start:end] for start, end in self.spans]

    @cached_property
    def gaps(self) -> list[str]:
        """The text before each piece and after the last: one more than there are pieces."""
        edges = [0, *(edge for span in self.spans for edge in span), len(self.text)]
        return [self.text[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True)]


def split_pieces(reading: Reading | ComparedText) -> Pieces:
    """Split a reading's text into pieces."""
    text = reading.text
    spans: list[tuple[int, int]] = []
    firsts: list[int] = []
    known: list[bool] = []
    for word, (start, end) in enumerate(_whole_characters(text, reading.offsets)):
        before = spans[-1][1] if spans else 0
        if spans and (start < before or start == end or _is_contracted(text, before, start, end)):
            spans[-1] = (spans[-1][0], max(before, end))
            known[-1] &= bool(reading.known[word])
        else:
            spans.append((start, end))
            firsts.append(word)
            known.append(bool(reading.known[word]))
    return Pieces(printable(text), tuple(spans), np.array(firsts, dtype=int), tuple(known))


def _is_contracted(text: str, before: int, start: int, end: int) -> bool:
    """Whether a word is the end of a contraction that begins with the one before, which ends at `before`."""
    own = text[start:end].lower().replace("’", "'")
    return start == before and own in _CONTRACTED and text[start - 1].isalpha()


def printable(text: str) -> str:
    """Replace every control character by a visible stand-in; the length stays the same."""
    return text.translate(_STAND_INS)


def passages(levels: np.ndarray, *, most: int = 16) -> list[tuple[int, int]]:
    """The passages (first, end) with the strongest colours, each with a few words around it."""
    strength = np.abs(levels)
    strongest = np.argsort(-strength, kind="stable")[:most]
    found: list[tuple[int, int]] = []
    for centre in sorted(strongest[strength[strongest] > 0].tolist() or strongest[:1].tolist()):
        first, end = max(0, centre - PASSAGE_MARGIN), min(len(levels), centre + PASSAGE_MARGIN + 1)
        if found and first <= found[-1][1]:
            found[-1] = (found[-1][0], end)
        else:
            found.append((first, end))
    return found


def _whole_characters(text: str, offsets: np.ndarray) -> Iterator[tuple[int, int]]:
    """The offsets of the words, widened where one falls inside a visible character."""
    if text.isascii():
        yield from offsets.tolist()
        return
    at = np.arange(len(text) + 1)
    cut = np.zeros(len(text) + 1, bool)
    cut[cuts(text)] = True
    before = np.maximum.accumulate(np.where(cut, at, 0))
    after = np.minimum.accumulate(np.where(cut, at, len(text))[::-1])[::-1]
    for start, end in offsets.tolist():
        first = int(before[start])
        yield first, int(after[end]) if end > first else end


def cuts(text: str) -> list[int]:
    """The places, from 0 to the end, where a cut splits no visible character; in one pass over the text."""
    found, halves = [0], 0  # halves of flags in a row
    for at in range(1, len(text)):
        halves = halves + 1 if is_flag_half(text[at - 1]) else 0
        if not _is_one_character(text[at - 1], text[at], halves):
            found.append(at)
    return [*found, len(text)] if text else found


def _is_one_character(before: str, here: str, halves: int) -> bool:
    """Whether two neighbours are drawn as one; `halves` of flags end with the first of them."""
    if here.isspace() or before.isspace():
        return False
    if here == _JOINER or before == _JOINER or unicodedata.category(here) in ("Mn", "Me", "Mc"):
        return True
    if "\U0001f3fb" <= here <= "\U0001f3ff" or "\U000e0020" <= here <= "\U000e007f":  # skin tones, tags
        return True
    return is_flag_half(here) and halves % 2 == 1


def is_flag_half(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"
