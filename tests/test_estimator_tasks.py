"""The estimators with several labels a text, ordered labels and numbers, as scikit-learn expects them."""

from __future__ import annotations

import numpy as np
import pytest

from limelight import PairRegressor, TextClassifier, TextRegressor
from limelight.errors import LimelightError
from refusing import refuses

TEXTS = ["cold soup", "warm soup", "cold bread", "warm bread", "nothing here", "soup"] * 8
SETS = [("cold", "soup"), ("soup",), ("cold",), (), (), ("soup",)] * 8
TABLE = np.array([[int(label in row) for label in ("cold", "soup")] for row in SETS])
VALUES = np.array([1.0, 4.0, 0.5, 3.5, 2.0, 2.5] * 8)
QUICK = {"preset": "tiny", "epochs": 12, "learning_rate": 0.02, "progress": False}


def test_a_table_of_zeros_and_ones_comes_back_as_one(tmp_path):
    clf = TextClassifier(**QUICK).fit(TEXTS, TABLE)
    found = clf.predict(TEXTS[:6])
    assert found.dtype.kind == "i"
    assert found.tolist() == TABLE[:6].tolist()
    P = clf.predict_proba(TEXTS[:6])
    assert P.shape == (6, 2)
    assert clf.classes_.tolist() == [0, 1]
    assert clf.score(TEXTS, TABLE) == 1.0
    worse = TABLE.copy()
    worse[:12, 0] ^= 1
    assert clf.score(TEXTS, worse) == 0.75
    clf.save(tmp_path / "model")
    again = TextClassifier.load(tmp_path / "model")
    assert again.predict(TEXTS[:6]).tolist() == found.tolist()


@pytest.mark.parametrize("form", [list, set, tuple, np.array])
def test_lists_of_labels_come_back_as_tuples(form):
    clf = TextClassifier(**QUICK).fit(TEXTS, [form(row) for row in SETS])
    assert clf.classes_.tolist() == ["cold", "soup"]
    assert clf.predict(TEXTS[:6]) == list(SETS[:6])
    assert clf.score(TEXTS, SETS) == 1.0
    reading = clf.read("cold soup")
    assert reading.answer == ("cold", "soup")


def test_a_data_frame_names_the_labels():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(TABLE, columns=["cold", "soup"])
    clf = TextClassifier(**QUICK).fit(TEXTS, frame, dev=(TEXTS[:12], frame[:12]))
    assert clf.classes_.tolist() == ["cold", "soup"]
    assert clf.model_.labels == ("cold", "soup")
    assert clf.model_.thresholds is not None
    assert clf.predict(["cold soup"]).tolist() == [[1, 1]]


def test_scikit_learn_scores_and_splits_it():
    from sklearn import metrics
    from sklearn.model_selection import cross_val_score

    clf = TextClassifier(**QUICK)
    assert len(cross_val_score(clf, TEXTS, TABLE, cv=2, scoring="f1_micro")) == 2
    fitted = clf.fit(TEXTS, TABLE)
    assert metrics.f1_score(TABLE, fitted.predict(TEXTS), average="macro") > 0.95


def test_a_label_that_no_text_has_stays_a_column():
    clf = TextClassifier(**QUICK).fit(TEXTS, np.hstack([TABLE, np.zeros((48, 1), int)]))
    assert clf.predict_proba(["cold soup"]).shape == (1, 3)
    assert clf.predict(["cold soup"]).tolist() == [[1, 1, 0]]


def test_numbers(tmp_path):
    pytest.importorskip("sklearn")
    from sklearn.base import is_regressor

    model = TextRegressor(**{**QUICK, "epochs": 40}, random_state=1)
    assert is_regressor(model)
    model.fit(TEXTS, VALUES)
    found = model.predict(TEXTS[:6])
    assert found.dtype == np.float64
    assert np.abs(found - VALUES[:6]).max() < 1.0
    expected = 1 - ((model.predict(TEXTS) - VALUES) ** 2).sum() / ((VALUES - VALUES.mean()) ** 2).sum()
    assert model.score(TEXTS, VALUES) == pytest.approx(expected)
    assert not hasattr(model, "predict_proba")
    assert not hasattr(model, "classes_")
    model.save(tmp_path / "model")
    assert TextRegressor.load(tmp_path / "model").predict(TEXTS[:6]).tolist() == found.tolist()
    with refuses("model-kind"):
        TextClassifier.load(tmp_path / "model")


def test_numbers_for_pairs():
    second = [*TEXTS[1:], TEXTS[0]]
    same = [float(a.split()[-1] == b.split()[-1]) for a, b in zip(TEXTS, second, strict=True)]
    model = PairRegressor(**QUICK).fit(TEXTS, second, same)
    assert model.predict(TEXTS[:3], second[:3]).shape == (3,)
    (value,) = model.predict(TEXTS[:1], second[:1])
    assert model.read(TEXTS[0], second[0]).answer == pytest.approx(value, abs=1e-5)


@pytest.mark.parametrize(
    ("labels", "options", "said"),
    [
        (VALUES + np.arange(48) / 97, {}, "task='classification'"),
        ([["a"], "b"] * 24, {}, r"labels\[1\] is 'b'"),
        (["b", ["a"]] * 24, {}, r"labels\[1\] is \['a'\]"),
        (np.full((48, 2), 3), {}, "zeros and ones"),
        (["low", "high"] * 24, {"task": "ordinal"}, "'high' is not a number"),
        (VALUES, {"task": "regression"}, "TextRegressor"),
        (TABLE, {"class_weight": {0: 2.0}}, "class_weight"),
        (TABLE[:5], {}, "48 texts but 5 labels"),
    ],
)
def test_labels_that_do_not_fit(labels, options, said):
    with pytest.raises(LimelightError, match=said):
        TextClassifier(**QUICK, **options).fit(TEXTS, labels)


@pytest.mark.parametrize("wrong", [float("nan"), "3.5", None, True, float("inf")])
def test_what_is_no_number_is_named(wrong):
    with refuses("label-type"):
        TextRegressor(**QUICK).fit(TEXTS, [1.0, wrong, *VALUES[2:].tolist()])


def test_a_dev_label_that_training_lacks_is_named():
    with refuses("label-unknown"):
        TextClassifier(**QUICK).fit(TEXTS, SETS, dev=(["a", "b"], [["cold"], ["late"]]))


def test_ordered_labels_come_back_in_their_type():
    stars = np.array([1, 5, 1, 4, 3, 3] * 8)
    clf = TextClassifier(**QUICK, task="ordinal").fit(TEXTS, stars)
    assert clf.model_.task == "ordinal"
    assert set(clf.predict(TEXTS).tolist()) <= {1, 3, 4, 5}
    assert clf.classes_.tolist() == [1, 3, 4, 5]
