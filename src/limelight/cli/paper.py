"""`limelight paper`: the paper's data, tables and figures."""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..errors import LimelightError
from ._shared import add_device, add_json, add_overwrite, check_no_model, show, table

if TYPE_CHECKING:
    from pathlib import Path

    from ..paper.plan import Plan

ORDER = 8
HELP = "the paper's experiments: its data, tables and figures, one command each"
PREPARE = """\
Turn an official distribution that you have on disk into train.jsonl, dev.jsonl and test.jsonl.

  limelight paper prepare snli snli_1.0.zip --out data/snli"""
EXPERIMENT = """\
{help}

  limelight paper {name} {example}--out runs

{how}"""
RUNS = """\
Runs are trained one after the other, each in its own folder under --out; the table is written anew after
each. Ctrl-C stops, the same command goes on. With the same --out, experiments share the runs they have in
common, and several processes share the work: each passes over what another is training, and looks again
at the end."""

COST = "It takes some minutes, and is measured anew each time."

NAMES = ("snli", "yelp", "yelp-full", "pan", "snli-hub", "yelp-hub")
# name -> what it shows, and an example of its data
EXPERIMENTS = {
    "table1": ("self-attention beside the biLSTM and CNN baselines", "--data yelp=DIR --data age=DIR "),
    "table2": ("entailment beside the published sentence encoders", "--data snli=DIR "),
    "table3": ("with the penalty and without it", "--data yelp=DIR --data age=DIR "),
    "table4": ("pruning: sizes (without --data nothing else) and accuracy", "--data yelp=DIR "),
    "figure-rows": ("test accuracy by epoch, for r from 1 to 30", "--data age=DIR --data snli=DIR "),
    "figure-heatmaps": ("heat maps with and without penalty, the surest texts", "--data yelp=DIR "),
    "cost": ("the penalty against the KL form; time and memory by length", ""),
}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Its flags."""
    steps = parser.add_subparsers(title="steps", metavar="STEP", required=True, dest="step")
    prepare = steps.add_parser("prepare", help="make train, dev and test tables", description=PREPARE)
    prepare.add_argument("name", choices=NAMES, metavar="NAME", help=", ".join(NAMES))
    prepare.add_argument("source", metavar="SOURCE", help="file, archive or folder of the distribution")
    prepare.add_argument("--out", required=True, metavar="DIR", help="folder of the tables")
    prepare.add_argument(
        "--sizes", type=_size, nargs=3, metavar=("TRAIN", "DEV", "TEST"),
        help="rows of each, such as rest 500 500, where there is no split yet (default: the paper's)",
    )  # fmt: skip
    prepare.add_argument("--seed", type=int, metavar="N", help="of the split, where there is none yet")
    prepare.add_argument("--by", choices=("tweet", "author"), help="pan: what is split")
    add_overwrite(prepare)
    add_json(prepare)
    for name, (help, example) in EXPERIMENTS.items():
        sentence = help[0].upper() + help[1:] + "."
        how = RUNS if example else COST
        described = EXPERIMENT.format(help=sentence, name=name, example=example, how=how)
        step = steps.add_parser(name, help=help, description=described)
        _add_experiment(step, trains=bool(example))


def _add_experiment(parser: argparse.ArgumentParser, trains: bool) -> None:
    parser.add_argument("--out", required=True, metavar="DIR", help="folder of the runs, tables and figures")
    add_device(parser)
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", dest="options",
        help="change an option of all recipes, such as penalty_scale=author; may be given again",
    )  # fmt: skip
    if not trains:
        return
    parser.add_argument(
        "--data", action="append", default=[], metavar="NAME=DIR",
        help="a folder of 'limelight encode': yelp, age or snli, or yelp:hotels for other data with the "
        "settings of one; may be given again",
    )  # fmt: skip
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], metavar="N", help="default: 0 1 2")
    parser.add_argument("--epochs", type=int, metavar="N", help="the same as --set epochs=N")
    parser.add_argument("--precision", choices=("float32", "bf16"), help="the same as --set precision=P")
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="RUN",
        help="run these alone, such as yelp-cnn-seed0 or 'yelp-*'",
    )  # fmt: skip
    parser.add_argument("--note", default="", metavar="TEXT", help="a line under the table")
    parser.add_argument("--quiet", action="store_true", help="show no epochs")


def run(args: argparse.Namespace) -> int:
    """Prepare the data, or carry out an experiment."""
    if args.step == "prepare":
        return _prepare(args)
    from ..training.job import need_torch

    need_torch()
    plan = _plan(args)
    _check_out(plan.out)
    import_module(f"...paper.{args.step.replace('-', '_')}", __name__).run(plan)
    print((plan.out / f"{args.step}.md").read_text(encoding="utf-8"), end="")
    return 0


def _prepare(args: argparse.Namespace) -> int:
    from ..paper.readers import prepare

    given = {"sizes": args.sizes, "seed": args.seed, "by": args.by, "overwrite": args.overwrite or None}
    about = prepare(args.name, args.source, args.out, **{k: v for k, v in given.items() if v is not None})
    rows = [[split, f"{count:,}"] for split, count in about["rows"].items()]
    show(args, about, f"{table(['split', 'rows'], rows)}\nsaved {args.out}")
    return 0


def _check_out(out: Path) -> None:
    """Say before the work that its results could not, or should not, be written there."""
    from ..storage.files import check_writable

    check_no_model(out)
    check_writable(out)


def _size(given: str) -> int | None:
    """A number of rows, or all the rest.

    >>> _size("2000"), _size("rest")
    (2000, None)
    """
    if given == "rest":
        return None
    if not given.isdecimal():
        raise argparse.ArgumentTypeError(f"{given!r} is neither a number of rows nor 'rest'")
    return int(given)


def _plan(args: argparse.Namespace) -> Plan:
    from pathlib import Path

    from ..paper.plan import Data, Plan

    options = _options(args)
    if args.step == "cost":
        return Plan(Path(args.out), options=options, device=args.device)
    data = tuple(Data.parse(each) for each in args.data)
    names = [each.name for each in data]
    if len(set(names)) < len(names) or len(set(args.seeds)) < len(args.seeds):
        raise LimelightError("a data set or a seed is given twice; give each once")
    return Plan(
        Path(args.out), data, tuple(args.seeds), options, tuple(args.only), args.device, args.note,
        show=not args.quiet,
    )  # fmt: skip


def _options(args: argparse.Namespace) -> dict[str, Any]:
    """Those of --set and of the flags that are short for it."""
    short = {name: getattr(args, name, None) for name in ("epochs", "precision")}
    given = [_option(each) for each in args.options]
    found: dict[str, Any] = {}
    for name, value in [*given, *((name, value) for name, value in short.items() if value is not None)]:
        if name in found:
            raise LimelightError(f"{name} is given twice; give it once")
        found[name] = value
    return found


def _option(given: str) -> tuple[str, Any]:
    """KEY=VALUE in the type of the recipe's field.

    >>> _option("learning_rate=0.1"), _option("fine_tune_words=no")
    (('learning_rate', 0.1), ('fine_tune_words', False))
    """
    from ..config.recipe import Recipe, options, section_of

    name, equals, value = given.partition("=")
    section = section_of(name)  # an unknown name says which is meant
    if section == "text":
        raise LimelightError(
            f"--set {given}: the data is encoded already; give it to 'limelight encode' instead"
        )
    if name == "seed":
        raise LimelightError(f"--set {given}: give the seeds as --seeds N N N")
    kind: Any = type(options()[name].default)
    words = {"yes": True, "true": True, "no": False, "false": False}
    try:
        found = words[value.lower()] if kind is bool else kind(value)
    except (ValueError, KeyError):
        found = None
    if not equals or found is None:
        raise LimelightError(f"--set {given}: write it as {name}=VALUE, the value of type {kind.__name__}")
    Recipe().override(**{name: found})  # checks its range
    return name, found
