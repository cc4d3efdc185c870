"""Options without effect: each that is called so changes no weight, and each that is not called so does."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch

from limelight.config.effects import idle, warn_idle
from limelight.config.presets import PRESETS
from limelight.config.recipe import Recipe, TextRecipe
from limelight.text.encode import encode_texts
from limelight.training import fit
from training import toys

MAX, CNN, MEAN = {"embedding": "max"}, {"embedding": "cnn"}, {"embedding": "mean"}
PRUNED = {"head": "pruned", "row_units": 2, "column_units": 1}
ATTENTION = "embedding is 'max', not 'self-attention'"

# option, what it is changed to, beside what, why it does nothing there
IDLE = [
    ("attention", "generalised", MAX, ATTENTION),
    ("attention_hidden", 7, MAX, ATTENTION),
    ("attention_bias", True, MAX, ATTENTION),
    ("rows", 8, MAX, ATTENTION),
    ("max_row", True, MAX, ATTENTION),
    ("penalty", 5.0, MAX, ATTENTION),
    ("penalty_scale", "kl", MAX, ATTENTION),
    ("penalty_scale", "kl", {"penalty": 0.0}, "penalty is 0"),
    ("penalty", 5.0, {"rows": 1, "penalty_scale": "kl"}, "'kl' takes two rows, and rows is 1"),
    ("filter_width", 5, MEAN, "embedding is 'mean', not 'cnn'"),
    ("layers", 2, CNN, "embedding is 'cnn', which has no LSTM"),
    ("dropout_layers", 0.5, CNN, "embedding is 'cnn', which has no LSTM"),
    ("clip_gates", 1e-3, CNN, "embedding is 'cnn', which has no LSTM"),
    ("dropout_layers", 0.5, {}, "layers is 1, and it drops what one layer reads from another"),
    ("row_units", 2, {}, "head is 'full', not 'pruned'"),
    ("column_units", 2, {}, "head is 'full', not 'pruned'"),
    ("head_layers", 2, {}, "head is 'full', not 'pruned'"),
    ("mix_units", 2, {}, "head is 'full', not 'pruned'"),
    ("head_hidden", 9, PRUNED, "head is 'pruned', not 'full'"),
    ("dropout_rows", 0.5, {"rows": 1}, "M has a single row, which always stays"),
    ("teacher_weight", 0.9, {}, "there are no teachers"),
    ("teachers", 1, {"teacher_weight": 0.0}, "teaching is 0, and there are no noisy copies to answer for"),
    ("dropout_rows", 0.5, MAX, "M has a single row, which always stays"),
    *(
        ("consistency", 2.0, beside, "without dropout both readings of a batch are the same; ")
        for beside in (
            {},
            {"dropout_layers": 0.5},
            {"dropout_layers": 0.5, "layers": 2, **CNN},
            {"dropout_rows": 0.5, "rows": 1},
        )
    ),
]
AT_WORK = [
    ("attention", "generalised", {}),
    ("attention_hidden", 7, {}),
    ("attention_bias", True, {}),
    ("rows", 8, {}),
    ("max_row", True, {}),
    ("penalty", 5.0, {}),
    ("penalty", 5.0, {"rows": 1}),  # the paper's form draws an only row towards a single word
    ("penalty_scale", "kl", {}),
    ("penalty_scale", "kl", {"rows": 1}),
    ("filter_width", 5, CNN),
    ("layers", 2, MAX),
    ("dropout_layers", 0.5, {"layers": 2}),
    ("clip_gates", 1e-3, MAX),
    ("row_units", 3, PRUNED),
    ("column_units", 3, PRUNED),
    ("head_layers", 2, PRUNED),
    ("mix_units", 2, PRUNED),
    ("head_hidden", 9, {}),
    ("dropout_rows", 0.5, {}),
    ("dropout_rows", 0.5, {"rows": 1, "max_row": True}),
    ("teachers", 1, {}),
    ("teachers", 1, {"teacher_weight": 0.0, "noisy_copies": 1}),
    ("teacher_weight", 0.9, {"teachers": 1}),
    ("noisy_copies", 1, {}),
    ("noisy_copies", 1, {"teachers": 1}),
    ("halve_on_plateau", True, {"schedule": "linear", "learning_rate": 0.5, "epochs": 4}),
    *(
        ("consistency", 2.0, beside)
        for beside in (
            {"dropout": 0.5},
            {"dropout_words": 0.5},
            {"dropout_states": 0.5},
            {"dropout_matrix": 0.5},
            {"dropout_layers": 0.5, "layers": 2},
            {"dropout_rows": 0.5},
        )
    ),
]


def weights(recipe: Recipe) -> dict[str, torch.Tensor]:
    return dict(fit(toys.dataset(rows=24, dev=9), recipe, show=False).network.state_dict())


def both(option: str, value: Any, beside: dict[str, Any]) -> tuple[Recipe, Recipe]:
    """The recipe without the option and with it."""
    plain = toys.recipe(**{"epochs": 1, **beside})
    return plain, plain.override(**{option: value})


@pytest.mark.parametrize(("option", "value", "beside", "why"), IDLE)
def test_an_idle_option_changes_no_weight(option, value, beside, why):
    plain, given = both(option, value, beside)
    said = idle(given, ["epochs", option])
    assert list(said) == [option]
    assert said[option].startswith(f"{option} has no effect: {why}")
    rounding = (
        1e-4 if option in ("consistency", "penalty", "teachers") else 0.0
    )  # sums of something and its opposite
    torch.testing.assert_close(weights(given), weights(plain), rtol=0, atol=rounding)


@pytest.mark.parametrize(("option", "value", "beside"), AT_WORK)
def test_an_option_at_work_is_not_called_idle(option, value, beside):
    plain, given = both(option, value, beside)
    assert idle(given, [option]) == {}
    before, after = weights(plain), weights(given)
    assert before.keys() != after.keys() or any(
        x.shape != after[name].shape or not torch.allclose(x, after[name], rtol=0, atol=1e-4)
        for name, x in before.items()
    )


def test_options_about_vectors_need_vectors():
    given = {"extra_words": 5, "missing_vectors": "spelling"}
    assert idle(Recipe().override(**given), given) == {
        "extra_words": "spare_words has no effect: there are no pretrained vectors",
        "missing_vectors": "missing has no effect: there are no pretrained vectors",
    }
    texts, labels = ["Good soup!", "Bad soup."] * 2, [1, 0] * 2
    plain, other = (encode_texts(texts, labels, recipe=TextRecipe(**each)) for each in ({}, given))
    assert other.vectors is None
    assert other.tokenizer.hash == plain.tokenizer.hash
    np.testing.assert_array_equal(other.splits["train"].ids, plain.splits["train"].ids)
    sized = Recipe().override(vectors="default", word_size=7)
    assert idle(sized, ["vectors", "word_size"]) == {
        "word_size": "word_size has no effect: pretrained vectors bring their own size"
    }
    assert idle(sized.override(vectors=""), ["word_size"]) == {}


def test_what_is_switched_off_or_not_given_is_not_spoken_of():
    off = {"penalty": 0.0, "max_row": False, "attention_bias": False, "row_units": 0, "consistency": 0.0}
    assert idle(Recipe().override(embedding="max", **off), off) == {}
    for recipe in PRESETS.values():
        assert idle(recipe.override(embedding="cnn", head="full"), ["embedding", "head"]) == {}


def test_words_that_mean_nothing_are_warned_of(recwarn):
    frozen = PRESETS["best-pair"].override(vectors="")
    warn_idle(frozen, [])
    assert [str(each.message) for each in recwarn] == [
        "every word keeps the random vector it begins with: there are no pretrained ones, and tune_words is "
        "off; switch it on to train them"
    ]
    recwarn.clear()
    warn_idle(frozen.override(fine_tune_words=True), [])
    warn_idle(PRESETS["best-pair"], [])
    assert not recwarn


def test_options_that_have_no_effect_on_the_data() -> None:
    given = {"patience": 2, "halve_on_plateau": True, "pair": "concat", "rows": 2}
    recipe = Recipe().override(**given)
    assert idle(recipe, given, toys.dataset(rows=24, dev=9)) == {
        "pair": "pair has no effect: these are single texts"
    }
    data = toys.dataset(rows=24, dev=9)
    alone = dataclasses.replace(data, splits={"train": data.splits["train"]})
    why = "there is no development set to go by"
    assert idle(recipe, ["patience", "halve_on_plateau", "rows"], alone) == {
        "patience": f"patience has no effect: {why}",
        "halve_on_plateau": f"halve has no effect: {why}",
    }
