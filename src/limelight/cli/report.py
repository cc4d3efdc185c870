"""`limelight report`: a page about a model: how good it is, which words decide, how far to trust that."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from ._parser import add_flag, conflict
from ._shared import COLUMNS, add_shared, check_least, check_out, load_models, sample

if TYPE_CHECKING:
    from ..runtime.model import Model

HELP = "write an HTML report: how good a model is, which words decide, how far to trust that"
DESCRIPTION = """\
Write one HTML page about a saved model on a labelled table, or about two models side by side: accuracy beside
its baselines, the words and phrases that decide for each class, confusion, calibration, examples and errors.
The figures are of all rows, and the same as those of 'limelight evaluate'.

  limelight report model test.csv --out report.html
  limelight report model test.csv --train train.csv      measure TF-IDF on the same rows too
  limelight report model other-model test.csv --out comparison.html"""


def arguments(parser: argparse.ArgumentParser) -> None:
    add_flag(parser, "models", "MODEL", "folder of a saved model, or of two to compare", nargs="+")
    add_flag(parser, "data", "DATA", "table of labelled text")
    add_flag(parser, "--out", "FILE", "the page to write", "report.html")
    add_flag(parser, "--most", "N", "take words and examples from at most this many rows, sampled", 2000)
    train = "the table the model was trained on, to measure TF-IDF as well; needs PyTorch"
    add_flag(parser, "--train", "FILE", train)
    add_shared(parser, *COLUMNS, "--overwrite")


def run(args: argparse.Namespace) -> None:
    """Read every row with every model and write the page."""
    from ..explain import save_report
    from ..explain.report import TrainingTexts, check_task

    check_out(args, page=True)
    if len(args.models) > 2:
        raise conflict(f"a report takes one or two models; got {len(args.models)}")
    check_least(args, most=1)
    names, models = load_models(*args.models)
    check_task(models)
    data, *found = _columns(args, args.data, models[0])
    train = TrainingTexts(*_columns(args, args.train, models[0])[1:]) if args.train else None
    save_report(
        args.out, models, *found, names=names, progress=True, overwrite=args.overwrite, data=data,
        most=args.most, train=train,
    )  # fmt: skip
    print(f"saved {args.out}")


def _columns(args: argparse.Namespace, path: str, model: Model) -> tuple[str, Any, Any, Any]:
    """The name of a table, and its texts, labels and second texts."""
    rows, _, name = sample(argparse.Namespace(**{**vars(args), "data": path}), model, sys.maxsize)
    second = [row.text2 for row in rows] if model.pair else None
    return name, [row.text for row in rows], [row.label for row in rows], second
