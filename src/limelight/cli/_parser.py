"""The command-line parser: finds the commands, suggests what was meant."""

from __future__ import annotations

import argparse
import difflib
import re
import sys
from collections.abc import Iterable, Sequence
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any, NoReturn

from .. import __version__
from ..config.presets import AUTO, PRESETS
from ..config.recipe import other_names

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
        """Print one line to standard error and exit with code 2."""
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
        other = other_names().get(found[1].removeprefix("--").replace("-", "_"), "")
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
