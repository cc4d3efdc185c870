"""`limelight predict`: labels for the texts of a table or for lines, streamed."""

import argparse

from ..errors import conflict
from ..tables import WRITABLE
from ._jobs import add_engine, run_bulk, uses_engine
from ._output import check_out, on_terminal, output_format
from ._parser import add_flag, add_shared, threshold_from
from ._rows import read_rows

HELP = "predict labels for the texts of a table, or for lines of standard input"
DESCRIPTION = """\
Predict labels with a saved model and write them, in the order of the texts, before all columns of the table.
In a table, a row without text is an error; a blank line of standard input is a text without words, so that
every line has its answer. --skip-bad skips both.

  limelight predict model new.csv --text text --out answers.csv
  limelight predict model new.parquet --top 3 --words --out answers.xlsx
  limelight predict model new.csv --target-precision 0.95 --out answers.csv      no label where it is unsure
  limelight predict model reviews/ --out answers/ --engine ray                   many tables, on all cores
  echo "The soup was cold." | limelight predict model --format jsonl"""

FORMATS = ("csv", "tsv", "jsonl", "parquet", "xlsx")


def arguments(parser: argparse.ArgumentParser) -> None:
    add_flag(parser, "model", "MODEL", "folder of a saved model")
    data = "table of texts (default, or -: lines of standard input, pairs separated by a tab)"
    add_flag(parser, "data", "DATA", data, nargs="?")
    out = f"file to write: {WRITABLE} (default: standard output)"
    add_flag(parser, "--out", "FILE", out)
    add_flag(parser, "--format", FORMATS, "output format, unless --out implies it [csv]")
    add_flag(parser, "--probabilities", "", "add the probability of every class")
    add_flag(parser, "--top", "N", "add the next labels, N in all, with their probabilities", 1)
    add_flag(parser, "--words", "", "add the words that decided, + for the label or - against it")
    add_flag(parser, "--aspects", "", "add what the text says about each aspect of the model")
    add_shared(parser, "--abstain-below", "--target-precision")
    add_flag(parser, "--json", "", "the same as --format jsonl")
    add_shared(parser, "--escape-formulas", "--device", "--precision", "--overwrite")
    add_shared(parser, "--text", "--text2", "--skip-bad")
    add_engine(parser)


def run(args: argparse.Namespace) -> None:
    from ..runtime.model import Model
    from ..runtime.predictions import Predictions
    from ..tables.writers import format_of, write_table

    if uses_engine(args):
        _run_bulk(args)
        return
    suffix = format_of(args.out) if args.out else None
    if args.json and (others := {args.format, suffix} - {None, "jsonl"}):
        raise conflict(f"--json and {' and '.join(sorted(others))} exclude each other; leave out one of them")
    form = output_format(args, suffix, WRITABLE) or "csv"
    check_out(args)
    model = Model.load(args.model, precision=args.precision, device=args.device)
    rows, kept = read_rows(args, model.pair)
    found = Predictions(
        model, form, kept, probabilities=args.probabilities, top=args.top, words=args.words,
        aspects=args.aspects, abstain_below=threshold_from(args, model),
    )  # fmt: skip
    how = {"escaped": args.escape_formulas, "overwrite": args.overwrite}
    with write_table(args.out, form, found.columns, kept, **how) as writer:
        count = found.write(rows, writer, progress=bool(args.out) and on_terminal())
    if args.out:
        unsure = f", {found.unsure:,} of them unsure" if found.least else ""
        print(f"saved {args.out}: {count:,} rows{unsure}")


def _run_bulk(args: argparse.Namespace) -> None:
    from ..aspects.facts import require_aspects
    from ..bulk import Predictor
    from ..runtime.model import Model

    if not args.out:
        raise conflict("--engine needs --out, a folder")
    model = Model.load(args.model)  # a reader, which has no labels, is an error at once
    if args.aspects:
        require_aspects(model.aspects)
    predictor = Predictor(
        args.model, text=args.text, text2=args.text2, probabilities=args.probabilities, top=args.top,
        words=args.words, aspects=args.aspects, abstain_below=threshold_from(args, model),
        precision=args.precision, device=args.device,
    )  # fmt: skip
    refused = {"--format": args.format, "--json": args.json, "--escape-formulas": args.escape_formulas}
    run_bulk(args, predictor, refused)
