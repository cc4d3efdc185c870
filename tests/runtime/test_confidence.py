"""Temperature, curves of what is answered, and models that abstain."""

from __future__ import annotations

import csv
import json
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import binom

from drawing import examples
from limelight import TextClassifier
from limelight.cli import main
from limelight.errors import LimelightError
from limelight.runtime.confidence import (
    BOUNDS,
    POINTS,
    RISK,
    Answered,
    _most_wrong,
    _smoothed,
    _wrong_at_most,
    answer_curve,
    answered,
    check_threshold,
    confidence_facts,
    fit_temperature,
    reaching,
    saved_curve,
    threshold_for,
)
from limelight.runtime.model import Model
from limelight.training.evaluate import logits
from limelight.training.outcome import calibrate, results_of
from limelight.training.run import fit
from refusing import refuses
from reviews import QUICK, reviews, write_csv
from training import toys


def softmax(Z: np.ndarray) -> np.ndarray:
    E = np.exp(Z - Z.max(axis=1, keepdims=True))
    return E / E.sum(axis=1, keepdims=True)


def cross_entropy(Z: np.ndarray, truth: np.ndarray, blur: float) -> float:
    logs = np.log(softmax(Z))
    return float(-((1 - blur) * logs[np.arange(len(Z)), truth] + blur * logs.mean(axis=1)).mean())


