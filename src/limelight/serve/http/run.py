"""Runs an application with uvicorn in this process, on a socket that is open before anything is loaded."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from ipaddress import ip_address
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ...errors import LimelightError

HEAD_SECONDS = 10.0  # for the headers of a request
STOP_SECONDS = 30  # for requests in progress when the server is stopped
HANG_SECONDS = 30  # without a sign of life from a worker, until another takes its place


class HeadTimeout(HttpToolsProtocol):
    """Closes a connection whose client connects and sends no headers, or not all of them.

    What else a slow client may do (not read its answer, open a thousand connections) is for a proxy in front.
    """

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._timer = self.loop.call_later(HEAD_SECONDS, transport.close)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._stop()
        self._timer = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def on_headers_complete(self) -> None:
        self._stop()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        super().connection_lost(exc)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()


def configure(app: Any, workers: int = 1, connections: int = 1024) -> uvicorn.Config:
    """How uvicorn runs the application, or with several workers the function that makes it."""
    return uvicorn.Config(
        app, factory=workers > 1, workers=workers, http=HeadTimeout, ws="none", lifespan="on",
        limit_concurrency=connections + 1,  # that is how many are too many
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


@contextmanager
def address_shown(doing: str, browser: bool = True) -> Iterator[Callable[[str], None]]:
    """Prints an address, and opens it by way of a page that only this user can read, until the block ends.

    The command line of a browser is there for all users of the machine to see; the address has the token.
    """
    with TemporaryDirectory(prefix="limelight-") as folder:

        def show(url: str) -> None:
            print(f"{doing} at {url}\nCtrl-C ends", flush=True)
            if browser:
                page = Path(folder, "open.html")
                page.touch(mode=0o600)
                page.write_text(f'<!doctype html><meta http-equiv="refresh" content="0; url={url}">')
                webbrowser.open(page.as_uri())

        yield show
