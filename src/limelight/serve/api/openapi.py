"""The routes described, each with an example: an OpenAPI document.

What a route does is the docstring of its handler, and its fields are those by which bodies are checked.
"""

from collections.abc import Sequence
from typing import Any

from starlette.routing import Route

from ... import __version__
from ..http.fields import Fields

TEXT = "The soup was cold."
EXAMPLES: dict[str, tuple[Any, Any]] = {  # of a body, if there is one, and of its answer
    "/predict": (
        {"inputs": TEXT, "abstain_below": 0.5},
        [{"score": 0.97, "label": "bad"}, {"score": 0.03, "label": "good"}],
    ),
    "/embed": ({"inputs": [TEXT], "normalize": True}, [[0.05, -0.02, 0.01]]),
    "/embed_all": ({"inputs": [TEXT]}, [[[0.1, 0.2], [0.3, 0.4]]]),
    "/explain": (
        {"inputs": TEXT, "label": "bad", "against": "good", "joint": True},
        {"label": "bad", "label_is": "most probable", "words": ["The"], "decided": [0.1], "bias": 0.2},
    ),
    "/similarity": (
        {"inputs": {"source_sentence": TEXT, "sentences": ["Chilly broth!", "The train is late."]},
         "parameters": {"words": False}},
        [0.7, 0.1],
    ),
    "/": ({"inputs": TEXT}, [[0.05]]),
    "/rerank": (
        {"query": TEXT, "texts": ["The train is late.", "Chilly broth!"]},
        [{"index": 1, "score": 0.7}, {"index": 0, "score": 0.1}],
    ),
    "/tokenize": ({"inputs": [TEXT]}, [[{"id": 5, "text": "The", "special": False, "start": 0, "stop": 3}]]),
    "/v1/embeddings": (
        {"input": TEXT, "model": "reader", "encoding_format": "float", "dimensions": 384},
        {"object": "list", "data": [{"object": "embedding", "index": 0, "embedding": [0.05, -0.02]}]},
    ),
    "/v1/models": (None, {"object": "list", "data": [{"id": "reader"}]}),
    "/search": (
        {"query": TEXT, "k": 3, "by": "both", "where": {}},
        [{"score": 0.6, "text": "Chilly broth!", "words": [["cold", "Chilly", 0.3]],
          "other_words": 0.3, "matches": []}],
    ),
    "/add": ({"texts": [TEXT, {"text": "Chilly broth!", "stars": 2}]}, {"added": 2, "texts": 1000}),
    "/update": ({"texts": [{"id": 17, "text": "Chilly broth!"}]}, {"added": 1, "texts": 1000}),
    "/delete": ({"keys": [17]}, {"deleted": 1, "texts": 999}),
}  # fmt: skip
_UNDERSCORES = str.maketrans("/", "_", "{}")


def document(routes: Sequence[Route], fields: dict[str, Fields]) -> dict[str, Any]:
    """The whole document, plain values; `fields` are those of the bodies, by path."""
    names = {name: {"type": "string"} for name in ("error", "error_type", "code")}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Limelight", "version": __version__},
        "paths": {route.path: _operation(route, fields.get(route.path)) for route in routes},
        "components": {
            "schemas": {"Error": {"type": "object", "properties": names}},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


def _operation(route: Route, fields: Fields | None) -> dict[str, Any]:
    body, answer = EXAMPLES.get(route.path, (None, None))
    error = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    operation: dict[str, Any] = {
        "operationId": route.path.strip("/").translate(_UNDERSCORES) or "predict_or_embed",
        "summary": " ".join((route.endpoint.__doc__ or "").split()),
        "responses": {
            "200": {"description": "the answer", "content": {"application/json": {"example": answer}}},
            "default": {"description": "one sentence that says what is wrong", "content": error},
        },
    }
    if "POST" not in (route.methods or ()):
        return {"get": operation}
    schema = fields.schema() if fields else {"type": "object"}
    content = {"application/json": {"schema": schema, "example": body}}
    return {"post": operation | {"requestBody": {"required": True, "content": content}}}
