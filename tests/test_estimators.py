"""The estimators: scikit-learn's habits kept, labels come back as they went in, one line for bad input."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer

import limelight
from limelight import LimelightError, PairClassifier, TextClassifier
from limelight.reading import to_terminal
from refusing import refuses
from reviews import QUICK, pairs, reviews

TEXTS, STARS = reviews(120)
NEW, NEW_STARS = reviews(20, seed=9)


def quick(cls: Any = TextClassifier, **options: Any) -> Any:
    return cls(**{**QUICK, "progress": False, "device": "cpu", **options})


@pytest.fixture(scope="module")
def fitted() -> TextClassifier:
    return quick().fit(TEXTS, STARS)


def test_without_a_preset_the_rows_decide(capsys):
    few = TextClassifier(random_state=3, device="cpu").fit(TEXTS[:12], STARS[:12])
    assert (few.recipe_.text.start, few.recipe_.training.epochs, few.history_) == ("reader", 0, [])
    assert few.recipe_.training.seed == 3
    assert "12 rows of " in (said := capsys.readouterr().err)
    assert "chose preset small, epochs 0" in said
    assert set(few.predict(TEXTS[:12])) <= set(STARS)


def test_a_loss_of_ones_own_is_learnt_from_few_texts_too():
    seen = []

    def loss(output, labels):
        seen.append(len(labels))
        return torch.nn.functional.cross_entropy(output.logits, labels)

    TextClassifier(loss=loss, device="cpu", progress=False).fit(TEXTS[:12], STARS[:12])
    assert seen


@pytest.fixture(scope="module")
def fitted_pairs() -> PairClassifier:
    return quick(PairClassifier, epochs=8).fit(*pairs(200))


# ---------------------------------------------------------------- learning


def test_learns_and_scores(fitted):
    assert fitted.score(NEW, NEW_STARS) == 1.0
    probabilities = fitted.predict_proba(NEW)
    assert probabilities.shape == (20, 2)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-5)
    assert (fitted.classes_[probabilities.argmax(axis=1)] == fitted.predict(NEW)).all()


def test_fitted_attributes(fitted):
    assert fitted.classes_.tolist() == [1, 5]
    assert fitted.recipe_.training.epochs == 3
    assert [record["epoch"] for record in fitted.history_] == [1, 2, 3]
    assert all(0 <= record["dev_accuracy"] <= 1 for record in fitted.history_)


def test_embed_shapes_and_transform(fitted):
    M = fitted.embed(NEW)
    assert M.shape == (20, 4, 64)
    np.testing.assert_array_equal(fitted.embed(NEW, flat=True), M.reshape(20, -1))
    np.testing.assert_array_equal(fitted.transform(NEW), M.reshape(20, -1))
    assert len(fitted.get_feature_names_out()) == 256


def test_read(fitted):
    reading = fitted.read("The soup was cold.")
    assert reading.words == ("The", "soup", "was", "cold", ".")
    assert reading.label == 1
    np.testing.assert_allclose(reading.attention.sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(
        reading.probabilities, fitted.predict_proba(["The soup was cold."])[0], rtol=1e-5
    )


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("text", ["", "  ", "\u200b"])
def test_read_a_text_without_words(text, fitted, fitted_pairs):
    reading, pair = fitted.read(text), fitted_pairs.read(text, "It was rude.")
    for each in (reading, pair.first):
        assert each.words == ("",)
        assert each.overall.tolist() == [1.0]
        assert (each.attention == 1).all()
        assert np.isfinite(each.embedding).all()
        assert each.probabilities.sum() == pytest.approx(1)
        assert "NaN" not in json.dumps(each.to_dict())
        assert each._repr_html_()
    assert "nan" not in to_terminal(reading)


def test_same_seed_same_numbers(fitted):
    again = quick().fit(TEXTS, STARS)
    np.testing.assert_array_equal(again.predict_proba(NEW), fitted.predict_proba(NEW))


def test_same_seed_same_numbers_beside_other_threads(fitted):
    with ThreadPoolExecutor(3) as threads:
        found = [
            threads.submit(each.fit, TEXTS, STARS)
            for each in (quick(random_state=5), quick(), quick(random_state=6))
        ]
        np.testing.assert_array_equal(found[1].result().predict_proba(NEW), fitted.predict_proba(NEW))


@pytest.mark.parametrize(
    "labels",
    [
        ["bad", "good"], [0, 1], [False, True], ["1", "5"], ["01", "1"], [0.5, 2.0], [1.0, 2.0], [-1, 1],
        ["mauvais", "très bon 😀"],
    ],
    ids=str,
)  # fmt: skip
def test_labels_come_back_as_they_went_in(labels, tmp_path):
    given = [labels[star == 5] for star in STARS]
    classifier = quick().fit(TEXTS, given)
    predicted = classifier.predict(NEW).tolist()
    assert predicted == [labels[star == 5] for star in NEW_STARS]
    assert {type(label) for label in predicted} == {type(label) for label in labels}
    classifier.save(tmp_path / "model")
    assert limelight.load(tmp_path / "model").predict(NEW) == predicted
    assert TextClassifier.load(tmp_path / "model").predict(NEW).tolist() == predicted


def test_numpy_labels_keep_their_type():
    classifier = quick(epochs=1).fit(np.array(TEXTS), np.array(STARS, dtype=np.int16))
    assert classifier.predict(NEW).dtype == np.int16


@pytest.mark.parametrize(
    ("texts", "labels"),
    [
        (np.array(TEXTS), np.array(STARS)),
        (np.array(TEXTS, dtype=object), np.array(STARS, dtype=object)),
        (pd.Series(TEXTS, index=range(7, 127)), pd.Series(STARS, index=range(7, 127))),
        (pa.array(TEXTS), pa.array(STARS)),
        (pa.chunked_array([TEXTS[:50], TEXTS[50:]]), pa.chunked_array([STARS])),
        (tuple(TEXTS), tuple(STARS)),
        (pd.Series(TEXTS), pd.Series(STARS).astype("category")),
    ],
    ids=["numpy", "objects", "pandas", "arrow", "chunked", "tuples", "categories"],
)
def test_columns_of_every_kind(texts, labels, fitted):
    classifier = quick().fit(texts, labels)
    np.testing.assert_array_equal(classifier.predict_proba(texts), fitted.predict_proba(TEXTS))
    assert classifier.score(texts, labels) == 1.0


def test_dev_part_is_used_and_not_held_out():
    classifier = quick(epochs=1).fit(TEXTS, STARS, dev=(NEW, NEW_STARS))
    assert classifier.model_.facts["data"]["train"] == 120
    assert classifier.model_.facts["data"]["dev"] == 20
    held = quick(epochs=1, holdout=0.25).fit(TEXTS, STARS)
    assert (held.model_.facts["data"]["train"], held.model_.facts["data"]["dev"]) == (90, 30)
    assert "dev" not in quick(epochs=1, holdout=0).fit(TEXTS, STARS).model_.facts["data"]


def test_weights_decide_contradictions():
    """The same text with both labels: the heavier one wins, by row or by class."""
    texts, labels = ["The soup was odd."] * 60, [0, 1] * 30
    for heavy in (0, 1):
        rows = [10.0 if label == heavy else 0.1 for label in labels]
        by_row = quick(holdout=0, epochs=5).fit(texts, labels, sample_weight=rows)
        by_class = quick(holdout=0, epochs=5, class_weight={heavy: 10.0, 1 - heavy: 0.1}).fit(texts, labels)
        assert by_row.predict(texts[:1]).tolist() == by_class.predict(texts[:1]).tolist() == [heavy]
        assert by_row.predict_proba(texts[:1])[0, heavy] > 0.8


def test_rows_without_weight_do_not_choose_either():
    """Their labels are wrong: by them, the worst epoch would be the best."""
    wrong = [1 if star == 5 else 5 for star in STARS]
    found = quick(holdout=0.2).fit(TEXTS * 2, [*STARS, *wrong], sample_weight=[1] * 120 + [0] * 120)
    assert [record["dev_weighted_accuracy"] for record in found.history_][-1] == 1.0
    assert found.history_[-1]["dev_accuracy"] < 0.7
    assert found.score(NEW, NEW_STARS) == 1.0


def test_class_weights_count_on_a_given_dev_part():
    dev = (NEW, [5, *NEW_STARS[1:]])
    found = quick(class_weight={5: 3.0}).fit(TEXTS, STARS, dev=dev)
    predicted = found.predict(NEW)
    weights = np.where(np.array(dev[1]) == 5, 3.0, 1.0)
    best = max(
        found.history_, key=lambda record: (record["dev_weighted_accuracy"], -record["dev_weighted_loss"])
    )
    expected = np.average(predicted == dev[1], weights=weights)
    assert best["dev_weighted_accuracy"] == pytest.approx(expected, abs=1e-6)


def test_weights_that_leave_nothing_to_learn_from():
    weights = [1.0 if star == 5 else 0.0 for star in STARS]
    with refuses("weights-zero"):
        quick(class_weight={5: 0.0}).fit(TEXTS, STARS, sample_weight=weights)


def test_numpys_numbers_are_numbers():
    plain = quick(epochs=1, holdout=0.25).fit(TEXTS, STARS, sample_weight=[0.5, 2.0] * 60).predict_proba(NEW)
    stars = np.array([np.int64(star) for star in STARS], dtype=object)
    weights = pd.Series([np.float32(0.5), np.float64(2)] * 60, dtype=object)
    found = quick(epochs=np.int64(1), holdout=np.float32(0.25)).fit(TEXTS, stars, sample_weight=weights)
    np.testing.assert_array_equal(found.predict_proba(NEW), plain)
    assert found.classes_.tolist() == [1, 5]


def test_balanced_classes_help_the_rare_one():
    texts, labels = ["The soup was odd."] * 50, [0] * 45 + [1] * 5
    plain = quick(holdout=0, epochs=5).fit(texts, labels).predict_proba(texts[:1])[0, 1]
    even = (
        quick(holdout=0, epochs=5, class_weight="balanced").fit(texts, labels).predict_proba(texts[:1])[0, 1]
    )
    assert plain < 0.3 < even < 0.7


def test_aspects_are_kept(tmp_path):
    given = {"food": ["soup", "bread"]}
    classifier = quick(aspects=given, epochs=1).fit(TEXTS, STARS)
    assert classifier.model_.aspects.to_dict() == given
    assert [each.clause for each in classifier.read("Cold soup, nice waiter").aspects] == ["Cold soup"]
    classifier.save(tmp_path / "model")
    assert clone(TextClassifier.load(tmp_path / "model")).aspects == given
    with refuses("aspects"):
        quick(aspects={"food": []}).fit(TEXTS, STARS)


# ---------------------------------------------------------------- scikit-learn


def test_params_and_clone():
    classifier = quick(rows=3, penalty=0.5)
    params = classifier.get_params()
    assert (params["rows"], params["penalty"], params["hidden"], params["holdout"]) == (3, 0.5, None, None)
    copy = clone(classifier)
    assert copy.get_params() == params
    assert copy.set_params(rows=5) is copy
    assert copy.rows == 5
    assert classifier.rows == 3
    assert "rows=3" in repr(classifier)


def test_an_option_without_effect_is_warned_of(tmp_path, recwarn):
    quick(penalty=0.5).fit(TEXTS, STARS)
    assert not recwarn.list
    fitted = quick(pooling="max", rows=8, epochs=1).fit(TEXTS, STARS)
    assert [str(each.message) for each in recwarn.list] == [
        "rows has no effect: it needs pooling 'self-attention'"
    ]
    assert recwarn.pop().filename == __file__
    fitted.save(tmp_path / "model")
    TextClassifier.load(tmp_path / "model").set_params(progress=False).fit(TEXTS, STARS)
    assert not recwarn.list  # nobody has given what a saved recipe holds


def test_cross_validation():
    assert cross_val_score(quick(), TEXTS, STARS, cv=3).tolist() == [1.0, 1.0, 1.0]


def test_grid_search_over_recipe_options():
    search = GridSearchCV(quick(epochs=2), {"rows": [1, 2], "penalty": [0.0, 1.0]}, cv=2).fit(TEXTS, STARS)
    assert len(search.cv_results_["params"]) == 4
    assert search.best_estimator_.recipe_.model.rows in (1, 2)
    assert search.score(NEW, NEW_STARS) == search.best_estimator_.score(NEW, NEW_STARS)


def test_last_step_of_a_pipeline():
    shout = FunctionTransformer(lambda texts: [text.upper() for text in texts])
    pipeline = Pipeline([("shout", shout), ("clf", quick())]).set_params(clf__rows=2).fit(TEXTS, STARS)
    assert pipeline.score(NEW, NEW_STARS) == 1.0
    assert pipeline["clf"].recipe_.model.rows == 2


def test_transformer_feeds_another_classifier():
    pipeline = make_pipeline(quick(), LogisticRegression()).fit(TEXTS, STARS)
    assert pipeline[-1].n_features_in_ == 256
    assert pipeline.score(NEW, NEW_STARS) == 1.0


def test_survives_pickling_by_joblib(fitted):
    copy = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copy.predict_proba(NEW), fitted.predict_proba(NEW))


# ---------------------------------------------------------------- pairs


def test_pairs_learn_and_read(fitted_pairs):
    first, second, labels = pairs(40, seed=7)
    assert fitted_pairs.score(first, second, labels) == 1.0
    together = list(zip(first, second, strict=True))
    for form in (together, np.array(together), pd.DataFrame(together)):
        np.testing.assert_array_equal(fitted_pairs.predict(form), fitted_pairs.predict(first, second))
    reading = fitted_pairs.read(first[0], second[0])
    assert reading.label == labels[0]
    assert reading.second.words == ("It", "was", second[0].split()[-1][:-1], ".")
    assert fitted_pairs.transform(together).shape == (40, 2 * 256)


def test_pairs_cross_validate():
    first, second, labels = pairs(80)
    together = list(zip(first, second, strict=True))
    scores = cross_val_score(quick(PairClassifier, epochs=1), together, labels, cv=2)
    assert scores.shape == (2,)


def test_pairs_with_dev_and_saved(tmp_path, fitted_pairs):
    first, second, labels = pairs(40, seed=3)
    classifier = quick(PairClassifier, epochs=1).fit(*pairs(60), dev=(first, second, labels))
    assert classifier.model_.facts["data"]["dev"] == 40
    fitted_pairs.save(tmp_path / "pairs")
    loaded = PairClassifier.load(tmp_path / "pairs")
    np.testing.assert_array_equal(
        loaded.predict_proba(first, second), fitted_pairs.predict_proba(first, second)
    )
    with refuses("model-kind"):
        TextClassifier.load(tmp_path / "pairs")


# ---------------------------------------------------------------- saving


def test_who_is_loaded_and_fits_again_fits_alike(tmp_path):
    first = quick(class_weight={5: 9.0}, holdout=0.3, epochs=2).fit(TEXTS, STARS)
    first.save(tmp_path / "m")
    again = TextClassifier.load(tmp_path / "m")
    assert (again.class_weight, again.holdout) == ({5: 9.0}, 0.3)
    numpys = quick(class_weight={np.int64(5): np.float32(9)}, holdout=np.float64(0.3), epochs=2)
    numpys.fit(TEXTS, STARS).save(tmp_path / "n")
    assert TextClassifier.load(tmp_path / "n").class_weight == {5: 9.0}
    again.set_params(progress=False, device="cpu").fit(TEXTS, STARS)
    np.testing.assert_array_equal(again.predict_proba(NEW), first.predict_proba(NEW))


def test_who_is_loaded_is_not_warned_of_what_nobody_gave(tmp_path, recwarn):
    quick(preset="light", holdout=0, epochs=2).fit(TEXTS, STARS).save(tmp_path / "m")
    recwarn.clear()
    again = TextClassifier.load(tmp_path / "m").set_params(progress=False, device="cpu")
    assert again.fit(TEXTS, STARS).holdout == 0
    assert not [str(each.message) for each in recwarn if "no effect" in str(each.message)]


def test_pairs_as_one_argument_with_y(fitted_pairs):
    first, second, labels = pairs(30)
    together = list(zip(first, second, strict=True))
    assert fitted_pairs.score(together, y=labels) == fitted_pairs.score(first, second, labels)
    flat = quick(PairClassifier, epochs=1).fit_transform(first, second, labels)
    np.testing.assert_array_equal(quick(PairClassifier, epochs=1).fit_transform(together, y=labels), flat)
    np.testing.assert_array_equal(quick(PairClassifier, epochs=1).fit_transform(together, labels), flat)


def test_a_model_that_has_learnt_nothing_is_warned_of():
    texts, labels = ["The soup was odd."] * 60, ["good", "bad", "good"] * 20
    with pytest.warns(UserWarning, match=r"'good' for all 6 dev rows: it has learnt nothing"):
        quick(epochs=2).fit(texts, labels)
    classifier = quick(epochs=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="predicts 'good'"):
            classifier.fit(texts, labels)
    assert classifier.predict(texts[:1]).tolist() == ["good"], "what was learnt is not lost by it"


def test_readings_of_many(fitted, fitted_pairs):
    assert [r.text for r in fitted.read_many(pd.Series(NEW[:2]))] == NEW[:2]
    first, second, _ = pairs(3)
    for found in (
        fitted_pairs.read_many(first, second),
        fitted_pairs.read_many([*zip(first, second, strict=True)]),
    ):
        assert [(r.first.text, r.second.text) for r in found] == [*zip(first, second, strict=True)]


def test_same_numbers_after_saving(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    loaded, model = TextClassifier.load(tmp_path / "model"), limelight.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(NEW), fitted.predict_proba(NEW))
    np.testing.assert_array_equal(model.predict_proba(NEW), fitted.predict_proba(NEW))
    np.testing.assert_array_equal(model.embed(NEW), fitted.embed(NEW))
    assert loaded.classes_.tolist() == [1, 5]
    assert loaded.history_ == fitted.history_
    assert clone(loaded).get_params()["rows"] == 4
    with refuses("exists"):
        fitted.save(tmp_path / "model")
    fitted.save(tmp_path / "model", overwrite=True)


def test_loading_needs_neither_torch_nor_scikit_learn(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    code = f"""
import sys
import limelight
assert not set(sys.modules) & {{"numpy", "torch", "sklearn", "jinja2", "pyarrow"}}
model = limelight.load({str(tmp_path / "model")!r})
assert model.predict(["The soup was cold."]) == [1]
assert not set(sys.modules) & {{"torch", "sklearn", "pyarrow"}}
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_fit_from_a_table(tmp_path):
    table = tmp_path / "reviews.csv"
    pd.DataFrame({"text": TEXTS, "stars": STARS}).to_csv(table, index=False)
    model = limelight.fit(table, text="text", label="stars", out=tmp_path / "model", progress=False, **QUICK)
    assert model.predict(NEW) == NEW_STARS
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "reviews.csv"]


