"""index.json, shards and the list of deleted texts: what fits is read, and whatever does not is refused."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load, save

from limelight.search import index_folder, shards
from limelight.search.index_folder import (
    DeletedEntry,
    IndexConfig,
    Source,
    open_shards,
    read_config,
    write_config,
    write_deleted,
)
from limelight.search.shards import Shard, ShardEntry, cut_shards, pack_shard, quantise, write_shard
from limelight.search.words import RULES, WordRules
from refusing import refuses

TEXTS = ["cold soup", "hot soup", "late"]


def entry(text: str, row: int) -> dict[str, Any]:
    return {"text": text, "row": row, "columns": {"id": str(row)}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two shards, of two texts and one, with keys; the second text is deleted."""
    config = IndexConfig("reader", "0" * 64, 3, False, "int8", words=RULES, key="id", numbered=3)
    for number, some in enumerate((TEXTS[:2], TEXTS[2:])):
        entries = [entry(text, 2 * number + k + 1) for k, text in enumerate(some)]
        content = pack_shard(*quantise(np.eye(3)[: len(some)]), entries, WordRules(), "id")
        config.shards.append(write_shard(tmp_path, number, content, len(some)))
    config.sources.append(Source("list", "rows:1", None, True, 3))
    config.deleted = write_deleted(tmp_path, np.array([False, True, False]))
    write_config(tmp_path, config)
    return tmp_path


def edit(folder: Path, change: Callable[[dict[str, Any]], Any], seal: bool = True) -> None:
    path = folder / "index.json"
    data = json.loads(path.read_text())
    change(data)
    if seal:
        data.pop("sha256", None)
        data["sha256"] = index_folder._checksum(data)
    path.write_text(json.dumps(data))


def test_a_description_without_rules_for_words_is_of_an_index_without_words(folder: Path) -> None:
    edit(folder, lambda data: data.pop("words"))
    assert read_config(folder).words == 0


def test_what_was_written_is_read(folder):
    config, found = open_shards(folder)
    assert (config.rows, config.living, config.unit) == (3, 2, "texts")
    assert [[shard.entry(at)["text"] for at in range(len(shard))] for shard in found] == [
        TEXTS[:2],
        TEXTS[2:],
    ]
    assert [shard.living for shard in found] == [1, 1]
    assert found[0].alive.tolist() == [True, False]
    assert found[1].alive is None
    assert [list(shard.columns()) for shard in found] == [[{"id": "1"}, {"id": "2"}], [{"id": "3"}]]
    assert found[0].postings.of("soup")[0].tolist() == [0]


def test_columns_are_read_without_their_texts(folder, monkeypatch):
    """In a fraction of the time; a line that another program wrote is read whole."""
    shard = open_shards(folder)[1][0]
    lines = b'{"columns":{"id":"7"},"text":"a","row":1}{"text": "b", "row": 2, "columns": {"id": "8"}}'
    ends = np.array([lines.index(b"}{") + 1, len(lines)])
    other = replace(shard, lines=np.frombuffer(lines, np.uint8), ends=ends)
    assert list(other.columns()) == [{"id": "7"}, {"id": "8"}]
    monkeypatch.setattr(Shard, "entry", lambda *_: pytest.fail("read whole"))
    assert list(shard.columns()) == [{"id": "1"}, {"id": "2"}]


DAMAGED: list[tuple[str, Callable[[dict[str, Any]], Any]]] = [
    ("file-foreign", lambda data: data.update(format="4")),
    ("file-foreign", lambda data: data.update(format=True)),
    ("file-foreign", lambda data: data.update(format=0)),
    ("file-foreign", lambda data: data.pop("format")),
    ("file-foreign", lambda data: data.pop("limelight")),
    *[("format-newer", lambda data, n=n: data.update(format=n)) for n in (2, 3, 4, 6)],
    ("file-damaged", lambda data: data.update(extra=1)),
    ("file-damaged", lambda data: data.pop("model")),
    ("file-damaged", lambda data: data.update(size="3")),
    ("file-damaged", lambda data: data.update(size=True)),
    ("file-damaged", lambda data: data.update(size=0)),
    ("file-damaged", lambda data: data.update(size=2**24)),
    ("file-damaged", lambda data: data.update(sentences=0)),
    ("file-damaged", lambda data: data.update(sources={})),
    ("file-damaged", lambda data: data.update(words=RULES + 1)),
    ("file-damaged", lambda data: data.update(words=RULES - 1)),
    ("file-damaged", lambda data: data.update(approximate=None)),
    ("file-damaged", lambda data: data["sources"][0].update(rows=2)),
    ("file-damaged", lambda data: data["sources"][0].update(rows=4)),
    ("file-damaged", lambda data: data["sources"][0].update(rows="3")),
    ("file-damaged", lambda data: data["sources"].append({**data["sources"][0], "rows": 0, "finished": 1})),
    (
        "file-damaged",
        lambda data: data["sources"].extend([{**data["sources"][0], "rows": n} for n in (1, -1)]),
    ),
    (
        "file-damaged",
        lambda data: data["shards"][0].update(file="../shard-000000-0123456789abcdef.safetensors"),
    ),
    ("file-damaged", lambda data: data["shards"][0].update(rows=2.0)),
    ("file-damaged", lambda data: data["shards"].append({**data["shards"][0], "rows": 0})),
    ("file-damaged", lambda data: data["deleted"].update(file="deleted.safetensors")),
    ("file-damaged", lambda data: data["deleted"].update(rows=0)),
    ("file-damaged", lambda data: data["deleted"].update(rows=4)),
    ("file-damaged", lambda data: data["deleted"].update(count=None)),
    ("file-damaged", lambda data: data.update(deleted=[])),
]


