"""Texts and labels as users pass them (lists, numpy arrays, pandas and Arrow columns), turned into lists."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from ..errors import LimelightError, warn
from ..tables.formats import shorten
from ..tables.rows import texts_of
from .labels import LARGEST, TWICE, Label, are_many_numbers, check_types, not_ordered, spelled_twice
from .tasks import MULTI_LABEL, find_task

_COLLECTIONS = (list, tuple, set, frozenset, np.ndarray)


def as_list(values: Any, what: str) -> list[Any]:
    """A list of Python's own values."""
    if isinstance(values, (str, bytes)):
        raise LimelightError(
            f"{what} must be a list or a column; got one string; put it in a list", code="text-type"
        )
    if isinstance(values, (Mapping, set, frozenset)) or not hasattr(values, "__iter__"):
        raise LimelightError(f"{what} must be a list or a column, not {_type_name(values)}", code="list-type")
    shape: tuple[int, ...] = getattr(values, "shape", (0,))
    if len(shape) == 2 and shape[1] == 1:  # a frame of one column is that column
        values = np.asarray(values, dtype=object)[:, 0]
    elif len(shape) != 1:
        raise LimelightError(
            f"{what} must be one column; got {_type_name(values)} of shape {shape}", code="list-type"
        )
    method = "to_pylist" if hasattr(values, "to_pylist") else "tolist"  # of Arrow; of numpy and pandas
    values = getattr(values, method)() if hasattr(values, method) else values
    return [value.item() if isinstance(value, np.generic) else value for value in values]


def _check_each(
    values: Sequence[Any], what: str, fits: Callable[[Any], bool], todo: str, code: str = "label-type"
) -> None:
    for number, value in enumerate(values):
        if not fits(value):
            raise LimelightError(f"{what}[{number}] is {shorten(repr(value))}; {todo}", code=code)


def as_texts(values: Any, what: str = "texts") -> list[str]:
    """A list of strings, among which a number is its text; anything else is an error that names its place."""
    texts = as_list(values, what)
    if any(isinstance(text, str) for text in texts):  # or it is another column, such as that of the labels
        texts = texts_of(texts)
    _check_each(texts, what, lambda text: isinstance(text, str), "each must be a string", "text-type")
    return texts


def as_pairs(values: Any) -> tuple[list[str], list[str]]:
    """First and second texts from a list of pairs, or an array or data frame of two columns."""
    table = getattr(values, "ndim", 1) == 2  # or a data frame
    rows = np.asarray(values, dtype=object).tolist() if table else as_list(values, "pairs")
    _check_each(
        rows, "pairs", lambda row: not isinstance(row, str) and isinstance(row, Sequence) and len(row) == 2,
        "each must be two strings", "text-type",
    )  # fmt: skip
    first, second = ([row[side] for row in rows] for side in (0, 1))
    return as_texts(first, "first texts"), as_texts(second, "second texts")


def check_same_length(texts: list[Any], other: list[Any], what: str) -> None:
    """Raise unless there are as many of one as of the other."""
    if len(texts) != len(other):
        raise LimelightError(
            f"got {len(texts):,} texts but {len(other):,} {what}; there must be one for each text",
            code="length-mismatch",
        )


def as_weights(values: Any, what: str) -> list[float]:
    """A list of numbers of at least 0, none too large for float32."""
    plain = as_list(values, what)
    todo = "it must be a number of at least 0"
    _check_each(
        plain, what, lambda x: isinstance(x, (int, float)) and 0 <= x <= LARGEST, todo, "weight-value"
    )
    return [float(weight) for weight in plain]


