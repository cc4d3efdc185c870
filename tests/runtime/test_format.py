"""docs/format.md is precise enough: a reader written from it agrees with Limelight."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import trained
from folder_reader import FolderReader
from limelight.network.quantise import round_to_4_bits
from limelight.runtime.model import Model
from trained import ARCHITECTURES, LABELS, network_of, recipe_of, weights_of

TEXTS = ["w1 w2 unheard w3", "", "W7 w7 W8", "w0 " * 40]


@pytest.mark.parametrize("pair", trained.PAIRS)
@pytest.mark.parametrize("name", [*ARCHITECTURES, "linear", "4 bits", "multi-label", "regression"])
def test_another_reader_agrees(tmp_path: Path, name: str, pair: str | None) -> None:
    more = {
        "linear": {"head": "linear"}, "4 bits": {"word_size": 64}, "multi-label": {"task": "multi-label"},
        "regression": {"task": "regression"},
    }  # fmt: skip
    options = (more | ARCHITECTURES)[name]
    recipe = recipe_of({**options, "max_length": 25 * (name == "two layers")}, pair)
    weights = weights_of(network_of(recipe, pair is not None))
    if name == "4 bits":
        weights["words.weight"] = round_to_4_bits(weights["words.weight"])
    trained.save(tmp_path / "model", pair, recipe=recipe, weights=weights)
    assert (b"words.weight.scale" in (tmp_path / "model/model.safetensors").read_bytes()) == (
        name == "4 bits"
    )
    model, reader = Model.load(tmp_path / "model", threads=1), FolderReader(tmp_path / "model")
    assert tuple(reader.labels) == LABELS
    expected = model.predict_proba(TEXTS, TEXTS[::-1]) if pair else model.predict_proba(TEXTS)
    seconds = [[text] for text in TEXTS[::-1]] if pair else [[]] * len(TEXTS)
    found = [reader.probabilities(text, *more) for text, more in zip(TEXTS, seconds, strict=True)]
    np.testing.assert_allclose(found, expected, atol=2e-6)
    for text, M in zip(TEXTS, model.embed(TEXTS), strict=True):
        np.testing.assert_allclose(reader.embed(text)[0], M, atol=2e-6)


def test_its_attention_is_the_same(tmp_path: Path) -> None:
    recipe = recipe_of({"max_row": True})
    trained.save(tmp_path / "model", recipe=recipe, weights=weights_of(network_of(recipe)))
    reading = Model.load(tmp_path / "model").read("w1 w2 unheard w3")
    A = FolderReader(tmp_path / "model").embed("w1 w2 unheard w3")[1]
    np.testing.assert_allclose(A, reading.attention, atol=2e-6)  # type: ignore[union-attr]
