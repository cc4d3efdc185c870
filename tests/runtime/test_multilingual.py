"""The multilingual reader: sentences that say the same in six languages are near each other."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

import limelight
from refusing import refuses

PACKAGE = Path(__file__).parents[2] / "packages" / "multilingual" / "src"
TWINS = {
    "English": ["The train is late again.", "My sister plays the piano.", "Where is the nearest bank?",
                "The soup was cold.", "He bought a red car.", "It will rain tomorrow."],
    "German": ["Der Zug hat schon wieder Verspätung.", "Meine Schwester spielt Klavier.",
               "Wo ist die nächste Bank?", "Die Suppe war kalt.", "Er hat ein rotes Auto gekauft.",
               "Morgen wird es regnen."],
    "French": ["Le train est encore en retard.", "Ma sœur joue du piano.",
               "Où est la banque la plus proche ?", "La soupe était froide.",
               "Il a acheté une voiture rouge.", "Il va pleuvoir demain."],
    "Spanish": ["El tren llega tarde otra vez.", "Mi hermana toca el piano.",
                "¿Dónde está el banco más cercano?", "La sopa estaba fría.", "Compró un coche rojo.",
                "Mañana va a llover."],
    "Dutch": ["De trein is weer te laat.", "Mijn zus speelt piano.", "Waar is de dichtstbijzijnde bank?",
              "De soep was koud.", "Hij heeft een rode auto gekocht.", "Morgen gaat het regenen."],
    "Czech": ["Vlak má zase zpoždění.", "Moje sestra hraje na klavír.", "Kde je nejbližší banka?",
              "Polévka byla studená.", "Koupil si červené auto.", "Zítra bude pršet."],
}  # fmt: skip


@pytest.fixture(scope="module")
def reader():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(PACKAGE)
        yield limelight.load("reader-multilingual")


@pytest.mark.parametrize("language", list(TWINS)[1:])
def test_a_sentence_finds_its_english_twin(reader, language):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it knows these languages
        E, V = reader.encode(TWINS["English"]), reader.encode(TWINS[language])
    similar = V @ E.T
    assert similar.argmax(axis=1).tolist() == list(range(len(E)))
    assert np.diag(similar).min() > 0.5


@pytest.mark.parametrize(
    "texts",
    [
        [
            "La zuppa era fredda e il cameriere non è stato gentile.",
            "Il treno è di nuovo in ritardo questa sera.",
        ],
        ["A sopa estava fria e o garçom não foi muito gentil.", "Minha irmã toca piano, mas não muito bem."],
        ["Przepraszam, gdzie jest tutaj najbliższy bank?"],
    ],
)
def test_languages_that_it_cannot_read_are_warned_of(reader, texts):
    with pytest.warns(UserWarning, match="cannot read"):
        reader.encode(texts)


def test_its_onnx_file_gives_the_same_vector(reader):
    session = onnxruntime.InferenceSession(PACKAGE / "limelight_multilingual" / "reader" / "model.onnx")
    for text in ("The soup was cold.", "Die Suppe war kalt.", "La soupe était froide."):
        ids, lengths = reader.tokenizer.encode([text])
        none = {"buckets": np.zeros((0, 32), np.int32), "stems": np.zeros((0, 4), np.int32)}
        (vector,) = session.run(["vector"], {"ids": ids[None], "lengths": lengths, **none})[0]
        np.testing.assert_allclose(vector, reader.encode(text, normalize_embeddings=False), atol=1e-4)


def test_without_its_package_the_name_says_what_to_install(monkeypatch):
    monkeypatch.setattr(sys, "path", [each for each in sys.path if each != str(PACKAGE)])
    monkeypatch.delitem(sys.modules, "limelight_multilingual", raising=False)
    with refuses("needs-extra") as found:
        limelight.load("reader-multilingual")
    assert "pip install limelight-multilingual" in str(found.value)
