"""`limelight paper`: where the paper's experiments are."""

from __future__ import annotations

import argparse

from ..errors import LimelightError

HELP = "the paper's experiments: where to find them"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Accept what it took before."""
    parser.add_argument("rest", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)


def run(args: argparse.Namespace) -> None:
    """Say where they went."""
    raise LimelightError(
        "the paper's experiments are no longer a command: in a checkout, run 'python -m experiments.paper'",
        code="moved",
    )
