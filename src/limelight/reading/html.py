"""Heat maps as HTML: fragments for a notebook or any page, and whole pages. No network, no script."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, cast

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ..errors import LimelightError
from . import captions
from .colours import DARK, LEVELS, LIGHT, Theme
from .html_words import WordPainter
from .links import signed
from .links_svg import draw_links
from .picture import Picture, make_picture, share_scale
from .pieces import printable
from .reading import Shown

if TYPE_CHECKING:
    from .comparison import Drawable


def to_html(reading: Drawable) -> str:
    """A reading or a comparison as a self-contained HTML fragment, for a notebook or any page.

    >>> from limelight.reading.reading import GOOD_SOUP
    >>> "<b class=h9 title=+0.700>Good</b>" in to_html(GOOD_SOUP)
    True
    """
    return _with_style(card(make_picture(reading)))


def compare_html(readings: Sequence[Drawable], names: Sequence[str]) -> str:
    """The same text as several models read it, side by side on one colour scale, as an HTML fragment.

    >>> from limelight.reading.reading import GOOD_SOUP
    >>> html = compare_html([GOOD_SOUP, GOOD_SOUP], names=["without penalty", "with penalty"])
    >>> html.index("without penalty") < html.index("with penalty<")
    True
    """
    return _with_style(_side_by_side([make_picture(each) for each in readings], names))


def to_page(
    readings: Iterable[Drawable | Sequence[Drawable] | str],
    *,
    title: str = "Limelight",
    names: Sequence[str] = (),
    about: Sequence[str] = (),
) -> str:
    """A whole page of readings, which explains what it shows; `about` are paragraphs to begin with.

    A string among the readings is a heading, and a sequence is drawn side by side, one model each, under
    `names`.

    >>> from limelight.reading.reading import GOOD_SOUP
    >>> to_page(["Lunch", GOOD_SOUP, (GOOD_SOUP, GOOD_SOUP)], names=["Monday", "Tuesday"])[:15]
    '<!doctype html>'
    """
    if isinstance(readings, Shown):
        raise LimelightError(
            "a page takes a list of readings; got one: put it in a list", code="argument-type"
        )
    cards: list[Markup] = []
    pictures: list[Picture] = []
    for each in readings:
        if isinstance(each, str):
            cards.append(Markup("<h2>{}</h2>").format(each))
            continue
        if isinstance(each, Sequence):
            drawn = [make_picture(one) for one in cast("Sequence[Drawable]", each)]
            cards.append(_side_by_side(drawn, names))
        else:
            drawn = [make_picture(each)]
            cards.append(card(drawn[0], explained=False))
        pictures += drawn
    if not pictures:
        raise LimelightError("no readings to draw; give at least one", code="no-rows")
    return templates().get_template("page.html.jinja").render(
        body=Markup("\n").join(cards), title=title, about=about, notes=explanation(pictures), style=style()
    )  # fmt: skip


def explanation(pictures: Sequence[Picture]) -> Markup:
    """What pictures show and how far to trust it, once for all of them."""
    html = templates().get_template("explanation.html.jinja").render(
        decided=any(picture.decided for picture in pictures),
        methods=dict.fromkeys(picture.method for picture in pictures if picture.method),
        counts={len(picture.rows) for picture in pictures if picture.rows},
        trust=dict.fromkeys(picture.trust for picture in pictures if picture.decided), captions=captions,
    )  # fmt: skip
    return Markup(html)


def _with_style(card: Markup) -> str:
    return f"<style>{style()}</style>\n{card}"


def _side_by_side(pictures: Sequence[Picture], names: Sequence[str]) -> Markup:
    if len(pictures) != len(names):
        raise LimelightError(
            f"got {len(pictures)} readings side by side and {len(names)} names; give each reading a name",
            code="names-count",
        )
    drawn = zip(share_scale(pictures), names, strict=True)
    cards = Markup("\n").join(card(each, name, explained=False) for each, name in drawn)
    return Markup('<div class="limelight-beside">\n{}\n</div>').format(cards)


def card(picture: Picture, name: str = "", *, explained: bool = True) -> Markup:
    """One picture as HTML, without its styles; `explained` adds what it shows and how far to trust it."""
    painter, groups = WordPainter(picture), picture.shown_groups
    html = templates().get_template("card.html.jinja").render(
        name=name, picture=picture, painter=painter, levels=LEVELS, captions=captions, groups=groups,
        rows=() if len(groups) == len(picture.rows) else picture.rows, tables=_tables(picture, painter),
        notes=explanation([picture]) if explained else "",
        drawing=draw_links(picture, picture.links) if picture.links else None,
    )  # fmt: skip
    return Markup(html)


def _tables(picture: Picture, painter: WordPainter) -> list[Markup]:
    if picture.links:
        return [painter.matrix(picture.links)]
    return [painter.table(text) for text in range(len(picture.texts))] if picture.groups else []


# ---------------------------------------------------------------- templates and style sheets


@cache
def templates(package: str = __package__) -> Environment:
    """The templates of a package, which may include those of the pictures."""
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(each) for each in dict.fromkeys((package, __package__))]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters["visible"] = printable
    environment.filters["signed"] = signed
    return environment


@cache
def style() -> Markup:
    """The style sheet of the pictures, for one `<style>` element."""
    return render_style(templates(), "style.css.jinja")


def render_style(environment: Environment, name: str) -> Markup:
    """A style sheet with the colours of both themes, on one line."""
    sheet = environment.get_template(name).render(
        light=LIGHT, dark=DARK, levels=LEVELS, properties=_custom_properties
    )
    return Markup("".join(line.strip() for line in sheet.splitlines()))


def _custom_properties(theme: Theme) -> str:
    """The colours of a theme as CSS custom properties."""
    scales = (("h", theme.warm), ("c", theme.cold))
    colours = {
        **{name: getattr(theme, name) for name in ("paper", "ink", "muted", "line")},
        "shade": f"{theme.muted}59",  # see-through, for the edge of what can be scrolled
        **{f"{letter}{k}": scale[k] for letter, scale in scales for k in range(1, LEVELS + 1)},
    }
    return ";".join(f"--{name}:{colour}" for name, colour in colours.items())
