"""Common flags, texts from files or standard input, results as tables or JSON."""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import LimelightError, check_at_least, warn
from ._parser import add_flag, conflict, given_options, wrong_model
from ._streams import print_painted

if TYPE_CHECKING:
    from ..config.recipe import Recipe
    from ..runtime.model import Model
    from ..runtime.reader import Reader
    from ..tables.cells import KeptColumns
    from ..tables.columns import Columns
    from ..tables.formats import BoundedLines
    from ..tables.rows import Row, TableRows
    from ..tables.table import Table
    from ..text.dataset import Dataset
    from ..text.labels import LabelColumn
    from ..text.tasks import LabelFormat
    from ..text.tokenizer import Tokenizer
    from ..training.job import Job

FIGURES = {  # of `Metrics.to_dict`: how a table names and formats them
    "rows": ("rows", "{:,}"), "accuracy": ("accuracy", "{:.2%}"), "micro_f1": ("micro F1", "{:.3f}"),
    "macro_f1": ("macro F1", "{:.3f}"), "subset_accuracy": ("all labels right", "{:.2%}"),
    "r2": ("R2", "{:.3f}"), "mae": ("mean error", "{:.3f}"), "pearson": ("Pearson", "{:.3f}"),
    "spearman": ("Spearman", "{:.3f}"), "loss": ("loss", "{:.4f}"),
}  # fmt: skip


FLAGS: dict[str, tuple[Any, ...]] = {  # of several commands: what each takes, what it is, its default
    "--text": ("COL", "text column; detected by its name, or if its texts are by far the longest"),
    "--label": ("COL", "label column; detected if its name is unambiguous"),
    "--text2": ("COL", "column of the second text, for pairs"),
    "--skip-bad": ("", "skip rows without text or label, and name the first of them"),
    "--encoding": (
        "NAME", "encoding of text tables, such as cp1252 (default: UTF-8, or a guess, with a warning)",
    ),
    "--json": ("", "print one JSON object, for scripts"),
    "--overwrite": ("", "replace existing output"),
    "--escape-formulas": (
        "", "in csv and tsv, put ' before what a spreadsheet would run: texts that begin with = + - @"
    ),
    "--device": (
        ("cpu", "cuda", "auto"), "where to run; cuda is a GPU, with PyTorch; auto a GPU if PyTorch sees one",
        "cpu",
    ),
    "--precision": (
        ("float32", "int8", "bf16"),
        "on the CPU float32 or int8, which is faster; on a GPU bf16 or float32 (default: the first)",
    ),
    "--abstain-below": ("P", "give no label where its probability is lower than this (0 to 1)"),
    "--target-precision": (
        "P", "choose that probability for answers of which this share is right, such as 0.95",
    ),
}  # fmt: skip
COLUMNS = ("--text", "--label", "--text2", "--skip-bad")
TRAIN_DEVICE = (
    "--device", ("auto", "cpu", "cuda"), "where to train; auto uses a GPU if there is one", "auto",
)  # fmt: skip


def add_shared(group: Any, *names: str) -> None:
    """Flags that several commands have. One that reads a table also has an encoding."""
    for name in (*names, "--encoding") if "--text" in names else names:
        add_flag(group, name, *FLAGS[name])


def add_data(parser: argparse.ArgumentParser) -> None:
    """Flags for tables and their columns."""
    group = parser.add_argument_group("data")
    add_shared(group, *COLUMNS)
    add_flag(
        group,
        "--reasons",
        "COL",
        "column of words that are the reason for the label, separated by |: they are "
        "learnt once more alone; rows may have none",
    )
    add_flag(group, "--not-reasons", "COL", "column of words that must not be a reason")
    add_flag(group, "--dev", "FILE", "development table; may be repeated", action="append")
    add_flag(
        group, "--holdout", "SHARE", "without --dev, hold out this share of each class as development data "
        "(default: 0.1, but 0 for fewer than 1,000 rows with --start)",
    )  # fmt: skip
    add_flag(group, "--test", "FILE", "test table, evaluated once at the end", action="append")


