"""How far a model's pictures can be trusted, in numbers: does a prediction rest on the words they rank first?

Comprehensiveness and sufficiency are as ERASER defines them (DeYoung et al. 2020). For the k words with the
most weight, and p the probability of the class predicted for the whole text:

    comprehensiveness   p(text) - p(text without them)      high: the prediction needs them
    sufficiency         p(text) - p(only them)              low: they are enough for the prediction

each for k = 1, 5, 10, 20 and 50 % of the words, rounded up, and averaged over these five.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import LimelightError, no_rows, warn, wrong_task
from ..runtime.decided import SHARES, most_weighted
from ..runtime.model import Model
from ..text.coerce import as_texts
from ..text.tasks import find_task
from .attribution import NAMES, ReadTexts, as_model, attribute_readings, count_words

RANDOM_DRAWS = 5  # of random weights, averaged
MAX_WORDS = 2000  # of a text; leaving out each one in turn reads the text that many times
RANDOM, UNIFORM = "Random", "Uniform"


@dataclass(frozen=True, eq=False)
class Faithfulness:
    """How faithful an attribution is on some texts."""

    name: str
    drop_without: np.ndarray  # (texts, shares): comprehensiveness
    drop_with_only: np.ndarray  # (texts, shares): sufficiency

    @property
    def comprehensiveness(self) -> float:
        """The mean over shares and texts: high is good."""
        return float(self.drop_without.mean())

    @property
    def sufficiency(self) -> float:
        """The mean over shares and texts: low is good."""
        return float(self.drop_with_only.mean())

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, ready for `json.dumps`; the errors are standard errors over the texts."""
        found: dict[str, Any] = {"name": self.name}
        for name, drop in (("comprehensiveness", self.drop_without), ("sufficiency", self.drop_with_only)):
            found[name], means = float(drop.mean()), drop.mean(axis=1)
            error = float(means.std(ddof=1) / np.sqrt(len(means))) if len(means) > 1 else 0.0
            found |= {f"{name}_error": error, f"{name}_by_share": drop.mean(axis=0).tolist()}
        return found


def measure_faithfulness(read: ReadTexts, weights: dict[str, list[np.ndarray]]) -> list[Faithfulness]:
    """Measure several attributions at once, each with weights (n + m,) per text: equal variants run once."""
    texts = len(read.readings)
    top = [[most_weighted(each) for each in per_text] for per_text in weights.values()]
    masks = [np.concatenate([m for each in some for m in (~each, each)]) for some in zip(*top, strict=True)]
    drops = np.array(read.drops(masks, "Faithfulness"))
    parts = drops.reshape(texts, len(weights), 2, len(SHARES))  # 2: without the words, with only them
    return [Faithfulness(name, parts[:, k, 0], parts[:, k, 1]) for k, name in enumerate(weights)]


# ---------------------------------------------------------------- of a model


@dataclass(frozen=True, eq=False)
class Trust:
    """How far to trust the pictures of a model, measured on some texts."""

    texts: int
    attributions: tuple[Faithfulness, ...]  # the most comprehensive first

    def __getitem__(self, name: str) -> Faithfulness:
        return next(each for each in self.attributions if each.name == name)

    def to_dict(self) -> dict[str, Any]:
        found = [each.to_dict() for each in self.attributions]
        return {"texts": self.texts, "shares": list(SHARES), "attributions": found}


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
        raise wrong_task("trust is measured by probabilities; this model predicts numbers")
    if not texts:
        raise no_rows("no texts to measure trust on; give at least one")
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
    # Weights without any information. Equal weights rank the words in the order of the text.
    weights[UNIFORM], rng = [np.ones(len(text)) for text in read.ids], np.random.default_rng(seed)
    weights |= {f"{RANDOM} {k}": [rng.random(len(text)) for text in read.ids] for k in range(RANDOM_DRAWS)}
    measured = {each.name: each for each in measure_faithfulness(read, weights)}
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
