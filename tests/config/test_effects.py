"""Options without effect: each that is reported changes no weight, and each that is not reported does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from limelight.config.presets import PRESETS, preset
from limelight.config.recipe import Recipe, TextRecipe, options, unused_options, warn_ignored, warn_unused
from limelight.text.dataset import Dataset
from limelight.text.encode import encode_texts
from limelight.training import fit
from training import toys

MAX, CNN = {"pooling": "max"}, {"encoder": "cnn", "pooling": "max"}
PRUNED = {"head": "pruned", "row_units": 2, "column_units": 1}
ATTENTION, LSTM = "needs pooling 'self-attention'", "needs encoder 'bilstm'"

# option, what it is changed to, beside what, what it needs there
UNUSED = [
    *(
        (option, value, beside, ATTENTION)
        for beside in (MAX, CNN)
        for option, value in (
            ("attention_hidden", 7),
            ("rows", 8),
            ("max_row", True),
            ("penalty", 5.0),
            ("penalty_scale", "author"),
            ("aspect_penalty", 0.5),
        )
    ),
    ("penalty_scale", "author", {"penalty": 0.0}, "needs a penalty above 0"),
    ("separator", "|", {"task": "classification"}, "needs task 'multi-label'"),
    ("penalty_scale", "author", {**MAX, "penalty": 0.0}, ATTENTION),  # one reason, the plainest
    ("layers", 2, CNN, LSTM),
    ("clip_gates", 1e-3, CNN, LSTM),
    ("row_units", 2, {}, "needs head 'pruned'"),
    ("column_units", 2, {}, "needs head 'pruned'"),
    ("mix_units", 2, {}, "needs head 'pruned'"),
    ("head_hidden", 9, PRUNED, "needs head 'full'"),
    ("buckets", 3, {}, "needs head 'vector'"),
    ("stems", True, {}, "needs head 'vector'"),
]
USED = [
    ("attention_hidden", 7, {}),
    ("author_code", True, {}),
    ("author_code", True, MAX),  # it has no attention, but other initial weights
    ("author_code", True, CNN),
    ("rows", 8, {}),
    ("max_row", True, {}),
    ("penalty", 5.0, {}),
    ("penalty", 5.0, {"rows": 1}),  # it draws an only row towards a single word
    ("aspect_penalty", 0.5, {}),
    ("penalty_scale", "author", {}),
    ("penalty_scale", "author", {"rows": 1}),
    ("layers", 2, MAX),
    ("clip_gates", 1e-3, {}),
    ("clip_gates", 1e-3, MAX),
    ("row_units", 3, PRUNED),
    ("column_units", 3, PRUNED),
    ("mix_units", 2, PRUNED),
    ("head_hidden", 9, {}),
    ("halve_on_plateau", True, {"schedule": "linear", "learning_rate": 0.5, "epochs": 8}),
]

# option, what it is changed to, and what data it needs
NEEDS_DEV = [("patience", 1), ("min_steps", 2), ("halve_on_plateau", True)]
NEEDS_PAIRS: list[tuple[str, Any, dict[str, Any]]] = [
    ("pair", "concat", {}),
    ("pair", "vectors", {}),
    ("vector_size", 7, {"pair": "vectors"}),
    ("vector_rank", 7, {"pair": "vectors"}),
]
NEEDS_VECTORS = {"extra_words": 5, "missing_vectors": "spelling"}


def weights(recipe: Recipe, data: Dataset | None = None) -> dict[str, torch.Tensor]:
    return dict(fit(data or toys.dataset(rows=24, dev=9), recipe, show=False).network.state_dict())


def both(option: str, value: Any, beside: dict[str, Any]) -> tuple[Recipe, Recipe]:
    """The recipe without the option and with it."""
    plain = toys.recipe(**{"epochs": 1, **beside})
    return plain, plain.override(**{option: value})


@pytest.mark.parametrize(("option", "value", "beside", "why"), UNUSED)
def test_an_unused_option_changes_no_weight(
    option: str, value: Any, beside: dict[str, Any], why: str
) -> None:
    plain, given = both(option, value, beside)
    said = unused_options(given, ["epochs", option])
    assert list(said) == [option]
    assert said[option].startswith(f"{option} has no effect")
    assert said[option].endswith(why)
    torch.testing.assert_close(weights(given), weights(plain), rtol=0, atol=0)


@pytest.mark.parametrize(("option", "value", "beside"), USED)
def test_an_option_with_an_effect_is_not_reported(option: str, value: Any, beside: dict[str, Any]) -> None:
    plain, given = both(option, value, beside)
    assert unused_options(given, [option]) == {}
    before, after = weights(plain), weights(given)
    assert before.keys() != after.keys() or any(
        x.shape != after[name].shape or not torch.allclose(x, after[name], rtol=0, atol=1e-4)
        for name, x in before.items()
    )


@pytest.mark.parametrize(("option", "value"), NEEDS_DEV)
def test_options_about_dev_scores_need_a_development_set(option: str, value: Any) -> None:
    plain, given = both(option, value, {"epochs": 3, "learning_rate": 0.5})
    assert unused_options(given, [option]) == unused_options(given, [option], pairs=False) == {}
    said = unused_options(given, ["rows", option], has_dev=False)
    assert said == {option: f"{option} has no effect: it needs a development set"}
    data = toys.dataset(rows=24, dev=0)
    torch.testing.assert_close(weights(given, data), weights(plain, data), rtol=0, atol=0)


@pytest.mark.parametrize(("option", "value", "beside"), NEEDS_PAIRS)
def test_options_about_pairs_need_pairs(option: str, value: Any, beside: dict[str, Any]) -> None:
    plain, given = both(option, value, beside)
    assert unused_options(given, [option]) == unused_options(given, [option], has_dev=False) == {}
    said = unused_options(given, ["rows", option], pairs=False)
    assert said == {option: f"{option} has no effect: it needs pairs of texts"}
    torch.testing.assert_close(weights(given), weights(plain), rtol=0, atol=0)


def test_options_about_vectors_need_vectors() -> None:
    said = unused_options(Recipe().override(**NEEDS_VECTORS), NEEDS_VECTORS)
    assert list(said) == list(NEEDS_VECTORS)
    assert all(
        line.startswith(f"{name} has no effect: it needs pretrained vectors") for name, line in said.items()
    )
    texts, labels = ["Good soup!", "Bad soup."] * 2, [1, 0] * 2
    plain, other = (encode_texts(texts, labels, recipe=TextRecipe(**each)) for each in ({}, NEEDS_VECTORS))
    assert other.vectors is None
    assert other.tokenizer.hash == plain.tokenizer.hash
    np.testing.assert_array_equal(other.splits["train"].ids, plain.splits["train"].ids)
    assert unused_options(Recipe().override(vectors="default", **NEEDS_VECTORS), NEEDS_VECTORS) == {}


def test_options_of_epochs_need_one() -> None:
    frozen = preset("small").override(epochs=0, learning_rate=1e-2, batch_size=8, seed=3)
    said = unused_options(frozen, ["epochs", "learning_rate", "batch_size", "seed"])
    assert said == {
        name: f"{name} has no effect: it needs epochs above 0" for name in ("learning_rate", "batch_size")
    }


def test_the_weights_to_start_from_bring_their_vectors() -> None:
    recipe = Recipe().override(start="reader", vectors="default", extra_words=5, missing_vectors="spelling")
    said = unused_options(recipe, ["start", "vectors", "extra_words", "missing_vectors"])
    assert list(said) == ["vectors", "missing_vectors"]
    assert "it needs start ''" in said["vectors"]


def test_the_size_of_word_vectors_needs_none_that_are_pretrained() -> None:
    sized = Recipe().override(vectors="default", word_size=7)
    said = unused_options(sized, ["vectors", "word_size"])
    assert list(said) == ["word_size"]
    assert "pretrained ones set the size" in said["word_size"]
    assert unused_options(sized.override(vectors=""), ["word_size"]) == {}


def test_every_condition_is_among_those_above() -> None:
    tested = {option for option, *_ in [*UNUSED, *NEEDS_DEV, *NEEDS_PAIRS]}
    tested |= {*NEEDS_VECTORS, "word_size", "vectors"}
    assert {name for name, field in options().items() if field.metadata["needs"]} == tested


def test_what_is_switched_off_or_not_given_is_not_reported() -> None:
    off = {"penalty": 0.0, "max_row": False, "row_units": 0, "mix_units": 0, "patience": 0}
    assert unused_options(Recipe().override(pooling="max", **off), off, has_dev=False) == {}
    for recipe in PRESETS.values():
        given = recipe.override(encoder="cnn", pooling="max", head="full")
        assert unused_options(given, ["encoder", "pooling", "head"], has_dev=False, pairs=False) == {}


def test_each_unused_option_is_one_warning(recwarn: pytest.WarningsRecorder) -> None:
    given = {"pooling": "max", "rows": 8, "patience": 2, "pair": "concat"}
    warn_unused(Recipe().override(**given), given, has_dev=False, pairs=False)
    said = [str(each.message) for each in recwarn]
    assert [line.split()[0] for line in said] == ["rows", "patience", "pair"]
    recwarn.clear()
    warn_unused(Recipe().override(rows=8, patience=2, pair="concat"), ["rows", "patience", "pair"])
    assert not recwarn


def test_frozen_random_word_vectors_are_warned_about(recwarn: pytest.WarningsRecorder) -> None:
    frozen = PRESETS["best-pair"].override(vectors="")
    warn_unused(frozen, [])
    (said,) = (str(each.message) for each in recwarn)
    assert "word vectors stay random" in said
    assert "fine_tune_words" in said
    recwarn.clear()
    warn_unused(frozen.override(fine_tune_words=True), [])
    warn_unused(PRESETS["best-pair"], [])
    assert not recwarn


def test_text_options_of_a_preset_that_the_data_overrules(recwarn: pytest.WarningsRecorder) -> None:
    encoded = Recipe().override(rows=4)
    warn_ignored(Recipe().override(min_count=2, lowercase=False), encoded)
    (said,) = (str(each.message) for each in recwarn)
    assert "--lowercase, --min-count" in said
    assert "already encoded" in said
    recwarn.clear()
    warn_ignored(Recipe().override(rows=8), encoded)
    assert not recwarn
