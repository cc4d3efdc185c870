"""`limelight aspects`: the aspects of a saved model, listed and edited."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from ..errors import LimelightError
from ._parser import add_flag
from ._shared import add_shared, print_result

if TYPE_CHECKING:
    from ..reading.aspects import Aspect, Aspects

HELP = "list or edit the aspects of a model: what reviews praise and blame"
USAGE = "%(prog)s MODEL [edits]"
DESCRIPTION = """\
List the aspects of a saved model, or edit them: named lists of words such as rooms, staff or price, by which
'limelight predict --aspects' says what a text praises and blames. An edit takes effect at once; nothing is
trained. Several are made in the order given.

  limelight aspects model --set hotels            also restaurants, products, apps, or a JSON file
  limelight aspects model --rename rooms=room --off sleep_quality
  limelight aspects model --merge rooms+cleanliness=room --split service:"front desk",reception=check-in
  limelight aspects model --add value=pricey,"resort fee" --remove location=beach"""

_FLAGS = {  # name -> what it takes, and what it does
    "set": ("FILE_OR_NAME", "the aspects of a JSON file or a list, in place of those the model has"),
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
    add_shared(parser, "--json")
    group = parser.add_argument_group("edits")
    for name, (takes, about) in _FLAGS.items():
        group.add_argument(
            f"--{name}", dest="edits", action="append", default=[], metavar=takes, help=about,
            type=partial(_named, name),
        )  # fmt: skip


def run(args: argparse.Namespace) -> None:
    """Edit the aspects if that is asked for, and list them."""
    from ..runtime.model_aspects import read_aspects, write_aspects

    if args.edits:
        changes = [(name, given, _EDITS[name]) for name, given in args.edits]

        def change(aspects: Aspects) -> Aspects:
            for name, given, edit in changes:
                aspects = _edited(aspects, name, given, edit)
            return aspects

        done = [f"{name} {given}" for name, given in args.edits]
        found = write_aspects(args.model, change, *done, anew=args.edits[0][0] == "set")
    else:
        found = read_aspects(args.model)
    print_result(args, {"model": args.model, "aspects": found.to_dict()}, _format(args.model, found))


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


def _format_aspect(aspect: Aspect) -> str:
    """A name, and below it the words."""
    words = ", ".join(aspect.seeds) + (f"; not: {', '.join(aspect.excluded)}" if aspect.excluded else "")
    lines = textwrap.fill(words, 100, initial_indent="    ", subsequent_indent="    ", break_long_words=False)
    return f"{aspect.name}{'' if aspect.enabled else ' (off)'}\n{lines}"
