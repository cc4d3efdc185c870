"""What a page says of a model, wherever that runs."""

from __future__ import annotations

from typing import Any

from ..reading import captions
from ..runtime.decided import attribution_method
from ..runtime.model import Model

TEXTS = (
    ("The soup was cold, but the waiter was lovely.",),
    ("I have never been so bored in my life!",),
    ("Not bad at all.",),
)  # fmt: skip
PAIRS = (
    ("A man is playing a guitar on stage.", "A musician performs."),
    ("Two children play in the snow.", "The children are asleep."),
)  # fmt: skip


def name_of(model: Model) -> str:
    """What the page is called."""
    kind = "A classifier of pairs of texts" if model.pair else "A classifier of texts"
    return str(model.facts.get("name") or kind)


def about_model(model: Model) -> dict[str, Any]:
    """What the page says, as plain values."""
    return {
        "name": name_of(model),
        "labels": list(map(str, model.labels)),
        "pair": model.pair,
        "rows": model.embedding_shape[0],
        "rowNames": [name or f"row {k}: {captions.NO_ASPECT}" for k, name in enumerate(model.row_names, 1)],
        "rowsLine": captions.rows_line(model.embedding_shape[0]),
        "examples": PAIRS if model.pair else TEXTS,
        "dotted": "are not in the model's vocabulary: all of them are read as the same unknown word.",
        "notes": [
            captions.METHODS[attribution_method(model.recipe.model, model.pair)],
            model.trust or captions.NOT_MEASURED,
        ],
    }
