"""Building an index: shard by shard, so that a killed process loses at most the shard it was at.

Shards are made anew without the texts that are deleted, or fewer of them: vectors stay as they are. The new
files are written first; then index.json names them instead, in one step. A process that has the old ones open
keeps them.
"""

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from itertools import chain, compress, groupby, islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import LimelightError, bad_value, conflict, damaged, name_taken, warn
from ..network.outputs import unit
from ..runtime.folder import is_reader
from ..runtime.model import Model
from ..runtime.reader import Reader, load, load_exactly
from ..runtime.runner import progress_bar
from ..storage.files import atomic_folder, check_replaceable, remove_leftovers, workshop
from ..storage.locks import locked
from .corpus import Corpus
from .index_folder import (
    FILE,
    IndexConfig,
    Source,
    find_rows,
    layout,
    open_shards,
    read_config,
    remove_strays,
    write_config,
    write_deleted,
)  # fmt: skip
from .shards import Shard, ShardEntry, cut_shards, living_texts, pack_shard, quantise, write_shard
from .words import LANGUAGES, RULES, WordRules

AnyModel = Model | Reader
MAX_DELETED = 0.25  # of the texts of an index, before adding to it drops them
MAX_ALIKE = 8  # neighbouring shards of a size, before adding joins them: each is a file to open and search


def new_config(
    model: str | Path, sentences: bool, precision: str, passages: bool = False, key: str | None = None,
    language: str = "english",
) -> tuple[IndexConfig, AnyModel]:  # fmt: skip
    """The description of an index with nothing in it yet, and its model."""
    if sentences and passages:
        raise conflict("an index is of sentences or of passages, not both")
    if language not in LANGUAGES:
        raise bad_value(f"cannot take the stems of {language!r}; use {', '.join(LANGUAGES)}")
    loaded: AnyModel = load(model, precision=precision)
    where = str(model) if is_reader(model) else str(Path(model).resolve())
    size = next(encode(loaded, ["text"])).shape[1]
    config = IndexConfig(where, loaded.sha256, size, sentences, precision, passages=passages, words=RULES)
    config.key, config.language = key, language
    return config, loaded


def encode(model: AnyModel, texts: Iterable[str]) -> Iterator[np.ndarray]:
    """Vectors of length 1, (some texts, size) at a time: a classifier's are M, flat."""
    if isinstance(model, Reader):
        return model.encode_stream(texts)
    return (unit(M.reshape(len(M), -1)) for M in model.embed_stream(texts))


def open_model(config: IndexConfig, model: str | Path | None = None, precision: str = "float32") -> AnyModel:
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
    with locked(beside(folder, "lock"), f"{folder} is being written by another process"):
        remove_leftovers(folder)
        yield


def beside(folder: Path, ending: str) -> Path:
    """A hidden name beside a folder; if that is a link, beside what it points to."""
    found = Path(os.path.realpath(folder))
    return found.with_name(f".{found.name}.{ending}")


def add_corpus(
    folder: Path, corpus: Corpus, model: AnyModel, progress: bool = False, update: bool = False
) -> int:
    """Add the texts of a corpus, from where an earlier attempt ended; return how many were added.

    Each shard is read, encoded and written by itself: what it holds does not depend on where a process was
    killed before. With `update`, the rows that had the keys of its rows are deleted in the same step.
    """
    config, shards = open_shards(folder)
    source = _open_source(config, shards, corpus)
    if source is None:
        return 0
    before, first = source.rows, config.rows - source.rows
    if not update:
        _check_new(config, shards, corpus, first)
    entries = islice(corpus.entries(config.unit), before, None)
    rules = WordRules(config.language, model.tokenizer)
    dead = ~living_texts(shards)
    with progress_bar(None, initial=before, disable=not progress) as bar:
        for some, following in pairwise(chain(cut_shards(entries, config.shard_rows), [[]])):
            source.finished = not following  # a corpus of one shard is added in one step
            parts = []
            for V in encode(model, [entry["text"] for entry in some]):
                parts.append(quantise(V))
                bar.update(len(V))
            vectors, scales = map(np.concatenate, zip(*parts, strict=True))
            content = pack_shard(vectors, scales, some, rules, config.key)
            config.shards.append(write_shard(folder, len(config.shards), content, len(some)))
            source.rows, config.numbered = source.rows + len(some), source.before + some[-1]["row"]
            if update:
                keys = dict.fromkeys(entry["columns"][config.key] for entry in some)
                found = find_rows(config, shards, keys)
                places = [each for each in chain.from_iterable(found.values()) if each < first]
                _note_deleted(folder, config, dead, places)
            write_config(folder, config)
    if not source.finished:  # an earlier attempt ended just before it
        source.finished = True
        write_config(folder, config)
    remove_strays(folder, config)
    if corpus.skipped:
        warn(f"{corpus.name}: skipped {corpus.skipped:,} rows, which cannot be used")
    return source.rows - before


