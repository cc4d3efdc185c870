"""Columns of parquet tables, from Python values and from other parquet tables. Needs pyarrow."""

import json
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa

from .cells import ABSENT, ArrowRow, KeptColumns, NewColumn, as_text, as_unicode, list_cells

_TYPES = {"bool": pa.bool_(), "int": pa.int64(), "float": pa.float64(), "text": pa.string(), "": pa.string()}
_WORDS = pa.list_(pa.struct([("word", pa.string()), ("weight", pa.float32())]))


def new_field(column: NewColumn, values: Any) -> Any:
    """The Arrow field of a new column; that of vectors says their shape, since parquet holds them flat."""
    match column.kind:
        case "label":
            return pa.field(column.name, _TYPES[column.type])
        case "labels":
            return pa.field(column.name, pa.list_(_TYPES[column.type]))
        case "probability" | "number":
            return pa.field(column.name, pa.float32())
        case "words":
            return pa.field(column.name, _WORDS)
    shape = np.shape(values)[1:]
    about = {"shape": json.dumps(shape)}
    return pa.field(column.name, pa.list_(pa.float32(), int(np.prod(shape))), metadata=about)


def new_array(field: Any, values: Any) -> Any:
    if pa.types.is_fixed_size_list(field.type):
        flat = pa.array(np.ascontiguousarray(values, np.float32).reshape(-1))
        return pa.FixedSizeListArray.from_arrays(flat, field.type.list_size)
    if field.type == pa.float32():
        return pa.array(np.asarray(values, np.float32))
    if field.type == _WORDS:
        values = [[{"word": as_unicode(word), "weight": weight} for word, weight in each] for each in values]
        return pa.array(values, _WORDS)
    return _column(values, field.type)


def kept_fields(names: Sequence[str], kept: KeptColumns) -> list[Any]:
    types = [_TYPES[each] if isinstance(each, str) else each for each in kept.types]
    return list(map(pa.field, names, types))


def kept_arrays(cells: Sequence[Any], kept: KeptColumns) -> list[Any]:
    if cells and isinstance(cells[0], ArrowRow):
        return list(pa.Table.from_batches(_slices(cells)).columns)
    rows = [list_cells(each, kept.names) for each in cells]
    fields = kept_fields(kept.names, kept)
    return [_column([row[k] for row in rows], field.type) for k, field in enumerate(fields)]


def _slices(rows: Sequence[ArrowRow]) -> list[Any]:
    """The parts of the Arrow batches that hold these rows; any type can be sliced."""
    found = []
    numbered = enumerate(rows)  # rows that follow each other have place - number in common
    for _, run in groupby(numbered, key=lambda each: (id(each[1].block), each[1].place - each[0])):
        some = [row for _, row in run]
        found.append(some[0].block.batch.slice(some[0].place, len(some)))
    return found


def _column(values: Sequence[Any], kind: Any) -> Any:
    if kind == pa.string():
        values = [None if each is None or each is ABSENT else as_unicode(as_text(each)) for each in values]
    else:
        values = [None if each is ABSENT else each for each in values]
    return pa.array(values, kind)
