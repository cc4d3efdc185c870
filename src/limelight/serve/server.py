"""Runs the application with uvicorn: one process, or several workers that a parent keeps alive."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from ipaddress import ip_address
from typing import Any

import uvicorn

from ..errors import LimelightError
from ..runtime.model import Model
from ..runtime.reader import load
from ..text.parallel import count_cores
from .app import create_app
from .connections import Connections, TimeoutProtocol, allow_connections, backlog_for
from .explored import ExploredData
from .guard import check_token
from .limits import Limits
from .metrics import log
from .neighbours import Neighbours
from .supervisor import Supervisor

STOP_SECONDS = 30  # for requests in progress when the server is stopped
HANG_SECONDS = 30  # without a sign of life from a worker that was ready, until another takes its place


def serve(
    models: Mapping[str, str], *, host: str = "127.0.0.1", port: int = 8000, workers: int = 1,
    threads: int | None = None, token: str | None = None, hosts: Sequence[str] = (),
    limits: Limits | None = None, **options: Any,
) -> None:  # fmt: skip
    """Serve until SIGINT or SIGTERM; requests in progress are answered first.

    `threads` are those of a worker, `hosts` names that clients know it by, beside `host`; the other options
    are those of `create_app`.
    """
    check_token(token)
    limits = limits or Limits()
    options |= {"token": token, "hosts": [host, *hosts], "limits": limits}
    with ExitStack() as stack:
        listening = stack.enter_context(listen(host, port))
        make_app = partial(create_app, models, threads=threads, **options)
        if workers > 1:
            for folder in models.values():  # a worker could not say what is wrong in one line
                load(folder, precision=options.get("precision", "float32"))
            shared = stack.enter_context(tempfile.TemporaryDirectory())
            share = threads or max(1, count_cores() // workers)
            make_app = partial(_make_in_worker, partial(make_app, threads=share, metrics_folder=shared))
        config = configure(make_app if workers > 1 else make_app(), workers, limits.connections)
        address = f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}"
        processes = f"{workers} processes" if workers > 1 else "1 process"
        log(f"serving {address} with {processes}; Ctrl-C stops")
        if token is None and not is_loopback(listening):
            log(f"warning: anyone who can reach {host} can use these models; set LIMELIGHT_TOKEN to a secret")
        if workers > 1:
            Supervisor(config, [listening]).run()
        else:
            run_one(config, listening)


def _make_in_worker(make_app: Callable[[], Any]) -> Any:
    """The application; a folder may have been damaged since the parent looked."""
    try:
        return make_app()
    except LimelightError as error:
        log(f"error: {error}")
        raise SystemExit(1) from None


def explore(
    models: Mapping[str, Model], show: Callable[[str], object], *, data: ExploredData | None = None,
    near: Neighbours | None = None, port: int = 0,
) -> None:  # fmt: skip
    """Serve the explorer to this machine until Ctrl-C; `show` gets its address, with a random token in it.

    The token stands after #: a browser sends that to nobody.

    >>> explore({"model": model}, webbrowser.open)  # doctest: +SKIP
    """
    token = secrets.token_urlsafe(24)
    app = create_app(models, token=token, hosts=(), data=data, near=near, log_requests=False)
    with listen("127.0.0.1", port) as listening:
        show(f"http://127.0.0.1:{listening.getsockname()[1]}/#token={token}")
        run_one(configure(app), listening)


def configure(app: Any, workers: int = 1, connections: int = 1024) -> uvicorn.Config:
    """How uvicorn runs the application, or with several workers the function that makes it."""
    connections = allow_connections(connections)
    protocol: Any = partial(TimeoutProtocol, open_connections=Connections(connections))
    return uvicorn.Config(
        app, factory=workers > 1, workers=workers, http=protocol, ws="none", lifespan="on",
        backlog=backlog_for(connections),
        log_config=None, log_level="error", access_log=False, server_header=False,
        timeout_graceful_shutdown=STOP_SECONDS, timeout_worker_healthcheck=HANG_SECONDS,
    )  # fmt: skip


def run_one(config: uvicorn.Config, listening: socket.socket) -> None:
    """Run in this process until SIGINT or SIGTERM."""
    with ExitStack() as stack:
        for each in (signal.SIGINT, signal.SIGTERM):  # uvicorn raises them again when it has stopped
            stack.callback(signal.signal, each, signal.signal(each, lambda *_: None))
        uvicorn.Server(config).run([listening])


def listen(host: str, port: int) -> socket.socket:
    """A socket that takes connections, before any model is loaded: a port in use is known at once."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol named, asyncio turns off Nagle's algorithm, which would hold small answers for 40 ms.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":  # elsewhere it would let two servers share a port
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen()  # uvicorn listens again, with our backlog
    except (OSError, OverflowError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        listening.close()
        fault = f"cannot listen on {host}:{port}: {reason}; give another --host or --port"
        raise LimelightError(fault, code="cannot-listen") from error
    listening.set_inheritable(True)
    return listening


def is_loopback(listening: socket.socket) -> bool:
    """Whether only this machine can connect."""
    return ip_address(listening.getsockname()[0].partition("%")[0]).is_loopback
