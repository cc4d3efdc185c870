"""Training that goes on with a trained model: its classes, its words, and what it forgets."""

from __future__ import annotations

import dataclasses
import shutil
import warnings

import numpy as np
import pytest
import torch

import limelight
from limelight import PairClassifier, TextClassifier
from limelight.config.recipe import Recipe
from limelight.errors import LimelightError
from limelight.network.torch.heads import LAST_LAYER, ScaledLinearHead
from limelight.runtime.edits import read_forbidden, write_forbidden
from limelight.runtime.model import Model
from limelight.runtime.start import Start, load_start
from limelight.text.encode import encode_texts
from limelight.text.encode_steps import warn_about_labels
from limelight.text.labels import join_classes
from limelight.text.tokenizer import Tokenizer
from limelight.training import fit
from limelight.training.evaluate import evaluate
from limelight.training.starting_network import build_network, fit_new_classes, fit_rows
from refusing import refuses
from reviews import QUICK, pairs, reviews, write_csv
from training import toys

FAIR = ["The soup was average and the waiter decent.", "An ordinary soup, a passable waiter."] * 20


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory):
    """A folder with a model of reviews of 1 or 5 stars."""
    folder = tmp_path_factory.mktemp("old") / "model"
    TextClassifier(**QUICK, progress=False).fit(*reviews(200)).save(folder)
    return folder


def go_on(old, tmp_path, texts, labels, **options):
    table = write_csv(tmp_path / "more.csv", text=texts, stars=labels)
    options = {"start": str(old), "epochs": 2, "learning_rate": 0.005, "progress": False, **options}
    return limelight.fit(table, out=tmp_path / "new", **options)


# ---------------------------------------------------------------- classes


def test_labels_of_a_model_that_have_no_new_rows_are_named():
    recipe = Recipe().override(task="multi-label", start="old")
    weights = {"words.weight": np.zeros((3, 4), np.float32)}
    start = Start(recipe, Tokenizer.from_words(["soup"]), weights, ("a", "b", "c", "d"))
    sets = [("a",), ("d", "e"), ("d", "e"), ("a",)]
    data = encode_texts(["soup"] * 4, sets, recipe=recipe.text, start=start, holdout=0)
    assert data.facts["continued_from"] == "goes on with old, 5 classes; new: e; kept, without new rows: b, c"


def test_a_model_of_numbers_has_no_classes_to_name():
    recipe = Recipe().override(task="regression", start="old")
    weights = {"words.weight": np.zeros((3, 4), np.float32)}
    start = Start(recipe, Tokenizer.from_words(["soup"]), weights, ("value",))
    data = encode_texts(["soup"] * 4, [1.0, 2.0, 3.0, 4.0], recipe=recipe.text, start=start, holdout=0)
    assert "continued_from" not in data.facts


@pytest.mark.parametrize(
    ("new", "known", "joined"),
    [
        ((1, 5), (1, 5), (1, 5)),
        ((3, 5), (1, 5), (1, 3, 5)),
        (("3", "5"), (1, 5), None),
        ((5,), (1, 5), (1, 5)),
        (("true",), (False, True), (False, True)),
        (("a", "b"), (1, 5), ("a", "b")),
        (("b", "c"), ("a", "b"), ("a", "b", "c")),
        ((), (), ()),
    ],
)
def test_old_classes_stay_if_one_of_them_occurs(new, known, joined):
    if joined is None:
        with refuses("label-type"):
            join_classes(new, known)
    else:
        assert join_classes(new, known) == joined


def test_a_new_class_is_learnt_and_an_absent_one_kept(old, tmp_path):
    texts, stars = reviews(40, seed=9)
    kept = [(t, s) for t, s in zip(texts, stars, strict=True) if s == 5]
    new = go_on(old, tmp_path, [t for t, _ in kept] + FAIR, [5] * len(kept) + [3] * 40, epochs=6)
    assert new.labels == (1, 3, 5)
    assert new.predict(FAIR[:2]) == [3, 3]
    assert new.predict([kept[0][0]]) == [5]
    assert {"average", "decent", "passable"} <= set(new.tokenizer.vocabulary)
    before = Model.load(old)
    assert new.tokenizer.vocabulary[: len(before.tokenizer)] == before.tokenizer.vocabulary


