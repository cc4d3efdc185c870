"""The parser of the whole command line: finds the commands, and makes flags from the recipe."""

from __future__ import annotations

import argparse
import dataclasses
import pkgutil
import sys
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import Any, NoReturn

from .. import __version__
from ..config.presets import PRESETS, preset
from ..config.recipe import SECTIONS, Recipe, options, section_of
from ..errors import LimelightError

DEFAULT_PRESET = "small"

EPILOG = """\
a first model:
  limelight demo
  limelight train reviews.csv --text text --label stars --out model
  limelight predict model new.csv --text text --out answers.csv
  limelight explain model "The soup was cold but the waiter was lovely."

'limelight COMMAND --help' says everything about a command."""


class Parser(argparse.ArgumentParser):
    """An ArgumentParser whose complaints are one line."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("formatter_class", Formatter)
        super().__init__(allow_abbrev=False, **options)
        self._optionals.title = "options"

    def error(self, message: str) -> NoReturn:
        """One line on standard error, exit code 2."""
        print(f"{self.prog}: {message} (see {self.prog} --help)", file=sys.stderr)
        raise SystemExit(2)


class Formatter(argparse.RawDescriptionHelpFormatter):
    """Room for the names of flags, and text as it was written."""

    def __init__(self, prog: str, **rest: Any) -> None:
        super().__init__(prog, max_help_position=30, **rest)


def commands() -> dict[str, ModuleType]:
    """Every command by its name: the files of this folder that do not begin with `_`."""
    from . import __path__ as folder

    names = [found.name for found in pkgutil.iter_modules(folder) if not found.name.startswith("_")]
    modules = {name: import_module(f"{__package__}.{name}") for name in names}
    return dict(sorted(modules.items(), key=lambda item: (item[1].ORDER, item[0])))


def parser_for(argv: Sequence[str] = ()) -> Parser:
    """The parser; `argv` is looked into for the preset whose values `--help` should show."""
    parser = Parser(
        prog="limelight",
        description="Trains sentence embeddings that show what they read.",
        epilog=EPILOG,
    )
    parser.add_argument("--version", action="version", version=f"limelight {__version__}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, module in commands().items():
        found = subparsers.add_parser(
            name, help=module.HELP, description=getattr(module, "DESCRIPTION", module.HELP),
            usage=getattr(module, "USAGE", None),  # where a list of all flags would be a wall
        )  # fmt: skip
        found.set_defaults(run=module.run, preset_shown=_preset_in(argv))
        module.arguments(found)
    return parser


def _preset_in(argv: Sequence[str]) -> str:
    for flag, value in zip(argv, [*argv[1:], ""], strict=False):
        name = value if flag == "--preset" else flag.removeprefix("--preset=")
        if name in PRESETS:
            return name
    return DEFAULT_PRESET


# ---------------------------------------------------------------- flags from the recipe


def add_recipe(parser: argparse.ArgumentParser, sections: Sequence[str] = tuple(SECTIONS)) -> None:
    """`--preset`, and a flag for every field of the recipe's sections, with its sentence."""
    parser.add_argument(
        "--preset", metavar="NAME",
        help=f"recipe to start from: {', '.join(PRESETS)} (default: {DEFAULT_PRESET})",
    )  # fmt: skip
    add_options(parser, sections)


def add_options(parser: argparse.ArgumentParser, sections: Sequence[str]) -> None:
    """A flag for every field of the recipe's sections, with its sentence."""
    shown = parser.get_default("preset_shown") or DEFAULT_PRESET
    for section in sections:
        cls = SECTIONS[section]
        values = getattr(preset(shown), section)
        group = parser.add_argument_group(f"{section} options", f"{cls.__doc__} In brackets: preset {shown}.")
        for f in dataclasses.fields(cls):
            _add_option(group, f, getattr(values, f.name))


def recipe_from(args: argparse.Namespace) -> Recipe:
    """The preset with the flags that were given."""
    return preset(args.preset or DEFAULT_PRESET).override(**given_options(args))


def given_options(args: argparse.Namespace) -> dict[str, Any]:
    """The recipe's options that were given as flags."""
    return {name: getattr(args, name) for name in options() if hasattr(args, name)}


def given_data(args: argparse.Namespace) -> list[str]:
    """The flags on reading tables that were given."""
    names = ("text", "label", "text2", "dev", "test", "holdout", "skip_bad")
    return [name for name in names if getattr(args, name) is not None and getattr(args, name) is not False]


def check_encoded(args: argparse.Namespace) -> None:
    """What an encoded data set has settled already cannot be asked for again."""
    settled = [name for name in given_options(args) if section_of(name) == "text"]
    settled += given_data(args)
    if settled or len(args.data) > 1:
        what = f"--{settled[0].replace('_', '-')}" if settled else "a second DATA"
        raise LimelightError(f"{args.data[0]} is encoded already; give {what} to 'limelight encode' instead")


def _add_option(group: Any, f: dataclasses.Field, value: Any) -> None:
    shown = "" if value == "" else f" [{word(value)}]"
    flag, help = f"--{f.name.replace('_', '-')}", f.metadata["help"].replace("%", "%%") + shown
    kind = type(f.default)
    common = {"dest": f.name, "default": argparse.SUPPRESS, "help": help}
    if kind is bool:
        group.add_argument(flag, action=argparse.BooleanOptionalAction, **common)
    elif f.metadata["choices"]:
        group.add_argument(flag, choices=f.metadata["choices"], **common)
    else:
        metavar = {int: "N", float: "X", str: "FILE"}[kind]
        group.add_argument(flag, type=kind, metavar=metavar, **common)


def word(value: Any) -> str:
    """A value for people: yes, no, or as it is."""
    return ("no", "yes")[value] if isinstance(value, bool) else str(value)