def _open_source(config: IndexConfig, shards: Sequence[Shard], corpus: Corpus) -> Source | None:
    """The corpus in the index, new or begun; None and a warning if all of it is there.

    If texts of it were deleted, it counts as new: with keys, if any were, and without keys, if all were.
    """
    found = config.find_source(corpus.text, corpus.sha256)
    if found is None:
        return config.new_source(corpus.name, corpus.sha256, corpus.text)
    if not found.finished:
        return found
    number = next(k for k, each in enumerate(config.sources) if each is found)
    first = sum(each.rows for each in config.sources[:number])
    living = int(living_texts(shards)[first : first + found.rows].sum())
    if living < (1 if config.key is None else found.rows):
        return config.new_source(corpus.name, corpus.sha256, corpus.text)
    what = f"{corpus.name} is already in the index, as {found.name}, with {living:,} texts"
    warn(f"{what}; skipped it")
    return None


def _check_new(config: IndexConfig, shards: Sequence[Shard], corpus: Corpus, first: int) -> None:
    """Raise if a row before the `first` text of a corpus has the key of one of its rows."""
    found = find_rows(config, shards, corpus.keys)
    taken = [key for key, places in found.items() if places[0] < first]
    if taken:
        many = f" and {len(taken) - 1:,} more" if len(taken) > 1 else ""
        fault = f"{corpus.name}: the index already has {config.key} {taken[0][:40]!r}{many}"
        todo = "replace such rows with --update (in Python: Index.update)"
        raise LimelightError(f"{fault}; {todo}", code="key-exists")


def _note_deleted(folder: Path, config: IndexConfig, dead: np.ndarray, places: list[int]) -> None:
    """Note in the description that these texts are deleted too, beside those that are `dead` (texts,)."""
    if places:
        dead[places] = True
        config.deleted = write_deleted(folder, dead)


def delete_rows(folder: Path, keys: Iterable[Any]) -> int:
    config, shards = open_shards(folder)
    found = find_rows(config, shards, keys)
    if found:
        _note_deleted(folder, config, ~living_texts(shards), list(chain.from_iterable(found.values())))
        write_config(folder, config)
    remove_strays(folder, config)
    return len(found)


def build(
    folder: Path, corpora: Sequence[Corpus], config: IndexConfig, model: AnyModel,
    overwrite: bool, progress: bool,
) -> None:  # fmt: skip
    """Make an index of some corpora. An old index stays in use until the new one, beside it, is complete."""
    _check_free(folder, overwrite)
    with ExitStack() as stack:
        for corpus in corpora:
            corpus.key = config.key
            stack.callback(corpus.close)
            corpus.check(config.unit, folder)  # unusable rows are reported before the long work
        seen: dict[str, Corpus] = {}
        for each, key in ((one, key) for one in corpora for key in one.keys):
            if seen.setdefault(key, each) is not each:
                fault = f"{each.name}: the {each.key} {key[:40]!r} is in {seen[key].name} too"
                raise LimelightError(f"{fault}; each row needs its own", code="key-exists")
        stack.enter_context(writing(folder))
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
        raise name_taken(f"{folder} already exists; {more}, or replace it with --overwrite")
    check_replaceable(folder, layout(folder), overwrite)


