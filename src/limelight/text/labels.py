"""Labels: what the classes are, and the number of each row's class.

Booleans stay booleans; numbers that are all whole become integers; strings stay strings, unless all of them
are written like integers ("3", not "03" or "3.0"): a csv file cannot hold integers in any other way. The same
class may be written differently in another file: 0.5 for "0.5", true for "True", an accent as a character of
its own (Unicode's NFD) for one within its letter (NFC). If one table has both, they are one class, the NFC.
"""

import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Any
from unicodedata import normalize

import numpy as np

from ..errors import LimelightError, warn
from ..tables.formats import join_names, shorten
from ..tables.rows import MAX_DIGITS

Label = str | int | bool | float
Where = str | Callable[[int], str]  # of labels: the name of their data, or that of each row

LARGEST = float(np.finfo(np.float32).max)  # number to predict
VALUE = "value"  # what a model of numbers calls its one output
BINS = 10  # of numbers, each of which gives its share of held-out rows
MANY_NUMBERS = 20  # different ones, not all whole: hardly classes
TWICE = "labels are spelled both with composed and with separate accents, such as {}"
_INTEGER = re.compile(rf"0|-?[1-9]\d{{0,{MAX_DIGITS - 1}}}", re.ASCII)
_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?", re.ASCII)


class LabelColumn:
    """The labels of a task: of many rows, four bytes each, and each distinct label once."""

    group = "class"  # what a stratum is called

    def __init__(self, labels: Iterable[Label] = ()) -> None:
        self._numbers = array("i")
        self._seen: dict[tuple[type, Label], int] = {}  # with the type, or True would be 1
        for label in labels:
            self.append(label)

    def append(self, label: Label) -> None:
        self._numbers.append(self._seen.setdefault((type(label), label), len(self._seen)))

    @property
    def numbers(self) -> np.ndarray:
        """(rows,) int32: the index of each row's label in `distinct`."""
        return np.array(self._numbers, dtype=np.int32)

    @property
    def distinct(self) -> list[Label]:
        """The distinct labels as given, in the order of their first row."""
        return [label for _, label in self._seen]

    def classes(self) -> tuple[Label, ...]:
        """The classes, sorted; numbers by value."""
        kind, twice = _class_type(self.distinct), spelled_twice(self.distinct)
        if twice:
            warn(f"{TWICE.format(shorten(repr(twice[0])))}: each is taken as one class")
        distinct = [compose(label) if compose(label) in twice else label for label in self.distinct]
        found: set[Any] = {label if type(label) is kind else kind(label) for label in distinct}
        return tuple(sorted(found))

    def index(self, classes: Sequence[Label], where: Where) -> np.ndarray:
        """(rows,) int32: the class of each row; a label that is not a class is an error.

        `where` is the name of the data, or what names a row by its place, from 0.
        """
        exact = {(type(label), label): number for number, label in enumerate(classes)}
        counts = Counter(map(_normalise, classes))
        alike = {_normalise(label): n for n, label in enumerate(classes) if counts[_normalise(label)] == 1}
        numbers = [
            exact.get((type(label), label), alike.get(_normalise(label), -1)) for label in self.distinct
        ]
        if -1 in numbers:
            unknown = numbers.index(-1)
            place = self._row(self._numbers.index(unknown))
            row = where(place) if callable(where) else f"{where}, row {place + 1}"
            raise LimelightError(
                f"{row}: the label {self.distinct[unknown]!r} does not occur in the training data, "
                f"which has: {join_names([str(label) for label in classes])}",
                code="label-unknown",
            )
        return np.take(np.array(numbers, dtype=np.int32), self.numbers)

    def _row(self, place: int) -> int:
        return place

    @staticmethod
    def strata(labels: np.ndarray) -> np.ndarray:
        """(rows,): the groups to hold out a share of, for the labels that `index` gave."""
        return labels

    @staticmethod
    def counts(labels: np.ndarray, classes: int) -> np.ndarray:
        return np.bincount(labels, minlength=classes)

    @staticmethod
    def fits(labels: np.ndarray, classes: int) -> bool:
        """Whether an array is one that `index` could give."""
        return labels.ndim == 1 and labels.dtype.kind == "i" and 0 <= labels.min() <= labels.max() < classes


class LabelSets(LabelColumn):
    """The labels of rows that have any number of them."""

    group = "label"

    def __init__(self, labels: Iterable[Any] = ()) -> None:
        self._counts = array("i")
        super().__init__(labels)

    def append(self, label: Any) -> None:
        distinct = dict.fromkeys((type(each), each) for each in label)
        self._counts.append(len(distinct))
        for _, each in distinct:
            super().append(each)

    def index(self, classes: Sequence[Label], where: Where) -> np.ndarray:
        """(rows, classes) uint8: 1 for the labels of each row."""
        found = np.zeros((len(self._counts), len(classes)), dtype=np.uint8)
        found[np.repeat(np.arange(len(found)), self._counts), super().index(classes, where)] = 1
        return found

    def _row(self, place: int) -> int:
        return int(np.searchsorted(np.cumsum(self._counts), place, side="right"))

    @staticmethod
    def strata(labels: np.ndarray) -> np.ndarray:
        """(rows,): each row's rarest label, or one more for rows without any."""
        order = np.argsort(labels.sum(axis=0, dtype=np.int64), kind="stable")
        first = order[labels[:, order].argmax(axis=1)] if labels.size else np.zeros(len(labels), int)
        return np.unique(np.where(labels.any(axis=1), first, labels.shape[1]), return_inverse=True)[1]

    @staticmethod
    def counts(labels: np.ndarray, classes: int) -> np.ndarray:
        return np.asarray(labels.sum(axis=0, dtype=np.int64))

    @staticmethod
    def fits(labels: np.ndarray, classes: int) -> bool:
        return labels.shape[1:] == (classes,) and labels.dtype.kind == "u" and labels.max(initial=0) <= 1


