"""A page that names the models and the routes, without a script."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from html import escape

from starlette.responses import HTMLResponse

from .openapi import ROUTES

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem; }
pre { background: #f4f4f4; padding: .6rem; overflow: auto; }
"""
_HASH = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
POLICY = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"  # of every answer


def page(names: Sequence[str]) -> HTMLResponse:
    """The page, with a policy that lets it load nothing.

    >>> page(["reader"]).headers["content-security-policy"][:18]
    "default-src 'none'"
    """
    models = ", ".join(escape(name) for name in names)
    content = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Limelight</title><style>{STYLE}</style>'
        f'<h1>Limelight</h1><p>Models: {models}</p><p><a href="/openapi.json">OpenAPI document</a></p>'
        + "".join(_section(path) for path in ROUTES)
    )
    return HTMLResponse(content, headers={"content-security-policy": f"{POLICY}; style-src 'sha256-{_HASH}'"})


def _section(path: str) -> str:
    about, body, answer = ROUTES[path]
    method = "GET" if body is None else "POST"
    examples = "".join(
        f"<pre>{escape(json.dumps(each))}</pre>" for each in (body, answer) if each is not None
    )
    return f"<h2>{method} {path}</h2><p>{escape(about)}</p>{examples}"
