"""`limelight embed`: the embedding matrix of every text, into a file."""

from __future__ import annotations

import argparse

from ._shared import (
    add_columns,
    add_json,
    add_overwrite,
    check_output_file,
    on_terminal,
    print_result,
    read_rows,
)

ORDER = 4
HELP = "embed the texts of a table, or lines of standard input"
DESCRIPTION = """\
Write the embedding M of every text, in the order of the texts: an array (texts, r, 2u), or with --flat
(texts, r * 2u). Parquet holds flat vectors. A pair model embeds one column of texts at a time.

  limelight embed model new.csv --text text --out embeddings.npy"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add its flags."""
    parser.add_argument("model", metavar="MODEL", help="folder of a saved model")
    parser.add_argument(
        "data", nargs="?", metavar="DATA", help="table of texts (default: lines of standard input)"
    )
    parser.add_argument("--out", required=True, metavar="FILE", help=".npy, .safetensors or .parquet")
    parser.add_argument("--flat", action="store_true", help="one long vector per text")
    parser.add_argument("--precision", choices=("float32", "int8"), default="float32", help="int8 is faster")
    add_overwrite(parser)
    add_json(parser)
    add_columns(parser, label=False, pair=False)


def run(args: argparse.Namespace) -> int:
    """Read, embed and write some texts at a time."""
    from ..runtime.embedding_file import check_format, write_embeddings
    from ..runtime.model import Model

    check_format(args.out)
    check_output_file(args.out, args.overwrite)
    model = Model.load(args.model, precision=args.precision)
    texts = (row.text for row in read_rows(args, pair=False))
    parts = model.embed_stream(texts, progress=on_terminal())
    shape = write_embeddings(args.out, (M.reshape(len(M), -1) for M in parts) if args.flat else parts)
    print_result(
        args, {"out": args.out, "shape": list(shape)}, f"saved {args.out}: {' x '.join(map(str, shape))}"
    )
    return 0