def add_run(parser: argparse.ArgumentParser) -> None:
    """Flags of a run that can be resumed."""
    add_flag(parser, "--resume", "DIR", "resume the interrupted run of this folder")
    add_shared(parser, "--overwrite")
    add_flag(parser, *TRAIN_DEVICE)
    checkpoints = "write a checkpoint every X minutes, and after every epoch"
    add_flag(parser, "--checkpoint-minutes", "X", checkpoints, 10)
    add_flag(parser, "--quiet", "", "do not show progress")
    add_shared(parser, "--json")


def threshold_from(args: argparse.Namespace, model: Model) -> float | None:
    """The probability to abstain below; for a wanted precision, chosen on the model's development set."""
    from ..runtime.confidence import check_threshold, saved_curve

    if args.target_precision is None:
        given = args.abstain_below
        return None if given is None else check_threshold(given, "--abstain-below")
    if args.abstain_below is not None:
        raise conflict("--abstain-below and --target-precision exclude each other; give only one")
    found = model.threshold(args.target_precision)
    _, rows = saved_curve(model.facts.get("confidence"))
    shown = f"{args.target_precision:.1%} right or more, as {rows:,} development texts show"
    print(f"abstaining below {found:.3f}: {shown}", file=sys.stderr)
    return found


def on_bad(args: argparse.Namespace) -> str:
    """The table readers' name for --skip-bad."""
    return "skip" if args.skip_bad else "error"


def data_from(args: argparse.Namespace) -> dict[str, Any]:
    """What the flags of `add_data` say: files of each split, columns, share to hold out, what to skip."""
    if args.holdout and args.dev:
        raise conflict("--dev and --holdout cannot be used together; give only one")
    files = {"train": args.data, "dev": args.dev, "test": args.test}
    return {
        "tables": {name: list(paths) for name, paths in files.items() if paths},
        "columns": {
            name: getattr(args, name) for name in ("text", "label", "text2", "reasons", "not_reasons")
        },
        "holdout": args.holdout, "on_bad": on_bad(args),
    }  # fmt: skip


def encode(args: argparse.Namespace, out: str | Path, recipe: Recipe, **how: Any) -> Dataset:
    """Encode the tables that the flags name."""
    from ..runtime.start import start_of
    from ..text.encode import encode_tables

    recipe, start = start_of(recipe, given_options(args))
    data = data_from(args)
    how |= {**data.pop("tables"), **data.pop("columns"), **data}
    return encode_tables(out, recipe=recipe.text, seed=recipe.training.seed, start=start, **how)


def on_terminal() -> bool:
    """Whether standard error is a terminal, which shows progress bars."""
    return sys.stderr.isatty()


def check_out(args: argparse.Namespace, page: bool = False) -> None:
    """Raise before the work unless the file, or page, that --out asks for can be written."""
    from ..storage.files import check_output_file

    if args.out:
        if page and Path(args.out).suffix.lower() not in (".html", ".htm"):
            raise LimelightError(f"{args.out} should end in .html", code="file-suffix")
        check_output_file(args.out, args.overwrite)


def check_picture(args: argparse.Namespace) -> None:
    """Raise unless the picture that --out asks for can be written."""
    if args.out and args.json:
        raise conflict("--json prints to standard output; for a file, use --out FILE.json alone")
    check_out(args)


def check_words(tokenizer: Tokenizer, *texts: str | None) -> None:
    """Raise if a text has no words: there would be nothing to show."""
    for text in texts:
        if text is not None and not tokenizer.split(text):
            raise LimelightError(
                f"there are no words in {text[:40]!r}; give a text with words", code="text-without-words"
            )


def output_format(args: argparse.Namespace, implied: str | None, suffixes: str) -> str | None:
    """The format that --json or --format asks for or --out implies; a file must have one."""
    asked: str | None = "jsonl" if args.json else args.format or implied
    if args.out and not asked:
        raise LimelightError(f"{args.out} should end in {suffixes}; or add --format", code="file-suffix")
    if not args.out and asked in ("parquet", "xlsx"):
        raise conflict(f"{asked} cannot be written to standard output; name a file with --out")
    return asked


