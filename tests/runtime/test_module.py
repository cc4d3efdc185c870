"""A model whose encoder is the user's own: predicted, read, saved, loaded and explained by words."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch
from sklearn.base import clone
from tests.modules import FrozenTable, Gru, Pieces
from tests.reference import softmax
from tests.refusing import refuses

import limelight
from limelight import TextClassifier
from limelight.explain.attribution import explain_by
from limelight.explain.trust import measure_trust
from limelight.reading import to_svg
from limelight.text.open_words import OpenTokenizer
from limelight.text.tokenizer import Tokenizer

TEXTS = ["Good soup!", "Cold soup.", "What a good waiter!", "The waiter was cold."] * 5
LABELS = ["+", "-", "+", "-"] * 5
NEW = ["Unheard words, zoom!", "", "good", "🎉 ok", "日本語 soup"]
SMALL = {"rows": 3, "attention_hidden": 4, "epochs": 2, "learning_rate": 0.01, "head": "linear"}


@pytest.fixture(scope="module", params=[Gru, FrozenTable, Pieces], ids=lambda each: each.__name__)
def trained(request, tmp_path_factory):
    """A classifier, its encoder's class, and its folder."""
    torch.manual_seed(0)
    clf = TextClassifier("tiny", encoder=request.param(), progress=False, **SMALL).fit(TEXTS, LABELS)
    folder = tmp_path_factory.mktemp("module") / "model"
    clf.save(folder)
    return clf, request.param, folder


def test_readings_are_attention_over_the_modules_states(trained):
    """Offsets, A, M, the probabilities and what decided, in float64 from the module and the weights."""
    clf, _, _ = trained
    model = clf.model_
    module, weights = model.module.double().eval(), {k: w.astype(float) for k, w in model.weights.items()}
    for text in ("Good soup, unheard!", "zoom"):
        reading = model.read(text)
        words = [word.lower() for word in reading.words]
        with torch.no_grad():
            if hasattr(module, "reads"):
                H = module([words])[0].numpy()
            else:
                S = weights["words.weight"][[model.tokenizer.ids.get(word, 1) for word in words]]
                H = module(torch.from_numpy(S)[None], torch.tensor([len(words)]))[0].numpy()
        scores = weights["pooling.W_s2"] @ np.tanh(weights["pooling.W_s1"] @ H.T)
        A = np.array([softmax(row) for row in scores])
        np.testing.assert_allclose(reading.attention, A, atol=1e-5)
        np.testing.assert_allclose(reading.embedding, A @ H, atol=1e-5)
        W = weights["head.W_o"].reshape(2, 3, -1)
        logits = np.einsum("krd,rd->k", W, A @ H) + weights["head.b_o"]
        np.testing.assert_allclose(reading.probabilities, softmax(logits), atol=1e-5)
        added = np.einsum("rn,nd,krd->nk", A, H, W)  # what each word adds to each logit
        np.testing.assert_allclose(added.sum(axis=0) + weights["head.b_o"], logits, atol=1e-9)
        assert np.sign(reading.decided @ np.ones(len(words))) == np.sign(
            softmax(logits)[reading.target] - softmax(weights["head.b_o"])[reading.target]
        )
    module.float()


def test_new_words_are_read_as_themselves(trained):
    clf, kind, _ = trained
    first, second = clf.read("zoom good"), clf.read("zoomed good")
    reads_words = kind is not Gru
    assert first.known.tolist() == [reads_words, True]
    assert (first.embedding == second.embedding).all() != reads_words


def test_any_batch_gives_the_same(trained):
    clf, _, _ = trained
    texts = [*TEXTS[:4], *NEW]
    together = clf.embed(texts)
    for text, M in zip(texts, together, strict=True):
        np.testing.assert_allclose(clf.embed([text])[0], M, atol=1e-5)


