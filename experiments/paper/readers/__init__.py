"""Readers for the official distributions: they turn downloads into train, dev and test tables.

Every reader writes the same folder: train.jsonl, dev.jsonl and test.jsonl with the columns text and label
(or premise, hypothesis and label; author too for PAN), and about.json with the source, seed and counts.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from limelight.errors import LimelightError

from .hub import prepare_snli_hub, prepare_yelp_hub
from .pan import prepare_pan
from .prepared import About
from .snli import prepare_snli
from .yelp import prepare_yelp, prepare_yelp_full

SOURCES: dict[str, Callable[..., About]] = {
    "snli": prepare_snli,
    "yelp": prepare_yelp,
    "yelp-full": prepare_yelp_full,
    "pan": prepare_pan,
    "snli-hub": prepare_snli_hub,
    "yelp-hub": prepare_yelp_hub,
}


def prepare(name: str, source: str | Path, out: str | Path, **options: Any) -> About:
    """Run the reader `name` of `SOURCES` with these of its options; return the content of about.json.

    >>> prepare("pan", "pan16-english", "data/age", by="author", seed=3)  # doctest: +SKIP
    >>> prepare("snli", "snli_1.0.zip", "data/snli", seed=3)
    Traceback (most recent call last):
    limelight.errors.LimelightError: snli has no option seed; it has: overwrite
    """
    if name not in SOURCES:
        raise LimelightError(
            f"unknown reader {name!r}; choose from: {', '.join(SOURCES)}", code="reader-unknown"
        )
    known = list(inspect.signature(SOURCES[name]).parameters)[2:]
    for option in options:
        if option not in known:
            raise LimelightError(
                f"{name} has no option {option}; it has: {', '.join(known)}", code="option-unknown"
            )
    return SOURCES[name](source, out, **options)