def test_forbidden_words_are_not_read_in_training_either(old, tmp_path):
    shutil.copytree(old, tmp_path / "old")
    write_forbidden(tmp_path / "old", ["hilton"])
    texts, stars = ["Hilton: soup.", "Soup, a Hilton/soup", "Soup", "The soup."] * 5, [5, 5, 1, 1] * 5
    table = write_csv(tmp_path / "more.csv", text=texts, stars=stars)
    new = go_on(tmp_path / "old", tmp_path, texts, stars, dev=table)
    assert new.facts["results"]["dev"]["accuracy"] == np.mean(np.array(new.predict(texts)) == stars)
    assert not any("hilton" in word for word in new.tokenizer.vocabulary)
    assert read_forbidden(tmp_path / "new") == ["hilton"]
    assert "forbidden" not in new.facts["encoding"]


def test_forbidden_words_are_in_no_split_and_in_no_marked_text():
    recipe, forbidden = Recipe().override(start="old"), {"words": ["hilton"], "history": []}
    weights = {"words.weight": np.zeros((4, 4), np.float32)}
    words = Tokenizer.from_words(["soup", "hilton"])
    start = Start(recipe, words, weights, ("a", "b"), facts={"forbidden": forbidden})
    texts, reasons = ["Hilton soup", "soup soup bread"], ["Hilton", "bread"]
    data = encode_texts(texts, ["a", "b"], reasons=reasons, recipe=recipe.text, start=start, holdout=0)
    known = [data.tokenizer.vocabulary[k] for k in data.splits["train"].ids]
    assert known == ["soup", "soup", "soup", "bread", "<unk>", "bread"]
    assert data.facts["forbidden"] == forbidden
    start.check_forbidden(data.facts)
    with refuses("start-other"):
        fit(dataclasses.replace(data, facts={}), recipe, start=start)


def test_one_row_is_enough_of_a_class_that_is_known():
    counts, classes = {"bad": 1, "good": 2}, ("bad", "good")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_about_labels(counts, classes, known=("bad",))
    with pytest.warns(UserWarning, match="1 label occurs only once"):
        warn_about_labels(counts, classes)


def test_the_classifier_of_each_class_is_copied_by_its_name():
    data = toys.dataset()  # bad, fair, good
    first = build_network(data, toys.recipe())
    weights = {name: w.numpy().copy() for name, w in first.state_dict().items()}
    start = Start(toys.recipe(), data.tokenizer, weights, ("good", "worse", "bad"))
    network = build_network(data, toys.recipe(seed=5), start)
    for name in ("head.W_2", "head.b_2"):
        np.testing.assert_array_equal(network.state_dict()[name][[0, 2]], weights[name][[2, 0]])
        assert not np.array_equal(network.state_dict()[name][1], weights[name][1])
    np.testing.assert_array_equal(network.state_dict()["head.W_1"], weights["head.W_1"])


def test_labels_of_another_task_get_a_classifier_of_their_own(old, tmp_path):
    with pytest.warns(UserWarning, match="none of the labels"):
        new = go_on(old, tmp_path, FAIR[:20] + reviews(20)[0], ["fair"] * 20 + ["review"] * 20)
    assert new.labels == ("fair", "review")


def test_the_model_brings_its_classifier_along(old, tmp_path):
    new = go_on(old, tmp_path, *reviews(40, seed=3), learning_rate=1e-9, epochs=1)
    assert new.recipe.model.head == "pruned"
    assert new.recipe.training.fine_tune_words
    texts = reviews(10, seed=4)[0]
    np.testing.assert_allclose(new.predict_proba(texts), Model.load(old).predict_proba(texts), atol=1e-5)


