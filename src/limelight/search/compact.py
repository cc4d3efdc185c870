"""Shards made anew of shards: without the texts that are deleted, or fewer of them. Vectors stay as they are.

The new files are written first; then index.json names them instead, in one step. A process that has the old
ones open keeps them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from .index_folder import IndexConfig, open_shards, remove_strays, write_config
from .shards import Shard, ShardEntry, cut_shards, living_texts, pack_shard, write_shard
from .words import WordRules

MAX_DELETED = 0.25  # of the texts of an index, before adding to it drops them
MAX_ALIKE = 8  # neighbouring shards of a size, before adding joins them: each is a file to open and search


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
            config.shards = _rewrite(
                folder, config, rules, runs, lambda run: len(run) >= MAX_ALIKE, drop=False
            )
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
        for vectors, scales, some in _pieces(run, config.shard_rows, drop):
            content = pack_shard(vectors, scales, some, rules, config.key)
            new.append(write_shard(folder, len(new), content, len(some)))
    return new


def _pieces(
    run: Sequence[Shard], rows: int, drop: bool
) -> Iterator[tuple[np.ndarray, np.ndarray, list[dict[str, Any]]]]:
    kept = [range(len(shard)) if shard.alive is None or not drop else np.flatnonzero(shard.alive).tolist()
            for shard in run]  # fmt: skip
    at = [(shard, place) for shard, places in zip(run, kept, strict=True) for place in places]
    done = 0
    for some in cut_shards((shard.entry(place) for shard, place in at), rows):
        mine = at[done : done + len(some)]
        vectors = np.stack([shard.vectors[place] for shard, place in mine])
        yield vectors, np.array([shard.scales[place] for shard, place in mine], np.float32), some
        done += len(some)