def as_classes(labels: Any, fewest: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """The sorted classes in the labels' own type, at least `fewest`, and the class number of each row."""
    plain = as_list(labels, "labels")
    _check_each(plain, "labels", is_label, "it must be text, a number or a boolean")
    check_types(plain)
    array = labels if isinstance(labels, np.ndarray) and labels.dtype != object else np.array(plain)
    if array.dtype.kind in "fO" and any(type(x) is int and abs(x) > 2**53 for x in plain):
        raise LimelightError(
            "some labels are integers too large to stay exact; give them as text", code="label-type"
        )
    classes, numbers = np.unique(array, return_inverse=True)
    if twice := spelled_twice(classes.tolist()):  # as scikit-learn has it, classes are the labels as given
        todo = "each spelling is a class of its own; unicodedata.normalize('NFC', label) makes them one"
        warn(f"{TWICE.format(shorten(repr(twice[0])))}: {todo}")
    if len(plain) and len(classes) < fewest:
        raise LimelightError(
            f"every label is {plain[0]!r}; at least two classes are needed", code="label-count"
        )
    return classes, numbers


class Targets(NamedTuple):
    """Labels as the user passed them, read for training."""

    task: str
    classes: np.ndarray  # in the labels' own type; empty in regression
    labels: list[Any]  # of each text: its class's number, a list of them, or a number to predict
    indicator: bool = False  # whether they came as a table of zeros and ones


def read_targets(labels: Any, task: str = "auto") -> Targets:
    """Labels of a task; with 'auto', collections of labels and tables of zeros and ones are multi-label."""
    labels = labels if hasattr(labels, "__len__") else as_list(labels, "labels")  # or it is used up
    kind = find_task(task)
    if kind.has_several or (task == "auto" and _are_several(labels)):
        return _read_sets(labels)
    if kind.is_number:
        return Targets(task, np.empty(0), as_numbers(labels, "labels"))
    classes, numbers = as_classes(labels)
    if task == "auto" and are_many_numbers(classes.tolist()):
        raise LimelightError(
            f"labels are {len(classes):,} different numbers, such as {classes[0]}; to predict numbers, use a "
            "regressor; if each is a class, say task='classification'",
            code="task-ambiguous",
        )
    if kind.is_ordered and classes.dtype.kind not in "iuf":
        raise not_ordered(classes.tolist()[0])
    return Targets(kind.name, classes, numbers.tolist())


def match_targets(labels: Any, like: Targets, what: str) -> list[Any]:
    """Further labels as the first ones were given; one that is not among them is an error."""
    task = find_task(like.task)
    if task.is_number:
        return as_numbers(labels, what)
    if not task.has_several:
        return class_numbers(labels, like.classes.tolist(), what)
    if not like.indicator:
        sets = _as_sets(labels, what)
        return [class_numbers(each, like.classes.tolist(), f"{what}[{k}]") for k, each in enumerate(sets)]
    table = _as_indicator(labels, what)
    if table.shape[1] != len(like.classes):
        columns = f"{what} have {table.shape[1]} columns"
        raise LimelightError(f"{columns}, the training labels {len(like.classes)}", code="label-type")
    return [np.flatnonzero(row).tolist() for row in table]


def as_numbers(values: Any, what: str) -> list[float]:
    """A list of finite numbers.

    >>> as_numbers([1, float("nan")], "labels")
    Traceback (most recent call last):
    limelight.errors.LimelightError: labels[1] is nan; it must be a finite number
    """
    plain = as_list(values, what)
    _check_each(plain, what, _is_number, "it must be a finite number")
    return [float(value) for value in plain]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= LARGEST


def _are_several(labels: Any) -> bool:
    """Whether labels are a table with several columns, or collections."""
    if getattr(labels, "ndim", 1) == 2:
        return bool(labels.shape[1] > 1)
    return isinstance(next(iter(labels), None), _COLLECTIONS)


def _read_sets(labels: Any) -> Targets:
    if _is_indicator(labels):
        table = _as_indicator(labels, "labels")
        names = getattr(labels, "columns", None)  # of a data frame
        classes = np.arange(table.shape[1]) if names is None else np.array(as_list(names, "columns"))
        return Targets(MULTI_LABEL.name, classes, [np.flatnonzero(row).tolist() for row in table], True)
    sets = _as_sets(labels, "labels")
    classes, numbers = as_classes([label for each in sets for label in each], fewest=1)
    ends = np.cumsum([len(each) for each in sets])[:-1]
    return Targets(MULTI_LABEL.name, classes, [part.tolist() for part in np.split(numbers, ends)])


def _is_indicator(labels: Any) -> bool:
    """Whether labels are a table of zeros and ones: an array, a data frame, or lists of one length."""
    if getattr(labels, "ndim", 1) == 2:
        return True
    with suppress(ValueError):  # lists of different lengths
        table = np.asarray(labels if isinstance(labels, (list, tuple)) else [])
        return table.ndim == 2 and table.shape[1] > 1 and _are_zeros_and_ones(table)
    return False


def _are_zeros_and_ones(table: np.ndarray) -> bool:
    return table.dtype.kind in "biuf" and bool(np.isin(table, (0, 1)).all())


def _as_indicator(labels: Any, what: str) -> np.ndarray:
    table = np.asarray(labels.toarray() if hasattr(labels, "toarray") else labels)  # or it is sparse
    if table.ndim != 2 or not _are_zeros_and_ones(table):
        raise LimelightError(
            f"{what} must be a table of zeros and ones, or a list of labels for each text", code="label-type"
        )
    return table


def _as_sets(labels: Any, what: str) -> list[list[Any]]:
    given = as_list(labels, what)
    _check_each(
        given, what, lambda each: isinstance(each, _COLLECTIONS), "give a list of labels for each text"
    )
    return [
        as_list(sorted(each, key=str) if isinstance(each, set | frozenset) else each, what) for each in given
    ]


def class_numbers(labels: Any, classes: Sequence[Label], what: str = "labels") -> list[int]:
    """The class number of each label; a label that is not a class is an error."""
    places = {label: number for number, label in enumerate(classes)}
    plain = as_list(labels, what)
    for number, label in enumerate(plain):
        if not is_label(label) or label not in places:
            raise unknown_label_error(f"{what}[{number}]", label, classes)
    return [places[label] for label in plain]


def is_label(value: Any) -> bool:
    """Whether a value is text, a number or a boolean; NaN means that it is missing."""
    return isinstance(value, (str, int, float)) and value == value


def unknown_label_error(what: str, label: Any, classes: Sequence[Label]) -> LimelightError:
    """The error about a label that is not one of the classes."""
    names = ", ".join(map(str, classes[:20]))
    return LimelightError(f"{what} is {shorten(repr(label))}; the classes are: {names}", code="label-unknown")


def _type_name(values: Any) -> str:
    return "None" if values is None else type(values).__name__
