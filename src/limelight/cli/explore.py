"""`limelight explore`: a model in a page, to type texts and see what decides."""

from __future__ import annotations

import argparse
import os

from ..errors import LimelightError
from ._shared import add_overwrite, check_output_file

ORDER = 5
HELP = "save a model as one HTML file that reads what one types and shows what decides"
DESCRIPTION = """\
Write a page with the model inside. It opens from disk, needs no network and sends nothing anywhere: it reads
a text (or a pair) as one types and shows the answer, what decided and what each row read. Words can be left
out or replaced, rows switched off. Send the file to whoever should see the model.

  limelight explore model --save page.html
  limelight explore model --save page.html --words 20000     more words, a larger file"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add its flags."""
    parser.add_argument("model", metavar="MODEL", help="folder of a saved model")
    parser.add_argument("--save", required=True, metavar="FILE", help="the HTML file to write")
    parser.add_argument(
        "--words", type=int, metavar="N",
        help="words of the model in the page, the most frequent ones; others are read as unknown "
        "(default: as many as fit into 5 MB)",
    )  # fmt: skip
    parser.add_argument(
        "--precision", choices=("float16", "float32"), default="float16",
        help="of the weights in the page (default: float16, half the size)",
    )  # fmt: skip
    add_overwrite(parser)


def run(args: argparse.Namespace) -> int:
    """Load the model and write its page."""
    from ..runtime.model import Model
    from ..serve.one_file import save_page

    check_output_file(args.save, args.overwrite)
    if not args.save.lower().endswith((".html", ".htm")):
        raise LimelightError(f"--save is {args.save}; the name of a page ends in .html")
    model = Model.load(args.model)
    kept = save_page(model, args.save, words=args.words, precision=args.precision, overwrite=args.overwrite)
    size, known = os.path.getsize(args.save), len(model.tokenizer) - 2
    dropped = f"; the other {known - kept:,} are read as unknown" if kept < known else ""
    print(f"saved {args.save}: {size / 1e6:.1f} MB, {kept:,} words{dropped}")
    return 0