@pytest.mark.parametrize(("code", "change"), DAMAGED)
def test_a_description_that_cannot_be_is_refused(folder, code, change):
    edit(folder, change)
    with refuses(code):
        read_config(folder)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.update(size=2**24 - 1),
        lambda data: data.update(words=0),
        lambda data: data["sources"].append({**data["sources"][0], "rows": 0}),
    ],
)
def test_a_description_that_can_be_is_read(folder, change):
    edit(folder, change)
    assert read_config(folder).rows == 3


def test_a_description_that_was_altered_or_has_no_checksum_is_refused(folder):
    for change in (lambda data: data.update(numbered=4), lambda data: data.pop("sha256")):
        edit(folder, change, seal=False)
        with refuses("file-damaged"):
            read_config(folder)


def test_a_missing_file_is_named(folder):
    gone = open_shards(folder)[0].shards[1].file
    (folder / gone).unlink()
    with refuses("file-damaged") as found:
        open_shards(folder)
    assert gone in str(found.value)
    (folder / "index.json").unlink()
    with refuses("index-missing"):
        read_config(folder)


# ---------------------------------------------------------------- shards


def replace_shard(folder: Path, change: Callable[[dict[str, np.ndarray]], Any]) -> None:
    """The first shard with other arrays, and a description that fits it."""
    config = read_config(folder)
    arrays = load((folder / config.shards[0].file).read_bytes())
    change(arrays)
    config.shards[0] = write_shard(folder, 0, save(arrays), config.shards[0].rows)
    write_config(folder, config)


@pytest.mark.parametrize(
    "change",
    [
        lambda arrays: arrays.update(vectors=arrays["vectors"][:1]),
        lambda arrays: arrays.update(vectors=arrays["vectors"][:, :2].copy()),
        lambda arrays: arrays.update(vectors=arrays["vectors"].astype(np.int8)),
        lambda arrays: arrays.update(scales=arrays["scales"][:1]),
        lambda arrays: arrays.update(scales=np.array([0.1, 1.01], np.float32)),
        lambda arrays: arrays.update(scales=np.array([-0.01, 0.1], np.float32)),
        lambda arrays: arrays.update(scales=np.array([np.nan, 0.1], np.float32)),
        lambda arrays: arrays.update(keys=arrays["keys"][:1]),
        lambda arrays: arrays.update(ends=arrays["ends"][::-1].copy()),
        lambda arrays: arrays.update(ends=arrays["ends"] - [100, 0]),
        lambda arrays: arrays.update(ends=arrays["ends"] - 1),
        lambda arrays: arrays.update(lines=arrays["lines"][None]),
        lambda arrays: arrays.update(lengths=arrays["lengths"][:1]),
        lambda arrays: arrays.update(posting_ends=arrays["posting_ends"] + 1),
        lambda arrays: arrays.pop("keys"),
        lambda arrays: arrays.pop("counts"),
    ],
)
def test_a_shard_whose_arrays_do_not_fit_is_refused(folder, change):
    replace_shard(folder, change)
    with refuses("file-damaged"):
        open_shards(folder)


@pytest.mark.parametrize("scale", [0.0, 1.0])
def test_the_scales_of_unit_vectors_are_from_0_to_1(folder, scale):
    replace_shard(folder, lambda arrays: arrays.update(scales=np.array([scale, 0.1], np.float32)))
    assert open_shards(folder)[1][0].scales[0] == scale


@pytest.mark.parametrize(
    "line", [b"{", b"\\xff", b"[]", b'{"row": 1, "columns": {}}', b'{"text": "a", "row": "1", "columns": {}}',
             b'{"text": "a", "row": 1, "columns": []}', b'{"text": 7, "row": 1, "columns": {}}'],
)  # fmt: skip
def test_a_text_that_is_damaged_is_named_where_it_is_read(line):
    shard = Shard(*quantise(np.eye(1)), np.frombuffer(line, np.uint8), np.array([len(line)]))
    with refuses("file-damaged"):
        shard.entry(0)


def write_header(folder: Path, header: bytes, content: bytes = b"\0" * 16, stated: int | None = None) -> None:
    config = read_config(folder)
    length = (len(header) if stated is None else stated).to_bytes(8, "little")
    whole = length + header + content
    config.shards[0] = write_shard(folder, 0, whole, config.shards[0].rows)
    write_config(folder, config)