@pytest.mark.parametrize(
    ("train", "options", "message"),
    [
        (pd.DataFrame({"text": TEXTS}), {}, "train must be a file or a list of files, not DataFrame"),
        ([3], {}, "train must be a file or a list of files, not int"),
        (None, {}, "no training table; name at least one"),
        ([], {}, "no training table; name at least one"),
        ("", {}, "train must be a file or a list of files, not ''"),
        ("a.csv", {"dev": 3}, "dev must be a file or a list of files, not int"),
        ("a.csv", {"rows": np.int64(0)}, "rows is 0; it must be at least 1"),
    ],
)
def test_what_is_no_table_is_one_line(train, options, message, tmp_path):
    with pytest.raises(LimelightError) as error:
        limelight.fit(train, out=tmp_path / "m", **options)
    assert str(error.value) == message
    assert not any(tmp_path.iterdir())


def test_interrupt_keeps_what_was_learnt(monkeypatch):
    from limelight.training.run import TrainingRun

    def stop(self: Any, *_: Any) -> bool:
        return self.state.epoch == 1 or TrainingRun.original(self, *_)  # type: ignore[attr-defined]

    monkeypatch.setattr(TrainingRun, "original", TrainingRun.epoch, raising=False)
    monkeypatch.setattr(TrainingRun, "epoch", stop)
    classifier = quick(epochs=50)
    with pytest.raises(KeyboardInterrupt):
        classifier.fit(TEXTS, STARS)
    assert len(classifier.history_) == 1
    assert classifier.predict(NEW).shape == (20,)


