"""Why a model predicts what it does: which words count, how far to trust a picture, reports on data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import lazy

if TYPE_CHECKING:
    from .attribution import explain_by
    from .joint import joint_words
    from .lifts import measure_lifts
    from .report import save_report
    from .trust import measure_trust

__all__ = ["explain_by", "joint_words", "measure_lifts", "measure_trust", "save_report"]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "attribution": "explain_by",
        "joint": "joint_words",
        "lifts": "measure_lifts",
        "report": "save_report",
        "trust": "measure_trust",
    },
)
