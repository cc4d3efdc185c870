"""The routes: bodies and answers as in text-embeddings-inference, and as OpenAI's clients send them."""

from __future__ import annotations

import asyncio
import base64
import json
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from ... import __version__
from ...aspects.facts import require_aspects
from ...errors import LimelightError
from ...network.parts import matrix_shape
from ...runtime.model import Model
from ...runtime.reader import Reader
from ...runtime.word_parts import unit
from ...text.tasks import find_task
from ...text.tokenizer import Tokenizer
from ..http.bodies import (
    Body,
    Item,
    check_words,
    count_words,
    dimensions,
    flag,
    items_of,
    numbers,
    share,
    texts_of,
)
from ..http.fields import check_fields
from ..http.limits import Limits, RequestError
from ..http.metrics import Metrics
from ..http.posts import Answer, Posts
from .batching import Batcher, Compute
from .computing import comparisons, cut_pieces, matrices, predictions, readings, vectors
from .models import ServedModels

TOKENIZED_WORDS = 2**16  # of a request: each becomes a hundred bytes
MAX_RANKED = 256  # probabilities that are ranked in no time
LARGE = 2**14  # characters: work on more than this is done in a thread


@dataclass(frozen=True, eq=False)
class Routes:
    """What the routes share."""

    models: ServedModels
    posts: Posts
    metrics: Metrics
    batch_words: int
    precision: str

    @property
    def limits(self) -> Limits:
        return self.posts.limits

    def all(self) -> list[Route]:
        """Every route but the pages."""
        answers: dict[str, Answer] = {
            "/predict": self.predict, "/embed": self.embed, "/embed_all": self.embed_all,
            "/explain": self.explain, "/similarity": self.similarity, "/v1/embeddings": self.openai,
            "/rerank": self.rerank, "/tokenize": self.tokenize,
            "/": self.predict_or_embed,
        }  # fmt: skip
        gets = {
            "/info": self.info, "/health": self.health, "/ready": self.ready, "/metrics": self.show_metrics,
            "/v1/models": self.list_models, "/v1/models/{name}": self.show_model,
        }  # fmt: skip
        return [
            *(self.posts.route(path, answer) for path, answer in answers.items()),
            *(Route(path, answer) for path, answer in gets.items()),
        ]

    # ------------------------------------------------------------ POST

    async def predict_or_embed(self, request: Request, body: Body) -> Any:
        """What the model is for: a classifier predicts, a reader embeds; or /similarity, by its fields."""
        _, batcher = self.models.find(body.get("model"))
        path = "/embed" if isinstance(batcher.model, Reader) else "/predict"
        path = "/similarity" if isinstance(body.get("inputs"), dict) else path
        check_fields(body, path)
        answers = {"/embed": self.embed, "/predict": self.predict, "/similarity": self.similarity}
        return await answers[path](request, body)

    async def predict(self, request: Request, body: Body) -> Any:
        """The classes of each text, the answer first; where the model is unsure, no label."""
        name, batcher = self.models.find(body.get("model"))
        model: Model = batcher.model
        if not isinstance(model, Model):
            raise RequestError(424, f"{name} is a reader, without labels; use /embed or /similarity")
        _refuse_raw_scores(body)
        items, one = items_of(body.get("inputs"), self._limits(predictions, batcher), model.pair)
        least = _threshold(model, body)
        if flag(body, "aspects"):
            return await self._predict_with_aspects(request, batcher, least, body)
        found = await self._run(request, batcher, predictions, items, body)
        if one:
            return _ranked(model, found[0], least)

        def ranked() -> list[Any]:
            return [_ranked(model, P, least) for P in found]

        return ranked() if found.size <= MAX_RANKED else ranked

    async def _predict_with_aspects(
        self, request: Request, batcher: Batcher, least: float, body: Body
    ) -> Callable[[], Any]:
        """The same, where the answer, which is first, also has what the text says about the aspects."""
        model: Model = batcher.model
        require_aspects(model.aspects)
        items, one = items_of(body.get("inputs"), self._limits(readings, batcher), model.pair)
        found = await self._run(request, batcher, readings, items, body)

        def ranked() -> list[Any]:
            classes = [_ranked(model, reading.probabilities, least) for reading in found]
            for (first, *_), reading in zip(classes, found, strict=True):
                first["aspects"] = reading.aspect_sum.to_dict()
            return classes[0] if one else classes

        return ranked

    async def embed(self, request: Request, body: Body) -> Any:
        _, batcher = self.models.find(body.get("model"))
        items, _ = texts_of(body.get("inputs"), self._limits(vectors, batcher))
        found = await self._run(request, batcher, vectors, items, body)
        found = found[:, : dimensions(body, found.shape[1])]
        return list(unit(found) if flag(body, "normalize", True) else found)

    async def embed_all(self, request: Request, body: Body) -> Any:
        _, batcher = self.models.find(body.get("model"))
        items, _ = texts_of(body.get("inputs"), self._limits(matrices, batcher))
        return list(await self._run(request, batcher, matrices, items, body))

    async def explain(self, request: Request, body: Body) -> Any:
        """What decided and what each row read."""
        _, batcher = self.models.find(body.get("model"))
        pair = isinstance(batcher.model, Model) and batcher.model.pair
        items, one = items_of(body.get("inputs"), self._limits(readings, batcher), pair)
        off, against, label = numbers(body, "without_rows"), body.get("against"), body.get("label")
        if not all(isinstance(each, str | int | float | None) for each in (against, label)):
            raise RequestError(422, "against and label must be labels")
        joint = flag(body, "joint")
        if joint and (off or not one):
            raise RequestError(422, "joint is for one text, and not for without_rows")
        how: dict[str, Any] = {"without_rows": off, "against": against, "label": label, "joint": joint}
        asked = off or against is not None or label is not None or joint
        compute = partial(readings, **how) if asked else readings
        found = await self._run(request, batcher, compute, items, body)
        return found[0].to_dict if one else lambda: [reading.to_dict() for reading in found]

    async def similarity(self, request: Request, body: Body) -> Any:
        """The cosine of a text and each of some others; with the parameter `words`, which words make it."""
        _, batcher = self.models.find(body.get("model"))
        inputs, parameters = body.get("inputs"), body.get("parameters") or {}
        if not isinstance(inputs, dict):
            raise RequestError(422, "inputs must have source_sentence and sentences")
        source, sentences = inputs.get("source_sentence"), inputs.get("sentences")
        if not isinstance(source, str) or not isinstance(sentences, list):
            raise RequestError(422, "source_sentence must be a text and sentences a list of texts")
        compute = comparisons if flag(parameters, "words") else vectors
        others, _ = texts_of(sentences, self._limits(compute, batcher), "sentences")
        if compute is comparisons:
            pairs = [(source, *other) for other in others]
            found = await self._run(request, batcher, comparisons, pairs, parameters)
            return lambda: [comparison.to_dict() for comparison in found]
        return await self._cosines(request, batcher, source, others, parameters)

    async def rerank(self, request: Request, body: Body) -> Any:
        """Texts by how similar they are to a query, the most similar first; the score is the cosine."""
        _, batcher = self.models.find(body.get("model"))
        _refuse_raw_scores(body)
        query, texts = body.get("query"), body.get("texts")
        if not isinstance(query, str) or not isinstance(texts, list):
            raise RequestError(422, "query must be a text and texts a list of texts")
        others, _ = texts_of(texts, self._limits(vectors, batcher), "texts")
        scores = await self._cosines(request, batcher, query, others, body)
        order, shown = np.argsort(-np.array(scores), kind="stable").tolist(), flag(body, "return_text")
        return [{"index": k, "score": scores[k], **({"text": texts[k]} if shown else {})} for k in order]

    async def tokenize(self, request: Request, body: Body) -> Any:
        """The words of each text, with their ids and where they are, in characters."""
        _, batcher = self.models.find(body.get("model"))
        tokenizer, limits = batcher.model.tokenizer, self.limits
        limits = replace(limits, words=min(limits.words, TOKENIZED_WORDS))
        items, _ = texts_of(body.get("inputs"), limits)
        items = await self._call(check_words, items, tokenizer, limits, False)
        request.state.texts = len(items)
        return await self._call(_tokens, items, tokenizer)

    async def _cosines(
        self, request: Request, batcher: Batcher, source: str, others: list[Item], body: Body
    ) -> list[float]:
        v, *w = unit(await self._run(request, batcher, vectors, [(source,), *others], body))
        return [float(v @ each) for each in w]

    async def openai(self, request: Request, body: Body) -> Any:
        """As OpenAI's /v1/embeddings."""
        name, batcher = self.models.find(body.get("model"))
        items, _ = texts_of(body.get("input"), self._limits(vectors, batcher), "input")
        form = body.get("encoding_format") or "float"
        if form not in ("float", "base64"):
            raise RequestError(422, "encoding_format must be float or base64")
        items = await self._within_limits(request, batcher, vectors, items, body)
        found = await self._compute(request, batcher, vectors, items)
        found = unit(found[:, : dimensions(body, found.shape[1])])
        shown = [
            v if form == "float" else base64.b64encode(v.astype("<f4").tobytes()).decode() for v in found
        ]
        data = [{"object": "embedding", "index": k, "embedding": each} for k, each in enumerate(shown)]
        words = await self._call(count_words, items, batcher.model.tokenizer)
        usage = {"prompt_tokens": words, "total_tokens": words}
        return {"object": "list", "data": data, "model": name, "usage": usage}

    # ------------------------------------------------------------ GET

    async def info(self, request: Request) -> Response:
        """The model that answers, or the one that `?model=` names, and the limits."""
        name, batcher = self.models.find(request.query_params.get("model"))
        index = await asyncio.to_thread(request.app.state.about_index)  # which may open one that has changed
        content = json.dumps({
            "model_id": name, "model_sha": batcher.sha256, "model_dtype": self.precision,
            **_describe(batcher.model), "models": self.models.names,
            "max_concurrent_requests": self.limits.waiting, "max_input_length": self.limits.text_words,
            "max_batch_tokens": self.batch_words, "max_client_batch_size": self.limits.texts,
            "max_body_bytes": self.limits.body, "version": __version__, **index,
        })  # fmt: skip
        return Response(content, media_type="application/json")

    async def list_models(self, request: Request) -> Response:
        found = {"object": "list", "data": [_as_openai(name) for name in self.models.names]}
        return Response(json.dumps(found), media_type="application/json")

    async def show_model(self, request: Request) -> Response:
        name, _ = self.models.find(request.path_params["name"])
        return Response(json.dumps(_as_openai(name)), media_type="application/json")

    async def health(self, request: Request) -> Response:
        """Nothing, with status 200: the models are loaded before the server listens."""
        return Response()

    async def ready(self, request: Request) -> Response:
        """Whether a request would be answered now: 503 while a model's queue is full or the index is gone."""
        full = [served.name for served in self.models.distinct if served.current.is_full]
        fault = f"too many requests wait for {', '.join(full)}" if full else ""
        if not fault and not request.app.state.has_index():
            fault = "the index is not there"
        content = json.dumps({"ready": not fault, **({"error": fault} if fault else {})})
        return Response(content, 503 if fault else 200, media_type="application/json")

    async def show_metrics(self, request: Request) -> Response:
        text = await asyncio.to_thread(self.metrics.text)
        return PlainTextResponse(text, media_type="text/plain; version=0.0.4")

    # ------------------------------------------------------------ what they share

    def _limits(self, compute: Compute, batcher: Batcher) -> Limits:
        """Answers of many thousand numbers per text are for fewer texts."""
        model = batcher.model
        if compute is predictions:
            return self.limits.for_answers_of(len(model.labels))
        if compute is vectors and isinstance(model, Reader):
            return self.limits.for_answers_of(model.get_sentence_embedding_dimension())
        return self.limits.for_large_answers

    async def _run(
        self, request: Request, batcher: Batcher, compute: Compute, items: list[Item], body: Body
    ) -> Any:
        items = await self._within_limits(request, batcher, compute, items, body)
        return await self._compute(request, batcher, compute, items)

    async def _compute(self, request: Request, batcher: Batcher, compute: Compute, items: list[Item]) -> Any:
        """The results of the items; of many, piece by piece."""
        pieces = cut_pieces(items)
        if len(pieces) == 1:
            return await batcher.run(compute, items)
        await self.posts.wait_as_large(request)
        return np.concatenate([await batcher.run(compute, piece) for piece in pieces])

    async def _within_limits(
        self, request: Request, batcher: Batcher, compute: Compute, items: list[Item], body: Body
    ) -> list[Item]:
        """The items, cut if the request says so; an error if they are too long."""
        request.state.texts = len(items)
        _check_left_alone(body)
        limits, truncate = self._limits(compute, batcher), flag(body, "truncate")
        found: list[Item] = await self._call(check_words, items, batcher.model.tokenizer, limits, truncate)
        return found

    async def _call(self, function: Callable[..., Any], items: list[Item], *rest: Any) -> Any:
        """Call a function that takes long for long texts: in a thread, if they are."""
        if sum(len(text) for item in items for text in item) <= LARGE:
            return function(items, *rest)
        return await self.posts.workers.run(function, items, *rest)


