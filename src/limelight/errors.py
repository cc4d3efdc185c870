"""The one exception that users meet: a line that says what was given, what was expected and what to do."""

from __future__ import annotations


class LimelightError(ValueError):
    """Something outside the program is not as it should be: a file, a column, an option.

    The message is a single line, and the command line prints it as it is and exits with 2.

    >>> raise LimelightError("reviews.csv has no column 'star'; it has: stars, text")
    Traceback (most recent call last):
    limelight.errors.LimelightError: reviews.csv has no column 'star'; it has: stars, text
    """
