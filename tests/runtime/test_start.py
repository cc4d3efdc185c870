"""Weights to start from: the bundled reader's and a trained model's."""

from __future__ import annotations

import numpy as np
import pytest

from limelight.config.presets import preset
from limelight.config.recipe import Recipe
from limelight.errors import LimelightError
from limelight.network.parts import shapes
from limelight.runtime.model import Model
from limelight.runtime.reader import Reader
from limelight.runtime.start import load_start, start_of
from limelight.text.spelling import spell
from limelight.text.tokenizer import Tokenizer
from refusing import refuses


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    recipe = Recipe().override(
        word_size=4, hidden=3, attention_hidden=5, rows=2, head_hidden=6, lowercase=False
    )
    words = Tokenizer.from_words(["Good", "bad"], lowercase=False)
    rng = np.random.default_rng(0)
    weights = {n: rng.normal(size=s).astype(np.float32) for n, s in shapes(recipe.model, 4, 2, False).items()}
    folder = tmp_path_factory.mktemp("start") / "model"
    Model.from_parts(weights=weights, recipe=recipe, tokenizer=words, labels=["-", "+"]).save(folder)
    return folder


def test_the_reader_spells_words_it_does_not_know():
    reader = Reader.load()
    table, grams = reader.weights["words.weight"], reader.weights["grams.weight"]
    found = load_start("reader").vectors(["<pad>", "<unk>", "the", "soooup"])
    assert found.found.tolist() == [False, False, True, False]
    np.testing.assert_array_equal(found.matrix[0], 0)
    np.testing.assert_array_equal(found.matrix[2], table[reader.tokenizer.vocabulary.index("the")])
    spelled = spell(["soooup"], grams, table, reader.tokenizer.ids)[0]
    for row, exact in ((1, grams[1:].mean(axis=0)), (3, spelled)):  # rounded to 4 bits
        step = np.abs(exact.reshape(-1, 32)).max(axis=1).repeat(32) / 7
        assert (np.abs(found.matrix[row] - exact) <= 0.51 * step).all()


def test_a_model_reads_words_it_does_not_know_as_unknown(model):
    start = load_start(str(model))
    found = start.vectors(["<pad>", "<unk>", "new", "bad"])
    table = start.weights["words.weight"]
    np.testing.assert_array_equal(found.matrix[1:], table[[1, 1, 3]])
    assert found.found.tolist() == [False, False, False, True]


def test_a_start_sets_the_sizes(model):
    recipe, start = start_of(preset("tiny").override(start=str(model)))
    assert start is not None
    assert (recipe.model.hidden, recipe.model.rows, recipe.model.word_size) == (3, 2, 4)
    assert not recipe.text.lowercase
    assert recipe.training == preset("tiny").training


def test_a_size_that_the_start_does_not_have_is_refused(model):
    with refuses("start-other"):
        start_of(preset("small").override(rows=8), ["rows"])
    start_of(preset("small").override(rows=24), ["rows"])
    with refuses("option-value"):  # before a table is encoded for nothing
        start_of(preset("light").override(epochs=0))


def test_relative_paths_start_from_the_folder(model):
    assert load_start("model", model.parent).fingerprint == load_start(str(model)).fingerprint
    assert load_start("model", model.parent).fingerprint != load_start("reader").fingerprint


@pytest.mark.parametrize("name", ["no-such-folder", ".", "x" * 10_000, "a\0b"])
def test_what_is_no_model_is_refused_in_one_line(name: str, tmp_path):
    with pytest.raises(LimelightError, match=r"^start: .*") as error:
        load_start(name, tmp_path)
    assert "\n" not in str(error.value)
