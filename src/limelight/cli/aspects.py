"""`limelight aspects`: the aspects of a saved model, listed and edited."""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import LimelightError
from ._parser import add_flag, conflict
from ._shared import add_shared, on_terminal, parse_aspect_labels, print_result, sample, table_rows

if TYPE_CHECKING:
    from ..reading.aspects import Aspect, Aspects
    from ..runtime.find_aspects import Found

HELP = "list or edit the aspects of a model: what reviews praise and blame"
USAGE = "%(prog)s MODEL [edits]"
DESCRIPTION = """\
List the aspects of a saved model, or edit them: named lists of words such as rooms, staff or price, by which
'limelight predict --aspects' says what a text praises and blames. An edit takes effect at once; nothing is
trained. Several are made in the order given.

  limelight aspects model --set hotels            also restaurants, products, apps, or a JSON file
  limelight aspects model --find 8 --data reviews.csv --text text
  limelight aspects model --rename rooms=room --off sleep_quality
  limelight aspects model --merge rooms+cleanliness=room --split service:"front desk",reception=check-in
  limelight aspects model --add value=pricey,"resort fee" --remove location=beach
  limelight aspects model --data rated.csv --text text --aspect-labels rooms=room_stars,service=service_stars
  limelight aspects model --forbid hilton,marriott      the model does not read these words any more"""

_FLAGS = {  # name -> what it takes, and what it does
    "set": ("FILE_OR_NAME", "the aspects of a JSON file or a list, in place of those the model has"),
    "find": ("N", "up to N aspects found in the texts of --data, in place of those the model has"),
    "rename": ("OLD=NEW", "rename an aspect"),
    "merge": ("A+B=C", "make one aspect of two or more"),
    "split": ("A:WORD,...=B", "make some words of an aspect another one"),
    "off": ("A", "do not use an aspect any more; it is kept"),
    "on": ("A", "use an aspect again"),
    "add": ("A=WORD,...", "give an aspect more words or phrases; a new name makes a new aspect"),
    "remove": ("A[=WORD,...]", "take words from an aspect; without any, remove the aspect"),
}


def arguments(parser: argparse.ArgumentParser) -> None:
    add_flag(parser, "model", "MODEL", "folder of a saved model")
    add_flag(parser, "--data", "FILE", "with --find or --aspect-labels: table of texts, which need no labels")
    add_flag(
        parser,
        "--aspect-labels",
        "A=COL,...",
        "columns with ratings of aspects, from which their stars are estimated",
    )
    add_shared(parser, "--json", "--text", "--skip-bad")
    add_flag(parser, "--forbid", "WORD,...", "words that the model must not read, as if no text had them")
    add_flag(parser, "--allow", "WORD,...", "let it read words again that were forbidden")
    group = parser.add_argument_group("edits")
    for name, (takes, about) in _FLAGS.items():
        group.add_argument(
            f"--{name}", dest="edits", action="append", default=[], metavar=takes, help=about,
            type=partial(_named, name),
        )  # fmt: skip


def run(args: argparse.Namespace) -> None:
    """Edit the aspects if that is asked for, and list them."""
    from ..runtime.model_aspects import read_aspects, write_aspects

    searched = _find(args)  # before the folder is locked: it takes a while
    if args.edits:
        edits = _EDITS if searched is None else _EDITS | {"find": lambda *_: searched.aspects}
        changes = [(name, given, edits[name]) for name, given in args.edits]

        def change(aspects: Aspects) -> Aspects:
            for name, given, edit in changes:
                aspects = _edited(aspects, name, given, edit)
            return aspects

        done = [f"{name} {given}" for name, given in args.edits]
        found = write_aspects(args.model, change, *done, anew=args.edits[0][0] in ("set", "find"))
    else:
        found = read_aspects(args.model)
    if args.aspect_labels:
        found = _rate(args)
    forbidden = _forbidden(args)
    data: dict[str, Any] = {"model": args.model, "aspects": found.to_dict(), "forbidden": forbidden}
    text = _format(args.model, found)
    if searched is not None:
        data["found"] = searched.to_json()
        text = (
            searched.format() if len(args.edits) == 1 else f"{searched.format()}\n\nafter all edits:\n{text}"
        )
    if forbidden:
        text += f"\nnot read: {', '.join(forbidden)}"
    print_result(args, data, text)


def _forbidden(args: argparse.Namespace) -> list[str]:
    """The words that the model must not read, after --forbid and --allow."""
    from ..runtime.forbidden import read_forbidden, write_forbidden

    if not args.forbid and not args.allow:
        return read_forbidden(args.model)
    return write_forbidden(
        args.model, *(given.split(",") if given else () for given in (args.forbid, args.allow))
    )


