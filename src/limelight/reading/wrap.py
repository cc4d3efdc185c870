"""Lines of text: wrapped for SVG and terminals, and the visual order of words that mix text directions."""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import accumulate, groupby, pairwise

from .pieces import Pieces, cuts, is_flag_half

Measure = Callable[[str], float]


@dataclass(frozen=True)
class Atom:
    """A piece of text that stays together on a line."""

    text: str
    width: float
    piece: int | None = None  # the piece it belongs to; None between pieces


def wrap(pieces: Pieces, first: int, end: int, width: float, measure: Measure) -> list[list[Atom]]:
    """Wrap the pieces from `first` to `end`, and the gaps between them, into lines of at most `width`."""
    lines: list[list[Atom]] = [[]]
    used = 0.0
    for kind, unit in groupby(_atoms(pieces, first, end, width, measure), key=lambda atom: _kind(atom.text)):
        atoms = list(unit)
        for part in [atoms] if sum(atom.width for atom in atoms) <= width else [[atom] for atom in atoms]:
            size = sum(atom.width for atom in part)
            if kind == "break":
                lines += [[] for _ in part]
                used = 0.0
            else:
                if kind == "ink" and used + size > width and used:
                    lines.append([])
                    used = 0.0
                lines[-1] += part
                used += size
    for line in lines:
        while line and line[-1].text.isspace():
            line.pop()
    return lines


def shorten(text: str, width: float, measure: Measure) -> str:
    """Shorten a text to fit the width."""
    if measure(text) <= width * (1 + 1e-9):  # a width computed from the text itself is enough
        return text
    end = bisect_right(range(len(text)), width, key=lambda end: measure(f"{text[:end]}…"))
    return f"{text[: max(end - 1, 0)]}…"


@lru_cache(maxsize=20_000)
def ems(text: str) -> float:
    """The width of a text in ems, in Helvetica or a font of the same widths."""
    return sum(map(_em, _visible(text)))


@lru_cache(maxsize=20_000)
def cells(text: str) -> int:
    """The width of a text in terminal cells."""
    if text.isascii():
        return len(text)
    return sum(map(_cell_width, _visible(text)))


