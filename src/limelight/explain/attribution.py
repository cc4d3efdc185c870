"""Which words an answer rests on, told in several ways; all can be drawn in the same pictures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from ..errors import LimelightError
from ..reading.reading import AnyReading
from ..runtime.model import Model
from .variants import Words, answers, model_of, words_of

NAMES = {  # `by` -> what a picture calls it
    "attention": "Overall attention",
    "effect": "Effect through attention",
    "gradients": "Integrated gradients",
    "leave-one-out": "Leave one out",
}
BY = tuple(NAMES)
NEED_PYTORCH = ("effect", "gradients")
DEFAULT = "leave-one-out"  # as faithful as gradients, about twice as attention or more: docs/trust.md


def attribute(
    model: Model, texts: Sequence[str], texts2: Sequence[str] | None = None, *, by: str = DEFAULT
) -> list[Any]:
    """For each text (n,): how much its answer rests on each word; for each pair, one array for each text.

    - "attention": the overall attention, the rows of A summed; what was read, not what it was read for;
    - "effect": the attention weighted by what the classifier makes of it (see `gradients.effect`);
    - "gradients": integrated gradients of the answer's logit, from zeros in place of the words
      (of their projections, where the model projects them);
    - "leave-one-out": how much the answer's probability drops when the word is left out; a text of n words
      is read n times, so a very long one takes a while.

    All but the attention are signed: below 0, a word speaks against the answer. "effect" and "gradients"
    need PyTorch. Draw them with `to_html(reading, weights={"Leave one out": found[0]})`.

    >>> model = Model.load("reviews")  # doctest: +SKIP
    >>> attribute(model, ["Good soup"], by="leave-one-out")  # doctest: +SKIP
    [array([0.61, 0.02])]
    """
    model = model_of(model)
    readings: list[AnyReading] = [*model.read_many(texts, texts2)]
    words = words_of(model, readings)
    found = attributions(model, readings, words, by)
    split = [text.split(weights) for text, weights in zip(words, found, strict=True)]
    return [each if model.pair else each[0] for each in split]


def attributions(
    model: Model, readings: Sequence[AnyReading], words: Sequence[Words], by: str, progress: bool = False
) -> list[np.ndarray]:
    """(n + m,) for each text that was read, as `attribute` defines them."""
    if by == "attention":
        return [np.concatenate([side.overall for side in each.sides]) for each in readings]
    if by == "leave-one-out":
        return leave_one_out(model, readings, words, progress)
    if by in NEED_PYTORCH:
        return _by_gradients(model, words, by, progress)
    raise LimelightError(f"by is {by!r}; it must be one of: {', '.join(BY)}")


def leave_one_out(
    model: Model, readings: Sequence[AnyReading], words: Sequence[Words], progress: bool = False
) -> list[np.ndarray]:
    """(n + m,) for each text: how much the probability of the answer drops without the word."""
    kept = (~np.eye(len(text), dtype=bool) for text in words)
    without = answers(model, words, kept, bar=NAMES["leave-one-out"] if progress else "")
    return [
        each.confidence - P[:, int(np.argmax(each.probabilities))].astype(float)
        for each, P in zip(readings, without, strict=True)
    ]


def _by_gradients(model: Model, words: Sequence[Words], by: str, progress: bool) -> list[np.ndarray]:
    if find_spec("torch") is None:
        raise LimelightError(f"attribution by {by} needs PyTorch: pip install 'limelight[train]'")
    from ..training.restore import network_of
    from . import gradients

    methods: dict[str, Callable[..., Any]] = {
        "effect": gradients.effect,
        "gradients": gradients.integrated_gradients,
    }
    return gradients.attributions(network_of(model), methods[by], words, bar=NAMES[by] if progress else "")
