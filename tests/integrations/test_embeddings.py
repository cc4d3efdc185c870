"""The one class for LangChain and Chroma, which needs neither."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

import limelight
from limelight.integrations.embeddings import Embeddings
from limelight.integrations.topics import backend
from refusing import refuses

TEXTS = ["The soup was cold.", "Chilly broth!"]


@pytest.fixture(scope="module")
def reader() -> limelight.Reader:
    return limelight.load("reader")


def test_lists_for_langchain_also_while_others_run(reader):
    embeddings = Embeddings(reader)
    assert embeddings.embed_documents(TEXTS) == reader.encode(TEXTS).tolist()
    assert embeddings.embed_query(TEXTS[0]) == reader.encode(TEXTS[0]).tolist()
    assert asyncio.run(embeddings.aembed_documents(TEXTS)) == embeddings.embed_documents(TEXTS)
    assert asyncio.run(embeddings.aembed_query(TEXTS[0])) == embeddings.embed_query(TEXTS[0])


def test_arrays_for_chroma(reader):
    for found in (Embeddings(reader)(TEXTS), Embeddings(reader).embed_query(input=TEXTS)):
        np.testing.assert_array_equal(np.array(found), reader.encode(TEXTS))


def test_a_collection_keeps_the_name_of_a_folder(reader):
    with refuses("option-value"):
        Embeddings(reader).get_config()
    assert Embeddings.build_from_config({"model": "reader"}).get_config() == {"model": "reader"}
    with refuses("model-differs"):
        Embeddings(reader).validate_config_update({"model": "reader"}, {"model": "other"})


def test_without_the_libraries_it_says_which_to_install(reader, monkeypatch):
    monkeypatch.setattr("limelight.integrations.topics.LIBRARIES", ("no_such_library",))
    with refuses("needs-extra"):
        backend(reader)
