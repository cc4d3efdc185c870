"""`limelight aspects`: the aspects of a saved model, listed and edited."""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import conflict
from ._output import check_out, on_terminal, print_result
from ._parser import add_flag, add_shared, check_least
from ._rows import sample

if TYPE_CHECKING:
    from ..aspects.find import Found
    from ..aspects.seeds import Aspect, Aspects

HELP = "list or set the aspects of a model: what reviews praise and blame"
DESCRIPTION = """\
List the aspects of a saved model, or give it others: named lists of words such as rooms, staff or price, by
which 'limelight predict --aspects' says what a text praises and blames. They take effect at once; nothing is
trained.

  limelight aspects model --set hotels            also restaurants, products, apps, or a JSON file
  limelight aspects model --find 8 --data reviews.csv --text text
  limelight aspects model --out own.json          edit the file, and then: --set own.json
  limelight aspects model --forbid hilton,marriott      the model does not read these words any more"""


def arguments(parser: argparse.ArgumentParser) -> None:
    add_flag(parser, "model", "MODEL", "folder of a saved model")
    add_flag(parser, "--data", "FILE", "table for --find")
    add_shared(parser, "--json", "--text", "--skip-bad")
    add_flag(parser, "--forbid", "WORD,...", "words that the model must not read, as if no text had them")
    add_flag(parser, "--allow", "WORD,...", "let it read words again that were forbidden")
    group = parser.add_mutually_exclusive_group()
    add_flag(group, "--set", "FILE_OR_NAME", "the aspects of a JSON file or a list, in place of the model's")
    add_flag(group, "--find", "N", "up to N aspects found in the texts of --data, in place of the model's")
    add_flag(parser, "--out", "FILE.json", "write the aspects as a file to edit, for --set")
    add_shared(parser, "--overwrite")


def run(args: argparse.Namespace) -> None:
    from ..aspects.seeds import Aspects
    from ..runtime.edits import read_aspects, read_forbidden, write_aspects, write_forbidden
    from ..storage.files import write_file

    _check(args)
    searched = _find(args)
    if searched is not None:
        found, edit = Aspects(each.aspect for each in searched.found), f"find {args.find}"
    elif args.set is not None:
        found, edit = Aspects.of(args.set), f"set {args.set}"
    else:
        found, edit = read_aspects(args.model), ""
    if args.out:
        content = json.dumps(found.to_dict(), indent=1, ensure_ascii=False)
        write_file(args.out, f"{content}\n", args.overwrite)
    if edit:
        write_aspects(args.model, found, edit)
    if args.forbid is not None or args.allow is not None:
        forbidden = write_forbidden(args.model, _words(args.forbid), _words(args.allow))
    else:
        forbidden = read_forbidden(args.model)
    data: dict[str, Any] = {"model": args.model, "aspects": found.to_dict(), "forbidden": forbidden}
    text = searched.format() if searched is not None else _format(args.model, found)
    if searched is not None:
        data["found"] = searched.to_json()
    if forbidden:
        text += f"\nnot read: {', '.join(forbidden)}"
    if args.out:
        data["saved"] = args.out
        text += f"\nsaved {args.out}"
    print_result(args, data, text)


def _check(args: argparse.Namespace) -> None:
    """Raise if a flag does nothing, or one that is used last is wrong: all is done, or nothing."""
    from ..runtime.edits import check_words

    check_least(args, find=1)
    check_out(args)
    if (args.find is not None) != bool(args.data):
        example = "limelight aspects model --find 8 --data a.csv"
        raise conflict(f"--find N and --data FILE belong together: {example}")
    if not args.data and (args.text or args.skip_bad):
        raise conflict("--text and --skip-bad are for the table of --data")
    if not args.out and args.overwrite:
        raise conflict("--overwrite is for the file of --out")
    check_words(_words(args.forbid) + _words(args.allow))


def _words(given: str | None) -> list[str]:
    return [] if given is None else given.split(",")


class _Search(NamedTuple):
    found: list[Found]
    read: int  # texts
    rows: int
    name: str  # of the table

    def to_json(self) -> dict[str, Any]:
        found = self.found
        about = {each.aspect.name: {"share": each.share, "examples": list(each.examples)} for each in found}
        return {"data": self.name, "texts": self.read, "rows": self.rows, "aspects": about}

    def format(self) -> str:
        some = f"{self.rows:,} texts" if self.read == self.rows else f"{self.read:,} of {self.rows:,} texts"
        lines = [f"found {len(self.found)} aspects in {some} of {self.name}; --out writes them, to edit"]
        for each in self.found:
            lines.append(_format_aspect(each.aspect, f" (in {each.share:.0%} of the texts)"))
            lines += [f'    "{" ".join(said.split())}"' for said in each.examples]
        return "\n".join(lines)


def _find(args: argparse.Namespace) -> _Search | None:
    """Find aspects in the texts of --data, or a sample of them, if --find says so."""
    if args.find is None:
        return None
    from ..aspects.facts import check_takes_aspects
    from ..aspects.find import MAX_TEXTS, find_in_texts
    from ..runtime.model import Model

    model = Model.load(args.model)
    check_takes_aspects(model.task, model.pair)
    rows, count, _ = sample(args, model, MAX_TEXTS, need_label=False)
    if on_terminal():
        print(f"looking at {len(rows):,} texts", file=sys.stderr)
    found = find_in_texts([row.text for row in rows], args.find, model.tokenizer)
    return _Search(found, len(rows), count, Path(args.data).name)


def _format(model: str, aspects: Aspects) -> str:
    if not aspects:
        return f"{model} has no aspects; give it some: limelight aspects {model} --set hotels"
    return "\n".join(_format_aspect(aspect) for aspect in aspects)


def _format_aspect(aspect: Aspect, note: str = "") -> str:
    words = ", ".join(aspect.seeds) + (f"; not: {', '.join(aspect.excluded)}" if aspect.excluded else "")
    lines = textwrap.fill(words, 100, initial_indent="    ", subsequent_indent="    ", break_long_words=False)
    return f"{aspect.name}{note}\n{lines}"
