"""The command line: `limelight COMMAND ...`, one file per command.

A file in this folder whose name does not begin with `_` is a command of that name. It has `HELP` (a
sentence), `ORDER` (its place in the list), `arguments(parser)` and `run(args) -> int`, may have `DESCRIPTION`
and `USAGE`, and imports what is heavy inside `run`, so that `limelight --help` comes at once.

Exit codes: 0 done, 1 interrupted, out of memory or a check that failed, 2 something given is not as it
should be.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sys
import warnings
from collections.abc import Sequence
from typing import Any, NoReturn

from ..errors import LimelightError
from ._streams import forget_unshown, output_of, prepared

NO_MEMORY = (
    "there is not enough memory for this; try a smaller network, a smaller batch or a shorter max_length"
)


def start() -> NoReturn:
    """What a shell starts: `main`, which one Ctrl-C ends; a further one does not disturb the end.

    >>> start()  # doctest: +SKIP
    """
    told = False

    def once(*given: Any) -> None:
        nonlocal told
        if not told:
            told = True
            raise KeyboardInterrupt

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, once)
    code = main()
    forget_unshown()
    sys.exit(code)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; whatever goes wrong is one line on standard error.

    >>> main(["completion", "--help"])  # doctest: +ELLIPSIS
    usage: limelight completion ...
    0
    """
    with prepared():
        _prepare_bars()
        return _run_guarded(sys.argv[1:] if argv is None else list(argv))


def _run_guarded(argv: list[str]) -> int:
    try:
        return _run(argv)
    except SystemExit as leaving:  # argparse has said what it wanted to say
        return leaving.code if isinstance(leaving.code, int) else 0
    except LimelightError as error:
        return _say(str(error), 2)
    except KeyboardInterrupt:
        return _say("interrupted", 1)
    except BrokenPipeError:  # `limelight predict ... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except MemoryError:
        return _say(NO_MEMORY, 1)
    except OSError as error:
        return _say(f"{error.filename or 'the system'}: {error.strerror or error}", 2)
    except RuntimeError as error:
        if type(error).__name__ == "OutOfMemoryError":
            return _say("the GPU has not enough memory for this; try a smaller --batch-size", 1)
        if "DefaultCPUAllocator" in str(error):  # PyTorch's MemoryError
            return _say(NO_MEMORY, 1)
        raise


def _run(argv: list[str]) -> int:
    from ._parser import parser_for

    args = parser_for(argv).parse_args(argv)
    with warnings.catch_warnings(), output_of(args):
        warnings.showwarning = _show_warning  # type: ignore[assignment]
        code: int = args.run(args)
    print(end="", flush=True)  # standard output may be closed
    return code


def _say(line: str, code: int) -> int:
    print(f"limelight: {_with_flags(' '.join(line.split()))}", file=sys.stderr)
    return code


def _show_warning(message: Any, category: Any, *rest: Any) -> None:
    if issubclass(category, UserWarning):
        print(f"limelight: warning: {_with_flags(str(message))}", file=sys.stderr)


def _with_flags(line: str) -> str:
    """Options as one types them here. A name of one word is only taken for one where it must be one.

    >>> _with_flags("max_length is -4; it must be at least 0"), _with_flags("rows is -1; it must be 1")
    ('--max-length is -4; it must be at least 0', '--rows is -1; it must be 1')
    >>> _with_flags("x.csv has no column 'max_length'; the rows are 3")
    "x.csv has no column 'max_length'; the rows are 3"
    """
    from ..config.recipe import options

    long = "|".join(name for name in options() if "_" in name)
    found = rf"^(?:{'|'.join(options())})(?= is | has no effect)|(?<![\w'\"/.-])(?:{long})(?![\w'\"/.=-])"
    return re.sub(found, lambda name: f"--{name[0].replace('_', '-')}", line)


def _prepare_bars() -> None:
    """A terminal that does not know its size, as in some containers, would show no bar at all."""
    with contextlib.suppress(OSError, ValueError, AttributeError):  # no terminal, or none of the system's
        if not all(os.get_terminal_size(sys.stderr.fileno())):
            os.environ.setdefault("TQDM_NCOLS", "80")
            os.environ.setdefault("TQDM_NROWS", "24")