def draw(seed: int, rows: int = 400, classes: int = 4, sharpness: float = 1.0):
    """Logits of a model that is `sharpness` times too sure, and classes drawn by what it should say."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(0, 2, (rows, classes))
    truth = np.array([rng.choice(classes, p=p) for p in softmax(Z)])
    return sharpness * Z, truth


# ---------------------------------------------------------------- the temperature


@examples(10)
@given(st.integers(0, 1000), st.floats(0.3, 4))
def test_the_temperature_has_the_least_cross_entropy(seed, sharpness):
    Z, truth = draw(seed, sharpness=sharpness)
    best, blur = fit_temperature(Z, truth), 1 / (len(Z) + 2)
    losses = [cross_entropy(Z / t, truth, blur) for t in np.geomspace(*BOUNDS, 400)]
    assert cross_entropy(Z / best, truth, blur) <= min(losses) + 1e-9


@pytest.mark.parametrize("sharpness", [0.5, 1.0, 3.0])
def test_the_temperature_undoes_what_made_the_model_too_sure(sharpness):
    Z, truth = draw(0, rows=20_000, sharpness=sharpness)
    assert fit_temperature(Z, truth) == pytest.approx(sharpness, rel=0.05)


def test_what_all_classes_of_a_row_have_in_common_changes_no_temperature():
    Z, truth = draw(0)
    far = Z + np.linspace(-1e5, 1e5, len(Z))[:, None]
    assert fit_temperature(far, truth) == pytest.approx(fit_temperature(Z, truth), rel=1e-9)


def test_who_is_always_right_stays_uncertain_and_within_bounds():
    Z = np.eye(3)[np.arange(300) % 3] * 8
    T = fit_temperature(Z, np.arange(300) % 3)
    assert 0.99 < softmax(Z / T).max() < 1 - 1e-4
    wrong = fit_temperature(Z, (np.arange(300) + 1) % 3)
    assert wrong == pytest.approx(BOUNDS[1], rel=1e-3)
    assert np.isfinite(fit_temperature(np.zeros((5, 2)), np.zeros(5, int)))


def test_a_temperature_is_within_its_bounds_whatever_the_logits():
    truth = np.arange(300) % 3
    right = np.eye(3)[truth] * 0.01
    assert fit_temperature(right, truth) == pytest.approx(0.05, rel=1e-6)
    assert fit_temperature(right, (truth + 1) % 3) == pytest.approx(20, rel=1e-6)


def test_of_few_texts_one_in_n_and_two_counts_for_all_classes():
    """Of ten sure and right answers, the temperature is that of 1/12 spread over two classes."""
    Z = np.tile([2.0, 0.0], (10, 1))
    assert fit_temperature(Z, np.zeros(10, int)) == pytest.approx(2 / np.log(23))


def test_the_temperature_goes_into_the_network_and_changes_no_answer():
    data = toys.dataset(rows=60, dev=150)
    fitted = fit(data, toys.recipe(epochs=6), show=False)
    before, truth = logits(fitted.network, data.splits["dev"]), np.asarray(data.splits["dev"].labels)
    facts = calibrate(fitted, data)["confidence"]
    after = logits(fitted.network, data.splits["dev"])
    np.testing.assert_allclose(after, before / facts["temperature"], rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(after.argmax(axis=1), before.argmax(axis=1))
    assert facts["rows"] == 150
    assert (
        results_of(fitted, data, ["dev"])["dev"].loss <= cross_entropy(before.astype(float), truth, 0) + 1e-3
    )


def test_too_few_rows_leave_the_probabilities_as_they_are():
    data = toys.dataset(dev=99)
    assert calibrate(fit(data, toys.recipe(), show=False), data) == {}
    enough = toys.dataset(dev=100)
    assert calibrate(fit(enough, toys.recipe(), show=False), enough)["confidence"]["rows"] == 100
    none = toys.dataset(dev=0)
    assert calibrate(fit(none, toys.recipe(), show=False), none) == {}


# ---------------------------------------------------------------- the curve


@examples(20)
@given(st.integers(0, 1000), st.integers(1, 500), st.integers(1, 6))
def test_a_curve_is_what_is_answered_at_its_thresholds(seed, rows, digits):
    rng = np.random.default_rng(seed)
    confidence = rng.random(rows).round(digits)
    correct = rng.random(len(confidence)) < confidence
    curve = answer_curve(confidence, correct)
    assert 1 <= len(curve) <= POINTS
    assert curve[0].share == 1
    for point in curve:
        sure = confidence >= point.threshold
        assert (point.share, point.precision) == (sure.mean(), correct[sure].mean())
    assert saved_curve(json.loads(json.dumps({"rows": rows, "curve": curve}))) == (curve, rows)


def test_a_curve_has_a_hundred_points():
    confidence = np.linspace(0.1, 0.9, 1000)
    curve = answer_curve(confidence, confidence > 0.5)
    assert len(curve) == 100
    assert [curve[0].threshold, curve[-1].threshold] == [0.1, 0.9]


def test_the_threshold_answers_as_much_as_it_can():
    curve = [
        Answered(0.2, 1.0, 0.8),
        Answered(0.5, 0.9, 0.9),
        Answered(0.7, 0.5, 0.95),
        Answered(0.9, 0.1, 1),
    ]
    assert threshold_for(curve, 0.89, 10_000).threshold == 0.5
    assert threshold_for(curve, 0.91, 10_000).share == 0.5
    with refuses("precision-unreachable"):
        threshold_for(curve[:2], 0.99, 10_000)
    for wrong in (0, 1.5, 95, float("nan")):
        with pytest.raises(LimelightError, match="must be above 0 and at most 1"):
            threshold_for(curve, wrong, 10_000)


def reference_smoothed(thresholds, answers, wrong):
    """By the likelihood of a logistic function of the logit, half a right and half a wrong answer added."""
    texts, errors = (each - np.append(each[1:], 0) for each in (answers, wrong))
    half = 0.5 * texts / max(texts.sum(), 1)
    yes, no = texts - errors + half, errors + half
    x = np.log(thresholds / (1 - thresholds))

    def loss(w):
        return yes @ np.log1p(np.exp(-(w[0] + w[1] * x))) + no @ np.log1p(np.exp(w[0] + w[1] * x))

    w = minimize(loss, [0, 0], tol=1e-12).x
    both = (yes + no) / (1 + np.exp(-(w[0] + w[1] * x)))
    return np.array([both[k:].sum() / (yes + no)[k:].sum() for k in range(len(x))])


@pytest.mark.parametrize("rows", [1, 5, 30, 300])
def test_a_curve_is_smoothed_by_a_logistic_function_of_the_confidence(rows):
    for seed in range(8):
        draw = np.random.default_rng(seed)
        thresholds = np.unique(draw.uniform(0.3, 0.99, rows).round(2))
        texts = draw.integers(1, 4, len(thresholds))
        errors = draw.binomial(texts, 1 - thresholds)
        answers, wrong = (each[::-1].cumsum()[::-1] for each in (texts, errors))
        expected = reference_smoothed(thresholds, answers, wrong)
        np.testing.assert_allclose(_smoothed(thresholds, answers, wrong), expected, atol=2e-5)


def test_who_is_fully_certain_or_not_at_all_is_almost_so():
    almost, answers, wrong = np.array([1e-6, 0.5, 1 - 1e-6]), np.array([9, 6, 3]), np.array([4, 1, 0])
    found = _smoothed(np.array([0.0, 0.5, 1.0]), answers, wrong)
    np.testing.assert_allclose(found, reference_smoothed(almost, answers, wrong), atol=1e-4)
    assert reaching([], 0.9, 10) is None


def test_a_precision_of_all_is_asked_for_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert reaching([Answered(0.5, 1.0, 1.0)], 1.0, 1000) is None


@pytest.mark.parametrize(("precision", "fewest"), [(0.8, 14), (0.9, 29), (0.95, 59), (0.99, 299)])
def test_so_many_right_answers_show_a_precision(precision, fewest):
    point = Answered(0.9, 1.0, 1.0)
    assert threshold_for([point], precision, fewest) == point
    with refuses("precision-unreachable"):
        threshold_for([point], precision, fewest - 1)


def test_the_tests_of_a_precision_are_those_of_scipy():
    for n, precision in ((1, 0.5), (40, 0.9), (93, 0.95), (2000, 0.8), (100_000, 0.99)):
        shown = [k for k in range(n + 1) if binom.cdf(k, n, 1 - precision) <= RISK] if n < 1e4 else []
        most = len(shown) - 1 if n < 1e4 else int(binom.ppf(RISK, n, 1 - precision)) - 1
        assert _most_wrong(n, precision) == most
        for k in {0, max(most, 0), n // 3}:
            assert _wrong_at_most(k, n, precision) == pytest.approx(binom.cdf(k, n, 1 - precision), abs=1e-9)
    assert (_most_wrong(1000, 1.0), _wrong_at_most(0, 9, 1.0), _wrong_at_most(-1, 9, 0.5)) == (-1, 1.0, 0.0)


def test_the_error_says_what_the_texts_show():
    curve = [Answered(0.3, 1.0, 0.84), Answered(0.8, 0.5, 0.96), Answered(0.95, 0.1, 1.0)]
    with pytest.raises(LimelightError) as error:
        threshold_for(curve, 0.95, 100)
    assert str(error.value) == (
        "100 texts do not show a precision of 95.0% with 90% confidence at any threshold; answering 100%, "
        "84.0% are right (75.6% to 89.9%); answering 50%, 96.0% are right (86.5% to 98.9%); "
        "answering 10%, 100.0% are right (72.2% to 100.0%); ask for less, or give more texts"
    )


@pytest.mark.parametrize(
    ("rows", "precision", "given", "wrong"),
    [(100, 0.95, 0, 0), (200, 0.95, 0, 0), (2000, 0.95, 46, 0), (200, 0.9, 10, 0), (400, 0.85, 90, 7)],
)
def test_a_threshold_that_is_given_holds(rows, precision, given, wrong):
    """By a bound for each threshold alone, 11 of 11, 11 of 27, 4 of 97, 6 of 82 and 10 of 99 are wrong."""
    rng, found = np.random.default_rng(0), []
    for _ in range(100):
        confidence = rng.uniform(0.5, 1, rows)  # calibrated: so sure, so often right
        found.append(reaching(answer_curve(confidence, rng.random(rows) < confidence), precision, rows))
    true = [(1 + each.threshold) / 2 for each in found if each]  # the precision on new texts
    assert (len(true), sum(each < precision for each in true)) == (given, wrong)


@examples(30)
@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=80), st.floats(0.01, 1))
def test_any_curve_has_a_threshold_or_none(texts, precision):
    confidence, correct = map(np.array, zip(*texts, strict=True))
    found = reaching(answer_curve(confidence, correct), precision, len(texts))
    assert found is None or _most_wrong(round(found.share * len(texts)), precision) >= 0


@pytest.mark.parametrize(
    "facts",
    [
        None, {}, 3, {"curve": 3}, {"curve": [["a"]]}, {"curve": [[1]]}, {"curve": []},
        {"curve": [[0.5, 1, 1]], "rows": 0}, {"curve": [[0.5, 1, 1]], "rows": 10**15},
        {"curve": [[0.5, 0, 1]], "rows": 9}, {"curve": [[0.5, 1, 1.1]], "rows": 9},
        {"curve": [[0.5, 1, float("nan")]], "rows": 9}, {"curve": [[0.5, 1, 1], [0.4, 0.5, 1]], "rows": 9},
        {"curve": [[0.5, 0.5, 1], [0.6, 0.5, 1]], "rows": 9},
        {"curve": [[0.5, 1, 1], [0.5, 0.5, 1]], "rows": 9},
        {"curve": [[0.5, 1, 1], [0.6, 0.5, 1], [0.55, 0.25, 1]], "rows": 9},
        {"curve": [[0.5, 1, 1], [0.6, 0.5, 1], [0.7, 0.5, 1]], "rows": 9},
        {"curve": [[0.5, 1.01, 1], [0.6, 0.5, 1]], "rows": 9}, {"curve": [[0.5, 1, -0.1]], "rows": 9},
        {"curve": [[0.5, 1, 1]], "rows": 10**7}, {"curve": [[0.5, 1, 1]], "rows": float("inf")},
    ],
)  # fmt: skip
def test_a_damaged_curve_is_none(facts):
    assert saved_curve(facts) == ([], 0)


def test_a_curve_at_its_limits_is_one():
    curve = [[0.0, 1, 1], [0.5, 0.5, 0], [1.0, 0.25, 0.5]]
    for rows in (1, 10**7 - 1):
        assert saved_curve({"curve": curve, "rows": rows}) == ([Answered(*each) for each in curve], rows)


@pytest.mark.parametrize("value", [0, 0.25, np.float32(0.5), 1])
def test_a_threshold_is_a_probability(value):
    assert check_threshold(value) == float(value)


@pytest.mark.parametrize("value", [-1e-9, 1 + 1e-9, "0.5", None])
def test_what_is_no_probability_is_refused(value):
    with refuses("option-value"):
        check_threshold(value)


@pytest.mark.parametrize("task", ["multi-label", "regression"])
def test_only_one_class_a_text_can_be_too_unsure(task):
    with refuses("model-task"):
        check_threshold(0.5, task=task)


# ---------------------------------------------------------------- models that abstain


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory):
    """A model whose development set is half noise; its folder."""
    folder = tmp_path_factory.mktemp("sure") / "model"
    texts, stars = reviews(150, seed=1)
    noise, other = ["The table was blue."] * 60, [1, 5] * 30
    clf = TextClassifier(**QUICK, progress=False)
    clf.fit(texts + noise, stars + other, dev=(texts + noise, stars + other)).save(folder)
    return folder


def test_a_model_says_none_where_it_is_unsure(model, tmp_path):
    loaded = Model.load(model)
    texts = ["The soup was good and the waiter lovely.", "The table was blue."]
    least = loaded.threshold(0.95)
    assert loaded.predict(texts, abstain_below=least) == [5, None]
    assert None not in loaded.predict(texts)
    assert loaded.predict([], abstain_below=0.5) == []
    clf = TextClassifier.load(model)
    assert clf.predict(texts, abstain_below=least).tolist() == [5, None]
    for wrong in (80, -0.1, float("nan"), "0.8"):
        with pytest.raises(LimelightError, match="abstain_below is"):
            loaded.predict((1 / 0 for _ in texts), abstain_below=wrong)  # before a text is read
    facts = loaded.facts["confidence"]
    assert facts["rows"] == 210
    P = loaded.predict_proba(reviews(150, seed=1)[0])
    assert answered(P.max(axis=1), np.ones(150, bool), least).share == 1
    assert "Abstaining" in (model / "README.md").read_text()
    assert confidence_facts(P, P.argmax(axis=1))["curve"][0][1:] == [1.0, 1.0]


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_predict_leaves_the_label_empty(model, form, tmp_path, capfd):
    table = write_csv(
        tmp_path / "new.csv", text=["The soup was good and the waiter lovely.", "The table was blue."]
    )
    out = tmp_path / f"answers.{form}"
    argv = ["predict", model, table, "--text", "text", "--target-precision", "0.95", "--out", out]
    assert main([str(each) for each in argv]) == 0
    said = capfd.readouterr()
    assert "1 of them unsure" in said.out
    assert "abstaining below 0." in said.err
    assert "as 210 development texts show" in said.err
    if form == "csv":
        assert [row["label"] for row in csv.DictReader(out.open())] == ["5", ""]
    elif form == "jsonl":
        assert [json.loads(line)["label"] for line in out.read_text().splitlines()] == [5, None]
    else:
        from pyarrow import parquet

        assert parquet.read_table(out)["label"].to_pylist() == [5, None]


def test_evaluate_says_what_is_answered(model, tmp_path, capfd):
    texts, stars = reviews(20, seed=2)
    rows = [f"{text} {text}" for text in texts] + ["The table was blue, blue."] * 10  # not learnt from
    table = write_csv(tmp_path / "t.csv", text=rows, stars=stars + [1, 5] * 5)
    assert main(["evaluate", str(model), str(table), "--abstain-below", "0.9", "--json"]) == 0
    found = json.loads(capfd.readouterr().out)["answered"]
    assert found == {"threshold": 0.9, "share": pytest.approx(2 / 3), "precision": 1.0}
    assert main(["evaluate", str(model), str(table), "--target-precision", "0.95"]) == 0
    assert "answers 66.7% of the texts, 100.0% of them correctly" in capfd.readouterr().out


def test_a_threshold_that_cannot_be_is_one_line(model, tmp_path, capfd):
    table = write_csv(tmp_path / "t.csv", text=reviews(20)[0], stars=reviews(20)[1])
    for flags, message in (
        (["--abstain-below", "80"], "--abstain-below is 80"),
        (["--target-precision", "95"], "must be above 0 and at most 1"),
        (["--abstain-below", "0.8", "--target-precision", "0.9"], "exclude each other"),
    ):
        for command in ("predict", "evaluate"):
            assert main([command, str(model), str(table), *flags]) == 2
            said = capfd.readouterr().err
            assert message in said
            assert said.count("\n") == 1


def test_a_model_without_a_curve_chooses_on_the_table(tmp_path, capfd):
    TextClassifier(**QUICK, progress=False, holdout=0).fit(*reviews(60)).save(tmp_path / "m")
    table = write_csv(tmp_path / "t.csv", text=reviews(60)[0], stars=reviews(60)[1])
    assert main(["predict", str(tmp_path / "m"), str(table), "--target-precision", "0.9"]) == 2
    assert "limelight evaluate" in capfd.readouterr().err
    assert main(["evaluate", str(tmp_path / "m"), str(table), "--target-precision", "0.9"]) == 0
    said = capfd.readouterr()
    assert "chosen on" in said.err
    assert "abstaining below" in said.out
