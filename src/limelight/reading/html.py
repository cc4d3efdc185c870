"""Heat maps as HTML: fragments for a notebook or any page, and whole pages. No network, no script."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ..errors import LimelightError
from .colours import DARK, LEVELS, LIGHT, Theme
from .html_words import WordPainter
from .links import signed
from .links_svg import draw_links
from .picture import MOST_CLASSES, MOST_GROUPS, Picture, Weights, make_picture, row_ranges, share_scale
from .pieces import printable

if TYPE_CHECKING:
    from .comparison import Drawable


def to_html(reading: Drawable, *, weights: Weights | None = None) -> str:
    """A reading or a comparison as a self-contained HTML fragment, for a notebook or any page.

    `weights` adds other attributions of the words, by name, above the attention.

    >>> import numpy as np
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
    return _with_style(card(make_picture(reading, weights)))


def compare_html(readings: Sequence[Drawable], names: Sequence[str]) -> str:
    """The same text as several models read it, side by side on one colour scale, as an HTML fragment.

    >>> import numpy as np
    >>> from limelight.reading import Reading
    >>> reading = Reading(
    ...     text="Soup", offsets=np.array([[0, 4]]), known=np.ones(1, bool), attention=np.ones((1, 1)),
    ...     embedding=np.zeros((1, 4)), labels=("bad", "good"), probabilities=np.array([0.2, 0.8]))
    >>> html = compare_html([reading, reading], names=["without penalty", "with penalty"])
    >>> html.index("without penalty") < html.index("with penalty<")
    True
    """
    return _with_style(_side_by_side(readings, names))


def to_page(
    readings: Iterable[Drawable | Sequence[Drawable]], *, title: str = "Limelight", names: Sequence[str] = ()
) -> str:
    """A whole page of readings. A sequence among them is drawn side by side, one model each, under `names`.

    >>> import numpy as np
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
        _side_by_side(each, names) if isinstance(each, Sequence) else card(make_picture(each))
        for each in readings
    ]
    if not cards:
        raise LimelightError("no readings to draw; give at least one")
    return page(Markup("\n").join(cards), title)


def page(body: Markup, title: str) -> str:
    """A page around cards, with the styles they need."""
    return templates().get_template("page.html.jinja").render(body=body, title=title, style=style())


def _with_style(card: Markup) -> str:
    return f"<style>{style()}</style>\n{card}"


def _side_by_side(readings: Sequence[Drawable], names: Sequence[str]) -> Markup:
    if len(readings) != len(names):
        raise LimelightError(
            f"got {len(readings)} readings side by side and {len(names)} names; give each reading a name"
        )
    pictures = share_scale([make_picture(each) for each in readings])
    cards = Markup("\n").join(card(each, name) for each, name in zip(pictures, names, strict=True))
    return Markup('<div class="limelight-beside">\n{}\n</div>').format(cards)


def card(picture: Picture, name: str = "") -> Markup:
    """One picture as HTML, without its styles."""
    painter = WordPainter(picture)
    shown = picture.groups[:MOST_GROUPS]
    rows_are_shown = len(shown) == len(picture.rows)
    html = (
        templates()
        .get_template("card.html.jinja")
        .render(
            name=name,
            picture=picture,
            most_classes=MOST_CLASSES,
            groups=shown,
            rows=() if rows_are_shown else picture.rows,
            tables=_tables(picture, painter),
            painter=painter,
            levels=LEVELS,
            drawing=draw_links(picture, picture.links) if picture.links else None,
        )
    )
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
    environment.filters["ranges"] = row_ranges
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
