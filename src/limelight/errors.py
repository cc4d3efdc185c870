"""The one exception that users see, and warnings: one line that says what was given and what to do."""

import sys
import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Any


class LimelightError(ValueError):
    """Something from outside is not as it should be: a file, a column, an option.

    The message is a single line; the command line prints it and exits with code 2. Programs and tests go by
    `code`, which stays the same when the wording changes.

    >>> error = LimelightError("reviews.csv has no column 'star'; it has: stars, text", code="column-missing")
    >>> error.code, str(error)
    ('column-missing', "reviews.csv has no column 'star'; it has: stars, text")
    """

    def __init__(self, message: str, *, code: str = "invalid") -> None:
        super().__init__(message)
        self.code = code

    def __reduce__(self) -> tuple[Any, ...]:
        """Processes hand errors on: the code comes along."""
        return partial(type(self), code=self.code), self.args


def needs_torch(what: str) -> LimelightError:
    """The error about a missing PyTorch, whose usual build for Linux brings gigabytes of CUDA along.

    >>> str(needs_torch("training"))[:52]
    "training needs PyTorch: pip install '.[train]'; with"
    """
    fault = f"{what} needs PyTorch: pip install '.[train]'; without a GPU, before it: pip install torch"
    return LimelightError(f"{fault} --index-url https://download.pytorch.org/whl/cpu", code="needs-extra")


# The errors that many places raise, each with its code.
bad_value = partial(LimelightError, code="option-value")
conflict = partial(LimelightError, code="option-conflict")
damaged = partial(LimelightError, code="file-damaged")
name_taken = partial(LimelightError, code="exists")
needs_extra = partial(LimelightError, code="needs-extra")
no_rows = partial(LimelightError, code="no-rows")
wrong_file = partial(LimelightError, code="file-type")
wrong_model = partial(LimelightError, code="model-kind")  # a reader, or a model of pairs
wrong_task = partial(LimelightError, code="model-task")


def need(library: str, what: object, extra: str) -> Any:
    """The package of an optional library, or the error that says what needs it and which extra has it."""
    try:
        return __import__(library)
    except ImportError:
        raise needs_extra(f"{what} needs {library.partition('.')[0]}: pip install '.[{extra}]'") from None


def check_choice(name: str, value: Any, choices: Collection[Any]) -> None:
    """Raise unless an option has one of some values."""
    if value not in choices:
        raise bad_value(f"{name} is {value!r}; it must be one of: {', '.join(map(str, choices))}")


def check_at_least(name: str, value: Any, least: float) -> None:
    """Raise unless a number, if it is given, is as large as it must be."""
    if value is not None and not least <= value < float("inf"):  # nan neither
        raise bad_value(f"{name} is {value}; it must be at least {least}")


@contextmanager
def tidy_os_errors(what: str) -> Iterator[None]:
    """Turn an operating-system error (disk full, no permission, not found) into one clear line."""
    try:
        yield
    except OSError as error:
        raise LimelightError(f"{what}: {error.strerror or error}", code="os-error") from error


def warn(message: str) -> None:
    """Warn at the line of the user's own code, however deep in the package this is called."""
    package, level, outside = __name__.partition(".")[0], 1, 1
    frame: FrameType | None = sys._getframe()
    while frame:
        level += 1
        if frame.f_globals.get("__name__", "").partition(".")[0] == package:
            outside = level  # the caller of the outermost function of ours
        frame = frame.f_back
    warnings.warn(message, UserWarning, stacklevel=outside)
