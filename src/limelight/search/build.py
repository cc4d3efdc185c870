"""Building an index: shard by shard, so that a killed process loses at most the shard it was at."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np

from ..errors import LimelightError, warn
from ..runtime.folder import is_reader
from ..runtime.model import Model
from ..runtime.reader import Reader, load, load_exactly
from ..runtime.runner import progress_bar
from ..runtime.word_parts import unit
from ..storage.files import atomic_folder, check_replaceable, remove_leftovers, workshop
from ..storage.locks import locked
from .corpus import Corpus
from .index_folder import FILE, IndexConfig, layout, read_config, remove_strays, write_config
from .shards import cut_shards, damaged, pack_shard, quantise, write_shard


def new_config(
    model: str | Path, sentences: bool, precision: str, passages: bool = False
) -> tuple[IndexConfig, Model | Reader]:
    """The description of an index with nothing in it yet, and its model."""
    if sentences and passages:
        raise LimelightError("an index is of sentences or of passages, not both", code="option-conflict")
    where = str(model) if is_reader(model) else str(Path(model).resolve())
    loaded: Model | Reader = load(model, precision=precision)
    size = next(encode(loaded, ["text"])).shape[1]
    config = IndexConfig(where, loaded.sha256, size, sentences, precision, passages=passages, words=True)
    return config, loaded


def encode(model: Model | Reader, texts: Iterable[str]) -> Iterator[np.ndarray]:
    """Vectors of length 1, (some texts, size) at a time: a classifier's are M, flat."""
    if isinstance(model, Reader):
        return model.encode_stream(texts)
    return (unit(M.reshape(len(M), -1)) for M in model.embed_stream(texts))


def open_model(
    config: IndexConfig, model: str | Path | None = None, precision: str = "float32"
) -> Model | Reader:
    """The model that an index was made with, here or at another place."""
    where = config.model if model is None else model
    try:
        loaded = load_exactly(where, config.model_sha256, precision=precision)
    except LimelightError as error:
        if error.code != "model-differs":
            raise
        fault = f"the index was made with another model than {where}; give that one, or build it again"
        raise LimelightError(fault, code="model-differs") from None
    size = next(encode(loaded, ["text"])).shape[1]
    if size != config.size:
        fault = f"{FILE} is damaged: vectors of size {config.size:,}, but its model's have {size:,}"
        raise damaged(f"{fault}; build the index again")
    return loaded


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Keep other writers out, and remove what killed ones left."""
    lock = beside(folder, "lock")  # whatever links lead to the folder
    with locked(lock, f"{folder} is being written by another process"):
        remove_leftovers(folder)
        yield


def beside(folder: Path, ending: str) -> Path:
    """A hidden name beside a folder; if that is a link, beside what it points to."""
    found = Path(os.path.realpath(folder))
    return found.with_name(f".{found.name}.{ending}")


def add_corpus(folder: Path, corpus: Corpus, model: Model | Reader, progress: bool = False) -> int:
    """Add the texts of a corpus, from where an earlier attempt ended; return how many were added.

    Each shard is read, encoded and written by itself: what it holds does not depend on where a process was
    killed before.
    """
    config = read_config(folder)
    source = config.source(corpus.name, corpus.sha256, corpus.text)
    before = source.rows
    if source.finished:
        warn(f"{corpus.name} is already in the index, as {source.name}, with {before:,} texts; skipped it")
        return 0
    entries = islice(corpus.entries(config.unit), before, None)
    with progress_bar(None, initial=before, disable=not progress) as bar:
        for some in cut_shards(entries, config.shard_rows):
            parts = []
            for V in encode(model, [entry["text"] for entry in some]):
                parts.append(quantise(V))
                bar.update(len(V))
            vectors, scales = map(np.concatenate, zip(*parts, strict=True))
            content = pack_shard(vectors, scales, some, config.words)
            source.shards.append(write_shard(folder, len(config.shards), content, len(some)))
            config.approximate = None  # it lacks the new texts
            write_config(folder, config)
    source.finished = True
    write_config(folder, config)
    remove_strays(folder, config)
    if corpus.skipped:
        warn(f"{corpus.name}: skipped {corpus.skipped:,} rows, which cannot be used")
    return source.rows - before


# ---------------------------------------------------------------- a whole index


def build(
    folder: Path, corpora: Sequence[Corpus], config: IndexConfig, model: Model | Reader,
    overwrite: bool, progress: bool,
) -> None:  # fmt: skip
    """Make an index of some corpora. An old index stays in use until the new one, beside it, is complete."""
    _check_free(folder, overwrite)
    for corpus in corpora:
        corpus.check(config.unit)  # unusable rows are reported before the long work
    with writing(folder), ExitStack() as stack:
        _check_free(folder, overwrite)  # another process may have made one meanwhile
        replacing, place = (folder / FILE).is_file(), folder
        if replacing:
            place = stack.enter_context(workshop(beside(folder, "limelight-new")))
            _clear_unless_part_of(place, corpora, config)
        if not (place / FILE).exists():
            write_config(place, config, overwrite=False)
        for corpus in corpora:
            add_corpus(place, corpus, model, progress)
        if replacing:
            _put_in_place(place, folder)


def _check_free(folder: Path, overwrite: bool) -> None:
    remove_leftovers(folder)
    if (folder / FILE).is_file() and not overwrite:
        more = "add to it or finish it with --add (in Python: Index.open(...).add)"
        fault = f"{folder} already exists; {more}, or replace it with --overwrite"
        raise LimelightError(fault, code="exists")
    check_replaceable(folder, layout(folder), overwrite)


def _clear_unless_part_of(place: Path, corpora: Sequence[Corpus], config: IndexConfig) -> None:
    """Empty a place unless it holds the beginning of this very index, which another process was making."""
    remove_leftovers(place)
    given = [(corpus.sha256, corpus.text) for corpus in corpora]
    with suppress(LimelightError):
        found = read_config(place)
        if replace(found, sources=[]) == config and all((x.sha256, x.text) in given for x in found.sources):
            return
    shutil.rmtree(place, ignore_errors=True)


def _put_in_place(new: Path, folder: Path) -> None:
    """Replace an index by a finished new one, in one step."""
    with atomic_folder(folder, layout(folder), overwrite=True) as place:
        for path in sorted(new.iterdir(), key=lambda path: path.name != FILE):  # without it, the rest is void
            path.rename(place / path.name)
