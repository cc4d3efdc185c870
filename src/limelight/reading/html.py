"""Heat maps as HTML: fragments for a notebook or any page, and whole pages. No network, no script."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from html import escape
from typing import TYPE_CHECKING

import numpy as np
from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from ..errors import LimelightError
from .colours import DARK, LEVELS, LIGHT, Theme
from .picture import (
    MOST_CLASSES,
    MOST_GROUPS,
    HeatMap,
    Picture,
    Weights,
    on_one_scale,
    picture_of,
    row_ranges,
)
from .pieces import passages, printable

if TYPE_CHECKING:
    from .reading import AnyReading

_MOST_CELLS = 3_000  # of the table of all weights; a longer text gets its most read words
_TABLE_WORDS = 100


def to_html(reading: AnyReading, *, weights: Weights | None = None) -> str:
    """A reading as a fragment of HTML that stands on its own, in a notebook or in any page.

    `weights` draws other attributions of the words above the attention, each under its name.

    >>> from limelight.reading import Reading
    >>> reading = Reading(
    ...     text="Good soup", offsets=np.array([[0, 4], [5, 9]]), known=np.ones(2, bool),
    ...     attention=np.array([[0.9, 0.1], [0.5, 0.5]]), embedding=np.zeros((2, 4)),
    ...     labels=("bad", "good"), probabilities=np.array([0.2, 0.8]))
    >>> "<b class=h6 title=0.700>Good</b>" in to_html(reading)
    True
    >>> "Gradient" in to_html(reading, weights={"Gradient": [0.3, -0.2]})
    True
    """
    return _fragment(card(picture_of(reading, weights)))


def compare_html(readings: Sequence[AnyReading], names: Sequence[str]) -> str:
    """The same text as several models read it, side by side, on one scale of colour, as a fragment of HTML.

    >>> from limelight.reading import Reading
    >>> reading = Reading(
    ...     text="Soup", offsets=np.array([[0, 4]]), known=np.ones(1, bool), attention=np.ones((1, 1)),
    ...     embedding=np.zeros((1, 4)), labels=("bad", "good"), probabilities=np.array([0.2, 0.8]))
    >>> html = compare_html([reading, reading], names=["without penalty", "with penalty"])
    >>> html.index("without penalty") < html.index("with penalty<")
    True
    """
    return _fragment(_side_by_side(readings, names))


def to_page(
    readings: Iterable[AnyReading | Sequence[AnyReading]],
    *,
    title: str = "Limelight",
    names: Sequence[str] = (),
) -> str:
    """A whole page of readings. A sequence among them is drawn side by side, a model each, under `names`.

    >>> from limelight.reading import Reading
    >>> reading = Reading(
    ...     text="Soup", offsets=np.array([[0, 4]]), known=np.ones(1, bool), attention=np.ones((1, 1)),
    ...     embedding=np.zeros((1, 4)), labels=("bad", "good"), probabilities=np.array([0.2, 0.8]))
    >>> to_page([reading, (reading, reading)], names=["Monday", "Tuesday"]).startswith("<!doctype html>")
    True
    """
    if hasattr(readings, "sides"):
        raise LimelightError("a page takes a list of readings; got one: put it in a list")
    cards = [
        _side_by_side(each, names) if isinstance(each, Sequence) else card(picture_of(each))
        for each in readings
    ]
    if not cards:
        raise LimelightError("there are no readings to draw; give at least one")
    return page(Markup("\n").join(cards), title)


def page(body: Markup, title: str) -> str:
    """A page around fragments that were drawn without their styles."""
    return templates().get_template("page.html.jinja").render(body=body, title=title, style=style())


@cache
def style() -> Markup:
    """The style sheet of the pictures, for one `<style>` element."""
    sheet = (
        templates()
        .get_template("style.css.jinja")
        .render(light=LIGHT, dark=DARK, levels=LEVELS, vars=theme_vars)
    )
    return Markup("".join(line.strip() for line in sheet.splitlines()))


def _fragment(card: Markup) -> str:
    return f"<style>{style()}</style>\n{card}"


def _side_by_side(readings: Sequence[AnyReading], names: Sequence[str]) -> Markup:
    if len(readings) != len(names):
        raise LimelightError(
            f"{len(readings)} readings side by side have {len(names)} names; give each one a name"
        )
    pictures = on_one_scale([picture_of(each) for each in readings])
    cards = Markup("\n").join(card(each, name) for each, name in zip(pictures, names, strict=True))
    return Markup('<div class="limelight-beside">\n{}\n</div>').format(cards)


def card(picture: Picture, name: str = "") -> Markup:
    """One picture as HTML, without the styles that it needs from around it."""
    painter = _Painter(picture)
    shown = picture.groups[:MOST_GROUPS]
    rows_are_shown = len(shown) == len(picture.rows)
    rendered = _card_template().render(
        name=name,
        picture=picture,
        most_classes=MOST_CLASSES,
        groups=shown,
        rows=() if rows_are_shown else picture.rows,
        tables=[painter.table(text) for text in range(len(picture.texts))] if picture.groups else [],
        painter=painter,
        levels=LEVELS,
    )
    return Markup(rendered)


class _Painter:
    """Turns the maps of one picture into coloured words, escaping its texts only once."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.number = picture.number
        self.words = [[_escape(word) for word in text.words] for text in picture.texts]
        self.gaps = [[_escape(gap) for gap in text.gaps] for text in picture.texts]

    def maps(self, heat: HeatMap, brief: bool) -> Markup:
        """The coloured text, or both texts of a pair; if `brief`, only the passages of long ones."""
        paint = self._passages if brief and self.picture.is_long else self._whole
        found = [
            f'<p dir="auto">{paint(heat, text)}</p>' if pieces.text else '<p class="empty">empty text</p>'
            for text, pieces in enumerate(self.picture.texts)
        ]
        return Markup(f'<div class="texts">{"".join(found)}</div>')

    def most_read(self, heat: HeatMap) -> Markup:
        """The words with the most weight, for those who do not see colours."""
        most = heat.most_read(self.picture.texts)
        told = ", ".join([f"{word} {self.number(weight)}" for word, weight in most])
        return Markup(f'<span class="unseen">Most read: {_escape(told)}.</span>')

    def table(self, text: int) -> Markup:
        """The rows of a table of every weight of a text, or of its most read words if it is long."""
        maps, words = list(self.picture.main), self.words[text]
        order = np.arange(len(words))
        if len(order) * (len(maps) + len(self.picture.rows)) <= _MOST_CELLS:
            maps += sorted(self.picture.rows, key=lambda row: row.rows)
        else:
            order = np.argsort(-np.abs(maps[-1].weights[text]), kind="stable")[:_TABLE_WORDS]
        cells = np.stack([heat.weights[text][order] for heat in maps], axis=1).tolist()
        number = self.number
        head = "".join(f"<th scope=col>{_escape(heat.name)}" for heat in maps)
        body = "\n".join(
            f"<tr><th scope=row dir=auto>{words[k]}" + "".join([f"<td>{number(weight)}" for weight in row])
            for k, row in zip(order, cells, strict=True)
        )
        return Markup(f"<thead><tr><th scope=col>Word{head}\n<tbody>\n{body}")

    def _whole(self, heat: HeatMap, text: int) -> str:
        return "".join(self._words(heat, text, 0, len(self.words[text]))) + self.gaps[text][-1]

    def _passages(self, heat: HeatMap, text: int) -> str:
        parts, at = [], 0
        for first, end in passages(heat.levels[text]):
            parts += [self._left_out(heat, text, at, first), *self._words(heat, text, first, end)]
            at = end
        return "".join([*parts, self._left_out(heat, text, at, len(self.words[text]))]).strip()

    def _words(self, heat: HeatMap, text: int, first: int, end: int) -> list[str]:
        cells = zip(
            self.gaps[text][first:end],
            self.words[text][first:end],
            heat.weights[text][first:end].tolist(),
            heat.levels[text][first:end].tolist(),
            self.picture.texts[text].known[first:end],
            strict=True,
        )
        number = self.number
        return [
            f"{gap}<b class=h{level} title={number(weight)}>{word}</b>"
            if level > 0 and known
            else f"{gap}<span title={number(weight)}>{word}</span>"
            if level == 0 and known
            else f"{gap}{_unusual(word, number(weight), level, known)}"
            for gap, word, weight, level, known in cells
        ]

    def _left_out(self, heat: HeatMap, text: int, first: int, end: int) -> str:
        if first == end:
            return ""
        total = float(np.abs(heat.weights[text][first:end]).sum())
        return f' <i title="{end - first:,} words, {self.number(total)} together">…</i> '


