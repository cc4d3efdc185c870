"""`limelight evaluate`: how well a saved model does on a labelled table."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from ..errors import LimelightError
from ._shared import (
    FIGURES,
    add_columns,
    add_json,
    columns_from,
    metrics_table,
    on_bad,
    on_terminal,
    print_result,
    table,
)

if TYPE_CHECKING:
    from ..runtime.metrics import AnyMetrics

ORDER = 2
HELP = "evaluate a model on a table of labelled text"
DESCRIPTION = """\
Evaluate a saved model on a labelled table: accuracy, F1 of each class, and the confusion matrix. Where a text
may have several labels, micro and macro F1; where numbers are predicted, R2, mean error and correlations.

  limelight evaluate model test.csv --text text --label stars
  limelight evaluate model test.csv --at-least 0.9      exit with 1 if the accuracy is lower"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add its flags."""
    parser.add_argument("model", metavar="MODEL", help="folder of a saved model")
    parser.add_argument("data", metavar="DATA", help="table of labelled text")
    parser.add_argument(
        "--at-least", type=float, metavar="X",
        help="exit with 1 if the accuracy (of several labels micro F1, of numbers R2) is below this (0 to 1)",
    )  # fmt: skip
    add_columns(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Predict every row and compare with its label."""
    least = args.at_least
    if least is not None and not 0 <= least <= 1:
        raise LimelightError(f"--at-least is {least:g}; it must be from 0 to 1, such as 0.9 for 90%")
    results, labels = _measure(args)
    figures = results.to_dict()
    data = {"model": args.model, "data": args.data, **figures, **_class_figures(results, labels)}
    print_result(args, data, _format_results(args, results, labels))
    if least is None or figures[results.main] >= least:
        return 0
    name, form = FIGURES[results.main]
    shown, wanted = form.format(figures[results.main]), form.format(least)
    print(f"limelight: {name} {shown} is below {wanted}", file=sys.stderr)
    return 1


def _class_figures(results: AnyMetrics, labels: tuple[Any, ...]) -> dict[str, Any]:
    """The figures of each class, and where a text has one, the confusion."""
    from ..runtime.metrics import Metrics, ValueMetrics

    if isinstance(results, ValueMetrics):
        return {}
    found: dict[str, Any] = {
        "classes": {
            str(label): {"precision": p, "recall": r, "f1": f, "rows": int(n)}
            for label, (p, r, f), n in zip(labels, results.per_class.tolist(), results.counts[2], strict=True)
        },
        "labels": list(labels),
    }
    return {**found, "confusion": results.confusion.tolist()} if isinstance(results, Metrics) else found


def _measure(args: argparse.Namespace) -> tuple[AnyMetrics, tuple[Any, ...]]:
    import numpy as np

    from ..runtime.metrics import measure
    from ..runtime.model import Model
    from ..text.tables import TableRows, text_columns, without_skipped
    from ..text.tasks import find_task

    model = Model.load(args.model)
    columns = columns_from(args, model.pair)
    # bad rows and labels are reported before the long work
    how: dict[str, Any] = {"on_bad": on_bad(args), "labels": model.label_format}
    checked = TableRows(args.data, columns, **how)
    labels = find_task(model.task).column(row.label for row in checked)
    truth = labels.index(model.labels, without_skipped(args.data, checked.skipped))
    first, second = text_columns(TableRows(args.data, columns, **how), model.pair)
    parts = list(model.predict_proba_stream(first, second, progress=on_terminal()))
    if sum(map(len, parts)) != len(truth):
        raise LimelightError(f"{args.data} changed while it was being read; run this again")
    return measure(model.task, np.concatenate(parts), truth, model.thresholds), model.labels


def _format_results(args: argparse.Namespace, results: AnyMetrics, labels: tuple[Any, ...]) -> str:
    from ..runtime.metrics import Metrics, ValueMetrics

    blocks = [metrics_table({args.data: results.to_dict()})]
    if isinstance(results, ValueMetrics):
        return blocks[0]
    names = [str(label) for label in labels]
    per_class = [
        [name, f"{n:,}", *(f"{x:.3f}" for x in figures)]
        for name, n, figures in zip(names, results.counts[2], results.per_class, strict=True)
    ]
    several = not isinstance(results, Metrics)
    blocks.append(table(["label" if several else "class", "rows", "precision", "recall", "F1"], per_class))
    if isinstance(results, Metrics) and len(names) <= 20:
        counts = [[name, *row] for name, row in zip(names, results.confusion.tolist(), strict=True)]
        blocks.append(table(["true \\ predicted", *names], counts))
    return "\n\n".join(blocks)
