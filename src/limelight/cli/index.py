"""`limelight index`: the texts of tables and their vectors, in a folder to search."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import conflict, no_rows, warn
from ._output import on_terminal, print_result
from ._parser import add_flag, add_shared, on_bad
from ._rows import standard_input

if TYPE_CHECKING:
    from ..search.index import Index

HELP = "index the texts of tables, to search them by meaning and by words"
DESCRIPTION = """\
Make a folder of the texts of one table or several, with their other columns, a vector each
and their words, for limelight search. With --passages, a long text is split into
passages of about 100 words, with --sentences into sentences: entries that remember their row. If it is
interrupted, the same command with --add continues where it stopped. With --key, a column names the rows:
--update replaces and --delete deletes them by it, without building the index again.

  limelight index reviews.csv --text text --key id --sentences --out reviews.index
  limelight index new.csv --out reviews.index --add
  limelight index changed.csv --out reviews.index --update
  limelight index --out reviews.index --delete 17 23"""


def arguments(parser: argparse.ArgumentParser) -> None:
    about = "table of texts, or a .txt file with one on each line (-: lines of standard input)"
    add_flag(parser, "data", "CORPUS", about, nargs="*")
    add_flag(parser, "--out", "INDEX", "folder of the index", required=True)
    add_flag(parser, "--model", "MODEL", 'folder of a saved model or reader (default: "reader")')
    unit = parser.add_mutually_exclusive_group()
    add_flag(unit, "--passages", "", "split long texts into passages of about 100 words")
    add_flag(unit, "--sentences", "", "split the texts into sentences")
    from ..search.words import LANGUAGES

    about = "of the texts: forms of a word are found as one (default: english)"
    add_flag(parser, "--language", LANGUAGES, about)
    add_flag(parser, "--key", "COLUMN", "names a row, to update and delete it by (default: the row's number)")
    add_flag(parser, "--precision", ("float32", "int8"), "to read the texts in; int8 is faster", "int8")
    add_shared(parser, "--text")
    add_flag(parser, "--skip-bad", "", "skip rows without text or key")
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        "--add", "--resume", action="store_true", help="add to an index, or finish an interrupted one"
    )
    add_flag(how, "--update", "", "add to an index; rows replace those with the same keys")
    add_shared(how, "--overwrite")
    add_flag(parser, "--delete", "KEY", "delete the rows with these keys", nargs="+", action="extend")
    add_flag(parser, "--compact", "", "remove what was deleted from the files, too")
    add_shared(parser, "--json")


def run(args: argparse.Namespace) -> int:
    if args.delete and (args.data or args.update or args.overwrite):
        raise conflict("--delete takes no CORPUS; add or update with a command of its own")
    if not args.data and not args.delete and not args.compact:
        raise no_rows("no CORPUS; give at least one table")
    try:
        index = _change(args) if args.add or args.update or not args.data else _create(args)
        if args.compact:
            index.compact()
    except KeyboardInterrupt:
        again = "--overwrite" if args.overwrite else "--update" if args.update else "--add"
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

    corpora = [Corpus(_given(each, args), args.text, on_bad(args)) for each in args.data]
    given = args.sentences, args.precision, args.passages, args.key, args.language or "english"
    config, model = new_config(args.model or "reader", *given)
    build(Path(args.out), corpora, config, model, args.overwrite, on_terminal())
    return Index.open(args.out)


def _given(name: str, args: argparse.Namespace) -> str | Iterator[str]:
    if name == "-" and args.text:
        raise conflict("--text is the column of a table; standard input has no columns")
    return standard_input("text", "table") if name == "-" else name


def _change(args: argparse.Namespace) -> Index:
    from ..search.index import Index

    index = Index.open(args.out, model=args.model)
    unit = "sentences" if args.sentences else "passages" if args.passages else index.config.unit
    if unit != index.config.unit:
        raise conflict(f"{args.out} holds {index.config.unit}; --{unit} needs an index of its own")
    if args.key not in (None, index.config.key):
        raise conflict(f"{args.out} names rows by {index.config.key or 'number'}, not by {args.key}")
    if args.language not in (None, index.config.language):
        raise conflict(f"{args.out} is of words in {index.config.language}, not in {args.language}")
    for each in args.data:
        add = index.update if args.update else index.add
        add(_given(each, args), text=args.text, on_bad=on_bad(args), progress=on_terminal())
    keys = list(dict.fromkeys(args.delete or ()))
    missing = len(keys) - index.delete(keys) if keys else 0
    if missing:
        warn(f"no row has {missing:,} of the {len(keys):,} keys; deleted those of the others")
    return index
