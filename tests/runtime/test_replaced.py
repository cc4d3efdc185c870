"""A folder that is replaced while it is read: the old model or the new one, no mixture and no error."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import limelight
from limelight.runtime.folder import Parts, open_folder
from limelight.storage import files
from refusing import refuses
from trained import network_of, recipe_of, save, weights_of

MODELS = {("a", "b", "c"): 0, ("x", "y", "z"): 1}  # labels -> the seed of the weights


def write(path: Path, labels: tuple[str, ...]) -> None:
    weights = weights_of(network_of(recipe_of({"rows": 2}), seed=MODELS[labels]))
    save(path, labels=labels, weights=weights, overwrite=True)


def assert_whole(found: Parts) -> None:
    expected = weights_of(network_of(recipe_of({"rows": 2}), seed=MODELS[found.labels]))
    assert all(np.array_equal(found.weights[name], array) for name, array in expected.items())


def watch_opening(monkeypatch: pytest.MonkeyPatch, act: Callable[[int], Any]) -> list[int]:
    """From now on, `act` is called with a running number before each file or folder is opened for reading."""
    opened, inside, real = [0], [False], os.open

    def watched(path: Any, flags: int, *more: Any, **options: Any) -> int:
        if not inside[0]:
            inside[0], opened[0] = True, opened[0] + 1
            act(opened[0])
            inside[0] = False
        return real(path, flags, *more, **options)

    monkeypatch.setattr(os, "open", watched)
    return opened


@pytest.mark.parametrize("one_step", [True, False])
def test_replaced_before_any_file_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, one_step: bool
) -> None:
    old, new = MODELS
    if not one_step:
        monkeypatch.setattr(files, "exchange", lambda one, other: False)
    seen = set()
    for moment in range(1, 7):  # the folder, config.json and four more
        path = tmp_path / f"model-{moment}"
        write(path, old)
        with monkeypatch.context() as patch:
            opened = watch_opening(patch, lambda k, at=moment, to=path: k == at and write(to, new))
            found = open_folder(path)
        assert opened[0] >= 6
        assert_whole(found)
        seen.add(found.labels)
    assert seen == {new}  # what was open is read again in the new folder: some of it was gone


def test_what_is_open_is_read_though_it_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "model", next(iter(MODELS)))
    real, done = os.fstat, []

    def fstat(handle: int) -> os.stat_result:
        done.append(handle)
        if len(done) == 7:  # five files have been opened, in a folder that is still there; none has been read
            write(tmp_path / "model", list(MODELS)[1])
        return real(handle)

    monkeypatch.setattr(os, "fstat", fstat)
    found = open_folder(tmp_path / "model")
    assert_whole(found)
    assert found.labels == next(iter(MODELS))


def test_there_is_always_a_folder_to_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = MODELS
    write(tmp_path / "model", old)
    monkeypatch.setattr(files, "exchange", lambda one, other: False)
    real, found = os.replace, []

    def replace(source: Any, target: Any) -> None:
        found.append(open_folder(tmp_path / "model"))
        real(source, target)
        found.append(open_folder(tmp_path / "model"))

    monkeypatch.setattr(os, "replace", replace)
    write(tmp_path / "model", new)
    for folder in found:
        assert_whole(folder)
    assert [folder.labels for folder in found] == [old, old, old, new, new, new]


def test_after_a_kill_between_two_renames(tmp_path: Path) -> None:
    write(tmp_path / "model", next(iter(MODELS)))
    aside = tmp_path / ".model.limelight-0123abcd.old"
    aside.mkdir()
    os.replace(tmp_path / "model", aside / "was")
    assert_whole(open_folder(tmp_path / "model"))
    assert not (tmp_path / "model").exists()  # a reader changes nothing


def test_a_known_checksum(tmp_path: Path) -> None:
    folder = save(tmp_path / "model")
    digest = hashlib.sha256((folder / "config.json").read_bytes()).hexdigest()
    assert (
        limelight.load(folder, sha256=digest).labels == limelight.load(folder, sha256=digest.upper()).labels
    )
    with refuses("checksum-other"):
        limelight.load(folder, sha256="00" * 32)
    with refuses("option-value"):
        limelight.load("reader", sha256=digest)
