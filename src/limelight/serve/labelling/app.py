"""The application of `limelight label`: the page's routes behind the same guard as everything else."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Callable
from pathlib import Path

from starlette.applications import Starlette

from ...labelling.session import LabelSession
from ..http.guard import guarded
from ..http.limits import Limits
from ..http.metrics import Metrics
from ..http.posts import Posts
from ..http.run import configure, listen, run_one
from .labeller import Labeller, close
from .table_saver import TableSaver

BODY = 2**24  # bytes of a request: a group may have a hundred thousand rows


def create_label_app(
    session: LabelSession, out: str | Path, *, token: str | None = None, table: str | Path | None = None,
    text: str | None = None,
) -> Starlette:  # fmt: skip
    """An ASGI application with the page of a labelling; close `app.state.labeller` with `labeller.close`."""
    labeller = Labeller(session, Posts(Limits(body=BODY)), TableSaver(session, out, table, text))
    app = guarded(labeller.routes(), Metrics(None), token=token, hosts=(), log_requests=False)
    app.state.labeller = labeller
    return app


def serve_labelling(
    session: LabelSession, out: str | Path, show: Callable[[str], object], *, port: int = 0,
    table: str | Path | None = None, text: str | None = None, view: str = "",
) -> int:  # fmt: skip
    """Serve the page to this machine until Ctrl-C, and write the table; the number of its rows.

    `show` gets the address, with a random token in it. The page opens with a view, such as "check".
    """
    token = secrets.token_urlsafe(24)
    app = create_label_app(session, out, token=token, table=table, text=text)
    with listen("127.0.0.1", port) as listening:
        try:
            view = f"view={view}&" if view else ""
            show(f"http://127.0.0.1:{listening.getsockname()[1]}/#{view}token={token}")
            run_one(configure(app), listening)
        finally:
            if (progress := session.progress()).low is not None:
                print(progress.estimate, file=sys.stderr)
            count = close(app.state.labeller)
    return count
