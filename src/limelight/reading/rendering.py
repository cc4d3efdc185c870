"""The Jinja templates and the style sheet of pages and pictures."""

from __future__ import annotations

from functools import cache

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from .colours import DARK, LEVELS, LIGHT, Theme
from .picture import row_ranges
from .pieces import printable


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
