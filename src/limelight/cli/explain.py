"""`limelight explain`: which words a model reads, in the terminal or as a picture."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from ..errors import LimelightError
from ._shared import add_json, add_overwrite, check_new

if TYPE_CHECKING:
    from ..reading.reading import PairReading, Reading
    from ..runtime.model import Model

LONG = 500  # words; leaving out each one in turn reads the text that many times

ORDER = 4
HELP = "show which words a model reads, in the terminal or as a picture"
DESCRIPTION = """\
Show what a saved model reads in a text: its answer, which words the answer rests on, and the attention of
all rows together and of each row. Attention says what was read, not always what it was read for; --by
chooses how the words are weighed, and 'limelight trust' measures how far each way can be trusted.

  limelight explain model "The soup was cold but the waiter was lovely."
  limelight explain model "The soup was cold." --by attention
  limelight explain model "The soup was cold." --out soup.html      also .svg, .png, .json, .txt"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Its flags."""
    parser.add_argument("model", metavar="MODEL", help="folder of a saved model")
    parser.add_argument("text", metavar="TEXT", help="the text itself")
    parser.add_argument("text2", nargs="?", metavar="TEXT2", help="the second text, for a model of pairs")
    ways = ("attention", "effect", "gradients", "leave-one-out")
    parser.add_argument(
        "--by",
        choices=ways,
        help="weigh the words by attention, by its effect on the answer, by integrated gradients (both need "
        f"PyTorch), or by leaving each one out (the default up to {LONG} words)",
    )
    parser.add_argument("--out", metavar="FILE", help="a picture instead: .html, .svg, .png, .json or .txt")
    add_overwrite(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Read the text and draw it."""
    from ..reading import save_picture, to_json, to_terminal
    from ..runtime.model import Model

    if args.out:
        check_new(args.out, args.overwrite)
    model = Model.load(args.model)
    _check_words(model, args)
    reading = model.read(args.text, args.text2)
    weights = _weights(model, reading, args)
    if args.out:
        save_picture(reading, args.out, weights=weights)
        print(f"saved {args.out}")
    else:
        print(to_json(reading, weights=weights) if args.json else to_terminal(reading, weights=weights))
    return 0


def _check_words(model: Model, args: argparse.Namespace) -> None:
    """A model answers for an empty text too, but there is nothing to show of how it came to that."""
    for text in (args.text, args.text2):
        if text is not None and not model.tokenizer.split(text):
            raise LimelightError(f"there are no words in {text[:40]!r}; give a text that has some to explain")


def _weights(model: Model, reading: Reading | PairReading, args: argparse.Namespace) -> dict[str, Any] | None:
    """What the picture shows beside the attention, by its name; nothing for the attention itself."""
    from ..explain.attribution import DEFAULT, NAMES, attribute
    from ..explain.variants import count_words

    by = args.by
    if by is None:
        words = count_words(reading)
        by = DEFAULT if words <= LONG else "attention"
        if by != DEFAULT:
            print(f"{words:,} words: weighed by attention; --by {DEFAULT} takes longer", file=sys.stderr)
    if by == "attention":
        return None
    texts2 = None if args.text2 is None else [args.text2]
    return {NAMES[by]: attribute(model, [args.text], texts2, by=by)[0]}
