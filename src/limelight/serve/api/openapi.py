"""The routes described, each with examples: as an OpenAPI document, and as a page without a script."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from html import escape
from typing import Any

from starlette.responses import HTMLResponse

from ... import __version__
from ..http.fields import FIELDS
from ..http.guard import POLICY

TEXT = "The soup was cold."
# path -> what it does, an example body (None: a GET), an example answer
ROUTES: dict[str, tuple[str, Any, Any]] = {
    "/predict": (
        "The classes of each text, the most probable first; of ordered classes, the answer, their median. A "
        "model of pairs takes [text, text2]. With abstain_below, a text whose answer is less probable than "
        "that gets [{score, label: null}]; target_precision chooses the probability, for answers of which "
        "the development set shows that this share is right. With aspects, the first class also "
        "has what the text says about each aspect of the model.",
        {"inputs": TEXT, "abstain_below": 0.5, "aspects": False},
        [{"score": 0.97, "label": "bad"}, {"score": 0.03, "label": "good"}],
    ),
    "/embed": (
        "A vector per text, of length 1 unless normalize is false: a reader's, or a classifier's M, flat.",
        {"inputs": [TEXT], "normalize": True, "truncate": False}, [[0.05, -0.02, 0.01]],
    ),
    "/embed_all": (
        "The matrix M of each text, a list per row.", {"inputs": [TEXT]}, [[[0.1, 0.2], [0.3, 0.4]]]
    ),
    "/explain": (
        "The words with their offsets, how much each supports the prediction, and what each row attends to; "
        "with label, how much it supports this one instead; with against, how much rather than this one: any "
        "two labels can be asked for. label_is says how the answer was chosen: of ordered classes it is the "
        "median. With joint, for one text, words that are read together; "
        "without_rows leaves out rows of M, counted from 0. "
        "Of a model with aspects, also what the text says about them.",
        {"inputs": TEXT, "label": "bad", "against": "good", "joint": True, "without_rows": []},
        {"label": "bad", "label_is": "most probable", "words": ["The"], "decided": [0.1], "bias": 0.2},
    ),
    "/similarity": (
        "The cosine of a text and each of some others; with the parameter words, which words make it.",
        {
            "inputs": {"source_sentence": TEXT, "sentences": ["Chilly broth!", "The train is late."]},
            "parameters": {"words": False},
        },
        [0.7, 0.1],
    ),
    "/": (
        "What the model is for: /embed of a reader, /predict of a classifier; or /similarity.",
        {"inputs": TEXT}, [[0.05]],
    ),
    "/rerank": (
        "The texts by how similar they are to the query, the most similar first; the score is the cosine.",
        {"query": TEXT, "texts": ["The train is late.", "Chilly broth!"], "return_text": False},
        [{"index": 1, "score": 0.7}, {"index": 0, "score": 0.1}],
    ),
    "/tokenize": (
        "The words of each text, with their ids and their places, counted in characters.",
        {"inputs": [TEXT]}, [[{"id": 5, "text": "The", "special": False, "start": 0, "stop": 3}]],
    ),
    "/v1/embeddings": (
        "As /embed, as OpenAI's clients send it.",
        {"input": TEXT, "model": "reader", "encoding_format": "float", "dimensions": 384},
        {"object": "list", "data": [{"object": "embedding", "index": 0, "embedding": [0.05, -0.02]}]},
    ),
    "/v1/models": (
        "The models, as OpenAI lists them.", None, {"object": "list", "data": [{"id": "reader"}]}
    ),
    "/v1/models/{name}": ("One of them.", None, {"id": "reader", "object": "model"}),
    "/info": ("The model, its labels and the limits; ?model=NAME for another one.", None, {"model_id": "x"}),
    "/health": ("Status 200 while the server runs.", None, None),
    "/ready": (
        "Status 200 if a request would be answered now; 503 while too many wait, or the index is not there.",
        None, {"ready": True},
    ),
    "/metrics": ("Counters for Prometheus.", None, None),
}  # fmt: skip
# The same, of a server with an index.
INDEX_ROUTES: dict[str, tuple[str, Any, Any]] = {
    "/search": (
        "The best k texts of the index, best first, for a query or each of several. by is meaning, words or "
        "both; where names columns and what they must be. words has the pairs of words that add most by "
        "meaning, matches the query's words that the text has.",
        {"query": TEXT, "k": 3, "by": "both", "where": {}, "words": True, "per_row": False},
        [{"score": 0.6, "text": "Chilly broth!", "words": [["cold", "Chilly", 0.3]],
          "other_words": 0.3, "matches": []}],
    ),
    "/add": (
        "Add texts to the index, each alone or with columns; only if the server was started with --writable.",
        {"texts": [TEXT, {"text": "Chilly broth!", "stars": 2}]}, {"added": 2, "texts": 1000},
    ),
    "/update": (
        "The same, where rows take the place of those with the same keys; the index must have a key column.",
        {"texts": [{"id": 17, "text": "Chilly broth!"}]}, {"added": 1, "texts": 1000},
    ),
    "/delete": (
        "Delete rows by their keys, which hits have as key.", {"keys": [17]}, {"deleted": 1, "texts": 999},
    ),
}  # fmt: skip
_UNDERSCORES = str.maketrans("/", "_", "{}")
ERRORS = {
    400: "not JSON, not UTF-8, or no texts", 401: "no token, or a wrong one",
    403: "the index is read-only", 404: "no model of this name",
    408: "the request was not complete in time", 409: "another process writes the index, or a key is taken",
    413: "too large, too many texts or too many words",
    415: "not application/json", 421: "the Host is not a name of this server",
    422: "a field is missing, unknown or of the wrong type", 424: "the model cannot do this",
    429: "too many requests are waiting", 503: "the server is shutting down",
}  # fmt: skip


def routes_of(has_index: bool) -> dict[str, tuple[str, Any, Any]]:
    return ROUTES | INDEX_ROUTES if has_index else ROUTES


def document(has_index: bool = False) -> dict[str, Any]:
    """The whole document, plain values.

    >>> document()["paths"]["/predict"]["post"]["operationId"]
    'predict'
    """
    fields = {name: {"type": "string"} for name in ("error", "error_type", "code")}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Limelight", "version": __version__},
        "paths": {path: _path(path, *route) for path, route in routes_of(has_index).items()},
        "components": {
            "schemas": {"Error": {"type": "object", "properties": fields}},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


def _path(path: str, about: str, body: Any, answer: Any) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": path.strip("/").translate(_UNDERSCORES) or "predict_or_embed",
        "summary": about,
        "responses": {"200": {"description": "the answer", **({} if answer is None else _json(answer))}},
    }
    if body is None:
        return {"get": operation}
    operation["requestBody"] = {"required": True, **_json(body, _schema(path, body))}
    reference = {"$ref": "#/components/schemas/Error"}
    for status, meaning in ERRORS.items():
        content = {"application/json": {"schema": reference}}
        operation["responses"][str(status)] = {"description": meaning, "content": content}
    return {"post": operation}


def _json(example: Any, schema: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"content": {"application/json": {"schema": schema or {}, "example": example}}}


def _schema(path: str, body: dict[str, Any]) -> dict[str, Any]:
    """A text or texts under the first name, which is required; the other fields are optional."""
    first = next(iter(body))
    texts = {"oneOf": [{"type": "string"}, {"type": "array"}, {"type": "object"}]}
    names = FIELDS.get(path) or dict.fromkeys(FIELDS["/embed"] + FIELDS["/predict"])  # those of POST /
    properties = {name: texts if name == first else {} for name in names}
    return {
        "type": "object", "required": [first], "properties": properties, "additionalProperties": False,
    }  # fmt: skip


# ---------------------------------------------------------------- the page

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem; }
pre { background: #f4f4f4; padding: .6rem; overflow: auto; }
"""
_HASH = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()


def page(names: Sequence[str], has_index: bool = False) -> HTMLResponse:
    """The page, with a policy that lets it load nothing.

    >>> page(["reader"]).headers["content-security-policy"][:18]
    "default-src 'none'"
    """
    models = ", ".join(escape(name) for name in names)
    content = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Limelight</title><style>{STYLE}</style>'
        f'<h1>Limelight</h1><p>Models: {models}</p><p><a href="/openapi.json">OpenAPI document</a></p>'
        + "".join(_section(path, *route) for path, route in routes_of(has_index).items())
    )
    return HTMLResponse(content, headers={"content-security-policy": f"{POLICY}; style-src 'sha256-{_HASH}'"})


def _section(path: str, about: str, *examples: Any) -> str:
    method = "GET" if examples[0] is None else "POST"
    shown = [f"<pre>{escape(json.dumps(each))}</pre>" for each in examples if each is not None]
    return f"<h2>{method} {path}</h2><p>{escape(about)}</p>{''.join(shown)}"