def _cell_width(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" or is_flag_half(character) else 1


def _atoms(pieces: Pieces, first: int, end: int, width: float, measure: Measure) -> Iterator[Atom]:
    for piece in range(first, end):
        yield from _between(pieces.gaps[piece] if piece > first or piece == 0 else "", measure)
        for part in _chop(pieces.words[piece], width, measure):
            yield Atom(part, measure(part), piece)
    if end == len(pieces.words):
        yield from _between(pieces.gaps[end], measure)


def _between(gap: str, measure: Measure) -> Iterator[Atom]:
    for part in re.findall(r"\r\n|[\n\r\v\f\x85\u2028\u2029]|[^\S\n\r\v\f\x85\u2028\u2029]+|\S+", gap):
        spaced = part.replace("\t", "    ")
        yield Atom(spaced, 0.0 if _kind(part) == "break" else measure(spaced))


def _chop(word: str, width: float, measure: Measure) -> Iterable[str]:
    """Split a word wider than a line into parts that fit, never inside a visible character."""
    if measure(word) <= width:
        return [word]
    parts, first, used = [], 0, 0.0
    for start, end in pairwise(cuts(word)):
        wide = measure(word[start:end])
        if start > first and used + wide > width:
            parts.append(word[first:start])
            first, used = start, 0.0
        used += wide
    return [*parts, word[first:]]


def _kind(text: str) -> str:
    if not text.isspace():
        return "ink"
    return "break" if text[0] in "\n\r\v\f\x85\u2028\u2029" else "space"


def _visible(text: str) -> str:
    """Remove what only modifies the character before it: joined emoji, skin tones, half of every flag."""
    if text.isascii():
        return text
    text = re.sub("\u200d.|[\U0001f3fb-\U0001f3ff\ufe00-\ufe0f\U000e0020-\U000e007f]", "", text)
    return re.sub("([\U0001f1e6-\U0001f1ff])[\U0001f1e6-\U0001f1ff]", r"\1", text)


_EMS = {
    character: thousandths / 1000
    for thousandths, characters in {
        191: "'", 222: "ijl‘’‚", 260: "|", 278: " !,./:;I[\\]ft", 333: "-()`r“”„", 334: "{}", 355: '"',
        389: "*", 469: "^", 500: "Jcksvxyz", 556: "#$0123456789?L_abdeghnopqu–«»€£", 584: "+<=>~−",
        611: "FTZ", 667: "&ABEKPSVXY", 722: "CDHNRUw", 778: "GOQ", 833: "Mm", 889: "%", 944: "W", 1015: "@",
        1000: "—…",
    }.items()
    for character in characters
}  # fmt: skip


@cache
def _em(character: str) -> float:
    known = _EMS.get(character) or _EMS.get(unicodedata.normalize("NFD", character)[0])
    if known is not None:
        return known
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF" or character >= "\U0001f000":
        return 1.2 if character >= "\U0001f000" and not character.isalpha() else 1.0
    return 0.5 if unicodedata.bidirectional(character) == "AL" else 0.57


# ---------------------------------------------------------------- directions, by Unicode's rules for words

_MIRRORED = str.maketrans("()[]{}<>«»", ")(][}{><»«")


def is_right_to_left(text: str) -> bool:
    """Whether the first letter with a direction is right-to-left, as `dir="auto"` decides."""
    return _direction(text) == "R"


def visual_order(words: Sequence[str], right_to_left: bool) -> list[tuple[int, str]]:
    """The indices of the words from left to right, each with its text, brackets mirrored where needed."""
    directions = [_direction(word) for word in words]
    if not right_to_left and "R" not in directions:
        return list(enumerate(words))
    levels = _levels(directions, words, "R" if right_to_left else "L")
    order = list(range(len(words)))
    for level in (2, 1):
        order = _reverse_runs(order, levels, level)
    mirrored = [level == 1 and direction is None for level, direction in zip(levels, directions, strict=True)]
    return [(k, words[k].translate(_MIRRORED) if mirrored[k] else words[k]) for k in order]


def _direction(text: str) -> str | None:
    """L or R, from the first character that has a direction."""
    for character in text:
        direction = unicodedata.bidirectional(character)
        if direction in ("L", "R", "AL"):
            return "L" if direction == "L" else "R"
    return None


def _levels(directions: Sequence[str | None], words: Sequence[str], base: str) -> list[int]:
    """0: left to right; 1: right to left; 2: left to right within right to left.

    A number stands left to right; beside other words it counts as having the direction of the text before it.
    Anything else without a direction has that of its neighbours if they agree, or of the whole line.
    """
    given = zip(directions, words, strict=True)
    numbers = [direction is None and any(map(str.isdigit, word)) for direction, word in given]
    before = _last_known(directions, base)
    strong = [before[k] if number else directions[k] for k, number in enumerate(numbers)]
    left, right = _last_known(strong, base), _last_known(strong[::-1], base)[::-1]
    found = [a if a == b else base for a, b in zip(left, right, strict=True)]  # where strong, both are it
    found = _match_brackets([each or found[k] for k, each in enumerate(strong)], words)
    to_level = {"L": 2 * (base == "R"), "R": 1}
    both = zip(found, numbers, strict=True)
    return [2 if number and each == "R" else to_level[each] for each, number in both]


def _last_known(directions: Iterable[str | None], base: str) -> list[str]:
    return list(accumulate(directions, lambda last, here: here or last, initial=base))[1:]


def _match_brackets(directions: list[str], words: Sequence[str]) -> list[str]:
    """Give a closing bracket the direction of its opening bracket, whatever follows it."""
    opened: list[str] = []
    for k, word in enumerate(words):
        if word in ("(", "[", "{"):
            opened.append(directions[k])
        elif word in (")", "]", "}") and opened:
            directions[k] = opened.pop()
    return directions


def _reverse_runs(order: list[int], levels: Sequence[int], level: int) -> list[int]:
    runs = groupby(order, key=lambda k: levels[k] >= level)
    return [k for high, run in runs for k in (reversed(list(run)) if high else run)]