@pytest.mark.parametrize("features", [4, 50])
def test_new_classes_start_with_logistic_regression_beside_the_old_ones(features):
    """The gradient of the penalised cross-entropy is zero, in plain numpy."""
    rng, new, strength = np.random.default_rng(0), [1, 3], 10.0
    V, Z = rng.normal(size=(30, features)) / features**0.5, rng.normal(size=(30, 4))
    y, w = rng.integers(0, 4, 30), rng.uniform(0.5, 2, 30)
    tensors = [torch.from_numpy(each) for each in (V, Z, y, w)]
    W, b = (each.numpy() for each in fit_rows(*tensors, new, strength))
    Z[:, new] = V @ W.T + b
    P = np.exp(Z) / np.exp(Z).sum(axis=1, keepdims=True)
    residual = strength * w[:, None] * (P - np.eye(4)[y])[:, new]
    np.testing.assert_allclose(residual.T @ V + W, 0, atol=0.02)
    np.testing.assert_allclose(residual.sum(axis=0), 0, atol=0.02)


@pytest.mark.parametrize("head", ["full", "pruned", "linear"])
@pytest.mark.parametrize("pair", [False, True])
def test_only_the_new_classes_are_fitted_first(head, pair):
    recipe = toys.recipe(head=head if not pair or head != "linear" else "pruned", pair="concat")
    data = toys.dataset(rows=90, dev=0, pair=pair)
    network = build_network(data, recipe)
    if recipe.model.head == "linear":
        network.head = ScaledLinearHead(network.head)  # as training has it
    before = {name: w.clone() for name, w in network.state_dict().items()}
    loss = evaluate(network, data.splits["train"]).loss
    fit_new_classes(network, data.splits["train"], [2], None, 0)
    for name, w in network.state_dict().items():
        last = name in (*LAST_LAYER, "head.W_scaled")
        torch.testing.assert_close(w[:2] if last else w, before[name][:2] if last else before[name])
        assert not last or not torch.equal(w[2], before[name][2])
    assert evaluate(network, data.splits["train"]).loss < loss


# ---------------------------------------------------------------- words


def test_a_model_with_the_readers_words_spells_new_ones(tmp_path):
    reader = load_start("reader")
    words = ["soup", "waiter", "good"]
    table = reader.vectors(["<pad>", "<unk>", *words]).matrix
    tokenizer = limelight.load("reader").tokenizer.from_words(words)
    model = Start(reader.recipe, tokenizer, {"words.weight": table}, ("a", "b"))
    vocabulary = ["<pad>", "<unk>", *words, "soooup"]
    found = model.vectors(vocabulary)
    np.testing.assert_array_equal(found.matrix[:5], table)
    np.testing.assert_array_equal(found.matrix[5], reader.vectors(vocabulary).matrix[5])
    moved = Start(reader.recipe, tokenizer, {"words.weight": table * np.float32(1.01)}, ("a", "b"))
    np.testing.assert_array_equal(moved.vectors(vocabulary).matrix[5], table[1] * np.float32(1.01))


# ---------------------------------------------------------------- what it forgets


@pytest.mark.parametrize(
    ("options", "message"),
    [({"rows": 7}, "rows is 7, but .* has 4"), ({"head": "full"}, "head is 'full', but .* has 'pruned'")],
)
def test_what_cannot_go_on_is_one_line(options, message, old, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "dev.csv", text=reviews(10)[0], stars=reviews(10)[1])
    with pytest.raises(LimelightError, match=message) as error:
        go_on(old, tmp_path, *reviews(20), **options)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "new").exists()
    assert not (tmp_path / "new.run").exists()


def test_a_model_of_texts_does_not_go_on_with_pairs(old, tmp_path):
    first, second, labels = pairs(40)
    with pytest.raises(LimelightError, match="reads single texts, but the data has pairs"):
        PairClassifier(**QUICK, start=str(old), progress=False).fit(first, second, labels)
    PairClassifier(**QUICK, progress=False).fit(first, second, labels).save(tmp_path / "pairs")
    with pytest.raises(LimelightError, match="reads pairs, but the data has single texts"):
        TextClassifier(**QUICK, start=str(tmp_path / "pairs"), progress=False).fit(*reviews(20))
