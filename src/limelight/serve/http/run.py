"""Runs an application with uvicorn in this process, on a socket that is open before anything is loaded."""

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

HEAD_SECONDS, HEAD_BYTES = 10.0, 2**16  # for the headers of a request, of which uvicorn takes any number
READ_SECONDS = 30.0  # for a client to read a part of its answer: few large ones are in memory at once
STOP_SECONDS = 30  # for requests in progress when the server is stopped
HANG_SECONDS = 30  # without a sign of life from a worker, until another takes its place


class PatientProtocol(HttpToolsProtocol):
    """Closes a connection whose client does not send all of its headers, or sends too many, or does not read
    its answer. Against a thousand connections there must be a proxy in front.
    """

    _head: asyncio.TimerHandle | None = None  # while headers may come
    _head_bytes = 0
    _reading: asyncio.TimerHandle | None = None  # while the client has something to read

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._head = self.loop.call_later(HEAD_SECONDS, transport.close)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._stop()
        self._head = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._head_bytes = self._head_bytes + len(data) if self._head else 0
        if self._head_bytes > HEAD_BYTES:
            self.transport.close()

    def on_headers_complete(self) -> None:
        self._stop()
        super().on_headers_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._reading = self.loop.call_later(READ_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._reading is not None:
            self._reading.cancel()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        self.resume_writing()
        super().connection_lost(exc)

    def _stop(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None


def configure(app: Any, workers: int = 1, connections: int = 1024) -> uvicorn.Config:
    """How uvicorn runs the application, or with several workers the function that makes it."""
    return uvicorn.Config(
        app, factory=workers > 1, workers=workers, http=PatientProtocol, ws="none", lifespan="on",
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
