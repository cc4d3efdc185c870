"""`--engine`: the flags of bulk jobs, and running one."""

from __future__ import annotations

import argparse
from typing import Any

from ..errors import conflict
from ._flags import add_flag, on_bad
from ._results import print_result
from ._streams import on_terminal

ENGINE_FLAGS = ("address", "workers", "dtype")


def add_engine(parser: argparse.ArgumentParser, dtype: bool = False) -> None:
    """Flags of bulk jobs."""
    group = parser.add_argument_group(
        "bulk jobs",
        "With --engine, DATA is a table, a folder of tables, a pattern or an address such as\n"
        "s3://bucket/folder, and --out a folder of Parquet files. After an interruption, run the same\n"
        "command again.",
    )
    add_flag(group, "--engine", ("local", "ray"), "local: this process; ray: the cores of a Ray cluster")
    add_flag(group, "--address", "ADDRESS", "a running Ray cluster, such as auto (default: this machine)")
    add_flag(group, "--workers", "N", "pieces worked on at a time (default: all cores)")
    if dtype:
        about = "type of the numbers written [float32]; int8 adds a column with the scale"
        add_flag(group, "--dtype", ("float32", "float16", "int8"), about)


def check_no_engine(args: argparse.Namespace) -> None:
    """Raise if a flag of bulk jobs was given without --engine."""
    for name in ENGINE_FLAGS:
        if getattr(args, name, None) is not None:
            raise conflict(f"--{name} needs --engine; add --engine ray, or leave it out")


def run_bulk(args: argparse.Namespace, predictor: Any, refused: dict[str, Any]) -> None:
    """Run the job and print what it did; `refused` are flags that mean nothing here."""
    from ..bulk import run

    for flag, value in {**refused, "--overwrite": args.overwrite}.items():
        if value:
            raise conflict(f"{flag} cannot be used with --engine; leave it out")
    if args.data in (None, "-"):
        raise conflict("--engine needs DATA: a folder of tables, a pattern or an address")
    if args.engine == "local" and (args.address or args.workers):
        raise conflict("--address and --workers are for --engine ray")
    found = run(
        predictor, args.data, args.out, engine=args.engine, address=args.address, workers=args.workers,
        on_bad=on_bad(args), progress=on_terminal(),
    )  # fmt: skip
    result = {"out": args.out, **vars(found)}
    print_result(args, result, describe(result))


def describe(result: dict[str, Any]) -> str:
    """A finished job in one line.

    >>> describe({"out": "v", "pieces": 3, "pieces_before": 1, "rows_in": 9, "rows_out": 8, "skipped": 1})
    'saved v: 3 files (1 done before), 9 rows in, 8 out, 1 skipped (_skipped.jsonl)'
    """
    before = f" ({result['pieces_before']:,} done before)" if result["pieces_before"] else ""
    skipped = f", {result['skipped']:,} skipped (_skipped.jsonl)" if result["skipped"] else ""
    rows = f"{result['rows_in']:,} rows in, {result['rows_out']:,} out"
    return f"saved {result['out']}: {result['pieces']:,} files{before}, {rows}{skipped}"
