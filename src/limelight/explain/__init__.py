"""Pictures of what a model reads, reports on data sets, and how far both can be trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .data import to_json
from .html import compare_html, to_html, to_page
from .png import to_png
from .save import save_picture
from .svg import to_svg
from .terminal import to_terminal

if TYPE_CHECKING:
    from .attribution import attribute
    from .report import save_report, to_report
    from .trust import agreement, measure_trust

__all__ = [
    "agreement", "attribute", "compare_html", "measure_trust", "save_picture", "save_report", "to_html",
    "to_json", "to_page", "to_png", "to_report", "to_svg", "to_terminal",
]  # fmt: skip

# What needs a model is imported when it is first asked for: drawing a Reading needs none.
_LATER = {
    "agreement": "trust", "attribute": "attribution", "measure_trust": "trust", "save_report": "report",
    "to_report": "report",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f".{_LATER[name]}", __name__), name)
