"""Thousands of mutations of a good folder: never a crash, a hang, or a silent wrong answer."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from limelight.errors import LimelightError
from limelight.runtime.config_file import FILES
from limelight.runtime.folder import Parts, open_folder
from limelight.runtime.model import Model
from trained import edit, replace, save

CHECKED = (*FILES["text"][:2], "config.json")
NUMBERS = st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.none() | st.booleans() | NUMBERS | st.text(max_size=8) | st.just([]) | st.just({})


PLACE = tempfile.TemporaryDirectory()  # one folder, mended after every test: writing is most of the work
FOLDER = Path(PLACE.name) / "model"


@cache
def good() -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in save(FOLDER).iterdir()}


@cache
def good_folder() -> Parts:
    return open_folder(FOLDER)


@contextmanager
def changed(contents: dict[str, bytes]) -> Iterator[None]:
    try:
        for name, content in contents.items():
            (FOLDER / name).write_bytes(content)
        yield
    finally:
        for name in contents:
            (FOLDER / name).write_bytes(good()[name])


def or_one_line(attempt: Callable[[], Any]) -> Any:
    """What an attempt gives, or None if it fails as it should."""
    problem = ""
    try:
        return attempt()
    except LimelightError as error:
        problem = str(error)
    assert problem
    assert "\n" not in problem
    return None


def assert_found_or_harmless(contents: dict[str, bytes]) -> None:
    """Either one line, or a folder that holds the same as the good one."""
    expected = good_folder()
    with changed(contents):
        found = or_one_line(lambda: open_folder(FOLDER))
    if found is not None:
        assert (found.labels, found.recipe, found.pair) == (expected.labels, expected.recipe, expected.pair)
        assert found.tokenizer.to_json() == expected.tokenizer.to_json()
        assert all(np.array_equal(found.weights[name], array) for name, array in expected.weights.items())


@st.composite
def mutated_bytes(draw: st.DrawFn, content: bytes) -> bytes:
    """Bits flipped, a part cut out, repeated, or written over."""
    changed = bytearray(content)
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(changed)))
        end = min(len(changed), start + draw(st.sampled_from([1, 2, 8, 64, len(content)])))
        how = draw(st.sampled_from(["flip", "cut", "repeat", "write"]))
        if how == "flip" and start < len(changed):
            changed[start] ^= 1 << draw(st.integers(0, 7))
        elif how == "cut":
            del changed[start:end]
        elif how == "repeat":
            changed[start:start] = changed[start:end]
        else:
            changed[start:end] = draw(st.binary(max_size=min(end - start, 64)))
    return bytes(changed)


@st.composite
def mutated_json(draw: st.DrawFn, content: bytes) -> bytes:
    """One value, anywhere in the tree, replaced, removed or given another name."""
    data = json.loads(content)
    node, key = data, None
    while isinstance(node, dict | list) and node and (key is None or draw(st.integers(0, 3))):
        parent = node
        key = (
            draw(st.sampled_from(sorted(node)))
            if isinstance(node, dict)
            else draw(st.integers(0, len(node) - 1))
        )
        node = parent[key]
    how = draw(st.sampled_from(["replace", "remove", "add"]))
    if how == "replace":
        parent[key] = draw(VALUES)
    elif how == "remove":
        del parent[key]
    elif isinstance(parent, dict):
        parent[draw(st.text(max_size=8))] = draw(VALUES)
    else:
        parent.append(draw(VALUES))
    return json.dumps(data).encode()


@examples(500)
@given(data=st.data())
def test_mutated_bytes(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(CHECKED))
    assert_found_or_harmless({name: data.draw(mutated_bytes(good()[name]))})


@examples(200)
@given(data=st.data())
def test_mutated_json(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(["config.json", "tokenizer.json"]))
    assert_found_or_harmless({name: data.draw(mutated_json(good()[name]))})


@pytest.mark.parametrize(("first", "second"), list(combinations(CHECKED, 2)))
def test_swapped_files(first: str, second: str) -> None:
    assert_found_or_harmless({first: good()[second], second: good()[first]})


def assert_survives(name: str, content: bytes) -> None:
    """One file changed and all checksums right: one line, or a model that answers something."""
    with changed({name: content, "config.json": good()["config.json"]}):
        if name == "config.json":
            edit(FOLDER, lambda config: (config.clear(), config.update(json.loads(content))))
        else:
            replace(FOLDER, name, content)
        P = or_one_line(lambda: Model.load(FOLDER, threads=1).predict_proba(["w1 w2 unheard", ""]))
    assert P is None or P.shape == (2, 3)


@examples(150)
@given(data=st.data())
def test_mutated_bytes_with_matching_checksums(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(["model.safetensors", "tokenizer.json", "model.onnx"]))
    assert_survives(name, data.draw(mutated_bytes(good()[name])))


@examples(150)
@given(data=st.data())
def test_mutated_json_with_matching_checksums(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(["config.json", "tokenizer.json"]))
    assert_survives(name, data.draw(mutated_json(good()[name])))