def save_page(args: argparse.Namespace, page: str) -> None:
    """Write a page to --out."""
    from ..storage.files import atomic_file

    with atomic_file(args.out, args.overwrite) as file:
        file.write(page.encode(errors="replace"))  # it may hold file names that are not UTF-8
    print(f"saved {args.out}", file=sys.stderr)


def check_least(args: argparse.Namespace, **least: int) -> None:
    """Raise if a number is below the least it may be."""
    for name, lowest in least.items():
        check_at_least(f"--{name.replace('_', '-')}", getattr(args, name), lowest)


def load_models(*given: str | None) -> tuple[list[str], list[Model]]:
    """Models of the folders given, which all read pairs or all single texts, and their names.

    Two folders of one name get as much of their paths as tells them apart.
    """
    from ..runtime.model import Model

    folders = [folder for folder in given if folder]
    models = [Model.load(folder) for folder in folders]
    if len({model.pair for model in models}) > 1:
        pairs, single = folders if models[0].pair else reversed(folders)
        raise LimelightError(
            f"{pairs} reads pairs and {single} single texts; compare models of one task", code="model-kind"
        )
    paths = [Path(folder).resolve().parts for folder in folders]
    lengths = range(1, max(map(len, paths)) + 1)
    names = (["/".join(path[-length:]) for path in paths] for length in lengths)
    return next((each for each in names if len(set(each)) == len(set(paths))), folders), models


# ---------------------------------------------------------------- texts in


def read_rows(args: argparse.Namespace, pair: bool) -> tuple[Iterator[Row], KeptColumns]:
    """The texts to work on, from a table with its other columns or from lines of standard input."""
    from ..tables.cells import KeptColumns
    from ..tables.rows import open_rows

    if args.data in (None, "-"):
        names = ["text", "text2"] if pair else ["text"]
        return read_lines(args, pair), KeptColumns(names, ["text"] * len(names))
    table, columns = open_data(args, pair, need_label=False)
    rows, kept = open_rows(table, columns, on_bad(args), on_terminal())
    return _to_the_end(table, rows), kept


def _to_the_end(table: Table, rows: Iterable[Row]) -> Iterator[Row]:
    """The rows of a table, which is closed after them."""
    with table:
        yield from rows


def read_lines(args: argparse.Namespace, pair: bool) -> Iterator[Row]:
    """The texts of standard input, which has no columns."""
    if args.text or getattr(args, "text2", None) or getattr(args, "label", None):
        raise conflict("--text is the column of a table; standard input has no columns")
    return _rows_of(standard_input("text", "table"), pair, args.skip_bad)


def _rows_of(lines: Iterator[str], pair: bool, skip_bad: bool) -> Iterator[Row]:
    """One text per line; for pairs, two texts separated by a tab.

    A blank line counts as a text without words, so that there are as many answers as lines.
    """
    from ..tables.rows import Row

    number = skipped = blank = 0
    for number, line in enumerate(lines, 1):
        parts = line.split("\t") if pair else [line]
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


def standard_input(what: str, instead: str) -> Iterator[str]:
    """The lines of standard input, each a text or a query."""
    from ..tables.encoding import stated_encoding
    from ..tables.formats import BoundedLines

    if sys.stdin is None:
        raise LimelightError(f"standard input is closed; give a {instead}", code="stream-closed")
    if sys.stdin.isatty():
        print(f"one {what} per line; end with Ctrl-D", file=sys.stderr)
    return _decoded(BoundedLines(sys.stdin.buffer, "standard input"), stated_encoding())


def _decoded(lines: BoundedLines[bytes], encoding: str | None) -> Iterator[str]:
    for number, line in enumerate(lines, 1):
        lines.start_row()
        try:
            text = line.decode(encoding or ("utf-8-sig" if number == 1 else "utf-8"))
        except UnicodeError:
            wrong = f"standard input, line {number}: not {encoding or 'UTF-8'}"
            raise LimelightError(f"{wrong}; name its encoding with --encoding", code="not-utf8") from None
        yield text.rstrip("\r\n")


