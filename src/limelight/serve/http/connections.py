"""Connections: how many there may be, how long they may wait for their clients, how large headers may be."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from .metrics import SeldomLog

HEAD_SECONDS = 10.0
HEAD_BYTES = 2**16
SEND_SECONDS = 30.0  # for a client to read its answer
MAX_PIPELINED = 64  # requests that wait for the one before them on the same connection
OWN_FILES = 32  # files a server has open beside its connections


def allow_connections(wanted: int) -> int:
    """How many connections the process has files for; raises its soft limit on open files as far as needed.

    Two thirds of the files are for connections that are accepted before those they replace are closed.
    """
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return wanted
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = 3 * wanted + OWN_FILES
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return wanted
    more = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    with suppress(ValueError, OSError):  # some systems have a limit of their own below the hard one
        resource.setrlimit(resource.RLIMIT_NOFILE, (more, hard))
        soft = more
    return max(1, min(wanted, (soft - OWN_FILES) // 3))


def backlog_for(connections: int) -> int:
    """Connections accepted at once: four times as many may be open before the first of them is counted."""
    return max(1, connections // 2)


class Connections:
    """The connections of a server. Beyond `most`, the one that has waited longest for its client is closed.

    So a flood of idle connections closes its own, and a client that sends its request at once is answered.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._open: set[TimeoutProtocol] = set()
        self._waiting: dict[TimeoutProtocol, None] = {}  # for a request, those that wait longest first
        self._unfinished: dict[TimeoutProtocol, None] = {}  # the same, for the rest of a body, or to be read
        self._log = SeldomLog()

    def opened(self, connection: TimeoutProtocol) -> None:
        """Count a new one; it waits for its client."""
        self._open.add(connection)
        self.waits(connection)
        if len(self._open) > self.most:
            self._log(f"{self.most:,} connections are open, as many as there may be: closing idle ones")
            others = [*islice(self._waiting, 2), *islice(self._unfinished, 1)]  # the new one waits, too
            longest = next((each for each in others if each is not connection), connection)
            self.closed(longest)
            longest.transport.abort()

    def waits(self, connection: TimeoutProtocol, unfinished: bool = False) -> None:
        """It is the client's turn: to send, or to read; one in the middle of a request is closed last."""
        self.works(connection)
        if connection in self._open:
            (self._unfinished if unfinished else self._waiting)[connection] = None

    def works(self, connection: TimeoutProtocol) -> None:
        """It is the server's turn."""
        self._waiting.pop(connection, None)
        self._unfinished.pop(connection, None)

    def closed(self, connection: TimeoutProtocol) -> None:
        """Forget one."""
        self._open.discard(connection)
        self.works(connection)


class TimeoutProtocol(HttpToolsProtocol):
    """Closes a connection whose headers take too long or are too large, or whose answers are not read.

    Bodies have limits of their own (held_bodies.py); what is left of a body that was refused is read and
    dropped, so that the client sees the answer, but not for longer than headers may take.
    """

    _in_head, _head_bytes = True, 0
    _answered: RequestResponseCycle | None = None  # the request that is being answered

    def __init__(self, *args: Any, open_connections: Connections, **options: Any) -> None:
        super().__init__(*args, **options)
        self._all, self._sending, self._reading = open_connections, _Timer(self.loop), _Timer(self.loop)

    # ------------------------------------------------------------ connections

    def connection_made(self, transport: Any) -> None:
        """A client that connects and sends nothing is closed, too."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=0)  # so that it is known when all of an answer was read
        self._sending.start(HEAD_SECONDS, self.transport.close)
        self._all.opened(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing to wait for."""
        self._all.closed(self)
        self._sending.stop()
        self._reading.stop()
        if self._answered is not None and not self._answered.response_complete:
            self._answered.disconnected = True  # uvicorn says so only to the newest of pipelined requests
            self._answered.message_event.set()
        super().connection_lost(exc)

    # ------------------------------------------------------------ requests

    def data_received(self, data: bytes) -> None:
        """Count what comes before the end of the headers."""
        super().data_received(data)
        self._expect_request()
        self._head_bytes = self._head_bytes + len(data) if self._in_head else 0
        if self._head_bytes > HEAD_BYTES or len(self.pipeline) > MAX_PIPELINED:
            self.transport.close()

    def _expect_request(self) -> None:
        """Blank lines between requests stop uvicorn's timer, and begin nothing."""
        idle = self.cycle is not None and self.cycle.response_complete and not self.cycle.more_body
        if idle and not self._in_head and not self._sending.runs:
            self._sending.start(HEAD_SECONDS, self.transport.close)

    def on_message_begin(self) -> None:
        """Headers begin."""
        super().on_message_begin()
        self._in_head = True
        self._sending.start(HEAD_SECONDS, self.transport.close)

    def on_headers_complete(self) -> None:
        """Headers end."""
        self._in_head = False
        self._sending.stop()
        if self.cycle is None or self.cycle.response_complete:
            self._all.waits(self, unfinished=True)
        if len(self.pipeline) <= MAX_PIPELINED:
            super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The whole request is there."""
        super().on_message_complete()
        if not self.cycle.response_complete:
            self._all.works(self)

    # ------------------------------------------------------------ answers

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._answered = cycle
        super()._start_asgi_task(cycle, app)

    def on_response_complete(self) -> None:
        """A body that was not read to its end must end soon."""
        following = self.pipeline[-1][0] if self.pipeline else None
        if following is None or following.more_body:
            self._all.waits(self, unfinished=following is not None or self.flow.write_paused)
        super().on_response_complete()
        if following is None and self.cycle.more_body:
            self._sending.start(HEAD_SECONDS, self.transport.close)

    def pause_writing(self) -> None:
        """The client has an answer to read."""
        super().pause_writing()
        self._all.waits(self, unfinished=True)
        self._reading.start(SEND_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """It has read all of it."""
        super().resume_writing()
        self._reading.stop()
        if self.cycle is not None and not self.cycle.response_complete:
            self._all.works(self)
        elif not self.pipeline:
            self._all.waits(self)


class _Timer:
    """How long a client may still take."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._handle: asyncio.TimerHandle | None = None

    @property
    def runs(self) -> bool:
        return self._handle is not None

    def start(self, seconds: float, call: Callable[[], object]) -> None:
        self.stop()
        self._handle = self._loop.call_later(seconds, call)

    def stop(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