def test_interrupted_before_the_first_epoch_it_is_not_trained(monkeypatch):
    monkeypatch.setattr("limelight.training.run.TrainingRun.epoch", lambda self: True)
    classifier = quick()
    with pytest.raises(KeyboardInterrupt):
        classifier.fit(TEXTS, STARS)
    with pytest.raises(NotFittedError):
        classifier.predict(NEW)


def test_warnings_name_the_users_labels_and_point_at_their_line():
    with pytest.warns(UserWarning, match="1 label occurs only once in the training data: bad$") as found:
        quick(epochs=1).fit(["soup", "pie", "tea"], ["good", "bad", "good"])
    assert found[0].filename == __file__


# ---------------------------------------------------------------- bad input

BAD_FITS = {
    "one string": (
        ("Good soup.", STARS),
        {},
        "texts must be a list or a column; got one string; put it in a list",
    ),
    "a number": ((5, STARS), {}, "texts must be a list or a column, not int"),
    "nothing": ((None, STARS), {}, "texts must be a list or a column, not None"),
    "a dictionary": (({"text": 1}, STARS), {}, "texts must be a list or a column, not dict"),
    "a table": (
        (pd.DataFrame({"text": TEXTS, "city": TEXTS}), STARS),
        {},
        "texts must be one column; got DataFrame of shape (120, 2)",
    ),
    "numbers": (([1, 2], [0, 1]), {}, "texts[0] is 1; each must be a string"),
    "None inside": ((["good", None], [0, 1]), {}, "texts[1] is None; each must be a string"),
    "bytes inside": (([b"good", "bad"], [0, 1]), {}, "texts[0] is b'good'; each must be a string"),
    "empty": (([], []), {}, "there are no texts"),
    "an empty text": ((["good", ""], [0, 1]), {}, "train: no text in texts[1]; correct it or leave it out"),
    "lengths": ((TEXTS, STARS[:7]), {}, "got 120 texts but 7 labels"),
    "one class": ((TEXTS, [1] * 120), {}, "every label is 1; at least two classes"),
    "one row": (([TEXTS[0]], [1]), {}, "every label is 1; at least two classes"),
    "label None": ((["a", "b"], [1, None]), {}, "labels[1] is None; it must be text, a number or a boolean"),
    "label NaN": (
        (["a", "b"], [1.0, np.nan]),
        {},
        "labels[1] is nan; it must be text, a number or a boolean",
    ),
    "label kinds": ((["a", "b"], [1, "x"]), {}, "labels have different types (int and str)"),
    "label map": ((["a", "b"], [{1: 2}, 3]), {}, "labels[0] is {1: 2}; it must be text, a number"),
    "labels string": (
        (["a", "b"], "ab"),
        {},
        "labels must be a list or a column; got one string; put it in a list",
    ),
    "weights": ((TEXTS, STARS, [1.0]), {}, "got 120 texts but 1 sample weights"),
    "weights zero": (
        (TEXTS, STARS, [0.0] * 120),
        {},
        "every training row has a weight of 0; at least one must have more",
    ),
    "weights below": (
        (TEXTS, STARS, [-1.0, 5.0] * 60),
        {},
        "sample weights[0] is -1.0; it must be a number of at least 0",
    ),
    "weights of text": (
        (TEXTS, STARS, ["a"] + [1] * 119),
        {},
        "sample weights[0] is 'a'; it must be a number of at least 0",
    ),
    "labels beyond 64 bits": (
        (["a", "b"], [2**63, 2**64]),
        {},
        "some labels are integers too large to stay exact; give them as text",
    ),
    "large labels beside a float": (
        (["a", "b", "c"], [2**53 + 1, 2**53, 1.0]),
        {},
        "some labels are integers too large to stay exact; give them as text",
    ),
    "weights too large": (
        (["a", "b"], [0, 1], [1, 10**400]),
        {},
        f"sample weights[1] is {repr(10**400)[:37]}...; it must be a number of at least 0",
    ),
    "dev labels of lists": (
        (TEXTS, STARS),
        {"dev": (["a"], [[1]])},
        "dev labels[0] is [1]; the classes are: 1, 5",
    ),
    "dev label": ((TEXTS, STARS), {"dev": (["a"], [3])}, "dev labels[0] is 3; the classes are: 1, 5"),
    "dev form": ((TEXTS, STARS), {"dev": TEXTS}, "dev must be (texts, labels); got a list"),
}


