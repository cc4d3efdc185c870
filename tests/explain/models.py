"""Models for the tests: with random weights, and one whose answers are known."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp

import numpy as np

from limelight.config.recipe import Recipe
from limelight.explain.attribution import ReadTexts, attribute_readings
from limelight.explain.report import measure_report
from limelight.reading.reading import Reading
from limelight.reading.rows import row_words
from limelight.runtime.model import Model
from limelight.text.tokenizer import Tokenizer
from trained import LABELS, network_of, recipe_of, tokenizer, weights_of


def attribute(
    model: Model, texts: Sequence[str], texts2: Sequence[str] | None = None, *, by: str = "leave-one-out"
) -> list:
    """For each text (n,) the weights of its words; for each pair, one array per text."""
    read = ReadTexts(model, [*model.read_many(texts, texts2)])
    split = [ids.split(each) for ids, each in zip(read.ids, attribute_readings(read, by), strict=True)]
    return [each if model.pair else each[0] for each in split]


def to_report(*given, **options) -> str:
    """The page of a report."""
    return measure_report(*given, **options).html()


def random_model(pair: str | None = None, **options) -> Model:
    recipe = recipe_of({"rows": 3, **options}, pair)
    network = network_of(recipe, pair is not None)
    return Model.from_parts(
        weights=weights_of(network), recipe=recipe, tokenizer=tokenizer(), labels=LABELS,
        pair=pair is not None, threads=1,
    )  # fmt: skip


def word_spotter() -> Model:
    """A model that says "+" with probability 1 / (1 + e^-2) if it finds "good", else 1 / (1 + e^2)."""
    recipe = Recipe().override(encoder="cnn", pooling="max", word_size=1, hidden=1, head_hidden=1)
    weights = {
        "words.weight": np.array([[0], [0], [1], [0], [0]]),  # padding, unknown, good, bad, soup
        "encoder.W": np.array([[[0, 1, 0]], [[0, 0, 0]]]), "encoder.b": np.zeros(2),
        "head.W_1": np.array([[1, 0]]), "head.b_1": np.zeros(1),
        "head.W_2": np.array([[-2], [2]]), "head.b_2": np.array([1, -1]),
    }  # fmt: skip
    return Model.from_parts(
        weights={name: array.astype(np.float32) for name, array in weights.items()}, recipe=recipe,
        tokenizer=Tokenizer.from_words(["good", "bad", "soup"]), labels=["-", "+"], threads=1,
    )  # fmt: skip


def negation_spotter(task: str = "classification", labels: tuple = ("-", "+")) -> Model:
    """A model that says "-" with probability 1 / (1 + e^-2) where "good" follows a negation, else "+"."""
    recipe = Recipe().override(encoder="cnn", pooling="max", word_size=1, hidden=1, head_hidden=1, task=task)
    weights = {
        "words.weight": np.array([[0], [0], [1], [1], [0], [0], [1]]),  # padding, unknown, words
        # on for two neighbours
        "encoder.W": np.array([[[1, 1, 0]], [[0, 0, 0]]]), "encoder.b": np.array([-1, 0]),
        "head.W_1": np.array([[1, 0]]), "head.b_1": np.zeros(1),
        "head.W_2": np.array([[2], [-2]]), "head.b_2": np.array([-1, 1]),
    }  # fmt: skip
    return Model.from_parts(
        weights={name: array.astype(np.float32) for name, array in weights.items()}, recipe=recipe,
        tokenizer=Tokenizer.from_words(["not", "good", "soup", "ca", "n't"]), labels=list(labels), threads=1,
    )  # fmt: skip


HIGH, LOW = 1 / (1 + exp(-2)), 1 / (1 + exp(2))


def describe_rows(readings: Sequence[Reading]) -> list[list[tuple[str, float]]]:
    """The words of each row over all texts, with their shares; case is ignored."""
    words = list(dict.fromkeys(word.lower() for each in readings for word in each.words))
    ids = np.array([words.index(word.lower()) for each in readings for word in each.words])
    A = np.concatenate([each.attention for each in readings], axis=1)
    found = row_words(words, ids, A, np.array([len(each.words) for each in readings]))
    return [[(words[k], share) for k, share in row.words] for row in found]
