"""`limelight check`: the health of a labelled table."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import conflict
from ..tables import WRITABLE
from ._output import on_terminal, print_result, table
from ._parser import add_flag, add_shared, on_bad
from ._rows import open_data

if TYPE_CHECKING:
    from ..labelling.health import Health

HELP = "find wrong labels, near duplicates, confused classes and unusable texts in a labelled table"
DESCRIPTION = """\
Look at a labelled table before training on it: labels that are probably wrong (most certain first, with the
words responsible and the label of the texts around), near duplicates with different labels, classes that are
hardly told apart and the words that could, texts that are empty or in another language. Every text is
judged by the others, with the bundled reader and no PyTorch; the result is the same in every run.

  limelight check reviews.csv --text text --label stars
  limelight check reviews.csv --text text --label stars --out check.html
  limelight check reviews.csv --text text --label stars --out findings.csv
  limelight check reviews.csv --text text --label stars --fix fixed.csv      correct them in the browser"""
SHOWN = 10  # suspects printed
WIDTH = 60  # characters of a text


def arguments(parser: argparse.ArgumentParser) -> None:
    add_flag(parser, "data", "DATA", "table of labelled text")
    add_shared(parser, "--text", "--label", "--skip-bad")
    add_flag(parser, "--out", "FILE", f"a page (.html), or a table of all findings ({WRITABLE})")
    add_flag(parser, "--fix", "FILE", "open the labelling page with the suspects, and write the table again")
    add_flag(parser, "--reader", "READER", "folder of a reader of your own", "reader")
    add_shared(parser, "--overwrite", "--json")


def run(args: argparse.Namespace) -> None:
    from ..labelling.health import check, check_health_file, read_labelled, save_health

    if args.fix:  # the page of `limelight label`, with the labels of the table and their suspects first
        from .label import open_page

        if args.out or args.json:
            raise conflict("--fix opens a page; leave out --out and --json")
        opened, columns = open_data(args, pair=False)
        opened.close()
        known = {"text": columns.text, "labels": columns.label, "reader": args.reader}
        open_page(args.data, args.fix, view="check", **known)
        return
    if args.out:
        check_health_file(args.out, args.overwrite)
    opened, columns = open_data(args, pair=False)
    with opened:
        texts, labels, numbers = read_labelled(opened, columns, on_bad(args), on_terminal())
    found = check(texts, labels, reader=args.reader)
    found = found._replace(numbers=numbers)
    if args.out:
        save_health(found, args.out, data=Path(args.data).name, overwrite=args.overwrite)
        print(f"saved {args.out}", file=sys.stderr)
    print_result(args, found.to_dict(), _format(found))


def _format(found: Health) -> str:
    from ..reading.wrap import shorten

    counts: dict[str, list[Any]] = {
        "suspected wrong labels": found.suspects,
        "near duplicates with different labels": found.duplicates,
        "pairs of classes hardly told apart": found.confused,
        "empty, unlabelled or in another language": found.issues,
    }
    lines = [table(["found", ""], [[name, f"{len(each):,}"] for name, each in counts.items()])]
    if found.remarks:
        lines.append("\n".join(found.remarks))
    lines.append(found.about_suspects)
    if found.suspects:
        rows = []
        for each in found.suspects[:SHOWN]:
            text = shorten(" ".join(found.texts[each.row].split()), WIDTH, len)
            rows.append([found.number(each.row), f"{each.chance:.1%}", each.label, each.suggested, text])
        lines.append(table(["row", "chance", "label", "suggested", "text"], rows))
        lines[-1] += "\n(chance: of this label by the other texts; nothing that judges a row learnt from it)"
    return "\n\n".join(lines)
