"""The command-line parser: finds the commands, suggests what was meant; and the flags of several commands."""

from __future__ import annotations

import argparse
import dataclasses
import difflib
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

from .. import __version__
from ..config.presets import AUTO, PRESETS, preset
from ..config.recipe import OTHER_NAMES, SECTIONS, Recipe, options, section_of
from ..errors import check_at_least, conflict, needs_extra

if TYPE_CHECKING:
    from ..runtime.model import Model

COMMANDS = (  # in the order of the help
    "demo", "train", "label", "check", "evaluate", "predict", "aspects", "embed", "explain", "report",
    "similar", "explore", "index", "search", "info", "serve", "encode", "pretrain",
)  # fmt: skip

EPILOG = """\
a first model:
  limelight demo
  limelight train reviews.csv --text text --label stars --out model
  limelight predict model new.csv --text text --out answers.csv
  limelight explain model "The soup was cold but the waiter was lovely."

'limelight COMMAND --help' describes a command."""


class Parser(argparse.ArgumentParser):
    """An ArgumentParser whose errors are one line, with a suggestion for a misspelled name."""

    def __init__(self, **options: Any) -> None:
        wide = partial(argparse.RawDescriptionHelpFormatter, max_help_position=30)  # room for long flags
        super().__init__(allow_abbrev=False, formatter_class=wide, **options)
        self._optionals.title = "options"

    def error(self, message: str) -> NoReturn:
        print(f"{self.prog}: {self._suggest(message)} (see {self.prog} --help)", file=sys.stderr)
        raise SystemExit(2)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Report unknown arguments here, where the flags of the command are known."""
        namespace, unknown = super().parse_known_args(args, namespace)
        if unknown and self._subparsers is None:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return namespace, unknown

    def _suggest(self, message: str) -> str:
        """The message with the nearest command, flag or value, if it is about an unknown one."""
        if found := re.search(r"invalid choice: '(.*)' \(choose from (.*)\)$", message):
            known = re.findall(r"[\w-]+", found[2])
            start = message[: found.start()]
            message = f"{start}invalid choice: {found[1]!r} (choose from {', '.join(known)})"
        elif found := re.search(r"unrecognized arguments: (--[\w-]+)", message):
            known = list(self._option_string_actions)
        if not found:
            return message
        near = difflib.get_close_matches(found[1], known, n=1)
        other = OTHER_NAMES.get(found[1].removeprefix("--").replace("-", "_"), "")
        if (flag := f"--{other.replace('_', '-')}") in known:
            near = [flag]
        return f"{message}; did you mean {near[0]!r}?" if near else message


def commands(names: Iterable[str] = COMMANDS) -> dict[str, ModuleType]:
    return {name: import_module(f"{__package__}.{name}") for name in names}


def parser_for(argv: Sequence[str] | None = None) -> Parser:
    """The parser of all commands, or of no more than it takes to parse `argv`.

    If that names a command, the parser has no other; if not, none of them has flags. `--help` shows the
    values of the preset named in `argv`.
    """
    named = next((each for each in argv or () if not each.startswith("-")), "")
    asked = [named] if named in COMMANDS else []
    parser = Parser(
        prog="limelight", description="Train sentence embeddings that show what they read.", epilog=EPILOG
    )
    parser.add_argument("--version", action="version", version=f"limelight {__version__}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, module in commands(asked or COMMANDS).items():
        command = subparsers.add_parser(
            name, help=module.HELP, description=getattr(module, "DESCRIPTION", module.HELP),
            usage=getattr(module, "USAGE", None),  # where argparse would list every flag
        )  # fmt: skip
        command.set_defaults(run=module.run, preset_shown=_preset_in(argv or ()))
        if asked or argv is None:
            module.arguments(command)
    return parser


def _preset_in(argv: Sequence[str]) -> str:
    for flag, value in zip(argv, [*argv[1:], ""], strict=False):
        name = value if flag == "--preset" else flag.partition("--preset=")[2]
        if name in PRESETS:
            return name
    return AUTO


# ---------------------------------------------------------------- flags

FLAGS: dict[str, tuple[Any, ...]] = {  # of several commands: what each takes, what it is, its default
    "--text": ("COL", "text column; detected by its name, or if its texts are by far the longest"),
    "--label": ("COL", "label column; detected if its name is unambiguous"),
    "--text2": ("COL", "column of the second text, for pairs"),
    "--skip-bad": ("", "skip rows without text or label, and name the first of them"),
    "--encoding": (
        "NAME", "encoding of text tables, such as cp1252 (default: UTF-8, or a guess, with a warning)",
    ),
    "--json": ("", "print one JSON object, for scripts"),
    "--overwrite": ("", "replace existing output"),
    "--escape-formulas": (
        "", "in csv and tsv, put ' before what a spreadsheet would run: texts that begin with = + - @"
    ),
    "--device": (
        ("cpu", "cuda", "auto"), "where to run; cuda is a GPU, with PyTorch; auto a GPU if PyTorch sees one",
        "cpu",
    ),
    "--precision": (
        ("float32", "int8", "bf16"),
        "on the CPU float32 or int8, which is faster; on a GPU bf16 or float32 (default: the first)",
    ),
    "--port": ("N", "port (default: any that is free)"),
    "--no-browser": ("", "print the address and open nothing"),
    "--abstain-below": ("P", "give no label where its probability is lower than this (0 to 1)"),
    "--target-precision": (
        "P", "choose that probability for answers of which this share is right, such as 0.95",
    ),
}  # fmt: skip
COLUMNS = ("--text", "--label", "--text2", "--skip-bad")


def add_flag(
    group: Any, name: str, takes: str | Iterable[str], about: str, default: Any = None, **more: Any
) -> None:
    """Add a flag or an argument that takes one of some words, or N, an integer, X, P or SHARE, a number.

    One that takes "" is a switch. A default is named in its help.
    """
    if takes == "":
        group.add_argument(name, action="store_true", help=about)
        return
    if isinstance(takes, str):
        kind = {"N": int, "X": float, "P": float, "SHARE": float}.get(takes, str)
        more |= {"type": kind, "metavar": takes}
    else:
        more["choices"] = takes
    about = about if default is None else f"{about} (default: {default})"
    group.add_argument(name, default=default, help=about, **more)


def add_shared(group: Any, *names: str) -> None:
    """Flags that several commands have. One that reads a table also has an encoding."""
    for name in (*names, "--encoding") if "--text" in names else names:
        add_flag(group, name, *FLAGS[name])


def on_bad(args: argparse.Namespace) -> str:
    """The table readers' name for --skip-bad."""
    return "skip" if args.skip_bad else "error"


