"""A reader's folder: saved and read again, of version 0.2, and from strangers."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
import safetensors.numpy

import limelight
from limelight.config.recipe import ModelRecipe
from limelight.network.parts import shapes
from limelight.network.weights import pack_all
from limelight.runtime.batches import encode_spelled
from limelight.runtime.config_file import format_config
from limelight.runtime.folder import is_reader_folder, open_folder
from limelight.runtime.reader import Reader
from limelight.text.spelling import piece_tables
from refusing import refuses

WORDS = ["soup", "cold", "train"]
FACTS = {"rows": [["cold"], ["soup"]], "held_out": 9, "teacher": "<a>|b", "overlap": 0.1}
TEXTS = ["cold soup", "a blorp of cold trains!", "", "soup"]


def weights(rows: int = 2) -> dict[str, np.ndarray]:
    random = np.random.default_rng(0)
    shapes = {
        "words.weight": (5, 32), "grams.weight": (8, 32), "encoder.W_ih_0": (2, 12, 32),
        "encoder.W_hh_0": (2, 12, 3), "encoder.b_0": (2, 12), "pooling.W_s1": (4, 6),
        "pooling.W_s2": (rows, 4), "vector.W_shared": (5, 6), "vector.W_rows": (7, 5 * rows),
    }  # fmt: skip
    return {name: random.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


def reader() -> Reader:
    return Reader.from_parts(words=WORDS, weights=weights(), facts=FACTS)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    reader().save(tmp_path / "reader")
    return tmp_path / "reader"


def old_tensors() -> dict[str, np.ndarray]:
    return {"vocabulary": np.frombuffer("\n".join(WORDS).encode(), np.uint8), **pack_all(weights())}


def save_old(path: Path, tensors: dict[str, np.ndarray]) -> Path:
    """As version 0.2 wrote it."""
    content = safetensors.numpy.save(tensors)
    about = {"kind": "reader", "labels": [], "recipe": {"rows": 2}, "facts": FACTS}
    config = json.loads(format_config({"reader.safetensors": content}, **about))
    config |= {"format": 1, "limelight": "0.2.0"}
    rest = {name: value for name, value in config.items() if name != "sha256"}
    plain = json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()
    path.mkdir()
    (path / "config.json").write_text(json.dumps({**rest, "sha256": hashlib.sha256(plain).hexdigest()}))
    (path / "reader.safetensors").write_bytes(content)
    return path


# ---------------------------------------------------------------- what is saved is read again


def test_what_is_saved_is_read_again(folder: Path) -> None:
    assert sorted(path.name for path in folder.iterdir()) == [
        "README.md", "config.json", "model.onnx", "model.safetensors", "modules.json", "tokenizer.json",
    ]  # fmt: skip
    found = open_folder(folder)
    assert found.is_reader
    assert found.tokenizer.vocabulary[2:] == tuple(WORDS)
    assert (found.recipe.model.rows, found.recipe.model.buckets, found.recipe.model.vector_size) == (2, 7, 7)
    assert found.facts["rows"] == [["cold"], ["soup"]]
    assert is_reader_folder(folder)
    assert limelight.load(folder).encode(TEXTS).shape == (4, 7)
    assert "| 1 | cold |" in (folder / "README.md").read_text()


def test_the_same_reader_gives_the_same_bytes_and_is_not_overwritten(folder: Path, tmp_path: Path) -> None:
    reader().save(tmp_path / "again")
    for path in folder.iterdir():
        assert (tmp_path / "again" / path.name).read_bytes() == path.read_bytes()
    with refuses("exists"):
        reader().save(folder)


def test_saving_again_changes_nothing(folder: Path, tmp_path: Path) -> None:
    limelight.load(folder).save(tmp_path / "again")
    for name in ("model.safetensors", "model.onnx", "tokenizer.json"):
        assert (tmp_path / "again" / name).read_bytes() == (folder / name).read_bytes()


def test_a_reader_of_version_0_2_gives_the_same_vectors(folder: Path, tmp_path: Path) -> None:
    old = limelight.load(save_old(tmp_path / "old", old_tensors()))
    np.testing.assert_array_equal(old.encode(TEXTS), limelight.load(folder).encode(TEXTS))
    assert old.facts["pretraining"] == {"rows": 2}
    old.save(tmp_path / "new")
    np.testing.assert_array_equal(limelight.load(tmp_path / "new").encode(TEXTS), old.encode(TEXTS))


def other_reader(**options: Any) -> Reader:
    """A reader with random weights whose network is not the plain one."""
    own = {"buckets": 7, "vector_rank": 5, "vector_size": 7, "head": "vector"}
    sizes = {"word_size": 32, "hidden": 3, "attention_hidden": 4, "rows": 2}
    model, random = ModelRecipe(**own, **sizes, **options), np.random.default_rng(0)
    found = {name: random.standard_normal(shape) for name, shape in shapes(model, 5, 0, False).items()}
    weights = {name: array.astype(np.float32) for name, array in found.items()}
    return Reader.from_parts(words=WORDS, weights=weights, model=model, facts=FACTS)


NETWORKS = {"plain": reader, "stems": partial(other_reader, stems=True),
            "words alone": partial(other_reader, stems=True, encoder="words")}  # fmt: skip


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("texts", [TEXTS, ["cold soup", "soup"]], ids=["spelled", "known"])
def test_the_graph_gives_the_same_vectors(tmp_path: Path, network: str, texts: list[str]) -> None:
    """As another program runs it: word ids, and the pieces of words outside the vocabulary."""
    NETWORKS[network]().save(tmp_path / "reader")
    loaded = limelight.load(tmp_path / "reader")
    stems = loaded.recipe.model.stems
    grams = loaded.weights["grams.weight"]
    sentences = encode_spelled(loaded.tokenizer, texts, loaded.weights["words.weight"], grams, stems)
    others = dict.fromkeys(
        word for text in texts for word in loaded.tokenizer.words(text) if word not in WORDS
    )
    tables = piece_tables(list(others), len(grams) - 1, loaded.tokenizer.ids if stems else None)
    assert stems == bool(tables[1].any()) or not others  # "trains" has "train" in it
    feed = sentences.feed(np.arange(len(texts)))
    session = onnxruntime.InferenceSession(tmp_path / "reader" / "model.onnx")
    given = {"ids": feed["ids"], "lengths": feed["lengths"], "buckets": tables[0]}
    vectors, M = session.run(["vector", "M"], {**given, **({"stems": tables[1]} if stems else {})})
    np.testing.assert_allclose(M, loaded.embed(texts), atol=1e-5)
    expected = loaded.encode(texts, normalize_embeddings=False)
    np.testing.assert_allclose(vectors, expected, atol=1e-5)


@pytest.mark.parametrize(
    ("text", "warned"),
    [
        ("cold soup train " * 20, False),
        ("Wir lesen nichts. " * 20, True),
        ("Wir lesen heute leider nichts und morgen nie.", True),  # one sentence is enough
        ("Wir lesen heute leider nichts.", False),  # five words are not
        ("cold Wurst morgen nie Brot nichts mehr", True),  # one in seven is frequent
        ("cold Wurst morgen nie Brot nichts", False),  # one in six
        ("cold Wurst morgen nie und nichts", True),  # but with a small word of German among them
        ("cold soup train cold soup und morgen nie.", False),
        ("4711 0815 1848 1918 1989 2001 2011 2024 " * 10, False),  # numbers are of no language
    ],
)
def test_texts_in_another_language_are_warned_of(text: str, warned: bool) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        reader().encode([text])
    assert ["cannot read" in str(each.message) for each in caught] == [True] * warned


# ---------------------------------------------------------------- from strangers


def change(name: str, value: np.ndarray) -> Callable[[dict[str, Any]], None]:
    return lambda stored: stored.__setitem__(name, value)


def drop(*names: str) -> Callable[[dict[str, Any]], None]:
    return lambda stored: [stored.pop(name) for name in names]  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("spoil", "code"),
    [
        (drop("vocabulary"), "file-damaged"),
        (drop("encoder.W_hh_0"), "file-damaged"),
        (drop("encoder.W_hh_0", "encoder.W_hh_0.scale"), "file-damaged"),
        (drop("pooling.W_s1", "pooling.W_s1.scale"), "weights-names"),
        (change("vocabulary", np.frombuffer(b"soup\nsoup\ncold", np.uint8)), "file-damaged"),
        (change("vocabulary", np.frombuffer(b"\xff\xfe", np.uint8)), "file-damaged"),
        (change("words.weight", np.zeros((4, 16), np.uint8)), "file-damaged"),
        (change("encoder.b_0", np.full((2, 12), np.nan, np.float32)), "not-finite"),
        (change("encoder.b_0", np.zeros((2, 12), np.float16)), "file-damaged"),
        (change("vector.W_rows", np.zeros((7, 9), np.int8)), "file-damaged"),
        (change("extra", np.zeros(3, np.float32)), "weights-names"),
    ],
)
def test_a_damaged_old_reader_is_one_line(spoil: Any, code: str, tmp_path: Path) -> None:
    tensors = old_tensors()
    spoil(tensors)
    path = save_old(tmp_path / "old", tensors)
    with refuses(code):
        limelight.load(path)


def test_shapes_are_checked_before_anything_is_unpacked(tmp_path: Path) -> None:
    """A small file cannot claim scales that would make a large table of it."""
    tensors = old_tensors()
    tensors["grams.weight.scale"] = np.ones((1, 2**20), np.float16)
    with refuses("file-damaged"):
        limelight.load(save_old(tmp_path / "old", tensors))


@pytest.mark.parametrize("cut", [0, 4, 100, -1])
def test_a_truncated_file_is_noticed(cut: int, folder: Path) -> None:
    content = (folder / "model.safetensors").read_bytes()[:cut]
    (folder / "model.safetensors").write_bytes(content)
    with refuses("file-damaged"):
        limelight.load(folder)


def test_an_altered_file_or_configuration_is_noticed(folder: Path) -> None:
    content = bytearray((folder / "model.safetensors").read_bytes())
    content[-1] ^= 1
    (folder / "model.safetensors").write_bytes(bytes(content))
    with refuses("file-damaged"):
        limelight.load(folder)
    config = json.loads((folder / "config.json").read_text())
    config["recipe"]["model"]["rows"] = 3
    (folder / "config.json").write_text(json.dumps(config))
    with refuses("file-damaged"):
        limelight.load(folder)


def test_a_folder_of_another_kind_is_not_a_reader(folder: Path, tmp_path: Path) -> None:
    with refuses("not-a-model"):
        Reader.load(tmp_path / "nothing")
    (folder / "config.json").unlink()
    with refuses("not-a-model"):
        Reader.load(folder)
