"""`limelight serve`: models behind HTTP."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from ..errors import LimelightError
from ._parser import add_flag, conflict
from ._shared import check_least

HELP = "serve models over HTTP: predict, embed, explain, compare"
USAGE = "%(prog)s MODEL [MODEL ...] [options]"
TOKEN = "LIMELIGHT_TOKEN"
DESCRIPTION = f"""\
Serve models over HTTP, with the routes and bodies of text-embeddings-inference: /predict, /embed,
/embed_all, /explain, /similarity, /info, /health, /metrics, and /v1/embeddings as OpenAI's clients send it.
/docs describes them. Requests that wait are joined into batches. A folder that is replaced is loaded without
losing a request.

  limelight serve model
  curl 127.0.0.1:8000/predict -H 'Content-Type: application/json' -d '{{"inputs": "The soup was cold."}}'
  limelight serve reader stars=models/stars --workers 2     # the first answers where a request names no model

Only this machine can connect unless --host says otherwise. With the environment variable {TOKEN}, requests
must send it as a bearer token. Ctrl-C or SIGTERM answers the requests in progress and stops."""


def arguments(parser: argparse.ArgumentParser) -> None:
    models = 'folder of a saved model or reader, "reader", or NAME=FOLDER'
    add_flag(parser, "models", "MODEL", models, nargs="+")
    add_flag(parser, "--host", "HOST", "address to listen on", "127.0.0.1")
    add_flag(parser, "--port", "N", "port", 8000)
    workers = "processes, each with its own copy of the models; one that dies is replaced"
    add_flag(parser, "--workers", "N", workers, 1)
    add_flag(parser, "--threads", "N", "threads of a worker (default: its share of the cores)")
    add_flag(parser, "--precision", ("float32", "int8"), "int8 is faster", "float32")
    add_flag(parser, "--no-page", "", "no page at /")
    group = parser.add_argument_group("limits")
    for flag, default, what in LIMITS:
        add_flag(group, flag, "N", what, default)


LIMITS = (
    ("--batch-words", 4096, "words of requests joined into a batch; 0 computes requests one by one"),
    ("--max-body", 2**21, "bytes of a request"),
    ("--max-texts", 256, "texts of a request; an eighth where an answer has many thousand numbers per text"),
    ("--max-words", 2**14, "words of a request; an eighth in the same cases"),
    ("--max-waiting", 512, "requests that wait for a model; more are answered with status 429"),
)


def run(args: argparse.Namespace) -> None:
    """Serve until stopped."""
    try:
        from ..serve.limits import Limits
        from ..serve.server import serve
    except ImportError as error:
        raise LimelightError(
            f"serve needs {error.name}: pip install '.[serve]'", code="needs-extra"
        ) from None
    check_least(args, workers=1, batch_words=0, max_body=1, max_texts=1, max_words=1, max_waiting=1)
    limits = Limits(args.max_body, args.max_texts, args.max_words, args.max_waiting)
    serve(
        names_of(args.models), host=args.host, port=args.port, workers=args.workers, threads=args.threads,
        precision=args.precision, batch_words=args.batch_words, limits=limits,
        token=os.environ.get(TOKEN) or None, with_page=not args.no_page,
    )  # fmt: skip


def names_of(models: list[str]) -> dict[str, str]:
    """The folder of each name; without NAME=, a folder's own name.

    >>> names_of(["reader", "stars=models/size=2"])
    {'reader': 'reader', 'stars': 'models/size=2'}
    """
    found: dict[str, str] = {}
    for given in models:
        name, _, folder = given.partition("=")
        if not folder or Path(given).exists():
            name, folder = Path(given).resolve().name, given
        if name in found:
            raise conflict(f"two models are named {name!r}; give one another name: NAME={folder}")
        found[name] = folder
    return found
