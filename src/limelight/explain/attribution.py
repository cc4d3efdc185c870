"""Which words a prediction rests on, by several methods; all of them can be drawn in the same pictures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from ..errors import LimelightError
from ..reading.reading import AnyReading
from ..runtime.model import Model
from .variants import TokenIds, as_model, predict_variants, token_ids

NAMES = {  # `by` -> what pictures and tables call it
    "attention": "Overall attention",
    "effect": "Effect through attention",
    "gradients": "Integrated gradients",
    "leave-one-out": "Leave one out",
}
METHODS = tuple(NAMES)
NEED_PYTORCH = ("effect", "gradients")
DEFAULT = (
    "leave-one-out"  # as faithful as gradients, and at least twice as faithful as attention: docs/trust.md
)


def attribute(
    model: Model, texts: Sequence[str], texts2: Sequence[str] | None = None, *, by: str = DEFAULT
) -> list[Any]:
    """For each text (n,): how much its prediction rests on each word; for each pair, one array per text.

    - "attention": the overall attention, the rows of A summed: what was read, not what it was read for;
    - "effect": the attention weighted by its effect on the classifier (see `gradients.effect`);
    - "gradients": integrated gradients of the predicted class's logit, starting from zero word vectors
      (zero projections, if the model projects its word vectors);
    - "leave-one-out": how much the predicted class's probability drops without the word; a text of n words
      is read n times, which takes a while for a very long one.

    All but the attention are signed: a negative word speaks against the prediction. "effect" and
    "gradients" need PyTorch. Draw them with `to_html(reading, weights={"Leave one out": weights[0]})`.

    >>> model = Model.load("reviews")  # doctest: +SKIP
    >>> attribute(model, ["Good soup"], by="leave-one-out")  # doctest: +SKIP
    [array([0.61, 0.02])]
    """
    model = as_model(model)
    readings: list[AnyReading] = [*model.read_many(texts, texts2)]
    ids = token_ids(model, readings)
    weights = attribute_readings(model, readings, ids, by)
    split = [text.split(each) for text, each in zip(ids, weights, strict=True)]
    return [each if model.pair else each[0] for each in split]


def attribute_readings(
    model: Model, readings: Sequence[AnyReading], ids: Sequence[TokenIds], by: str, progress: bool = False
) -> list[np.ndarray]:
    """(n + m,) for each reading, as in `attribute`."""
    if by == "attention":
        return [np.concatenate([side.overall for side in each.sides]) for each in readings]
    if by == "leave-one-out":
        return leave_one_out(model, readings, ids, progress)
    if by in NEED_PYTORCH:
        return _by_gradients(model, ids, by, progress)
    raise LimelightError(f"by is {by!r}; it must be one of: {', '.join(METHODS)}")


def leave_one_out(
    model: Model, readings: Sequence[AnyReading], ids: Sequence[TokenIds], progress: bool = False
) -> list[np.ndarray]:
    """(n + m,) for each reading: how much the predicted class's probability drops without the word."""
    masks = (~np.eye(len(text), dtype=bool) for text in ids)
    predictions = predict_variants(model, ids, masks, bar_name=NAMES["leave-one-out"] if progress else "")
    return [probability_drops(each, P) for each, P in zip(readings, predictions, strict=True)]


def probability_drops(reading: AnyReading, P: np.ndarray) -> np.ndarray:
    """(variants,): how much lower the predicted class's probability is in P (variants, classes)."""
    return np.asarray(reading.confidence - P[:, int(np.argmax(reading.probabilities))].astype(float))


def _by_gradients(model: Model, ids: Sequence[TokenIds], by: str, progress: bool) -> list[np.ndarray]:
    if find_spec("torch") is None:
        raise LimelightError(f"attribution by {by} needs PyTorch: pip install '.[train]'")
    from . import gradients

    methods: dict[str, Callable[..., Any]] = {
        "effect": gradients.effect,
        "gradients": gradients.integrated_gradients,
    }
    bar_name = NAMES[by] if progress else ""
    return gradients.attribute_ids(gradients.network_of(model), methods[by], ids, bar_name=bar_name)
