"""Saves a reading in the format given by the file name, and turns it into JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import LimelightError
from ..storage.files import atomic_file
from .comparison import Comparison
from .html import to_page
from .png import to_png
from .row_groups import group_rows
from .svg import to_svg
from .terminal import to_terminal

if TYPE_CHECKING:
    from .comparison import Drawable

FORMATS = (".html", ".svg", ".png", ".json", ".txt")


def save_picture(
    reading: Drawable | list[Drawable | str], path: str | Path, *, overwrite: bool = True
) -> None:
    """Save a picture of a reading or a comparison as .html, .svg, .png, .json or .txt.

    A list of them, with headings among them if you like, makes one page: .html, .json (a list) or .txt.

    >>> save_picture(reading, "soup.html")  # doctest: +SKIP
    >>> save_picture(["Row 1", reading, "Row 2", other], "soups.html")  # doctest: +SKIP
    """
    path = Path(path)
    content = _render_page(reading, path) if isinstance(reading, list) else _render(reading, path)
    with atomic_file(path, overwrite) as file:
        file.write(content if isinstance(content, bytes) else content.encode())


def _render(reading: Drawable, path: Path) -> str | bytes:
    match path.suffix.lower():
        case ".html":
            compared = isinstance(reading, Comparison)
            return to_page([reading], title="Similarity of two texts" if compared else _TITLE)
        case ".svg":
            return to_svg(reading)
        case ".png":
            return to_png(reading)
        case ".json":
            return to_json(reading)
        case ".txt":
            return _plain(reading) + "\n"
    raise LimelightError(
        f"cannot draw {path.name}: the name must end in one of {', '.join(FORMATS)}", code="file-type"
    )


def _render_page(given: list[Drawable | str], path: Path) -> str:
    match path.suffix.lower():
        case ".html":
            return to_page(given, title=_TITLE)
        case ".json":
            return "[" + ",\n".join(to_json(each) for each in given if not isinstance(each, str)) + "]\n"
        case ".txt":
            return "\n\n".join(each if isinstance(each, str) else _plain(each) for each in given) + "\n"
    raise LimelightError(
        f"cannot draw several texts as {path.name}; end its name in .html, .json or .txt", code="file-type"
    )


_TITLE = "What decided, and what was read"


def _plain(reading: Drawable) -> str:
    return to_terminal(reading, colour=False, width=80)


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
