"""An index behind HTTP: search in it and, if the server was started so, change it."""

import copy
import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.routing import Route

from ...errors import LimelightError
from ...search.hit_words import Hit, find_words
from ...search.index import Index
from ...search.index_folder import FILE
from ..http.bodies import Body, Item, check_words, texts_of
from ..http.fields import FLAG, TEXTS, Fields, list_of, whole
from ..http.limits import RequestError, check_count
from ..http.metrics import Metrics, labelled
from ..http.posts import Posts, Workers

MAX_HITS = 1000  # of all queries of a request
MAX_HIT_WORDS = 2**15  # of their texts, which are read again for the words that made them hits
MAX_ENTRIES = 2**20  # of a list in a body, before it is looked at
WHERE = 'an object such as {"stars": [">=", 4]} or a list such as ["stars>=4"]'
FAULTS = {  # of a filter, a query or a row; or they conflict with what the index is now
    **dict.fromkeys(("option-value", "column-missing", "text-without-words", "row-unusable", "no-rows"), 422),
    **dict.fromkeys(("busy", "key-exists", "index-without-keys"), 409),
}
ROWS = list_of({"type": ["string", "object"]}, 'texts, or of objects such as {"text": "..."}', MAX_ENTRIES)
FIELDS = {
    "/search": Fields(
        {"query": TEXTS},
        {
            "k": whole(1, MAX_HITS), "by": {"type": "string", "description": "meaning, words or both"},
            "where": {"type": ["object", "array"], "description": WHERE}, "words": FLAG, "per_row": FLAG,
            "approximate": FLAG,
        },
    ),
    "/add": Fields({"texts": ROWS}),
    "/update": Fields({"texts": ROWS}),
    "/delete": Fields({"keys": list_of({"type": ["string", "number"]}, "texts or numbers", MAX_ENTRIES)}),
}  # fmt: skip


class ServedIndex:
    """An index as its folder has it now: texts may be added here, by another worker or by a command."""

    def __init__(self, folder: str | Path) -> None:
        self._seen = _look(Path(folder))
        self._index = Index.open(folder)
        self._lock = threading.Lock()

    def current(self) -> Index:
        """The index. A search that has begun keeps the one that it has."""
        with self._lock:
            seen = _look(self._index.folder)
            if seen not in (None, self._seen):
                fresh = copy.copy(self._index)
                fresh._reopen()
                self._index, self._seen = fresh, seen
            return self._index

    @property
    def is_there(self) -> bool:
        return _look(self._index.folder) is not None

    def about(self) -> dict[str, Any]:
        """Its name and size; of one that is gone or being replaced, those it had."""
        with suppress(LimelightError, OSError):
            self.current()
        index = self._index
        return {"name": index.folder.name, "texts": len(index), "shards": len(index._shards)}

    def change(self, what: str, given: list[Any]) -> dict[str, int]:
        """Add, update or delete, and say how many that were and how many texts there are now."""
        fresh = copy.copy(self.current())
        count = getattr(fresh, what)(given)
        return {"deleted" if what == "delete" else "added": count, "texts": len(fresh)}


