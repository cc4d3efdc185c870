"""Around every request: the token, security headers, errors without a trace, the log, the metrics."""

from __future__ import annotations

import hmac
import json
import time
from collections.abc import MutableMapping
from pathlib import Path
from traceback import extract_tb
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from .limits import RequestError
from .metrics import Metrics, log
from .openapi import POLICY

OPEN_PATHS = {"/", "/docs", "/openapi.json", "/health"}  # without the token: they tell no more than names
UNAUTHORIZED = RequestError(401, "send the header Authorization: Bearer TOKEN")
INTERNAL = RequestError(500, "internal error")
HEADERS = {
    b"content-security-policy": POLICY.encode(),
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-resource-policy": b"same-origin",
    b"cache-control": b"no-store",
}


class Guard:
    """The middleware."""

    def __init__(
        self, app: ASGIApp, metrics: Metrics, paths: set[str], token: str | None, log_requests: bool
    ) -> None:
        self.app, self.metrics, self.paths, self.log_requests = app, metrics, paths, log_requests
        self.token = None if token is None else f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, whatever happens."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begin, status = time.perf_counter(), 0

        async def send_guarded(message: MutableMapping[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status, given = message["status"], {name.lower() for name, _ in message["headers"]}
                message["headers"] += [pair for pair in HEADERS.items() if pair[0] not in given]
            await send(message)

        try:
            answer = self.app if self._is_allowed(scope) else error_answer(scope, UNAUTHORIZED)
            await answer(scope, receive, send_guarded)
        except ClientDisconnect:
            status = 499
        except Exception as error:
            log(f"error: {_describe(error)}")
            if not status:
                await error_answer(scope, INTERNAL)(scope, receive, send_guarded)
        self._record(scope, status, time.perf_counter() - begin)

    def _is_allowed(self, scope: Scope) -> bool:
        if self.token is None or scope["path"] in OPEN_PATHS:
            return True
        given = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
        return hmac.compare_digest(given, self.token)

    def _record(self, scope: Scope, status: int, seconds: float) -> None:
        path = scope["path"] if scope["path"] in self.paths else "other"  # a path may hold a text, too
        texts, client = scope.get("state", {}).get("texts", 0), (scope.get("client") or ("-",))[0]
        self.metrics.count_request(path, status, seconds)
        if self.log_requests:
            log(f"{client} {_method(scope)} {path} {status} texts={texts} {seconds * 1000:.1f} ms")


def error_answer(scope: Scope, error: RequestError) -> Response:
    """An error as the clients of a route know it."""
    content: dict[str, Any] = {"error": error.message, "error_type": error.kind, "code": error.code}
    if scope["path"].startswith("/v1/"):
        about = {"message": error.message, "type": error.kind, "param": None, "code": error.status}
        content = {"error": about}
    headers = {429: {"retry-after": "1"}, 401: {"www-authenticate": "Bearer"}}.get(error.status)
    return Response(json.dumps(content), error.status, headers, "application/json")


async def refuse(request: Request, error: Exception) -> Response:
    """The answer to a request that asks for what it may not."""
    assert isinstance(error, RequestError)
    return error_answer(request.scope, error)


async def refuse_path(request: Request, error: Exception) -> Response:
    """The answer to a path or method that there is not."""
    assert isinstance(error, HTTPException)
    messages = {404: "no such route; GET /docs lists them", 405: "this route takes another method; see /docs"}
    message = messages.get(error.status_code, "the request was refused")
    answer = error_answer(request.scope, RequestError(error.status_code, message))
    answer.headers.update(error.headers or {})
    return answer


def _method(scope: Scope) -> str:
    known = ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH")
    return scope["method"] if scope["method"] in known else "other"


def _describe(error: BaseException) -> str:
    """The type of an error and where it was raised; its message may hold a text."""
    where = extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} at {Path(where.filename).name}:{where.lineno}"