def test_saved_and_loaded(trained):
    clf, kind, folder = trained
    names = {path.name for path in folder.iterdir()}
    assert names == {"config.json", "tokenizer.json", "model.safetensors", "README.md"}
    assert "encoder=encoder" in (folder / "README.md").read_text()
    model = limelight.load(folder, encoder=kind())  # other weights, which the folder's replace
    np.testing.assert_array_equal(model.predict_proba([*TEXTS, *NEW]), clf.predict_proba([*TEXTS, *NEW]))
    again = TextClassifier.load(folder, encoder=kind())
    np.testing.assert_array_equal(again.predict(NEW), clf.predict(NEW))
    refitted = clone(again).set_params(progress=False, epochs=1).fit(TEXTS, LABELS)
    assert refitted.recipe_.model.encoder == clf.recipe_.model.encoder
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).embed(NEW), model.embed(NEW))


def test_a_folder_needs_its_module(trained):
    _, kind, folder = trained
    with refuses("encoder-missing"):
        limelight.load(folder)
    with refuses("encoder-other"):
        limelight.load(folder, encoder=FrozenTable() if kind is Gru else Gru())
    with refuses("encoder-other"):
        limelight.load(_plain_folder(folder.parent), encoder=kind())
    with refuses("option-value"):
        limelight.load(folder, encoder=kind(), precision="int8")
    if kind is Pieces:
        with refuses("weights-names"):
            limelight.load(folder, encoder=Pieces(layers=2))


def _plain_folder(parent):
    folder = parent / "plain"
    if not folder.exists():
        TextClassifier("tiny", epochs=1, progress=False).fit(TEXTS, LABELS).save(folder)
    return folder


def test_explained_and_trusted(trained):
    clf, _, _ = trained
    texts = ["Good zoom soup!", "The cold waiter"]
    for text in texts:
        reading = clf.read(text)
        weights = explain_by(clf, reading, "leave-one-out").decided
        without = [
            " ".join(w for k, w in enumerate(reading.words) if k != out) for out in range(len(weights))
        ]
        P = clf.predict_proba(without)[:, reading.target]
        np.testing.assert_allclose(weights, reading.confidence - P, atol=1e-5)
    found = measure_trust(clf, texts)
    assert "What decided" in [each.name for each in found.attributions]
    assert "<svg" in to_svg(clf.read(texts[0]))


def test_a_table_and_pairs(tmp_path):
    (tmp_path / "t.csv").write_text("text,stars\n" + "Good soup!,5\nCold soup.,1\n" * 20)
    model = limelight.fit(
        tmp_path / "t.csv", out=tmp_path / "m", preset="tiny", encoder=Pieces(), progress=False, **SMALL
    )
    assert limelight.load(tmp_path / "m", encoder=Pieces()).predict(["Good!"]) == model.predict(["Good!"])
    pairs = limelight.PairClassifier("tiny", encoder=FrozenTable(), epochs=1, rows=2, progress=False)
    pairs.fit(list(zip(TEXTS, TEXTS[1:] + TEXTS[:1], strict=True)), LABELS)
    pairs.save(tmp_path / "pairs")
    found = limelight.load(tmp_path / "pairs", encoder=FrozenTable())
    np.testing.assert_array_equal(
        found.predict_proba(["good"], ["zoom"]), pairs.predict_proba([("good", "zoom")])
    )


def test_the_vocabulary_grows_in_memory_alone(trained):
    _, kind, folder = trained
    if kind is Gru:
        return
    tokenizer = limelight.load(folder, encoder=kind()).tokenizer
    assert isinstance(tokenizer, OpenTokenizer)
    before, count = tokenizer.to_json(), tokenizer.count
    ids, lengths = tokenizer.encode(["good Zoom zoom", "日本", ""])
    assert ids.tolist()[1:3] == [count, count]
    assert lengths.tolist() == [3, 2, 1]
    assert tokenizer.locate("ZOOM")[0].tolist() == [count]
    assert (tokenizer.count, tokenizer.to_json()) == (count + 3, before)


def test_a_word_has_one_id_however_it_is_found():
    tokenizer = OpenTokenizer(Tokenizer.from_words(["good"]))
    for text in ("ΟΔΟΣ ΑΣ", "good \ud800", "İstanbul"):
        assert tokenizer.encode([text])[0].tolist() == tokenizer.locate(text)[0].tolist()
