"""The routes described, each with an example: as an OpenAPI document, and as a page without a script.

What a route does is the docstring of its handler, and its fields are those by which bodies are checked.
"""

import base64
import hashlib
import json
from collections.abc import Sequence
from html import escape
from typing import Any

from starlette.responses import HTMLResponse
from starlette.routing import Route

from ... import __version__
from ..http.fields import Fields
from ..http.guard import POLICY

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
        "summary": _about(route),
        "responses": {
            "200": {"description": "the answer", "content": {"application/json": {"example": answer}}},
            "default": {"description": "one sentence that says what is wrong", "content": error},
        },
    }
    if _method(route) == "GET":
        return {"get": operation}
    schema = fields.schema() if fields else {"type": "object"}
    content = {"application/json": {"schema": schema, "example": body}}
    return {"post": operation | {"requestBody": {"required": True, "content": content}}}


def _method(route: Route) -> str:
    return "POST" if "POST" in (route.methods or ()) else "GET"


def _about(route: Route) -> str:
    return " ".join((route.endpoint.__doc__ or "").split())


# ---------------------------------------------------------------- the page

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem; }
pre { background: #f4f4f4; padding: .6rem; overflow: auto; }
"""
_HASH = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()


def page(names: Sequence[str], routes: Sequence[Route]) -> HTMLResponse:
    """The page, with a policy that lets it load nothing."""
    models = ", ".join(escape(name) for name in names)
    content = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Limelight</title><style>{STYLE}</style>'
        f'<h1>Limelight</h1><p>Models: {models}</p><p><a href="/openapi.json">OpenAPI document</a></p>'
    )
    for route in routes:
        content += f"<h2>{_method(route)} {route.path}</h2><p>{escape(_about(route))}</p>"
        examples = EXAMPLES.get(route.path, ())
        content += "".join(f"<pre>{escape(json.dumps(each))}</pre>" for each in examples if each is not None)
    return HTMLResponse(content, headers={"content-security-policy": f"{POLICY}; style-src 'sha256-{_HASH}'"})
