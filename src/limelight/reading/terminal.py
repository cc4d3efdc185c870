"""Heat maps for a terminal, in as many colours as it has; without colours, words with their weights."""

import os
import shutil
import sys
import textwrap
from collections.abc import Callable
from functools import cache

import numpy as np

from . import captions
from .colours import DARK, LEVELS, LIGHT, HeatMap
from .comparison import Drawable
from .links import Links, signed, word_name
from .picture import AspectMaps, Picture, make_picture
from .pieces import FOR_TERMINALS
from .wrap import Atom, cells, shorten, wrap

_MAX_WIDTH = 100  # longer lines are hard to read
_BAR_WIDTH = 20
_MIN_BESIDE = 24  # cells for a clause beside its aspect


def to_terminal(
    reading: Drawable, *, colour: bool | None = None, width: int | None = None, rows: bool = False
) -> str:
    """A reading for a terminal; `colour` and `width` are detected unless given.

    With `rows`, what each row read; without a prediction that is always shown.
    """
    picture = make_picture(reading)
    width = max(20, width or min(_MAX_WIDTH, shutil.get_terminal_size().columns))
    paint = _painter(_has_colours() if colour is None else colour)
    blocks = [_prediction(picture, width)] if picture.labels else []
    if links := picture.links:
        blocks.append([f"Similarity {signed(links.similarity)}  ({links.SCALE_NOTE})"])
    label = picture.label if picture.decided else None
    blocks.append(_decided(picture, picture.first, label, width, paint))
    blocks += [_decided(picture, heat, label, width, paint) for label, heat in picture.further]
    if picture.aspects:
        blocks.append(_aspects(picture, picture.aspects, width, paint))
    if links:
        blocks[1] += textwrap.wrap(links.EFFECTS_NOTE if paint else links.EFFECTS_PLAIN, width)
        blocks.append(_pairs(picture, links, width, paint))
    if picture.groups and (rows or not picture.rows_summary):
        blocks.append(_groups(picture, width, paint))
    elif picture.groups:
        blocks.append(textwrap.wrap(picture.rows_summary, width))
    if picture.trust and picture.decided:
        blocks.append(textwrap.wrap(f"How far to trust it: {picture.trust}", width))
    return "\n\n".join("\n".join(block) for block in blocks).translate(FOR_TERMINALS)


Paint = Callable[[str, int], str]


def _prediction(picture: Picture, width: int) -> list[str]:
    shown, more = picture.shown_classes, len(picture.classes) - len(picture.shown_classes)
    lines = list(filter(None, [f"{picture.answer} {picture.certainty}".rstrip(), picture.true_label]))
    for label, (_, probability, _) in zip(_column([each[0] for each in shown]), shown, strict=True):
        bar = "█" * round(_BAR_WIDTH * probability)
        lines.append(f"{label}  {bar:{_BAR_WIDTH}} {probability:.3f}")
    lines += [f"and {more} more classes"] if more else []
    return [*lines, *textwrap.wrap(picture.median, width)]


def _decided(
    picture: Picture, heat: HeatMap, label: str | None, width: int, paint: Paint | None
) -> list[str]:
    """What decided a label: the whole text, then its strongest words and their weights."""
    strongest, lines = picture.strongest(heat), [heat.name]
    if label is not None:
        lines += textwrap.wrap(picture.colours(label, signs=paint is None), width)
    lines += _texts(picture, heat, width, paint, brief=picture.links is not None)
    words = zip(_column([word for word, _ in strongest]), strongest, strict=True)
    lines += [f"  {word}  {weight}" for word, (_, weight) in words]
    joint = picture.joint if heat is picture.first else ""
    return lines + textwrap.wrap(heat.sum_line, width) + textwrap.wrap(joint, width)


def _aspects(picture: Picture, aspects: AspectMaps, width: int, paint: Paint | None) -> list[str]:
    """Each aspect that is mentioned with its effect and its clauses, and what they add up to."""
    lines = [captions.BY_ASPECT]
    if aspects.in_stars and aspects.maps and paint:
        lines += textwrap.wrap(captions.STARS_LINE, width)
    names, effects = _column([each.name for each in aspects.maps]), [each.note for each in aspects.maps]
    column = max(map(cells, effects), default=0)
    for heat, name, effect in zip(aspects.maps, names, effects, strict=True):
        head = f"  {name}  {effect:>{column}}"
        beside = width - cells(head) - 2
        if beside >= _MIN_BESIDE:
            clauses = _texts(picture, heat, beside, paint, brief=True)
            lines += [f"{' ' * cells(head) if k else head}  {line}" for k, line in enumerate(clauses)]
        else:
            lines += [head, *(f"    {line}" for line in _texts(picture, heat, width - 4, paint, brief=True))]
    return lines + textwrap.wrap(aspects.sum_line, width) + textwrap.wrap(aspects.not_mentioned, width)