@pytest.mark.parametrize("case", BAD_FITS)
def test_bad_fit_is_one_line(case):
    args, options, message = BAD_FITS[case]
    with pytest.raises(LimelightError) as error:
        quick().fit(*args, **options)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"preset": "huge"}, "unknown preset 'huge'"),
        ({"rows": 0}, "rows is 0; it must be at least 1"),
        ({"epochs": "5"}, "epochs is '5'; it must be of type int"),
        ({"device": "tpu"}, "device is 'tpu'; it must be auto, cpu or cuda"),
        ({"holdout": 1.5}, "holdout is 1.5; it must be a number of at least 0 and below 1"),
        ({"holdout": "a"}, "holdout is 'a'; it must be a number of at least 0 and below 1"),
        ({"class_weight": {7: 2.0}}, "class_weight[0] is 7; the classes are: 1, 5"),
        ({"class_weight": {5: "a"}}, "class weights[1] is 'a'; it must be a number of at least 0"),
    ],
)
def test_bad_options_are_one_line(options, message):
    with pytest.raises(LimelightError) as error:
        quick(**options).fit(TEXTS, STARS)
    assert str(error.value).startswith(message)


def test_labels_that_can_be_read_once():
    found = quick().fit(TEXTS, (star for star in STARS))
    np.testing.assert_array_equal(found.predict_proba(NEW), quick().fit(TEXTS, STARS).predict_proba(NEW))


