"""Runs the application with uvicorn: one process, or several workers that a parent keeps alive.

Its connections do not wait for ever: the time and size of headers have a limit.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import socket
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.supervisors.multiprocess import Multiprocess

from ..errors import LimelightError
from ..runtime.model import Model
from ..runtime.reader import load
from ..runtime.runner import count_cores
from .app import create_app
from .explored import ExploredData
from .metrics import log
from .neighbours import Neighbours

STOP_SECONDS = 30  # for requests in progress when the server is stopped
HEAD_SECONDS = 10.0
HEAD_BYTES = 2**16
SEND_SECONDS = 60.0  # for a client to read its answer


def serve(
    models: Mapping[str, str], *, host: str = "127.0.0.1", port: int = 8000, workers: int = 1,
    threads: int | None = None, **options: Any,
) -> None:  # fmt: skip
    """Serve until SIGINT or SIGTERM; requests in progress are answered first.

    `threads` are those of a worker; the other options are those of `create_app`.
    """
    with ExitStack() as stack:
        listening = stack.enter_context(listen(host, port))
        make_app = partial(create_app, models, threads=threads, **options)
        if workers > 1:
            for folder in models.values():  # a worker could not say what is wrong in one line
                load(folder, precision=options.get("precision", "float32"))
            shared = stack.enter_context(tempfile.TemporaryDirectory())
            share = threads or max(1, count_cores() // workers)
            make_app = partial(make_app, threads=share, metrics_folder=shared)
        config = configure(make_app if workers > 1 else make_app(), workers)
        address = f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}"
        processes = f"{workers} processes" if workers > 1 else "1 process"
        log(f"serving {address} with {processes}; Ctrl-C stops")
        if workers > 1:
            Multiprocess(config, [listening]).run()
        else:
            _run_one(config, listening)


def explore(
    models: Mapping[str, Model], show: Callable[[str], object], *, data: ExploredData | None = None,
    near: Neighbours | None = None, port: int = 0,
) -> None:  # fmt: skip
    """Serve the explorer to this machine until Ctrl-C; `show` gets its address, with a random token in it.

    The token stands after #: a browser sends that to nobody.

    >>> explore({"model": model}, webbrowser.open)  # doctest: +SKIP
    """
    token = secrets.token_urlsafe(24)
    app = create_app(models, token=token, data=data, near=near, log_requests=False)
    with listen("127.0.0.1", port) as listening:
        show(f"http://127.0.0.1:{listening.getsockname()[1]}/#token={token}")
        _run_one(configure(app), listening)


def configure(app: Any, workers: int = 1) -> uvicorn.Config:
    """How uvicorn runs the application, or with several workers the function that makes it."""
    return uvicorn.Config(
        app, factory=workers > 1, workers=workers, http=TimeoutProtocol, ws="none", lifespan="on",
        log_config=None, log_level="error", access_log=False, server_header=False,
        timeout_graceful_shutdown=STOP_SECONDS,
    )  # fmt: skip


def _run_one(config: uvicorn.Config, listening: socket.socket) -> None:
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
        listening.listen(2048)
    except (OSError, OverflowError) as error:
        reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
        listening.close()
        fault = f"cannot listen on {host}:{port}: {reason}; give another --host or --port"
        raise LimelightError(fault, code="cannot-listen") from error
    listening.set_inheritable(True)
    return listening


class TimeoutProtocol(HttpToolsProtocol):
    """Closes a connection whose headers take too long or are too large.

    Bodies have limits of their own (limits.py); what is left of a body that was refused is read and dropped,
    so that the client sees the answer, but not for longer than headers may take.
    """

    _deadline: asyncio.TimerHandle | None = None
    _in_head, _head_bytes = True, 0

    def connection_made(self, transport: Any) -> None:
        """A client that connects and sends nothing is closed, too."""
        super().connection_made(transport)
        self._expect()

    def data_received(self, data: bytes) -> None:
        """Count what comes before the end of the headers."""
        super().data_received(data)
        self._head_bytes = self._head_bytes + len(data) if self._in_head else 0
        if self._head_bytes > HEAD_BYTES:
            self.transport.close()

    def on_message_begin(self) -> None:
        """Headers begin."""
        super().on_message_begin()
        self._in_head = True
        self._expect()

    def on_headers_complete(self) -> None:
        """Headers end."""
        self._in_head = False
        self._forget()
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        """A body that was not read to its end must end soon."""
        super().on_response_complete()
        if self.cycle.more_body:
            self._expect()

    def timeout_keep_alive_handler(self) -> None:
        """Close an idle connection; a client that does not read its answer is cut off."""
        super().timeout_keep_alive_handler()
        self.loop.call_later(SEND_SECONDS, self.transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing to wait for."""
        self._forget()
        super().connection_lost(exc)

    def _expect(self) -> None:
        self._forget()
        self._deadline = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _forget(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
