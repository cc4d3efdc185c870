"""Every kind of damage to a saved folder gives one clear line."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from limelight.errors import LimelightError
from limelight.runtime.config_file import FILES
from limelight.runtime.folder import open_folder
from trained import edit, replace, save

Change = Callable[[dict[str, Any]], Any]
Damage = Callable[[Path], Any]


def config(change: Change, seal: bool = True) -> Damage:
    return lambda folder: edit(folder, change, seal)


def recipe(**options: Any) -> Damage:
    return lambda folder: edit(folder, lambda c: c["recipe"]["model"].update(options))


def config_text(content: str | bytes) -> Damage:
    content = content.encode() if isinstance(content, str) else content
    return lambda folder: (folder / "config.json").write_bytes(content)


def header(change: Change) -> Damage:
    def damage(folder: Path) -> None:
        content = (folder / "model.safetensors").read_bytes()
        size = int.from_bytes(content[:8], "little")
        header = json.loads(content[8 : 8 + size])
        change(header)
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        replace(folder, "model.safetensors", len(text).to_bytes(8, "little") + text + content[8 + size :])

    return damage


def entry(change: Change) -> Damage:
    return header(lambda h: change(h["head.b_1"]))


def truncate(name: str) -> Damage:
    return lambda folder: os.truncate(folder / name, (folder / name).stat().st_size // 2)


def sparse(name: str) -> Damage:
    """Four gigabytes that take no place on the disk, and are never read."""

    def damage(folder: Path) -> None:
        os.truncate(folder / name, 2**32)
        edit(folder, lambda c: c["files"][name].update(bytes=2**32))

    return damage


def flip(name: str) -> Damage:
    def damage(folder: Path) -> None:
        content = bytearray((folder / name).read_bytes())
        content[-9] ^= 1
        (folder / name).write_bytes(content)

    return damage


def with_nan(folder: Path) -> None:
    content = (folder / "model.safetensors").read_bytes()
    replace(folder, "model.safetensors", content[:-4] + np.float32("nan").tobytes())


DAMAGE: dict[str, tuple[Damage, str]] = {
    "newer": (config(lambda c: c.update(format=3)), "reads up to 2: upgrade"),
    "foreign": (config_text('{"hidden_size": 768}'), "config.json was not written by"),
    "no config": (lambda f: (f / "config.json").unlink(), "no config.json"),
    "no json": (config_text(b"\xff\xfe{"), "config.json is not valid JSON"),
    "deep json": (config_text("[" * 100_000), "config.json is not valid JSON"),
    "twice": (config_text('{"format": 1, "format": 1}'), "occurs twice"),
    "a list": (config_text("[]"), "config.json is not a JSON object"),
    "infinite": (config_text('{"format": 1e999}'), "not a finite number"),
    "config is a folder": (
        lambda f: ((f / "config.json").unlink(), (f / "config.json").mkdir()), "is not a regular file"),
    "config is a pipe": (
        lambda f: ((f / "config.json").unlink(), os.mkfifo(f / "config.json")), "is not a regular file"),
    "config is a device": (
        lambda f: ((f / "config.json").unlink(), (f / "config.json").symlink_to("/dev/zero")),
        "is not a regular file"),
    "huge config": (lambda f: os.truncate(f / "config.json", 2**40), "config.json has 1,099,511,"),
    "sparse weights": (sparse("model.safetensors"), "at most 1,0"),
    "sparse words": (sparse("tokenizer.json"), "at most 134,217,728"),
    "edited": (config(lambda c: c["labels"].reverse(), seal=False), "config.json was altered"),
    "no labels": (config(lambda c: c.pop("labels")), "'labels' in config.json is missing"),
    "one label": (config(lambda c: c.update(labels=["a"])), "at least two labels"),
    "odd label": (config(lambda c: c.update(labels=[[], {}])), "a label must be text"),
    "more labels": (config(lambda c: c["labels"].append("more")), "the recipe needs"),
    "kind": (config(lambda c: c.update(kind="triple")), "kind is 'triple'"),
    "other kind": (config(lambda c: c.update(kind="pair")), "the weights lack gate.W_fh, gate.W_fp"),
    "option": (recipe(rowz=1), "there is no option 'rowz'"),
    "sizes": (recipe(rows=3), "the recipe needs"),
    "giant": (recipe(hidden=10**30), "the recipe needs"),
    "layers": (recipe(layers=10**9), "layers is 1000000000; it must be at most 1000"),
    "escape": (
        config(lambda c: c["files"].update({"../../secret": {"bytes": 1, "sha256": ""}})),
        "must list exactly the files"),
    "no entry": (config(lambda c: c["files"].pop("model.onnx")), "must list exactly the files"),
    "no size": (config(lambda c: c["files"]["model.onnx"].pop("bytes")), "must give bytes and sha256"),
    "rubbish weights": (lambda f: replace(f, "model.safetensors", b"rubbish"), "it is 7 bytes long"),
    "header size": (
        lambda f: replace(f, "model.safetensors", b"\xff" * 8 + b"{}" * 50), "its header claims to be"),
    "dtype": (entry(lambda e: e.update(dtype="F64")), "head.b_1 in model.safetensors is F64"),
    "shape": (entry(lambda e: e.update(shape=[1, 7])), "is F32 [1, 7]; the recipe needs"),
    "name": (header(lambda h: h.update(other=h.pop("head.b_1"))), "the weights lack head.b_1"),
    "extra": (header(lambda h: h.update(other=h["head.b_1"])), "the weights include 'other'"),
    "overlap": (entry(lambda e: e.update(data_offsets=[0, 28])), "overlap or leave gaps"),
    "negative": (entry(lambda e: e.update(data_offsets=[-28, 0])), "-28 to 0"),
    "no offsets": (entry(lambda e: e.pop("data_offsets")), "no valid data_offsets"),
    "boolean offsets": (entry(lambda e: e.update(data_offsets=[False, True])), "no valid data_offsets"),
    "odd entry": (header(lambda h: h.update({"head.b_1": 3})), "head.b_1 in model.safetensors is 3"),
    "not finite": (with_nan, "not finite"),
    "rubbish words": (lambda f: replace(f, "tokenizer.json", b"{}"), "tokenizer.json was not written by"),
    "words no text": (lambda f: replace(f, "tokenizer.json", b"\xff"), "tokenizer.json was not written by"),
    **{f"{n} gone": (lambda f, n=n: (f / n).unlink(), f"{n} is missing") for n in FILES["text"]},
    **{f"{n} cut": (truncate(n), "bytes, not the") for n in FILES["text"]},
    **{f"{n} flipped": (flip(n), f"{n} was altered") for n in FILES["text"][:2]},
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_one_clear_line(tmp_path: Path, name: str) -> None:
    folder = save(tmp_path / "model")
    damage, message = DAMAGE[name]
    damage(folder)
    with pytest.raises(LimelightError) as error:
        open_folder(folder)
    assert message in str(error.value)
    assert "\n" not in str(error.value)
    assert str(error.value).startswith(str(folder))
    assert len(str(error.value)) < len(str(folder)) + 200
