"""Options as earlier versions wrote them into saved folders, runs and checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import LimelightError

RENAMED = {
    "rate": "learning_rate", "batch": "batch_size", "l2": "weight_decay", "optimiser": "optimizer",
    "tune_words": "fine_tune_words", "judge_after": "min_steps", "halve": "halve_on_plateau",
    "average": "ema_decay", "teaching": "teacher_weight", "project": "projection",
    "spare_words": "extra_words", "missing": "missing_vectors", "attention_bias": "author_code",
}  # fmt: skip
TRAINING_ONLY = {  # a trained network does not depend on these
    "initialisation", "clip_value", "consistency", "dropout_layers", "dropout_rows", "label_smoothing",
}  # fmt: skip
REMOVED = {"attention": "structured", "filter_width": 3, "head_layers": 1}  # the one value that is left


def upgrade(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options under their present names, without those that are gone.

    >>> upgrade({"rate": 0.06, "label_smoothing": 0.1, "rows": 8})
    {'learning_rate': 0.06, 'rows': 8}
    >>> upgrade({"head_layers": 2})
    Traceback (most recent call last):
    limelight.errors.LimelightError: head_layers is 2, which only Limelight 0.1 knows; this version has only 1
    """
    found = {}
    for name, value in options.items():
        if name in REMOVED and value != REMOVED[name]:
            only = f"this version has only {REMOVED[name]!r}"
            raise LimelightError(f"{name} is {value!r}, which only Limelight 0.1 knows; {only}")
        if name not in REMOVED and name not in TRAINING_ONLY:
            found[RENAMED.get(name, name)] = value
    return found
