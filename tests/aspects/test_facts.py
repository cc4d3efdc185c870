"""The aspects of a model: exact for every task, kept in the folder, edited there, and checked."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from limelight import Model
from limelight.aspects.facts import MAX_EDITS, facts_of_training
from limelight.aspects.seeds import Aspects
from limelight.runtime.edits import write_aspects
from limelight.tables.table import open_table
from limelight.text.questions import Mean
from refusing import refuses
from trained import WORDS, edit, network_of, predict_table, recipe_of, save, tokenizer, weights_of

GIVEN = {"even": ["w0", "w2", "w4"], "odd": ["w1", "w3 w5"], "none": ["nothing"]}
STARS = (1, 2, 5)
TASKS = {
    "ordinal": STARS, "classification": STARS, "regression": ("value",), "auto": ("bad", "fair", "good"),
}  # fmt: skip
TEXTS = st.lists(st.sampled_from([*WORDS[:8], ",", ".", "but", "😀", "\n", "unheard"]), max_size=14).map(
    " ".join
)


def model_of(task: str = "classification", labels=None, head: str = "pruned", aspects=GIVEN, **more) -> Model:
    labels = labels or TASKS.get(task, ("a", "b", "c"))
    recipe = recipe_of({"rows": 2, "head": head, "task": task, **more})
    made = Model.from_parts(
        weights=weights_of(network_of(recipe, classes=len(labels))), recipe=recipe, tokenizer=tokenizer(),
        labels=labels, threads=1,
    )  # fmt: skip
    return made.with_aspects(aspects) if aspects else made


@pytest.fixture(scope="module")
def models() -> dict[str, Model]:
    heads = ("linear", "full", "pruned", "linear")
    return {task: model_of(task, head=head) for task, head in zip(TASKS, heads, strict=True)}


@pytest.mark.parametrize("task", TASKS)
@examples(25)
@given(TEXTS)
def test_the_aspects_and_the_rest_add_up_to_the_answer(models, task, text):
    model = models[task]
    reading = model.read(text)
    P, found = reading.probabilities.astype(float), reading.aspect_sum
    answer = float(P @ STARS) if model.labels == STARS else float(P[reading.target])
    assert found.answer == pytest.approx(answer, abs=1e-5)
    assert found.bias + sum(each.effect for each in found.aspects) + found.rest == pytest.approx(
        found.answer, abs=1e-12
    )
    assert found.unit == (
        "mean" if model.labels == STARS else {"regression": "number"}.get(task, "probability")
    )
    assert (found.aspects[2].mentioned, found.aspects[2].effect) == (False, 0)
    assert (
        np.any(found.aspects[0].weights)
        == found.aspects[0].mentioned
        == any(w in text.split() for w in GIVEN["even"])
    )


def test_without_words_the_answer_is_the_bias_of_the_mean():
    model = model_of(head="linear")
    z = model.weights["head.b_o"].astype(float)
    assert model.read("w0 w1").aspect_sum.bias == pytest.approx(float(Mean((1, 2, 5)).value(z)), abs=1e-3)


def test_stars_of_any_number_of_classes_and_in_any_batch():
    model = model_of(labels=tuple(range(11)))
    for reading in (model.read("w0"), *model.read_many(["w0", "w5 w1"])):
        assert reading.aspect_sum.unit == "mean"
        assert reading.aspect_sum.answer == pytest.approx(reading.probabilities @ range(11), abs=1e-5)
    assert 0 <= model.read("w0").aspects[0].estimated <= 10


def test_against_another_class_it_is_the_probability_between_both():
    model = model_of()
    other = next(label for label in model.labels if label != model.read("w0 w1").label)
    reading = model.read("w0 w1", against=other)
    assert (reading.aspect_sum.unit, reading.aspects[0].estimated) == ("probability", None)
    assert reading.aspect_sum.answer == pytest.approx(reading.bias + reading.decided.sum())


@pytest.mark.parametrize("against", [{}, {"against": 5}])
def test_who_asks_about_a_class_gets_its_probability_by_aspect(against):
    reading = model_of().read("w0 w1", label=1, **against)
    found = reading.aspect_sum
    assert found.unit == "probability"
    total = found.bias + sum(each.effect for each in found.aspects) + found.rest
    assert total == pytest.approx(reading.bias + reading.decided.sum())


# ---------------------------------------------------------------- folders


def test_a_folder_keeps_them_and_their_history(tmp_path):
    model = model_of()
    model.save(tmp_path / "model")
    again = Model.load(tmp_path / "model")
    assert (again.aspects, again.facts) == (model.aspects, model.facts)
    assert [each["edit"] for each in again.facts["aspects"]["history"]] == ["set"]
    again.with_aspects({"b": ["w1"]}).save_aspects(tmp_path / "model")
    last = Model.load(tmp_path / "model")
    assert last.aspects.to_dict() == {"b": ["w1"]}
    assert [each["edit"] for each in last.facts["aspects"]["history"]] == ["set", "set"]
    assert last.predict(["w1 w2"]) == model.predict(["w1 w2"])
    assert model.read("w1 w2").aspects[0].name == "even"  # the other model is as it was


def test_an_edit_changes_config_json_alone(tmp_path):
    folder = save(tmp_path / "model")
    before = {each.name: each.read_bytes() for each in folder.iterdir()}
    write_aspects(folder, Aspects.of({"even": ["w0"]}), "set")
    after = {each.name: each.read_bytes() for each in folder.iterdir()}
    assert {name for name in after if after[name] != before.get(name)} == {"config.json"}
    old, new = (json.loads(each["config.json"]) for each in (before, after))
    assert new["facts"].pop("aspects")["history"][0].keys() == {"date", "edit"}
    assert all(new[name] == old[name] for name in old if name != "sha256")
    assert [each.name for each in tmp_path.iterdir()] == ["model"]


def test_an_edit_that_fails_changes_nothing(tmp_path):
    folder = save(tmp_path / "model")
    before = (folder / "config.json").read_bytes()
    with refuses("not-a-model"):
        write_aspects(tmp_path / "none", Aspects(), "set")
    assert (folder / "config.json").read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["model"]


def test_history_has_an_end(tmp_path):
    folder = save(tmp_path / "model")
    old = [{"date": "2026-11-17T09:30:00Z", "edit": f"edit {k}"} for k in range(MAX_EDITS)]
    fact = {"definition": {"a": ["w0"]}, "history": old}
    edit(folder, lambda config: config["facts"].update(aspects=fact))
    write_aspects(folder, Aspects.of({"a": ["w1"]}), "set")
    history = Model.load(folder).facts["aspects"]["history"]
    assert [each["edit"] for each in history] == [*(each["edit"] for each in old[1:]), "set"]


@pytest.mark.parametrize(
    "fact",
    [
        5, [], "hotels", {}, {"definition": "hotels", "history": []}, {"definition": {"a": ["b"]}},
        {"definition": {"a": []}, "history": []}, {"definition": {"a/b": ["c"]}, "history": []},
        {"definition": [["a", ["b"]]], "history": []}, {"definition": {"a": ["b"]}, "history": {}},
        {"definition": {"a": ["b"]}, "history": [5]},
        {"definition": {"a": ["b"]}, "history": [["date", "edit"]]},
        {"definition": {"a": ["b"]}, "history": [{"date": 1, "edit": "x"}]},
        {"definition": {"a": ["b"]}, "history": [], "more": 1},
    ],
)  # fmt: skip
def test_damaged_aspects_are_refused_and_can_be_replaced(tmp_path, fact):
    folder = save(tmp_path / "model")
    edit(folder, lambda config: config["facts"].update(aspects=fact))
    with refuses("file-damaged"):
        Model.load(folder)
    write_aspects(folder, Aspects.of({"a": ["w0"]}), "set")
    assert Model.load(folder).aspects.to_dict() == {"a": ["w0"]}


def test_training_that_goes_on_keeps_them():
    before = model_of().facts
    found = facts_of_training(Aspects(), before, "classification", pair=False)["aspects"]
    assert found == {"definition": before["aspects"]["definition"], "history": []}
    other = facts_of_training(Aspects.of({"a": ["b"]}), before, "ordinal", pair=False)["aspects"]
    assert other["definition"] == {"a": ["b"]}
    assert facts_of_training(Aspects(), before, "multi-label", pair=False) == {}
    assert facts_of_training(Aspects(), {}, "ordinal", pair=False) == {}
    with refuses("pair-or-text"):
        facts_of_training(Aspects.of({"a": ["b"]}), None, "ordinal", pair=True)


def test_only_for_one_answer_of_a_single_text(tmp_path):
    pairs = save(tmp_path / "pairs", "gated")
    with refuses("pair-or-text"):
        write_aspects(pairs, Aspects.of({"a": ["w0"]}), "set")
    with refuses("pair-or-text"):
        Model.load(pairs).with_aspects(GIVEN)
    with refuses("model-task"):
        model_of("multi-label")
    edit(pairs, lambda config: config["facts"].update(aspects={"definition": {"a": ["b"]}, "history": []}))
    with refuses("pair-or-text"):
        Model.load(pairs)
    with refuses("model-kind"):
        write_aspects("reader", Aspects(), "set")


# ---------------------------------------------------------------- tables


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_columns_of_a_table(tmp_path, form):
    model, out = model_of(), tmp_path / f"out.{form}"
    (tmp_path / "new.csv").write_text('text,even_effect\n"w0 w7, w3 w5",mine\nw7,\n')
    with pytest.warns(UserWarning, match="given_even_effect"):
        assert predict_table(model, tmp_path / "new.csv", out, aspects=True) == 2
    with open_table(out) as table:
        names = table.names
    expected = [f"{name}_{what}" for name in GIVEN for what in ("mentioned", "effect", "stars", "clause")]
    assert names == ["label", "confidence", *expected, "text", "given_even_effect"]
    if form == "jsonl":
        first, second = map(json.loads, out.read_text().splitlines())
        even, odd, _ = model.read("w0 w7, w3 w5").aspects
        assert (first["even_mentioned"], first["even_clause"]) == (1, "w0 w7")
        assert first["odd_effect"] == pytest.approx(odd.effect, rel=1e-5)
        assert first["even_stars"] == round(even.estimated, 2)
        nothing = [second[f"odd_{what}"] for what in ("mentioned", "effect", "stars", "clause")]
        assert nothing == [0, 0, None, None]


def test_columns_without_stars_and_without_aspects(tmp_path):
    (tmp_path / "new.csv").write_text("text\nw0\n")
    predict_table(model_of("regression"), tmp_path / "new.csv", tmp_path / "out.csv", aspects=True)
    head = (tmp_path / "out.csv").read_text().splitlines()[0]
    assert head.startswith("value,even_mentioned,even_effect,even_clause,odd_mentioned")
    with refuses("no-aspects"):
        predict_table(model_of(aspects=None), tmp_path / "new.csv", tmp_path / "other.csv", aspects=True)
