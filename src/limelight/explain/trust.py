"""How far a model's pictures can be trusted, in numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import LimelightError, warn
from ..runtime.decided import SHARES, most_weighted
from ..runtime.model import Model
from ..text.coerce import as_texts
from ..text.tasks import find_task
from .attribution import NAMES, attribute_readings
from .faithfulness import Faithfulness, measure_faithfulness
from .variants import ReadTexts, TokenIds, as_model, count_words

RANDOM_DRAWS = 5  # of random weights, averaged
MAX_WORDS = 2000  # of a text; leaving out each one in turn reads the text that many times
RANDOM, UNIFORM = "Random", "Uniform"


@dataclass(frozen=True, eq=False)
class Trust:
    """How far to trust the pictures of a model, measured on some texts."""

    texts: int
    attributions: tuple[Faithfulness, ...]  # the most comprehensive first

    def __getitem__(self, name: str) -> Faithfulness:
        return next(each for each in self.attributions if each.name == name)

    def to_dict(self) -> dict[str, Any]:
        return {
            "texts": self.texts,
            "shares": list(SHARES),
            "attributions": [each.to_dict() for each in self.attributions],
        }


def measure_trust(
    model: Model, texts: Sequence[str], texts2: Sequence[str] | None = None, *,
    seed: int = 0, progress: bool = False,
) -> Trust:  # fmt: skip
    """Measure every attribution, and uniform and random weights, on these texts.

    A few hundred texts are enough. Texts of more than 2,000 words are skipped, because they would take too
    long.

    >>> model = Model.load("reviews")  # doctest: +SKIP
    >>> measure_trust(model, texts)["Overall attention"].comprehensiveness  # doctest: +SKIP
    0.31
    """
    model, texts = as_model(model), as_texts(texts)
    texts2 = None if texts2 is None else as_texts(texts2, "second texts")
    if find_task(model.task).is_number:
        message = "trust is measured by probabilities; this model predicts numbers"
        raise LimelightError(message, code="model-task")
    if not texts:
        raise LimelightError("no texts to measure trust on; give at least one", code="no-rows")
    readings: list[Any] = list(model.read_stream(texts, texts2, progress=progress))
    short = [each for each in readings if count_words(each) <= MAX_WORDS]
    if not short:
        message = f"every text has more than {MAX_WORDS:,} words; measure trust on shorter ones"
        raise LimelightError(message, code="text-too-long")
    if len(short) < len(readings):
        skipped = len(readings) - len(short)
        warn(f"skipped {skipped:,} of {len(readings):,} texts, which have more than {MAX_WORDS:,} words")
    read = ReadTexts(model, short, progress)
    weights = {name: attribute_readings(read, by) for by, name in NAMES.items()}
    measured = {each.name: each for each in measure_faithfulness(read, weights | _baselines(read.ids, seed))}
    draws = [measured.pop(f"{RANDOM} {draw}") for draw in range(RANDOM_DRAWS)]
    drops = zip(*((each.drop_without, each.drop_with_only) for each in draws), strict=True)
    measured[RANDOM] = Faithfulness(RANDOM, *(np.mean(each, axis=0) for each in drops))
    found = sorted(measured.values(), key=lambda each: -each.comprehensiveness)
    return Trust(len(short), tuple(found))


def quick_trust(read: ReadTexts, rng: np.random.Generator) -> dict[str, Any]:
    """The figures that training saves with a model: without the words that decided, or random ones.

    Each text is read ten times; nothing is measured on no texts.
    """
    if not read.readings:
        return {}
    decided = attribute_readings(read, "effect")
    drops = []
    for weights in (decided, [rng.random(len(each)) for each in decided]):
        found = read.drops([~most_weighted(each) for each in weights], "Measuring trust")
        drops.append(float(np.mean([each.mean() for each in found])))
    texts = len(read.readings)
    return {"texts": texts, "data": "of these texts", "without": drops[0], "random": drops[1]}


def _baselines(ids: Sequence[TokenIds], seed: int) -> dict[str, list[np.ndarray]]:
    """Weights without any information. Equal weights rank the words in the order of the text."""
    rng = np.random.default_rng(seed)
    draws = {f"{RANDOM} {draw}": [rng.random(len(text)) for text in ids] for draw in range(RANDOM_DRAWS)}
    return {UNIFORM: [np.ones(len(text)) for text in ids], **draws}
