"""A server on a port of its own: in a thread, or as the command in a process."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import uvicorn

from limelight.serve.server import configure, listen

ROOT = Path(__file__).parents[2]
PATIENCE = 60.0  # seconds: only a server that hangs takes as long


@contextmanager
def in_thread(app: Any, connections: int = 1024, port: int = 0) -> Iterator[int]:
    """The port of a server in this process."""
    listening = listen("127.0.0.1", port)
    server = uvicorn.Server(configure(app, connections=connections))
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    try:
        yield listening.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
        assert not thread.is_alive()


class Process:
    """`limelight serve` in a process, and what it says."""

    def __init__(self, log: Path, *argv: object) -> None:
        self.log = log
        command = [sys.executable, "-m", "limelight", "serve", *map(str, argv), "--port", "0"]
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
        with log.open("w") as file:
            self.process = subprocess.Popen(command, stderr=file, env=environment)
        self.port = int(self.wait_for(r"http://\S+?:(\d+)")[1])
        self.wait_for("ready:")

    def wait_for(self, pattern: str, count: int = 1) -> re.Match[str]:
        """The first match in what it says, once there are `count`."""
        for _ in range(int(PATIENCE * 20)):
            found = list(re.finditer(pattern, self.log.read_text()))
            if len(found) >= count:
                return found[0]
            assert self.process.poll() is None, self.log.read_text()
            time.sleep(0.05)
        raise AssertionError(f"no {pattern!r} in {self.log.read_text()}")

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Its exit code."""
        self.process.send_signal(how)
        return self.process.wait(PATIENCE)


@contextmanager
def command(log: Path, *argv: object) -> Iterator[Process]:
    server = Process(log, *argv)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            assert server.stop() == 0


def talk(port: int, data: bytes) -> bytes:
    """Send bytes over a new connection and read until the server closes it."""
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as connection:
        received = b""
        with suppress(ConnectionError):  # closed while we were still sending
            connection.sendall(data)
        with suppress(ConnectionError):
            while piece := connection.recv(2**16):
                received += piece
        return received


def request(
    path: str, body: bytes | dict, *headers: str, method: str = "POST", length: int | None = None
) -> bytes:
    """The bytes of a request, after which the connection is closed."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [
        f"{method} {path} HTTP/1.1",
        "Host: 127.0.0.1",
        "Connection: close",
        "Content-Type: application/json",
        *headers,
    ]
    lines.append(f"Content-Length: {len(content) if length is None else length}")
    return "\r\n".join([*lines, "", ""]).encode() + content


def status_of(answer: bytes) -> int:
    """The status of an answer; 0 if there is none."""
    answer = answer.removeprefix(b"HTTP/1.1 100 Continue\r\n\r\n")
    return int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/1.1 ") else 0