def _unusual(word: str, number: str, level: int, known: bool) -> str:
    """A word with negative weight, or one that the model does not know."""
    tag = "b" if level else "span"
    classes = [f"{'h' if level > 0 else 'c'}{abs(level)}"] * bool(level) + ["u"] * (not known)
    title = number if known else f"{number}, not in the vocabulary"
    return f'<{tag} class="{" ".join(classes)}" title="{title}">{word}</{tag}>'


def _escape(text: str) -> str:
    """Escaped for HTML; a carriage return too, which a browser would otherwise turn into a line feed."""
    return escape(text).replace("\r", "&#13;")


def theme_vars(theme: Theme) -> str:
    """A theme as custom properties."""
    scales = [f"--{letter}{k}:{colours[k]}" for letter, colours in (("h", theme.warm), ("c", theme.cold))
              for k in range(1, LEVELS + 1)]  # fmt: skip
    return ";".join(
        [
            f"--paper:{theme.paper}",
            f"--ink:{theme.ink}",
            f"--muted:{theme.muted}",
            f"--line:{theme.line}",
            *scales,
        ]
    )


@cache
def templates(package: str = __package__) -> Environment:
    """The templates of a package; those of the pictures are there for all."""
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(each) for each in dict.fromkeys((package, __package__))]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters["ranges"] = row_ranges
    environment.filters["visible"] = printable
    return environment


@cache
def _card_template() -> Template:
    return templates().get_template("card.html.jinja")
