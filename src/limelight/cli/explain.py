"""`limelight explain`: which words a model reads, in the terminal or as a picture."""

from __future__ import annotations

import argparse

from ._shared import add_json, add_overwrite, check_new

ORDER = 4
HELP = "show which words a model reads, in the terminal or as a picture"
DESCRIPTION = """\
Show what a saved model reads in a text: its answer, the attention of all rows together and of each row.

  limelight explain model "The soup was cold but the waiter was lovely."
  limelight explain model "The soup was cold." --out soup.html      also .svg, .png, .json, .txt"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Its flags."""
    parser.add_argument("model", metavar="MODEL", help="folder of a saved model")
    parser.add_argument("text", metavar="TEXT", help="the text itself")
    parser.add_argument("text2", nargs="?", metavar="TEXT2", help="the second text, for a model of pairs")
    parser.add_argument("--out", metavar="FILE", help="a picture instead: .html, .svg, .png, .json or .txt")
    add_overwrite(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Read the text and draw it."""
    from ..explain import save_picture, to_json, to_terminal
    from ..runtime.model import Model

    if args.out:
        check_new(args.out, args.overwrite)
    reading = Model.load(args.model).read(args.text, args.text2)
    if args.out:
        save_picture(reading, args.out)
        print(f"saved {args.out}")
    else:
        print(to_json(reading) if args.json else to_terminal(reading))
    return 0
