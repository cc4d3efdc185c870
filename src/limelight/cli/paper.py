"""`limelight paper`: the paper's experiments; so far its data."""

from __future__ import annotations

import argparse
from typing import Any

from ._shared import add_json, add_overwrite, show, table

ORDER = 8
HELP = "the paper's experiments: prepare its data"
DESCRIPTION = """\
Turn an official distribution that you have on disk into train.jsonl, dev.jsonl and test.jsonl.

  limelight paper prepare snli snli_1.0.zip --out data/snli"""

NAMES = ("snli", "yelp", "yelp-full", "pan", "snli-hub", "yelp-hub")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Its flags."""
    steps = parser.add_subparsers(title="steps", metavar="STEP", required=True, dest="step")
    prepare = steps.add_parser("prepare", help="make train, dev and test tables", description=DESCRIPTION)
    prepare.add_argument("name", choices=NAMES, metavar="NAME", help=", ".join(NAMES))
    prepare.add_argument("source", metavar="SOURCE", help="file, archive or folder of the distribution")
    prepare.add_argument("--out", required=True, metavar="DIR", help="folder of the tables")
    prepare.add_argument("--seed", type=int, metavar="N", help="of the split, where there is none yet")
    prepare.add_argument("--by", choices=("tweet", "author"), help="pan: what is split")
    add_overwrite(prepare)
    add_json(prepare)


def run(args: argparse.Namespace) -> int:
    """Prepare the data."""
    from ..paper.readers import prepare

    given: dict[str, Any] = {"seed": args.seed, "by": args.by, "overwrite": args.overwrite or None}
    about = prepare(args.name, args.source, args.out, **{k: v for k, v in given.items() if v is not None})
    rows = [[split, f"{count:,}"] for split, count in about["rows"].items()]
    show(args, about, f"{table(['split', 'rows'], rows)}\nsaved {args.out}")
    return 0