def test_unknown_option_suggests():
    with refuses("option-unknown") as error:
        TextClassifier(seed=1)
    assert "'random_state'" in str(error.value)
    with refuses("option-value"):
        quick(random_state="x").fit(TEXTS, STARS)
    with refuses("option-unknown"):
        TextClassifier(rate=0.1)
    with refuses("option-unknown"):
        TextClassifier(row=3)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "embed", "transform", "read", "save"])
def test_unfitted_use_is_one_line(method, tmp_path):
    argument: Any = {"read": "a", "save": tmp_path / "m"}.get(method, ["a"])
    with refuses("not-fitted") as error:
        getattr(quick(), method)(argument)
    assert isinstance(error.value, NotFittedError)
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("method", ["predict", "predict_proba", "embed", "transform"])
def test_bad_texts_to_predict(method, fitted):
    for texts, message in (("soup", "got one string"), (["a", None], r"texts\[1\] is None"), (3, "not int")):
        with pytest.raises(LimelightError, match=message):
            getattr(fitted, method)(texts)
    assert len(getattr(fitted, method)([])) == 0


def test_bad_scores(fitted):
    with refuses("length-mismatch"):
        fitted.score(NEW, [1])
    with refuses("no-rows"):
        fitted.score([], [])
    for wrong in ("1", float("nan"), None, [1], pd.NA):
        with pytest.raises(LimelightError) as error:
            fitted.score(NEW, [*NEW_STARS[:19], wrong])
        assert str(error.value) == f"labels[19] is {wrong!r}; the classes are: 1, 5"
    with refuses("length-mismatch"):
        fitted.score(NEW, NEW_STARS, sample_weight=[1, 2, 3])
    with refuses("weight-value"):
        fitted.score(NEW, NEW_STARS, sample_weight=[0] * 20)
    assert fitted.score(NEW, [9] * 20) == 0.0, "a class that was not trained is an error of the model's"


