"""On how many examples a property is tried."""

from __future__ import annotations

from hypothesis import settings

# `make test` draws the same examples every time, whatever the speed of the machine; `make fuzz` draws anew.
settings.register_profile("test", derandomize=True, deadline=None, max_examples=100)
settings.register_profile("fuzz", deadline=None, max_examples=1000, print_blob=True)


def examples(count: int) -> settings:
    """So many, and ten times as many in `make fuzz`."""
    return settings(max_examples=count * settings.default.max_examples // 100)
