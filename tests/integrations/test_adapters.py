"""What the snippets of the page do not show."""

from __future__ import annotations

import numpy as np
import pytest

import limelight
import trained
from integrations.snippets import check_snippet, snippets
from refusing import refuses

TEXTS = ["The soup was cold.", "Chilly broth!", "The train is late."]


@pytest.fixture(scope="module")
def reader() -> limelight.Reader:
    return limelight.load("reader")


def test_a_bare_reader_where_it_would_be_taken_for_another(reader):
    from bertopic import BERTopic
    from keybert import KeyBERT

    with refuses("needs-adapter"):
        KeyBERT(model=reader)
    with refuses("needs-adapter"):
        BERTopic(embedding_model=reader).fit(TEXTS)


def test_bertopic_is_saved_as_its_users_do(reader, tmp_path):
    from bertopic import BERTopic
    from sklearn.cluster import KMeans
    from sklearn.decomposition import PCA
    from sklearn.pipeline import make_pipeline

    parts = {"umap_model": PCA(2), "hdbscan_model": KMeans(2, random_state=0)}
    embeds = make_pipeline(limelight.TextVectorizer())
    model = BERTopic(embedding_model=embeds, **parts).fit(TEXTS * 4)
    model.save(tmp_path / "topics")  # a pickle
    again = BERTopic.load(tmp_path / "topics")
    assert list(again.transform(TEXTS)[0]) == list(model.transform(TEXTS)[0])
    np.testing.assert_allclose(again.embedding_model.embed(TEXTS), reader.encode(TEXTS), atol=1e-6)


def test_langchain_s_chroma(capsys):
    from langchain_chroma import Chroma

    vectors = check_snippet(snippets("integrations.md")["LangChain"], capsys)["Vectors"]()
    store = Chroma.from_texts(TEXTS, vectors, collection_name="langchain")
    assert store.similarity_search("cold broth", k=1)[0].page_content == "Chilly broth!"


def test_spacy_vectors_and_weights(reader):
    import spacy

    import limelight.spacy  # noqa: F401

    nlp = spacy.blank("en")
    nlp.add_pipe("limelight")
    for doc, text in zip(nlp.pipe(TEXTS), TEXTS, strict=True):
        np.testing.assert_allclose(doc.vector, reader.encode(text), atol=1e-5)
        words = doc.spans["limelight"]
        assert sum(words.attrs["weights"]) == pytest.approx(1, abs=1e-4)
        assert "".join(word.text for word in words) == text.replace(" ", "")
    np.testing.assert_allclose(doc[1:2].vector, reader.encode("train"), atol=1e-5)
    assert list(nlp("").spans["limelight"]) == []


def test_spacy_classes_of_a_classifier_that_a_stored_pipeline_finds_again(tmp_path):
    import spacy

    import limelight.spacy

    folder, text = trained.save(tmp_path / "stars"), trained.texts_of(1)[0]
    nlp = spacy.blank("en")
    nlp.add_pipe("limelight", config={"model": str(folder)})
    nlp.to_disk(tmp_path / "nlp")
    doc, reading = spacy.load(tmp_path / "nlp")(text), limelight.load(folder).read(text)
    assert doc.cats == pytest.approx(dict(zip(map(str, reading.labels), reading.probabilities, strict=True)))
    assert doc.spans["limelight"].attrs["weights"] == pytest.approx(reading.decided.tolist())
    with refuses("model-kind"):
        spacy.blank("en").add_pipe(
            "limelight", config={"model": str(trained.save(tmp_path / "pairs", "gated"))}
        )
