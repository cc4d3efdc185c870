"""`limelight report`: a page about a model: how good it is, what it reads, how far to trust that."""

from __future__ import annotations

import argparse

from ._parser import add_flag, conflict
from ._shared import COLUMNS, add_shared, check_least, check_out, load_models, sample

HELP = "write an HTML report: how good a model is, what it reads, how far to trust that"
DESCRIPTION = """\
Write one HTML page about a saved model on a labelled table, or about two models side by side: accuracy,
confusion, calibration, what every row reads, examples and errors, and how far the pictures can be trusted.

  limelight report model test.csv --out report.html
  limelight report model other-model test.csv --out comparison.html"""


def arguments(parser: argparse.ArgumentParser) -> None:
    add_flag(parser, "models", "MODEL", "folder of a saved model, or of two to compare", nargs="+")
    add_flag(parser, "data", "DATA", "table of labelled text")
    add_flag(parser, "--out", "FILE", "the page to write", "report.html")
    add_flag(parser, "--most", "N", "use at most this many rows, sampled at random", 2000)
    add_shared(parser, *COLUMNS, "--overwrite")


def run(args: argparse.Namespace) -> None:
    """Read every row with every model and write the page."""
    from ..explain import save_report
    from ..explain.report import check_task

    check_out(args, page=True)
    if len(args.models) > 2:
        raise conflict(f"a report takes one or two models; got {len(args.models)}")
    check_least(args, most=1)
    names, models = load_models(*args.models)
    check_task(models)
    found, total, data = sample(args, models[0], args.most)
    save_report(
        args.out, models, [row.text for row in found], [row.label for row in found],  # type: ignore[misc]
        [row.text2 for row in found] if models[0].pair else None,  # type: ignore[misc]
        names=names, progress=True, overwrite=args.overwrite,
        data=data if len(found) == total else f"{len(found):,} of the {total:,} rows of {data}, sampled",
    )  # fmt: skip
    print(f"saved {args.out}")
