"""The folder of an index: index.json says what is in it, and shards hold the vectors and the texts.

docs/search.md has the files, shards.py what is in most of them. A file's name has the start of its
SHA-256, and what is in it never changes. index.json is replaced in one step: whoever reads the folder sees
all of a change or none of it, however the process that writes ends.
"""

from __future__ import annotations

import hashlib
import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, get_origin, get_type_hints

import numpy as np

from .. import __version__
from ..errors import LimelightError, bad_value, damaged, tidy_os_errors
from ..storage.array_files import safetensors_pieces
from ..storage.files import FolderLayout, write_file
from ..storage.json_file import parse_object
from ..storage.open_files import open_regular, open_together, read_regular
from .shards import Shard, ShardEntry, hash_keys, key_text, living_texts, map_shard, map_tensors
from .words import LANGUAGES, RULES

FORMAT, FIRST = 5, 1  # that of 0.2 has no words, and shards of one corpus each
FILE = "index.json"
MAX_CONFIG = 2**26
SHARD_TEXTS, SHARD_BYTES = 2**16, 2**25  # of texts and vectors in a shard, at most
_SHARD_NAME = re.compile(r"shard-[0-9]{6,}-[0-9a-f]{16}\.safetensors")
_DELETED_NAME = re.compile(r"deleted-[0-9a-f]{16}\.safetensors")
_OLD_NAME = re.compile(r"approximate\.faiss")  # of 0.2
_Entry = TypeVar("_Entry")
_TRIES = 10  # a folder would have to be replaced so often while its files are being opened


@dataclass
class Source:
    """A corpus in the index. Its texts come after those of the corpora before it."""

    name: str
    sha256: str  # of its rows
    text: str | None  # its text column
    finished: bool = False
    rows: int = 0  # its texts that are in the shards
    before: int = 0  # the number of its first row in the index, less one

    def check_finished(self) -> None:
        """Raise if the rest of it is still to come."""
        if not self.finished:
            fault = f"{self.name} is in the index only in part; add it again, unchanged"
            raise LimelightError(fault, code="index-unfinished")


