"""`limelight embed`: the embedding matrix of every text, into a file."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..errors import LimelightError
from ._shared import (
    add_columns,
    add_json,
    add_overwrite,
    check_output_file,
    on_terminal,
    print_result,
    read_rows,
)

if TYPE_CHECKING:
    import numpy as np

    from ..runtime.model import Model
    from ..runtime.reader import Reader

ORDER = 4
HELP = "embed the texts of a table, or lines of standard input"
DESCRIPTION = """\
Write the embedding M of every text, in the order of the texts: an array (texts, r, 2u), or with --flat
(texts, r * 2u). Parquet holds flat vectors. A pair model embeds one column of texts at a time.
The model "reader" is bundled and needs no training; with --vector it writes one vector of length 1 per text.

  limelight embed model new.csv --text text --out embeddings.npy
  limelight embed reader new.csv --text text --out vectors.npy --vector"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add its flags."""
    parser.add_argument("model", metavar="MODEL", help='folder of a saved model or reader, or "reader"')
    parser.add_argument(
        "data", nargs="?", metavar="DATA", help="table of texts (default: lines of standard input)"
    )
    parser.add_argument("--out", required=True, metavar="FILE", help=".npy, .safetensors or .parquet")
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--flat", action="store_true", help="M as one long vector per text")
    shape.add_argument(
        "--vector", action="store_true", help="one short vector per text, for similarity: reader only"
    )
    parser.add_argument("--precision", choices=("float32", "int8"), default="float32", help="int8 is faster")
    add_overwrite(parser)
    add_json(parser)
    add_columns(parser, label=False, pair=False)


def run(args: argparse.Namespace) -> int:
    """Read, embed and write some texts at a time."""
    from ..runtime.embedding_file import check_format, write_embeddings
    from ..runtime.reader import load

    check_format(args.out)
    check_output_file(args.out, args.overwrite)
    parts = _embed(args, load(args.model, precision=args.precision))
    flat = (M.reshape(len(M), -1) for M in parts) if args.flat else parts
    shape = write_embeddings(args.out, flat, args.overwrite)
    print_result(
        args, {"out": args.out, "shape": list(shape)}, f"saved {args.out}: {' x '.join(map(str, shape))}"
    )
    return 0


def _embed(args: argparse.Namespace, model: Model | Reader) -> Iterator[np.ndarray]:
    """M of some texts at a time, or with --vector the reader's vectors."""
    from ..runtime.reader import Reader

    if args.vector and not isinstance(model, Reader):
        raise LimelightError(f'--vector works with readers only, such as "reader"; {args.model} gives M')
    texts = (row.text for row in read_rows(args, pair=False))
    if args.vector and isinstance(model, Reader):
        return model.encode_stream(texts, show_progress_bar=on_terminal())
    return model.embed_stream(texts, progress=on_terminal())