class _Search(NamedTuple):
    """What --find has found, and where."""

    found: list[Found]
    read: int  # texts
    rows: int
    name: str  # of the table

    @property
    def aspects(self) -> Aspects:
        from ..reading.aspects import Aspects

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
    """Find aspects if --find says so."""
    counts = [given for name, given in args.edits if name == "find"]
    if bool(counts or args.aspect_labels) != bool(args.data) or len(counts) > 1:
        example = "limelight aspects model --find 8 --data a.csv"
        raise conflict(f"--find N or --aspect-labels, and --data FILE belong together: {example}")
    if not counts:
        return None
    from ..runtime.find_aspects import MAX_TEXTS, check_count, find_in_texts
    from ..runtime.model import Model
    from ..runtime.model_aspects import check_takes_aspects

    if not counts[0].isdecimal():
        raise LimelightError(f"--find is {counts[0]!r}; it must be a number such as 8", code="option-value")
    check_count(int(counts[0]))
    model = Model.load(args.model)
    check_takes_aspects(model.task, model.pair)
    rows, count, name = sample(args, model, MAX_TEXTS, need_label=False)
    texts = [row.text for row in rows]
    if on_terminal():
        print(f"looking for aspects in {len(texts):,} texts", file=sys.stderr)
    return _Search(find_in_texts(texts, int(counts[0]), model.tokenizer), len(texts), count, name)


def _rate(args: argparse.Namespace) -> Aspects:
    """Let the estimates of aspects follow their ratings in a table."""
    from ..runtime.aspect_ratings import collect_ratings
    from ..runtime.model import Model
    from ..runtime.model_aspects import require_aspects

    columns = parse_aspect_labels(args.aspect_labels)
    model = Model.load(args.model)
    require_aspects(model.aspects)
    rows = table_rows(args, model, need_label=False, further=list(columns.values()))
    texts, ratings = collect_ratings(rows, list(columns), model.rating_scale)
    model = model.rate_aspects(texts, ratings, progress=on_terminal())
    model.save_aspects(args.model, f"aspect-labels {args.aspect_labels} of {args.data}")
    return model.aspects


def _named(name: str, given: str) -> tuple[str, str]:
    return name, given


def _edited(aspects: Aspects, name: str, given: str, edit: Callable[[Aspects, str], Aspects]) -> Aspects:
    try:
        return edit(aspects, given)
    except ValueError as error:
        if isinstance(error, LimelightError):
            raise
        message = f"--{name} is {given!r}; it must look like {_FLAGS[name][0]}"
        raise LimelightError(message, code="option-value") from None


def _rename(aspects: Aspects, given: str) -> Aspects:
    old, new = given.split("=")
    return aspects.rename(old, new)


def _merge(aspects: Aspects, given: str) -> Aspects:
    names, new = given.split("=")
    return aspects.merge(names.split("+"), new)


def _split(aspects: Aspects, given: str) -> Aspects:
    what, new = given.split("=")
    name, words = what.split(":")
    return aspects.split(name, words.split(","), new)


def _add(aspects: Aspects, given: str) -> Aspects:
    name, words = given.split("=")
    return aspects.add(name, words.split(","))


def _remove(aspects: Aspects, given: str) -> Aspects:
    name, mark, words = given.partition("=")
    return aspects.remove(name, words.split(",") if mark else None)


def _set(_: Aspects, given: str) -> Aspects:
    from ..reading.aspects import Aspects

    return Aspects.of(given)


_EDITS: dict[str, Callable[[Any, str], Any]] = {
    "set": _set,
    "rename": _rename,
    "merge": _merge,
    "split": _split,
    "off": lambda aspects, name: aspects.enable(name, False),
    "on": lambda aspects, name: aspects.enable(name),
    "add": _add,
    "remove": _remove,
}


def _format(model: str, aspects: Aspects) -> str:
    if not aspects:
        return f"{model} has no aspects; give it some: limelight aspects {model} --set hotels"
    return "\n".join(_format_aspect(aspect) for aspect in aspects)


def _format_aspect(aspect: Aspect, note: str = "") -> str:
    """A name with a note, and below it the words."""
    words = ", ".join(aspect.seeds) + (f"; not: {', '.join(aspect.excluded)}" if aspect.excluded else "")
    lines = textwrap.fill(words, 100, initial_indent="    ", subsequent_indent="    ", break_long_words=False)
    if aspect.rating is not None:
        note += f" (stars learnt from {aspect.rating.texts:,} ratings)"
    return f"{aspect.name}{'' if aspect.enabled else ' (off)'}{note}\n{lines}"
