"""`limelight explore`: a model in a page, live in the browser or saved as one file."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import LimelightError, conflict, warn, wrong_task
from ._output import check_out, on_terminal
from ._parser import COLUMNS, add_flag, add_shared, needs_serve
from ._rows import load_models, sample

if TYPE_CHECKING:
    from ..runtime.model import Model
    from ..serve.explorer.explored import ExploredData, Neighbours

MAX_ROWS_LIVE = 200_000  # rows in the live page
MAX_ROWS_SAVED = 1_000  # rows in a saved one
MAX_PROBABILITIES = 10_000_000  # of several labels, of all rows

HELP = "open a model in the browser: type, change words, browse data, see what decides"
DESCRIPTION = """\
Open a model in the browser. It reads a text (or a pair) as one types and shows the answer, what decided and
what each row read. Words can be left out or replaced, rows switched off. With DATA, its texts can be browsed,
sorted and filtered: by class, confidence, confusion, error, or as a map. Only this machine can connect.

  limelight explore model
  limelight explore model test.csv --with other      two models side by side, and where they differ
  limelight explore model --save page.html           one file with the model inside, to send to anyone"""


def arguments(parser: argparse.ArgumentParser) -> None:
    add_flag(parser, "model", "MODEL", "folder of a saved model")
    add_flag(parser, "data", "DATA", "table of text, with labels if it has them", nargs="?")
    add_flag(parser, "--with", "OTHER", "folder of a model to compare with", dest="other")
    add_shared(parser, "--port", "--no-browser")
    add_shared(parser.add_argument_group("columns of DATA"), *COLUMNS)
    group = parser.add_argument_group("one file")
    about = f"write an HTML file, with at most {MAX_ROWS_SAVED:,} rows of DATA"
    add_flag(group, "--save", "FILE", about, dest="out")
    add_flag(
        group, "--words", "N", "words of the model in the file, the most frequent ones; others are read as "
        "the most similar of them (default: as many as fit into 5 MB)",
    )  # fmt: skip
    about = "of the weights in the file; float16 is less than half the size"
    add_flag(group, "--precision", ("float16", "float32"), about, "float16")
    add_shared(group, "--overwrite")


def run(args: argparse.Namespace) -> None:
    _check(args)
    names, models = load_models(args.model, args.other)
    if len(set(names)) < len(names):
        raise LimelightError(f"{args.other} is the same folder; compare with another", code="same-model")
    for name, model in zip(names, models, strict=True):
        if model.task != models[0].task:
            both = f"the task of {name} is {model.task!r} and that of {names[0]} {models[0].task!r}"
            raise wrong_task(f"{both}; compare two models of the same task")
    if args.out:
        _save(args, models[0])
    else:
        _open(args, dict(zip(names, models, strict=True)))


def _check(args: argparse.Namespace) -> None:
    if not args.out:
        if args.words is not None or args.precision != "float16" or args.overwrite:
            raise conflict("--words, --precision and --overwrite are for a file; add --save FILE")
        return
    if args.other:
        raise conflict("a file has one model: leave out --with or --save")
    check_out(args, page=True)


def _save(args: argparse.Namespace, model: Model) -> None:
    from ..serve.explorer.one_file import check_packable, save_page

    check_packable(model, args.words, args.precision)
    data = _read_data(args, [model], MAX_ROWS_SAVED)
    kept = save_page(
        model, args.out, words=args.words, precision=args.precision, data=data, overwrite=args.overwrite
    )
    size, known = os.path.getsize(args.out), len(model.tokenizer) - 2
    dropped = f"; the other {known - kept:,} are read as similar ones" if kept < known else ""
    rows = f", {len(data.items):,} of {data.of_rows:,} rows" if data else ""
    print(f"saved {args.out}: {size / 1e6:.1f} MB, {kept:,} words{dropped}{rows}")


def _open(args: argparse.Namespace, models: dict[str, Model]) -> None:
    with needs_serve("explore"):
        from ..serve.http.run import address_shown
        from ..serve.server import explore
    from ..runtime.reader import load
    from ..serve.explorer.explored import ModelNeighbours, ReaderNeighbours

    data = _read_data(args, list(models.values()), MAX_ROWS_LIVE)
    model = next(iter(models.values()))
    near: Neighbours | None = None
    if data is not None and model.recipe.text.start == "reader":  # it began as the bundled one
        near = ReaderNeighbours.read(load("reader"), data, on_terminal())
    elif data is not None:
        near = ModelNeighbours(model, data)
    with address_shown("exploring", not args.no_browser) as show:
        explore(models, show, data=data, near=near, port=args.port or 0)


def _read_data(args: argparse.Namespace, models: list[Any], most: int) -> ExploredData | None:
    if args.data is None:
        return None
    from ..serve.explorer.explored import explore_data
    from ..text.tasks import find_task

    model = models[0]
    if find_task(model.task).has_several:
        most = min(most, MAX_PROBABILITIES // len(model.labels))
    rows, count, fault = sample(args, model, most, guessed=not args.label)
    truth = None
    if fault is None:
        truth = find_task(model.task).column([row.label for row in rows]).index(model.labels, args.data)
    elif fault.code != "column-ambiguous":  # then there is no column of labels
        warn(f"{fault}; going on without labels")
    if count > most:
        warn(f"{args.data}: showing {most:,} of its {count:,} rows, chosen at random")
    items = [(row.text,) if row.text2 is None else (row.text, row.text2) for row in rows]
    name = Path(args.data).name
    return explore_data(models, items, truth, name=name, of_rows=count, progress=on_terminal())
