"""A reader's folder from elsewhere: anything wrong with it is one line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

import limelight
from limelight.errors import LimelightError
from limelight.runtime.reader_file import pack_reader, unpack_reader
from limelight.runtime.reader_folder import is_reader_folder, open_reader, save_reader

WORDS = ["soup", "cold", "train"]


def weights(rows: int = 2) -> dict[str, np.ndarray]:
    random = np.random.default_rng(0)
    shapes = {
        "words.weight": (5, 32), "grams.weight": (8, 32), "encoder.W_ih_0": (2, 12, 32),
        "encoder.W_hh_0": (2, 12, 3), "encoder.b_0": (2, 12), "pooling.W_s1": (4, 6),
        "pooling.W_s2": (rows, 4), "vector.W_shared": (5, 6), "vector.W_rows": (7, 5 * rows),
    }  # fmt: skip
    return {name: random.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


@pytest.fixture
def folder(tmp_path) -> Path:
    facts = {"rows": [["cold"], ["soup"]], "held_out": 9, "teacher": "<a>|b", "overlap": 0.1}
    save_reader(tmp_path / "reader", WORDS, weights(), {"rows": 2}, facts)
    return tmp_path / "reader"


def test_what_is_saved_is_read_again(folder):
    found = open_reader(folder)
    assert found.words == WORDS
    assert found.recipe == {"rows": 2}
    assert found.facts["rows"] == [["cold"], ["soup"]]
    assert is_reader_folder(folder)
    reader = limelight.load(folder)
    assert reader.encode(["cold soup", "blorp"]).shape == (2, 7)
    assert "| 1 | cold |" in (folder / "README.md").read_text()


def test_the_same_reader_gives_the_same_bytes_and_is_not_overwritten(folder, tmp_path):
    facts = open_reader(folder).facts
    save_reader(tmp_path / "again", WORDS, weights(), {"rows": 2}, facts)
    for path in folder.iterdir():
        assert (tmp_path / "again" / path.name).read_bytes() == path.read_bytes()
    with pytest.raises(LimelightError, match="already exists"):
        save_reader(folder, WORDS, weights(), {}, {})


def change(name, value):
    return lambda stored: stored.__setitem__(name, value)


@pytest.mark.parametrize(
    ("spoil", "match"),
    [
        (lambda stored: stored.pop("vocabulary"), "words"),
        (lambda stored: stored.pop("encoder.W_hh_0"), "a scale without its weights"),
        (lambda stored: [stored.pop(f"encoder.W_hh_0{end}") for end in ("", ".scale")], "not a reader"),
        (lambda stored: [stored.pop(f"pooling.W_s1{end}") for end in ("", ".scale")], "its weights are"),
        (change("vocabulary", np.frombuffer(b"soup\nsoup\ncold", np.uint8)), "distinct"),
        (change("vocabulary", np.frombuffer(b"\xff\xfe", np.uint8)), "UTF-8"),
        (change("words.weight", np.zeros((4, 16), np.uint8)), "fit together"),
        (change("encoder.b_0", np.full((2, 12), np.nan, np.float32)), "not finite"),
        (change("encoder.b_0", np.zeros((2, 12), np.float16)), "no scale"),
        (change("vector.W_rows", np.zeros((7, 9), np.int8)), "shape"),
        (change("extra", np.zeros(3, np.float32)), "its weights are"),
    ],
)
def test_a_damaged_file_is_one_line(spoil, match):
    stored = safetensors.numpy.load(pack_reader(WORDS, weights()))
    spoil(stored)
    with pytest.raises(LimelightError, match=match) as error:
        unpack_reader(safetensors.numpy.save(stored))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("cut", [0, 4, 100, -1])
def test_a_truncated_file_is_noticed_by_its_size_and_by_itself(cut, folder):
    content = (folder / "reader.safetensors").read_bytes()[:cut]
    with pytest.raises(LimelightError, match=r"reader\.safetensors"):
        unpack_reader(content)
    (folder / "reader.safetensors").write_bytes(content)
    with pytest.raises(LimelightError, match="bytes"):
        open_reader(folder)


def test_an_altered_file_or_configuration_is_noticed(folder):
    content = bytearray((folder / "reader.safetensors").read_bytes())
    content[-1] ^= 1
    (folder / "reader.safetensors").write_bytes(bytes(content))
    with pytest.raises(LimelightError, match="checksum"):
        limelight.load(folder)
    config = json.loads((folder / "config.json").read_text())
    config["recipe"]["rows"] = 3
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(LimelightError, match=r"config\.json was altered"):
        limelight.load(folder)


def test_a_folder_of_another_kind_is_no_reader(folder, tmp_path):
    with pytest.raises(LimelightError, match="not a folder"):
        open_reader(tmp_path / "nothing")
    shutil.copy(folder / "reader.safetensors", tmp_path)
    with pytest.raises(LimelightError, match=r"config\.json"):
        open_reader(tmp_path)
