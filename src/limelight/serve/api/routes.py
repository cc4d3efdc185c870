"""The routes: bodies and answers as in text-embeddings-inference, and as OpenAI's clients send them."""

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
from ...network.outputs import unit
from ...network.parts import matrix_shape, pooling_of
from ...runtime.confidence import check_threshold
from ...runtime.model import Model
from ...runtime.reader import Reader
from ...text.tasks import find_task
from ...text.tokenizer import Tokenizer
from ..http.bodies import Body, Item, check_words, count_words, items_of, texts_of
from ..http.fields import FLAG, SHARE, TEXT, TEXTS, Fields, Schema, list_of, one_of, whole
from ..http.limits import Limits, RequestError
from ..http.metrics import Metrics
from ..http.posts import Answer, Posts
from .batching import Batcher, Compute, comparisons, cut_pieces, matrices, predictions, readings, vectors
from .models import ServedModels
from .searching import ServedIndex

TOKENIZED_WORDS = 2**16  # of a request: each becomes a hundred bytes
MAX_RANKED = 256  # probabilities that are ranked in no time
LARGE = 2**14  # characters: work on more than this is done in a thread
MAX_SIZE = 2**20  # of a vector, and of a list of rows
LABEL: Schema = {"type": ["string", "number", "boolean"], "description": "a label"}
ANY: Schema = {"description": "anything: it means nothing here"}
PARAMETERS: Schema = {"type": "object", "description": "an object"}
SENTENCES = list_of(TEXT, "texts", MAX_SIZE)
# A reader has no prompts, and a text is cut at its end; but the clients of OpenAI and of Hugging Face send
# these, `user` and empty `parameters`.
_PROMPT = {"prompt_name": one_of("query", "document")}
_CUT = {"truncate": FLAG, "truncation_direction": one_of("right", "Right")}
_MODEL: dict[str, Schema] = {"model": {"description": "the name of a model"}}
_COMMON: dict[str, Schema] = {**_MODEL, **_CUT, "parameters": {**PARAMETERS, "properties": {}}}
_RAW = {"raw_scores": one_of(False)}  # of probabilities, or cosines, there are none
_VECTOR = {"dimensions": whole(1, MAX_SIZE)}
_SOURCE = {"source_sentence": TEXT, "sentences": SENTENCES}
FIELDS = {
    "/predict": Fields(
        {"inputs": TEXTS},
        {**_COMMON, **_RAW, "abstain_below": SHARE, "target_precision": SHARE, "aspects": FLAG},
    ),
    "/embed": Fields({"inputs": TEXTS}, {**_COMMON, **_PROMPT, **_VECTOR, "normalize": FLAG}),
    "/embed_all": Fields({"inputs": TEXTS}, {**_COMMON, **_PROMPT}),
    "/explain": Fields(
        {"inputs": TEXTS},
        {
            **_COMMON, "against": LABEL, "label": LABEL, "joint": FLAG,
            "without_rows": list_of({"type": "integer"}, "integers", MAX_SIZE),
        },
    ),
    "/similarity": Fields(
        {
            "inputs": {
                "type": "object", "properties": _SOURCE, "required": list(_SOURCE),
                "description": "an object with source_sentence and sentences",
            },
        },
        {**_MODEL, "parameters": {**PARAMETERS, "properties": {"words": FLAG, **_CUT, **_PROMPT}}},
    ),
    "/rerank": Fields(
        {"query": TEXT, "texts": SENTENCES},
        {**_MODEL, **_CUT, **_RAW, "return_text": FLAG},
    ),
    "/tokenize": Fields({"inputs": TEXTS}, {**_MODEL, "add_special_tokens": FLAG, "prompt_name": ANY}),
    "/v1/embeddings": Fields(
        {"input": TEXTS},
        {**_MODEL, **_VECTOR, "encoding_format": one_of("float", "base64"), "user": ANY, "truncate": FLAG},
    ),
}  # fmt: skip
FIELDS["/"] = Fields(
    {"inputs": {**TEXTS, "type": ["string", "array", "object"]}},
    {**FIELDS["/embed"].optional, **FIELDS["/predict"].optional, "parameters": PARAMETERS},
)


