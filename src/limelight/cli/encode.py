"""`limelight encode`: tables in, an encoded data set out, for training elsewhere."""

from __future__ import annotations

import argparse

from ._parser import add_recipe, given_options, recipe_from
from ._shared import add_data, add_json, add_overwrite, holdout, on_bad, on_terminal, show, table, tables_from

ORDER = 7
HELP = "turn tables into word ids once, to train on elsewhere or many times"
USAGE = "%(prog)s DATA [DATA ...] --out DIR [options]"
DESCRIPTION = """\
Encode tables of labelled text into a folder of plain arrays, which 'limelight train' reads in no time.

  limelight encode train.parquet --dev dev.parquet --test test.parquet --preset yelp --out encoded
  limelight train encoded --preset yelp --out model"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Its flags."""
    parser.add_argument("data", nargs="+", metavar="DATA", help="training table; several are read as one")
    parser.add_argument("--out", required=True, metavar="DIR", help="folder of the encoded data set")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the held-out part (default: 0)")
    add_overwrite(parser)
    add_json(parser)
    add_data(parser)
    add_recipe(parser, ("text",))


def run(args: argparse.Namespace) -> int:
    """Encode, and say what was found."""
    from ..config.effects import warn_unused
    from ..text.encode import encode_tables
    from ..text.tokenizer import SPECIAL

    recipe, tables = recipe_from(args), tables_from(args)
    warn_unused(recipe, given_options(args))
    dataset = encode_tables(
        args.out, tables["train"], tables.get("dev"), tables.get("test"), text=args.text, label=args.label,
        text2=args.text2, recipe=recipe.text, holdout=holdout(args), seed=recipe.training.seed,
        on_bad=on_bad(args), overwrite=args.overwrite, progress=on_terminal(),
    )  # fmt: skip
    facts, words = dataset.facts, len(dataset.tokenizer) - len(SPECIAL)
    rows = [[name, f"{n:,}", f"{facts['words'][name]:,}"] for name, n in facts["rows"].items()]
    lines = [table(["split", "rows", "words"], rows), f"{words:,} different words"]
    lines += [facts["held_out"]] if facts["held_out"] else []
    data = {"out": args.out, "vocabulary": words, "labels": list(dataset.labels), **facts}
    show(args, data, "\n".join([*lines, f"saved {args.out}"]))
    return 0
