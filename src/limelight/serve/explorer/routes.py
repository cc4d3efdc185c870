"""The explorer behind HTTP: its page, and what the page asks for beside `/explain`."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ...runtime.model import Model
from ...text.tokenizer import SPECIAL, UNKNOWN
from ..api.models import ServedModels
from ..http.bodies import Body, check_words, items_of
from ..http.fields import TEXTS, Fields, Schema, list_of, text, whole
from ..http.posts import Posts, Workers
from ..page.bundle import about_model, page_answer
from .explored import ExploredData, Neighbours

SIMILAR_WORDS = 6  # words to choose from
MAX_CHARACTERS = 1000  # of a word, or of what is looked for in the data
MAX_ROWS_ANSWERED = 500  # of data in an answer
RUNS_ON_SERVER = "The model runs on the machine that serves this page; nothing that is typed goes elsewhere."


class Explorer:
    """The page of the models that are served, of data and of what is near, if they are given."""

    def __init__(
        self, models: ServedModels, posts: Posts, data: ExploredData | None, near: Neighbours | None
    ) -> None:
        self.models, self.posts, self.data, self.near = models, posts, data, near
        self._workers = Workers(2, posts.limits.waiting)
        self._packed = None if data is None else data.pack()

    def routes(self) -> list[Route]:
        words: dict[str, Schema] = {"text": text(MAX_CHARACTERS)}
        posts: dict[str, tuple[Callable[[Body], Any], Fields]] = {}
        posts["words"] = (self.words, Fields(words, {"model": {"description": "the name of a model"}}))
        if (data := self.data) is not None:
            row = whole(0, len(data.items) - 1)
            rows = list_of(row, f"integers from 0 to {row['maximum']}", MAX_ROWS_ANSWERED)
            posts["texts"] = lambda body: [data.items[row] for row in body["rows"]], Fields({"rows": rows})
            posts["find"] = lambda body: data.find(body["text"]), Fields(words)
        if self.near is not None:
            posts["near"] = self.nearest, Fields({"inputs": TEXTS})
        return [
            Route("/", self.page),
            Route("/explorer/about", self.about),
            *([Route("/explorer/data", self.rows)] if self.data is not None else []),
            *(self._post(f"/explorer/{name}", *each) for name, each in posts.items()),
        ]

    def _post(self, path: str, answer: Callable[[Body], Any], fields: Fields) -> Route:
        return self.posts.route(path, lambda _, body: self._workers.run(answer, body), fields)

    def shown(self) -> dict[str, Model]:
        """The models that the page shows: all but readers, which answer nothing."""
        models = [(name, self.models.find(name)[1].model) for name in self.models.names]
        return {name: model for name, model in models if isinstance(model, Model)}

    async def page(self, request: Request) -> Response:
        return page_answer("live", "Limelight")

    async def about(self, request: Request) -> Response:
        models = [{**about_model(model), "id": name} for name, model in self.shown().items()]
        for about in models:
            about["notes"].append(RUNS_ON_SERVER)
        where = None if self.near is None else self.near.where
        content = {"models": models, "data": self.data is not None, "near": where}
        return Response(json.dumps(content), media_type="application/json")

    async def rows(self, request: Request) -> Response:
        """All rows of the data, without their texts."""
        return Response(self._packed, media_type="application/octet-stream")

    def words(self, body: Body) -> list[str]:
        return nearest_words(self.models.find(body.get("model"))[1].model, body["text"])

    def nearest(self, body: Body) -> list[dict[str, Any]]:
        assert self.near is not None
        _, batcher = self.models.find(None)
        limits = self.posts.limits
        items, _ = items_of(body["inputs"], limits, batcher.model.pair)
        items = check_words(items[:1], batcher.model.tokenizer, limits.for_large_answers, truncate=True)
        return self.near.find(items[0])


def nearest_words(model: Any, word: str) -> list[str]:
    """The words whose vectors point most nearly the same way, the nearest first; none for an unknown word."""
    ids, _ = model.tokenizer.locate(word)
    table = model.weights["words.weight"]
    if ids[0] == UNKNOWN or not table.size:  # an encoder that reads words needs no vectors of them
        return []
    scores = (table @ table[ids[0]]) / np.maximum(np.linalg.norm(table, axis=1), 1e-9)
    order = np.argsort(-scores, kind="stable")[: SIMILAR_WORDS + len(SPECIAL) + 1]
    words = [model.tokenizer.vocabulary[k] for k in order if k >= len(SPECIAL) and k != ids[0]]
    return words[:SIMILAR_WORDS]
