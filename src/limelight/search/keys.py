"""Keys: what names a row of an index, to update or delete it.

The user names a column whose values differ in all rows. Without one, a row's key is its number, counted from
1 over all tables of the index as they were added: in the first table, the row's own number.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import bad_value

if TYPE_CHECKING:
    from .index_folder import IndexConfig
    from .shards import Shard


def key_text(value: Any) -> str | None:
    """A key as it is compared; None for what cannot be one. The number 7 and the text 7 are the same key.

    >>> [key_text(value) for value in (7, 7.0, "7", "", None, ["7"])]
    ['7', '7', '7', None, None, None]
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    return str(value) or None


def hash_keys(keys: Iterable[str]) -> np.ndarray:
    """(keys,) uint64, to find keys without reading every row; two may share one.

    >>> hash_keys(["7"]).tolist() == hash_keys(["7"]).tolist() != hash_keys(["8"]).tolist()
    True
    """
    digests = (hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest() for key in keys)
    return np.frombuffer(b"".join(digests), "<u8").astype(np.uint64)


def find_rows(config: IndexConfig, shards: Sequence[Shard], keys: Iterable[Any]) -> dict[str, list[int]]:
    """The places of the texts of the rows that have these keys; keys that no row has are left out."""
    texts = [_checked(key) for key in keys]
    if config.key is not None:
        return _by_column(config.key, shards, texts)
    starts = [0, *accumulate(map(len, shards))]
    return {key: found for key in dict.fromkeys(texts) if (found := _by_number(config, shards, starts, key))}


def _checked(key: Any) -> str:
    text = key_text(key)
    if text is None:
        raise bad_value(f"a key is text or a number, not {str(key)[:40]!r}")
    return text


def _by_column(column: str, shards: Sequence[Shard], keys: Sequence[str]) -> dict[str, list[int]]:
    wanted, hashes = set(keys), np.unique(hash_keys(keys))
    found: dict[str, list[int]] = {}
    first = 0
    for shard in shards:
        assert shard.keys is not None
        likely = np.isin(shard.keys, hashes)
        for at in np.flatnonzero(likely if shard.alive is None else likely & shard.alive).tolist():
            key = key_text(shard.entry(at)["columns"].get(column))
            if key in wanted:
                found.setdefault(key, []).append(first + at)
        first += len(shard)
    return found


def _by_number(config: IndexConfig, shards: Sequence[Shard], starts: Sequence[int], key: str) -> list[int]:
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

    def row(place: int) -> int:
        shard = bisect_right(starts, place) - 1
        return int(shards[shard].entry(place - starts[shard])["row"])

    places = range(start, start + source.rows)
    wanted = int(key) - source.before
    found = places[bisect_left(places, wanted, key=row) : bisect_right(places, wanted, key=row)]
    return [place for place in found if _is_alive(shards, starts, place)]


def _is_alive(shards: Sequence[Shard], starts: Sequence[int], place: int) -> bool:
    number = bisect_right(starts, place) - 1
    alive = shards[number].alive
    return alive is None or bool(alive[place - starts[number]])
