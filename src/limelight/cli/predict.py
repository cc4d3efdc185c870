"""`limelight predict`: labels for the texts of a table or for lines, streamed."""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import json
import sys
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from ..errors import LimelightError
from ._shared import add_columns, add_overwrite, check_output_file, on_terminal, read_rows, text_columns

if TYPE_CHECKING:
    import numpy as np

    from ..text.tables import Row

ORDER = 3
HELP = "predict labels for the texts of a table, or for lines of standard input"
DESCRIPTION = """\
Predict labels with a saved model, in the order of the texts, as csv or JSON lines. In a table, a row without
text is an error; a blank line of standard input is a text without words, so that every line has its answer.
--skip-bad skips both.

  limelight predict model new.csv --text text --out answers.csv
  echo "The soup was cold." | limelight predict model --format jsonl"""

FORMATS = ("csv", "jsonl")
Write = Callable[["Row", "np.ndarray"], None]


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add its flags."""
    parser.add_argument("model", metavar="MODEL", help="folder of a saved model")
    parser.add_argument(
        "data", nargs="?", metavar="DATA",
        help="table of texts (default, or -: lines of standard input, pairs separated by a tab)",
    )  # fmt: skip
    parser.add_argument(
        "--out", metavar="FILE", help="file to write, .csv or .jsonl (default: standard output)"
    )
    parser.add_argument("--format", choices=FORMATS, help="output format, unless --out implies it")
    parser.add_argument("--probabilities", action="store_true", help="add the probability of every class")
    parser.add_argument("--json", action="store_true", help="the same as --format jsonl")
    parser.add_argument(
        "--escape-formulas", action="store_true",
        help="in csv, put ' before what a spreadsheet would run: labels and texts that begin with = + - @",
    )  # fmt: skip
    parser.add_argument("--precision", choices=("float32", "int8"), default="float32", help="int8 is faster")
    add_overwrite(parser)
    add_columns(parser, label=False)


def run(args: argparse.Namespace) -> int:
    """Read, predict and write some rows at a time."""
    from ..runtime.model import Model

    form = _format(args)
    if args.out:
        check_output_file(args.out, args.overwrite)
    model = Model.load(args.model, precision=args.precision)
    pending = deque[Any]()  # rows waiting for their prediction
    first, second = text_columns(read_rows(args, model.pair), model.pair, pending.append)
    with _output(args.out, args.overwrite) as stream:
        write = _writer(form, stream, model.labels, model.pair, args.probabilities, args.escape_formulas)
        for part in model.predict_proba_stream(first, second, progress=bool(args.out) and on_terminal()):
            for P in part:
                write(pending.popleft(), P)
            stream.flush()
    return 0


def _format(args: argparse.Namespace) -> str:
    suffix = Path(args.out).suffix.lower().lstrip(".") if args.out else ""
    asked = "jsonl" if args.json else args.format
    if args.json and "csv" in (args.format, suffix):
        raise LimelightError("--json and csv exclude each other; leave out one of them")
    if args.out and suffix not in FORMATS and not asked:
        raise LimelightError(f"{args.out} should end in .csv or .jsonl; or add --format csv or jsonl")
    return asked or suffix or "csv"


@contextlib.contextmanager
def _output(path: str | None, overwrite: bool) -> Iterator[TextIO]:
    if path is None:
        yield sys.stdout
        return
    from ..storage.files import atomic_file

    with atomic_file(path, overwrite) as file:
        stream = io.TextIOWrapper(file, encoding="utf-8", errors="replace", newline="")
        yield stream
        stream.flush()
        stream.detach()


def _writer(
    form: str, stream: TextIO, labels: tuple[Any, ...], pair: bool, probabilities: bool, escaped: bool
) -> Write:
    """A function that writes one prediction; for csv, the header is written first."""
    names = ["text", "text2"] if pair else ["text"]
    if form == "csv":
        lines = csv.writer(stream, lineterminator="\n")
        cells = escape_formulas if escaped else list
        classes = [str(label) for label in labels]
        if {"label", "confidence", *names} & {*classes}:  # no two columns of one name
            classes = [f"probability of {name}" for name in classes]
        lines.writerow(cells(["label", "confidence", *(classes if probabilities else ()), *names]))

    def write(row: Row, P: np.ndarray) -> None:
        best = int(P.argmax())
        texts = [row.text, row.text2] if pair else [row.text]
        if form == "csv":
            each = [f"{p:.6f}" for p in P] if probabilities else []
            lines.writerow(cells([labels[best], f"{P[best]:.6f}", *each, *texts]))
            return
        found: dict[str, Any] = {"label": labels[best], "confidence": round(float(P[best]), 6)}
        if probabilities:
            found["probabilities"] = {str(k): round(float(p), 6) for k, p in zip(labels, P, strict=True)}
        found |= dict(zip(names, texts, strict=True))
        stream.write(json.dumps(found, ensure_ascii=False) + "\n")

    return write


def escape_formulas(cells: list[Any]) -> list[Any]:
    """Put an apostrophe before texts that a spreadsheet would take for a formula.

    >>> escape_formulas(["=cmd()", "fine", -1])
    ["'=cmd()", 'fine', -1]
    """
    return [f"'{x}" if isinstance(x, str) and x[:1] in tuple("=+-@\t\r") else x for x in cells]
