"""What decided: in one pass and without PyTorch, held against float64 numpy written word by word."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from drawing import examples
from explain.models import random_model
from limelight.network.parts import rows_of
from limelight.runtime.decided import SHARES, most_weighted, word_losses, word_weights
from limelight.runtime.model import Model
from limelight.text.questions import Probability
from refusing import refuses
from trained import ARCHITECTURES, LABELS, WORDS

TEXTS = ["w1 w2 w3 w9 w2", "w7 unheard", "w5", ""]
SECOND = ["w3", "w2 w6 w2", "", "w1 w1"]
PHRASES = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)
POOLINGS = ({}, {"max_row": True}, {"pooling": "max"}, {"encoder": "cnn", "pooling": "max"})
HEADS = ({"head": "linear"}, {"head": "full"}, {"head": "pruned"}, {"head": "pruned", "mix_units": 6})


def float64(model: Model) -> dict[str, np.ndarray]:
    return {name: array.astype(float) for name, array in model.weights.items()}


def states(model: Model, text: str) -> np.ndarray:
    """H (n, 2u)."""
    weights = float64(model)
    S = weights["words.weight"][model.tokenizer.locate(text)[0]]
    return reference.states(model.recipe.model, weights, S)


def matrix(model: Model, H: np.ndarray, values: np.ndarray) -> np.ndarray:
    """M of the attention that H gives, over other `values` of the words."""
    rows = []
    if rows_of(model.recipe.model).attention:
        _, A = reference.attention(H, **reference.part(float64(model), "pooling"))
        rows += [A @ values]
    if rows_of(model.recipe.model).maxima:
        rows += [np.array([[values[k, j] for j, k in enumerate(H.argmax(axis=0))]])]
    return np.concatenate(rows)


def logits(model: Model, F: np.ndarray) -> np.ndarray:
    head = reference.part(float64(model), "head")
    if model.recipe.model.head == "linear":
        return head["W_o"] @ F.ravel() + head["b_o"]
    return reference.full_head(F, **head) if "W_1" in head else reference.pruned_head(F, **head)


def features(model: Model, *M: np.ndarray) -> np.ndarray:
    if len(M) == 1:
        return M[0]
    return reference.relation(float64(model), *M)


def added(model: Model, text: str) -> tuple[np.ndarray, np.ndarray]:
    """What each word adds to each logit (n, classes), and the logits (classes,).

    The word's state times a complex 1 + ih: the logits' imaginary parts, over h, are what it adds.
    """
    H = states(model, text)
    found = []
    for t in range(len(H)):
        values = H.astype(complex)
        values[t] *= 1 + 1e-30j
        found.append(logits(model, matrix(model, H, values)).imag * 1e30)
    return np.array(found), logits(model, matrix(model, H, H))


def shares(C: np.ndarray, z: np.ndarray, answer: Callable[[np.ndarray], float]) -> np.ndarray:
    """(n,): of what the words C (n, classes) add to an answer on the straight way to z, in small steps."""
    total, steps = C.sum(axis=0), 250
    way = [z - total * (1 - k / steps) for k in range(steps + 1)]
    found = np.zeros(len(C))
    for before, after in pairwise(way):
        middle = (before + after) / 2
        slope = [(answer(middle + h) - answer(middle - h)) / 2e-6 for h in 1e-6 * np.eye(len(z))]
        found += C @ slope / steps
    return found


@pytest.mark.parametrize("options", [*ARCHITECTURES.values(), *HEADS], ids=str)
def test_a_word_adds_to_each_logit_what_its_part_of_the_matrix_does(options: dict):
    model = random_model(**options)
    for text in TEXTS:
        reading = model.read(text)
        C, z = added(model, text)
        np.testing.assert_allclose(
            reading.scores.words, C[:, list(reading.scores.classes)], atol=1e-5, err_msg=text
        )
        np.testing.assert_allclose(reading.scores.logits, z, atol=1e-5)
        np.testing.assert_allclose(reading.scores.no_words, z - C.sum(axis=0), atol=1e-5)


ANSWERS = {
    "classification": lambda z, k, labels: reference.softmax(z)[k],
    "multi-label": lambda z, k, labels: reference.sigmoid(z[k]),
    "ordinal": lambda z, k, labels: reference.softmax(z) @ np.arange(len(z)),
    "regression": lambda z, k, labels: z[0],
}


@pytest.mark.parametrize("task", ANSWERS)
@pytest.mark.parametrize("head", ["linear", "pruned"])
def test_the_shares_are_those_on_the_straight_way_from_no_word(task: str, head: str):
    model = random_model(head=head, task=task)
    for text in TEXTS[:2]:
        reading = model.read(text)
        C, z = added(model, text)
        answer = partial(ANSWERS[task], k=reading.target, labels=model.labels)
        np.testing.assert_allclose(reading.decided, shares(C, z, answer), atol=1e-5)
        assert reading.decided.sum() + reading.bias == pytest.approx(answer(z), abs=1e-6)
        assert reading.bias == pytest.approx(answer(z - C.sum(axis=0)), abs=1e-4)


@pytest.mark.parametrize("options", [*({"head": "linear", **each} for each in POOLINGS), *HEADS], ids=str)
def test_the_weights_and_the_bias_add_up_to_the_probability(options: dict):
    model = random_model(**options)
    for reading in model.read_many(TEXTS):
        assert reading.decided_by == ("sum" if options["head"] == "linear" else "linear part")
        assert float(reading.decided.sum()) + reading.bias == pytest.approx(reading.confidence, abs=1e-5)
        assert reading.row_weights.sum() == pytest.approx(float(reading.decided.sum()), abs=1e-5)


def test_of_ordered_classes_the_support_of_the_predicted_one_is_there_too():
    model = random_model(head="linear", task="ordinal")
    reading = model.read(TEXTS[0])
    C, z = added(model, TEXTS[0])
    expected = shares(C, z, lambda z: reference.softmax(z)[reading.target])
    np.testing.assert_allclose(reading.supporting, expected, atol=1e-5)


# ---------------------------------------------------------------- one class rather than another


@pytest.mark.parametrize("head", ["linear", "pruned"])
def test_against_another_class_the_words_add_up_to_the_probability_beside_it(head: str):
    model = random_model(head=head)
    reading = model.read(TEXTS[0])
    C, z = added(model, TEXTS[0])
    for other in set(range(len(LABELS))) - {reading.target}:
        asked = reading.against(LABELS[other])
        p = reading.probabilities[[reading.target, other]].astype(float)
        assert asked.versus == LABELS[other]
        assert asked.decided.sum() + asked.bias == pytest.approx(p[0] / p.sum(), abs=1e-5)
        expected = shares(C, z, lambda z, k=reading.target, j=other: reference.sigmoid(z[k] - z[j]))
        np.testing.assert_allclose(asked.decided, expected, atol=1e-5)
        assert asked.row_weights.sum() == pytest.approx(asked.decided.sum(), abs=1e-5)
        np.testing.assert_array_equal(model.read(TEXTS[0], against=LABELS[other]).decided, asked.decided)


PAIRS = [(k, j) for k in range(len(LABELS)) for j in range(len(LABELS)) if k != j]


@pytest.mark.parametrize("task", ["classification", "ordinal"])
@pytest.mark.parametrize("head", ["linear", "pruned"])
def test_any_two_answers_the_words_add_up_to_the_difference_of_their_scores(task: str, head: str):
    model = random_model(head=head, task=task)
    plain = model.read(TEXTS[0])
    C, z = added(model, TEXTS[0])
    for k, j in PAIRS:
        reading = model.read(TEXTS[0], label=LABELS[k], against=LABELS[j])
        assert (reading.label, reading.answer) == (plain.label, plain.answer)  # the prediction stays
        assert (reading.target, reading.versus) == (k, LABELS[j])
        difference, words = z[k] - z[j], C[:, k] - C[:, j]
        held = reading.scores.words[:, [reading.scores.classes.index(each) for each in (k, j)]] @ [1, -1]
        no_words = reading.scores.no_words[k] - reading.scores.no_words[j]
        assert float(held.sum()) + no_words == pytest.approx(difference, abs=2e-5)
        np.testing.assert_allclose(held, words, atol=2e-5)
        # as shares of the probability of k beside j alone, which is a function of that difference
        before, after = (reference.sigmoid(each) for each in (difference - words.sum(), difference))
        np.testing.assert_allclose(reading.decided, words / words.sum() * (after - before), atol=1e-4)
        assert reading.decided.sum() + reading.bias == pytest.approx(after, abs=1e-5)
        assert reading.row_weights.sum() == pytest.approx(reading.decided.sum(), abs=1e-5)
        for again in (
            plain.against(LABELS[j], label=LABELS[k]),
            model.read(TEXTS[0], label=LABELS[k]).against(LABELS[j]),
            *model.read_many(TEXTS[:1], label=LABELS[k], against=LABELS[j]),
        ):
            np.testing.assert_allclose(again.decided, reading.decided, atol=1e-6)
            assert (again.target, again.versus) == (k, LABELS[j])


@pytest.mark.parametrize("task", ["classification", "ordinal"])
def test_any_answer_the_words_add_up_to_its_probability(task: str):
    model = random_model(head="linear", task=task)
    C, z = added(model, TEXTS[0])
    for k, label in enumerate(LABELS):
        reading = model.read(TEXTS[0], label=label)
        expected = shares(C, z, lambda z, k=k: reference.softmax(z)[k])
        np.testing.assert_allclose(reading.decided, expected, atol=1e-5)
        assert reading.decided.sum() + reading.bias == pytest.approx(reference.softmax(z)[k], abs=1e-5)
        assert (reading.target, reading.asked) == (k, "classification")


def test_any_two_answers_of_a_pair_lose_probability_beside_each_other():
    model, texts = random_model("concat"), ("w1 w2 w3", "w4 w5")
    H = [states(model, text) for text in texts]
    M = [matrix(model, each, each) for each in H]
    without = matrix_of_others(model, H[1], 0)
    z, lost = (logits(model, features(model, M[0], second)) for second in (M[1], without))
    for k, j in PAIRS:
        reading = model.read(*texts, label=LABELS[k], against=LABELS[j])
        expected = reference.sigmoid(z[k] - z[j]) - reference.sigmoid(lost[k] - lost[j])
        assert reading.second.decided[0] == pytest.approx(expected, abs=1e-5)
        assert reading.label == model.predict(*([text] for text in texts))[0]


def test_against_another_class_a_pair_loses_probability_beside_it():
    model = random_model("concat")
    reading = model.read("w1 w2 w3", "w4 w5")
    other = (reading.target + 1) % len(LABELS)
    H = [states(model, text) for text in ("w1 w2 w3", "w4 w5")]
    M = [matrix(model, each, each) for each in H]

    def beside(*M: np.ndarray) -> float:
        z = logits(model, features(model, *M))
        return float(reference.sigmoid(z[reading.target] - z[other]))

    without = matrix_of_others(model, H[1], 0)
    expected = beside(*M) - beside(M[0], without)
    assert reading.against(LABELS[other]).second.decided[0] == pytest.approx(expected, abs=1e-5)


def test_of_logits_far_apart_the_shares_still_add_up():
    z_0, z = np.zeros(3), np.array([1000.0, 0.0, -500.0])
    assert Probability(0).direction(z_0, z) @ (z - z_0) == pytest.approx(2 / 3, abs=2e-3)


def test_against_the_predicted_class_there_is_nothing_to_ask():
    model = random_model()
    reading = model.read("w1 w2")
    with refuses("option-value"):
        reading.against(reading.label)
    with refuses("label-unknown"):
        reading.against("no such class")
    np.testing.assert_array_equal(model.read("w1 w2", against=reading.label).decided, reading.decided)
    with refuses("option-value"):
        model.read("w1 w2", label=LABELS[1], against=LABELS[1])
    for asked in ("against", "label"):
        with refuses("model-task"):
            random_model(task="regression").read("w1", **{asked: "x"})


def test_a_reading_of_many_classes_holds_the_most_probable_and_the_one_asked_for(monkeypatch):
    monkeypatch.setattr("limelight.runtime.model.SCORED", 2)
    model = random_model()
    reading = model.read("w1 w2")
    order = [model.labels[k] for k in np.argsort(-reading.probabilities)]
    assert set(reading.scores.classes) == {model.labels.index(each) for each in order[:2]}
    with refuses("class-not-held"):
        reading.against(order[-1])
    assert model.read("w1 w2", against=order[-1]).versus == order[-1]
    (one,) = model.read_many(["w1 w2"], against=order[-1])
    assert one.versus == order[-1]
    assert model.read_many(["w1 w2"])[0].scores is None  # of many texts nobody asks


def test_in_a_pair_nothing_adds_up_and_there_is_no_bias():
    assert random_model("concat").read("w1 w2", "w3").first.bias is None


# ---------------------------------------------------------------- pairs: each word left out of the attention


def matrix_of_others(model: Model, H: np.ndarray, t: int) -> np.ndarray:
    """M without word t, whose attention the others share and whose maxima the next best takes; else zero."""
    left = [s for s in range(len(H)) if s != t]
    if not left:
        return np.zeros_like(matrix(model, H, H))
    rows = []
    if rows_of(model.recipe.model).attention:
        _, A = reference.attention(H, **reference.part(float64(model), "pooling"))
        rows += [(a[left] / a[left].sum()) @ H[left] for a in A]
    if rows_of(model.recipe.model).maxima:
        rows += [H[left].max(axis=0)]
    return np.array(rows)


@pytest.mark.parametrize("pair", ["gated", "concat", "vectors"])
@pytest.mark.parametrize("options", [*POOLINGS, *HEADS], ids=str)
def test_a_word_of_a_pair_weighs_what_the_probability_loses_without_its_attention(options: dict, pair: str):
    model = random_model(pair, **options)
    for first, second, reading in zip(TEXTS, SECOND, model.read_many(TEXTS, SECOND), strict=True):
        H, label = [states(model, text) for text in (first, second)], int(reading.probabilities.argmax())
        M = [matrix(model, each, each) for each in H]
        before = reference.softmax(logits(model, features(model, *M)))[label]
        for k, side in enumerate(reading.sides):
            expected = []
            for t in range(len(H[k])):
                without = [matrix_of_others(model, H[k], t) if k == j else M[j] for j in (0, 1)]
                expected.append(before - reference.softmax(logits(model, features(model, *without)))[label])
            np.testing.assert_allclose(side.decided, expected, atol=2e-5)
            assert side.decided_by == "left out of attention"


@pytest.mark.parametrize("pair", ["gated", "concat", "vectors"])
def test_a_row_of_a_pair_weighs_what_the_probability_loses_if_it_is_zero(pair: str):
    """In both texts: half of it is in the reading of each."""
    model = random_model(pair, head="pruned")
    M = [matrix(model, H, H) for H in (states(model, text) for text in ("w1 w2 w3", "w4 w5"))]
    reading = model.read("w1 w2 w3", "w4 w5")
    label = int(reading.probabilities.argmax())
    for r in range(3):
        zero = [np.where(np.arange(3)[:, None] == r, 0, each) for each in M]
        before, after = (
            reference.softmax(logits(model, features(model, *each)))[label] for each in (M, zero)
        )
        lost = before - after
        assert sum(side.row_weights[r] for side in reading.sides) == pytest.approx(lost, abs=1e-5)


def test_rows_that_are_switched_off_stay_off_without_a_word():
    model = random_model("concat", head="pruned")
    reading = model.read("w1 w2 w3", "w4", without_rows=[0, 1, 2])
    for side in reading.sides:
        np.testing.assert_allclose(side.decided, 0, atol=1e-6)
        np.testing.assert_array_equal(side.row_weights, 0)


def test_several_labels_of_a_pair_are_explained_at_once():
    model = random_model("concat", task="multi-label")
    reading = model.read("w1 w2 w3", "w4 w5").first
    found = {reading.target: reading.decided, **dict(reading.decided_further)}
    H = [states(model, text) for text in ("w1 w2 w3", "w4 w5")]
    M = [matrix(model, each, each) for each in H]
    without = [matrix_of_others(model, H[0], 1), M[1]]
    before, after = (reference.sigmoid(logits(model, features(model, *each))) for each in (M, without))
    lost = before - after
    assert len(found) > 1
    for label, weights in found.items():
        assert weights[1] == pytest.approx(lost[label], abs=2e-5)


def test_a_long_text_is_taken_in_blocks():
    rng, sizes = np.random.default_rng(0), []
    texts = [(rng.dirichlet(np.ones(n), size=2), rng.normal(size=(n, 4))) for n in (3000, 5)]
    M = [A @ H for A, H in texts]

    def classify(first: np.ndarray, second: np.ndarray) -> np.ndarray:
        sizes.append(len(first))
        return np.asarray((first * second).sum(axis=(1, 2))[:, None])

    before = classify(*(each[None] for each in M))[0]
    losses = word_losses(classify, before, M, texts)
    assert [len(each) for each in losses] == [3000, 5]
    assert max(sizes) <= 256
    A, H = texts[0]
    for t in (0, 255, 256, 2999):
        left = np.delete(np.arange(3000), t)
        without = (A[:, left] / A[:, left].sum(axis=1, keepdims=True)) @ H[left]
        np.testing.assert_allclose(losses[0][t], before - (without * M[1]).sum(), atol=1e-9)


@examples(15)
@given(pairs=st.lists(st.tuples(PHRASES, PHRASES), min_size=1, max_size=5))
def test_a_pair_has_the_same_weights_alone_and_in_any_company(pairs: list[tuple[str, str]]):
    model = random_model("concat", head="pruned")
    for (first, second), reading in zip(pairs, model.read_many(*zip(*pairs, strict=True)), strict=True):
        for side, alone in zip(reading.sides, model.read(first, second).sides, strict=True):
            np.testing.assert_allclose(side.decided, alone.decided, atol=1e-5)


# ---------------------------------------------------------------- any number of texts


@examples(25)
@given(texts=st.lists(PHRASES, min_size=1, max_size=5))
def test_a_text_has_the_same_weights_alone_and_in_any_company(texts: list[str]):
    model = random_model(head="linear")
    for text, reading in zip(texts, model.read_many(texts), strict=True):
        alone = model.read(text)
        assert alone.decided.shape == (len(alone.offsets),)
        np.testing.assert_allclose(reading.decided, alone.decided, atol=1e-5)


def test_int8_weighs_words_nearly_the_same():
    model = random_model(head="linear")
    quick = Model.from_parts(
        weights=model.weights, recipe=model.recipe, tokenizer=model.tokenizer, labels=LABELS, precision="int8"
    )
    for a, b in zip(model.read_many(TEXTS), quick.read_many(TEXTS), strict=True):
        np.testing.assert_allclose(a.decided, b.decided, atol=0.05)


@examples(50)
@given(weights=st.lists(st.floats(-5, 5), min_size=1, max_size=60))
def test_the_words_with_most_weight_are_taken_first(weights: list[float]):
    chosen = most_weighted(np.array(weights))
    for share, mask in zip(SHARES, chosen, strict=True):
        assert mask.sum() == max(1, int(np.ceil(share * len(weights) - 1e-9)))
        if not mask.all():
            assert np.array(weights)[mask].min() >= np.array(weights)[~mask].max()


@pytest.mark.parametrize(("n", "counts"), [
    (1, [1, 1, 1, 1, 1]), (2, [1, 1, 1, 1, 1]), (20, [1, 1, 2, 4, 10]), (21, [1, 2, 3, 5, 11]),
    (100, [1, 5, 10, 20, 50]), (101, [2, 6, 11, 21, 51]),
])  # fmt: skip
def test_of_words_with_equal_weights_the_first_are_taken(n, counts):
    chosen = most_weighted(np.ones(n))
    assert [np.flatnonzero(mask).tolist() for mask in chosen] == [list(range(count)) for count in counts]


def test_a_max_pooled_unit_belongs_to_the_word_where_it_is_largest():
    H, W = np.array([[1.0, 5.0], [2.0, -1.0]]), np.array([[10.0, 1.0]])
    assert word_weights(np.array([[0.5, 0.5]]), H, W, max_rows=1).tolist() == [5.0, 20.0]
