"""Saves a reading in the format given by the file name; PNG, drawn by resvg from the SVG, and JSON."""

import json
import re
import unicodedata
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any

from ..bundled import FONT_FAMILY, font_files
from ..errors import need, warn, wrong_file
from ..storage.files import write_file
from .comparison import Comparison, Drawable
from .html import to_page
from .rows import group_rows
from .svg import to_svg
from .terminal import to_terminal

_OF_SEVERAL = (".html", ".json", ".txt")
_OF_ONE = (".html", ".svg", ".png", ".json", ".txt")
_TITLE, _SIMILARITY = "What decided, and what was read", "Similarity of two texts"
_MAX_HEIGHT = 16_000  # pixels of a PNG: a longer text is drawn smaller, because nothing could open it

_BUNDLED = "\u0600"  # from Arabic on, the bundled typeface lacks most letters
_MOST_TRIED = 20  # characters drawn alone, to see whether a font has them
_UNASSIGNED = "\U0010fffd"  # for private use, so that no font has it


def save_picture(
    reading: Drawable | list[Drawable | str], path: str | Path, *, overwrite: bool = True, rows: bool = False
) -> None:
    """Save a picture of a reading or a comparison as .html, .svg, .png, .json or .txt; with `rows`, with what
    each row read.

    A list of them, with headings among them if you like, makes one page: .html, .json (a list) or .txt.

    >>> save_picture(reading, "soup.html")  # doctest: +SKIP
    >>> save_picture(["Row 1", reading, "Row 2", other], "soups.html")  # doctest: +SKIP
    """
    path, several = Path(path), isinstance(reading, list)
    formats, kind = (_OF_SEVERAL if several else _OF_ONE), path.suffix.lower()
    if kind not in formats:
        what = f"{'several texts as ' * several}{path.name}"
        raise wrong_file(f"cannot draw {what}: the name must end in one of {', '.join(formats)}")
    content = _draw_as(kind, reading if isinstance(reading, list) else [reading], several, rows)
    write_file(path, content, overwrite)


def _draw_as(kind: str, given: list[Drawable | str], several: bool, rows: bool) -> str | bytes:
    if kind == ".html":
        is_comparison = not several and isinstance(given[0], Comparison)
        return to_page(given, title=_SIMILARITY if is_comparison else _TITLE, rows=rows)
    if kind == ".txt":
        plain: Any = {"colour": False, "width": 80, "rows": rows}
        drawn = (each if several and isinstance(each, str) else to_terminal(each, **plain) for each in given)  # type: ignore[arg-type]
        return "\n\n".join(drawn) + "\n"
    one: Any = given[0]
    if kind == ".json":
        found = ",\n".join(to_json(each) for each in given if not isinstance(each, str))
        return f"[{found}]\n" if several else found
    if kind == ".svg":
        return to_svg(one, rows=rows)
    assert kind == ".png"
    return to_png(one, rows=rows)


def to_json(reading: Drawable) -> str:
    """The reading's numbers as JSON; rows are counted from 0, in the order of `attention`.

    >>> from limelight.reading.reading import GOOD_SOUP
    >>> json.loads(to_json(GOOD_SOUP))["groups"]
    [{'rows': [0, 1], 'focus': 0.118...}]
    """
    content: dict[str, Any] = reading.to_dict()
    if not isinstance(reading, Comparison):
        groups = group_rows(tuple(each.attention for each in reading.sides))
        content["groups"] = [{"rows": list(group.rows), "focus": group.focus} for group in groups]
    return json.dumps(content)


def to_png(reading: Drawable, *, rows: bool = False) -> bytes:
    """A reading as a PNG picture, at twice the size of its SVG for sharp screens."""
    return svg_to_png(to_svg(reading, rows=rows))


def svg_to_png(svg: str) -> bytes:
    """Any SVG that says its height, as PNG at twice its size."""
    resvg = need("resvg_py", "a PNG picture", "pictures")
    if missing := _missing(svg):
        warn(
            f"no font on this machine has {' '.join(missing)}: the PNG shows boxes; install one that has, or "
            "save .svg or .html, which the reader's own fonts draw"
        )
    height = int(re.search(r'height="(\d+)"', svg)[1])  # type: ignore[index]
    return bytes(resvg.svg_to_bytes(svg_string=svg, zoom=min(2.0, _MAX_HEIGHT / height), **_fonts()))


def _missing(svg: str) -> list[str]:
    """The characters of a picture that no font can draw, among the first that the bundled one may lack."""
    text = unescape(re.sub(r"(?s)<style.*?</style>|<[^>]*>", "", svg))
    letters = [c for c in dict.fromkeys(text) if c > _BUNDLED and unicodedata.category(c)[0] in "LNS"]
    return [c for c in letters[:_MOST_TRIED] if _draw(c) == _draw(_UNASSIGNED)]


@cache
def _draw(character: str) -> bytes:
    """A character alone. The renderer does not say what it cannot draw, but gives it the box of any such."""
    import resvg_py

    text = f'<text y="20">{character}</text>'
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" width="40" height="30">{text}</svg>'
    return bytes(resvg_py.svg_to_bytes(svg_string=svg, **_fonts()))


def _fonts() -> dict[str, Any]:
    """The bundled typeface in place of any other, so that a picture is the same on every machine.

    The machine's own fonts stay within reach, for letters that it lacks: Arabic, Chinese, emoji.
    """
    everywhere = f"*{{font-family:'{FONT_FAMILY}' !important}}"
    return {"font_files": [str(path) for path in font_files()], "style_sheet": everywhere}
