"""What several commands need: common flags, texts from files or standard input, tables and JSON out."""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import LimelightError, warn

if TYPE_CHECKING:
    from ..text.labels import LabelColumn
    from ..text.tables import Row, TableRows


HOLDOUT = 0.1


def add_data(parser: argparse.ArgumentParser) -> None:
    """Flags that name tables and their columns."""
    group = parser.add_argument_group("data")
    add_columns(group)
    group.add_argument("--dev", action="append", metavar="FILE", help="development data; may be given again")
    group.add_argument(
        "--holdout", type=float, metavar="SHARE",
        help=f"without --dev, hold out this share of every class to choose by (default: {HOLDOUT})",
    )  # fmt: skip
    group.add_argument("--test", action="append", metavar="FILE", help="test data, looked at once at the end")


def add_columns(group: Any, label: bool = True, pair: bool = True) -> None:
    """Which columns of a table to read, and what to do with rows that cannot be used."""
    group.add_argument("--text", metavar="COL", help="column of the text; guessed where there is no doubt")
    if label:
        group.add_argument("--label", metavar="COL", help="column of the label, likewise")
    if pair:
        group.add_argument("--text2", metavar="COL", help="column of the second text, for pairs")
    else:
        group.set_defaults(text2=None)
    group.add_argument("--skip-bad", action="store_true", help="leave out rows without text or label")


def add_json(parser: argparse.ArgumentParser, what: str = "one JSON object") -> None:
    """`--json`."""
    parser.add_argument("--json", action="store_true", help=f"print {what}, for scripts")


def add_overwrite(parser: argparse.ArgumentParser) -> None:
    """`--overwrite`."""
    parser.add_argument("--overwrite", action="store_true", help="replace the output if it is there already")


def add_device(parser: argparse.ArgumentParser) -> None:
    """`--device`."""
    parser.add_argument(
        "--device", choices=("auto", "cpu", "cuda"), default="auto",
        help="where to train; auto takes a GPU if there is one",
    )  # fmt: skip


def on_bad(args: argparse.Namespace) -> str:
    """What the table readers call it."""
    return "skip" if args.skip_bad else "error"


def holdout(args: argparse.Namespace) -> float:
    """The share to hold out, given or not."""
    if args.holdout and args.dev:
        raise LimelightError(
            "--dev is the development data: there is none to hold out; leave one of the two out"
        )
    return HOLDOUT if args.holdout is None else float(args.holdout)


def tables_from(args: argparse.Namespace) -> dict[str, list[str]]:
    """The files of each part that was given."""
    found = {"train": args.data, "dev": args.dev, "test": args.test}
    return {name: list(paths) for name, paths in found.items() if paths}


def on_terminal() -> bool:
    """Bars are for people: only where standard error is a terminal."""
    return sys.stderr.isatty()


def check_new(path: str | Path, overwrite: bool) -> None:
    """Say before the work that the output is there already."""
    path = Path(path)
    if path.is_dir():
        raise LimelightError(f"{path} is a folder; name a file")
    if path.exists() and not overwrite:
        raise LimelightError(f"{path} already exists; choose another name or allow it with --overwrite")


def check_no_model(out: Path) -> None:
    """A model folder that also holds something else could not be overwritten any more."""
    if (out / "config.json").is_file():
        raise LimelightError(f"{out} is a model folder; name another --out")


# ---------------------------------------------------------------- texts in


def rows_from(args: argparse.Namespace, pair: bool) -> Iterator[Row]:
    """The texts to work on, one after the other: of a table, or lines of standard input."""
    if args.data in (None, "-"):
        if args.text or args.text2:
            raise LimelightError("--text names a column of a table; lines on standard input have none")
        if sys.stdin is None:
            raise LimelightError("standard input is closed, so there are no lines to read; name a table")
        return _lines(pair, skip_bad=on_bad(args) == "skip")
    from ..text.columns import choose_columns
    from ..text.tables import TableRows

    check_text2(args, pair)
    columns = choose_columns(args.data, args.text, None, args.text2, need_label=False, pair=pair)
    if on_bad(args) == "error":  # a row that cannot be used is said before the long work, not after
        deque(TableRows(args.data, columns), maxlen=0)
    return TableRows(args.data, columns, on_bad=on_bad(args))