def _pairs(picture: Picture, links: Links, width: int, paint: Paint | None) -> list[str]:
    """Words that belong together, each pair with a bar; what speaks against the similarity comes last."""
    first, second = picture.texts
    left = _column([shorten(word_name(first, s), 24, cells) for s, _, _ in links.pairs])
    right = _column([shorten(word_name(second, t), 24, cells) for _, t, _ in links.pairs])
    lines = [links.PAIRS]
    for word, other, (_, _, weight) in zip(left, right, links.pairs, strict=True):
        bar = ("█" if weight > 0 else "░") * max(1, round(_BAR_WIDTH * abs(weight) / links.top))
        shown = paint(" " * len(bar), LEVELS if weight > 0 else -LEVELS) if paint else bar
        lines.append(f"  {word}  {other}  {shown}{' ' * (_BAR_WIDTH - len(bar))} {signed(weight):>6}")
    return [*lines, *textwrap.wrap(links.total, width)]


def _column(words: list[str]) -> list[str]:
    width = max(map(cells, words), default=0)
    return [f"{word}{' ' * (width - cells(word))}" for word in words]


def _groups(picture: Picture, width: int, paint: Paint | None) -> list[str]:
    """The row groups: their maps or, in plain text, their most read words."""
    lines = [captions.ROWS]
    for group in picture.shown_groups:
        name = f"{group.name} ({group.note})" if group.note else group.name
        lines += textwrap.wrap(name, width, initial_indent="  ", subsequent_indent="  ")
        if paint is None:
            lines += _most_read(picture, group, width)
        else:
            lines += [f"    {line}" for line in _texts(picture, group, width - 4, paint, brief=True)]
    count = picture.rows_left_out
    return [*lines, f"{count} more {'row' if count == 1 else 'rows'} not shown"] if count else lines


def _most_read(picture: Picture, group: HeatMap, width: int) -> list[str]:
    # The no-break space keeps a word and its weight on one line.
    most = ", ".join(map("\u00a0".join, picture.strongest(group)))
    wrapped = textwrap.wrap(
        most, width, initial_indent="    ", subsequent_indent="    ", break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip
    return [line.replace("\u00a0", " ") for line in wrapped]


def _texts(picture: Picture, heat: HeatMap, width: int, paint: Paint | None, brief: bool) -> list[str]:
    lines: list[str] = []
    for text, pieces in enumerate(picture.texts):
        if not pieces.text:
            lines.append("(empty text)")
            continue
        for first, end in picture.passages(heat, text, brief):
            wrapped = wrap(pieces, first, end, width, cells)
            lines += ["".join(_atom(atom, heat.levels[text], paint) for atom in line) for line in wrapped]
    return lines


def _atom(atom: Atom, levels: np.ndarray, paint: Paint | None) -> str:
    level = 0 if atom.piece is None else int(levels[atom.piece])
    return atom.text if paint is None or not level else paint(atom.text, level)


def _has_colours() -> bool:
    """Whether to use colours; NO_COLOR turns them off on any terminal."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM", "dumb") == "dumb":
        return False
    return sys.stdout.isatty()


def _painter(colour: bool) -> Paint | None:
    if not colour:
        return None
    true_colour = os.environ.get("COLORTERM", "").lower() in ("truecolor", "24bit")
    # some terminals give their background in COLORFGBG; most are dark
    theme = LIGHT if os.environ.get("COLORFGBG", "").rpartition(";")[2] in ("7", "15") else DARK

    def paint(text: str, level: int) -> str:
        ink, paper = theme.ink, (theme.warm if level > 0 else theme.cold)[abs(level)]
        return f"\x1b[{_code(38, ink, true_colour)};{_code(48, paper, true_colour)}m{text}\x1b[0m"

    return paint


@cache
def _code(kind: int, colour: str, true_colour: bool) -> str:
    red, green, blue = bytes.fromhex(colour[1:])  # of #rrggbb
    return f"{kind};2;{red};{green};{blue}" if true_colour else f"{kind};5;{_nearest(red, green, blue)}"


def _nearest(red: int, green: int, blue: int) -> int:
    """The nearest of the 256 colours: the cube of 216, or the ramp of 24 greys."""
    steps = np.array([0, 95, 135, 175, 215, 255])
    cube = np.stack(np.meshgrid(steps, steps, steps, indexing="ij"), axis=-1).reshape(-1, 3)
    palette = np.concatenate([cube, np.repeat(np.arange(8, 239, 10), 3).reshape(-1, 3)])
    return 16 + int(((palette - (red, green, blue)) ** 2).sum(axis=1).argmin())
