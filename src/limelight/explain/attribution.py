"""Which words an answer rests on, told in several ways; all can be drawn in the same pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from ..errors import LimelightError
from ..runtime.model import Model
from .variants import Drawn, Words, answers, sides_of, words_of

NAMES = {  # `by` -> what a picture calls it
    "attention": "Overall attention",
    "effect": "Effect through attention",
    "gradients": "Integrated gradients",
    "leave-one-out": "Leave one out",
}
BY = tuple(NAMES)
NEED_PYTORCH = ("effect", "gradients")
DEFAULT = "leave-one-out"  # as faithful as gradients, over twice as attention: see docs/trust.md


def attribute(
    model: Model, texts: Sequence[str], texts2: Sequence[str] | None = None, *, by: str = DEFAULT
) -> list[Any]:
    """For each text (n,): how much its answer rests on each word; for each pair, one array for each text.

    - "attention": the overall attention, the rows of A summed; what was read, not what it was read for;
    - "effect": the attention weighted by what the classifier makes of it (see `gradients.effect`);
    - "gradients": integrated gradients of the answer's logit, from zero word vectors;
    - "leave-one-out": how much the answer's probability drops when the word is left out; a text of n words
      is read n times, so a very long one takes a while.

    All but the attention are signed: below 0, a word speaks against the answer. "effect" and "gradients"
    need PyTorch. Draw them with `to_html(reading, weights={"Leave one out": found[0]})`.

    >>> model = Model.load("reviews")  # doctest: +SKIP
    >>> attribute(model, ["Good soup"], by="leave-one-out")  # doctest: +SKIP
    [array([0.61, 0.02])]
    """
    readings: list[Drawn] = [*model.read_many(texts, texts2)]
    words = words_of(model, readings)
    found = attributions(model, readings, words, by)
    split = [text.split(weights) for text, weights in zip(words, found, strict=True)]
    return [each if model.pair else each[0] for each in split]


def attributions(
    model: Model, readings: Sequence[Drawn], words: Sequence[Words], by: str
) -> list[np.ndarray]:
    """(n + m,) for each text that was read, as `attribute` defines them."""
    if by == "attention":
        return [np.concatenate([side.overall for side in sides_of(each)]) for each in readings]
    if by == "leave-one-out":
        return leave_one_out(model, readings, words)
    if by in NEED_PYTORCH:
        return _by_gradients(model, words, by)
    raise LimelightError(f"by is {by!r}; it must be one of: {', '.join(BY)}")


def leave_one_out(model: Model, readings: Sequence[Drawn], words: Sequence[Words]) -> list[np.ndarray]:
    """(n + m,) for each text: how much the probability of the answer drops without the word."""
    found = []
    for some in _together(words):
        without = answers(model, words[some], [~np.eye(len(text), dtype=bool) for text in words[some]])
        found += [
            each.confidence - P[:, int(np.argmax(each.probabilities))].astype(float)
            for each, P in zip(readings[some], without, strict=True)
        ]
    return found


def _together(words: Sequence[Words], most: int = 2**25) -> Iterator[slice]:
    """Neighbouring texts whose variants, n * n words each, are at most so many; a longer text stands alone.

    >>> list(_together([Words((np.zeros(n),)) for n in (2, 3, 3, 9)], most=15))
    [slice(0, 2, None), slice(2, 3, None), slice(3, 4, None)]
    """
    first, held = 0, 0
    for k, text in enumerate(words):
        if k > first and held + len(text) ** 2 > most:
            yield slice(first, k)
            first, held = k, 0
        held += len(text) ** 2
    yield slice(first, len(words))


def _by_gradients(model: Model, words: Sequence[Words], by: str) -> list[np.ndarray]:
    if find_spec("torch") is None:
        raise LimelightError(f"attribution by {by} needs PyTorch: pip install 'limelight[train]'")
    from ..training.restore import network_of
    from . import gradients

    methods: dict[str, Callable[..., Any]] = {
        "effect": gradients.effect,
        "gradients": gradients.integrated_gradients,
    }
    return gradients.attributions(network_of(model), methods[by], words)
