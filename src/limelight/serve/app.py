"""The application: routes, pages, and one guard around them."""

import asyncio
import json
import os
import socket
import time
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from .api.batching import BATCH_WORDS
from .api.models import ServedModels, Source
from .api.openapi import document
from .api.routes import FIELDS, Routes
from .api.searching import FIELDS as INDEX_FIELDS
from .api.searching import IndexRoutes
from .explorer.explored import ExploredData, Neighbours
from .explorer.routes import Explorer
from .http.guard import check_token, describe_error, guarded
from .http.limits import Limits
from .http.metrics import Metrics, check_log_format, log
from .http.posts import Posts


def create_app(
    models: Mapping[str, Source], *, limits: Limits | None = None, batch_words: int = BATCH_WORDS,
    token: str | None = None, hosts: Collection[str] | None = None, with_page: bool = True,
    routes: Sequence[BaseRoute] = (), precision: str = "float32", threads: int | None = None,
    metrics_folder: str | Path | None = None, data: ExploredData | None = None,
    near: Neighbours | None = None, log_requests: bool = True, index: str | Path | None = None,
    writable: bool = False,
) -> Starlette:  # fmt: skip
    """An ASGI application that serves models by name, each a folder, "reader", or a model that is loaded.

    With `token`, requests must send `Authorization: Bearer TOKEN`. With `hosts`, their Host must be one of
    these names, localhost or an address. `routes` come before ours, so that one for "/" takes the place of
    the explorer, which shows `data` and what is `near`. `index` is the folder of an index to search, and to
    add to if it is `writable`. `app.state.models` has what is served.

    >>> create_app({"reader": "reader"}).state.models.names
    ['reader']
    """
    check_token(token)  # before the models are loaded
    check_log_format()
    limits, metrics = limits or Limits(), Metrics(metrics_folder)
    served = ServedModels(models, metrics, limits, batch_words, precision=precision, threads=threads)
    posts = Posts(limits)
    found = IndexRoutes(index, posts, writable, metrics) if index is not None else None
    ours = Routes(served, posts, metrics, batch_words, precision, found.served if found else None).all()
    ours += found.all() if found else []

    async def show_document(request: Request) -> Response:
        return Response(json.dumps(document(ours, FIELDS | INDEX_FIELDS)), media_type="application/json")

    every = [*routes, *ours, Route("/openapi.json", show_document)]
    if with_page:  # at / is the explorer; without a model that it can show, what the routes are
        explorer = Explorer(served, posts, data, near)
        every += explorer.routes() if explorer.shown() else [Route("/", show_document)]
    app = guarded(every, metrics, token=token, hosts=hosts, log_requests=log_requests, lifespan=_lifespan)
    app.state.models, app.state.metrics, app.state.log_requests = served, metrics, log_requests
    return app


@asynccontextmanager
async def _lifespan(app: Starlette) -> AsyncIterator[None]:
    async def save_metrics() -> None:
        while True:
            with suppress(OSError):  # a full disk
                app.state.metrics.save()
            await asyncio.sleep(1)

    loop = asyncio.get_running_loop()
    if loop.get_exception_handler() is None:  # asyncio's own writes a trace, for each connection in a flood
        loop.set_exception_handler(_report)
    tasks = [asyncio.create_task(each) for each in (app.state.models.watch(), save_metrics())]
    if app.state.log_requests:
        log(f"ready: {', '.join(app.state.models.names)}")
    _tell_systemd()
    yield
    for task in tasks:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def _tell_systemd() -> None:
    """Say that the server answers to whoever started it and waits for that: a unit of `Type=notify`."""
    if address := os.environ.get("NOTIFY_SOCKET", ""):
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
            channel.sendto(b"READY=1", address.replace("@", "\0", 1) if address[0] == "@" else address)


@lru_cache(64)
def _log_seldom(fault: str, minute: float) -> None:
    """Once in a minute, however often it happens."""
    log(f"error: {fault}")


def _report(_: Any, context: dict[str, Any]) -> None:
    """Log what asyncio says went wrong, without what an exception may hold of a text."""
    error = context.get("exception")
    fault = f"{context['message']}{f', {describe_error(error)}' if error else ''}"
    _log_seldom(fault, time.monotonic() // 60)