def test_bad_pairs():
    first, second, labels = pairs(10)
    classifier = quick(PairClassifier)
    with refuses("text-type"):
        classifier.fit(first, labels)
    with refuses("length-mismatch"):
        classifier.fit(first, second[:3], labels)
    with refuses("text-type"):
        classifier.fit(first, [None] * 10, labels)
    with refuses("argument-type"):
        classifier.fit(first, second, labels, dev=3)
    with refuses("argument-missing"):
        classifier.fit(first)


def test_a_folder_that_is_no_model(tmp_path: Path):
    for load in (limelight.load, TextClassifier.load):
        with refuses("not-a-model"):
            load(tmp_path)


def test_threads_that_wait_leave_the_cores_to_others(tmp_path: Path) -> None:
    """What PyTorch finds when it is loaded; another in its place tells, without taking seconds."""
    (tmp_path / "torch.py").write_text("import os; print(os.environ['OMP_WAIT_POLICY'])")
    code = "import limelight; from limelight.training import need_torch; print('before'); need_torch()"
    paths = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    for given, found in ({}, "passive"), ({"OMP_WAIT_POLICY": "active"}, "active"):
        kept = {k: v for k, v in os.environ.items() if k != "OMP_WAIT_POLICY"}
        command, environment = [sys.executable, "-c", code], {**kept, "PYTHONPATH": paths, **given}
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.stdout == f"before\n{found}\n", done.stderr


