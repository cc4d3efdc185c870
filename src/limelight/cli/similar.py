"""`limelight similar`: how similar two texts are and which words make them so; or many pairs at once."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..errors import conflict
from ._output import check_picture, check_words, show_pictures
from ._parser import add_flag, add_shared, check_least
from ._rows import read_rows

if TYPE_CHECKING:
    from ..runtime.model import Model
    from ..runtime.reader import Reader

_CHUNK = 256  # pairs in memory at once

HELP = "show how similar two texts are, and which words make them so"
DESCRIPTION = """\
Show how similar two texts are (the cosine of their vectors, 1 at most) and which words make them so: words
that bind them, words that keep them apart, and words of both that belong together. What all pairs contribute
adds up to the similarity. The model "reader" is bundled, reads English and needs no training.

  limelight similar reader "The soup was cold." "Chilly broth!"
  limelight similar reader "The soup was cold." "Chilly broth!" --out soup.html  also .svg, .png, .json, .txt
  limelight similar reader --data pairs.csv --text question --text2 answer       one JSON line per pair"""


def arguments(parser: argparse.ArgumentParser) -> None:
    add_flag(parser, "model", "MODEL", 'folder of a saved model or reader, or "reader"')
    add_flag(parser, "first", "TEXT", "a text", nargs="?")
    add_flag(parser, "second", "TEXT2", "the text to compare it with", nargs="?")
    add_flag(parser, "--out", "FILE", "write a picture: .html, .svg, .png, .json or .txt")
    add_shared(parser, "--overwrite", "--json")
    group = parser.add_argument_group("many pairs")
    pairs = "table of pairs (-: lines of standard input, each two texts and a tab between)"
    add_flag(group, "--data", "FILE", pairs)
    add_flag(group, "--top", "N", "pairs of words for each pair of texts", 3)
    add_shared(group, "--text", "--text2", "--skip-bad")


def run(args: argparse.Namespace) -> None:
    from ..runtime.reader import load

    _check(args)
    model = load(args.model)
    if args.data:
        for line in _compare_rows(model, args):
            print(json.dumps(line, ensure_ascii=False))
        return
    check_words(model.tokenizer, args.first, args.second)
    show_pictures(args, [("", model.compare(args.first, args.second))])


def _check(args: argparse.Namespace) -> None:
    if args.data and args.first is not None:
        raise conflict("give two texts or --data, not both")
    if not args.data and args.second is None:
        raise conflict("give a model and two texts, or a model and --data with a table of pairs")
    if args.data and args.out:
        raise conflict("--out is a picture of two texts; --data prints to standard output")
    check_least(args, top=0)
    check_picture(args)


def _compare_rows(model: Model | Reader, args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """For each pair its similarity, the pairs of words that contribute most, and the texts."""
    from ..runtime.batches import chunks

    rows, _ = read_rows(args, pair=True)
    for chunk in chunks(rows, _CHUNK):
        pairs = [(row.text, row.text2 or "") for row in chunk]
        for found in model.compare_many(*zip(*pairs, strict=True)):
            top = [[a, b, round(value, 6)] for a, b, value in found.top_pairs(args.top)]
            texts = {"text": found.first.text, "text2": found.second.text}
            yield {"similarity": round(found.similarity, 6), "pairs": top, **texts}
        sys.stdout.flush()