@dataclass
class IndexConfig:
    model: str  # a folder, or "reader"
    model_sha256: str  # of its config.json
    size: int  # of a vector
    sentences: bool  # whether the texts were split
    precision: str  # in which the texts were read
    sources: list[Source] = field(default_factory=list)
    passages: bool = False  # whether long texts were split
    words: int = 0  # the rules by which the words of the texts were found; 0 if they were not, in 0.2
    shards: list[ShardEntry] = field(default_factory=list)
    key: str | None = None  # the column that names a row
    numbered: int = 0  # the largest number that a row was given so far
    deleted: DeletedEntry | None = None
    language: str = "english"  # whose stems the words have

    @property
    def unit(self) -> str:
        """What an entry is, in the plural."""
        return "sentences" if self.sentences else "passages" if self.passages else "texts"

    @property
    def rows(self) -> int:
        return sum(shard.rows for shard in self.shards)

    @property
    def living(self) -> int:
        return self.rows - (self.deleted.count if self.deleted else 0)

    def check_current(self) -> None:
        """Raise at an index of 0.2: it is searched, and no longer changed."""
        if not self.words:
            fault = "the index is from an earlier version and can be searched by meaning only"
            raise LimelightError(f"{fault}; build it again to change it", code="index-without-words")

    def find_source(self, text: str | None, sha256: str) -> Source | None:
        """A corpus that is in the index, in part or as a whole, by its text column and its digest."""
        for source in reversed(self.sources):
            if (source.text, source.sha256) == (text, sha256):
                return source
            source.check_finished()
        return None

    def new_source(self, name: str, sha256: str, text: str | None) -> Source:
        self.sources.append(Source(name, sha256, text, before=self.numbered))
        return self.sources[-1]

    @property
    def shard_rows(self) -> int:
        return max(1, min(SHARD_TEXTS, SHARD_BYTES // self.size))


def write_config(folder: Path, config: IndexConfig, overwrite: bool = True) -> None:
    """Replace index.json in one step; without `overwrite`, it must be the first."""
    data = {"format": FORMAT, "limelight": __version__, **asdict(config)}
    write_file(folder / FILE, json.dumps({**data, "sha256": _checksum(data)}, indent=1), overwrite)


def remove_strays(folder: Path, config: IndexConfig) -> None:
    """Remove files that index.json does not name, or no longer."""
    entries = (*config.shards, config.deleted)
    named = {FILE, *(each.file for each in entries if each is not None)}
    for path in folder.glob("*"):
        if is_ours(path.name) and path.name not in named:
            with suppress(PermissionError):  # on Windows, while it is open: the next writer removes it
                path.unlink(missing_ok=True)


def is_ours(name: str) -> bool:
    """Whether a file of an index may have this name."""
    return name == FILE or any(each.fullmatch(name) for each in (_SHARD_NAME, _DELETED_NAME, _OLD_NAME))


def layout(folder: Path) -> FolderLayout:
    """What may be in the folder if it is to be replaced."""
    ours = [path.name for path in folder.glob("*") if is_ours(path.name)]
    return FolderLayout("an index", (FILE,), tuple(ours))


def read_config(folder: str | Path) -> IndexConfig:
    """Read index.json and check all of it."""
    try:
        return _parse_config(read_regular(Path(folder, FILE), MAX_CONFIG))
    except LimelightError as error:
        if isinstance(error.__cause__, FileNotFoundError | NotADirectoryError):
            fault = f"{folder} is not an index; make one with: limelight index"
            raise LimelightError(fault, code="index-missing") from None
        raise LimelightError(f"{folder}: {error}", code=error.code) from None


def open_shards(folder: str | Path) -> tuple[IndexConfig, list[Shard]]:
    """The index and its shards, mapped into memory. Only sizes are checked, not every byte."""
    for _ in range(_TRIES):
        config = read_config(folder)
        named = [each.file for each in (*config.shards, config.deleted) if each is not None]
        with ExitStack() as stack, tidy_os_errors(f"cannot read {folder}"):
            files = open_together(Path(folder), [FILE, *named], stack)
            missing = [name for name in named if name not in files]
            if not missing:
                try:
                    return config, _map_shards(config, files)
                except LimelightError as error:
                    raise LimelightError(f"{folder}: {error}", code=error.code) from None
        if read_config(folder) == config:  # otherwise another index has taken its place
            raise damaged(f"{folder}: {missing[0]} is missing; build the index again")
    fault = f"{folder} keeps being replaced by another process; try again later"
    raise LimelightError(fault, code="file-changed")


def _map_shards(config: IndexConfig, files: Mapping[str, BinaryIO]) -> list[Shard]:
    """The shards, which know what is deleted of them."""
    given = config.size, config.words > 0, config.key is not None
    shards = [map_shard(files[each.file], each, *given) for each in config.shards]
    if config.deleted is None:
        return shards
    dead = np.zeros(config.rows, bool)
    dead[: config.deleted.rows] = read_deleted(files[config.deleted.file], config.deleted)
    parts = np.split(dead, list(accumulate(map(len, shards)))[:-1])
    return [shard.without(part) for shard, part in zip(shards, parts, strict=True)]


def check_shards(folder: str | Path, config: IndexConfig) -> None:
    """Raise unless every byte of every shard is as it was written."""
    for shard in config.shards:
        with tidy_os_errors(f"cannot read {folder}"), open_regular(Path(folder, shard.file)) as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != shard.sha256:
                raise damaged(f"{folder}: {shard.file} was altered: its checksum does not match")


def _parse_config(content: bytes) -> IndexConfig:
    data = parse_object(content, FILE)
    version = data.pop("format", None)
    if type(version) is not int or version < 1 or "limelight" not in data:
        fault = f"{FILE} was not written by Limelight; make an index with: limelight index"
        raise LimelightError(fault, code="file-foreign")
    if version not in (FIRST, FORMAT):
        fault = f"the index has format {version}; this Limelight reads {FORMAT}: upgrade limelight, or"
        raise LimelightError(f"{fault} build the index again", code="format-newer")
    stated, program = data.pop("sha256", None), data.pop("limelight")
    if _checksum({"format": version, "limelight": program, **data}) != stated:
        raise damaged(f"{FILE} was altered: its checksum does not match; build the index again")
    try:
        if version == FIRST:  # of 0.2, where each corpus has its own shards
            data.pop("approximate", None)  # a file that searches need no longer
            data["shards"] = [shard for source in data["sources"] for shard in source["shards"]]
            for source in data["sources"]:
                source["rows"] = sum(shard["rows"] for shard in source.pop("shards"))
        found = data.pop("deleted", None)
        data["deleted"] = None if found is None else _typed(DeletedEntry(**found))
        data["shards"] = [_typed(ShardEntry(**each)) for each in data["shards"]]
        config = _typed(IndexConfig(**{**data, "sources": [_typed(Source(**x)) for x in data["sources"]]}))
        _check_entries(config)
    except (KeyError, TypeError, AttributeError) as error:
        raise damaged(f"{FILE} is damaged: wrong fields; build the index again") from error
    if not 0 < config.size < 2**24:
        raise damaged(f"{FILE} is damaged: vectors of size {str(config.size)[:20]}; build the index again")
    return config


def _check_entries(config: IndexConfig) -> None:
    """Raise a TypeError unless the names are those of our files, the numbers of texts add up and we know the
    rules of its words."""
    deleted = config.deleted
    named = all(_SHARD_NAME.fullmatch(each.file) for each in config.shards)
    rows = sum(source.rows for source in config.sources)
    counts = all(each.rows > 0 for each in config.shards) and all(each.rows >= 0 for each in config.sources)
    if deleted is not None:
        named = named and _DELETED_NAME.fullmatch(deleted.file) is not None
        counts = counts and 0 < deleted.rows <= rows
    known = config.words in (0, RULES) and config.language in LANGUAGES
    if not named or not counts or rows != config.rows or not known:
        raise TypeError


def _typed(entry: _Entry) -> _Entry:
    """The entry itself; a TypeError if a field does not have the type that its class says."""
    for name, kind in get_type_hints(type(entry)).items():
        value = getattr(entry, name)
        plain = list if get_origin(kind) is list else kind
        if not isinstance(value, plain) or (kind is int and isinstance(value, bool)):
            raise TypeError(name)
    return entry


def _checksum(data: Mapping[str, Any]) -> str:
    """Of everything in index.json but the checksum itself."""
    try:
        return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()
    except RecursionError:
        raise damaged(f"{FILE} is nested too deeply; build the index again") from None


@dataclass(frozen=True)
class DeletedEntry:
    """What index.json says of the file. Texts that were added later are not deleted."""

    file: str
    rows: int  # the texts that it has bits for
    count: int  # of them that are deleted
    bytes: int
    sha256: str


def write_deleted(folder: Path, dead: np.ndarray) -> DeletedEntry:
    """Write which texts are deleted, (texts,); no index.json names the file yet."""
    content = b"".join(safetensors_pieces({"deleted": np.packbits(dead)}))
    digest = hashlib.sha256(content).hexdigest()
    name = f"deleted-{digest[:16]}.safetensors"
    write_file(folder / name, content)
    return DeletedEntry(name, len(dead), int(dead.sum()), len(content), digest)


def read_deleted(file: BinaryIO, entry: DeletedEntry) -> np.ndarray:
    """Which texts are deleted, (entry.rows,). Every byte is checked: a search must never find one of them."""
    if hashlib.sha256(file.read()).hexdigest() != entry.sha256:
        raise damaged(f"{entry.file} was altered: its checksum does not match; build the index again")
    file.seek(0)
    _, arrays = map_tensors(file, entry.file, entry.bytes, {"deleted": np.uint8})
    bits = arrays["deleted"]
    if bits.shape != ((entry.rows + 7) // 8,):
        raise damaged(f"{entry.file} is damaged: it is not of {entry.rows:,} texts; build the index again")
    dead = np.unpackbits(bits)[: entry.rows].astype(bool)
    if int(dead.sum()) != entry.count:
        raise damaged(f"{entry.file} is damaged: not {entry.count:,} texts; build the index again")
    return dead


def find_rows(config: IndexConfig, shards: Sequence[Shard], keys: Iterable[Any]) -> dict[str, list[int]]:
    """The places of the texts of the rows that have these keys; keys that no row has are left out.

    Without a key column, a row's key is its number, counted from 1 over all tables of the index as they were
    added: in the first table, the row's own number.
    """
    texts: dict[str, None] = {}
    for key in keys:
        if (text := key_text(key)) is None:
            raise bad_value(f"a key is text or a number, not {str(key)[:40]!r}")
        texts[text] = None
    if config.key is None:
        found = {key: _by_number(config, shards, key) for key in texts}
    else:
        found = _by_column(config.key, shards, list(texts))
    alive = living_texts(shards)
    living = {key: [place for place in places if alive[place]] for key, places in found.items()}
    return {key: places for key, places in living.items() if places}


def _by_column(column: str, shards: Sequence[Shard], keys: Sequence[str]) -> dict[str, list[int]]:
    wanted, hashes, first = set(keys), np.unique(hash_keys(keys)), 0
    found: dict[str, list[int]] = {}
    for shard in shards:
        assert shard.keys is not None
        for at in np.flatnonzero(np.isin(shard.keys, hashes)).tolist():
            key = key_text(shard.entry(at)["columns"].get(column))
            if key in wanted:
                found.setdefault(key, []).append(first + at)
        first += len(shard)
    return found


def _by_number(config: IndexConfig, shards: Sequence[Shard], key: str) -> list[int]:
    """The places of one row, whose number says which table it is from; the rows of a table are in order."""
    if not key.isdecimal():
        fault = f"the index has no key column, so that rows are named by number, not by {key[:40]!r}"
        raise bad_value(f"{fault}; to name them otherwise build it with --key")
    if len(key) > 18 or not 1 <= int(key) <= config.numbered:
        return []
    number = bisect_left(config.sources, int(key), key=lambda source: source.before) - 1
    if number < 0:
        return []
    source, start = config.sources[number], sum(each.rows for each in config.sources[:number])
    starts = [0, *accumulate(map(len, shards))]

    def row(place: int) -> int:
        shard = bisect_right(starts, place) - 1
        return int(shards[shard].entry(place - starts[shard])["row"])

    places, wanted = range(start, start + source.rows), int(key) - source.before
    return list(places[bisect_left(places, wanted, key=row) : bisect_right(places, wanted, key=row)])
