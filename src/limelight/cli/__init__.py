"""The command line: `limelight COMMAND ...`, one file per command.

A command, named in `_parser.COMMANDS`, has `HELP` (one line), `arguments(parser)`, which adds its flags, and
`run(args)`, which may return an exit code. It may have `DESCRIPTION` and `USAGE`, and imports heavy modules
inside `run`, so that `limelight --help` stays quick.

Exit codes: 0 success, 1 interrupted, out of memory or a failed check, 2 invalid input, 141 the reader of a
pipe has gone, as for other tools.
"""

import contextlib
import gc
import os
import re
import signal
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from ..errors import LimelightError
from ._output import discard_unwritten, require_output, utf8_streams

NO_MEMORY = "limelight: out of memory; try a smaller --hidden, --batch-size or --max-length\n"
# PyTorch's MemoryError, and Python's where there is no room for the stack of a thread or for a library
OTHER_MEMORY_ERRORS = ("DefaultCPUAllocator", "can't start new thread", "failed to map segment")
CLOSED_PIPE = 128 + 13  # SIGPIPE


def start() -> NoReturn:
    """The entry point of the shell command: `main`, interrupted by the first Ctrl-C and by no other."""
    gc.set_threshold(20_000)  # imports and a vocabulary make many objects, all of which stay
    interrupted = False

    def once(*_: Any) -> None:
        nonlocal interrupted
        if not interrupted:
            interrupted = True
            raise KeyboardInterrupt

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, once)
    code = main()
    discard_unwritten()
    sys.exit(code)


def main(argv: Sequence[str] | None = None) -> int:
    with utf8_streams():
        _set_bar_size()
        return _run_and_report(sys.argv[1:] if argv is None else list(argv))


def _run_and_report(argv: list[str]) -> int:
    try:
        return _run(argv)
    except SystemExit as end:  # argparse has printed its message
        return end.code if isinstance(end.code, int) else 0
    except LimelightError as error:
        return _fail(str(error), 2)
    except KeyboardInterrupt:
        return _fail("interrupted", 1)
    except BrokenPipeError:  # `limelight predict ... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CLOSED_PIPE
    except MemoryError:
        return _fail_without_memory()
    except OSError as error:
        return _fail(f"{error.filename or 'the system'}: {error.strerror or error}", 2)
    except (RuntimeError, ImportError) as error:
        if type(error).__name__ == "OutOfMemoryError":
            return _fail("out of GPU memory; try a smaller --batch-size", 1)
        if any(mark in str(error) for mark in OTHER_MEMORY_ERRORS):
            return _fail_without_memory()
        raise


def _run(argv: list[str]) -> int:
    from ..tables.encoding import text_encoding
    from ._parser import parser_for

    args = parser_for(argv).parse_args(argv)
    encoding = text_encoding(getattr(args, "encoding", None))
    with warnings.catch_warnings(), require_output(args), encoding:
        warnings.showwarning = _warning_printer()
        code: int = args.run(args) or 0
    print(end="", flush=True)  # a closed pipe is noticed here, not at exit
    return code


def _fail(line: str, code: int) -> int:
    print(f"limelight: {_with_flags(' '.join(line.split()))}", file=sys.stderr)
    return code


def _fail_without_memory() -> int:
    """One line that takes no memory to make: the frames of what failed still hold theirs."""
    sys.stderr.write(NO_MEMORY)
    return 1


def _warning_printer() -> Callable[..., None]:
    """Prints a warning, each once: Python forgets what it has shown when a library changes its filters."""
    shown = set[str]()

    def show(message: Any, category: Any, *rest: Any) -> None:
        line = _with_flags(str(message))
        if issubclass(category, UserWarning) and line not in shown:
            shown.add(line)
            print(f"limelight: warning: {line}", file=sys.stderr)

    return show


def _with_flags(line: str) -> str:
    """Spell options as flags. A single word is replaced only where it can be nothing else."""
    from ..config.recipe import options

    long = "|".join(name for name in options() if "_" in name)
    found = rf"^(?:{'|'.join(options())})(?= is | has no effect)|(?<![\w'\"/.-])(?:{long})(?![\w'\"/.=-])"
    return re.sub(found, lambda name: f"--{name[0].replace('_', '-')}", line)


def _set_bar_size() -> None:
    """Without a terminal size, as in some containers, tqdm would show no bar at all."""
    with contextlib.suppress(OSError, ValueError, AttributeError):  # not a terminal
        if not all(os.get_terminal_size(sys.stderr.fileno())):
            os.environ.setdefault("TQDM_NCOLS", "80")
            os.environ.setdefault("TQDM_NROWS", "24")