def _check_left_alone(body: Body) -> None:
    """Raise at what text-embeddings-inference offers and a reader does not have."""
    if body.get("prompt_name") not in (None, "query", "document"):  # these two are empty
        raise RequestError(422, "prompt_name must be query or document, or left out")
    if str(body.get("truncation_direction") or "right").lower() != "right":
        raise RequestError(422, "truncation_direction must be Right: a text is cut at its end")


def _refuse_raw_scores(body: Body) -> None:
    if flag(body, "raw_scores"):
        raise RequestError(422, "raw_scores is not supported; leave it out to get probabilities, or cosines")


def _tokens(items: list[Item], tokenizer: Tokenizer) -> list[list[dict[str, Any]]]:
    return [
        [
            {"id": int(number), "text": text[start:end], "special": False, "start": start, "stop": end}
            for number, (start, end) in zip(*map(np.ndarray.tolist, tokenizer.locate(text)), strict=True)
            if end > start
        ]
        for (text,) in items
    ]


def _as_openai(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "limelight"}


def _threshold(model: Model, body: Body) -> float:
    """The probability below which a prediction has no label, as `predict --abstain-below` has it."""
    least, precision = share(body, "abstain_below"), share(body, "target_precision")
    if least is None and precision is None:
        return -math.inf  # not 0: what a regression predicts may be negative
    if least is not None and precision is not None:
        raise RequestError(422, "abstain_below and target_precision exclude each other; give only one")
    if not find_task(model.task).is_class:
        fault = f"abstain_below is for one class a text; the task is {model.task!r}"
        raise LimelightError(fault, code="model-task")
    return least if least is not None else model.threshold(precision or 0.0)


def _ranked(model: Model, P: np.ndarray, least: float) -> list[dict[str, Any]]:
    """The classes from the most probable on, but first the answer: of ordered classes, that is the median."""
    order = np.argsort(-P, kind="stable").tolist()
    if find_task(model.task).is_class:
        first = int(model.decide(P[None])[0])
        order = [first, *(k for k in order if k != first)]
    if P[order[0]] < least:
        return [{"score": float(P[order[0]]), "label": None}]
    return [{"score": float(P[k]), "label": str(model.labels[k])} for k in order]


def _describe(model: Model | Reader) -> dict[str, Any]:
    rows, size = matrix_shape(model.recipe.model)
    shape = {"rows": rows, "row_size": size}
    if isinstance(model, Reader):
        return {**shape, "model_type": {"embedding": {"pooling": "structured self-attention"}}}
    labels = [str(label) for label in model.labels]
    id2label, label2id = dict(enumerate(labels)), {label: k for k, label in enumerate(labels)}
    kind = {"classifier": {"id2label": id2label, "label2id": label2id}}
    return {**shape, "model_type": kind, "pairs": model.pair}
