"""The reader that an adapter was given."""

from __future__ import annotations

from pathlib import Path

from ..runtime.reader import Reader

AnyReader = str | Path | Reader


def open_reader(model: AnyReader) -> Reader:
    """A reader as it is, or that of a folder; "reader" is the bundled one.

    >>> open_reader("reader").get_sentence_embedding_dimension()
    384
    """
    if isinstance(model, Reader):
        return model
    return Reader.load() if str(model) == "reader" else Reader.load(model)
