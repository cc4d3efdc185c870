"""`python -m experiments.paper`: the paper's data, tables and figures."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from limelight.config.recipe import Recipe, options, section_of
from limelight.errors import LimelightError
from limelight.storage.files import check_writable

from .plan import Data, Plan

PROGRAM = "python -m experiments.paper"
HELP = "the paper's experiments: its data, tables and figures, one command each"
PREPARE = """\
Convert an official distribution on your disk to train.jsonl, dev.jsonl and test.jsonl.

  python -m experiments.paper prepare snli snli_1.0.zip --out data/snli"""
EXPERIMENT = """\
{help}

  python -m experiments.paper {name} {example}--out runs

Runs are trained one after the other, each in its own folder under --out; the table is rewritten after each.
Ctrl-C stops, and the same command resumes. Experiments with the same --out share common runs, and several
processes can share the work: each skips what another is training, and checks again at the end."""

NAMES = ("snli", "yelp", "yelp-full", "pan", "snli-hub", "yelp-hub")
# name -> what it shows, and an example of its data
EXPERIMENTS = {
    "table1": ("self-attention and the biLSTM and CNN baselines", "--data yelp=DIR --data age=DIR "),
    "table2": ("entailment, and the published sentence encoders", "--data snli=DIR "),
    "table3": ("with and without the penalty", "--data yelp=DIR --data age=DIR "),
    "table4": ("pruning: sizes and, with --data, accuracy", "--data yelp=DIR "),
    "figure-rows": ("test accuracy by epoch, for r from 1 to 30", "--data age=DIR --data snli=DIR "),
    "claims": ("the paper's claims, with three recipes each", "--data yelp=DIR --data age=DIR "),
    "ingredients": ("which part of the author's recipe does what", "--data yelp=DIR "),
    "figure-heatmaps": ("heat maps with and without penalty, most confident texts", "--data yelp=DIR "),
}


class Parser(argparse.ArgumentParser):
    """An ArgumentParser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        """Print it to standard error and exit with code 2."""
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def make_parser() -> Parser:
    """The steps and their flags."""
    parser = Parser(prog=PROGRAM, description=HELP, allow_abbrev=False)
    steps = parser.add_subparsers(title="steps", metavar="STEP", required=True, dest="step")
    style = {"formatter_class": argparse.RawDescriptionHelpFormatter, "allow_abbrev": False}
    prepare = steps.add_parser(
        "prepare", help="make train, dev and test tables", description=PREPARE, **style
    )
    prepare.add_argument("name", choices=NAMES, metavar="NAME", help=", ".join(NAMES))
    prepare.add_argument("source", metavar="SOURCE", help="file, archive or folder of the distribution")
    prepare.add_argument("--out", required=True, metavar="DIR", help="folder of the tables")
    prepare.add_argument(
        "--sizes", type=_size, nargs=3, metavar=("TRAIN", "DEV", "TEST"),
        help="rows of each split, such as rest 500 500, if the data has none (default: the paper's)",
    )  # fmt: skip
    prepare.add_argument(
        "--seed", type=int, metavar="N", help="random seed of the split, if the data has none"
    )
    prepare.add_argument("--by", choices=("tweet", "author"), help="pan: split by tweet or by author")
    prepare.add_argument("--overwrite", action="store_true", help="replace existing output")
    prepare.add_argument("--json", action="store_true", help="print one JSON object, for scripts")
    for name, (help, example) in EXPERIMENTS.items():
        sentence = help[0].upper() + help[1:] + "."
        described = EXPERIMENT.format(help=sentence, name=name, example=example)
        _add_experiment(steps.add_parser(name, help=help, description=described, **style))
    return parser


def _add_experiment(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", required=True, metavar="DIR", help="folder of the runs, tables and figures")
    parser.add_argument(
        "--device", choices=("auto", "cpu", "cuda"), default="auto",
        help="where to train; auto uses a GPU if there is one",
    )  # fmt: skip
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", dest="options",
        help="change an option of all recipes, such as penalty_scale=author; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--data", action="append", default=[], metavar="NAME=DIR",
        help="a folder written by 'limelight encode' for yelp, age or snli; yelp:hotels uses other data with "
        "Yelp's settings; may be repeated",
    )  # fmt: skip
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], metavar="N", help="default: 0 1 2")
    parser.add_argument("--epochs", type=int, metavar="N", help="same as --set epochs=N")
    parser.add_argument("--precision", choices=("float32", "bf16"), help="same as --set precision=P")
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="RUN",
        help="only these runs, such as yelp-cnn-seed0 or 'yelp-*'",
    )  # fmt: skip
    parser.add_argument("--note", default="", metavar="TEXT", help="a line under the table")
    parser.add_argument("--quiet", action="store_true", help="do not show epochs")


