"""`limelight aspects`: the aspects of a saved model, listed and edited."""

from __future__ import annotations

import argparse
import sys
import textwrap
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import LimelightError, bad_value, conflict
from ._flags import add_shared
from ._parser import add_flag
from ._results import print_result
from ._rows import sample, table_rows
from ._streams import on_terminal

if TYPE_CHECKING:
    from ..aspects.find import Found
    from ..aspects.seeds import Aspect, Aspects

HELP = "list or edit the aspects of a model: what reviews praise and blame"
USAGE = "%(prog)s MODEL [edits]"
DESCRIPTION = """\
List the aspects of a saved model, or edit them: named lists of words such as rooms, staff or price, by which
'limelight predict --aspects' says what a text praises and blames. An edit takes effect at once; nothing is
trained. Several are made in the order given.

  limelight aspects model --set hotels            also restaurants, products, apps, or a JSON file
  limelight aspects model --find 8 --data reviews.csv --text text
  limelight aspects model --rename rooms=room --remove sleep_quality
  limelight aspects model --merge rooms+cleanliness=room
  limelight aspects model --add value=pricey,"resort fee" --remove location=beach
  limelight aspects model --forbid hilton,marriott      the model does not read these words any more
  limelight aspects model --forbid-values-of hotel --data reviews.csv      nor the names in this column"""

_FLAGS = {  # name -> what it takes, and what it does
    "set": ("FILE_OR_NAME", "the aspects of a JSON file or a list, in place of those the model has"),
    "find": ("N", "up to N aspects found in the texts of --data, in place of those the model has"),
    "rename": ("OLD=NEW", "rename an aspect"),
    "merge": ("A+B=C", "make one aspect of two or more"),
    "add": ("A=WORD,...", "give an aspect more words or phrases; a new name makes a new aspect"),
    "remove": ("A[=WORD,...]", "take words from an aspect; without any, remove the aspect"),
}


_ANEW = ("set", "find")  # edits that do not need the aspects a model has


def arguments(parser: argparse.ArgumentParser) -> None:
    add_flag(parser, "model", "MODEL", "folder of a saved model")
    add_flag(parser, "--data", "FILE", "table for --find or --forbid-values-of")
    add_shared(parser, "--json", "--text", "--skip-bad")
    add_flag(parser, "--forbid", "WORD,...", "words that the model must not read, as if no text had them")
    values = "forbid the words of this column of --data, but for those that its texts use as ordinary words"
    add_flag(parser, "--forbid-values-of", "COL", values)
    add_flag(parser, "--allow", "WORD,...", "let it read words again that were forbidden")
    group = parser.add_argument_group("edits")
    for name, (takes, about) in _FLAGS.items():
        group.add_argument(
            f"--{name}", dest="edits", action="append", default=[], metavar=takes, help=about,
            type=lambda given, name=name: (name, given),  # type: ignore[misc]
        )  # fmt: skip


def run(args: argparse.Namespace) -> None:
    """Edit the aspects if that is asked for, and list them."""
    from ..runtime.saved_aspects import read_aspects, write_aspects

    _check(args)
    searched = _find(args)  # before the folder is locked: it takes a while

    def change(aspects: Aspects) -> Aspects:
        for name, given in args.edits:
            aspects = searched.aspects if name == "find" and searched else _edited(aspects, name, given)
        return aspects

    if args.edits:
        done, anew = [f"{name} {given}" for name, given in args.edits], args.edits[0][0] in _ANEW
        found = write_aspects(args.model, change, *done, anew=anew)
    else:
        found = read_aspects(args.model)
    names, ordinary = _words_of_values(args)
    forbidden = _forbidden(args, names)
    data: dict[str, Any] = {"model": args.model, "aspects": found.to_dict(), "forbidden": forbidden}
    text = _format(args.model, found)
    if searched is not None:
        data["found"] = searched.to_json()
        text = (
            searched.format() if len(args.edits) == 1 else f"{searched.format()}\n\nafter all edits:\n{text}"
        )
    if forbidden:
        text += f"\nnot read: {', '.join(forbidden)}"
    if ordinary:
        text += f"\nstill read, because the texts use them as ordinary words: {', '.join(ordinary)}"
    print_result(args, data, text)


def _check(args: argparse.Namespace) -> None:
    """Raise if a flag does nothing, or one that is used last is wrong: all edits are made, or none."""
    from ..runtime.forbidden import check_words

    counts = [given for name, given in args.edits if name == "find"]
    needs_data = bool(counts or args.forbid_values_of)
    if len(counts) > 1 or needs_data != bool(args.data):
        example = "limelight aspects model --find 8 --data a.csv"
        flags = "--find N or --forbid-values-of"
        raise conflict(f"{flags}, and --data FILE belong together: {example}")
    if not args.data and (args.text or args.skip_bad):
        raise conflict("--text and --skip-bad are for the table of --data")
    if counts and not counts[0].isdecimal():
        raise bad_value(f"--find is {counts[0]!r}; it must be a number such as 8")
    check_words(_words(args.forbid) + _words(args.allow))


