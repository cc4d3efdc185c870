"""Jobs: those that learn from tables and can be resumed, and bulk jobs; their flags, and running them."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from ..errors import conflict
from ._output import on_terminal, print_result
from ._parser import COLUMNS, add_flag, add_shared, check_least, on_bad

if TYPE_CHECKING:
    from ..training.job import Job

ENGINE_FLAGS = ("address", "workers", "dtype")


def add_data(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("data")
    add_shared(group, *COLUMNS)
    about = "column of words that are the reason for the label, separated by |: they are learnt once more"
    add_flag(group, "--reasons", "COL", f"{about} alone; rows may have none")
    add_flag(group, "--not-reasons", "COL", "column of words that must not be a reason")
    add_flag(group, "--dev", "FILE", "development table; may be repeated", action="append")
    add_flag(
        group, "--holdout", "SHARE", "without --dev, hold out this share of each class as development data "
        "(default: 0.1, but 0 for fewer than 1,000 rows with --start)",
    )  # fmt: skip
    add_flag(group, "--test", "FILE", "test table, evaluated once at the end", action="append")


def data_from(args: argparse.Namespace) -> dict[str, Any]:
    """What the flags of `add_data` say: files of each split, columns, share to hold out, what to skip."""
    if args.holdout and args.dev:
        raise conflict("--dev and --holdout cannot be used together; give only one")
    files = {"train": args.data, "dev": args.dev, "test": args.test}
    tables = {name: list(paths) for name, paths in files.items() if paths}
    columns = {name: getattr(args, name) for name in ("text", "label", "text2", "reasons", "not_reasons")}
    return {"tables": tables, "columns": columns, "holdout": args.holdout, "on_bad": on_bad(args)}


def add_run(parser: argparse.ArgumentParser) -> None:
    add_flag(parser, "--resume", "DIR", "resume the interrupted run of this folder")
    add_shared(parser, "--overwrite")
    where = "where to train; auto uses a GPU if there is one"
    add_flag(parser, "--device", ("auto", "cpu", "cuda"), where, "auto")
    checkpoints = "write a checkpoint every X minutes, and after every epoch"
    add_flag(parser, "--checkpoint-minutes", "X", checkpoints, 10)
    add_flag(parser, "--quiet", "", "do not show progress")
    add_shared(parser, "--json")


def run_job(args: argparse.Namespace, job: Any, **more: Any) -> Any:
    """Run or resume a job: what it returns. Interrupted, it says how to resume."""
    check_least(args, checkpoint_minutes=0)
    try:
        return job.run(
            device=args.device, show=not args.quiet, resume=bool(args.resume),
            checkpoint_every=60 * args.checkpoint_minutes, **more,
        )  # fmt: skip
    except KeyboardInterrupt:  # while tables or a teacher are read or a result is written, or a second Ctrl-C
        if not job.is_resumable():
            raise
        raise SystemExit(print_resume(job)) from None


def print_resume(job: Job, kept: str = "") -> int:
    """Say on standard error how to resume an interrupted job, and return the exit code."""
    print(f"limelight: interrupted{kept}; resume with: {job.resume_command}", file=sys.stderr)
    return 1


def add_engine(parser: argparse.ArgumentParser, dtype: bool = False) -> None:
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


def uses_engine(args: argparse.Namespace) -> bool:
    for name in ENGINE_FLAGS:
        if not args.engine and getattr(args, name, None) is not None:
            raise conflict(f"--{name} needs --engine; add --engine ray, or leave it out")
    return bool(args.engine)


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
    before = f" ({result['pieces_before']:,} done before)" if result["pieces_before"] else ""
    skipped = f", {result['skipped']:,} skipped (_skipped.jsonl)" if result["skipped"] else ""
    rows = f"{result['rows_in']:,} rows in, {result['rows_out']:,} out"
    return f"saved {result['out']}: {result['pieces']:,} files{before}, {rows}{skipped}"
