"""The model card: the README.md of a saved folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..reading import Label
from ..recipe import Recipe


def model_card(
    *, recipe: Recipe, labels: Sequence[Label], pair: bool, vocabulary: int, facts: Mapping[str, Any]
) -> str:
    return "# A Limelight model\n"
