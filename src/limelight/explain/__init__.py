"""Pictures of what a model reads."""

from __future__ import annotations

from ..reading import PairReading, Reading


def to_html(reading: Reading | PairReading) -> str:
    """A Reading as a fragment of HTML."""
    raise NotImplementedError
