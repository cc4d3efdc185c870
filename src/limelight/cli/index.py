"""`limelight index`: the texts of tables and their vectors, in a folder to search."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import LimelightError
from ._parser import add_flag, conflict
from ._shared import add_shared, on_bad, on_terminal, print_result

if TYPE_CHECKING:
    from ..search.index import Index

HELP = "index the texts of tables, to search them by meaning and by words"
DESCRIPTION = """\
Make a folder of the texts of one table or several, with their other columns, a vector each
and their words, for limelight search. With --passages, a long text is split into
passages of about 100 words, with --sentences into sentences: entries that remember their row. If it is
interrupted, the same command with --add continues where it stopped.

  limelight index reviews.csv --text text --sentences --out reviews.index
  limelight index new.csv --out reviews.index --add"""


def arguments(parser: argparse.ArgumentParser) -> None:
    add_flag(parser, "data", "CORPUS", "table of texts", nargs="*")
    add_flag(parser, "--out", "INDEX", "folder of the index", required=True)
    add_flag(parser, "--model", "MODEL", 'folder of a saved model or reader (default: "reader")')
    unit = parser.add_mutually_exclusive_group()
    add_flag(unit, "--passages", "", "split long texts into passages of about 100 words")
    add_flag(unit, "--sentences", "", "split the texts into sentences")
    add_flag(parser, "--precision", ("float32", "int8"), "to read the texts in; int8 is faster", "int8")
    add_shared(parser, "--text")
    add_flag(parser, "--skip-bad", "", "skip rows without text")
    add_flag(parser, "--approximate", "", "prepare approximate search, for millions of texts; needs faiss")
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        "--add", "--resume", action="store_true", help="add to an index, or finish an interrupted one"
    )
    add_shared(how, "--overwrite")
    add_shared(parser, "--json")


def run(args: argparse.Namespace) -> int:
    """Build the index or add to it."""
    if not args.data and not (args.add and args.approximate):
        raise LimelightError("no CORPUS; give at least one table", code="no-rows")
    try:
        index = _add(args) if args.add else _create(args)
        if args.approximate:
            index.build_approximate()
    except KeyboardInterrupt:
        again = "--overwrite" if args.overwrite else "--add"
        print(f"limelight: interrupted; run it again with {again} to continue", file=sys.stderr)
        return 1
    what = index.config.unit
    facts = {"out": args.out, what: len(index), "size": index.config.size, "model": index.config.model}
    print_result(args, facts, f"saved {args.out}: {len(index):,} {what if len(index) != 1 else what[:-1]}")
    return 0


def _create(args: argparse.Namespace) -> Index:
    from ..search.build import build, new_config
    from ..search.corpus import Corpus
    from ..search.index import Index

    corpora = [Corpus(each, args.text, on_bad(args)) for each in args.data]
    config, model = new_config(args.model or "reader", args.sentences, args.precision, args.passages)
    build(Path(args.out), corpora, config, model, args.overwrite, on_terminal())
    return Index.open(args.out)


def _add(args: argparse.Namespace) -> Index:
    from ..search.index import Index

    index = Index.open(args.out, model=args.model)
    unit = "sentences" if args.sentences else "passages" if args.passages else index.config.unit
    if unit != index.config.unit:
        raise conflict(f"{args.out} holds {index.config.unit}; --{unit} needs an index of its own")
    for each in args.data:
        index.add(each, text=args.text, on_bad=on_bad(args), progress=on_terminal())
    return index
