"""Common flags, texts from files or standard input, results as tables or JSON."""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import LimelightError, warn
from ._parser import add_flag, conflict, given_options

if TYPE_CHECKING:
    from ..config.recipe import Recipe
    from ..runtime.model import Model
    from ..tables.cells import KeptColumns
    from ..tables.columns import Columns
    from ..tables.rows import Row, TableRows
    from ..tables.table import Table
    from ..text.dataset import Dataset
    from ..text.labels import LabelColumn
    from ..text.tokenizer import Tokenizer
    from ..training.job import Job

FIGURES = {  # of `Metrics.to_dict`: how a table names and formats them
    "rows": ("rows", "{:,}"), "accuracy": ("accuracy", "{:.2%}"), "micro_f1": ("micro F1", "{:.3f}"),
    "macro_f1": ("macro F1", "{:.3f}"), "subset_accuracy": ("all labels right", "{:.2%}"),
    "r2": ("R2", "{:.3f}"), "mae": ("mean error", "{:.3f}"), "pearson": ("Pearson", "{:.3f}"),
    "spearman": ("Spearman", "{:.3f}"), "loss": ("loss", "{:.4f}"),
}  # fmt: skip


def add_data(parser: argparse.ArgumentParser) -> None:
    """Flags for tables and their columns."""
    group = parser.add_argument_group("data")
    add_columns(group)
    group.add_argument("--dev", action="append", metavar="FILE", help="development table; may be repeated")
    group.add_argument(
        "--holdout", type=float, metavar="SHARE",
        help="without --dev, hold out this share of each class as development data (default: 0.1, but 0 for "
        "fewer than 1,000 rows with --start)",
    )  # fmt: skip
    group.add_argument(
        "--test", action="append", metavar="FILE", help="test table, evaluated once at the end"
    )


def add_columns(group: Any, label: bool = True, pair: bool = True) -> None:
    """Flags for the columns of a table, and for its unusable rows."""
    add_flag(group, "--text", "COL", "text column; detected if its name is unambiguous")
    if label:
        add_flag(group, "--label", "COL", "label column; detected if its name is unambiguous")
    if pair:
        add_flag(group, "--text2", "COL", "column of the second text, for pairs")
    else:
        group.set_defaults(text2=None)
    add_flag(group, "--skip-bad", "", "skip rows without text or label")


def add_json(parser: argparse.ArgumentParser, what: str = "one JSON object") -> None:
    """`--json`."""
    add_flag(parser, "--json", "", f"print {what}, for scripts")


def add_overwrite(parser: Any) -> None:
    """`--overwrite`."""
    add_flag(parser, "--overwrite", "", "replace existing output")


def add_device(parser: argparse.ArgumentParser) -> None:
    """`--device`."""
    add_flag(
        parser, "--device", ("auto", "cpu", "cuda"), "where to train; auto uses a GPU if there is one", "auto"
    )


def add_runtime(parser: argparse.ArgumentParser) -> None:
    """`--device` and `--precision` of a trained model."""
    add_flag(
        parser,
        "--device",
        ("cpu", "cuda", "auto"),
        "where to run; cuda is a GPU, with PyTorch; auto a GPU if PyTorch sees one",
        "cpu",
    )
    add_flag(
        parser,
        "--precision",
        ("float32", "int8", "bf16"),
        "on the CPU float32 or int8, which is faster; on a GPU bf16 or float32 (default: the first)",
    )


def add_run(parser: argparse.ArgumentParser) -> None:
    """Flags of a run that can be resumed."""
    add_flag(parser, "--resume", "DIR", "resume the interrupted run of this folder")
    add_overwrite(parser)
    add_device(parser)
    parser.add_argument(
        "--checkpoint-minutes", type=float, default=10.0, metavar="X",
        help="write a checkpoint every X minutes, and after every epoch (default: 10)",
    )  # fmt: skip
    add_flag(parser, "--quiet", "", "do not show progress")
    add_json(parser)


def add_abstain(parser: argparse.ArgumentParser) -> None:
    """Flags for leaving out answers that the model is unsure of."""
    add_flag(
        parser, "--abstain-below", "P", "give no label where its probability is lower than this (0 to 1)"
    )
    add_flag(
        parser,
        "--target-precision",
        "P",
        "choose that probability for answers of which this share is right, such as 0.95",
    )


def threshold_from(args: argparse.Namespace, model: Model) -> float | None:
    """The probability to abstain below; for a wanted precision, chosen on the model's development set."""
    from ..runtime.confidence import check_threshold

    if args.target_precision is None:
        given = args.abstain_below
        return None if given is None else check_threshold(given, "--abstain-below")
    if args.abstain_below is not None:
        raise conflict("--abstain-below and --target-precision exclude each other; give only one")
    found = model.threshold(args.target_precision)
    print(f"abstaining below {found:.3f}", file=sys.stderr)
    return found


def on_bad(args: argparse.Namespace) -> str:
    """The table readers' name for --skip-bad."""
    return "skip" if args.skip_bad else "error"