class IndexRoutes:
    def __init__(self, folder: str | Path, posts: Posts, writable: bool, metrics: Metrics) -> None:
        self.served, self._posts, self._writable = ServedIndex(folder), posts, writable
        self._metrics, self._searches = metrics, labelled("searches_total", index=Path(folder).name)
        metrics.add(self._searches, 0)
        for what in ("texts", "shards"):
            name = labelled(f"index_{what}", index=Path(folder).name)
            metrics.show(name, lambda what=what: float(self.served.about()[what]))  # type: ignore[misc]
        # One search at a time: it uses all cores by itself. Changes do not hold it up.
        self._searching = Workers(1, posts.limits.waiting)
        self._changing = Workers(1, posts.limits.waiting)

    def all(self) -> list[Route]:
        answers = {
            "/search": self.search, "/add": self.add, "/update": self.update, "/delete": self.delete,
        }  # fmt: skip
        fields = FIELDS if self._writable else {**dict.fromkeys(FIELDS), "/search": FIELDS["/search"]}
        return [self._posts.route(path, each, fields[path], FAULTS) for path, each in answers.items()]

    async def search(self, request: Request, body: Body) -> Any:
        """The best k texts of the index, best first, for a query or each of several. where names columns and
        what they must be. words has the pairs of words that add most by meaning, matches the query's words
        that the text has."""
        limits = self._posts.limits.for_large_answers
        items, one = texts_of(body.get("query"), limits, "query")
        request.state.texts = len(items)
        options, queries = _options(body, len(items)), [text for (text,) in items]
        explains = body.get("words", True) and options["by"] != "words"

        def find() -> tuple[list[int], Iterator[list[Hit]], list[dict[str, Any]]]:
            index = self.served.current()
            check_words(items, index.model.tokenizer, limits, truncate=False)
            found = index.search(queries, words=False, **options)
            pieces = find_words(index.model, queries, found, MAX_HIT_WORDS) if explains else iter(found)
            counts = list(map(len, found))
            return counts, pieces, [hit.to_dict() for hit in next(pieces)] if any(counts) else []

        counts, pieces, hits = await self._searching.run(find)
        while len(hits) < sum(counts):  # others have their turn between two pieces
            hits += await self._searching.run(lambda: [hit.to_dict() for hit in next(pieces)])
        self._metrics.add(self._searches, len(queries))
        left = iter(hits)
        found = [list(islice(left, count)) for count in counts]
        return found[0] if one else found

    async def add(self, request: Request, body: Body) -> Any:
        """Add texts, each alone or with columns; only if the server was started with --writable."""
        return await self._add("add", request, body)

    async def update(self, request: Request, body: Body) -> Any:
        """As /add, but rows take the place of those with the same keys; the index needs a key column."""
        return await self._add("update", request, body)

    async def delete(self, request: Request, body: Body) -> Any:
        """Delete rows by their keys, which hits have as key."""
        self._check_writable()
        check_count(len(body["keys"]), self._posts.limits)
        return await self._changing.run(self.served.change, "delete", body["keys"])

    async def _add(self, what: str, request: Request, body: Body) -> Any:
        self._check_writable()
        rows, limits = body["texts"], self._posts.limits
        check_count(len(rows), limits)
        request.state.texts = len(rows)
        given = (row.get("text") if isinstance(row, dict) else row for row in rows)
        texts: list[Item] = [(text,) for text in given if isinstance(text, str)]

        def add() -> dict[str, int]:
            check_words(texts, self.served.current().model.tokenizer, limits, truncate=False)
            return self.served.change(what, rows)

        return await self._changing.run(add)

    def _check_writable(self) -> None:
        if not self._writable:
            fault = "the index is read-only; start the server with --writable to change it"
            raise RequestError(403, fault, code="read-only")


def _options(body: Body, queries: int) -> dict[str, Any]:
    """The options of `Index.search` but `words`, as a body has them."""
    k = body.get("k", 10)
    if k * queries > MAX_HITS:
        raise RequestError(422, f"k must be a whole number from 1 to {MAX_HITS:,}, for all queries together")
    given = {name: body[name] for name in ("by", "per_row", "approximate") if name in body}
    return {"k": k, "by": None, "where": _where(body.get("where")), **given}


def _where(value: Any) -> Any:
    """A filter: JSON has no tuples, so that a sign and a value come as a list."""
    if isinstance(value, dict):
        return {column: _pairs(wanted) for column, wanted in value.items()}
    if not all(isinstance(each, str) for each in value or ()):
        raise RequestError(422, f"where must be {WHERE}")
    return value


def _pairs(wanted: Any) -> Any:
    if isinstance(wanted, list) and any(isinstance(each, list) for each in wanted):
        return [tuple(each) if isinstance(each, list) else each for each in wanted]
    return tuple(wanted) if isinstance(wanted, list) else wanted


def _look(folder: Path) -> tuple[int, int] | None:
    """What changes when an index does; None while it is being replaced."""
    try:
        found = os.stat(folder / FILE)
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns
