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
        file.write(content)


def _render(reading: Drawable, path: Path) -> bytes:
    match path.suffix.lower():
        case ".html":
            return to_page([reading], title=_title(reading)).encode()
        case ".svg":
            return to_svg(reading).encode()
        case ".png":
            return to_png(reading)
        case ".json":
            return to_json(reading).encode()
        case ".txt":
            return (to_terminal(reading, colour=False, width=80) + "\n").encode()
    raise LimelightError(f"cannot draw {path.name}: the name must end in one of {', '.join(FORMATS)}")


def _render_page(given: list[Drawable | str], path: Path) -> bytes:
    match path.suffix.lower():
        case ".html":
            return to_page(given, title="What decided, and what was read").encode()
        case ".json":
            found = [to_json(each) for each in given if not isinstance(each, str)]
            return ("[" + ",\n".join(found) + "]\n").encode()
        case ".txt":
            shown = [
                each if isinstance(each, str) else to_terminal(each, colour=False, width=80) for each in given
            ]
            return ("\n\n".join(shown) + "\n").encode()
    raise LimelightError(f"cannot draw several texts as {path.name}; end its name in .html, .json or .txt")


def _title(reading: Drawable) -> str:
    return "Similarity of two texts" if isinstance(reading, Comparison) else "What decided, and what was read"


def to_json(reading: Drawable) -> str:
    """The reading's numbers as JSON; rows are counted from 0, in the order of `attention`.

    >>> import numpy as np
    >>> from limelight.reading import Reading
    >>> reading = Reading(
    ...     text="Good soup", offsets=np.array([[0, 4], [5, 9]]), known=np.ones(2, bool),
    ...     attention=np.array([[0.9, 0.1], [0.8, 0.2]]), embedding=np.zeros((2, 4)),
    ...     labels=("bad", "good"), probabilities=np.array([0.2, 0.8]))
    >>> json.loads(to_json(reading))["groups"]
    [{'rows': [0, 1], 'focus': 0.39...}]
    """
    content: dict[str, Any] = reading.to_dict()
    if not isinstance(reading, Comparison):
        groups = group_rows(tuple(each.attention for each in reading.sides))
        content["groups"] = [{"rows": list(group.rows), "focus": group.focus} for group in groups]
    return json.dumps(content)
