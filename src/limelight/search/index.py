"""`Index`: texts to search, in a folder; and `Hit`, what a search finds."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any, overload

import numpy as np

from ..errors import LimelightError, check_at_least, warn
from ..reading.comparison import Comparison
from ..runtime.model import Model
from ..text.tokenizer import UNKNOWN
from .approximate import build_approximate, check_approximate, open_approximate
from .build import add_corpus, build, encode, new_config, open_model, writing
from .corpus import Corpus
from .exact import ExactSearch
from .index_folder import check_shards, open_shards, read_config, remove_strays, write_config
from .shards import damaged

VERIFIED_TEXTS = 8  # of each shard, read by the model again
MAX_DISTANCE = 0.2  # of a vector from itself in 8 bits: that of another model's is about 1.4


@dataclass(frozen=True, eq=False)
class Hit:
    """A text that a search found."""

    score: float  # the cosine of its vector with the query's
    text: str
    source: str  # the table it is from
    source_number: int  # two tables may have one name
    row: int  # in that table, from 1
    start: int | None  # where the sentence starts in the row's text, in an index of sentences
    columns: dict[str, Any]  # the row's other columns
    comparison: Comparison | None = None  # which words made the match

    def to_dict(self, pairs: int = 5) -> dict[str, Any]:
        """Plain values, ready for `json.dumps`, with the pairs of words that contribute most."""
        found = {name: getattr(self, name) for name in ("score", "text", "source", "row", "start", "columns")}
        if self.comparison:
            found["words"] = self.comparison.top_pairs(pairs)
        return found


class Index:
    """Texts and their vectors in a folder, searched by meaning. Memory holds what a search touches.

    >>> import tempfile
    >>> texts = ["The soup was cold. We left.", "A friendly host.", "The train was late."]
    >>> index = Index.create(f"{tempfile.mkdtemp()}/index", texts, sentences=True)
    >>> len(index)
    4
    >>> hit = index.search("chilly broth", k=1)[0]
    >>> hit.text, hit.row, hit.comparison.matrix.shape
    ('The soup was cold.', 1, (2, 5))
    >>> index.add(["The bus came late."])
    1
    >>> [hits[0].text for hits in index.search(["kind owner", "delayed bus"])]
    ['A friendly host.', 'The bus came late.']
    """

    def __init__(
        self, folder: str | Path, model: str | Path | None = None, threads: int | None = None
    ) -> None:
        self.folder, self._model = Path(folder), model
        self.config, self._shards = open_shards(self.folder)
        self.model = open_model(self.config, model)
        self._exact = ExactSearch(threads or self.model._runner.threads)
        self._prepare()

    def _reopen(self) -> None:
        """See the folder as it is now, which may be an index of another model."""
        self.config, self._shards = open_shards(self.folder)
        if self.model.sha256 != self.config.model_sha256:
            self.model = open_model(self.config, self._model)
        self._prepare()

    def _prepare(self) -> None:
        self._ends = list(accumulate(len(shard) for shard in self._shards))
        self._source_ends = list(accumulate(len(source.shards) for source in self.config.sources))
        self._approximate = open_approximate(self.folder, self.config, self._exact.threads)

    @classmethod
    def create(
        cls, folder: str | Path, corpus: str | Path | Iterable[str], *, model: str | Path = "reader",
        sentences: bool = False, text: str | None = None, precision: str = "int8", on_bad: str = "error",
        overwrite: bool = False, progress: bool = False,
    ) -> Index:  # fmt: skip
        """Make an index of a table, given by its path, or of a list of texts.

        With `sentences`, each sentence is an entry of its own. `precision` is that in which the texts are
        read; int8 is several times as fast.
        """
        given = Corpus(corpus, text, on_bad)
        build(Path(folder), [given], *new_config(model, sentences, precision), overwrite, progress)
        return cls(folder)

    @classmethod
    def open(
        cls, folder: str | Path, *, model: str | Path | None = None, threads: int | None = None
    ) -> Index:
        """Open an index; `model` says where its model is now, if it was moved."""
        return cls(folder, model, threads)

    def add(
        self, corpus: str | Path | Iterable[str], *, text: str | None = None, on_bad: str = "error",
        progress: bool = False,
    ) -> int:  # fmt: skip
        """Add a table or a list of texts, or the rest of one, and return how many texts were added."""
        given = Corpus(corpus, text, on_bad)
        with writing(self.folder):
            config = read_config(self.folder)  # another process may have replaced the one that is open here
            given.check(config.sentences)
            model = open_model(config, self._model, config.precision)
            added = add_corpus(self.folder, given, model, progress)
        self._reopen()
        return added

    def build_approximate(self) -> None:
        """Prepare approximate search, for millions of texts; adding texts undoes it. Needs faiss."""
        with writing(self.folder):
            config, shards = open_shards(self.folder)
            threads = self._exact.threads
            config.approximate = build_approximate(self.folder, shards, config.size, threads)
            write_config(self.folder, config)
            remove_strays(self.folder, config)
        self._reopen()

    def verify(self) -> None:
        """Raise unless every byte is as it was written, and a sample of the vectors as the model gives them.

        Opening an index checks sizes only.
        """
        config, shards = open_shards(self.folder)
        check_shards(self.folder, config)
        check_approximate(self.folder, config)
        model = open_model(config, self._model, config.precision)
        for number, shard in enumerate(shards):
            some = np.unique(np.linspace(0, len(shard) - 1, VERIFIED_TEXTS).astype(int))
            V = np.concatenate(list(encode(model, [shard.entry(at)["text"] for at in some.tolist()])))
            if np.linalg.norm(V - shard.floats(some), axis=1).max() > MAX_DISTANCE:
                fault = f"{config.shards[number].file} holds vectors that are not those of the index's model"
                raise damaged(f"{self.folder}: {fault}; build the index again")

    def __len__(self) -> int:
        return self.config.rows

    def __repr__(self) -> str:
        what = "sentences" if self.config.sentences else "texts"
        return f"Index({str(self.folder)!r}, {len(self):,} {what})"

    # ------------------------------------------------------------ search

    @overload
    def search(  # type: ignore[overload-overlap]
        self, query: str, k: int = 10, *, words: bool = True, per_row: bool = False, exact: bool = False
    ) -> list[Hit]: ...
    @overload
    def search(
        self, query: Sequence[str], k: int = 10, *, words: bool = True, per_row: bool = False,
        exact: bool = False,
    ) -> list[list[Hit]]: ...  # fmt: skip
    def search(
        self, query: str | Sequence[str], k: int = 10, *, words: bool = True, per_row: bool = False,
        exact: bool = False,
    ) -> list[Hit] | list[list[Hit]]:  # fmt: skip
        """The k most similar texts, best first; for a list of queries, a list of hits each.

        With `words`, each hit says which words made the match. With `per_row`, an index of sentences gives
        the best sentence of each row. With `exact`, an index prepared for approximate search is searched in
        full.
        """
        queries = [query] if isinstance(query, str) else list(query)
        check_at_least("k", k, 1)
        if not len(self):
            raise LimelightError(f"{self.folder} is empty; add texts to it", code="no-rows")
        for each in queries:
            self._check_query(each)
        Q = np.concatenate([np.empty((0, self.config.size), np.float32), *encode(self.model, queries)])
        found = self._per_row(Q, k, exact) if per_row else self._hits(Q, k, exact)
        if words:
            found = [self._with_words(each, hits) for each, hits in zip(queries, found, strict=True)]
        return found[0] if isinstance(query, str) else found

    def _hits(self, Q: np.ndarray, k: int, exact: bool) -> list[list[Hit]]:
        scores, places = (each.tolist() for each in self.search_vectors(Q, k, exact))
        pairs = [zip(*each, strict=True) for each in zip(scores, places, strict=True)]
        return [[self._hit(score, place) for score, place in each if place >= 0] for each in pairs]

    def _per_row(self, Q: np.ndarray, k: int, exact: bool) -> list[list[Hit]]:
        """The best hit of each of k rows: more hits are looked at until they are of enough rows."""
        count = 4 * k
        while True:
            found = [_best_of_rows(hits)[:k] for hits in self._hits(Q, count, exact)]
            if count >= len(self) or all(len(hits) == k for hits in found):
                return found
            count *= 4

    def search_vectors(self, Q: np.ndarray, k: int, exact: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Scores and places, (queries, k) each, for vectors of length 1 (queries, size)."""
        k = min(k, len(self))
        if not len(Q):
            return np.empty((0, k), np.float32), np.empty((0, k), np.int64)
        for shard in self._shards:
            shard.check()
        fast = self._approximate
        search = fast if fast is not None and fast.finds(k) and not exact else self._exact
        scores, places = search.search(self._shards, Q, k)
        return np.clip(scores, -1, 1), places  # rounded vectors may be a little longer than 1

    def _hit(self, score: float, place: int) -> Hit:
        shard = bisect.bisect_right(self._ends, place)
        entry = self._shards[shard].entry(place - (self._ends[shard - 1] if shard else 0))
        number = bisect.bisect_right(self._source_ends, shard)
        return Hit(
            score, entry["text"], self.config.sources[number].name, number, entry["row"], entry.get("start"),
            entry["columns"],
        )  # fmt: skip

    def _with_words(self, query: str, hits: list[Hit]) -> list[Hit]:
        texts = [hit.text for hit in hits]
        comparisons = self.model.compare_many([query] * len(texts), texts, by_rows=False)
        return [replace(hit, comparison=each) for hit, each in zip(hits, comparisons, strict=True)]

    def _check_query(self, query: str) -> None:
        """Raise at a query without words, or without any that the model knows."""
        ids, offsets = self.model.tokenizer.locate(query)
        fault, which = "", f"the query {query[:40]!r}"
        if not len(offsets) or offsets[-1, 1] == 0:
            fault = f"{which} has no words; give at least one"
        elif (ids == UNKNOWN).all() and isinstance(self.model, Model):
            fault = f"the model knows none of the words of {which}; use others"
        elif (ids == UNKNOWN).all():
            warn(f"the reader knows none of the words of {which}: it goes by their spelling")
        if fault:
            raise LimelightError(fault, code="text-without-words")


def _best_of_rows(hits: list[Hit]) -> list[Hit]:
    """The first hit of each row."""
    found: dict[tuple[int, int], Hit] = {}
    for hit in hits:
        found.setdefault((hit.source_number, hit.row), hit)
    return list(found.values())
