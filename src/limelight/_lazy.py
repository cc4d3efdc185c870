"""Names that a package offers and imports when they are first used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from operator import attrgetter
from typing import Any


def lazy(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package; `homes` has "module:attribute" for each name.

    >>> getattribute, names = lazy("limelight", {"Recipe": "config.recipe:Recipe"})
    >>> getattribute("Recipe").__name__, names()
    ('Recipe', ['Recipe'])
    """

    def getattribute(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, _, attribute = homes[name].partition(":")
        value = attrgetter(attribute)(import_module(f".{module}", package))
        setattr(sys.modules[package], name, value)
        return value

    return getattribute, lambda: sorted(homes)
