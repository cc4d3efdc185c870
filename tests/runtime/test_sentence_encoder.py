"""A reader called as sentence-transformers is called: every option does what it says or is refused."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import torch

import limelight
from limelight.runtime.reader import Reader
from refusing import refuses

TEXTS = [
    "The soup was cold.",
    "Chilly broth, sadly!",
    "",
    "My train to the restaraunt is late.",
    "soup " * 30,
]


@pytest.fixture(scope="module")
def reader() -> Reader:
    return limelight.load("reader", threads=2)


@pytest.fixture(scope="module")
def vectors(reader) -> np.ndarray:
    """From M, by the reader's linear map: v = sum_r (M_r W_shared^T) W_r, of length 1."""
    maps = reader.weights["vector.W_rows"].T.reshape(24, 128, 384)
    v = np.einsum("nrk,rkd->nd", reader.embed(TEXTS) @ reader.weights["vector.W_shared"].T, maps)
    return v / np.linalg.norm(v, axis=1, keepdims=True)


# ---------------------------------------------------------------- encode


@pytest.mark.parametrize("batch_size", [None, 1, 2, 3, 32, np.int64(5)])
def test_the_vectors_of_embed_whatever_the_batch_size(batch_size, reader, vectors):
    np.testing.assert_allclose(reader.encode(TEXTS, batch_size=batch_size), vectors, atol=1e-5)


def test_tensors_have_the_values_of_the_arrays(reader):
    expected = torch.from_numpy(reader.encode(TEXTS))
    found = reader.encode(TEXTS, convert_to_tensor=True, convert_to_numpy=False)
    assert torch.equal(found, expected)
    rows = reader.encode(TEXTS, convert_to_numpy=False)
    assert isinstance(rows, list)
    assert torch.equal(torch.stack(rows), expected)
    alone = torch.from_numpy(reader.encode(TEXTS[0]))
    assert alone.shape == (384,)
    for options in ({"convert_to_tensor": True}, {"convert_to_numpy": False}):
        assert torch.equal(reader.encode(TEXTS[0], **options), alone)
    assert reader.encode([], convert_to_tensor=True).shape == (0, 384)
    assert reader.encode([], convert_to_numpy=False) == []


def test_without_pytorch_tensors_are_refused_before_the_work(reader, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setattr(reader, "encode_stream", None)
    for options in ({"convert_to_tensor": True}, {"convert_to_numpy": False}):
        with refuses("needs-extra"):
            reader.encode(TEXTS, **options)


@pytest.mark.parametrize("size", [1, 100, 384, 1000])
def test_the_first_dimensions_have_length_1_again(size, reader, vectors):
    cut = vectors[:, :size]
    found = reader.encode(TEXTS, truncate_dim=size)
    np.testing.assert_allclose(found, cut / np.linalg.norm(cut, axis=1, keepdims=True), atol=1e-4)
    raw = reader.encode(TEXTS, truncate_dim=size, normalize_embeddings=False)
    np.testing.assert_array_equal(raw, reader.encode(TEXTS, normalize_embeddings=False)[:, :size])


@pytest.mark.parametrize(
    "options", [{"truncate_dim": 0}, {"truncate_dim": 1.5}, {"batch_size": "query"}, {"batch_size": True}]
)
def test_what_it_cannot_do_is_refused(options, reader):
    with refuses("option-value"):
        reader.encode(TEXTS, **options)


def test_queries_and_documents_are_read_alike(reader):
    expected = reader.encode(TEXTS)
    np.testing.assert_array_equal(reader.encode_query(TEXTS), expected)
    assert torch.equal(reader.encode_document(TEXTS, convert_to_tensor=True), torch.from_numpy(expected))


# ---------------------------------------------------------------- similarity


def test_similarity_is_the_cosine(reader, vectors):
    raw = reader.encode(TEXTS, normalize_embeddings=False)
    np.testing.assert_allclose(reader.similarity(raw, raw[:2]), vectors @ vectors[:2].T, atol=1e-4)
    np.testing.assert_allclose(reader.similarity(raw[0], raw[1]), [[vectors[0] @ vectors[1]]], atol=1e-4)
    assert reader.similarity(np.zeros(384), raw[:1]).tolist() == [[0.0]]


def test_tensors_have_a_similarity_that_is_a_tensor(reader):
    arrays, tensors = reader.encode(TEXTS), reader.encode(TEXTS, convert_to_tensor=True)
    expected = torch.from_numpy(reader.similarity(arrays, arrays))
    for first, second in ((tensors, tensors), (arrays, tensors), (list(tensors), arrays)):
        assert torch.equal(reader.similarity(first, second), expected)


def test_vectors_that_cannot_be_compared_are_refused(reader):
    for one, other in ((np.ones((2, 3)), np.ones((2, 4))), (np.ones((2, 3, 3)), np.ones((2, 3, 3)))):
        with refuses("option-value"):
            reader.similarity(one, other)


# ---------------------------------------------------------------- what else is asked of a model


def test_facts_that_tools_ask_for(reader):
    assert reader.get_sentence_embedding_dimension() == 384
    assert reader.device == "cpu"


@pytest.mark.parametrize("library", ["bertopic", "keybert"])
def test_a_library_that_takes_no_bare_reader_is_told_what_it_takes(library, reader):
    program = "str(type(reader))"
    with refuses("needs-adapter"):
        exec(program, {"__name__": f"{library}.backend._utils", "reader": reader})
    exec(program, {"__name__": "some.other", "reader": reader})
    assert "Reader" in repr(type(reader))
