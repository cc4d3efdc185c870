"""`limelight report`: a page about a model: how good it is, which words decide, how far to trust that."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import conflict, warn
from ._output import check_out, on_terminal, print_result
from ._parser import COLUMNS, add_flag, add_shared, check_least
from ._rows import sample

if TYPE_CHECKING:
    from ..runtime.model import Model
    from ..tables.table import Table

HELP = "write an HTML report: how good a model is, which words decide, how far to trust that"
DESCRIPTION = """\
Write one HTML page about a saved model on a labelled table: accuracy beside its baselines, the words and
phrases that decide for each class, confusion, calibration, examples and errors. The figures are of the rows
that the model did not learn from, and the same as those of 'limelight evaluate'.

For a model with aspects ('limelight aspects'), the first page is what lifts and what lowers the stars: how
often each aspect is mentioned, its mean effect with a 95% interval, the clauses that did most; over time with
--date, and by group with --by. That page needs no labels.

  limelight report model test.csv --out report.html
  limelight report model reviews.csv --date date --by hotel --summary --title "What our guests say"
  limelight report model reviews.csv --date date --by hotel"""


def arguments(parser: argparse.ArgumentParser) -> None:
    add_flag(parser, "model", "MODEL", "folder of a saved model")
    add_flag(parser, "data", "DATA", "table of labelled text")
    add_flag(parser, "--out", "FILE", "the page to write", "report.html")
    add_flag(parser, "--most", "N", "take words and examples from at most this many rows, sampled", 2000)
    short = (
        "in place of the report, a page of two sheets for people who do not know models: what reviews praise "
        "and blame, by group and month, in their words, and what to do with it"
    )
    add_flag(parser, "--summary", "", short)
    add_flag(parser, "--title", "TEXT", "the title of --summary")
    add_flag(parser, "--date", "COL", "column of dates: show how the effects of aspects change over time")
    add_flag(parser, "--by", "COL", "column of groups, such as hotels: show how these differ in each aspect")
    add_shared(parser, *COLUMNS, "--json", "--overwrite")


def run(args: argparse.Namespace) -> None:
    from ..explain import save_report
    from ..explain.report import check_task
    from ..explain.summary import save_summary
    from ..runtime.model import Model
    from ..tables.table import open_table

    check_out(args, page=True)
    if args.title is not None and not args.summary:
        raise conflict("--title is for --summary; add it, or leave out --title")
    check_least(args, most=1)
    model = Model.load(args.model)
    given, opened = args.label, open_table(args.data)
    need_label = _needs_label(args, opened, model)
    if need_label and not args.summary:
        check_task(model)
    further = {name: column for name in ("date", "by") if (column := getattr(args, name))}
    asked = need_label, args.label != given, list(further.values())
    rows, _, fault = sample(args, model, sys.maxsize, *asked, opened)
    if fault is not None:
        warn(f"going without labels: the guessed column {args.label!r} does not fit: {fault}")
        need_label = False
    cells = zip(*(row.cells for row in rows), strict=True) if further else ()
    values = dict(zip(further, cells, strict=True))
    how: dict[str, Any] = {"dates": values.get("date"), "groups": values.get("by"), "by": args.by or ""}
    how |= {"overwrite": args.overwrite, "progress": on_terminal()}
    texts = [row.text for row in rows]
    labels = [row.label for row in rows] if need_label else None
    second = [row.text2 or "" for row in rows] if rows[0].text2 is not None else None
    if args.summary:
        page: Any = save_summary(args.out, model, texts, labels, title=args.title or "", **how)
    else:
        how |= {"name": Path(args.model).resolve().name, "data": Path(args.data).name, "most": args.most}
        page = save_report(args.out, model, texts, labels, second, **how)
    print_result(args, {"saved": args.out, **page.to_dict()}, f"saved {args.out}")


def _needs_label(args: argparse.Namespace, table: Table, model: Model) -> bool:
    """Whether to read labels; sets the column if that is found where others have a meaning of their own."""
    from ..aspects.facts import require_aspects
    from ..text.tasks import find_task

    if args.date or args.by or args.summary:
        require_aspects(model.aspects)
    if not model.aspects:
        return True
    if find_task(model.task).is_number:
        return False
    args.label = args.label or _find_label(args, table, model)
    return args.label is not None


def _find_label(args: argparse.Namespace, table: Table, model: Model) -> str | None:
    """The column of labels, if the table has one: by its name, or the only one left if its first value fits.

    That of --by or --date is one only if no other is.
    """
    from ..tables.columns import LABELS, choose_columns

    text = choose_columns(table, args.text, need_label=False).text
    rest = [name for name in table.names if name != text]
    others = [name for name in rest if name not in (args.by, args.date)]
    usual = [[name for name in some if name.lower() in LABELS] for some in (others, rest)]
    found = usual[0] or usual[1]
    if not found and len(others) == 1:
        values = [row[table.names.index(others[0])] for row in table.head()[:1]]
        found = others if values and str(values[0]).strip() in map(str, model.labels) else []
    return choose_columns(args.data, text, names=[text, *found]).label if found else None
