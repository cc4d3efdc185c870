"""What the snippets of the page do not show of the adapters."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import limelight
import trained
from refusing import refuses

TEXTS = ["The soup was cold.", "Chilly broth!", "The train is late."]


@pytest.fixture(scope="module")
def reader() -> limelight.Reader:
    return limelight.load("reader")


def test_a_bare_reader_where_it_needs_an_adapter(reader):
    import mteb
    from bertopic import BERTopic
    from keybert import KeyBERT
    from mteb.mocks.mock_tasks import MockSTSTask

    assert not hasattr(reader, "mteb_model_meta")
    with pytest.raises(limelight.LimelightError, match=r"topics\.backend\(reader\)"):
        KeyBERT(model=reader)
    with pytest.raises(limelight.LimelightError, match=r"topics\.backend\(reader\)"):
        BERTopic(embedding_model=reader).fit(TEXTS)
    with pytest.raises(limelight.LimelightError, match=r"mteb\.Encoder\(reader\)"):
        mteb.evaluate(reader, [MockSTSTask()], cache=None)


def test_bertopic_is_saved_as_its_users_do(reader, tmp_path):
    from bertopic import BERTopic
    from sklearn.cluster import KMeans
    from sklearn.decomposition import PCA

    from limelight.integrations.topics import backend

    parts = {"umap_model": PCA(2), "hdbscan_model": KMeans(2, random_state=0)}
    model = BERTopic(embedding_model=backend(reader), **parts).fit(TEXTS * 4)
    model.save(tmp_path / "topics")  # a pickle
    again = BERTopic.load(tmp_path / "topics")
    assert list(again.transform(TEXTS)[0]) == list(model.transform(TEXTS)[0])
    np.testing.assert_array_equal(again.embedding_model.embed(TEXTS), reader.encode(TEXTS))


def test_one_backend_is_both_bertopic_s_and_keybert_s(reader):
    import bertopic.backend
    import keybert.backend

    from limelight.integrations.topics import backend

    found = backend(reader)
    assert isinstance(found, bertopic.backend.BaseEmbedder)
    assert isinstance(found, keybert.backend.BaseEmbedder)
    np.testing.assert_array_equal(found.embed_documents(TEXTS), reader.encode(TEXTS))
    np.testing.assert_array_equal(found.embed_words(TEXTS), reader.encode(TEXTS))


def test_bertopic_takes_a_pipeline_of_scikit_learn(reader):
    from bertopic.backend._utils import select_backend
    from sklearn.pipeline import make_pipeline

    found = select_backend(make_pipeline(limelight.TextVectorizer()))
    np.testing.assert_allclose(found.embed(TEXTS), reader.encode(TEXTS), atol=1e-6)


def test_chroma_keeps_the_reader_s_vectors(reader):
    import chromadb

    from limelight.integrations.embeddings import Embeddings

    collection = chromadb.EphemeralClient().create_collection("one", embedding_function=Embeddings("reader"))
    collection.add(ids=["a"], documents=TEXTS[:1])
    (kept,) = collection.get(include=["embeddings"])["embeddings"]
    np.testing.assert_allclose(kept, reader.encode(TEXTS[0]), atol=1e-6)


def test_a_collection_is_reopened_in_another_process_without_its_function(tmp_path):
    import chromadb

    from limelight.integrations.chroma import Embeddings

    collection = chromadb.PersistentClient(tmp_path).create_collection("one", embedding_function=Embeddings())
    collection.add(ids=["a", "b"], documents=TEXTS[1:])
    program = (
        "import sys, chromadb, limelight.integrations.chroma\n"
        "found = chromadb.PersistentClient(sys.argv[1]).get_collection('one')\n"
        "print(found.query(query_texts=['cold soup'], n_results=1)['ids'])"
    )
    run = [sys.executable, "-c", program, str(tmp_path)]
    assert subprocess.run(run, capture_output=True, text=True, check=True).stdout == "[['a']]\n"


def test_langchain_s_chroma(reader):
    from langchain_chroma import Chroma

    from limelight.integrations.embeddings import Embeddings

    store = Chroma.from_texts(TEXTS, Embeddings(reader), collection_name="langchain")
    assert store.similarity_search("cold broth", k=1)[0].page_content == "Chilly broth!"


def test_haystack_components_survive_being_stored():
    from haystack import Pipeline

    from limelight.integrations.haystack import LimelightTextEmbedder

    pipeline = Pipeline()
    pipeline.add_component("embed", LimelightTextEmbedder())
    again = Pipeline.loads(pipeline.dumps())
    texts = {"embed": {"text": "Cold soup."}}
    assert again.run(texts) == pipeline.run(texts)


def test_mteb_s_protocol_and_meta_data(reader):
    from mteb.models.models_protocols import EncoderProtocol

    from limelight.integrations.mteb import Encoder

    encoder = Encoder(reader)
    assert isinstance(encoder, EncoderProtocol)
    batches = [{"text": TEXTS[:2]}, {"text": TEXTS[2:]}]
    np.testing.assert_array_equal(encoder.encode(batches), reader.encode(TEXTS))
    meta = Encoder().mteb_model_meta
    assert (meta.name, meta.embed_dim, meta.revision) == ("limelight/reader", 384, reader.sha256[:40])


def test_spacy_vectors_and_weights(reader):
    import spacy

    import limelight.integrations.spacy  # noqa: F401

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

    import limelight.integrations.spacy

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
