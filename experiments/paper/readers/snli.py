"""SNLI 1.0 as it is distributed: its own three splits, as JSON lines or as tab-separated text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from limelight.errors import LimelightError
from limelight.tables.formats import join_names

from .prepared import BROKEN_JSON, About, Parsed, json_object, prepared, text_problem
from .sources import open_source
from .splits import SPLITS

LABELS = ("entailment", "neutral", "contradiction")
COLUMNS = ("gold_label", "sentence1", "sentence2")
NO_GOLD = "no gold label"  # '-': the annotators did not agree; the paper drops these, as is usual
STRANGE_LABEL = "label not entailment, neutral or contradiction"


def prepare_snli(source: str | Path, out: str | Path, *, overwrite: bool = False) -> About:
    """Turn the folder or the zip of SNLI into tables with the columns premise, hypothesis and label.

    The `.jsonl` and `.txt` files have the same content; the first are read if both exist.

    >>> prepare_snli("snli_1.0.zip", "data/snli")["rows"]  # doctest: +SKIP
    {'train': 549367, 'dev': 9842, 'test': 9824}
    """
    with open_source(source, out) as files:
        names = {s: files.find(f"snli_1.0_{s}.jsonl", f"snli_1.0_{s}.txt") for s in SPLITS}
        with prepared(out, "snli", overwrite, expected=[NO_GOLD]) as tables:
            for split, name in names.items():
                lines = files.lines(name)
                parse = _from_txt(next(lines, b""), name) if ".txt" in Path(name).name else _from_json
                tables.copy(split, lines, parse)
            tables.about["files"] = [files.fingerprint(name) for name in names.values()]
    return tables.about


def pair(label: object, premise: object, hypothesis: object) -> Parsed:
    """A row with three checked columns, or the reason to drop it.

    >>> pair("neutral", "A dog runs.", "It rains.")
    {'premise': 'A dog runs.', 'hypothesis': 'It rains.', 'label': 'neutral'}
    >>> pair("-", "A dog runs.", "It rains.")
    'no gold label'
    """
    if label == "-":
        return NO_GOLD
    if label not in LABELS:
        return STRANGE_LABEL
    problem = text_problem(premise) or text_problem(hypothesis)
    return problem or {"premise": str(premise), "hypothesis": str(hypothesis), "label": str(label)}


def _from_json(line: bytes) -> Parsed:
    row = json_object(line)
    return BROKEN_JSON if row is None else pair(*(row.get(name) for name in COLUMNS))


def _from_txt(header: bytes, name: str) -> Callable[[bytes], Parsed]:
    """A parser that finds columns by name; quotation marks have no special meaning."""
    names = _fields(header)
    if not set(COLUMNS) <= set(names):
        raise LimelightError(
            f"{name} has the columns {join_names(names)}; it must have {join_names(COLUMNS)}",
            code="column-missing",
        )
    positions = [names.index(column) for column in COLUMNS]

    def parse(line: bytes) -> Parsed:
        fields = _fields(line)
        # A row may end early: the last columns, single annotators' labels, are often empty.
        return pair(*(fields[i] for i in positions)) if len(fields) > max(positions) else "too few columns"

    return parse


def _fields(line: bytes) -> Sequence[str]:
    return line.decode("utf-8", "surrogateescape").rstrip("\r\n").split("\t")