def holdout(args: argparse.Namespace) -> float | None:
    """The share to hold out; None leaves it to the number of rows."""
    if args.holdout and args.dev:
        raise conflict("--dev and --holdout cannot be used together; give only one")
    return None if args.holdout is None else float(args.holdout)


def tables_from(args: argparse.Namespace) -> dict[str, Any]:
    """The files of each split."""
    found = {"train": args.data, "dev": args.dev, "test": args.test}
    return {name: list(paths) for name, paths in found.items() if paths}


def encode(args: argparse.Namespace, out: str | Path, recipe: Recipe, **how: Any) -> Dataset:
    """Encode the tables that the flags name."""
    from ..runtime.start import start_of
    from ..text.encode import encode_tables

    recipe, start = start_of(recipe, given_options(args))
    return encode_tables(
        out, **tables_from(args), text=args.text, label=args.label, text2=args.text2, recipe=recipe.text,
        holdout=holdout(args), seed=recipe.training.seed, on_bad=on_bad(args), start=start, **how,
    )  # fmt: skip


def on_terminal() -> bool:
    """Whether standard error is a terminal, which shows progress bars."""
    return sys.stderr.isatty()


def check_picture_file(args: argparse.Namespace) -> None:
    """Raise unless the picture that --out asks for can be written."""
    from ..storage.files import check_output_file

    if args.out:
        if args.json:
            raise conflict("--json prints to standard output; for a file, use --out FILE.json alone")
        check_output_file(args.out, args.overwrite)


def check_page(args: argparse.Namespace) -> None:
    """Raise before the work unless the page that --out asks for can be written."""
    from ..storage.files import check_output_file

    if args.out:
        if Path(args.out).suffix.lower() not in (".html", ".htm"):
            raise LimelightError(f"{args.out} should end in .html", code="file-suffix")
        check_output_file(args.out, args.overwrite)


def save_page(args: argparse.Namespace, page: str) -> None:
    """Write a page to --out."""
    from ..storage.files import atomic_file

    with atomic_file(args.out, args.overwrite) as file:
        file.write(page.encode(errors="replace"))  # it may hold file names that are not UTF-8
    print(f"saved {args.out}", file=sys.stderr)


def check_words(tokenizer: Tokenizer, *texts: str | None) -> None:
    """Raise if a text has no words: there would be nothing to show."""
    for text in texts:
        if text is not None and not tokenizer.split(text):
            raise LimelightError(
                f"there are no words in {text[:40]!r}; give a text with words", code="text-without-words"
            )


def check_least(args: argparse.Namespace, **least: int) -> None:
    """Raise if a number is below the least it may be."""
    for name, lowest in least.items():
        value = getattr(args, name)
        if value is not None and not lowest <= value < float("inf"):  # nan neither
            raise LimelightError(
                f"--{name.replace('_', '-')} is {value}; it must be at least {lowest}", code="option-value"
            )


def check_not_a_model(out: Path) -> None:
    """Raise if `out` is a model folder: with other files in it, it could not be overwritten any more."""
    if (out / "config.json").is_file():
        raise LimelightError(f"{out} is a model folder; choose another --out", code="exists")


def load_models(*folders: str) -> tuple[list[str], list[Model]]:
    """Models that all read pairs or all single texts, and the names of their folders.

    Two folders of one name get as much of their paths as tells them apart.
    """
    from ..runtime.model import Model

    models = [Model.load(folder) for folder in folders]
    if len({model.pair for model in models}) > 1:
        pairs, single = folders if models[0].pair else reversed(folders)
        raise LimelightError(
            f"{pairs} reads pairs and {single} single texts; compare models of one task", code="model-kind"
        )
    paths = [Path(folder).resolve().parts for folder in folders]
    lengths = range(1, max(map(len, paths)) + 1)
    names = (["/".join(path[-length:]) for path in paths] for length in lengths)
    return next((each for each in names if len(set(each)) == len(set(paths))), list(folders)), models


# ---------------------------------------------------------------- texts in


def read_rows(args: argparse.Namespace, pair: bool) -> tuple[Iterator[Row], KeptColumns]:
    """The texts to work on, from a table with its other columns or from lines of standard input."""
    from ..tables.cells import KeptColumns
    from ..tables.rows import open_rows

    if args.data in (None, "-"):
        names = ["text", "text2"] if pair else ["text"]
        return read_lines(args, pair), KeptColumns(names, ["text"] * len(names))
    table, columns = open_data(args, pair, need_label=False)
    rows, kept = open_rows(table, columns, on_bad(args))
    return _to_the_end(table, rows), kept


def _to_the_end(table: Table, rows: Iterable[Row]) -> Iterator[Row]:
    """The rows of a table, which is closed after them."""
    with table:
        yield from rows


