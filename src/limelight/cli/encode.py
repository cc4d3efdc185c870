"""`limelight encode`: tables in, an encoded data set out, for training elsewhere."""

import argparse

from ._jobs import add_data, data_from
from ._output import on_terminal, print_result, table
from ._parser import add_flag, add_recipe, add_shared, given_options, recipe_from

HELP = "encode tables once, to train on another machine or several times"
USAGE = "%(prog)s DATA [DATA ...] --out DIR [options]"
DESCRIPTION = """\
Encode tables of labelled text into a folder of plain arrays that 'limelight train' opens at once.

  limelight encode train.parquet --dev dev.parquet --test test.parquet --preset yelp --out encoded
  limelight train encoded --preset yelp --out model"""


def arguments(parser: argparse.ArgumentParser) -> None:
    add_flag(parser, "data", "DATA", "training table; several are joined", nargs="+")
    add_flag(parser, "--out", "DIR", "folder to write", required=True)
    add_flag(parser, "--seed", "N", "random seed for the held-out rows", 0)
    add_shared(parser, "--overwrite", "--json")
    add_data(parser)
    add_recipe(parser, ("text",))


def run(args: argparse.Namespace) -> None:
    from ..config.recipe import warn_unused
    from ..runtime.start import start_of
    from ..text.encode import encode_tables
    from ..text.tokenizer import SPECIAL

    recipe = recipe_from(args)
    warn_unused(recipe, given_options(args))
    recipe, start = start_of(recipe, given_options(args))
    data = data_from(args)
    dataset = encode_tables(
        args.out, recipe=recipe.text, seed=recipe.training.seed, start=start, overwrite=args.overwrite,
        progress=on_terminal(), **data.pop("tables"), **data.pop("columns"), **data,
    )  # fmt: skip
    facts, words = dataset.facts, len(dataset.tokenizer) - len(SPECIAL)
    rows = [[name, f"{n:,}", f"{facts['words'][name]:,}"] for name, n in facts["rows"].items()]
    lines = [table(["split", "rows", "words"], rows), f"{words:,} different words"]
    lines += [facts["held_out"]] if facts["held_out"] else []
    data = {"out": args.out, "vocabulary": words, "labels": list(dataset.labels), **facts}
    print_result(args, data, "\n".join([*lines, f"saved {args.out}"]))
