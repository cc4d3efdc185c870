"""HTTP connections that do not wait for ever: uvicorn's, with a limit on the time and size of headers."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_SECONDS = 10.0
HEAD_BYTES = 2**16
SEND_SECONDS = 60.0  # for a client to read its answer


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
