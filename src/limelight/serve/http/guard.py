"""Around every request: the host and the token, security headers, errors without a trace, log and metrics."""

import asyncio
import hmac
import json
import re
import secrets
import time
from collections.abc import Collection, MutableMapping, Sequence
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from traceback import extract_tb
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from ...errors import bad_value
from .limits import RequestError
from .metrics import Metrics, log

OPEN_PATHS = {"/", "/openapi.json", "/health", "/ready"}  # without the token: they tell but names
POLICY = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"  # of every answer
UNAUTHORIZED = RequestError(401, "send the header Authorization: Bearer TOKEN")
INTERNAL = RequestError(500, "internal error")
STOPPING = RequestError(503, "the server is shutting down")
MISDIRECTED = RequestError(421, "this server does not answer to this Host; allow it with --allow-host NAME")
METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH")
REQUEST_ID, USUAL_ID = b"x-request-id", re.compile(rb"[\w.:/+=-]{1,128}")  # else an id of ours
HEADERS = {
    b"content-security-policy": POLICY.encode(),
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-resource-policy": b"same-origin",
    b"cache-control": b"no-store",
}


class Guard:
    def __init__(
        self, app: ASGIApp, metrics: Metrics, paths: set[str], token: str | None,
        hosts: Collection[str] | None, log_requests: bool,
    ) -> None:  # fmt: skip
        self.app, self.metrics, self.paths, self.log_requests = app, metrics, paths, log_requests
        self.hosts = None if hosts is None or "*" in hosts else {host.lower() for host in hosts}
        self.token = None if token is None else f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        given = next(iter(_header(scope, REQUEST_ID)), b"")  # by a proxy or the client
        number = given.decode() if USUAL_ID.fullmatch(given) else secrets.token_hex(8)
        begin, status = time.perf_counter(), 0

        async def send_guarded(message: MutableMapping[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status, given = message["status"], {name.lower() for name, _ in message["headers"]}
                message["headers"] += [pair for pair in HEADERS.items() if pair[0] not in given]
                message["headers"].append((REQUEST_ID, number.encode()))
            await send(message)

        try:
            fault = self._fault(scope)
            answer = self.app if fault is None else error_answer(scope, fault)
            await answer(scope, receive, send_guarded)
        except ClientDisconnect:
            status = 499
        except asyncio.CancelledError:  # the server has waited long enough for this answer, and stops
            if not status:
                await error_answer(scope, STOPPING)(scope, receive, send_guarded)
        except Exception as error:
            what = describe_error(error)
            log(f"error: {what}", message=what, id=number)
            if not status:
                await error_answer(scope, INTERNAL)(scope, receive, send_guarded)
        self._record(scope, status, time.perf_counter() - begin, number)

    def _fault(self, scope: Scope) -> RequestError | None:
        if self.hosts is not None and not is_ours(_header(scope, b"host"), self.hosts):
            return MISDIRECTED
        if self.token is None or scope["path"] in OPEN_PATHS:
            return None
        given = next(iter(_header(scope, b"authorization")), b"")
        return None if hmac.compare_digest(given, self.token) else UNAUTHORIZED

    def _record(self, scope: Scope, status: int, seconds: float, number: str) -> None:
        path = scope["path"] if scope["path"] in self.paths else "other"  # a path may hold a text, too
        texts, client = scope.get("state", {}).get("texts", 0), (scope.get("client") or ("-",))[0]
        self.metrics.count_request(path, status, seconds)
        if self.log_requests:
            method, ms = scope["method"], round(seconds * 1000, 1)
            method = method if method in METHODS else "other"
            about = {"client": client, "method": method, "route": path, "status": status, "texts": texts}
            line = f"{client} {method} {path} {status} texts={texts} {ms:.1f} ms id={number}"
            log(line, **about, ms=ms, id=number)


def is_ours(given: Sequence[bytes], names: Collection[str]) -> bool:
    """Whether a request with these Host headers is meant for a server of these names.

    A page of any site can let its own name stand for 127.0.0.1 and then read what a server here answers, but
    the browser still sends that name. Addresses and localhost cannot be made to stand for anything else.
    """
    if len(given) != 1:
        return not given  # every browser sends one; simple clients may not
    name = re.sub(r":\d*$", "", given[0].decode("latin-1")).lower().removesuffix(".")
    if name in names or name == "localhost" or name.endswith(".localhost"):
        return True
    with suppress(ValueError):
        in_brackets = name.startswith("[") and name.endswith("]")
        return (IPv6Address(name[1:-1]) if in_brackets else IPv4Address(name)) is not None
    return False


def check_token(token: str | None) -> None:
    """Raise if it is empty: a variable that was meant to hold one must not leave the server open."""
    if token is not None and not token.strip():
        fault = "the token is empty; give LIMELIGHT_TOKEN a value, or unset it to serve without a token"
        raise bad_value(fault)


def error_answer(scope: Scope, error: RequestError) -> Response:
    """An error as the clients of a route know it."""
    content: dict[str, Any] = {"error": error.message, "error_type": error.kind, "code": error.code}
    if scope["path"].startswith("/v1/"):
        about = {"message": error.message, "type": error.kind, "param": None, "code": error.code}
        content = {"error": about}
    headers = {429: {"retry-after": "1"}, 401: {"www-authenticate": "Bearer"}}.get(error.status)
    return Response(json.dumps(content), error.status, headers, "application/json")


def guarded(
    routes: Sequence[BaseRoute], metrics: Metrics, *, token: str | None, hosts: Collection[str] | None,
    log_requests: bool, **options: Any,
) -> Starlette:  # fmt: skip
    check_token(token)
    paths = {route.path for route in routes if isinstance(route, Route)}
    guard = Middleware(Guard, metrics, paths, token, hosts, log_requests)
    refused: Any = {RequestError: refuse, HTTPException: refuse_path}
    app = Starlette(routes=routes, middleware=[guard], exception_handlers=refused, **options)
    app.router.redirect_slashes = False  # a redirect would repeat a Host that anyone can send
    return app


async def refuse(request: Request, error: Any) -> Response:
    return error_answer(request.scope, error)


async def refuse_path(request: Request, error: Any) -> Response:
    described = any(getattr(route, "path", "") == "/openapi.json" for route in request.app.routes)
    see = "; see /openapi.json" if described else ""
    messages = {404: f"no such route{see}", 405: f"this route takes another method{see}"}
    message = messages.get(error.status_code, "the request was refused")
    answer = error_answer(request.scope, RequestError(error.status_code, message))
    answer.headers.update(error.headers or {})
    return answer


def _header(scope: Scope, name: bytes) -> list[bytes]:
    return [value for each, value in scope["headers"] if each == name]


def describe_error(error: BaseException) -> str:
    """The type of an error and where it was raised; its message may hold a text."""
    where = extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} at {Path(where.filename).name}:{where.lineno}"
