"""Batches as engines pass them, Arrow tables, pandas frames or dicts of columns, and new columns for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import LimelightError
from ..tables.cells import NewColumn, free_names
from ..tables.writers import Values

Added = Sequence[tuple[NewColumn, Values]]


def column_names(batch: Any) -> list[str]:
    """The names of a batch's columns.

    >>> column_names({"id": [7], "text": ["Good soup."]})
    ['id', 'text']
    """
    if _is_arrow(batch):
        return list(batch.column_names)
    if isinstance(batch, Mapping):
        return list(batch)
    if hasattr(batch, "columns") and hasattr(batch, "index"):
        return [str(name) for name in batch.columns]
    known, kind = "an Arrow table, a pandas frame or a dict of columns", type(batch).__name__
    raise LimelightError(f"a batch must be {known}, not {kind}", code="batch-type")


def add_columns(batch: Any, added: Added) -> Any:
    """A batch of the same kind: the new columns first, then its own, renamed where a name is taken.

    >>> new = [(NewColumn("label", "label", "text"), ["bad"])]
    >>> add_columns({"label": ["good"], "text": ["Cold soup."]}, new)
    {'label': array(['bad'], dtype=object), 'given_label': ['good'], 'text': ['Cold soup.']}
    """
    names = column_names(batch)
    kept = free_names(names, [column.name for column, _ in added])
    if _is_arrow(batch):
        return _add_to_arrow(batch, kept, added)
    own = dict(zip(kept, (batch[name] for name in names), strict=True))
    if isinstance(batch, Mapping):
        return {column.name: _as_array(column, values) for column, values in added} | own
    new = {column.name: list(_as_array(column, values)) for column, values in added}
    return type(batch)({**new, **own}, index=batch.index)


def _is_arrow(batch: Any) -> bool:
    return hasattr(batch, "column_names") and hasattr(batch, "schema")


def _as_array(column: NewColumn, values: Values) -> np.ndarray:
    """(rows, ...) numbers, or (rows,) Python values."""
    if column.kind == "vector":
        return np.asarray(values)
    if column.kind in ("probability", "number"):
        return np.asarray(values, np.float32)
    if column.kind == "words":
        values = [[{"word": word, "weight": weight} for word, weight in each] for each in values]
    elif column.kind == "label" and column.type != "text" and None not in values:
        return np.asarray(values)
    return np.fromiter(values, object, len(values))


def _add_to_arrow(table: Any, kept: Sequence[str], added: Added) -> Any:
    import pyarrow as pa

    from ..tables.arrow_columns import new_array, new_field

    arrays = [
        fixed_lists(values) if column.kind == "vector" else new_array(new_field(column, values), values)
        for column, values in added
    ]
    fields = [pa.field(column.name, each.type) for (column, _), each in zip(added, arrays, strict=True)]
    fields += [field.with_name(name) for field, name in zip(table.schema, kept, strict=True)]
    return pa.Table.from_arrays([*arrays, *table.columns], schema=pa.schema(fields))


def fixed_lists(values: Any) -> Any:
    """An Arrow column from (rows, ...): lists of fixed size, one in another for each further dimension.

    >>> str(fixed_lists(np.zeros((2, 3, 4), np.float16)).type).count("fixed_size_list")
    2
    """
    import pyarrow as pa

    found = pa.array(np.ascontiguousarray(values).reshape(-1))
    for size in reversed(values.shape[1:]):
        found = pa.FixedSizeListArray.from_arrays(found, size)
    return found
