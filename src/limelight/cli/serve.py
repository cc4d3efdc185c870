"""`limelight serve`: models behind HTTP."""

import argparse
import os
from pathlib import Path

from ..errors import conflict
from ..serve.http.limits import Limits
from ._parser import add_flag, check_least, needs_serve

HELP = "serve models over HTTP: predict, embed, explain, compare"
USAGE = "%(prog)s [MODEL ...] [--index FOLDER] [options]"
TOKEN = "LIMELIGHT_TOKEN"
DESCRIPTION = f"""\
Serve models over HTTP, with the routes and bodies of text-embeddings-inference: /predict, /embed,
/embed_all, /explain, /similarity, /rerank, /info, /health, /ready, /metrics, and /v1/embeddings as OpenAI's
clients send it. /openapi.json describes them. Requests that wait are joined into batches. A folder that is
replaced is loaded without losing a request.

  limelight serve model
  curl 127.0.0.1:8000/predict -H 'Content-Type: application/json' -d '{{"inputs": "The soup was cold."}}'
  limelight serve reader stars=models/stars --workers 2     # the first answers where a request names no model
  limelight serve reader text-embedding-3-small=reader      # one model by two names
  limelight serve --index reviews.index     # /search in an index, and the routes of its model

Only this machine can connect unless --host says otherwise; name the machine with --allow-host if clients know
it by a name. With the environment variable {TOKEN}, requests must send it as a bearer token; with
LIMELIGHT_LOG=json, the log is lines of JSON. Ctrl-C or SIGTERM answers the requests in progress and stops."""


def arguments(parser: argparse.ArgumentParser) -> None:
    models = 'folder of a saved model or reader, "reader", or NAME=FOLDER'
    add_flag(parser, "models", "MODEL", models, nargs="*")
    add_flag(parser, "--index", "FOLDER", "index to search at /search; without MODEL, its model is served")
    add_flag(parser, "--writable", "", "let clients add texts to the index")
    add_flag(parser, "--host", "HOST", "address to listen on", "127.0.0.1")
    names = "name that clients may have in their Host header beside HOST, localhost and addresses; * for any"
    add_flag(parser, "--allow-host", "NAME", names, action="append")
    add_flag(parser, "--port", "N", "port", 8000)
    workers = "processes, each with its own copy of the models; one that dies is replaced"
    add_flag(parser, "--workers", "N", workers, 1)
    add_flag(parser, "--threads", "N", "threads of a worker (default: its share of the cores)")
    add_flag(parser, "--precision", ("float32", "int8"), "int8 is faster", "float32")
    add_flag(parser, "--no-page", "", "no page at /")
    group = parser.add_argument_group("limits")
    joined = "words of requests joined into a batch; 0 computes requests one by one"
    add_flag(group, "--batch-words", "N", joined, 4096)
    for name, what in LIMITS.items():
        add_flag(group, f"--max-{name}", "N", what, getattr(Limits, name))


LIMITS = {
    "body": "bytes of a request",
    "texts": "texts of a request; 32 where an answer has many thousand numbers per text",
    "words": "words of a request; 2,048 in the same cases, and 16,384 of one text",
    "waiting": "requests that wait for a model; more are answered with status 429",
    "connections": "connections of a worker; more are answered with status 503",
}


def run(args: argparse.Namespace) -> None:
    with needs_serve("serve"):
        from ..serve.server import serve
    check_least(args, workers=1, batch_words=0, **{f"max_{name}": 1 for name in LIMITS})
    limits = Limits(**{name: getattr(args, f"max_{name}") for name in LIMITS})
    if args.writable and args.index is None:
        raise conflict("--writable is for an index; give --index")
    models = list(args.models)
    if args.index is not None and not models:
        from ..search.index_folder import read_config

        models = [read_config(args.index).model]
    serve(
        names_of(models), index=args.index, writable=args.writable,
        host=args.host, port=args.port, workers=args.workers, threads=args.threads,
        precision=args.precision, batch_words=args.batch_words, limits=limits,
        token=os.environ.get(TOKEN), hosts=args.allow_host or (), with_page=not args.no_page,
    )  # fmt: skip


def names_of(models: list[str]) -> dict[str, str]:
    """The folder of each name; without NAME=, a folder's own name."""
    found: dict[str, str] = {}
    for given in models:
        name, _, folder = given.partition("=")
        if not folder or Path(given).exists():
            name, folder = Path(given).resolve().name, given
        if name in found:
            raise conflict(f"two models are named {name!r}; give one another name: NAME={folder}")
        found[name] = folder
    return found
