"""`limelight explain`: which words a model reads, in the terminal or as a picture."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from ..errors import LimelightError
from ._shared import add_json, add_overwrite, check_output_file
from ._streams import print_painted

if TYPE_CHECKING:
    from ..reading.reading import PairReading, Reading
    from ..runtime.model import Model

LONG = 500  # words; leave-one-out runs the model once for each

ORDER = 4
HELP = "show which words decide a prediction, in the terminal or as a picture"
DESCRIPTION = """\
Show how a saved model reads a text: its prediction, which words it depends on, and the attention of each row.
Attention shows what the model read, not always what decided; --by chooses how words are weighted, and
'limelight trust' measures how faithful each way is.

  limelight explain model "The soup was cold but the waiter was lovely."
  limelight explain model "The soup was cold." --by attention
  limelight explain model "The soup was cold." --out soup.html      also .svg, .png, .json, .txt"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add its flags."""
    parser.add_argument("model", metavar="MODEL", help="folder of a saved model")
    parser.add_argument("text", metavar="TEXT", help="the text")
    parser.add_argument("text2", nargs="?", metavar="TEXT2", help="the second text, for a pair model")
    ways = ("attention", "effect", "gradients", "leave-one-out")
    parser.add_argument(
        "--by",
        choices=ways,
        help="weight words by attention, by its effect on the prediction or by integrated gradients (both "
        f"need PyTorch), or by leaving each one out (the default up to {LONG} words)",
    )
    parser.add_argument("--out", metavar="FILE", help="write a picture: .html, .svg, .png, .json or .txt")
    add_overwrite(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Read the text and draw it."""
    from ..reading import save_picture, to_json, to_terminal
    from ..runtime.model import Model

    if args.out:
        if args.json:
            raise LimelightError("--json prints to standard output; for a file, use --out FILE.json alone")
        check_output_file(args.out, args.overwrite)
    model = Model.load(args.model)
    _check_words(model, args)
    reading = model.read(args.text, args.text2)
    weights = _weights(model, reading, args)
    if args.out:
        save_picture(reading, args.out, weights=weights, overwrite=args.overwrite)
        print(f"saved {args.out}")
    elif args.json:
        print(to_json(reading, weights=weights))
    else:
        print_painted(to_terminal(reading, weights=weights))
    return 0


def _check_words(model: Model, args: argparse.Namespace) -> None:
    """Raise if a text has no words: there would be nothing to show."""
    for text in (args.text, args.text2):
        if text is not None and not model.tokenizer.split(text):
            raise LimelightError(f"there are no words in {text[:40]!r}; give a text with words")


def _weights(model: Model, reading: Reading | PairReading, args: argparse.Namespace) -> dict[str, Any] | None:
    """The weights to show besides the attention, by name; None for attention alone."""
    from ..explain.attribution import DEFAULT, NAMES, attribute
    from ..explain.variants import count_words

    by = args.by
    if by is None:
        words = count_words(reading)
        by = DEFAULT if words <= LONG else "attention"
        if by != DEFAULT:
            print(f"{words:,} words: showing attention; --by {DEFAULT} takes longer", file=sys.stderr)
    if by == "attention":
        return None
    texts2 = None if args.text2 is None else [args.text2]
    return {NAMES[by]: attribute(model, [args.text], texts2, by=by)[0]}
