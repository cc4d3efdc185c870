"""Models of every preset that were never trained, and each thing that is made of a model, run on its own.

Sizes are small, the structure is the preset's. A model that starts from the bundled reader really does: its
sizes, its words in 4 bits, the new ones spelled. The last layer is scaled so that the answers to the texts
differ as those of a trained model do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

import limelight
import reference
from folder_reader import FolderReader
from limelight import bundled
from limelight.config.presets import PRESETS, preset
from limelight.config.recipe import Recipe
from limelight.network.parts import ENCODERS, shapes
from limelight.runtime.model import Model
from limelight.runtime.start import Start, load_start
from limelight.serve.explorer.one_file import pack_model
from limelight.text.tokenizer import Tokenizer
from test_gpu import with_torch

Array = np.ndarray
SIZES = {
    "word_size": 40, "hidden": 24, "attention_hidden": 20, "rows": 4, "head_hidden": 30, "row_units": 12,
    "projection": 18, "mix_units": 20,
}  # fmt: skip
LABELS: dict[str, list[Any]] = {"regression": ["value"], "ordinal": [1, 2, 3, 4]}
SPREAD = 3.0  # standard deviation of each logit over the texts
ODD = (
    "", "I can't pay, and I won't.", "Zxqvorp soooup!!", "5 stars 👍🏽 at 10:30 a.m.",
    "Naïve café: 日本語 is good", "the film is good " * 10, "NOT good",
)  # fmt: skip


@cache
def texts() -> list[str]:
    """A hundred: short ones of the bundled sentences, and odd ones."""
    short = [text for text in bundled.sentences("test")[0] if len(text.split()) <= 6]
    return [*short[: 100 - len(ODD)], *ODD]


# ---------------------------------------------------------------- models


@dataclass(frozen=True)
class Case:
    """A preset's recipe, for pairs or single texts, with a few options of its own."""

    preset: str
    pair: bool = False
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def start(self) -> Start | None:
        name = preset(self.preset).text.start
        return _load_reader(name) if name else None

    @property
    def recipe(self) -> Recipe:
        recipe = preset(self.preset).override(**self.options)
        if self.start:
            return self.start.fit_recipe(recipe)
        return recipe.override(**{k: min(getattr(recipe.model, k), size) for k, size in SIZES.items()})


# Every preset as it is; the default also with each task and head, and as training settles it for pairs.
CASES: dict[str, Case] = {
    **{name: Case(name, name in {"snli", "best-pair"}) for name in PRESETS},
    "small, multi-label": Case("small", options={"task": "multi-label"}),
    "small, ordinal": Case("small", options={"task": "ordinal"}),
    "small, regression": Case("small", options={"task": "regression"}),
    "small, full head": Case("small", options={"head": "full", "head_hidden": 20}),
    "small, pairs": Case("small", True, {"pair": "concat", "head": "pruned"}),
    "small, pairs, regression": Case("small", True, {"pair": "vectors", "task": "regression"}),
    "light, pairs": Case("light", True),
    "light, pairs of vectors": Case("light", True, {"pair": "vectors", "vector_size": 16, "vector_rank": 8}),
    "tiny, pairs": Case("tiny", True),
    "tiny, at most 5 words": Case("tiny", options={"max_length": 5}),
    "tiny, max": Case("tiny", options={"pooling": "max"}),
    "tiny, cnn": Case("tiny", options={"encoder": "cnn", "pooling": "max"}),
    **{f"tiny, {name}, rows": Case("tiny", options={"encoder": name}) for name in ENCODERS},
}


@cache
def _load_reader(name: str) -> Start:
    return load_start(name)


def save_case(case: Case, folder: Path) -> None:
    recipe = case.recipe
    labels = LABELS.get(recipe.text.task, ["bad", "fair", "good"])
    tokenizer = _tokenizer(recipe, case.start)
    weights = _random_weights(shapes(recipe.model, len(tokenizer), len(labels), case.pair))
    if case.start:
        weights |= {name: array for name, array in case.start.weights.items() if name in weights}
        weights["words.weight"] = case.start.vectors(tokenizer.vocabulary).matrix
    parts = {"recipe": recipe, "tokenizer": tokenizer, "labels": labels, "pair": case.pair}
    M = Model.from_parts(weights=weights, **parts, threads=1).embed(texts())
    _spread_answers(weights, M, case.pair)
    thresholds = np.array([0.3, 0.5, 0.7]) if recipe.text.task == "multi-label" else None
    Model.from_parts(weights=weights, **parts, thresholds=thresholds).save(folder)


