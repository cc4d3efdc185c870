"""`limelight completion`: a completion script for the shell."""

from __future__ import annotations

import argparse

from ..errors import LimelightError
from ._parser import add_flag, parser_for

HELP = "print a completion script for your shell"
DESCRIPTION = """\
Print a completion script.

  bash:  limelight completion bash > ~/.local/share/bash-completion/completions/limelight
  zsh:   limelight completion zsh > ~/.zfunc/_limelight      (a folder in $fpath)
  tcsh:  limelight completion tcsh > ~/.limelight.tcsh       (source it)"""


def arguments(parser: argparse.ArgumentParser) -> None:
    add_flag(parser, "shell", ("bash", "zsh", "tcsh"), "your shell")


def run(args: argparse.Namespace) -> None:
    """Print the script."""
    try:
        import shtab
    except ImportError:
        raise LimelightError("completion needs shtab: pip install shtab", code="needs-extra") from None
    parser = parser_for()
    _complete_files(parser, shtab.FILE, shtab.DIRECTORY)
    print(shtab.complete(parser, shell=args.shell))


def _complete_files(parser: argparse.ArgumentParser, file: object, folder: object) -> None:
    """Complete file and folder names for arguments called FILE, DATA, DIR or MODEL."""
    kinds = {"FILE": file, "DATA": file, "SOURCE": file, "DIR": folder, "MODEL": folder}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for sub in action.choices.values():
                _complete_files(sub, file, folder)
        elif action.metavar in kinds:
            action.complete = kinds[action.metavar]  # type: ignore[attr-defined,index]
