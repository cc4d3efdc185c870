"""Embeddings as a column of a table, or of any number of texts as one array: .npy or .safetensors."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np

from ..errors import LimelightError, no_rows
from ..storage.array_files import ArrayWriter
from ..storage.files import atomic_file
from ..tables import WRITABLE
from ..tables.cells import KeptColumns, NewColumn
from ..tables.rows import Row, text_columns
from ..tables.writers import write_table
from .model import Model
from .reader import Reader

Embed = Callable[[Iterable[str]], Iterator[np.ndarray]]


def embed_by(model: Model | Reader, flat: bool, vector: bool, progress: bool) -> Embed:
    """A function from texts to their embeddings, some at a time."""
    if vector:
        if not isinstance(model, Reader):
            fault = '--vector works with readers only, such as "reader"; a model gives M'
            raise LimelightError(fault, code="reader-only")
        return lambda texts: model.encode_stream(texts, show_progress_bar=progress)

    def embed(texts: Iterable[str]) -> Iterator[np.ndarray]:
        for M in model.embed_stream(texts, progress=progress):
            yield M.reshape(len(M), -1) if flat else M

    return embed


def write_embedded(
    out: str | Path, form: str, rows: Iterable[Row], kept: KeptColumns, embed: Embed, overwrite: bool
) -> tuple[int, ...]:
    pending, count, shape = deque[Row](), 0, ()
    texts, _ = text_columns(rows, False, pending.append)
    with write_table(out, form, [NewColumn("embedding", "vector")], kept, overwrite=overwrite) as writer:
        for part in embed(texts):
            writer.append([pending.popleft() for _ in part], [part])
            count, shape = count + len(part), part.shape[1:]
        if not count:
            raise no_rows("no texts to embed")
    return (count, *shape)


def write_array(path: str | Path, parts: Iterable[np.ndarray], overwrite: bool = True) -> tuple[int, ...]:
    """Stack arrays with rows of one shape into one file and return the shape of the whole."""
    tensor = "embeddings" if array_suffix(path) == ".safetensors" else None
    with atomic_file(path, overwrite) as file:
        writer = ArrayWriter(file, np.float32, tensor)
        for part in parts:
            if len(part):
                writer.append(part)
        if not writer.shape[0]:
            raise no_rows("no texts to embed")
        writer.finish()
    return writer.shape


def array_suffix(path: str | Path) -> str:
    """The suffix of a name, which must be that of a file that holds one array."""
    found, known = Path(path).suffix.lower(), (".npy", ".safetensors")
    if found not in known:
        fault = f"{path} must end in {' or '.join(known)}, or be a table: {WRITABLE}"
        raise LimelightError(fault, code="table-format")
    return found
