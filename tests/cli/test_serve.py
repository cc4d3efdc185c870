"""What `limelight serve` refuses; tests/serve has the server itself."""

from __future__ import annotations

import sys

import pytest


@pytest.mark.parametrize(
    ("argv", "phrase"),
    [
        (["no/such"], "no/such"),
        ([], "no model to serve"),
        (["--index", "no/such"], "no/such"),
        (["reader", "--writable"], "--index"),
        (["no/such", "--workers", "2"], "no/such"),
        (["reader", "a=reader", "reader"], "two models are named 'reader'"),
        (["reader", "--workers", "0"], "--workers is 0"),
        (["reader", "--max-texts", "0"], "--max-texts is 0"),
        (["reader", "--max-connections", "0"], "--max-connections is 0"),
        (["reader", "--batch-words", "-1"], "--batch-words is -1"),
        (["reader", "--port", "70000"], "70000"),
        (["reader", "--host", "no.such.host.invalid"], "no.such.host.invalid"),
        (["reader", "--threads", "0"], "threads"),
    ],
)
def test_what_cannot_be_served_is_one_line(refused, argv, phrase):
    assert phrase in refused("serve", "--port", "0", *argv)


def test_an_empty_token_does_not_leave_the_server_open(refused, monkeypatch):
    monkeypatch.setenv("LIMELIGHT_TOKEN", "")
    assert "LIMELIGHT_TOKEN" in refused("serve", "reader", "--port", "0")


def test_without_the_extra_it_says_what_to_install(refused, monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    for name in ("server", "http.run"):
        monkeypatch.delitem(sys.modules, f"limelight.serve.{name}", raising=False)
    assert "pip install '.[serve]'" in refused("serve", "reader")
