"""How long others wait while clients misbehave, and what it costs the server: one line for each attack.

    python experiments/benchmarks/bad_clients.py                        # all of them, about two minutes
    python experiments/benchmarks/bad_clients.py leaving fair     # some

A server runs in a process of its own, with a model of the preset `small` and random weights. While an attack
lasts, a client asks for /health ten times a second ("health" is its slowest answer) and, where it says
"short", for the prediction of one sentence. MiB is the most memory above that of the idle server.
"""

from __future__ import annotations

import argparse
import http.client
import json
import re
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
from serving import memory_of, save_model

from limelight import bundled

WORDS = 16_000
LONG = {"inputs": ["the soup was cold and so were we " * 8] * (WORDS // 64)}
SHORT = {"inputs": "The soup was cold."}
PATIENCE = 150.0  # seconds


class Server:
    """`limelight serve` in a process, with at most so many open files."""

    def __init__(self, folder: Path, files: int) -> None:
        self.log = tempfile.NamedTemporaryFile("w+")  # noqa: SIM115
        argv = [sys.executable, "-m", "limelight", "serve", f"small={folder}", "--port", "0"]
        limit = (files, files)
        self.process = subprocess.Popen(
            argv, stderr=self.log, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, limit)
        )
        while "ready:" not in self.said():
            assert self.process.poll() is None, self.said()
            time.sleep(0.1)
        self.port = int(re.search(r"http://\S+?:(\d+)", self.said())[1])
        self.idle = memory_of(self.process.pid)

    def said(self) -> str:
        return Path(self.log.name).read_text()

    def ask(self, path: str, body: object = None, timeout: float = PATIENCE) -> tuple[int, float]:
        """The status, 0 if there is none, and the seconds that it took."""
        begin, status = time.perf_counter(), 0
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        with suppress(OSError, http.client.HTTPException):
            content = None if body is None else json.dumps(body)
            headers = {"Content-Type": "application/json"} if content else {}
            connection.request("GET" if body is None else "POST", path, content, headers)
            answer = connection.getresponse()
            answer.read()
            status = answer.status
        connection.close()
        return status, time.perf_counter() - begin

    def connect(self, data: bytes = b"") -> socket.socket:
        """A connection that has sent something, and reads nothing."""
        connection = socket.create_connection(("127.0.0.1", self.port), PATIENCE)
        with suppress(ConnectionError):
            connection.sendall(data)
        return connection


class Watch(threading.Thread):
    """Asks for something again and again, and remembers when it was answered and the most memory."""

    def __init__(self, server: Server, path: str = "/health", body: object = None) -> None:
        super().__init__(daemon=True)
        self.server, self.path, self.body = server, path, body
        self.seconds, self.failures, self.memory, self.done = [], 0, 0.0, False
        self.longest, self._answered = 0.0, time.perf_counter()

    def run(self) -> None:
        while not self.done:
            status, seconds = self.server.ask(self.path, self.body)
            now = time.perf_counter()
            if status == 200:
                self.seconds.append(seconds)
                self.longest, self._answered = max(self.longest, now - self._answered), now
            self.failures += status != 200
            self.memory = max(self.memory, memory_of(self.server.process.pid) - self.server.idle)
            time.sleep(0.1)

    def stop(self) -> str:
        self.done = True
        self.join(PATIENCE)
        self.longest = max(self.longest, time.perf_counter() - self._answered)
        return (
            f"health {max(self.seconds, default=np.inf):.2f} s, unreachable for {self.longest:.1f} s, "
            f"{self.failures} of {self.failures + len(self.seconds)} failed, {self.memory:+.0f} MiB"
        )


def post(path: str, body: object, length: int | None = None) -> bytes:
    content = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(content) if length is None else length}\r\n\r\n".encode() + content


@contextmanager
def watched(server: Server) -> Iterator[list[str]]:
    found, watch = [], Watch(server)
    watch.start()
    yield found
    found.append(watch.stop())


def leaving(server: Server) -> str:
    """60 clients send 16,000 words and leave; then one sentence, and 16,000 words."""
    for connection in [server.connect(post("/predict", LONG)) for _ in range(60)]:
        connection.close()
    time.sleep(0.5)
    both = [threading.Thread(target=lambda body=body: times.append(server.ask("/predict", body)[1]))
            for body in (SHORT, LONG)]  # fmt: skip
    times: list[float] = []
    for each in both:
        each.start()
    for each in both:
        each.join()
    return f"the next client waits {min(times):.2f} s, the next of 16,000 words {max(times):.2f} s"


def words(server: Server) -> str:
    """/explorer/words is asked eight times for the neighbours of a word of 2 MB."""
    with watched(server) as found:
        begin = time.perf_counter()
        body = {"text": "soup " * 400_000}
        _together(8, lambda: server.ask("/explorer/words", body))
        seconds = time.perf_counter() - begin
    return f"answered after {seconds:.1f} s, {found[0]}"


def answers(server: Server) -> str:
    """Four clients ask ten times for answers of many megabytes: /explain of 2,000 words, /embed_all."""
    sentence = "the soup was cold and so were we " * 250
    with watched(server) as found:
        _together(4, lambda: [server.ask("/explain", {"inputs": sentence}) for _ in range(5)])
        _together(4, lambda: [server.ask("/embed_all", {"inputs": ["soup"] * 32}) for _ in range(5)])
    return found[0]


def fair(server: Server) -> str:
    """Four clients send 16,000 words again and again; a fifth sends one sentence at a time, for 20 s."""
    end = time.perf_counter() + 20

    def send() -> None:
        while time.perf_counter() < end:
            counts.append(server.ask("/predict", LONG)[0])

    counts: list[int] = []
    threads = [threading.Thread(target=send) for _ in range(4)]
    for each in threads:
        each.start()
    time.sleep(0.5)
    seconds = []
    while time.perf_counter() < end:
        seconds.append(server.ask("/predict", SHORT)[1])
        time.sleep(0.05)
    for each in threads:
        each.join()
    p50, p95 = np.percentile(seconds, (50, 95))
    return f"short p50 {p50:.3f} s, p95 {p95:.3f} s, n {len(seconds)}; {counts.count(200)} long ones in 20 s"


def _together(count: int, work: Callable[[], object]) -> None:
    threads = [threading.Thread(target=work) for _ in range(count)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()


ATTACKS = {each.__name__: each for each in (leaving, words, answers, fair)}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("attacks", nargs="*", default=list(ATTACKS), help=", ".join(ATTACKS))
    parser.add_argument("--model", default="small", help="preset")
    parser.add_argument("--files", type=int, default=1024, help="files that the server may open")
    args = parser.parse_args()
    wanted = (4096, max(4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    resource.setrlimit(resource.RLIMIT_NOFILE, wanted)
    texts, _ = bundled.sentences("dev")
    with tempfile.TemporaryDirectory() as temporary:
        save_model(args.model, texts, Path(temporary, "small"))
        for name in args.attacks:
            server = Server(Path(temporary, "small"), args.files)
            try:
                print(f"{name}: {ATTACKS[name](server)}", flush=True)
            finally:
                server.process.send_signal(signal.SIGKILL)
                server.process.wait()


if __name__ == "__main__":
    main()