def open_data(
    args: argparse.Namespace, pair: bool, need_label: bool = True, table: Table | None = None
) -> tuple[Table, Columns]:
    """The table DATA, and its columns for a model of pairs or of single texts; guessed ones are named.

    `table` is it already open.
    """
    from ..tables.columns import Columns, choose_columns
    from ..tables.table import open_table

    label, text2 = getattr(args, "label", None), getattr(args, "text2", None)
    if text2 and not pair:
        raise wrong_model(f"this model reads single texts; --text2 {text2} is for models of pairs")
    table = table or open_table(args.data)
    columns = choose_columns(table, args.text, label, text2, need_label, pair)
    if on_terminal() and columns != Columns(args.text or "", label, text2):
        print(f"{columns} (guessed)", file=sys.stderr)
    return table, columns


def table_rows(
    args: argparse.Namespace,
    model: Model | Reader,
    need_label: bool = True,
    labels: LabelFormat | None = None,
    skip: bool = False,
    further: Sequence[str] = (),
    table: Table | None = None,
) -> TableRows:
    """The rows of DATA, or of an open `table`, for a model, with labels as it reads them or as said."""
    from ..runtime.reader import Reader
    from ..tables.rows import TableRows
    from ..text.tasks import LabelFormat

    table, columns = open_data(args, model.pair, need_label, table)
    if labels is None:
        labels = LabelFormat() if isinstance(model, Reader) else model.label_format
    how = {"on_bad": "skip" if skip else on_bad(args), "parse_label": labels.parse}
    return TableRows(table, columns, further=further, **how)  # type: ignore[arg-type]


def sample(
    args: argparse.Namespace, model: Model, most: int, seed: int = 0, need_label: bool = True,
    further: Sequence[str] = (), table: Table | None = None,
) -> tuple[list[Row], int, str]:  # fmt: skip
    """A sample of DATA, how many rows there are, its name; an unknown label is an error at once.

    `further` are columns whose values come along in the cells of the rows.
    """
    read = table_rows(args, model, need_label, further=further, table=table)
    rows, labels, count = sample_rows(read, most, model.task, seed)
    labels.index(model.labels, read.name_row)
    return rows, count, (table.path if table else Path(args.data)).name


def sample_rows(read: TableRows, most: int, task: str, seed: int = 0) -> tuple[list[Row], LabelColumn, int]:
    """A random sample of at most `most` rows, in order; all labels; the number of rows.

    The table is read once and not held in memory.
    """
    from ..text.tasks import find_task

    kept: list[tuple[int, Row]] = []
    rng, labels, number = random.Random(seed), find_task(task).column(), 0
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


def show_pictures(args: argparse.Namespace, found: Sequence[tuple[str, Any]], rows: bool = False) -> None:
    """Save or print readings or comparisons, each after its heading; one without a heading is alone."""
    from ..reading import save_picture, to_json, to_terminal

    if args.out:
        page = [each for pair in found for each in pair] if found[0][0] else found[0][1]
        save_picture(page, args.out, overwrite=args.overwrite, rows=rows)
        print(f"saved {args.out}")
        return
    for number, (heading, reading) in enumerate(found):
        if args.json:
            print(to_json(reading))
            continue
        if heading:
            print(f"\n{heading}\n" if number else f"{heading}\n")
        print_painted(to_terminal(reading, rows=rows))


# ---------------------------------------------------------------- runs


def run_job(args: argparse.Namespace, job: Any, **more: Any) -> Any:
    """Run or resume a job: what it returns. Interrupted, it says how to resume."""
    check_least(args, checkpoint_minutes=0)
    try:
        return job.run(
            device=args.device, show=not args.quiet, resume=bool(args.resume),
            checkpoint_every=60 * args.checkpoint_minutes, **more,
        )  # fmt: skip
    except (
        KeyboardInterrupt
    ):  # while tables or a teacher are read or the result is written, or a second Ctrl-C
        if not job.is_resumable():
            raise
        raise SystemExit(print_resume(job)) from None


def print_resume(job: Job, kept: str = "") -> int:
    """Say on standard error how to resume an interrupted job, and return the exit code."""
    print(f"limelight: interrupted{kept}; resume with: {job.resume_command}", file=sys.stderr)
    return 1


# ---------------------------------------------------------------- tables out


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
