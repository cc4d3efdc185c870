"""Names that a package offers and imports when they are first used."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from operator import attrgetter
from typing import Any


def lazy(
    package: str, homes: Mapping[str, str], modules: tuple[str, ...] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package; `homes` has the names in each module.

    `modules` are themselves imported when they are first used.

    >>> getattribute, names = lazy("limelight", {"config.recipe": "Recipe", "runtime.model": "Model.load"})
    >>> getattribute("Recipe").__name__, names()
    ('Recipe', ['Recipe', 'load'])
    """
    places = {each.split(".")[-1]: (module, each) for module, all in homes.items() for each in all.split()}

    def getattribute(name: str) -> Any:
        if name in modules:
            return import_module(f".{name}", package)
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, attribute = places[name]
        value = attrgetter(attribute)(import_module(f".{module}", package))
        setattr(sys.modules[package], name, value)
        return value

    return getattribute, lambda: sorted(places)
