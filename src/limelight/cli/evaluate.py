"""`limelight evaluate`: how well a saved model does on a labelled table."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import bad_value, warn, wrong_task
from ._output import FIGURES, metrics_table, on_terminal, print_result, table
from ._parser import COLUMNS, add_flag, add_shared, on_bad, threshold_from
from ._rows import open_data

if TYPE_CHECKING:
    from ..runtime.confidence import Answered
    from ..runtime.held_out import HeldOut
    from ..runtime.model import Model
    from ..text.metrics import AnyMetrics

WIDTH = 100  # columns of a terminal that the tables fit into
MAX_LABEL, MAX_PAIRS = 40, 20  # characters of a label, and pairs of classes in place of a wide matrix
HELP = "evaluate a model on a table of labelled text"
DESCRIPTION = """\
Evaluate a saved model on a labelled table: accuracy, F1 of each class, and the confusion matrix. Where a text
may have several labels, micro and macro F1; where numbers are predicted, R2, mean error and correlations.

The figures are of the rows that the model did not learn from, if there are any; it says how many.

  limelight evaluate model test.csv --text text --label stars
  limelight evaluate model test.csv --target-precision 0.95      what it answers if it abstains where unsure
  limelight evaluate model test.csv --at-least 0.9      exit with 1 if the accuracy is lower"""


def arguments(parser: argparse.ArgumentParser) -> None:
    add_flag(parser, "model", "MODEL", "folder of a saved model")
    add_flag(parser, "data", "DATA", "table of labelled text")
    least = "exit with 1 if the accuracy (of several labels micro F1, of numbers R2) is below this (0 to 1)"
    add_flag(parser, "--at-least", "X", least)
    add_shared(parser, "--device", "--precision", "--abstain-below", "--target-precision", *COLUMNS, "--json")


def run(args: argparse.Namespace) -> int:
    from ..text.metrics import wilson

    least = args.at_least
    if least is not None and not 0 <= least <= 1:
        raise bad_value(f"--at-least is {least:g}; it must be from 0 to 1, such as 0.9 for 90%")
    found = _measure(args)
    results, model = found.results, found.model
    figures = results.to_dict()
    data = {"model": args.model, "data": args.data, **figures, **found.rows.to_dict()}
    if "accuracy" in figures:
        data["accuracy_interval"] = list(wilson(figures["accuracy"], figures["rows"]))  # 95%
    data |= {"all_rows": found.of_all.to_dict()} if found.rows.is_mixed else {}
    data |= results.of_classes(model.labels)
    if found.sure:
        data["answered"] = found.sure._asdict()
    print_result(args, data, _format_results(data, found))
    main = results.figures[0]
    if least is None or figures[main] >= least:
        return 0
    name, form = FIGURES[main]
    print(f"limelight: {name} {form.format(figures[main])} is below {form.format(least)}", file=sys.stderr)
    return 1


class _Measured(NamedTuple):
    model: Model
    rows: HeldOut
    results: AnyMetrics  # of the rows that the model did not learn from, if there are any
    of_all: AnyMetrics
    sure: Answered | None


def _measure(args: argparse.Namespace) -> _Measured:
    from ..runtime.held_out import HeldOut
    from ..runtime.model import Model
    from ..runtime.predictions import predict_labelled
    from ..text.tasks import find_task

    model = Model.load(args.model, precision=args.precision, device=args.device)
    table, columns = open_data(args, model.pair)
    P, truth, learnt = predict_labelled(model, table, columns, on_bad(args), progress=on_terminal())
    rows = HeldOut.of({args.model: learnt}, len(truth))
    new, measure = rows.measured, find_task(model.task).measure
    of_all, results = (measure(P[some], truth[some], model.thresholds) for some in (slice(None), new))
    return _Measured(model, rows, results, of_all, _answered(args, model, P[new], truth[new]))


def _answered(args: argparse.Namespace, model: Model, P: Any, truth: Any) -> Answered | None:
    """What is answered of this table; without a curve of the model's own, the threshold is chosen on it."""
    from ..runtime.confidence import answer_curve, answered, saved_curve, threshold_for
    from ..text.tasks import find_task

    if args.target_precision is None and args.abstain_below is None:
        return None
    if not find_task(model.task).is_class:
        raise wrong_task(f"abstaining is for one class a text; the task of {args.model} is {model.task!r}")
    decided = model.decide(P)
    confidence, correct = P[range(len(P)), decided], decided == truth
    if args.target_precision is not None and not saved_curve(model.facts.get("confidence"))[0]:
        warn(f"the model has no development set: the threshold is chosen on {args.data} itself")
        return threshold_for(answer_curve(confidence, correct), args.target_precision, len(P))
    least = threshold_from(args, model)
    return None if least is None else answered(confidence, correct, least)


def _format_results(data: dict[str, Any], found: _Measured) -> str:
    from ..runtime.held_out import development_sentence

    lines = {found.rows.of_what or data["data"]: data}
    lines |= {"all rows": data["all_rows"]} if found.rows.is_mixed else {}
    blocks = [found.rows.sentences(development_sentence(found.model.facts)), metrics_table(lines)]
    if "accuracy_interval" in data:
        low, high = data["accuracy_interval"]
        blocks[-1] += f"\n(95% interval of the accuracy: {low:.1%} to {high:.1%})"
    classes, confusion = data.get("classes", {}), data.get("confusion")
    if classes:
        keys = ("precision", "recall", "f1")
        figures = [
            [_short(name), f"{each['rows']:,}", *(f"{each[key]:.3f}" for key in keys)]
            for name, each in classes.items()
        ]
        head = ["class" if confusion else "label", "rows", "precision", "recall", "F1"]
        blocks.append(table(head, figures))
    if confusion:
        blocks.append(format_confusion([_short(name) for name in classes], confusion))
    if found.sure:
        blocks.append(f"abstaining below {found.sure.threshold:.3f}, it {found.sure}")
    return "\n\n".join(blocks)


def format_confusion(labels: Sequence[str], confusion: Sequence[Sequence[int]]) -> str:
    """The matrix, or where that is too wide, the pairs of classes that are confused most."""
    rows = [[name, *row] for name, row in zip(labels, confusion, strict=True)]
    matrix = table(["true \\ predicted", *labels], rows)
    if max(map(len, matrix.splitlines())) <= WIDTH:
        return matrix
    wrong = [(-n, i, j) for i, row in enumerate(confusion) for j, n in enumerate(row) if n and i != j]
    pairs = [[f"{labels[i]} -> {labels[j]}", f"{-n:,}"] for n, i, j in sorted(wrong)[:MAX_PAIRS]]
    if not pairs:
        return "no class is confused with another"
    return table(["most confused: true -> predicted", "rows"], pairs)


def _short(label: str) -> str:
    """A label of at most MAX_LABEL characters; both ends stay, as either may tell it from others."""
    half = MAX_LABEL // 2
    return label if len(label) <= MAX_LABEL else f"{label[:half]}…{label[1 - half :]}"
