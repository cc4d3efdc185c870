"""Errors told apart by their codes: their wording may change, their codes do not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from limelight import LimelightError


@contextmanager
def refuses(code: str) -> Iterator[pytest.ExceptionInfo[LimelightError]]:
    """A block that must raise a LimelightError with this code, in a message of one line."""
    with pytest.raises(LimelightError) as found:
        yield found
    assert found.value.code == code, (found.value.code, str(found.value))
    assert "\n" not in str(found.value)