def check_text2(args: argparse.Namespace, pair: bool) -> None:
    """A second text is only for models that read one."""
    if args.text2 and not pair:
        raise LimelightError(f"this model reads single texts: --text2 {args.text2} is for models of pairs")


def _lines(pair: bool, skip_bad: bool) -> Iterator[Row]:
    """One text per line; for pairs, both texts with a tab between them.

    A blank line is a text without words: whoever pipes lines through counts on as many answers.
    """
    from ..text.tables import Row

    if sys.stdin.isatty():
        print("one text per line, Ctrl-D ends", file=sys.stderr)
    number = skipped = blank = 0
    for number, line in enumerate(sys.stdin.buffer, 1):
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
        except UnicodeDecodeError:
            raise LimelightError(f"standard input, line {number} is not UTF-8; convert it first") from None
        parts = text.split("\t") if pair else [text]
        hollow = not all(part.strip() for part in parts)
        if skip_bad and (len(parts) != 1 + pair or hollow):
            skipped += 1
            continue
        if len(parts) != 1 + pair:
            tabs = "2 tabs or more" if len(parts) > 2 else "no tab"
            raise LimelightError(
                f"standard input, line {number} has {tabs}; this model reads pairs: put one between the texts"
            )
        blank += hollow
        yield Row(parts[0], None, parts[1]) if pair else Row(text)
    if blank:
        taken = f"took {blank:,} of its {number:,} lines, which are blank, as texts without words"
        warn(f"standard input: {taken}; leave them out with --skip-bad")
    if skipped:
        warn(f"standard input: left out {skipped:,} of its {number:,} lines, which cannot be used")


def drawn(read: TableRows, most: int, seed: int = 0) -> tuple[list[Row], LabelColumn, int]:
    """At most so many rows, each as likely as any other, in their order; all labels; how many rows there are.

    The table is read once and not held.
    """
    from ..text.labels import LabelColumn

    kept: list[tuple[int, Row]] = []
    rng, labels, number = random.Random(seed), LabelColumn(), 0
    for number, row in enumerate(read, 1):
        if row.label is not None:
            labels.append(row.label)
        if number <= most:
            kept.append((number, row))
        elif (place := rng.randrange(number)) < most:
            kept[place] = (number, row)
    return [row for _, row in sorted(kept, key=lambda each: each[0])], labels, number


def columns_of(
    rows: Iterator[Row], pair: bool, seen: Callable[[Row], Any] = lambda row: None
) -> tuple[Iterator[str], Iterator[str] | None]:
    """First texts and, for pairs, second ones, as a model takes them; `seen` is told of every row."""
    seconds = deque[str]()

    def first() -> Iterator[str]:
        for row in rows:
            seen(row)
            if row.text2 is not None:
                seconds.append(row.text2)
            yield row.text

    def second() -> Iterator[str]:
        while seconds:
            yield seconds.popleft()

    return first(), second() if pair else None


# ---------------------------------------------------------------- figures out


def show(args: argparse.Namespace, data: Any, text: str) -> None:
    """The answer of a command: JSON if asked for, otherwise text for people."""
    print(json.dumps(data, ensure_ascii=False) if args.json else text)


def table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Columns side by side, the first to the left, numbers to the right.

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


def figures_table(results: dict[str, dict[str, Any]]) -> str:
    """Accuracy and the like of each split, a line each."""
    forms = {"rows": "{:,}", "accuracy": "{:.2%}", "macro_f1": "{:.3f}", "loss": "{:.4f}"}

    def cells(figures: dict[str, Any]) -> list[str]:  # a folder from elsewhere need not have all of them
        given = {key: figures.get(key) for key in forms}
        return [forms[key].format(x) if isinstance(x, int | float) else "" for key, x in given.items()]

    rows = [[name, *cells(figures)] for name, figures in results.items() if isinstance(figures, dict)]
    return table(["", "rows", "accuracy", "macro F1", "loss"], rows)
