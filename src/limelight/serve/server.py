"""Runs the application with uvicorn: one process, or several workers that a parent keeps alive."""

import secrets
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

from uvicorn.supervisors import Multiprocess

from ..errors import LimelightError
from ..runtime.model import Model
from ..runtime.reader import load
from ..text.parallel import count_cores
from .app import create_app
from .explorer.explored import ExploredData, Neighbours
from .http.guard import check_token
from .http.limits import Limits
from .http.metrics import log
from .http.run import configure, is_loopback, listen, run_one


def serve(
    models: Mapping[str, str], *, host: str = "127.0.0.1", port: int = 8000, workers: int = 1,
    threads: int | None = None, token: str | None = None, hosts: Sequence[str] = (),
    limits: Limits | None = None, **options: Any,
) -> None:  # fmt: skip
    """Serve until SIGINT or SIGTERM; requests in progress are answered first.

    `threads` are those of a worker, `hosts` names that clients know it by, beside `host`; the other options
    are those of `create_app`.
    """
    check_token(token)
    limits = limits or Limits()
    options |= {"token": token, "hosts": [host, *hosts], "limits": limits}
    with ExitStack() as stack:
        listening = stack.enter_context(listen(host, port))
        make_app = partial(create_app, models, threads=threads, **options)
        if workers > 1:
            for folder in models.values():  # a worker could not say what is wrong in one line
                load(folder, precision=options.get("precision", "float32"))
            shared = stack.enter_context(tempfile.TemporaryDirectory())
            share = threads or max(1, count_cores() // workers)
            make_app = partial(_make_in_worker, partial(make_app, threads=share, metrics_folder=shared))
        config = configure(make_app if workers > 1 else make_app(), workers, limits.connections)
        address = f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}"
        processes = f"{workers} processes" if workers > 1 else "1 process"
        log(f"serving {address} with {processes}; Ctrl-C stops")
        if token is None and not is_loopback(listening):
            log(f"warning: anyone who can reach {host} can use these models; set LIMELIGHT_TOKEN to a secret")
        if workers > 1:
            Multiprocess(config, [listening]).run()
        else:
            run_one(config, listening)


def _make_in_worker(make_app: Callable[[], Any]) -> Any:
    """The application; a folder may have been damaged since the parent looked."""
    try:
        return make_app()
    except LimelightError as error:
        log(f"error: {error}")
        raise SystemExit(1) from None


def explore(
    models: Mapping[str, Model], show: Callable[[str], object], *, data: ExploredData | None = None,
    near: Neighbours | None = None, port: int = 0,
) -> None:  # fmt: skip
    """Serve the explorer to this machine until Ctrl-C; `show` gets its address, with a random token in it.

    The token stands after #: a browser sends that to nobody.
    """
    token = secrets.token_urlsafe(24)
    app = create_app(models, token=token, hosts=(), data=data, near=near, log_requests=False)
    with listen("127.0.0.1", port) as listening:
        show(f"http://127.0.0.1:{listening.getsockname()[1]}/#token={token}")
        run_one(configure(app), listening)
