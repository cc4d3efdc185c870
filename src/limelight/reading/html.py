"""Heat maps as HTML: fragments for a notebook or any page, and whole pages. No network, no script."""

from collections.abc import Iterable, Sequence
from functools import cache
from html import escape
from typing import Any

import numpy as np
from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ..errors import LimelightError, no_rows
from . import captions
from .colours import DARK, LEVELS, LIGHT, HeatMap, Theme, colour_class, levels
from .comparison import Drawable
from .links import Links, draw_links, signed
from .picture import Picture, make_picture
from .pieces import passages, printable
from .reading import Shown

_MAX_TABLE_CELLS = 3_000  # of all weights; for a longer text it shows the most read words
_MAX_TABLE_WORDS = 100
ANSWER_FIRST = 3  # pictures of a page; above more of them it says first what they show


def to_html(reading: Drawable, *, rows: bool = False) -> str:
    """A reading or a comparison as a self-contained HTML fragment, for a notebook or any page.

    What each row read opens with a click; with `rows` it is open.

    >>> from limelight.reading.reading import GOOD_SOUP
    >>> "<b class=h9 title=+0.700>Good</b>" in to_html(GOOD_SOUP)
    True
    """
    return f"<style>{style()}</style>\n{card(make_picture(reading), rows=rows)}"


def to_page(
    readings: Iterable[Drawable | str], *, title: str = "Limelight", about: Sequence[str] = (),
    rows: bool = False,
) -> str:  # fmt: skip
    """A whole page of readings, which explains what it shows; `about` are paragraphs to begin with.

    What each row read opens with a click; with `rows` it is open. A string among the readings is a heading.

    >>> from limelight.reading.reading import GOOD_SOUP
    >>> to_page(["Lunch", GOOD_SOUP])[:15]
    '<!doctype html>'
    """
    if isinstance(readings, Shown):
        raise LimelightError("a page takes a list of readings; put this one in a list", code="argument-type")
    cards: list[Markup] = []
    pictures: list[Picture] = []
    for each in readings:
        if isinstance(each, str):
            cards.append(Markup("<h2>{}</h2>").format(each))
            continue
        pictures.append(make_picture(each))
        cards.append(card(pictures[-1], explained=False, rows=rows))
    if not pictures:
        raise no_rows("no readings to draw; give at least one")
    given: dict[str, Any] = {"title": title, "about": about, "style": style()}
    given |= {"notes": explanation(pictures), "many": len(pictures) > ANSWER_FIRST}
    return str(_render("page.html.jinja", body=Markup("\n").join(cards), **given))


def explanation(pictures: Sequence[Picture]) -> Markup:
    """What pictures show and how far to trust it, once for all of them."""
    return _render(
        "explanation.html.jinja", decided=any(picture.decided for picture in pictures),
        methods=dict.fromkeys(picture.method for picture in pictures if picture.method),
        aspects=any(picture.aspects for picture in pictures),
        counts={len(picture.rows) for picture in pictures if picture.rows},
        trust=dict.fromkeys(picture.trust for picture in pictures if picture.decided),
    )  # fmt: skip


def card(picture: Picture, *, explained: bool = True, rows: bool = False) -> Markup:
    """One picture as HTML, without its styles; `explained` adds what it shows and how far to trust it."""
    painter, groups = WordPainter(picture), picture.shown_groups
    return _render(
        "card.html.jinja", picture=picture, painter=painter, levels=LEVELS, groups=groups,
        is_open=rows,
        rows=() if len(groups) == len(picture.rows) else picture.rows, tables=painter.tables(),
        notes=explanation([picture]) if explained else "",
        drawing=draw_links(picture.texts, picture.first, picture.links) if picture.links else None,
    )  # fmt: skip


def _render(template: str, **given: Any) -> Markup:
    return Markup(templates().get_template(template).render(captions=captions, **given))


