"""The paper's settings by task and model."""

from __future__ import annotations

from typing import Any

from ..config.presets import preset
from ..config.recipe import Recipe
from ..errors import LimelightError

TASKS = ("yelp", "age", "snli")
CLASSES = {"yelp": 5, "age": 5, "snli": 3}
SPLITS = {  # rows: train, dev, test
    "yelp": (500_000, 2_000, 2_000),
    "age": (68_485, 4_000, 4_000),
    "snli": (549_367, 9_842, 9_824),
}

# What a model changes in its task's preset. Section 4.1: both baselines have an MLP of 3000 units, and of
# the two only the biLSTM's gradients are clipped.
CHANGES: dict[str, dict[str, Any]] = {
    "self-attention": {},
    "max": {"embedding": "max", "head_hidden": 3000},
    "cnn": {"embedding": "cnn", "head_hidden": 3000, "clip_norm": 0.0},
    "no-penalty": {"penalty": 0.0},
}

# Appendix A. The pruning table has b = 4000 for Age where the text has 2000; p and q are each task's own.
ORIGINAL = {"yelp": "self-attention", "age": "b4000", "snli": "self-attention"}
UNITS = {"yelp": (150, 10), "age": (25, 20), "snli": (300, 10)}


def setting(task: str, model: str) -> Recipe:
    """The paper's recipe for a model on a task.

    >>> setting("age", "cnn").model.head_hidden, setting("age", "pruned").model.row_units
    (3000, 25)
    >>> setting("snli", "r5").model.rows
    5
    """
    recipe = preset(task)
    if model == "pruned":
        p, q = UNITS[task]
        return recipe.override(head="pruned", row_units=p, column_units=q)
    if model == "b4000":
        return recipe.override(head_hidden=4000)
    if model == "author":
        return preset(f"{task}-author")
    if model.startswith("r") and model[1:].isdigit():
        # all curves of a figure have the same length
        return recipe.override(rows=int(model[1:]), patience=0)
    if model not in CHANGES:
        raise LimelightError(f"the paper has no model {model!r}; it has: {', '.join(CHANGES)}")
    return recipe.override(**CHANGES[model])
