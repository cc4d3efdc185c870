"""Aspects of reviews, such as rooms, staff or price: named lists of seed words.

`sums.py` has what a reading says about them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ..errors import LimelightError
from ..storage.json_file import parse_object
from ..storage.open_files import read_regular

MAX_ASPECTS, MAX_SEEDS = 100, 1000  # of a model; of an aspect
MAX_NAME, MAX_SEED = 40, 60  # characters
MAX_FILE = 2**22  # bytes
# it begins columns, and = + : , separate names on the command line
_NAME = re.compile(r"[^\W_](?:[\w -]*\w)?")
_KEYS = {"seeds", "not"}
_wrong = partial(LimelightError, code="aspects")


@dataclass(frozen=True)
class Aspect:
    """A name, and the words or phrases that show that a clause is about it."""

    name: str
    seeds: tuple[str, ...]
    excluded: tuple[str, ...] = ()  # phrases whose words are no seeds: "pool area" says nothing of the area

    def __post_init__(self) -> None:
        _check_name(self.name)
        object.__setattr__(self, "seeds", _phrases(self.name, self.seeds))
        object.__setattr__(self, "excluded", _phrases(self.name, self.excluded))
        if not self.seeds:
            raise _wrong(f"aspect {self.name!r} has no seed words; give it one, or remove it")

    def to_json(self) -> Any:
        """As a file has it: the seeds alone, unless there is more."""
        seeds = list(self.seeds)
        return {"seeds": seeds, "not": list(self.excluded)} if self.excluded else seeds


class Aspects(tuple[Aspect, ...]):
    """Aspects in order, of different names."""

    def __new__(cls, aspects: Iterable[Aspect] = ()) -> Aspects:
        found = super().__new__(cls, aspects)
        if len(found) > MAX_ASPECTS:
            raise _wrong(f"there are {len(found)} aspects; at most {MAX_ASPECTS} are allowed")
        names = [aspect.name.casefold() for aspect in found]
        if twice := [name for k, name in enumerate(names) if name in names[:k]]:
            raise _wrong(f"two aspects are called {twice[0]!r}")
        return found

    def __repr__(self) -> str:
        return f"Aspects({', '.join(aspect.name for aspect in self)})"

    @classmethod
    def of(cls, given: Any) -> Aspects:
        """From a dictionary, a JSON file, or the name of a list that comes along."""
        if isinstance(given, Aspects):
            return given
        if given is None:
            return cls()
        if isinstance(given, str | Path):
            given = _read(given)
        if not isinstance(given, Mapping):
            raise _wrong(f"aspects must be a dictionary, a file or a name; got a {type(given).__name__}")
        return cls(_parse(name, about) for name, about in given.items())

    def to_dict(self) -> dict[str, Any]:
        return {aspect.name: aspect.to_json() for aspect in self}


def _check_name(name: Any) -> None:
    if not isinstance(name, str) or len(name) > MAX_NAME or not _NAME.fullmatch(name):
        wants = f"letters, digits, _, - or blanks, and at most {MAX_NAME} of them"
        raise _wrong(f"{str(name)[:60]!r} cannot be the name of an aspect: it must be {wants}")


def _phrases(name: str, given: Any) -> tuple[str, ...]:
    """The words or phrases, in lower case, each once."""
    if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
        raise _wrong(f"the seeds of aspect {name!r} must be a list of words")
    found = []
    for phrase in given:
        if not isinstance(phrase, str) or not phrase.strip() or len(phrase) > MAX_SEED:
            must = f"it must be a word or a phrase of at most {MAX_SEED} characters"
            raise _wrong(f"a seed of aspect {name!r} is {str(phrase)[:60]!r}; {must}")
        found.append(normalise(phrase))
    if len(found) > MAX_SEEDS:
        raise _wrong(f"aspect {name!r} has {len(found)} seeds; at most {MAX_SEEDS} are allowed")
    return tuple(dict.fromkeys(found))


def normalise(phrase: str) -> str:
    """How phrases are compared: in lower case, with single blanks and straight apostrophes."""
    return " ".join(phrase.replace("’", "'").casefold().split())


def plain_name(aspect: str) -> str:
    """An aspect as people say it."""
    return " ".join(aspect.replace("_", " ").split())


def _parse(name: Any, about: Any) -> Aspect:
    if not isinstance(about, Mapping):
        return Aspect(name, about)
    _check_name(name)
    if unknown := [key for key in about if key not in _KEYS]:
        raise _wrong(f"aspect {name!r} has {str(unknown[0])[:60]!r}; it may have: {', '.join(sorted(_KEYS))}")
    return Aspect(name, about.get("seeds", ()), about.get("not", ()))


def _read(given: str | Path) -> Mapping[str, Any]:
    from ..bundled import ASPECT_LISTS, aspects_path  # which loads what reads its other files

    if str(given) in ASPECT_LISTS:
        given = aspects_path(str(given))
    elif not Path(given).exists():
        known = ", ".join(ASPECT_LISTS)
        raise LimelightError(f"{given} is no file of aspects, and none of {known}", code="file-missing")
    return parse_object(read_regular(Path(given), MAX_FILE), Path(given).name)