class WordPainter:
    """Draws the heat maps of one picture as coloured words, escaping its texts only once."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.words = [[_escape(word) for word in text.words] for text in picture.texts]
        self.gaps = [[_escape(gap) for gap in text.gaps] for text in picture.texts]

    def maps(self, heat: HeatMap, brief: bool) -> Markup:
        """The coloured text, or both texts of a pair; with `brief`, only passages of long texts."""
        found = [
            f'<p dir="auto">{self._text(heat, text, brief)}</p>'
            if pieces.text
            else '<p class="empty">empty text</p>'
            for text, pieces in enumerate(self.picture.texts)
        ]
        return Markup(f'<div class="texts">{"".join(found)}</div>')

    def strongest(self, heat: HeatMap) -> Markup:
        """The words with the most weight, for screen readers."""
        words = ", ".join(map(" ".join, self.picture.strongest(heat)))
        return Markup(f'<span class="unseen">Strongest: {_escape(words)}.</span>')

    def tables(self) -> list[Markup]:
        """All weights as tables, or of a comparison what each pair of words contributes."""
        if self.picture.links:
            return [self._matrix(self.picture.links)]
        return [self._table(text) for text in range(len(self.picture.texts))] if self.picture.groups else []

    def _table(self, text: int) -> Markup:
        """The rows of a table of all weights of a text; for a long text, of its most read words."""
        maps, words = [self.picture.first], self.words[text]
        order = np.arange(len(words))
        if len(order) * (len(maps) + len(self.picture.rows)) <= _MAX_TABLE_CELLS:
            maps += sorted(self.picture.rows, key=lambda row: row.rows)
        else:
            order = np.argsort(-np.abs(maps[-1].weights[text]), kind="stable")[:_MAX_TABLE_WORDS]
        cells = np.stack([heat.weights[text][order] for heat in maps], axis=1).tolist()
        first, rest = self.picture.number(maps[0]), self.picture.number(self.picture.overall)
        head = "".join(f"<th scope=col>{_escape((heat.note or heat.name).capitalize())}" for heat in maps)
        body = "\n".join(
            f"<tr><th scope=row dir=auto>{words[k]}<td>{first(row[0])}"
            + "".join([f"<td>{rest(weight)}" for weight in row[1:]])
            for k, row in zip(order, cells, strict=True)
        )
        if (bias := maps[0].bias) is not None:
            body += f"\n<tr><th scope=row>without a word<td>{first(bias)}" + "<td>" * (len(maps) - 1)
        return Markup(f"<thead><tr><th scope=col>Word{head}\n<tbody>\n{body}")

    def _matrix(self, links: Links) -> Markup:
        """The rows of a table of what each pair of words contributes; for long texts, of the words drawn."""
        rows, columns = (list(range(size)) for size in links.matrix.shape)
        if links.matrix.size > _MAX_TABLE_CELLS:
            rows, columns = links.columns()
        shades = levels(links.matrix, links.top)
        head = "".join(f"<th scope=col>{self.words[1][t]}" for t in columns)
        body = "\n".join(
            f"<tr><th scope=row dir=auto>{self.words[0][s]}"
            + "".join(f"<td{_shade(shades[s, t])}>{signed(links.matrix[s, t])}" for t in columns)
            for s in rows
        )
        return Markup(f"<thead><tr><th>{head}\n<tbody>\n{body}")

    def _text(self, heat: HeatMap, text: int, brief: bool) -> str:
        """The clauses of an aspect, the whole text or passages of it."""
        if heat.clauses is not None:
            return " <i>…</i> ".join("".join(self._words(heat, text, *each)).strip() for each in heat.clauses)
        if not brief or not self.picture.is_long:
            return "".join(self._words(heat, text, 0, len(self.words[text]))) + self.gaps[text][-1]
        parts, at = [], 0
        for first, end in passages(heat.levels[text]):
            parts += [self._ellipsis(heat, text, at, first), *self._words(heat, text, first, end)]
            at = end
        return "".join([*parts, self._ellipsis(heat, text, at, len(self.words[text]))]).strip()

    def _words(self, heat: HeatMap, text: int, first: int, end: int) -> list[str]:
        written = self.gaps[text][first:end], self.words[text][first:end]
        drawn = heat.weights[text][first:end].tolist(), heat.levels[text][first:end].tolist()
        cells = zip(*written, *drawn, self.picture.texts[text].known[first:end], strict=True)
        number = self.picture.number(heat)
        return [
            f"{gap}<b class=h{level} title={number(weight)}>{word}</b>"
            if level > 0 and known
            else f"{gap}<span title={number(weight)}>{word}</span>"
            if level == 0 and known
            else f"{gap}{_marked_word(word, number(weight), level, known)}"
            for gap, word, weight, level, known in cells
        ]

    def _ellipsis(self, heat: HeatMap, text: int, first: int, end: int) -> str:
        if first == end:
            return ""
        total = float(np.abs(heat.weights[text][first:end]).sum())
        return f' <i title="{end - first:,} words, {self.picture.number(heat)(total)} together">…</i> '


def _shade(level: int) -> str:
    return f" class={colour_class(level)}" if level else ""


def _marked_word(word: str, number: str, level: int, known: bool) -> str:
    tag = "b" if level else "span"
    classes = [colour_class(level)] * bool(level) + ["u"] * (not known)
    title = number if known else f"{number}, not in the vocabulary"
    return f'<{tag} class="{" ".join(classes)}" title="{title}">{word}</{tag}>'


def _escape(text: str) -> str:
    """Escape for HTML, carriage returns too: a browser would turn them into line feeds."""
    return escape(text).replace("\r", "&#13;")


@cache
def templates(package: str = __package__) -> Environment:
    """The templates of a package, which may include those of the pictures."""
    loader = ChoiceLoader([PackageLoader(each) for each in dict.fromkeys((package, __package__))])
    blanks: dict[str, Any] = {"trim_blocks": True, "lstrip_blocks": True}
    found = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, auto_reload=False, **blanks
    )
    found.filters |= {"visible": printable, "signed": signed}
    return found


@cache
def style() -> Markup:
    return render_style(templates(), "style.css.jinja")


def render_style(environment: Environment, name: str, **given: Any) -> Markup:
    """A style sheet with the colours of both themes, on one line."""
    colours = {"light": LIGHT, "dark": DARK, "levels": LEVELS, "properties": _custom_properties}
    sheet = environment.get_template(name).render(colours | given)
    return Markup("".join(line.strip() for line in sheet.splitlines()))


def _custom_properties(theme: Theme) -> str:
    scales = (("h", theme.warm), ("c", theme.cold))
    colours = {
        **{name: getattr(theme, name) for name in ("paper", "ink", "muted", "line")},
        "shade": f"{theme.muted}59",  # see-through, for the edge of what can be scrolled
        **{f"{letter}{k}": scale[k] for letter, scale in scales for k in range(1, LEVELS + 1)},
    }
    return ";".join(f"--{name}:{colour}" for name, colour in colours.items())
