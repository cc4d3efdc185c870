"""Flags that several commands have, and what they say."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..errors import check_at_least, conflict, needs_extra
from ._parser import add_flag

if TYPE_CHECKING:
    from ..runtime.model import Model

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
    "--port": ("N", "port (default: any that is free)"),
    "--no-browser": ("", "print the address and open nothing"),
    "--abstain-below": ("P", "give no label where its probability is lower than this (0 to 1)"),
    "--target-precision": (
        "P", "choose that probability for answers of which this share is right, such as 0.95",
    ),
}  # fmt: skip


COLUMNS = ("--text", "--label", "--text2", "--skip-bad")


def add_shared(group: Any, *names: str) -> None:
    """Flags that several commands have. One that reads a table also has an encoding."""
    for name in (*names, "--encoding") if "--text" in names else names:
        add_flag(group, name, *FLAGS[name])


def on_bad(args: argparse.Namespace) -> str:
    """The table readers' name for --skip-bad."""
    return "skip" if args.skip_bad else "error"


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


@contextmanager
def needs_serve(command: str) -> Iterator[None]:
    """Says which extra a command needs, if what it imports is not there."""
    try:
        yield
    except ImportError as error:
        raise needs_extra(f"{command} needs {error.name}: pip install '.[serve]'") from None


def check_least(args: argparse.Namespace, **least: int) -> None:
    """Raise if a number is below the least it may be."""
    for name, lowest in least.items():
        check_at_least(f"--{name.replace('_', '-')}", getattr(args, name), lowest)
