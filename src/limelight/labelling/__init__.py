"""From texts without labels to a labelled table: which text to label next, what is learnt, how accurate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import lazy

if TYPE_CHECKING:
    from .session import LabelSession

__all__ = ["LabelSession"]

__getattr__, __dir__ = lazy(__name__, {"session": "LabelSession"})
