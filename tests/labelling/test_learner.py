"""What a labelling learns: its answers, what it chooses next, what it needs; each against a plain version."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest

from labelling.test_session import WORDS, make_texts, run, start
from limelight.labelling.answers import Answers
from limelight.labelling.learner import estimate, pick, uncertain
from limelight.labelling.refit import Fitted, Prior, is_correct, task_of
from limelight.text.labels import readable

# ---------------------------------------------------------------- answers


def answers_of(logits: list[list[float]], several: bool = False, unread: tuple[int, ...] = ()) -> Answers:
    """A model whose logits for each text are these."""
    X = np.array(logits, float)
    read = np.array([row not in unread for row in range(len(X))])
    vectors = SimpleNamespace(matrix=X, is_read=read, encode=lambda texts: np.array([[0.0, 0.0, 1.0]]))
    fitted = Fitted(np.eye(3), np.zeros(3), 1.0, several, np.zeros((0, 3)))
    return Answers(fitted, ("a", "b", "c"), vectors, several)


LOGITS = [[2.0, 1.0, 0.0], [0.0, 3.0, 0.0], [0.1, 0.0, 0.0], [0.0, 1.5, 1.0], [9.0, 0.0, 0.0]]


def test_the_surest_come_first_from_a_probability_on():
    answers = answers_of(LOGITS, unread=(4,))
    P = task_of(False).activate(np.array(LOGITS))
    assert answers.confident(range(5), 0.0, None) == [1, 0, 3, 2]
    assert answers.confident(range(5), float(P[0, 0]), None) == [1, 0]
    assert answers.confident(range(5), 0.0, "b") == [1, 3]
    assert answers.confident([3, 1], 0.0, "b") == [1, 3]
    assert answers.confident(range(5), 0.0, "c") == []
    assert np.isnan(answers.probabilities([4, 0])[0]).all()
    np.testing.assert_allclose(answers.probabilities([4, 0])[1], P[0])


def test_with_several_labels_a_class_is_judged_by_itself():
    assert answers_of(LOGITS, several=True).confident(range(5), 0.7, "b") == [1, 3, 0]


def test_without_a_model_nothing_is_known():
    answers = Answers(None, ("a", "b"), answers_of(LOGITS).vectors, False)
    assert answers.confident([0, 1], 0.0, None) == []
    assert answers.sample([4, 3, 2], 2) == [4, 3]
    assert np.isnan(answers.probabilities([0, 1])).all()
    assert answers.answer(3, "x", ("b",)) == (3, None, (), {}, [], ("b",))


def test_a_sample_is_half_the_least_certain_and_half_of_all_others():
    rows = list(range(20))
    answers = answers_of([[0.5 * (row % 10), 0.0, -9.0] for row in rows])
    assert answers.sample(rows, 20) == rows
    assert answers.sample(rows, 4) == [0, 10, 1, 11]
    assert answers.sample(rows, 5) == [0, 10, 1, 7, 14]
    assert answers.sample([7, 2, 9, 4, 5], 1) == [7]


def test_the_most_similar_come_first():
    answers = answers_of([[1, 0, 0], [0, 0, 1], [0.8, 0, 0.6], [0.6, 0, 0.8]], unread=(0,))
    assert answers.similar([0, 1, 2, 3], "the third direction") == [1, 3, 2]
    assert answers.similar([3, 2, 1], 0) == [2, 3, 1]


@pytest.mark.parametrize("several", [False, True])
def test_words_speak_for_the_best_class_and_against_the_others(several):
    answers = answers_of(LOGITS, several)
    parts, offsets = np.array([[0.5, 0.2, -0.1], [1.5, 0.8, 0.1]]), np.array([[0, 4], [5, 9]])
    given = SimpleNamespace(parts=parts, offsets=offsets, vector=parts.sum(axis=0))
    answers.vectors.reader = SimpleNamespace(word_parts=lambda texts: [given])
    found = answers.answer(2, "cold soup", None)
    P = task_of(several).activate(parts.sum(axis=0)[None])[0]
    assert found.probabilities == pytest.approx({"a": P[0], "b": P[1], "c": P[2]})
    assert (found.label, found.labels) == ("a", ("a", "b") if several else ("a",))
    others = 0 if several else (P[1] * parts[:, 1] + P[2] * parts[:, 2]) / (P[1] + P[2])
    assert [word[:3] for word in found.words] == [("cold", 0, 4), ("soup", 5, 9)]
    np.testing.assert_allclose([word.weight for word in found.words], parts[:, 0] - others)


def test_of_a_single_class_the_words_speak_for_it():
    answers = answers_of([[1.0, 0, 0]])
    fitted = Fitted(np.array([[2.0, 0, -1]]), np.zeros(1), 0.5, False, np.zeros((0, 1)))
    vectors = answers.vectors
    parts = np.array([[0.5, 0.2, -0.1], [1.5, 0.8, 0.1]])
    given = SimpleNamespace(parts=parts, offsets=np.array([[0, 4], [5, 9]]), vector=parts.sum(axis=0))
    vectors.reader = SimpleNamespace(word_parts=lambda texts: [given])
    found = Answers(fitted, ("a",), vectors, False).answer(0, "cold soup", ("a",))
    assert (found.label, found.labels, found.probabilities, found.told) == ("a", ("a",), {"a": 1.0}, ("a",))
    assert [word.weight for word in found.words] == pytest.approx([2.2, 5.8])


# ---------------------------------------------------------------- choosing


def test_at_random_is_the_order_of_the_table():
    texts, labels = make_texts(40)
    session = start(texts)
    run(session, labels, 12)
    is_open = [row for row in session._order.tolist() if session.said(row) is None]
    found = session._learner.choose(session._is_open(), "random", 5)
    assert found == [(row, "random") for row in is_open[:5]]


def test_what_is_chosen_is_uncertain_and_unlike_what_is_labelled():
    texts, labels = make_texts(60)
    session = start(texts)
    run(session, labels, 20)
    learner, is_open = session._learner, session._is_open()
    learner.drawn[:] = True  # enough at random
    found = learner.choose(is_open, "auto", 3)
    left = np.array([row for row in session._order if is_open[row]])
    useful = uncertain(learner.fitted.logits(learner.vectors.matrix[left]), False)
    useful = useful * learner._around.gain(left, useful, learner.rows)
    expected = pick(useful, learner.vectors.matrix[left], 3)
    assert found == [(int(left[k]), "auto") for k in expected]


def test_every_second_label_is_of_the_random_sample():
    texts, labels = make_texts(200)
    session = start(texts)
    for said in range(25):
        drawn = session.progress().drawn
        (shown,) = session.next()
        assert shown.chosen == ("random" if drawn <= 0.5 * said else "auto")
        session.label(shown.row, labels[shown.row])
    assert drawn == 12


def test_texts_that_are_the_same_are_picked_one_after_another():
    assert pick(np.ones(3), np.array([[1.0, 0.0]] * 3), 3) == [0, 1, 2]


class Model:
    """Gives every text of a class so much to that class."""

    labels = ("food", "pool", "rooms")

    def predict_proba(self, texts: list[str]) -> np.ndarray:
        return np.array(
            [[0.9, 0.0, 0.1] if any(w in t for w in WORDS["food"]) else [0.2, 0.0, 0.8] for t in texts]
        )


def taught(count: int) -> tuple[dict[str, Prior], np.ndarray, np.ndarray]:
    texts, _ = make_texts(count)
    session = start(texts, model=Model())
    session.progress()
    return session._learner._taught(texts), Model().predict_proba(texts), session.vectors.matrix


@pytest.mark.parametrize(("count", "most"), [(8, 8), (60, 10)])
def test_a_model_to_start_from_counts_for_ten_texts_of_each_class_at_most(count, most):
    found, P, X = taught(count)
    D = X - X.mean(axis=0)
    assert list(found) == ["food", "pool", "rooms"]
    for k in (0, 2):
        total, weight = found[Model.labels[k]]
        assert weight == pytest.approx(min(P[:, k].sum(), most))
        np.testing.assert_allclose(total, weight * (P[:, k] @ D) / P[:, k].sum(), atol=1e-5)
    np.testing.assert_allclose(found["pool"][0], 0, atol=1e-8)


def test_the_estimate_is_of_the_random_sample_alone():
    texts, labels = make_texts(160)
    session = start(texts)
    run(session, labels, 120)
    found, learner = session.progress(), session._learner
    first = next(k for k, row in enumerate(session._order) if session.said(int(row)) is None)
    by_model = np.array([session.said(int(row)).chosen == "auto" for row in learner.rows])
    drawn = np.isin(learner.rows, session._order[:first]) & ~by_model
    assert learner.drawn.tolist() == drawn.tolist()
    assert by_model[np.isin(learner.rows, session._order[:first])].any()
    expected = estimate(is_correct(learner.fitted.left_out, learner.Y)[drawn])
    assert (found.accuracy, found.low, found.high) == (expected.accuracy, expected.low, expected.high)
    assert found.drawn == drawn.sum() >= 50
    assert found.estimate == str(expected)
    assert found.history[-1][1:] == (expected.accuracy, expected.low, expected.high)
    assert {point.accuracy is None for point in found.history} == {True, False}
    assert [point.labels for point in found.history] == sorted({point.labels for point in found.history})
    assert sum(need.drawn for need in found.needs) == expected.drawn
    assert sum(need.right for need in found.needs) == expected.right


def test_after_an_undo_the_history_ends_earlier():
    texts, labels = make_texts(80)
    session = start(texts)
    for row in session._order[:14].tolist():
        session.label(row, labels[row])
        session.progress()
    assert [point.labels for point in session.progress().history] == [10, 11, 12, 13, 14]
    session.undo()
    session.undo()
    assert [point.labels for point in session.progress().history] == [10, 11, 12]


def test_classes_need_labels_by_how_few_they_have_and_how_often_they_are_mistaken():
    texts, labels = make_texts(60)
    session = start(texts, classes=[*WORDS, "pool"])
    assert {(need.name, need.labels, need.drawn) for need in session.progress().needs} == {
        (name, 0, 0) for name in session.classes
    }
    for row in session._order[:30].tolist() + session._order[40:50].tolist():
        session.label(row, "staff" if row % 5 == 0 else labels[row])
    needs, learner = session.progress().needs, session._learner
    expected = []
    for k, name in enumerate(session.classes):
        given = learner.Y[:, k] > 0
        own = learner.fitted.left_out[given & learner.drawn].argmax(axis=1).tolist()
        wrong = Counter(each for each in own if each != k)
        few = min(int(given.sum()), 10) / 10
        other = session.classes[wrong.most_common(1)[0][0]] if wrong else None
        need = (name, int(given.sum()), len(own), own.count(k), other)
        expected.append(((own.count(k) + 1) / (len(own) + 2) * few, k, need))
    assert [tuple(each) for each in needs] == [each for *_, each in sorted(expected)]
    assert needs[0].name == "pool"
    assert sum(need.confused_with is not None for need in needs) >= 1


def test_the_name_of_a_class_is_read_where_it_says_something():
    names = ["card_arrival", "veryPositive", "3", "18-24", "a", "ab", "A1", "x__yz", " food ", "ABC"]
    expected = ["card arrival", "very Positive", None, None, None, "ab", None, "x yz", "food", "ABC"]
    assert [readable(name) for name in names] == expected
