"""The server as a process: clients that misbehave, workers that are killed, the end."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from starlette.applications import Starlette

import trained
from limelight.serve import Limits, create_app
from limelight.serve.http.posts import LARGE_REQUESTS, Posts
from serve.fuzzing import attack
from serve.live import PATIENCE, ROOT, command, in_thread, request, status_of, talk

GOOD = request("/predict", {"inputs": "w1 w2"})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained.save(tmp_path_factory.mktemp("served") / "model")


@pytest.fixture(scope="module")
def server(folder, tmp_path_factory):
    log = tmp_path_factory.mktemp("log") / "log"
    with command(log, folder) as process:
        yield process
    said = log.read_text()
    assert "Traceback" not in said
    assert " error: " not in said


def is_well(port: int) -> bool:
    return status_of(talk(port, GOOD)) == 200


def test_fuzzed_requests_get_an_answer_or_are_closed(folder, monkeypatch, capfd):
    monkeypatch.setattr("limelight.serve.http.run.HEAD_SECONDS", 0.05)
    with in_thread(create_app({"model": folder}, limits=Limits(seconds=0.05))) as port:
        statuses = attack(port, 200, seed=0)
    assert {200, 400, 404, 405, 413, 422} <= set(statuses)
    said = capfd.readouterr().err
    assert "Traceback" not in said
    assert " error: " not in said


def test_large_bodies_and_many_words_are_refused(server):
    large = request("/predict", b'{"inputs": "' + b"w" * 50_000_000 + b'"}')
    assert status_of(talk(server.port, large)) in (413, 0)  # 0: the answer was lost as we were still sending
    answer = talk(server.port, request("/predict", {"inputs": "w1 " * 100_000}))
    assert (status_of(answer), b"more than 16,384 words" in answer) == (413, True)
    assert is_well(server.port)


def test_clients_that_leave_are_not_missed(server):
    for part in (GOOD[:10], GOOD[:-5], GOOD):
        for _ in range(20):
            with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as connection:
                connection.sendall(part)
    assert is_well(server.port)


@pytest.mark.parametrize(
    "part", [b"", b"POST /predict HT", b"GET /health HTTP/1.1\r\n" + b"X: y\r\n" * 99, GOOD[:-5]]
)
def test_clients_that_never_finish_are_closed(folder, monkeypatch, part):
    monkeypatch.setattr("limelight.serve.http.run.HEAD_SECONDS", 0.05)
    with in_thread(create_app({"model": folder}, limits=Limits(seconds=0.05))) as port:
        answer = talk(port, part)
        assert status_of(answer) == (408 if part == GOOD[:-5] else 0)
        assert is_well(port)


def test_headers_without_end_are_closed_at_once(folder, monkeypatch):
    monkeypatch.setattr("limelight.serve.http.run.HEAD_SECONDS", 2 * PATIENCE)
    with in_thread(create_app({"model": folder})) as port:
        assert status_of(talk(port, b"GET /health HTTP/1.1\r\nX: " + b"y" * 2**20)) == 0
        assert is_well(port)


def test_clients_that_do_not_read_large_answers_make_room_for_others(monkeypatch):
    monkeypatch.setattr("limelight.serve.http.run.READ_SECONDS", 0.05)
    posts = Posts(Limits())

    async def answer(request, body):
        await posts.wait_as_large(request)
        return "x" * body["size"]

    with in_thread(Starlette(routes=[posts.route("/large", answer)])) as port, ExitStack() as stack:
        for _ in range(LARGE_REQUESTS):
            idle = stack.enter_context(socket.create_connection(("127.0.0.1", port), PATIENCE))
            idle.sendall(request("/large", {"size": 2**24}))
        assert status_of(talk(port, request("/large", {"size": 1}))) == 200


def test_a_port_in_use_is_one_line(server, folder):
    argv = [sys.executable, "-m", "limelight", "serve", str(folder), "--port", str(server.port)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    found = subprocess.run(
        argv, capture_output=True, text=True, env=environment, timeout=PATIENCE, check=False
    )
    assert (found.returncode, found.stderr.count("\n")) == (2, 1)
    assert str(server.port) in found.stderr


def test_requests_in_progress_are_answered_before_the_end(folder, tmp_path):
    with command(tmp_path / "log", folder) as server:
        with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as connection:
            connection.sendall(GOOD[:-5])
            talk(server.port, GOOD)  # so that the first connection was accepted, too
            ended = threading.Thread(target=server.stop, args=(signal.SIGINT,))
            ended.start()
            with suppress(ConnectionError):
                while True:  # until it takes no more connections
                    socket.create_connection(("127.0.0.1", server.port), PATIENCE).close()
            connection.sendall(GOOD[-5:])
            assert status_of(connection.recv(2**16)) == 200
        ended.join(PATIENCE)
        assert server.process.returncode == 0


def test_a_killed_worker_is_replaced(folder, tmp_path):
    with command(tmp_path / "log", folder, "--workers", 2) as server:
        server.wait_for("ready:", 2)
        children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split()
        workers = [
            int(each) for each in children if b"spawn_main" in Path(f"/proc/{each}/cmdline").read_bytes()
        ]
        assert len(workers) == 2
        os.kill(workers[0], signal.SIGKILL)
        server.wait_for("ready:", 3)
        assert all(is_well(server.port) for _ in range(10))
        counts = talk(server.port, request("/metrics", b"", method="GET")).decode()
        total = json.loads(counts.split('route="/predict",status="200"} ')[1].splitlines()[0])
        assert 1 <= total <= 10  # what the other worker has not saved yet is missing


def test_what_asyncio_complains_about_is_one_line_however_often(folder, capfd):
    app = create_app({"model": folder}, log_requests=False)

    async def main() -> None:
        async with app.router.lifespan_context(app):
            try:
                raise OSError(24, "Too many open files: private")
            except OSError as error:
                context = {"message": "socket.accept() out of system resource", "exception": error}
            for _ in range(100):
                asyncio.get_running_loop().call_exception_handler(context)

    asyncio.run(main())
    said = capfd.readouterr().err
    assert said.count("out of system resource, OSError at test_server.py") == 1
    assert "Traceback" not in said
    assert "private" not in said


def test_more_connections_than_there_may_be_are_told_so(folder):
    with in_thread(create_app({"model": folder}), connections=1) as port:
        with socket.create_connection(("127.0.0.1", port), PATIENCE):
            assert status_of(talk(port, GOOD)) == 503
        assert is_well(port)