def _clear_unless_part_of(place: Path, corpora: Sequence[Corpus], config: IndexConfig) -> None:
    """Empty a place unless it holds the beginning of this very index, which another process was making."""
    remove_leftovers(place)
    given = [(corpus.sha256, corpus.text) for corpus in corpora]
    with suppress(LimelightError):
        found = read_config(place)
        same = replace(found, sources=[], shards=[], numbered=0) == config
        if same and all((x.sha256, x.text) in given for x in found.sources):
            return
    shutil.rmtree(place, ignore_errors=True)


def _put_in_place(new: Path, folder: Path) -> None:
    """Replace an index by a finished new one, in one step."""
    with atomic_folder(folder, layout(folder), overwrite=True) as place:
        for path in sorted(new.iterdir(), key=lambda path: path.name != FILE):  # without it, the rest is void
            path.rename(place / path.name)


def tidy(folder: Path, rules: WordRules) -> None:
    """Drop deleted texts if they are many, and join small shards if they are many."""
    config, shards = open_shards(folder)
    if config.deleted is not None and config.deleted.count > MAX_DELETED * config.rows:
        compact(folder, rules)
        return
    size = MAX_ALIKE
    while size <= config.shard_rows // 2:
        runs = _runs(shards, lambda shard, size=size: len(shard) < size)  # type: ignore[misc]
        if any(len(run) >= MAX_ALIKE for run in runs):
            config.shards = _rewrite(folder, config, rules, runs, lambda run: len(run) >= MAX_ALIKE, False)
            write_config(folder, config)
            remove_strays(folder, config)
            config, shards = open_shards(folder)
        size *= MAX_ALIKE


def compact(folder: Path, rules: WordRules) -> None:
    """Drop deleted texts, and join shards that are less than half full; `rules` are those of its words."""
    config, shards = open_shards(folder)
    for source in config.sources:
        source.check_finished()  # how much of it was read is told by its texts
    alive = living_texts(shards)

    def is_worn(shard: Shard) -> bool:
        return shard.alive is not None or len(shard) < config.shard_rows // 2

    def is_chosen(run: list[Shard]) -> bool:
        return is_worn(run[0]) and (len(run) > 1 or run[0].alive is not None)

    config.shards = _rewrite(folder, config, rules, _runs(shards, is_worn), is_chosen)
    end = 0
    for source in config.sources:
        end += source.rows
        part = alive[end - source.rows : end]
        if config.key is not None and not part.all():
            source.sha256 = ""  # it can be added again: what is left of it is told by the keys
        source.rows = int(part.sum())
    config.sources = [source for source in config.sources if source.rows]
    config.deleted = None
    write_config(folder, config)
    remove_strays(folder, config)


def _runs(shards: Sequence[Shard], joins: Callable[[Shard], bool]) -> list[list[Shard]]:
    """Neighbouring shards that may be joined, and the others alone."""
    numbered = enumerate(shards, 1)
    runs = groupby(numbered, key=lambda pair: 0 if joins(pair[1]) else pair[0])
    return [[shard for _, shard in run] for _, run in runs]


def _rewrite(
    folder: Path, config: IndexConfig, rules: WordRules, runs: Sequence[list[Shard]],
    chosen: Callable[[list[Shard]], bool], drop: bool = True,
) -> list[ShardEntry]:  # fmt: skip
    """The entries of all shards, after those of the chosen runs are written anew."""
    old, new = iter(config.shards), list[ShardEntry]()
    for run in runs:
        entries = [next(old) for _ in run]
        if not chosen(run):
            new += entries
            continue
        every = [(shard, place) for shard in run for place in range(len(shard))]
        kept = list(compress(every, living_texts(run))) if drop else every
        for some in cut_shards((shard.entry(place) for shard, place in kept), config.shard_rows):
            mine, kept = kept[: len(some)], kept[len(some) :]
            vectors = np.stack([shard.vectors[place] for shard, place in mine])
            scales = np.array([shard.scales[place] for shard, place in mine], np.float32)
            content = pack_shard(vectors, scales, some, rules, config.key)
            new.append(write_shard(folder, len(new), content, len(some)))
    return new