def _words(given: str | None) -> list[str]:
    return [] if given is None else given.split(",")


def _words_of_values(args: argparse.Namespace) -> tuple[list[str], list[str]]:
    """The words of the column that --forbid-values-of names: those to forbid, and ordinary ones."""
    if args.forbid_values_of is None:
        return [], []
    from ..runtime.model import Model
    from ..tables.cells import as_text
    from ..tables.rows import is_missing
    from ..text.names import Names, words_of_names
    from ..text.tokenizer import Tokenizer

    split, names, values = Tokenizer.from_words([]).split, Names(), set[str]()
    for row in table_rows(args, Model.load(args.model), need_label=False, further=[args.forbid_values_of]):
        names.add(split(row.text))
        values.add("" if is_missing(row.cells[0]) else as_text(row.cells[0]))
    return words_of_names([word for value in sorted(values) for word in split(value)], names)


def _forbidden(args: argparse.Namespace, names: list[str]) -> list[str]:
    """The words that the model must not read, after --forbid, --forbid-values-of and --allow."""
    from ..runtime.forbidden import read_forbidden, write_forbidden

    if args.forbid is None and args.allow is None and not names:
        return read_forbidden(args.model)
    return write_forbidden(args.model, [*_words(args.forbid), *names], _words(args.allow))


class _Search(NamedTuple):
    """What --find has found, and where."""

    found: list[Found]
    read: int  # texts
    rows: int
    name: str  # of the table

    @property
    def aspects(self) -> Aspects:
        from ..aspects.seeds import Aspects

        return Aspects(each.aspect for each in self.found)

    def to_json(self) -> dict[str, Any]:
        about = {
            each.aspect.name: {"share": each.share, "examples": list(each.examples)} for each in self.found
        }
        return {"data": self.name, "texts": self.read, "rows": self.rows, "aspects": about}

    def format(self) -> str:
        some = f"{self.rows:,} texts" if self.read == self.rows else f"{self.read:,} of {self.rows:,} texts"
        lines = [
            f"found {len(self.found)} aspects in {some} of {self.name}; --rename and the others edit them"
        ]
        for each in self.found:
            lines.append(_format_aspect(each.aspect, f" (in {each.share:.0%} of the texts)"))
            lines += [f'    "{" ".join(said.split())}"' for said in each.examples]
        return "\n".join(lines)


def _find(args: argparse.Namespace) -> _Search | None:
    """Find aspects in the texts of --data, or a sample of them, if --find says so."""
    counts = [int(given) for name, given in args.edits if name == "find"]
    if not counts:
        return None
    from ..aspects.facts import check_takes_aspects
    from ..aspects.find import MAX_TEXTS, find_in_texts
    from ..runtime.model import Model
    from ..tables.table import open_table

    model = Model.load(args.model)
    check_takes_aspects(model.task, model.pair)
    rows, count, name = sample(args, model, MAX_TEXTS, need_label=False, table=open_table(args.data))
    if on_terminal():
        print(f"looking at {len(rows):,} texts", file=sys.stderr)
    found = find_in_texts([row.text for row in rows], counts[0], model.tokenizer)
    return _Search(found, len(rows), count, name)


def _edited(aspects: Aspects, edit: str, given: str) -> Aspects:
    from ..aspects.seeds import Aspects

    try:
        if edit == "set":
            return Aspects.of(given)
        if edit == "remove":
            name, mark, words = given.partition("=")
            return aspects.remove(name, words.split(",") if mark else None)
        left, right = given.split("=")
        if edit == "rename":
            return aspects.rename(left, right)
        return (
            aspects.merge(left.split("+"), right) if edit == "merge" else aspects.add(left, right.split(","))
        )
    except ValueError as error:
        if isinstance(error, LimelightError):
            raise
        raise bad_value(f"--{edit} is {given!r}; it must look like {_FLAGS[edit][0]}") from None


def _format(model: str, aspects: Aspects) -> str:
    if not aspects:
        return f"{model} has no aspects; give it some: limelight aspects {model} --set hotels"
    return "\n".join(_format_aspect(aspect) for aspect in aspects)


def _format_aspect(aspect: Aspect, note: str = "") -> str:
    """A name with a note, and below it the words."""
    words = ", ".join(aspect.seeds) + (f"; not: {', '.join(aspect.excluded)}" if aspect.excluded else "")
    lines = textwrap.fill(words, 100, initial_indent="    ", subsequent_indent="    ", break_long_words=False)
    return f"{aspect.name}{note}\n{lines}"
