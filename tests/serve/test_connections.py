"""Connections: how many there may be, and for how long they wait for a client."""

from __future__ import annotations

import asyncio
import resource
import socket
from contextlib import ExitStack
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from uvicorn.server import ServerState

import limelight
import trained
from limelight.serve import create_app
from limelight.serve.http.connections import (
    HEAD_SECONDS,
    MAX_PIPELINED,
    OWN_FILES,
    SEND_SECONDS,
    Connections,
    TimeoutProtocol,
    allow_connections,
    backlog_for,
)
from limelight.serve.server import configure
from serve.live import PATIENCE, in_thread, request, status_of, talk


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    model = limelight.Model.load(trained.save(tmp_path_factory.mktemp("model") / "stars"))
    return create_app({"stars": model})


def connection() -> Mock:
    return Mock(spec=["transport"])


def closed(*given: Mock) -> list[bool]:
    return [each.transport.abort.called for each in given]


def test_beyond_the_limit_the_one_that_waits_longest_is_closed():
    connections, (a, b, c, d) = Connections(2), (connection() for _ in range(4))
    connections.opened(a)
    connections.opened(b)
    connections.works(a)
    connections.waits(a)  # answered: b waits longer now
    connections.opened(c)
    assert closed(a, b, c) == [False, True, False]
    connections.closed(a)
    connections.opened(d)
    assert closed(a, c, d) == [False, False, False]


def test_a_connection_that_is_being_answered_is_not_closed_for_a_new_one():
    connections, (a, b) = Connections(1), (connection() for _ in range(2))
    connections.opened(a)
    connections.works(a)
    connections.opened(b)
    assert closed(a, b) == [False, True]


def test_one_in_the_middle_of_a_request_is_closed_only_if_no_other_is_idle():
    connections, (a, b, c, d) = Connections(2), (connection() for _ in range(4))
    connections.opened(a)
    connections.waits(a, unfinished=True)
    connections.opened(b)
    connections.opened(c)
    assert closed(a, b, c) == [False, True, False]
    connections.waits(c, unfinished=True)
    connections.opened(d)
    assert closed(a, c, d) == [True, False, False]


def test_a_flood_of_idle_connections_closes_its_own_and_is_one_line(app, capfd):
    with in_thread(app, connections=4) as port, ExitStack() as stack:
        for _ in range(20):
            stack.enter_context(socket.create_connection(("127.0.0.1", port), PATIENCE))
            assert status_of(talk(port, request("/health", b"", method="GET"))) == 200
    assert capfd.readouterr().err.count("4 connections are open") == 1


@pytest.mark.parametrize(
    ("soft", "hard", "raised", "connections"),
    [
        (256, 10**6, 3 * 1000 + OWN_FILES, 1000),
        (256, resource.RLIM_INFINITY, 3 * 1000 + OWN_FILES, 1000),
        (5000, 5000, None, 1000),
        (resource.RLIM_INFINITY, resource.RLIM_INFINITY, None, 1000),
        (128, 128, 128, 32),
        (10, 10, 10, 1),
    ],
)
def test_as_many_connections_as_there_are_files(monkeypatch, soft, hard, raised, connections):
    limits = []
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda kind, given: limits.append(given))
    assert allow_connections(1000) == connections
    assert limits == ([] if raised is None else [(raised, hard)])
    assert connections + 4 * backlog_for(connections) + OWN_FILES <= max(raised or soft, 37) or soft < 0


def test_what_asyncio_complains_about_is_one_line_however_often(app, capfd):
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
    assert said.count("out of system resource, OSError at test_connections.py") == 1
    assert "Traceback" not in said
    assert "private" not in said


def protocol(app) -> tuple[TimeoutProtocol, Mock, Mock]:
    loop, transport = Mock(), Mock()
    transport.is_closing.return_value = False
    loop.create_task.side_effect = lambda task, **_: task.close() or Mock()
    made = TimeoutProtocol(
        config=configure(app), server_state=ServerState(), app_state={}, _loop=loop,
        open_connections=Connections(4),
    )  # fmt: skip
    made.connection_made(transport)
    loop.call_later.reset_mock()
    return made, loop, transport


def test_an_answer_that_is_not_read_is_cut_off(app):
    made, loop, transport = protocol(app)
    transport.set_write_buffer_limits.assert_called_once_with(high=0)
    made.pause_writing()
    loop.call_later.assert_called_once_with(SEND_SECONDS, transport.abort)
    loop.call_later.return_value.cancel.assert_not_called()


def test_an_answer_that_is_read_is_not_cut_off(app):
    made, loop, _ = protocol(app)
    made.pause_writing()
    made.cycle = SimpleNamespace(response_complete=True)
    made.resume_writing()
    loop.call_later.return_value.cancel.assert_called_once_with()


def test_requests_without_end_on_one_connection_are_not_kept(app):
    one = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    with in_thread(app) as port:
        assert talk(port, one * 2000).count(b"HTTP/1.1 200") <= MAX_PIPELINED + 1
        few = talk(port, one * 9 + request("/health", b"", method="GET"))
        assert few.count(b"HTTP/1.1 200") == 10


GET = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
HALF = b"POST /predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{"


def test_half_a_request_behind_a_whole_one_can_be_closed_and_is_not_lost(app):
    """It waits for its client like any other, and only its body's own limit ends it."""
    made, loop, transport = protocol(app)
    made.data_received(GET + HALF)
    first = made._answered
    assert first is not made.cycle
    first.response_complete = True
    loop.call_later.reset_mock()
    made.on_response_complete()
    assert made in made._all._unfinished
    assert made._answered is made.cycle
    loop.call_later.assert_not_called()
    transport.close.assert_not_called()


def test_an_answer_that_is_half_read_is_not_idle(app):
    made, _, _ = protocol(app)
    made.data_received(GET)
    made.pause_writing()
    made.cycle.response_complete = True
    made.on_response_complete()
    assert made in made._all._unfinished
    made.resume_writing()
    assert made in made._all._waiting


def test_a_client_that_leaves_is_noticed_behind_a_pipelined_request(app):
    made, _, _ = protocol(app)
    made.data_received(GET * 2)
    first, second = made._answered, made.cycle
    made.connection_lost(None)
    assert (first.disconnected, second.disconnected) == (True, True)
    assert first.message_event.is_set()


def test_blank_lines_do_not_keep_a_connection_open(app):
    made, loop, transport = protocol(app)
    made.data_received(GET)
    made.cycle.response_complete, made.cycle.more_body = True, False
    made.on_response_complete()
    loop.call_later.reset_mock()
    made.data_received(b"\r\n")
    made.data_received(b"\r\n")
    loop.call_later.assert_called_once_with(HEAD_SECONDS, transport.close)
