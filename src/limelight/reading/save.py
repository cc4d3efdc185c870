"""Saves a picture in the format given by the file name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import LimelightError
from ..storage.files import atomic_file
from .as_json import to_json
from .html import card, page
from .picture import Weights, make_picture
from .png import to_png
from .svg import to_svg
from .terminal import to_terminal

if TYPE_CHECKING:
    from .reading import AnyReading

FORMATS = (".html", ".svg", ".png", ".json", ".txt")


def save_picture(reading: AnyReading, path: str | Path, *, weights: Weights | None = None) -> None:
    """Save a picture of a reading as .html, .svg, .png, .json or .txt.

    >>> save_picture(reading, "soup.html")  # doctest: +SKIP
    """
    path = Path(path)
    content = _render(reading, path, weights)
    with atomic_file(path) as file:
        file.write(content)


def _render(reading: AnyReading, path: Path, weights: Weights | None) -> bytes:
    match path.suffix.lower():
        case ".html":
            return page(card(make_picture(reading, weights)), title="Limelight").encode()
        case ".svg":
            return to_svg(reading, weights=weights).encode()
        case ".png":
            return to_png(reading, weights=weights)
        case ".json":
            return to_json(reading, weights=weights).encode()
        case ".txt":
            return (to_terminal(reading, weights=weights, colour=False, width=80) + "\n").encode()
    raise LimelightError(f"cannot draw {path.name}: the name must end in one of {', '.join(FORMATS)}")
