"""`limelight label`: from texts without labels to a labelled table, in the browser."""

import argparse
from typing import Any

from ..errors import conflict
from ..tables import WRITABLE
from ._parser import add_flag, add_shared, needs_serve

HELP = "label texts in the browser, with a model that learns as you label"
DESCRIPTION = """\
Label texts in the browser, with the keyboard. Start with nothing and make classes of groups of similar texts,
or with names of classes, with a sentence about each, or with a model. Every second text is the most useful
one, the others are drawn at random; a model is refitted after every label, and its accuracy is estimated from
those drawn at random. Whole groups and searches are labelled at once. Every key is on the disk before the
next text appears (FILE.journal): the same command goes on where it was left, and several people may label
into one file (--by). Only this machine can connect.

  limelight label texts.csv --text text --out labels.csv
  limelight label texts.csv --out labels.csv --classes rooms staff food --by ann
  limelight train labels.csv --text text --label label --out model"""


def arguments(parser: argparse.ArgumentParser) -> None:
    add_flag(parser, "data", "DATA", "table of texts")
    add_flag(parser, "--out", "FILE", f"the labels: {WRITABLE}", required=True)
    add_shared(parser, "--text")
    add_flag(parser, "--classes", "NAME", "names of classes to start with", nargs="+", default=None)
    describe = "file with a line 'class: a sentence about it' for each class, for a first guess"
    add_flag(parser, "--describe", "FILE", describe)
    add_flag(parser, "--label", "COL", "column of labels that DATA has already, to go on from or to correct")
    add_flag(parser, "--model", "MODEL", "folder of a trained model to start from")
    add_flag(parser, "--by", "NAME", "who labels", "me")
    add_flag(parser, "--several", "", "a text may have several labels")
    add_flag(parser, "--ordered", "", "the classes have an order, the one they are given in")
    add_shared(parser, "--port", "--no-browser")


def run(args: argparse.Namespace) -> None:
    if args.several and args.ordered:
        raise conflict("--several and --ordered exclude each other; give only one")
    open_page(
        args.data, args.out, browser=not args.no_browser, describe=args.describe, text=args.text,
        labels=args.label, classes=args.classes or (), model=args.model, by=args.by, several=args.several,
        ordered=args.ordered, port=args.port or 0,
    )  # fmt: skip


def open_page(
    data: str, out: str, *, browser: bool = True, describe: str | None = None, **options: Any
) -> None:
    with needs_serve("label"):
        from ..serve.http.run import address_shown
        from ..serve.labelling.texts import label, read_descriptions
    about = None if describe is None else read_descriptions(describe)
    with address_shown("labelling", browser) as show:
        count = label(data, out, show=show, descriptions=about, **options)
    print(f"saved {out}: {count:,} labelled rows")