def _tokenizer(recipe: Recipe, start: Start | None) -> Tokenizer:
    """Most words of the texts; of a reader also some that are not in them."""
    split = Tokenizer.from_words([], lowercase=recipe.text.lowercase).split
    words = [word for text in [*texts()[:80], *ODD] for word in split(text)]
    words = [word.lower() for word in words] if recipe.text.lowercase else words
    words = list(dict.fromkeys(words))
    words = start.join_words(words, 100) if start else words
    return Tokenizer.from_words(words, lowercase=recipe.text.lowercase)


def _random_weights(shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Array]:
    rng, weights = np.random.default_rng(0), {}
    for name, shape in shapes.items():
        grouped = name.startswith("gate.") or name in ("head.W_v_0", "head.W_h_0")  # (groups, in, out)
        inputs = shape[1] if grouped else np.prod(shape[1:]) if name == "encoder.W" else shape[-1]
        scale = 0.4 if name == "words.weight" else 0.1 if ".b" in name else 1.5 / np.sqrt(inputs)
        weights[name] = rng.normal(0, scale, shape).astype(np.float32)
    weights["words.weight"][0] = 0
    return weights


def _spread_answers(weights: dict[str, Array], M: Array, pair: bool) -> None:
    """Centre the logits of the texts and give each class the same spread, by the last layer alone."""
    features = [reference.relation(weights, *each) for each in in_pairs(M)] if pair else M
    logits = np.array([reference.classify(weights, each) for each in features])
    last = "2" if "head.W_2" in weights else "o"
    W, b = f"head.W_{last}", f"head.b_{last}"
    scale = SPREAD / logits.std(axis=0)
    weights[W] = (weights[W] * scale[:, None]).astype(np.float32)
    weights[b] = ((weights[b] - logits.mean(axis=0)) * scale).astype(np.float32)


def in_pairs(items: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Each with the next one."""
    return [(items[k], items[(k + 1) % len(items)]) for k in range(len(items))]


# ---------------------------------------------------------------- their artefacts


_EMBEDDED: dict[tuple[str, str], Array] = {}  # by what a model starts from, and the text


class Artefacts:
    """What each thing that is made of a case answers to the texts, (100, labels)."""

    def __init__(self, case: Case, place: Path) -> None:
        self.case, self.place, self.folder = case, place, place / "model"
        save_case(case, self.folder)
        self.reader = FolderReader(self.folder)
        self.task = case.recipe.text.task
        self.items = [item[: 1 + case.pair] for item in in_pairs(texts())]
        self.given = [list(column) for column in zip(*self.items, strict=True)]

    @cached_property
    def reference(self) -> Array:
        M = [self._embed(text) for text in texts()]
        items = in_pairs(M) if self.case.pair else [(each,) for each in M]
        return np.array([self.reader.classify(*each) for each in items])

    def _embed(self, text: str) -> Array:
        """Models that start from one reader have the same M, whose reference takes a second."""
        start = preset(self.case.preset).text.start
        if not start:
            return self.reader.embed(text)[0]
        if (start, text) not in _EMBEDDED:
            _EMBEDDED[start, text] = self.reader.embed(text)[0]
        return _EMBEDDED[start, text]

    def load(self, precision: str = "float32") -> Array:
        return limelight.load(self.folder, precision=precision, threads=1).predict_proba(*self.given)

    def gpu_runner(self) -> Array:
        return with_torch(limelight.load(self.folder, threads=1)).predict_proba(*self.given)

    def onnx(self, file: str) -> Array:
        """As a program that knows the document alone would run it."""
        session = onnxruntime.InferenceSession(self.folder / file)
        names = [output.name for output in session.get_outputs()]
        ids = [self.reader.ids(text) for text in texts()]
        lengths = np.array([len(each) for each in ids], np.int32)
        feed = {"ids": np.zeros((len(ids), lengths.max()), np.int32), "lengths": lengths}
        for row, each in zip(feed["ids"], ids, strict=True):
            row[: len(each)] = each
        if self.case.pair:
            feed["pairs"] = np.array(in_pairs(range(len(ids))), np.int32)
        return session.run(names[:1], feed)[0]

    def pack_for_page(self, precision: str) -> dict[str, Any]:
        """What the script of a page reads: the file of the model, and the texts."""
        model, file = limelight.load(self.folder, threads=1), self.place / f"{precision}.gz"
        file.write_bytes(pack_model(model, words=10**6, most=0, precision=precision)[0])
        return {"file": str(file), "texts": self.items}
