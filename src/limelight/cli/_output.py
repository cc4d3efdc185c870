"""Output: streams in any locale, even closed or full; results checked before the work, and printed.

No text controls a terminal.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

from ..errors import LimelightError, conflict

if TYPE_CHECKING:
    from ..text.tokenizer import Tokenizer

GONE = (OSError, ValueError, AttributeError)  # full or a broken pipe; closed; not there
_UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def on_terminal() -> bool:
    """Whether standard error is a terminal, which shows progress bars."""
    return sys.stderr.isatty()


@contextlib.contextmanager
def utf8_streams() -> Iterator[None]:
    """Print any text whatever the locale says, and progress wherever it can be shown."""
    while (handle := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass  # no file is to get the descriptor of a closed stream, into which libraries may print
    os.close(handle)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace")
    with contextlib.ExitStack() as stack:
        messages, results = VisibleStream(sys.stderr, failing=False), VisibleStream(sys.stdout)
        stack.enter_context(contextlib.redirect_stderr(cast("TextIO", messages)))
        if results.isatty():  # files and pipes get the text as it is
            stack.enter_context(contextlib.redirect_stdout(cast("TextIO", results)))
        yield


def visible(text: str) -> str:
    """Replace what would control a terminal (escapes, carriage returns, bidi overrides) by stand-ins.

    A progress bar's own controls stay: a return at either end, or nothing but moves of the cursor.
    """
    if not _UNSAFE.search(text) or re.fullmatch(r"(\x1b\[A|\n)+", text):
        return text
    from ..reading.pieces import FOR_TERMINALS, printable

    inner = text.removeprefix("\r").removesuffix("\r")
    before = "\r" * text.startswith("\r")
    after = text[len(before) + len(inner) :]
    return before + printable(inner).translate(FOR_TERMINALS) + after


def print_painted(text: str) -> None:
    """Print text that has our own colours in it, and from which all other controls are already gone."""
    print(text, file=getattr(sys.stdout, "unfiltered", sys.stdout))


@contextlib.contextmanager
def require_output(args: argparse.Namespace) -> Iterator[None]:
    """With standard output closed, a command needs another place for its result."""
    if sys.stdout is not None:
        yield
        return
    elsewhere = ("out", "resume", "at_least")  # a file, a folder, the exit code
    if all(getattr(args, name, None) is None for name in elsewhere):
        raise LimelightError("standard output is closed; redirect it to a file: > FILE", code="stream-closed")
    with open(os.devnull, "w", encoding="utf-8") as nowhere, contextlib.redirect_stdout(nowhere):
        yield


def discard_unwritten() -> None:
    """Drop what standard error has not taken: at exit it would change the exit code."""
    try:
        if sys.stderr is not None:
            sys.stderr.flush()
    except ValueError:  # closed, so empty
        return
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


class VisibleStream:
    """A stream that texts cannot control; `failing` False: one that may be closed, full or gone."""

    def __init__(self, stream: TextIO | None, failing: bool = True) -> None:
        self.unfiltered, self._ignored = stream, () if failing else GONE

    def write(self, text: str) -> int:
        with contextlib.suppress(*self._ignored):
            self.unfiltered.write(visible(text))  # type: ignore[union-attr]
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(*self._ignored):
            self.unfiltered.flush()  # type: ignore[union-attr]

    def isatty(self) -> bool:
        stream = self.unfiltered
        return stream is not None and not stream.closed and stream.isatty()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.unfiltered, name)


# ---------------------------------------------------------------- results


FIGURES = {  # of `Metrics.to_dict`: how a table names and formats them
    "rows": ("rows", "{:,}"), "accuracy": ("accuracy", "{:.2%}"), "micro_f1": ("micro F1", "{:.3f}"),
    "macro_f1": ("macro F1", "{:.3f}"), "subset_accuracy": ("all labels right", "{:.2%}"),
    "r2": ("R2", "{:.3f}"), "mae": ("mean error", "{:.3f}"), "pearson": ("Pearson", "{:.3f}"),
    "spearman": ("Spearman", "{:.3f}"), "loss": ("loss", "{:.4f}"),
}  # fmt: skip


def check_out(args: argparse.Namespace, page: bool = False) -> None:
    """Raise before the work unless the file, or page, that --out asks for can be written."""
    from ..storage.files import check_output_file

    if args.out:
        if page and Path(args.out).suffix.lower() not in (".html", ".htm"):
            raise LimelightError(f"{args.out} should end in .html", code="file-suffix")
        check_output_file(args.out, args.overwrite)


def check_picture(args: argparse.Namespace) -> None:
    if args.out and args.json:
        raise conflict("--json prints to standard output; for a file, use --out FILE.json alone")
    check_out(args)


def check_words(tokenizer: Tokenizer, *texts: str | None) -> None:
    """Raise if a text has no words: there would be nothing to show."""
    for text in texts:
        if text is not None and not tokenizer.split(text):
            fault = f"there are no words in {text[:40]!r}; give a text with words"
            raise LimelightError(fault, code="text-without-words")


def output_format(args: argparse.Namespace, implied: str | None, suffixes: str) -> str | None:
    """The format that --json or --format asks for or --out implies; a file must have one."""
    asked: str | None = "jsonl" if args.json else args.format or implied
    if args.out and not asked:
        raise LimelightError(f"{args.out} should end in {suffixes}; or add --format", code="file-suffix")
    if not args.out and asked in ("parquet", "xlsx"):
        raise conflict(f"{asked} cannot be written to standard output; name a file with --out")
    return asked


def print_result(args: argparse.Namespace, data: Any, text: str) -> None:
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


def table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    cells = [[" ".join(str(cell).splitlines()) for cell in row] for row in (head, *rows)]
    widths = [max(len(row[k]) for row in cells) for k in range(len(head))]
    lines = [
        "  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))])
        for row in cells
    ]
    return "\n".join(line.rstrip() for line in lines)


def metrics_table(results: dict[str, dict[str, Any]]) -> str:
    given = {name: figures for name, figures in results.items() if isinstance(figures, dict)}
    shown = [key for key in FIGURES if any(key in figures for figures in given.values())]

    def cells(figures: dict[str, Any]) -> list[str]:  # a folder from elsewhere may lack some
        found = {key: figures.get(key) for key in shown}
        return [FIGURES[key][1].format(x) if isinstance(x, int | float) else "" for key, x in found.items()]

    head = ["", *(FIGURES[key][0] for key in shown)]
    return table(head, [[name, *cells(each)] for name, each in given.items()])
