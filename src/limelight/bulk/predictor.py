"""`Predictor`: a model that travels to the workers of any engine and adds columns to their batches."""

from __future__ import annotations

import copy
import math
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import LimelightError, check_choice, conflict
from ..network.quantise import quantise
from ..runtime.confidence import check_threshold
from ..runtime.devices import DeviceOptions, choose_device
from ..runtime.folder import is_reader, is_reader_folder
from ..runtime.model import Model
from ..runtime.predictions import Predictions
from ..runtime.reader import Reader, load_exactly, model_sha256
from ..tables.cells import KeptColumns, NewColumn, free_names
from ..tables.columns import Columns, choose_columns
from ..tables.rows import Row, texts_of
from ..tables.writers import Values
from ..text.coerce import as_list, as_texts

Added = Sequence[tuple[NewColumn, Values]]
EMBED = ("vector", "matrix")
DTYPES = ("float32", "float16", "int8")
_BATCH = {"cpu": (8192, 2**26), "cuda": (2**17, 2**30)}  # rows and bytes of a batch, at most

_loaded: dict[tuple[Any, ...], Model | Reader] = {}  # in this process
_loading = threading.Lock()


class Predictor:
    """A callable that adds a model's columns to a batch: for Ray Data, Spark, Dask, datasets or any loop.

    A batch is an Arrow table, a pandas frame or a dict of columns, and so is the result, with the new columns
    first. A model adds `label` and `confidence`, and what `probabilities`, `top`, `words`, `aspects` and
    `abstain_below` ask for, as in `limelight predict`. With `embed`, and for a reader always, it adds
    `embedding`: "vector" is one vector per text (the reader's, of length 1; a model's M, flat), "matrix" the
    rows of M. As int8 it comes with a column `embedding_scale`, by which to multiply it.

    It holds the path of the model and its checksum, not the weights, so it pickles to a few hundred bytes;
    each process loads the model once, when the first batch comes. An engine that runs one worker per core
    needs `threads=1`. With device="cuda" a worker needs a GPU, and `threads` processes split words for it;
    "auto" is decided here, not in the workers.

    >>> predict = Predictor("reader", dtype="float16")
    >>> predict({"text": ["Good soup."]})["embedding"].shape
    (1, 384)
    """

    def __init__(
        self, model: str | Path, *, embed: str | None = None, dtype: str = "float32",
        text: str | None = None, text2: str | None = None, probabilities: bool = False, top: int = 1,
        words: bool = False, aspects: bool = False, abstain_below: float | None = None,
        precision: str | None = None, threads: int | None = None, device: str = "cpu",
    ) -> None:  # fmt: skip
        bundled = is_reader(model)
        if embed is None and is_reader_folder(model):
            embed = "vector"
        check_choice("embed", embed, (None, *EMBED))
        check_choice("dtype", dtype, DTYPES)
        if embed and (probabilities or words or aspects or top != 1 or abstain_below is not None):
            fault = "probabilities, top, words, aspects and abstain_below are of labels, not embeddings"
            raise conflict(fault)
        if abstain_below is not None:
            check_threshold(abstain_below)
        self.model = str(model) if bundled else str(Path(model).absolute())
        self.sha256 = model_sha256(model)
        self.embed, self.dtype, self.text, self.text2 = embed, dtype, text, text2
        self.answers: dict[str, Any] = {
            "probabilities": probabilities, "top": top, "words": words, "abstain_below": abstain_below,
            **({"aspects": True} if aspects else {}),  # not otherwise: jobs begun before there were any go on
        }  # fmt: skip
        self.threads, (self.device, self.precision) = threads, choose_device(device, precision)

    def __repr__(self) -> str:
        return f"Predictor({self.model!r}, embed={self.embed!r})"

    def __call__(self, batch: Any) -> Any:
        """The batch with the new columns."""
        names = column_names(batch)
        columns = self.columns_of(names, "the batch")
        read = [name for name in (columns.text, columns.text2) if name is not None]
        texts = [as_texts(texts_of(as_list(batch[name], name)), f"column {name!r}") for name in read]
        return add_columns(batch, self._added(texts, names))

    def columns_of(self, names: list[str], where: str) -> Columns:
        """The columns to read among these, guessed where they were not given; `where` is for errors."""
        pair = self.embed is None and self._on_cpu().loaded.pair
        return choose_columns(where, self.text, None, self.text2, need_label=False, pair=pair, names=names)

    @property
    def loaded(self) -> Any:
        """The model, loaded once in each process; another one at its path is an error."""
        how: DeviceOptions = {"precision": self.precision, "threads": self.threads, "device": self.device}
        key = self.model, self.sha256, *how.values()
        with _loading:
            if key not in _loaded:
                _loaded[key] = load_exactly(self.model, self.sha256, **how)
            return _loaded[key]

    def _on_cpu(self) -> Predictor:
        """Itself without a GPU, to look at the model: the machine that plans the work may have none."""
        if self.device == "cpu":
            return self
        other = copy.copy(self)
        other.device, other.precision = "cpu", "float32"
        return other

    @property
    def settings(self) -> dict[str, Any]:
        """What the new columns depend on, but for the table: as JSON."""
        kind = {"embed": self.embed, "dtype": self.dtype} if self.embed else self.answers
        columns = {"text": self.text, "text2": self.text2}
        return {"model_sha256": self.sha256, "precision": self.precision, **kind, **columns}

    @property
    def batch_rows(self) -> int:
        """How many texts to pass at a time, so that memory stays bounded."""
        rows, size = _BATCH[self.device]
        if self.embed is None:
            return rows
        return max(64, min(rows, size // (4 * self._embed([""]).size)))

    def _added(self, texts: Sequence[list[str]], names: list[str]) -> Added:
        """The columns for texts, or for their pairs with second ones."""
        if self.embed:
            return _vector_columns(self._embed(texts[0]), self.dtype)
        kept = KeptColumns(names, ["text"] * len(names))
        found = Predictions(self.loaded, "parquet", kept, **self.answers)
        rows = [Row(text, None, *seconds) for text, *seconds in zip(*texts, strict=True)]
        parts = [values for _, values in found.stream(rows)]
        return [(column, [v for part in parts for v in part[k]]) for k, column in enumerate(found.columns)]

    def _embed(self, texts: list[str]) -> np.ndarray:
        """(texts, size), or (texts, r, 2u)."""
        model = self.loaded
        if self.embed == "vector" and isinstance(model, Reader):
            return np.asarray(model.encode(texts))
        return np.asarray(model.embed(texts, flat=self.embed == "vector"))


def _vector_columns(values: np.ndarray, dtype: str) -> Added:
    column = NewColumn("embedding", "vector")
    if dtype != "int8":
        return [(column, values.astype(dtype))]
    rounded, scales = quantise(values.reshape(len(values), math.prod(values.shape[1:])))
    return [
        (column, rounded.reshape(values.shape)), (NewColumn("embedding_scale", "probability"), scales[:, 0]),
    ]  # fmt: skip


def column_names(batch: Any) -> list[str]:
    if _is_arrow(batch):
        return list(batch.column_names)
    if isinstance(batch, Mapping):
        return list(batch)
    if hasattr(batch, "columns") and hasattr(batch, "index"):
        return [str(name) for name in batch.columns]
    known, kind = "an Arrow table, a pandas frame or a dict of columns", type(batch).__name__
    raise LimelightError(f"a batch must be {known}, not {kind}", code="batch-type")


def add_columns(batch: Any, added: Added) -> Any:
    """A batch of the same kind: the new columns first, then its own, renamed where a name is taken."""
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
    """An Arrow column from (rows, ...): lists of fixed size, one in another for each further dimension."""
    import pyarrow as pa

    found = pa.array(np.ascontiguousarray(values).reshape(-1))
    for size in reversed(values.shape[1:]):
        found = pa.FixedSizeListArray.from_arrays(found, size)
    return found
