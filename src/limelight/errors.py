"""The one exception that users meet: a line that says what was given, what was expected and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class LimelightError(ValueError):
    """Something outside the program is not as it should be: a file, a column, an option.

    The message is a single line, and the command line prints it as it is and exits with 2.

    >>> raise LimelightError("reviews.csv has no column 'star'; it has: stars, text")
    Traceback (most recent call last):
    limelight.errors.LimelightError: reviews.csv has no column 'star'; it has: stars, text
    """


@contextmanager
def tidy_os_errors(what: str) -> Iterator[None]:
    """Turn an operating-system error (disk full, no permission, not found) into one clear line.

    >>> with tidy_os_errors("cannot read reviews.csv"):
    ...     raise FileNotFoundError(2, "No such file or directory")
    Traceback (most recent call last):
    limelight.errors.LimelightError: cannot read reviews.csv: No such file or directory
    """
    try:
        yield
    except OSError as error:
        raise LimelightError(f"{what}: {error.strerror or error}") from error
