"""`limelight explain`: what decided and what each row read, in the terminal or as a picture."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from ..errors import LimelightError, bad_value, conflict, no_rows, wrong_task
from ._output import check_picture, check_words, show_pictures
from ._parser import COLUMNS, add_flag, add_shared
from ._rows import read_lines, table_rows

if TYPE_CHECKING:
    from ..reading.reading import AnyReading
    from ..runtime.model import Model
    from ..runtime.reader import Reader
    from ..tables.rows import Row

MAX_TEXTS_DRAWN = 200  # texts on a page: more are slow to open

HELP = "show what decided a prediction and what each row read, in the terminal or as a picture"
DESCRIPTION = """\
Show how a saved model reads a text: its prediction; what decided, orange words that support it and blue words
that speak against it; words that are read together, such as "not good"; and with --all-rows what each row
read. --by chooses how it is found out what decided.
With --data, many texts make one page. A reader, which has no labels, shows what each row read.

  limelight explain model "The soup was cold but the waiter was lovely."
  limelight explain model "The soup was cold." --against good       why not "good"?
  limelight explain model "The soup was cold." --label 2 --against 4    why 2, and not 4?
  limelight explain model "The soup was cold." --by leave-one-out
  limelight explain model "The soup was cold." --out soup.html      also .svg, .png, .json, .txt
  limelight explain model --data new.csv --rows 3,7-9 --out rows.html"""


def arguments(parser: argparse.ArgumentParser) -> None:
    add_flag(parser, "model", "MODEL", 'folder of a saved model or reader, or "reader"')
    add_flag(parser, "first", "TEXT", "the text", nargs="?")
    add_flag(parser, "second", "TEXT2", "the second text, for a pair model", nargs="?")
    about = "what decided: how much of the probability rests on each word, the same spread over clauses, "
    about += "or how far it falls without the word, which reads the text once for each"
    add_flag(parser, "--by", ("effect", "phrase", "leave-one-out"), about, "effect")
    about = "explain this class instead of the predicted one; with --data, it is the label column"
    add_flag(parser, "--label", "LABEL", about)
    add_flag(parser, "--against", "LABEL", "what speaks for that class rather than this one")
    add_flag(parser, "--all-rows", "", "show what each row read, too; on a page it opens with a click")
    add_flag(parser, "--out", "FILE", "write a picture: .html, .svg, .png, .json or .txt")
    add_shared(parser, "--overwrite")
    add_flag(parser, "--json", "", "print one JSON object for each text, for scripts")
    group = parser.add_argument_group("many texts")
    add_flag(group, "--data", "FILE", "table of texts (-: lines of standard input, pairs separated by a tab)")
    add_flag(group, "--rows", "N,N-N", "rows by the numbers that a spreadsheet shows; of jsonl, lines")
    add_shared(group, *(name for name in COLUMNS if name != "--label"))


def run(args: argparse.Namespace) -> None:
    from ..runtime.reader import load

    _check(args)
    model = load(args.model)
    if args.data is None:
        check_words(model.tokenizer, args.first, args.second)
    show_pictures(args, list(_readings(model, args)), args.all_rows)


def _check(args: argparse.Namespace) -> None:
    if (args.first is None) == (args.data is None):
        raise conflict("give a text, or --data with a table of texts (-: standard input)")
    if args.rows and args.data in (None, "-"):
        raise conflict("--rows are those of a table; name it with --data")
    if args.against is not None and args.by != "effect":
        raise conflict("--against is only for --by effect, the default")
    check_picture(args)


def _readings(model: Model | Reader, args: argparse.Namespace) -> Iterator[tuple[str, AnyReading]]:
    """Each text as the model reads it, after its heading."""
    from ..reading.reading import PairReading

    if args.data is None:
        yield "", _read(model, args.first, args.second, args)
        return
    for heading, row in _rows(model, args):
        reading = _read(model, row.text, row.text2, args)
        sides = [replace(side, truth=row.label if side.labels else None) for side in reading.sides]
        yield heading, PairReading(*sides) if model.pair else sides[0]


def _read(model: Model | Reader, text: str, text2: str | None, args: argparse.Namespace) -> AnyReading:
    from ..explain import explain_by, joint_words
    from ..runtime.model import Model

    label = args.label if args.data is None else None  # with a table, it is a column
    if isinstance(model, Model):
        read = model.read(text, text2, label=label, against=args.against)
        reading = explain_by(model, read, args.by)
        # words that are read together take twice the time of reading
        return joint_words(model, reading) if args.data is None else reading
    if text2 is not None:
        raise wrong_task("a reader reads one text; 'limelight similar' compares two")
    asked = {"--by": args.by != "effect", "--label": label is not None, "--against": args.against is not None}
    for flag, given in asked.items():
        if given:
            raise wrong_task(f"{flag} explains a prediction, and a reader makes none; leave it out")
    return model.read(text)


def _rows(model: Model | Reader, args: argparse.Namespace) -> list[tuple[str, Row]]:
    """The texts that were asked for, each with its place; more than a page holds are an error."""
    what, named = "row", _chosen_rows(args, model, parse_rows(args.rows) if args.rows else None)
    if args.data == "-":
        what, named = "line", iter(enumerate(read_lines(args, model.pair), 1))
    found = [(f"{what} {number}", row) for number, row in islice(named, MAX_TEXTS_DRAWN + 1)]
    if not found:
        raise no_rows("no texts to explain")
    if len(found) > MAX_TEXTS_DRAWN:
        raise bad_value(f"more than {MAX_TEXTS_DRAWN} texts are too many for a page; choose some with --rows")
    return found


def _chosen_rows(
    args: argparse.Namespace, model: Model | Reader, numbers: list[int] | None
) -> Iterator[tuple[int, Row]]:
    """Rows of a table and their numbers: all, or those named, whatever the others are like."""
    rows, missing = table_rows(args, model, need_label=False, skip=bool(numbers)), set(numbers or ())
    for row in rows:
        if numbers is None or rows.number in missing:
            missing.discard(rows.number)
            yield rows.number, row
            if numbers and not missing:
                return
    if missing:
        fault = f"{args.data}, row {min(missing)}: no such row, or it has no text or label"
        raise LimelightError(fault, code="row-missing")


def parse_rows(given: str) -> list[int]:
    if not re.fullmatch(r"\d{1,12}(-\d{1,12})?(,\d{1,12}(-\d{1,12})?)*", given):
        raise bad_value(f"--rows is {given[:40]!r}; give numbers and ranges, such as 3,7-9")
    spans = [tuple(map(int, part.split("-"))) for part in given.split(",")]
    if any(span[0] < 1 or span[0] > span[-1] for span in spans):
        raise bad_value(f"--rows is {given[:40]!r}; rows are counted from 1, and ranges go up")
    if sum(span[-1] - span[0] + 1 for span in spans) > MAX_TEXTS_DRAWN:
        raise bad_value(f"--rows names more than {MAX_TEXTS_DRAWN} rows, too many for a page; name fewer")
    return sorted({number for span in spans for number in range(span[0], span[-1] + 1)})