def run(args: argparse.Namespace) -> int:
    """Prepare the data, or run an experiment."""
    if args.step == "prepare":
        return _prepare(args)
    from limelight.training import need_torch

    from .experiment import run_experiment

    need_torch()
    plan = _plan(args)
    _check_out(plan.out)
    step = import_module(f"experiments.paper.{args.step.replace('-', '_')}")
    run_experiment(plan, step.runs(plan), lambda results: step.write(plan, results))
    print((plan.out / f"{args.step}.md").read_text(encoding="utf-8"), end="")
    return 0


def _prepare(args: argparse.Namespace) -> int:
    from .readers import prepare

    given = {"sizes": args.sizes, "seed": args.seed, "by": args.by, "overwrite": args.overwrite or None}
    about = prepare(args.name, args.source, args.out, **{k: v for k, v in given.items() if v is not None})
    rows = [f"{split:5} {count:9,} rows" for split, count in about["rows"].items()]
    print(json.dumps(about, ensure_ascii=False) if args.json else "\n".join([*rows, f"saved {args.out}"]))
    return 0


def _check_out(out: Path) -> None:
    """Raise before the work if its results cannot be written there."""
    if (out / "config.json").is_file():
        raise LimelightError(f"{out} is a model folder; choose another --out", code="exists")
    check_writable(out)


def _size(given: str) -> int | None:
    """A number of rows; None for the rest.

    >>> _size("2000"), _size("rest")
    (2000, None)
    """
    if given == "rest":
        return None
    if not given.isdecimal():
        raise argparse.ArgumentTypeError(f"{given!r} is neither a number of rows nor 'rest'")
    return int(given)


def _plan(args: argparse.Namespace) -> Plan:
    data = tuple(Data.parse(each) for each in args.data)
    names = [each.name for each in data]
    if len(set(names)) < len(names) or len(set(args.seeds)) < len(args.seeds):
        raise LimelightError("a data set or seed is given twice; give each once", code="option-twice")
    return Plan(
        Path(args.out), data, tuple(args.seeds), _options(args), tuple(args.only), args.device, args.note,
        show=not args.quiet,
    )  # fmt: skip


def _options(args: argparse.Namespace) -> dict[str, Any]:
    """The options of --set and of its shorthands."""
    short = {name: getattr(args, name) for name in ("epochs", "precision")}
    given = [_option(each) for each in args.options]
    found: dict[str, Any] = {}
    for name, value in [*given, *((name, value) for name, value in short.items() if value is not None)]:
        if name in found:
            raise LimelightError(f"{name} is given twice; give it once", code="option-twice")
        found[name] = value
    return found


def _option(given: str) -> tuple[str, Any]:
    """KEY=VALUE in the type of the recipe's field.

    >>> _option("learning_rate=0.1"), _option("fine_tune_words=no")
    (('learning_rate', 0.1), ('fine_tune_words', False))
    """
    name, equals, value = given.partition("=")
    section = section_of(name)  # an unknown name raises with a suggestion
    if section == "text":
        raise LimelightError(
            f"--set {given}: the data is already encoded; give it to 'limelight encode' instead",
            code="option-encoded",
        )
    if name == "seed":
        raise LimelightError(f"--set {given}: use --seeds N N N", code="option-value")
    kind: Any = type(options()[name].default)
    words = {"yes": True, "true": True, "no": False, "false": False}
    try:
        found = words[value.lower()] if kind is bool else kind(value)
    except (ValueError, KeyError):
        found = None
    if not equals or found is None:
        raise LimelightError(
            f"--set {given}: expected {name}=VALUE with a value of type {kind.__name__}", code="option-value"
        )
    Recipe().override(**{name: found})  # checks its range
    return name, found


def main(argv: Sequence[str] | None = None) -> int:
    """Run a step and return the exit code: 0 done, 1 interrupted, 2 invalid input, in one line."""
    try:
        return run(make_parser().parse_args(argv))
    except LimelightError as error:
        problem, code = str(error), 2
    except OSError as error:
        problem, code = f"{error.filename or 'the system'}: {error.strerror or error}", 2
    except KeyboardInterrupt:
        problem, code = "interrupted", 1
    print(f"{PROGRAM}: {problem}", file=sys.stderr)
    return code


if __name__ == "__main__":
    raise SystemExit(main())
