"""The fields of each route: one that a route does not have is an error, never ignored."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import Any

from .limits import RequestError

_TEXTS = ("inputs", "model", "truncate", "truncation_direction", "parameters")
# `user` and empty `parameters` mean nothing here, but the clients of OpenAI and of Hugging Face send them.
FIELDS: dict[str, tuple[str, ...]] = {
    "/predict": (*_TEXTS, "raw_scores", "abstain_below", "target_precision", "aspects"),
    "/embed": (*_TEXTS, "normalize", "dimensions", "prompt_name"),
    "/embed_all": (*_TEXTS, "prompt_name"),
    "/explain": (*_TEXTS, "against", "label", "joint", "without_rows"),
    "/similarity": ("inputs", "model", "parameters"),
    "/rerank": (
        "query", "texts", "model", "truncate", "truncation_direction", "raw_scores", "return_text",
    ),
    "/tokenize": ("inputs", "model", "add_special_tokens", "prompt_name"),
    "/v1/embeddings": ("input", "model", "encoding_format", "dimensions", "user", "truncate"),
    "/search": ("query", "k", "by", "where", "words", "per_row", "approximate"),
    "/add": ("texts",),
    "/update": ("texts",),
    "/delete": ("keys",),
}  # fmt: skip
SIMILARITY = {
    "inputs": ("source_sentence", "sentences"),
    "parameters": ("words", "truncate", "truncation_direction", "prompt_name"),
}


def check_fields(body: Mapping[str, Any], path: str) -> None:
    """Raise if a body has a field that its route does not have, naming the nearest that it has.

    >>> check_fields({"query": "soup", "top_k": 3}, "/search")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    limelight.serve.http.limits.RequestError: /search has no field "top_k" (did you mean "k"?)...
    """
    _check_names(body, FIELDS[path], path)
    inputs, parameters = body.get("inputs"), body.get("parameters") or {}
    if not isinstance(parameters, dict):
        raise RequestError(422, "parameters must be an object")
    _check_names(parameters, SIMILARITY["parameters"] if path == "/similarity" else (), "parameters")
    if path == "/similarity" and isinstance(inputs, dict):
        _check_names(inputs, SIMILARITY["inputs"], "inputs")


def _check_names(given: Mapping[str, Any], known: Collection[str], where: str) -> None:
    unknown = next((name for name, value in given.items() if name not in known and value is not None), None)
    if unknown is not None:
        shown = unknown[:40]  # it may have megabytes
        near = [name for name in known if name in shown.split("_")] or get_close_matches(shown, known, n=1)
        hint = f' (did you mean "{near[0]}"?)' if near else ""
        takes = f"it takes {', '.join(known)}" if known else "it takes none"
        raise RequestError(422, f'{where} has no field "{shown}"{hint}; {takes}', code="field-unknown")
