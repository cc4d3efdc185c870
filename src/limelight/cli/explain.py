"""`limelight explain`: what decided and what each row read, in the terminal or as a picture."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..errors import LimelightError
from ._shared import add_json, add_overwrite, check_output_file
from ._streams import print_painted

if TYPE_CHECKING:
    from ..runtime.model import Model

ORDER = 4
HELP = "show what decided a prediction and what each row read, in the terminal or as a picture"
DESCRIPTION = """\
Show how a saved model reads a text: its prediction; what decided, orange words that support it and blue words
that speak against it; and what each row read. --by chooses how it is found out what decided, and
'limelight trust' measures how faithful each way is.

  limelight explain model "The soup was cold but the waiter was lovely."
  limelight explain model "The soup was cold." --by leave-one-out
  limelight explain model "The soup was cold." --out soup.html      also .svg, .png, .json, .txt"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add its flags."""
    parser.add_argument("model", metavar="MODEL", help="folder of a saved model")
    parser.add_argument("text", metavar="TEXT", help="the text")
    parser.add_argument("text2", nargs="?", metavar="TEXT2", help="the second text, for a pair model")
    parser.add_argument(
        "--by",
        choices=("effect", "gradients", "leave-one-out"),
        default="effect",
        help="what decided: what each word adds to the score (the default), integrated gradients (need "
        "PyTorch), or how far the probability falls without the word (reads the text once for each word)",
    )
    parser.add_argument("--out", metavar="FILE", help="write a picture: .html, .svg, .png, .json or .txt")
    add_overwrite(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Read the text and draw it."""
    from ..explain import explain_by
    from ..reading import save_picture, to_json, to_terminal
    from ..runtime.model import Model

    if args.out:
        if args.json:
            raise LimelightError("--json prints to standard output; for a file, use --out FILE.json alone")
        check_output_file(args.out, args.overwrite)
    model = Model.load(args.model)
    _check_words(model, args)
    reading = explain_by(model, model.read(args.text, args.text2), args.by)
    if args.out:
        save_picture(reading, args.out, overwrite=args.overwrite)
        print(f"saved {args.out}")
    elif args.json:
        print(to_json(reading))
    else:
        print_painted(to_terminal(reading))
    return 0


def _check_words(model: Model, args: argparse.Namespace) -> None:
    """Raise if a text has no words: there would be nothing to show."""
    for text in (args.text, args.text2):
        if text is not None and not model.tokenizer.split(text):
            raise LimelightError(f"there are no words in {text[:40]!r}; give a text with words")
