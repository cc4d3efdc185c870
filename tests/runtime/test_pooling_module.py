"""A pooling of the user's own: trained, read, saved, loaded, explained and drawn."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.modules import Gru, TopTwo
from tests.reference import softmax
from tests.refusing import refuses

import limelight
from limelight import PairClassifier, TextClassifier
from limelight.explain.attribution import explain_by
from limelight.explain.trust import measure_trust
from limelight.network.modules import Modules, check_modules
from limelight.reading import to_html, to_svg
from limelight.training import Callback

TEXTS = ["Good soup!", "Cold soup.", "What a good waiter!", "The waiter was cold."] * 5
LABELS = ["+", "-", "+", "-"] * 5
SMALL = {"epochs": 2, "learning_rate": 0.01, "head": "linear", "hidden": 4, "progress": False}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    torch.manual_seed(0)
    clf = TextClassifier("tiny", pooling=TopTwo(8), **SMALL).fit(TEXTS, LABELS)
    folder = tmp_path_factory.mktemp("pooling") / "model"
    clf.save(folder)
    return clf, folder


def test_a_reading_is_what_the_module_makes_of_the_states(trained):
    model = trained[0].model_
    own = model._runner.network.pooling
    (text,) = model._runner.encode_texts(["Good soup, cold waiter!"])
    reading = model.read(text.text)
    with torch.no_grad():
        M, A = own(torch.from_numpy(text.H)[None], torch.tensor([len(text.H)]))
    np.testing.assert_allclose(reading.embedding, M[0], atol=1e-5)
    np.testing.assert_allclose(reading.attention, A[0], atol=1e-5)
    assert reading.attention.shape == (2, len(reading.words))


@pytest.mark.parametrize("text", ["Good soup, cold waiter!", "soup"])
def test_a_words_weight_is_what_the_answer_loses_without_it(trained, text):
    model = trained[0].model_
    own, weights = model._runner.network.pooling, model.weights
    (encoded,) = model._runner.encode_texts([text])
    reading, H = model.read(text), encoded.H

    def probability(M):
        return softmax(M.ravel() @ weights["head.W_o"].T + weights["head.b_o"])[reading.target]

    expected = []
    for t in range(len(H)):
        M = np.zeros((2, 8), np.float32)
        if len(H) > 1:
            left = torch.from_numpy(np.delete(H, t, axis=0))
            with torch.no_grad():
                M = own(left[None], torch.tensor([len(left)]))[0][0].numpy()
        expected.append(probability(encoded.M) - probability(M))
    np.testing.assert_allclose(reading.decided, expected, atol=1e-5)
    assert (reading.decided_by, reading.bias) == ("left out of attention", None)


def test_its_weights_are_trained_and_the_module_given_stays():
    given = TopTwo(8)
    before = given.directions.weight.clone()
    clf = TextClassifier("tiny", pooling=given, **SMALL).fit(TEXTS, LABELS)
    assert torch.equal(given.directions.weight, before)
    assert not np.array_equal(clf.model_.weights["pooling.module.directions.weight"], before.detach().numpy())


def test_a_folder_gives_the_same_and_needs_the_module(trained):
    clf, folder = trained
    model = limelight.load(folder, pooling=TopTwo(8))
    np.testing.assert_array_equal(model.predict_proba(TEXTS[:3]), clf.predict_proba(TEXTS[:3]))
    assert not list(folder.glob("*.onnx"))
    card = (folder / "README.md").read_text()
    assert "pooling=pooling" in card
    assert "a pooling of its author's own" in card
    again = TextClassifier.load(folder, pooling=TopTwo(8))
    assert again.get_params()["hidden"] == 4
    with refuses("pooling-missing"):
        limelight.load(folder)
    with refuses("encoder-other"):
        limelight.load(folder, pooling=TopTwo(8), encoder=Gru())
    three = TopTwo(8)
    three.rows = 3
    with refuses("pooling-other"):
        limelight.load(folder, pooling=three)


def test_it_is_explained_and_drawn(trained):
    model = trained[0].model_
    reading = model.read("Good soup, cold waiter!")
    assert "falls when no row reads the word" in to_html(reading)
    assert "<svg" in to_svg(reading)
    assert explain_by(model, model.read("Good soup"), "leave-one-out").decided.shape == (2,)
    assert measure_trust(model, TEXTS[:4]).texts == 4
    assert model.read("Good", label="-", against="+").versus == "+"
    with refuses("model-task"):
        model.with_aspects({"food": ["soup"]})


def test_with_an_encoder_of_ones_own_and_of_pairs():
    options = {**SMALL, "epochs": 1}
    del options["hidden"]
    clf = TextClassifier("tiny", encoder=Gru(100), pooling=TopTwo(6), vectors="default", **options)
    assert clf.fit(TEXTS, LABELS).model_.embedding_shape == (2, 6)
    pairs = [(text, "Good soup!") for text in TEXTS]
    of_pairs = PairClassifier("tiny", pooling=TopTwo(8), **{**SMALL, "head": "full"}).fit(pairs, LABELS)
    assert [len(side.decided) for side in of_pairs.read("Good", "Cold soup").sides] == [1, 2]


@pytest.mark.parametrize("module", [TopTwo, len, type("R", (torch.nn.Module,), {"rows": 0})()])
def test_what_is_no_pooling_is_refused(module):
    with refuses("pooling-type"):
        check_modules(Modules(pooling=module))


def test_other_shapes_are_refused():
    class Flat(torch.nn.Module):
        rows = 1

        def forward(self, H, lengths):
            return H.mean(1), lengths

    with refuses("pooling-output"):
        TextClassifier("tiny", pooling=Flat(), **SMALL).fit(TEXTS, LABELS)


def test_rows_are_the_modules():
    with refuses("option-conflict"):
        TextClassifier("tiny", pooling=TopTwo(8), rows=5, **SMALL).fit(TEXTS, LABELS)


def test_a_part_swapped_in_a_callback_is_refused():
    class Swap(Callback):
        def on_train_begin(self, run):
            run.network.pooling = TopTwo(8)

    with refuses("network-replaced"):
        TextClassifier("tiny", callbacks=[Swap()], **SMALL).fit(TEXTS, LABELS)