# ---------------------------------------------------------------- starting from pretrained weights

FEW = [
    "Good soup!",
    "What a lovely waiter!",
    "Great wine.",
    "Cold soup.",
    "Awful service!",
    "The wine was bad.",
]


@pytest.fixture(scope="module")
def from_reader() -> TextClassifier:
    return TextClassifier(progress=False, device="cpu", epochs=1, random_state=0).fit(FEW, [1, 1, 1, 0, 0, 0])


def test_few_texts_are_enough_for_the_default(from_reader, tmp_path):
    new = ["An excellent dinner.", "A delightful cook!", "A terrible dinner.", "The cook was horrible."]
    assert from_reader.predict(new).tolist() == [1, 1, 0, 0]  # no word of them is in the training texts
    assert (from_reader.recipe_.text.start, from_reader.recipe_.model.head) == ("reader", "linear")
    assert from_reader.embed(new).shape == (4, 24, 600)
    assert "dev_accuracy" not in from_reader.history_[0]  # nothing was held out
    from_reader.save(tmp_path / "m")
    again = TextClassifier.load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict_proba(new), from_reader.predict_proba(new))


def test_training_goes_on_with_a_model(from_reader, tmp_path):
    from_reader.save(tmp_path / "m")
    more = quick(preset="small", start=str(tmp_path / "m"), epochs=1, learning_rate=1e-9)
    more.fit(FEW, [1, 1, 1, 0, 0, 0])
    np.testing.assert_allclose(more.predict_proba(FEW), from_reader.predict_proba(FEW), atol=1e-4)


def test_sizes_that_the_start_does_not_have_are_refused():
    with refuses("start-other"):
        TextClassifier(rows=8, progress=False).fit(FEW, [1, 1, 1, 0, 0, 0])
    with refuses("not-a-model"):
        TextClassifier(start="nowhere", progress=False).fit(FEW, [1, 1, 1, 0, 0, 0])