class OrderedLabels(LabelColumn):
    """Labels that are numbers, and so have an order."""

    def classes(self) -> tuple[Label, ...]:
        """The classes in their order."""
        found = super().classes()
        if type(found[0]) is str and all(_NUMBER.fullmatch(str(label)) for label in found):
            return tuple(sorted(set(map(float, found))))  # "0.5" may also be written "0.50"
        if type(found[0]) in (int, float):
            return found
        raise not_ordered(str(found[0]))


class NumberColumn(LabelColumn):
    """Numbers to predict."""

    group = "tenth of the numbers"

    def __init__(self, labels: Iterable[float] = ()) -> None:
        self._values = array("f", labels)

    def append(self, label: Any) -> None:
        self._values.append(label)

    def classes(self) -> tuple[Label, ...]:
        """One, to which all numbers belong."""
        return (VALUE,)

    def index(self, classes: Sequence[Label], where: Where) -> np.ndarray:
        """(rows,) float32: the numbers themselves."""
        return np.array(self._values, dtype=np.float32)

    @staticmethod
    def strata(labels: np.ndarray) -> np.ndarray:
        """(rows,): the tenth that a number is in."""
        edges = np.quantile(labels, np.linspace(0, 1, BINS + 1)[1:-1])
        return np.unique(np.searchsorted(edges, labels, side="right"), return_inverse=True)[1]

    @staticmethod
    def counts(labels: np.ndarray, classes: int) -> np.ndarray:
        return np.array([len(labels)])

    @staticmethod
    def fits(labels: np.ndarray, classes: int) -> bool:
        return labels.ndim == classes == 1 and labels.dtype.kind == "f" and bool(np.isfinite(labels).all())


def not_ordered(label: Any) -> LimelightError:
    """The error about a label that is not a number where the order of labels counts."""
    what = f"task is 'ordinal', but {shorten(repr(label))} is not a number"
    return LimelightError(f"{what}; number the labels in their order, such as 1 to 5", code="label-type")


def are_many_numbers(classes: Sequence[Label]) -> bool:
    """Whether classes look like numbers to predict: many, and not all of them whole."""
    numbers = [label for label in map(str, classes) if _NUMBER.fullmatch(label)]
    return len(numbers) == len(classes) > MANY_NUMBERS and any("." in number for number in numbers)


def compose(label: Any) -> Any:
    """A label with its accents within their letters, Unicode's NFC; what is not text stays as it is."""
    return normalize("NFC", label) if isinstance(label, str) and not label.isascii() else label


def spelled_twice(labels: Iterable[Label]) -> list[Label]:
    """The labels, composed, of which distinct `labels` have several spellings."""
    return [label for label, count in Counter(map(compose, labels)).items() if count > 1]


def join_classes(new: Sequence[Label], known: Sequence[Label]) -> tuple[Label, ...]:
    """The classes of new rows and those `known` before, sorted; the new ones alone if none was known."""
    written = set(map(_normalise, known))
    extra = [label for label in new if _normalise(label) not in written]
    if len(extra) == len(new):
        return tuple(new)
    _class_type([*known, *extra])
    found: list[Any] = [*known, *extra]
    return tuple(sorted(found))


def _class_type(labels: Sequence[Label]) -> type:
    types = check_types(labels)
    if types <= {int, float}:
        return int if all(float(label).is_integer() for label in labels) else float
    if types == {str}:
        return int if all(_INTEGER.fullmatch(str(label)) for label in labels) else str
    return bool


def check_types(labels: Iterable[Label]) -> set[type]:
    """The types of labels; integers may be among other numbers, any other mixture is an error."""
    types = set(map(type, labels))
    if len(types) > 1 and not types <= {int, float}:
        names = " and ".join(sorted(t.__name__ for t in types))
        raise LimelightError(f"labels have different types ({names}); convert them to one", code="label-type")
    return types


def _normalise(label: Label) -> tuple[type, Any]:
    """A label, however a format writes it: a csv file has text for 0.5, 3 and True."""
    if isinstance(label, str):
        text: str = compose(label)
        if _NUMBER.fullmatch(text):
            return Decimal, Decimal(text)
        truth = {"true": True, "false": False}.get(text.lower())
        return (str, text) if truth is None else (bool, truth)
    if isinstance(label, bool):
        return bool, label
    whole = isinstance(label, int) or label.is_integer()
    return Decimal, Decimal(int(label)) if whole else Decimal(str(label))


def readable(name: str) -> str | None:
    """The name of a class as words, or None where it says nothing: a number, a letter."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])|[_\W]+", " ", name).strip()
    return apart if re.search(r"[^\W\d_]{2}", apart) else None
