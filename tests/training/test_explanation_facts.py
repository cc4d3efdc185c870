"""What a trained model saves about its pictures, held against the same measured from outside."""

import json

import numpy as np
import pytest

from explain.models import describe_rows, random_model
from limelight.aspects.refits import fit_refits
from limelight.explain import measure_trust
from limelight.network.parts import rows_of
from limelight.runtime.model import Model
from limelight.text.dataset import Dataset, Split
from limelight.training import explanation_facts
from trained import LABELS, restored, texts_of

TEXTS = [text for text in texts_of(60, longest=20) if text]
SECOND = [*TEXTS[5:], *TEXTS[:5]]


def split_of(model: Model) -> Split:
    columns = []
    for texts in (TEXTS, SECOND) if model.pair else (TEXTS,):
        ids = [model.tokenizer.locate(text)[0] for text in texts]
        columns.append((np.concatenate(ids), np.array([len(each) for each in ids])))
    labels = np.zeros(len(TEXTS), int)
    return Split(*columns[0], labels, None, *(columns[1] if model.pair else (None, None)))


@pytest.mark.parametrize("pair", [None, "concat"])
@pytest.mark.parametrize("head", ["linear", "pruned"])
def test_the_figures_are_those_of_trust_and_the_words_those_of_a_report(head, pair, monkeypatch):
    # random rows read nothing in particular
    monkeypatch.setattr("limelight.reading.rows.CLEAR_LIFT", 1.0)
    monkeypatch.setattr("limelight.reading.rows.CLEAR_SHARE", 0.0)
    monkeypatch.setattr("limelight.reading.rows.MIN_LIFT", 1.05)
    model = random_model(pair, head=head)
    split, second = split_of(model), SECOND if pair else None
    dataset = Dataset(model.tokenizer, LABELS, {"train": split, "dev": split}, None, {})
    facts = explanation_facts.explanation_facts(restored(model), dataset, model.weights)
    assert json.loads(json.dumps(facts)) == facts
    measured = measure_trust(model, TEXTS, second)
    assert facts["trust"]["texts"] == len(TEXTS)
    assert facts["trust"]["without"] == pytest.approx(measured["What decided"].comprehensiveness, abs=2e-4)
    assert facts["trust"]["random"] == pytest.approx(measured["Random"].comprehensiveness, abs=0.05)
    sides = [side for each in model.read_many(TEXTS, second) for side in each.sides]
    known = [[word for word, _ in words if word != "unheard"] for words in describe_rows(sides)]
    assert any(known)
    assert [words[:5] for words in facts["rows"]] == [words[:5] for words in known]


def test_without_development_texts_trust_is_not_measured():
    model = random_model()
    dataset = Dataset(model.tokenizer, LABELS, {"train": split_of(model)}, None, {})
    facts = explanation_facts.explanation_facts(restored(model), dataset, model.weights)
    assert set(facts) == {"rows", "row_names"}
    assert len(facts["rows"]) == len(facts["row_names"]) == 3


def test_the_sample_has_no_more_words_than_it_may():
    split = Split(ids=np.arange(60), lengths=np.full(20, 3))
    assert len(explanation_facts._sample(split, 8, 1000)) == 8
    assert len(explanation_facts._sample(split, 20, 10)) == 3
    assert len(explanation_facts._sample(split, 20, 1)) == 1


def test_a_reading_carries_what_its_model_saved():
    facts = {"rows": [["man", "woman"], [], ["soup"]], "row_names": ["people: man, woman", "", "soup"],
             "trust": {"texts": 9, "data": "held-out texts", "without": 0.5, "random": 0.1}}  # fmt: skip
    plain = random_model()
    model = Model.from_parts(
        weights=plain.weights, recipe=plain.recipe, tokenizer=plain.tokenizer, labels=LABELS, facts=facts
    )
    reading = model.read("w1 w2")
    assert reading.row_names == ("people: man, woman", "", "soup")
    assert "by 50 points" in reading.trust
    assert plain.read("w1 w2").row_names == ()
    assert plain.read("w1 w2").trust == ""


@pytest.mark.parametrize(
    "trust", [None, 5, {}, {"texts": "many"}, {"texts": 1, "data": "x", "without": None}]
)
def test_facts_from_elsewhere_may_hold_anything(trust):
    plain = random_model()
    model = Model.from_parts(
        weights=plain.weights, recipe=plain.recipe, tokenizer=plain.tokenizer, labels=LABELS,
        facts={"rows": trust, "row_names": trust, "trust": trust},
    )  # fmt: skip
    assert model.read("w1").trust == ""
    assert model.read("w1").row_names == ()


@pytest.mark.parametrize("pooling", [{}, {"max_row": True}])
def test_heads_are_refitted_where_labels_are_numbers(pooling):
    model = random_model(**pooling)
    split, texts = split_of(model), len(TEXTS)
    stars = np.arange(texts) % len(LABELS)
    split.labels[:] = stars
    network, recipe = restored(model), model.recipe.model
    numbers = Dataset(model.tokenizer, [1, 2, 5][: len(LABELS)], {"train": split}, None, {})
    found = explanation_facts.fit_heads(network, numbers)
    M = np.stack([reading.embedding for reading in model.read_many(TEXTS)])
    X = M[:, : rows_of(recipe).attention].astype(float).mean(axis=1)
    assert found == pytest.approx(fit_refits(X, np.array([1.0, 2.0, 5.0])[stars]), rel=0.05, abs=0.05)
    facts = explanation_facts.explanation_facts(network, numbers, model.weights)
    assert np.shape(facts["refits"]) == found.shape
    names = Dataset(model.tokenizer, LABELS, {"train": split}, None, {})
    assert explanation_facts.fit_heads(network, names) is None