def threshold_from(args: argparse.Namespace, model: Model) -> float | None:
    """The probability to abstain below; for a wanted precision, chosen on the model's development set."""
    from ..runtime.confidence import check_threshold, saved_curve

    if args.target_precision is None:
        given = args.abstain_below
        return None if given is None else check_threshold(given, "--abstain-below")
    if args.abstain_below is not None:
        raise conflict("--abstain-below and --target-precision exclude each other; give only one")
    found = model.threshold(args.target_precision)
    _, rows = saved_curve(model.facts.get("confidence"))
    shown = f"{args.target_precision:.1%} right or more, as {rows:,} development texts show"
    print(f"abstaining below {found:.3f}: {shown}", file=sys.stderr)
    return found


@contextmanager
def needs_serve(command: str) -> Iterator[None]:
    """Says which extra a command needs, if what it imports is not there."""
    try:
        yield
    except ImportError as error:
        raise needs_extra(f"{command} needs {error.name}: pip install '.[serve]'") from None


def check_least(args: argparse.Namespace, **least: int) -> None:
    for name, lowest in least.items():
        check_at_least(f"--{name.replace('_', '-')}", getattr(args, name), lowest)


# ---------------------------------------------------------------- flags from the recipe


class HelpAll(argparse.Action):
    """`--help-all`: the help with every option of the recipe."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: Any, *_: Any) -> NoReturn:
        for action in parser._actions:
            action.help = getattr(action, "full_help", action.help)
        parser.print_help()
        parser.exit()


def add_recipe(parser: argparse.ArgumentParser, sections: Sequence[str] = tuple(SECTIONS)) -> None:
    add_flag(parser, "--preset", "NAME", f"the recipe: {', '.join(PRESETS)} (default: {AUTO})")
    shown = parser.get_default("preset_shown")
    for section in sections:
        about = f"{SECTIONS[section].__doc__} Defaults in [brackets] are those of preset {shown!r}."
        values = getattr(preset(shown), section)
        add_section(parser, f"{section} options", about, values, hide=len(sections) > 1)


def add_section(parser: argparse.ArgumentParser, title: str, about: str, values: Any, hide: bool) -> None:
    """Add a flag for every field of a recipe; with `hide`, `--help` shows only the basic ones."""
    if "--help-all" not in parser._option_string_actions:
        parser.add_argument("--help-all", nargs=0, action=HelpAll, help="show all options and exit")
    group = parser.add_argument_group(title, about)
    for f in (f for f in dataclasses.fields(values) if f.metadata["flag"]):
        flag, kind, has = f"--{f.name.replace('_', '-')}", type(f.default), f.metadata
        how: dict[str, Any] = {"dest": f.name, "default": argparse.SUPPRESS}
        if kind is bool:
            how["action"] = argparse.BooleanOptionalAction
        elif has["choices"]:
            how["choices"] = has["choices"]
        else:
            metavar = has["metavar"] or {int: "N", float: "X", str: "FILE"}[kind]
            how |= {"type": kind, "metavar": metavar}
        action: Any = group.add_argument(flag, **how)
        action.full_help = _help(f, getattr(values, f.name))
        action.help = argparse.SUPPRESS if hide and not has["basic"] else action.full_help


def recipe_from(args: argparse.Namespace) -> Recipe:
    return preset(args.preset or AUTO).override(**given_options(args))


def given_options(args: argparse.Namespace) -> dict[str, Any]:
    return {name: getattr(args, name) for name in options() if hasattr(args, name)}


def given_data(args: argparse.Namespace) -> list[str]:
    names = ("text", "label", "text2", "reasons", "not_reasons", "dev", "test", "holdout", "skip_bad")
    return [name for name in names if getattr(args, name) is not None and getattr(args, name) is not False]


def check_encoded(args: argparse.Namespace) -> None:
    """Raise if a flag asks for what was settled when the data was encoded."""
    settled = [name for name in given_options(args) if section_of(name) == "text"]
    settled += given_data(args)
    if settled or len(args.data) > 1:
        what = f"--{settled[0].replace('_', '-')}" if settled else "a second DATA"
        raise conflict(f"{args.data[0]} is already encoded; give {what} to 'limelight encode' instead")


def _help(f: dataclasses.Field, value: Any) -> str:
    needs = " and ".join(each.what for each in f.metadata["needs"])
    text = f"{f.metadata['help']}{f' Needs {needs}.' if needs else ''}"
    return text.replace("%", "%%") + ("" if value == "" else f" [{show_value(value)}]")


def show_value(value: Any) -> str:
    return ("no", "yes")[value] if isinstance(value, bool) else str(value)
