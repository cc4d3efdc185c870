"""What systemd is told."""

from __future__ import annotations

import socket

from starlette.testclient import TestClient

from limelight.serve import create_app


def test_systemd_hears_when_the_server_answers(tmp_path, monkeypatch):
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as heard:
        heard.bind(str(tmp_path / "notify"))
        heard.settimeout(10)
        with TestClient(create_app({"reader": "reader"})) as client:
            assert heard.recv(100) == b"READY=1"
            assert client.get("/ready").status_code == 200