def read_lines(args: argparse.Namespace, pair: bool) -> Iterator[Row]:
    """The texts of standard input, which has no columns."""
    if args.text or args.text2 or getattr(args, "label", None):
        raise conflict("--text is the column of a table; standard input has no columns")
    if sys.stdin is None:
        raise LimelightError("standard input is closed; give a table", code="stream-closed")
    return _lines(pair, skip_bad=on_bad(args) == "skip")


def open_data(args: argparse.Namespace, pair: bool, need_label: bool = True) -> tuple[Table, Columns]:
    """The table DATA, and its columns for a model of pairs or of single texts; guessed ones are named."""
    from ..tables.columns import Columns, choose_columns
    from ..tables.table import open_table

    if args.text2 and not pair:
        raise LimelightError(
            f"this model reads single texts; --text2 {args.text2} is for models of pairs", code="model-task"
        )
    label = getattr(args, "label", None)
    table = open_table(args.data)
    columns = choose_columns(args.data, args.text, label, args.text2, need_label, pair, table.names)
    if on_terminal() and columns != Columns(args.text or "", label, args.text2):
        print(f"{columns} (guessed)", file=sys.stderr)
    return table, columns


def _lines(pair: bool, skip_bad: bool) -> Iterator[Row]:
    """One text per line; for pairs, two texts separated by a tab.

    A blank line counts as a text without words, so that there are as many answers as lines.
    """
    from ..tables.formats import BoundedLines
    from ..tables.rows import Row

    if sys.stdin.isatty():
        print("one text per line; end with Ctrl-D", file=sys.stderr)
    number = skipped = blank = 0
    lines = BoundedLines(sys.stdin.buffer, "standard input")
    lines.start_row()
    for number, line in enumerate(lines, 1):
        lines.start_row()
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
        except UnicodeDecodeError:
            raise LimelightError(
                f"standard input, line {number}: not UTF-8; convert it first", code="encoding"
            ) from None
        parts = text.split("\t") if pair else [text]
        empty = not all(part.strip() for part in parts)
        if skip_bad and (len(parts) != 1 + pair or empty):
            skipped += 1
            continue
        if len(parts) != 1 + pair:
            tabs = f"{len(parts) - 1} tabs" if len(parts) > 2 else "no tab"
            raise LimelightError(
                f"standard input, line {number}: {tabs}; separate the two texts of a pair by one tab",
                code="pair-separator",
            )
        blank += empty
        yield Row(parts[0], None, parts[1] if pair else None, parts)
    if blank:
        warn(f"standard input: {blank:,} of {number:,} lines are blank; add --skip-bad to skip them")
    if skipped:
        warn(f"standard input: skipped {skipped:,} of {number:,} lines, which cannot be used")


def sample_rows(read: TableRows, most: int, task: str, seed: int = 0) -> tuple[list[Row], LabelColumn, int]:
    """A random sample of at most `most` rows, in order; all labels; the number of rows.

    The table is read once and not held in memory.
    """
    from ..text.tasks import find_task

    kept: list[tuple[int, Row]] = []
    rng, labels, number = random.Random(seed), find_task(task)(), 0
    for number, row in enumerate(read, 1):
        if row.label is not None:
            labels.append(row.label)
        if number <= most:
            kept.append((number, row))
        elif (place := rng.randrange(number)) < most:
            kept[place] = (number, row)
    return [row for _, row in sorted(kept, key=lambda each: each[0])], labels, number


# ---------------------------------------------------------------- figures out


def print_result(args: argparse.Namespace, data: Any, text: str) -> None:
    """Print the result of a command: JSON with --json, text otherwise."""
    print(json.dumps(data, ensure_ascii=False) if args.json else text)


def print_resume(job: Job, kept: str = "") -> int:
    """Say on standard error how to resume an interrupted job, and return the exit code."""
    print(f"limelight: interrupted{kept}; resume with: {job.resume_command}", file=sys.stderr)
    return 1


def table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Format a table: the first column aligned left, the others right.

    >>> print(table(["model", "test"], [["ours", "58.1%"], ["CNN", "9.0%"]]))
    model   test
    ours   58.1%
    CNN     9.0%
    """
    cells = [[" ".join(str(cell).splitlines()) for cell in row] for row in (head, *rows)]
    widths = [max(len(row[k]) for row in cells) for k in range(len(head))]
    lines = [
        "  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))])
        for row in cells
    ]
    return "\n".join(line.rstrip() for line in lines)


def metrics_table(results: dict[str, dict[str, Any]]) -> str:
    """Format the figures of each split, a line each."""
    given = {name: figures for name, figures in results.items() if isinstance(figures, dict)}
    shown = [key for key in FIGURES if any(key in figures for figures in given.values())]

    def cells(figures: dict[str, Any]) -> list[str]:  # a folder from elsewhere may lack some
        found = {key: figures.get(key) for key in shown}
        return [FIGURES[key][1].format(x) if isinstance(x, int | float) else "" for key, x in found.items()]

    return table(
        ["", *(FIGURES[key][0] for key in shown)], [[name, *cells(each)] for name, each in given.items()]
    )