@dataclass(frozen=True, eq=False)
class Routes:
    """What the routes share."""

    models: ServedModels
    posts: Posts
    metrics: Metrics
    batch_words: int
    precision: str
    index: ServedIndex | None

    @property
    def limits(self) -> Limits:
        return self.posts.limits

    def all(self) -> list[Route]:
        """Every route but the pages."""
        answers: dict[str, Answer] = {
            "/predict": self.predict, "/embed": self.embed, "/embed_all": self.embed_all,
            "/explain": self.explain, "/similarity": self.similarity, "/v1/embeddings": self.openai,
            "/rerank": self.rerank, "/tokenize": self.tokenize, "/": self.predict_or_embed,
        }  # fmt: skip
        gets = {
            "/info": self.info, "/health": self.health, "/ready": self.ready, "/metrics": self.show_metrics,
            "/v1/models": self.list_models, "/v1/models/{name}": self.show_model,
        }  # fmt: skip
        return [
            *(self.posts.route(path, answer, FIELDS[path]) for path, answer in answers.items()),
            *(Route(path, answer) for path, answer in gets.items()),
        ]

    # ------------------------------------------------------------ POST

    async def predict_or_embed(self, request: Request, body: Body) -> Any:
        """What the model is for: /embed of a reader, /predict of a classifier; or /similarity."""
        _, batcher = self.models.find(body.get("model"))
        path = "/embed" if isinstance(batcher.model, Reader) else "/predict"
        path = "/similarity" if isinstance(body.get("inputs"), dict) else path
        answers = {"/embed": self.embed, "/predict": self.predict, "/similarity": self.similarity}
        return await answers[path](request, FIELDS[path].check(body, path))

    async def predict(self, request: Request, body: Body) -> Any:
        """The classes of each text, the most probable first; of ordered classes, the answer, their median. A
        model of pairs takes [text, text2]. With abstain_below, a text whose answer is less probable than that
        gets [{score, label: null}]; target_precision chooses the probability, for answers of which the
        development set shows that this share is right. With aspects, the first class also has what the text
        says about each aspect of the model."""
        name, batcher = self.models.find(body.get("model"))
        model: Model = batcher.model
        if not isinstance(model, Model):
            raise RequestError(424, f"{name} is a reader, without labels; use /embed or /similarity")
        aspects = require_aspects(model.aspects) if body.get("aspects") else None
        compute = readings if aspects else predictions
        items, one = items_of(body["inputs"], self._limits(compute, batcher), model.pair)
        least = _threshold(model, body)
        found, _ = await self._run(request, batcher, compute, items, body)

        def ranked() -> list[Any]:
            classes = [_ranked(model, each.probabilities if aspects else each, least) for each in found]
            for (first, *_), reading in zip(classes, found, strict=True) if aspects else ():
                first["aspects"] = reading.aspect_sum.to_dict()
            return classes[0] if one else classes

        return ranked if aspects or found.size > MAX_RANKED else ranked()

    async def embed(self, request: Request, body: Body) -> Any:
        """A vector per text, of length 1 unless normalize is false: a reader's, or a classifier's M, flat."""
        _, batcher = self.models.find(body.get("model"))
        items, _ = texts_of(body["inputs"], self._limits(vectors, batcher))
        found, _ = await self._run(request, batcher, vectors, items, body)
        found = _first_numbers(found, body)
        return list(unit(found) if body.get("normalize", True) else found)

    async def embed_all(self, request: Request, body: Body) -> Any:
        """The matrix M of each text, a list per row."""
        _, batcher = self.models.find(body.get("model"))
        items, _ = texts_of(body["inputs"], self._limits(matrices, batcher))
        return list((await self._run(request, batcher, matrices, items, body))[0])

    async def explain(self, request: Request, body: Body) -> Any:
        """The words with their offsets, how much each supports the prediction, and what each row attends to;
        with label, how much it supports this one instead; with against, how much rather than this one: any
        two labels can be asked for. label_is says how the answer was chosen: of ordered classes it is the
        median. With joint, for one text, words that are read together; without_rows leaves out rows of M,
        counted from 0. Of a model with aspects, also what the text says about them."""
        _, batcher = self.models.find(body.get("model"))
        pair = isinstance(batcher.model, Model) and batcher.model.pair
        items, one = items_of(body["inputs"], self._limits(readings, batcher), pair)
        if body.get("joint") and (body.get("without_rows") or not one):
            raise RequestError(422, "joint is for one text, and not for without_rows")
        names = ("without_rows", "against", "label", "joint")
        how = {name: body[name] for name in names if name in body and body[name] not in (False, [])}
        compute = partial(readings, **how) if how else readings
        found, _ = await self._run(request, batcher, compute, items, body)
        return found[0].to_dict if one else lambda: [reading.to_dict() for reading in found]

    async def similarity(self, request: Request, body: Body) -> Any:
        """The cosine of a text and each of some others; with the parameter words, which words make it."""
        _, batcher = self.models.find(body.get("model"))
        source, parameters = body["inputs"]["source_sentence"], body.get("parameters", {})
        compute = comparisons if parameters.get("words") else vectors
        others, _ = texts_of(body["inputs"]["sentences"], self._limits(compute, batcher), "sentences")
        if compute is comparisons:
            pairs = [(source, *other) for other in others]
            found, _ = await self._run(request, batcher, comparisons, pairs, parameters)
            return lambda: [comparison.to_dict() for comparison in found]
        return await self._cosines(request, batcher, source, others, parameters)

    async def rerank(self, request: Request, body: Body) -> Any:
        """The texts by how similar they are to the query, the most similar first; the score is the cosine."""
        _, batcher = self.models.find(body.get("model"))
        texts, shown = body["texts"], body.get("return_text")
        others, _ = texts_of(texts, self._limits(vectors, batcher), "texts")
        scores = await self._cosines(request, batcher, body["query"], others, body)
        order = np.argsort(-np.array(scores), kind="stable").tolist()
        return [{"index": k, "score": scores[k], **({"text": texts[k]} if shown else {})} for k in order]

    async def tokenize(self, request: Request, body: Body) -> Any:
        """The words of each text, with their ids and where they are, in characters."""
        _, batcher = self.models.find(body.get("model"))
        tokenizer, limits = batcher.model.tokenizer, self.limits
        limits = replace(limits, words=min(limits.words, TOKENIZED_WORDS))
        items, _ = texts_of(body["inputs"], limits)
        items = await self._call(check_words, items, tokenizer, limits, False)
        request.state.texts = len(items)
        return await self._call(_tokens, items, tokenizer)

    async def _cosines(
        self, request: Request, batcher: Batcher, source: str, others: list[Item], body: Body
    ) -> list[float]:
        found, _ = await self._run(request, batcher, vectors, [(source,), *others], body)
        v, *w = unit(found)
        return [float(v @ each) for each in w]

    async def openai(self, request: Request, body: Body) -> Any:
        """As /embed, as OpenAI's clients send it."""
        name, batcher = self.models.find(body.get("model"))
        items, _ = texts_of(body["input"], self._limits(vectors, batcher), "input")
        found, items = await self._run(request, batcher, vectors, items, body)
        found = unit(_first_numbers(found, body))
        coded = body.get("encoding_format") == "base64"
        shown = [base64.b64encode(v.astype("<f4").tobytes()).decode() if coded else v for v in found]
        data = [{"object": "embedding", "index": k, "embedding": each} for k, each in enumerate(shown)]
        words = await self._call(count_words, items, batcher.model.tokenizer)
        usage = {"prompt_tokens": words, "total_tokens": words}
        return {"object": "list", "data": data, "model": name, "usage": usage}

    # ------------------------------------------------------------ GET

    async def info(self, request: Request) -> Response:
        """The model, its labels and the limits; ?model=NAME for another one."""
        name, batcher = self.models.find(request.query_params.get("model"))
        index = self.index and {"index": await asyncio.to_thread(self.index.about)}  # it may have changed
        return _answer({
            "model_id": name, "model_sha": batcher.sha256, "model_dtype": self.precision,
            **_describe(batcher.model), "models": self.models.names,
            "max_concurrent_requests": self.limits.waiting, "max_input_length": self.limits.text_words,
            "max_batch_tokens": self.batch_words, "max_client_batch_size": self.limits.texts,
            "max_body_bytes": self.limits.body, "version": __version__, **(index or {}),
        })  # fmt: skip

    async def list_models(self, request: Request) -> Response:
        """The models, as OpenAI lists them."""
        return _answer({"object": "list", "data": [_as_openai(name) for name in self.models.names]})

    async def show_model(self, request: Request) -> Response:
        """One of them."""
        return _answer(_as_openai(self.models.find(request.path_params["name"])[0]))

    async def health(self, request: Request) -> Response:
        """Status 200 while the server runs."""
        return Response()

    async def ready(self, request: Request) -> Response:
        """Status 200 if a request would be answered now; 503 if too many wait, or the index is not there."""
        full = [served.name for served in self.models.distinct if served.current.is_full]
        fault = f"too many requests wait for {', '.join(full)}" if full else ""
        if not fault and self.index and not self.index.is_there:
            fault = "the index is not there"
        return _answer({"ready": not fault, **({"error": fault} if fault else {})}, 503 if fault else 200)

    async def show_metrics(self, request: Request) -> Response:
        """Counters for Prometheus."""
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
    ) -> tuple[Any, list[Item]]:
        """The results of the items, of many piece by piece; and the items, cut if the request says so."""
        request.state.texts = len(items)
        limits, truncate = self._limits(compute, batcher), body.get("truncate", False)
        items = await self._call(check_words, items, batcher.model.tokenizer, limits, truncate)
        pieces = cut_pieces(items)
        if len(pieces) == 1:
            return await batcher.run(compute, items), items
        await self.posts.wait_as_large(request)
        return np.concatenate([await batcher.run(compute, piece) for piece in pieces]), items

    async def _call(self, function: Callable[..., Any], items: list[Item], *rest: Any) -> Any:
        """Call a function that takes long for long texts: in a thread, if they are."""
        if sum(len(text) for item in items for text in item) <= LARGE:
            return function(items, *rest)
        return await self.posts.workers.run(function, items, *rest)


def _answer(content: dict[str, Any], status: int = 200) -> Response:
    return Response(json.dumps(content), status, media_type="application/json")


def _first_numbers(found: np.ndarray, body: Body) -> np.ndarray:
    """(n, dimensions), if the body says how many."""
    size = found.shape[1]
    if body.get("dimensions", 1) > size:
        raise RequestError(422, f"dimensions must be a whole number from 1 to {size:,}, a vector's size")
    return found[:, : body.get("dimensions", size)]


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
    least, precision = body.get("abstain_below"), body.get("target_precision")
    if least is None and precision is None:
        return -math.inf  # not 0: what a regression predicts may be negative
    if least is not None and precision is not None:
        raise RequestError(422, "abstain_below and target_precision exclude each other; give only one")
    return check_threshold(least, task=model.task) if least is not None else model.threshold(precision or 0.0)


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
        pooling = pooling_of(model.recipe.model).title(model.recipe.model)
        return {**shape, "model_type": {"embedding": {"pooling": pooling}}}
    labels = dict(enumerate(map(str, model.labels)))
    kind = {"classifier": {"id2label": labels, "label2id": {label: k for k, label in labels.items()}}}
    return {**shape, "model_type": kind, "pairs": model.pair}
