"""Names that say nothing of what they hold, which reviews have replaced; none comes back."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import limelight

SOURCE = Path(limelight.__file__).parent
FORBIDDEN = {  # name: what we write
    "OF_GROUP": "GROUP_WEIGHT", "OF_MODEL": "MAX_MODEL_WEIGHT", "OF_MARKS": "MARK_WEIGHT",
    "OF_PAIRS": "PAIR_STRENGTH", "USUAL": "DEFAULT_...",
    "FEWEST": "MIN_...", "MOST": "MAX_...", "FEW": "MIN_...",
    "JUDGED": "MIN_RANDOM_SHARE", "DRAWN": "MAX_SAMPLE", "SKILLED": "MIN_GAIN", "KNOWN": "HORIZON",
    "NEXT": "HORIZON", "WORTH": "MIN_GAIN", "WAYS": "SCORERS", "FADED": "DENORMAL_LIMIT", "LITTLE": "MAX_...",
    "HARDLY": "MIN_...", "_hands": "_assigned", "goes_on": "continued_from", "way_of": "attribution_method",
    "can_go_on": "is_resumable", "picture_facts": "explanation_facts",
    "started_once": "locked_cached_property", "Lesson": "PretrainData", "LESSONS": "NEEDS_SOFT_TARGETS",
    "any_text": "utf8_streams",
}  # fmt: skip


def names(source: str) -> set[str]:
    """All names of a module: what it defines, imports, takes and reads."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        for field in ("id", "name", "attr", "arg", "asname"):
            value = getattr(node, field, None)
            found |= {value} if isinstance(value, str) else set()
    return found


@pytest.mark.parametrize(
    "source", ["WAYS = ()", "def goes_on(): pass", "from a import MOST", "x.FADED", "f(goes_on=1)"]
)
def test_a_forbidden_name_is_found(source):
    assert names(source) & set(FORBIDDEN)


def test_no_forbidden_name_is_used():
    found = {
        path.relative_to(SOURCE).as_posix(): names(path.read_text()) & set(FORBIDDEN)
        for path in SOURCE.rglob("*.py")
    }
    assert {name: kept for name, kept in found.items() if kept} == {}
