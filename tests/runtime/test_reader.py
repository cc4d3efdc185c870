"""The bundled reader against its mathematics in float64, and as people call it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from safetensors.numpy import load_file

import limelight
import limelight.bundled
import reference
from limelight.reading import to_html, to_json, to_svg, to_terminal
from limelight.runtime import onnx_runner as runner
from limelight.runtime import runner as any_runner
from limelight.runtime.batches import encode_spelled
from limelight.runtime.folder import BUNDLED, open_folder
from limelight.runtime.model import Model
from limelight.runtime.reader import Reader
from limelight.text.spelling import gram_hashes, pieces, spell
from limelight.text.tokenizer import Tokenizer
from refusing import refuses

TEXTS = [
    "The soup was cold but the waiter was lovely.",
    "soup",
    "",
    "restaraunt",
    "The restaraunt served blorptastic soup, didn't it?",
    "😀",
    "Crème brûlée 👍🏽 in İSTANBUL \ud800",
    "x" * 60,
    "a long one " * 40,
]


@pytest.fixture(scope="module")
def reader() -> Reader:
    return limelight.load("reader", threads=2)


@pytest.fixture(scope="module")
def vectors(reader) -> np.ndarray:
    return reader.encode(TEXTS)


# ---------------------------------------------------------------- the mathematics


def word_vector(word: str, known: dict[str, int], weights: dict[str, np.ndarray]) -> np.ndarray:
    """A known word's row of the table; otherwise the means over the known words and n-grams in it."""
    table, grams = weights["words.weight"], weights["grams.weight"]
    if word in known:
        return table[known[word]]
    found = pieces(word, known)
    rows = grams[[1 + h % (len(grams) - 1) for h in found.grams]], table[found.stems]
    return sum((each.mean(axis=0) for each in rows if len(each)), np.zeros(256))


def compute(words: Sequence[str], known: dict[str, int], weights: dict[str, np.ndarray]) -> np.ndarray:
    """The vector of one text, v = sum_r (M_r W_shared^T) W_r, of length 1."""
    S = [word_vector(word.lower(), known, weights) for word in words] or [np.zeros(256)]
    H = np.array(S)  # as the fast reader has it
    if "encoder.b_0" in weights:
        H = reference.bilstm(H, *(weights[f"encoder.{name}_0"] for name in ("W_ih", "W_hh", "b")))
    M, _ = reference.attention(H, weights["pooling.W_s1"], weights["pooling.W_s2"])
    maps = weights["vector.W_rows"].T.reshape(len(M), -1, 384)
    v = sum(row @ weights["vector.W_shared"].T @ W for row, W in zip(M, maps, strict=True))
    return v / max(np.linalg.norm(v), 1e-12)


@pytest.mark.parametrize("name", ["reader", "reader-fast"])
def test_vectors_follow_from_the_mathematics(name):
    found, vectors = open_folder(name), limelight.load(name).encode(TEXTS)
    weights = {name: array.astype(np.float64) for name, array in found.weights.items()}
    for text, v in zip(TEXTS, vectors, strict=True):
        whole = text.replace("\ud800", "\ufffd")  # half a character is read as the sign for none
        expected = compute(found.tokenizer.split(whole), dict(found.tokenizer.ids), weights)
        np.testing.assert_allclose(v, expected, atol=1e-4)


def test_the_fast_reader_reads_the_words_of_the_other(reader):
    fast = limelight.load("reader-fast")
    assert fast.tokenizer.vocabulary == reader.tokenizer.vocabulary
    np.testing.assert_array_equal(fast.weights["words.weight"], reader.weights["words.weight"])
    alike = fast.encode(["The soup was cold.", "Chilly broth!", "Trains are late."])
    assert alike[0] @ alike[1] > 0.4 > alike[0] @ alike[2]


def test_a_fast_reader_is_saved_whole(tmp_path):
    fast = limelight.load("reader-fast")
    fast.save(tmp_path / "own")
    np.testing.assert_array_equal(limelight.load(tmp_path / "own").encode(TEXTS), fast.encode(TEXTS))


