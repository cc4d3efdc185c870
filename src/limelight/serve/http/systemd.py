"""Tells systemd that the server answers, for a unit of `Type=notify`."""

from __future__ import annotations

import os
import socket
from contextlib import suppress


def tell_systemd(state: str) -> None:
    """Send a state to whoever started this process and waits for it; without one, do nothing.

    >>> tell_systemd("READY=1")
    """
    address = os.environ.get("NOTIFY_SOCKET", "")
    if address:
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
            channel.sendto(state.encode(), address.replace("@", "\0", 1) if address[0] == "@" else address)
