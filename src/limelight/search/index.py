"""`Index`: texts to search, in a folder."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from itertools import accumulate, chain, islice
from numbers import Integral
from pathlib import Path
from typing import Any, overload

import numpy as np

from ..errors import LimelightError, bad_value, damaged, no_rows, warn
from ..runtime.batches import check_texts
from ..runtime.model import Model
from ..text.tokenizer import UNKNOWN
from .build import add_corpus, build, compact, delete_rows, encode, new_config, open_model, tidy, writing
from .corpus import Corpus, Row
from .filters import Filters, make_conditions, shown
from .hit_words import Hit, find_words
from .index_folder import check_shards, open_shards, read_config
from .nearest import ExactSearch, Scored
from .ranking import SCORERS, Ranked, Ranking
from .words import WordRules

VERIFIED_TEXTS = 8  # of each shard, read by the model again
MAX_DISTANCE = 0.2  # of a vector from itself in 8 bits: that of another model's is about 1.4
Where = Mapping[str, Any] | Sequence[str]  # columns and what they must be, or as typed: ["stars>=4"]


class Index:
    """Texts in a folder, searched by meaning and by words. Memory holds what a search touches.

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
        self._ranking, self._filters = Ranking([], self._exact), Filters()
        self._prepare()

    def _reopen(self) -> None:
        """See the folder as it is now, which may be an index of another model."""
        self.config, self._shards = open_shards(self.folder)
        if self.model.sha256 != self.config.model_sha256:
            self.model = open_model(self.config, self._model)
        self._prepare()

    def _prepare(self) -> None:
        self._ends = list(accumulate(len(shard) for shard in self._shards))
        self._source_ends = list(accumulate(source.rows for source in self.config.sources))
        self.word_rules = WordRules(self.config.language, self.model.tokenizer)
        self._ranking = Ranking(self._shards, self._exact, self._ranking.signs(), self.word_rules)

    @classmethod
    def create(
        cls, folder: str | Path, corpus: str | Path | Iterable[Row], *, model: str | Path = "reader",
        sentences: bool = False, passages: bool = False, text: str | None = None, key: str | None = None,
        language: str = "english", precision: str = "int8", on_bad: str = "error", overwrite: bool = False,
        progress: bool = False,
    ) -> Index:  # fmt: skip
        """Make an index of a table, given by its path, or of a list of texts or of rows: {"text": ..., ...}.

        With `sentences`, each sentence is an entry of its own; with `passages`, each passage of about 100
        words of a long text. `key` is the column that names a row, to update and delete it by; no two rows
        may have the same. `language` is that of the texts, whose word forms are found as one, or "none".
        `precision` is that in which the texts are read; int8 takes half to three quarters of the time.
        """
        given = Corpus(corpus, text, on_bad)
        config = new_config(model, sentences, precision, passages, key, language)
        build(Path(folder), [given], *config, overwrite, progress)
        return cls(folder)

    @classmethod
    def open(
        cls, folder: str | Path, *, model: str | Path | None = None, threads: int | None = None
    ) -> Index:
        """Open an index; `model` says where its model is now, if it was moved."""
        return cls(folder, model, threads)

    def add(
        self, corpus: str | Path | Iterable[Row], *, text: str | None = None, on_bad: str = "error",
        progress: bool = False,
    ) -> int:  # fmt: skip
        """Add a table, or a list of texts or rows, or the rest of one; return how many texts were added.

        In an index with a key column, a row whose key is there already is an error: see `update`.
        """
        return self._add(corpus, text, on_bad, progress, update=False)

    def update(
        self, corpus: str | Path | Iterable[Row], *, text: str | None = None, on_bad: str = "error",
        progress: bool = False,
    ) -> int:  # fmt: skip
        """Add rows, which take the place of those with the same keys; return how many texts were added.

        >>> import tempfile
        >>> rows = [{"id": 7, "text": "Cold soup."}, {"id": 8, "text": "A late train."}]
        >>> index = Index.create(f"{tempfile.mkdtemp()}/index", rows, key="id")
        >>> index.update([{"id": 7, "text": "Hot soup."}, {"id": 9, "text": "Warm beer."}])
        2
        >>> [(hit.key, hit.text) for hit in index.search("soup", k=1)], len(index)
        ([(7, 'Hot soup.')], 3)
        """
        return self._add(corpus, text, on_bad, progress, update=True)

    def _add(
        self, corpus: str | Path | Iterable[Row], text: str | None, on_bad: str, progress: bool, update: bool
    ) -> int:
        last = self.config.sources[-1].text if self.config.sources else None  # or a column of this name
        with writing(self.folder), closing(Corpus(corpus, text, on_bad, last)) as given:
            config = read_config(self.folder)  # another process may have replaced the one that is open here
            config.check_current()
            given.key = config.key
            if update and config.key is None:
                fault = "the index has no key column to update by; build it with --key"
                raise LimelightError(f"{fault}, or delete by number and add", code="index-without-keys")
            given.check(config.unit, self.folder)
            model = open_model(config, self._model, config.precision)
            added = add_corpus(self.folder, given, model, progress, update)
            tidy(self.folder, WordRules(config.language, model.tokenizer))
        self._reopen()
        return added

    def delete(self, keys: Iterable[Any]) -> int:
        """Delete the rows that have these keys, with all their sentences; return how many rows there were.

        A key is the value of the key column, or else the number of a row: `Hit.key` is either. No search
        finds a deleted row any more, and scores are those of an index that never had it. Its bytes stay in
        the folder until `compact`, which adding to the index calls when a quarter of its texts is deleted.

        >>> import tempfile
        >>> index = Index.create(f"{tempfile.mkdtemp()}/index", ["Cold soup.", "Hot soup.", "A late train."])
        >>> index.delete([hit.key for hit in index.search("cold soup", k=1)])
        1
        >>> [hit.text for hit in index.search("cold soup", by="words")]
        ['Hot soup.']
        """
        self.config.check_current()
        with writing(self.folder):
            deleted = delete_rows(self.folder, [keys] if isinstance(keys, str | int | float) else keys)
        self._reopen()
        return deleted

    def compact(self) -> None:
        """Write the shards anew without deleted texts, and join small ones. Nothing is read by the model."""
        with writing(self.folder):
            self._reopen()  # another process may have replaced the one that is open here
            self.config.check_current()
            compact(self.folder, WordRules(self.config.language, self.model.tokenizer))
        self._reopen()

    def verify(self) -> None:
        """Raise unless every byte is as it was written, and a sample of the vectors as the model gives them.

        Opening an index checks sizes only.
        """
        config, shards = open_shards(self.folder)
        check_shards(self.folder, config)
        model = open_model(config, self._model, config.precision)
        for number, shard in enumerate(shards):
            some = np.unique(np.linspace(0, len(shard) - 1, VERIFIED_TEXTS).astype(int))
            V = np.concatenate(list(encode(model, [shard.entry(at)["text"] for at in some.tolist()])))
            if np.linalg.norm(V - shard.floats(some), axis=1).max() > MAX_DISTANCE:
                fault = f"{config.shards[number].file} holds vectors that are not those of the index's model"
                raise damaged(f"{self.folder}: {fault}; build the index again")

    def __len__(self) -> int:
        return self.config.living

    def __repr__(self) -> str:
        return f"Index({str(self.folder)!r}, {len(self):,} {self.config.unit})"

    # ------------------------------------------------------------ search

    @overload
    def search(  # type: ignore[overload-overlap]
        self, query: str, k: int = 10, *, by: str | None = None, where: Where | None = None,
        words: bool = True, per_row: bool | None = None, approximate: bool = False,
    ) -> list[Hit]: ...  # fmt: skip
    @overload
    def search(
        self, query: Sequence[str], k: int = 10, *, by: str | None = None, where: Where | None = None,
        words: bool = True, per_row: bool | None = None, approximate: bool = False,
    ) -> list[list[Hit]]: ...  # fmt: skip
    def search(
        self, query: str | Sequence[str], k: int = 10, *, by: str | None = None, where: Where | None = None,
        words: bool = True, per_row: bool | None = None, approximate: bool = False,
    ) -> list[Hit] | list[list[Hit]]:  # fmt: skip
        """The best k texts, best first; for a list of queries, a list of hits each.

        `by` is "meaning", "words" or "both"; "both" is the default if the index has words.
        `where` names columns and what they must be: {"city": "Ghent", "stars": (">=", 4)}. With `words`, each
        hit by meaning says which pairs of words made the match, unless its text or the query has more than
        4,096 words. With `per_row`, the default in an index of passages, only the best entry of each row is a
        hit. With `approximate`, an index of 10,000 texts or more is searched by one bit a number first:
        nearly all of the nearest, several times as fast for a query alone; many queries at once are as fast
        without.
        """
        queries = [query] if isinstance(query, str) else list(check_texts(query))
        _check_count(k)
        by = self._checked_way(by)
        self._check_not_empty()
        for each in queries:
            self._check_query(each, by)
        none = np.empty((0, self.config.size), np.float32)
        Q = none if by == "words" else np.concatenate([none, *encode(self.model, queries)])
        per_row = self.config.passages if per_row is None else per_row
        search = self._per_row if per_row else self._hits
        found = search(queries, Q, k, by=by, approximate=approximate, allowed=self._allowed(where))
        if words and by != "words":
            explained = chain.from_iterable(find_words(self.model, queries, found))
            found = [list(islice(explained, len(hits))) for hits in found]
        return found[0] if isinstance(query, str) else found

    def _check_not_empty(self) -> None:
        if not len(self):
            todo = "add texts to it, or finish it if it was interrupted, with limelight index --add"
            raise no_rows(f"{self.folder} is empty; {todo}")

    def _checked_way(self, by: str | None) -> str:
        if by is None:
            return "both" if self.config.words else "meaning"
        if by not in SCORERS:
            raise bad_value(f"cannot search by {by!r}; use {', '.join(SCORERS)}")
        if by != "meaning" and not self.config.words:
            fault = f"{self.folder} is from an earlier version and can be searched by meaning only"
            raise LimelightError(f"{fault}; build it again to search by words", code="index-without-words")
        return by

    def _allowed(self, where: Where | None) -> np.ndarray | None:
        """Which texts a filter lets through; None for all."""
        conditions = [] if where is None else make_conditions(where)
        return self._filters.allowed(self._shards, conditions) if conditions else None

    def _hits(self, queries: Sequence[str], Q: np.ndarray, k: int, **how: Any) -> list[list[Hit]]:
        return [[self._hit(each) for each in found] for found in self._ranking.rank(queries, Q, k, **how)]

    def _per_row(
        self, queries: Sequence[str], Q: np.ndarray, k: int, *, by: str, allowed: np.ndarray | None,
        approximate: bool,
    ) -> list[list[Hit]]:  # fmt: skip
        """The best hit of each of k rows: a query looks at more hits until they are of enough rows."""
        found: list[list[Hit]] = [[] for _ in queries]
        limit = len(self) if allowed is None else int(allowed.sum())
        todo, count = list(range(len(queries))), 4 * k
        while todo:
            some, vectors = [queries[at] for at in todo], Q[todo] if len(Q) else Q
            hits = self._hits(some, vectors, count, by=by, allowed=allowed, approximate=approximate)
            for at, each in zip(todo, hits, strict=True):
                found[at] = _best_of_rows(each)[:k]
            more = (at for at, each in zip(todo, hits, strict=True) if by != "words" or len(each) == count)
            todo = [at for at in more if len(found[at]) < k and count < limit]
            count *= 4
        return found

    def search_vectors(self, Q: np.ndarray, k: int, approximate: bool = False) -> Scored:
        """Scores and places by meaning, (queries, k) each, for vectors of length 1 (queries, size)."""
        _check_count(k)
        self._check_not_empty()
        for shard in self._shards:
            shard.check()
        return self._ranking.by_vectors(Q, min(k, len(self)), approximate)

    def _hit(self, ranked: Ranked) -> Hit:
        shard = bisect.bisect_right(self._ends, ranked.place)
        entry = self._shards[shard].entry(ranked.place - (self._ends[shard - 1] if shard else 0))
        number = bisect.bisect_right(self._source_ends, ranked.place)
        source, key = self.config.sources[number], self.config.key
        return Hit(
            ranked.score, entry["text"], source.name, number, entry["row"], entry.get("start"),
            entry["columns"], cosine=ranked.cosine, meaning_weight=ranked.meaning_weight,
            matches=ranked.matches,
            key=source.before + entry["row"] if key is None else entry["columns"].get(key),
        )  # fmt: skip

    def _check_query(self, query: str, by: str) -> None:
        """Raise at a query without words, or without any that the model knows."""
        ids, offsets = self.model.tokenizer.locate(query)
        which, is_empty = f"the query {query[:40]!r}", not len(offsets) or offsets[-1, 1] == 0
        if is_empty or (by == "words" and not self.word_rules.forms(query)):
            raise LimelightError(f"{which} has no words; give at least one", code="text-without-words")
        if (ids != UNKNOWN).any() or by == "words":
            return
        if isinstance(self.model, Model):
            fault = f"the model knows none of the words of {which}; use others"
            raise LimelightError(fault, code="text-without-words")
        warn(f"the reader knows none of the words of {which}: it goes by their spelling")


def _check_count(k: Any) -> None:
    if not isinstance(k, Integral) or isinstance(k, bool) or k < 1:
        raise bad_value(f"k is {shown(k)}; it must be a whole number of at least 1")


def _best_of_rows(hits: list[Hit]) -> list[Hit]:
    found: dict[tuple[int, int], Hit] = {}
    for hit in hits:
        found.setdefault((hit.source_number, hit.row), hit)
    return list(found.values())