def test_four_bit_numbers_are_unpacked_in_order():
    packed = load_file(BUNDLED / "model.safetensors")
    weights = open_folder().weights
    for row in (2, 4711, 38001):
        nibbles = [x for byte in packed["words.weight"][row].tolist() for x in (byte % 16, byte // 16)]
        scales = packed["words.weight.scale"][row].astype(float)
        expected = [(x - 8) * scales[k // 32] for k, x in enumerate(nibbles)]
        np.testing.assert_allclose(weights["words.weight"][row], expected, rtol=1e-6)


# ---------------------------------------------------------------- vectors


def test_one_vector_per_text_of_length_1(vectors):
    assert vectors.shape == (len(TEXTS), 384)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


@pytest.mark.parametrize("batch_size", [1, 3, 1000])
def test_a_text_has_the_same_vector_in_any_batch_and_order(batch_size, reader, vectors):
    order = np.random.default_rng(batch_size).permutation(len(TEXTS))
    found = reader.encode([TEXTS[k] for k in order], batch_size=batch_size)
    np.testing.assert_allclose(found, vectors[order], atol=1e-5)


def test_a_single_text_gives_a_single_vector(reader, vectors):
    for text, v in zip(TEXTS, vectors, strict=True):
        np.testing.assert_allclose(reader.encode(text), v, atol=1e-5)


def test_batch_size_limits_the_texts_of_a_batch(reader, monkeypatch):
    sizes = []
    run = runner.Session.run

    def watch(self, feed, *outputs):
        sizes.append(len(feed["lengths"]) if "lengths" in feed else 0)
        return run(self, feed, *outputs)

    monkeypatch.setattr(runner.Session, "run", watch)
    reader.encode(["cold soup"] * 20, batch_size=8)
    assert sorted(sizes) == [0, 4, 8, 8]
    with refuses("option-value"):
        reader.encode(TEXTS, batch_size=0)


def test_texts_in_several_chunks_and_from_a_generator(reader, vectors, monkeypatch, capfd):
    monkeypatch.setattr(any_runner, "CHUNK_TEXTS", (2, 2))
    np.testing.assert_allclose(reader.encode(iter(TEXTS), show_progress_bar=True), vectors, atol=1e-5)
    assert "texts" in capfd.readouterr().err
    assert reader.encode([]).shape == (0, 384)


def test_vectors_of_any_length_on_request(reader, vectors):
    raw = reader.encode(TEXTS, normalize_embeddings=False)
    lengths = np.linalg.norm(raw, axis=1, keepdims=True)
    assert not np.allclose(lengths, 1, atol=0.01)
    np.testing.assert_allclose(raw / lengths, vectors, atol=1e-5)


def test_threads_share_a_reader(reader, vectors):
    alone = limelight.load("reader", threads=1)
    np.testing.assert_allclose(alone.encode(TEXTS), vectors, atol=1e-5)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(alone.encode, [TEXTS] * 4):
            np.testing.assert_allclose(found, vectors, atol=1e-5)


def test_int8_is_close_and_the_same_in_any_company(vectors):
    reader = limelight.load("reader", precision="int8")
    found = reader.encode(TEXTS)
    assert (found * vectors).sum(axis=1).min() > 0.97
    alone = np.stack([reader.encode(text) for text in TEXTS])
    np.testing.assert_allclose(found, alone, rtol=0, atol=1e-5)


def test_similar_texts_have_similar_vectors(reader):
    right, wrong, other = reader.encode(["restaurant", "restaraunt", "bicycle"])
    assert wrong @ right > wrong @ other + 0.1
    soup, broth, train = reader.encode(["The soup was cold.", "Chilly broth!", "The train is late."])
    assert soup @ broth > soup @ train + 0.1


def test_unknown_words_are_numbered_by_their_spelling():
    tokenizer, table, grams = Tokenizer.from_words(["good"]), np.zeros((3, 2)), np.ones((9, 2))
    found = encode_spelled(tokenizer, ["Good SOUP", "", "soup é"], table, grams)
    assert found.ids.tolist() == [2, 3, 1, 3, 4]
    assert found.lengths.tolist() == [2, 1, 2]
    assert found.spelled.shape == (2, 2)


def test_many_words_are_spelled_as_each_alone():
    grams = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)
    words = ["soup", "a", "é" * 40, "soooup"]
    alone = [grams[[1 + h % 49 for h in gram_hashes(word)]].mean(axis=0) for word in words]
    np.testing.assert_array_equal(spell(words, grams), alone)
    assert spell([], grams).shape == (0, 4)


@pytest.mark.parametrize("texts", [[None], [1.5], {"a": 1}, b"soup"])
def test_what_is_not_a_list_of_texts_is_refused(texts, reader):
    with refuses("text-type"):
        reader.encode(texts)


# ---------------------------------------------------------------- M, A, pictures


def test_m_has_a_row_for_each_aspect(reader):
    M = reader.embed(TEXTS)
    assert M.shape == (len(TEXTS), 24, 600)
    assert np.array_equal(reader.embed(TEXTS, flat=True), M.reshape(len(TEXTS), -1))
    for text, one in zip(TEXTS, M, strict=True):
        reading = reader.read(text)
        np.testing.assert_allclose(reading.embedding, one, atol=1e-5)
        np.testing.assert_allclose(reading.attention.sum(axis=1), 1, atol=1e-5)
        assert reading.attention.shape == (24, len(reading.words))


def test_a_reading_is_drawn_without_a_prediction(reader):
    reading = reader.read("The soup at the restaurannt was cold.")
    assert reading.known.tolist() == [True] * 4 + [False] + [True] * 3
    assert "label" not in repr(reading)
    assert '"label": null' in to_json(reading) or '"label":null' in to_json(reading)
    assert to_terminal(reading, colour=False).startswith("All rows together")
    assert "%</p>" not in to_html(reading)
    assert 'aria-label="What the model reads"' in to_svg(reading)
    for name in ("label", "confidence"):
        with refuses("no-prediction"):
            getattr(reading, name)


# ---------------------------------------------------------------- opening it


def test_a_saved_model_of_the_same_name_comes_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "reader").mkdir()
    assert isinstance(limelight.load("reader"), Reader)
    (tmp_path / "reader" / "config.json").write_text("{}")
    with refuses("not-a-model"):
        limelight.load("reader")


def test_model_load_says_that_the_reader_has_no_labels(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with refuses("model-kind"):
        Model.load("reader")


def test_pytorch_is_not_imported():
    program = (
        "import limelight, sys; limelight.load('reader').encode(['a']); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
