"""`limelight embed`: the embedding matrix of every text, into a file."""

import argparse

from ..errors import wrong_task
from ..tables import WRITABLE
from ._jobs import add_engine, run_bulk, uses_engine
from ._output import check_out, on_terminal, print_result
from ._parser import add_flag, add_shared
from ._rows import read_rows

HELP = "embed the texts of a table, or lines of standard input"
DESCRIPTION = """\
Write the embedding M of every text, in the order of the texts: as one array (texts, r, 2u), or with --flat
(texts, r * 2u), into .npy or .safetensors; or as a column before all columns of the table, into .parquet,
.csv, .tsv, .jsonl or .xlsx. Parquet holds M flat. A pair model embeds one column of texts at a time.
The model "reader" is bundled and needs no training; with --vector it writes one vector of length 1 per text.

With --engine, any number of tables become a folder of Parquet files, with one vector per text.

  limelight embed model new.csv --text text --out embeddings.npy
  limelight embed reader new.csv --text text --out vectors.parquet --vector
  limelight embed reader reviews/ --out vectors/ --engine ray --dtype float16"""


def arguments(parser: argparse.ArgumentParser) -> None:
    add_flag(parser, "model", "MODEL", 'folder of a saved model or reader, or "reader"')
    add_flag(parser, "data", "DATA", "table of texts (default: lines of standard input)", nargs="?")
    add_flag(parser, "--out", "FILE", f".npy or .safetensors; {WRITABLE}", required=True)
    shape = parser.add_mutually_exclusive_group()
    add_flag(shape, "--flat", "", "M as one long vector per text")
    add_flag(shape, "--vector", "", "one short vector per text, for similarity: reader only")
    add_flag(shape, "--matrix", "", "M as rows (with --engine; otherwise the default)")
    add_shared(parser, "--device", "--precision", "--overwrite", "--json", "--text", "--skip-bad")
    add_engine(parser, dtype=True)


def run(args: argparse.Namespace) -> None:
    if uses_engine(args):
        _run_bulk(args)
        return
    from ..runtime.embeddings import array_suffix, embed_by, write_array, write_embedded
    from ..runtime.reader import load
    from ..tables.writers import format_of

    form = format_of(args.out)
    if form is None:
        array_suffix(args.out)
    check_out(args)
    model = load(args.model, precision=args.precision, device=args.device)
    embed = embed_by(model, args.flat, args.vector, on_terminal())
    rows, kept = read_rows(args, pair=False)
    if form is None:
        shape = write_array(args.out, embed(row.text for row in rows), args.overwrite)
    else:
        shape = write_embedded(args.out, form, rows, kept, embed, args.overwrite)
    saved = f"saved {args.out}: {' x '.join(map(str, shape))}"
    print_result(args, {"out": args.out, "shape": list(shape)}, saved)


def _run_bulk(args: argparse.Namespace) -> None:
    from ..bulk import Predictor
    from ..runtime.folder import is_reader_folder

    if args.vector and not is_reader_folder(args.model):
        raise wrong_task('--vector works with readers only, such as "reader"; a model gives M')
    predictor = Predictor(
        args.model, embed="matrix" if args.matrix else "vector", dtype=args.dtype or "float32",
        text=args.text, precision=args.precision, device=args.device,
    )  # fmt: skip
    run_bulk(args, predictor, {"--flat": args.flat})
