"""What version 0.1 wrote, under the names its options had, is still read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import limelight
import trained
from limelight.config.options import EMBEDDINGS, REMOVED, RENAMED, TRAINING_ONLY, upgrade
from limelight.config.recipe import Recipe, options, section_of
from refusing import refuses

# Every option of version 0.1, each away from its default where a value is left that is
WRITTEN: dict[str, dict[str, Any]] = {
    "text": {
        "lowercase": False, "min_count": 2, "max_words": 500, "max_length": 40, "vectors": "default",
        "spare_words": 300, "missing": "spelling",
    },
    "model": {
        "embedding": "max", "word_size": 50, "project": 20, "hidden": 12, "layers": 2, "filter_width": 3,
        "attention": "structured", "attention_hidden": 11, "rows": 4, "max_row": True,
        "attention_bias": True, "pair": "concat", "head": "pruned", "head_hidden": 33, "row_units": 5,
        "column_units": 2, "head_layers": 1, "mix_units": 7, "dropout": 0.1, "dropout_words": 0.2,
        "dropout_layers": 0.3, "dropout_states": 0.4, "dropout_matrix": 0.5, "dropout_rows": 0.6,
        "initialisation": "author",
    },
    "training": {
        "penalty": 0.3, "penalty_scale": "author", "optimiser": "adagrad", "rate": 0.06,
        "schedule": "linear", "batch": 16, "epochs": 7, "l2": 1e-4, "clip_norm": 0.5, "clip_value": 0.7,
        "clip_gates": 100.0, "tune_words": False, "class_weight": "balanced", "label_smoothing": 0.1,
        "consistency": 0.5, "noisy_copies": 2, "teachers": 3, "teaching": 0.25, "judge_after": 100,
        "patience": 4, "halve": True, "average": 0.999, "precision": "bf16", "seed": 5,
    },
}  # fmt: skip
PRESENT = Recipe().override(
    lowercase=False, min_count=2, max_words=500, max_length=40, vectors="default", extra_words=300,
    missing_vectors="spelling", pooling="max", word_size=50, projection=20, hidden=12, layers=2,
    attention_hidden=11, rows=4, max_row=True, author_code=True, pair="concat", head="pruned",
    head_hidden=33, row_units=5, column_units=2, mix_units=7, dropout=0.1, dropout_words=0.2,
    dropout_states=0.4, dropout_matrix=0.5, penalty=0.3, penalty_scale="author", optimizer="adagrad",
    learning_rate=0.06, schedule="linear", batch_size=16, epochs=7, weight_decay=1e-4, clip_norm=0.5,
    clip_gates=100.0, fine_tune_words=False, class_weight="balanced", min_steps=100,
    patience=4, halve_on_plateau=True, ema_decay=0.999,
    precision="bf16", seed=5,
)  # fmt: skip
# options that version 0.1 did not have
NEW = {
    "aspect_penalty", "buckets", "encoder", "encoder_rate", "separator", "split_characters", "start",
    "stems", "task", "vector_rank", "vector_size",
}  # fmt: skip
OTHER_VALUES = {"attention": "generalised", "filter_width": 5, "head_layers": 2}


def as_written(recipe: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """A present recipe as version 0.1 would have written it."""
    old = {new: name for name, new in RENAMED.items()}
    found = {s: {old.get(k, k): v for k, v in values.items() if k not in NEW} for s, values in recipe.items()}
    split = found["model"].pop("encoder", "bilstm"), found["model"].pop("pooling")
    found["model"]["embedding"] = {value: name for name, value in EMBEDDINGS.items()}[split]
    found["model"].update(
        {name: left for name, (left, _) in REMOVED.items()},
        dropout_layers=0.0,
        dropout_rows=0.0,
        initialisation="torch",
    )
    found["training"].update(
        clip_value=0.0, consistency=0.0, label_smoothing=0.0, teachers=0, teaching=0.5, noisy_copies=0
    )
    return found


def test_a_recipe_of_version_0_1_is_the_same_under_the_present_names() -> None:
    assert Recipe.from_dict(WRITTEN) == PRESENT
    assert Recipe.from_dict(json.loads(json.dumps(WRITTEN))) == PRESENT
    default, present = Recipe().values(), PRESENT.values()
    assert {name for name in present if present[name] == default[name]} == NEW, "each is put to the test"


def test_every_name_is_an_option_or_was_one() -> None:
    written = {name for section in WRITTEN.values() for name in section}
    assert set(RENAMED) | TRAINING_ONLY | set(REMOVED) <= written | {"teacher_weight"}  # of version 0.2
    given = {**dict.fromkeys(written - set(REMOVED)), "embedding": "max"}
    assert set(upgrade(given)) == set(options()) - NEW | {"encoder"}
    assert not (set(RENAMED) | TRAINING_ONLY | set(REMOVED)) & set(options())


def test_present_names_stay_as_they_are() -> None:
    assert upgrade(PRESENT.values()) == PRESENT.values()
    assert Recipe.from_dict(PRESENT.to_dict()) == PRESENT


@pytest.mark.parametrize("bias", [True, False])
def test_biases_in_the_attention_are_now_the_author_s_code(bias: bool) -> None:
    recipe = Recipe.from_dict({"model": {"attention_bias": bias, "initialisation": "torch"}})
    assert recipe == Recipe().override(author_code=bias)


@pytest.mark.parametrize("name", sorted(TRAINING_ONLY))
def test_options_that_only_training_felt_are_dropped(name: str) -> None:
    section = "model" if name in WRITTEN["model"] else "training"
    assert Recipe.from_dict({section: {name: WRITTEN[section].get(name, 0.5)}}) == Recipe()


@pytest.mark.parametrize("name", REMOVED)
def test_another_value_of_a_removed_part_of_the_network_is_one_clear_error(name: str) -> None:
    left, where = REMOVED[name]
    assert Recipe.from_dict({"model": {name: left}}) == Recipe()
    with refuses("option-removed") as error:
        Recipe.from_dict({"model": {name: OTHER_VALUES[name], **where}})
    said = str(error.value)
    assert repr(OTHER_VALUES[name]) in said
    assert repr(left) in said
    assert "0.1" in said
    assert "\n" not in said


@pytest.mark.parametrize(
    ("name", "beside"),
    [
        ("attention", {"embedding": "max"}),
        ("filter_width", {"embedding": "max"}),
        ("head_layers", {"head": "full"}),
    ],
)
def test_a_removed_option_without_effect_is_dropped(name: str, beside: dict[str, str]) -> None:
    found = Recipe.from_dict({"model": {name: OTHER_VALUES[name], **beside}})
    assert found == Recipe().override(**({"pooling": "max"} if "embedding" in beside else beside))


def test_values_that_only_training_felt_are_dropped() -> None:
    assert Recipe.from_dict({"training": {"penalty_scale": "kl"}}) == Recipe()
    for name in ("missing", "missing_vectors"):
        assert Recipe.from_dict({"text": {name: "neighbours"}}) == Recipe()


def test_a_recipe_of_version_0_2_with_teachers_describes_the_same_network() -> None:
    """`best-pair` as version 0.2 saved it."""
    taught = {"teachers": 5, "teacher_weight": 0.5, "noisy_copies": 2, "epochs": 8}
    found = Recipe.from_dict({"model": {"layers": 3, "mix_units": 512}, "training": taught})
    assert found == Recipe().override(layers=3, mix_units=512, epochs=8)


@pytest.mark.parametrize("embedding", ["mean", "last", "inner"])
def test_a_removed_embedding_is_one_clear_error(embedding: str) -> None:
    with refuses("option-value"):
        Recipe.from_dict({"model": {"embedding": embedding}})


@pytest.mark.parametrize(("old", "new"), RENAMED.items())
def test_an_old_name_suggests_the_new_one(old: str, new: str) -> None:
    assert section_of(new) in ("text", "model", "training")
    for ask in (lambda: section_of(old), lambda: Recipe().override(**{old: 1})):
        with refuses("option-unknown"):
            ask()


@pytest.mark.parametrize("author_code", [False, True])
def test_a_folder_of_version_0_1_loads_and_answers_as_before(tmp_path: Path, author_code: bool) -> None:
    recipe = trained.recipe_of({"rows": 2, "projection": 5, "author_code": author_code})
    recipe = recipe.override(vector_size=384, vector_rank=128)
    weights = trained.weights_of(trained.network_of(recipe))
    folder = trained.save(tmp_path / "model", recipe=recipe, weights=weights)
    texts = trained.texts_of(5)
    expected = limelight.load(folder).predict_proba(texts)
    trained.edit(folder, lambda config: config.update(recipe=as_written(config["recipe"])))
    written = json.loads((folder / "config.json").read_text())["recipe"]
    assert {s: set(v) for s, v in written.items()} == {s: set(v) for s, v in WRITTEN.items()}
    model = limelight.load(folder)
    assert model.recipe == recipe
    np.testing.assert_array_equal(model.predict_proba(texts), expected)


def test_a_folder_whose_network_is_no_longer_known_is_one_clear_error(tmp_path: Path) -> None:
    folder = trained.save(tmp_path / "model")
    trained.edit(folder, lambda config: config["recipe"]["model"].update(attention="generalised"))
    with refuses("option-removed") as error:
        limelight.load(folder)
    assert "\n" not in str(error.value)
