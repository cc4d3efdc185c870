"""Runs the application with uvicorn: one process, or several workers that a parent keeps alive."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import uvicorn
from starlette.applications import Starlette
from uvicorn.supervisors.multiprocess import Multiprocess

from ..errors import LimelightError
from ..runtime.model import Model
from ..runtime.reader import load
from ..runtime.runner import count_cores
from .app import create_app
from .batching import BATCH_WORDS
from .explored import ExploredData
from .limits import Limits
from .log import log
from .neighbours import Neighbours
from .protocol import TimeoutProtocol

STOP_SECONDS = 30  # for requests in progress when the server is stopped


@dataclass(frozen=True)
class Settings:
    """Everything that a worker needs to know."""

    models: Mapping[str, str]  # name -> folder
    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    precision: str = "float32"
    threads: int | None = None  # of a worker
    batch_words: int = BATCH_WORDS
    limits: Limits = field(default_factory=Limits)
    token: str | None = field(default=None, repr=False)
    with_page: bool = True
    metrics_folder: str | None = None


def serve(settings: Settings) -> None:
    """Serve until SIGINT or SIGTERM; requests in progress are answered first."""
    if settings.workers == 1:
        _run(settings, listen(settings))
        return
    for folder in settings.models.values():
        load(folder, precision=settings.precision)  # a worker could not say what is wrong in one line
    threads = settings.threads or max(1, count_cores() // settings.workers)
    with tempfile.TemporaryDirectory() as folder:
        _run(replace(settings, threads=threads, metrics_folder=folder), listen(settings))


def explore(
    models: Mapping[str, Model],
    show: Callable[[str], object],
    *,
    data: ExploredData | None = None,
    near: Neighbours | None = None,
    port: int = 0,
) -> None:
    """Serve the explorer to this machine until Ctrl-C; `show` gets its address, with a random token in it.

    The token stands after #: a browser sends that to nobody.

    >>> explore({"model": model}, webbrowser.open)  # doctest: +SKIP
    """
    token = secrets.token_urlsafe(24)
    app = create_app(models, token=token, data=data, near=near, log_requests=False)
    with listen(Settings({}, port=port)) as listening:
        show(f"http://127.0.0.1:{listening.getsockname()[1]}/#token={token}")
        _run_one(configure(app), listening)


def build_app(settings: Settings) -> Starlette:
    """The application of one worker."""
    return create_app(
        settings.models, limits=settings.limits, batch_words=settings.batch_words, token=settings.token,
        with_page=settings.with_page, precision=settings.precision, threads=settings.threads,
        metrics_folder=settings.metrics_folder,
    )  # fmt: skip


def configure(app: Any, workers: int = 1) -> uvicorn.Config:
    """How uvicorn runs the application, or with several workers the function that makes it."""
    return uvicorn.Config(
        app, factory=workers > 1, workers=workers, http=TimeoutProtocol, ws="none", lifespan="on",
        log_config=None, log_level="error", access_log=False, server_header=False,
        timeout_graceful_shutdown=STOP_SECONDS,
    )  # fmt: skip


def _run(settings: Settings, listening: socket.socket) -> None:
    with listening:
        several = settings.workers > 1
        config = configure(partial(build_app, settings) if several else build_app(settings), settings.workers)
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        processes = f"{settings.workers} processes" if several else "1 process"
        log(f"serving http://{host}:{listening.getsockname()[1]} with {processes}; Ctrl-C stops")
        if several:
            Multiprocess(config, [listening]).run()
        else:
            _run_one(config, listening)


def _run_one(config: uvicorn.Config, listening: socket.socket) -> None:
    with ExitStack() as stack:
        for each in (signal.SIGINT, signal.SIGTERM):  # uvicorn raises them again when it has stopped
            stack.callback(signal.signal, each, signal.signal(each, lambda *_: None))
        uvicorn.Server(config).run([listening])


def listen(settings: Settings) -> socket.socket:
    """A socket that takes connections, before any model is loaded: a port in use is known at once."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # With the protocol named, asyncio turns off Nagle's algorithm, which would hold small answers for 40 ms.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":  # elsewhere it would let two servers share a port
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((settings.host, settings.port))
        listening.listen(2048)
    except (OSError, OverflowError) as error:
        reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
        listening.close()
        where = f"{settings.host}:{settings.port}"
        raise LimelightError(
            f"cannot listen on {where}: {reason}; give another --host or --port", code="cannot-listen"
        ) from error
    listening.set_inheritable(True)
    return listening