@pytest.mark.parametrize(
    ("header", "stated", "code"),
    [(b"{}", None, "file-damaged"), (b"{}", 19, "file-damaged"), (b"[1]", None, "json"), (b"{", None, "json"),
     (b'{"vectors": 3}', None, "file-damaged"),
     (b'{"vectors": {"dtype": "U8", "shape": [2, 3], "data_offsets": [0, 99]}}', None, "file-damaged"),
     (b'{"vectors": {"dtype": "U8", "shape": [2, -3], "data_offsets": [0, -6]}}', None, "file-damaged"),
     (b'{"vectors": {"dtype": "I8", "shape": [2, 3], "data_offsets": [0, 6]}}', None, "file-damaged")],
)  # fmt: skip
def test_a_header_that_is_wrong_is_refused(folder, header, stated, code):
    write_header(folder, header, stated=stated)
    with refuses(code):
        open_shards(folder)


def test_a_shard_of_another_size_is_refused(folder):
    path = folder / read_config(folder).shards[0].file
    path.write_bytes(path.read_bytes() + b"\0")
    with refuses("file-damaged"):
        open_shards(folder)


def test_shards_are_cut_by_texts_and_by_characters(monkeypatch):
    monkeypatch.setattr(shards, "SHARD_CHARACTERS", 8)
    assert len(list(cut_shards((entry(text, 0) for text in ("aaa", "bbbb")), 3))) == 1
    assert [len(some) for some in cut_shards((entry("a" * 7, 0) for _ in "abcd"), 3)] == [2, 2]
    texts = ["a" * 7, "b", "c" * 7, "d"]
    assert [len(some) for some in cut_shards((entry(text, 0) for text in texts), 3)] == [2, 2]
    texts = ["aaa", "bbb", "cc", "dddddddd", "e", "f", "g"]
    found = cut_shards((entry(text, 0) for text in texts), 2)
    assert [[each["text"] for each in some] for some in found] == [
        ["aaa", "bbb"],
        ["cc", "dddddddd"],
        ["e", "f"],
        ["g"],
    ]
    found = cut_shards((entry(text, 0) for text in texts), 9)
    assert [[each["text"] for each in some] for some in found] == [
        ["aaa", "bbb", "cc"],
        ["dddddddd"],
        ["e", "f", "g"],
    ]


def test_a_full_shard_has_65536_texts_or_32_mb():
    def rows(size: int) -> int:
        return IndexConfig("reader", "", size, False, "int8").shard_rows

    assert [rows(size) for size in (1, 512, 1024, 2**25, 2**26)] == [65536, 65536, 32768, 1, 1]


# ---------------------------------------------------------------- the list of deleted texts


@pytest.mark.parametrize("count", [7, 8, 9])
def test_deleted_texts_are_those_that_were_deleted(tmp_path, count):
    dead = np.arange(count) % 3 == 1
    written = write_deleted(tmp_path, dead)
    assert (written.rows, written.count) == (count, int(dead.sum()))
    with (tmp_path / written.file).open("rb") as file:
        assert index_folder.read_deleted(file, written).tolist() == dead.tolist()


@pytest.mark.parametrize(
    ("bits", "rows", "count"), [([0b01000000, 0], 3, 1), ([0b01000000], 9, 1), ([0b01000000], 3, 2)]
)
def test_a_list_of_deleted_texts_that_is_of_others_is_refused(tmp_path, bits, rows, count):
    content = save({"deleted": np.array(bits, np.uint8)})
    path = tmp_path / "deleted-0123456789abcdef.safetensors"
    path.write_bytes(content)
    given = DeletedEntry(path.name, rows, count, len(content), hashlib.sha256(content).hexdigest())
    with path.open("rb") as file, refuses("file-damaged"):
        index_folder.read_deleted(file, given)


def test_texts_added_after_a_deletion_are_not_deleted(folder):
    config = read_config(folder)
    config.deleted = write_deleted(folder, np.array([True, False]))
    write_config(folder, config)
    assert [shard.living for shard in open_shards(folder)[1]] == [1, 1]


def test_only_files_of_an_index_that_it_does_not_name_are_strays(folder):
    config = read_config(folder)
    named = {"index.json", config.deleted.file, *(each.file for each in config.shards)}
    for name in ("mine.txt", "shard-1.safetensors", "shard-000009-0123456789abcdef.safetensors",
                 "deleted-0123456789abcdef.safetensors", "approximate.faiss"):  # fmt: skip
        (folder / name).touch()
    index_folder.remove_strays(folder, config)
    assert {path.name for path in folder.iterdir()} == named | {"mine.txt", "shard-1.safetensors"}


def test_a_shard_entry_names_its_file_by_its_content(tmp_path):
    digest = hashlib.sha256(b"abc").hexdigest()
    expected = ShardEntry(f"shard-000012-{digest[:16]}.safetensors", 5, 3, digest)
    assert write_shard(tmp_path, 12, b"abc", 5) == expected
    assert (tmp_path / expected.file).read_bytes() == b"abc"
