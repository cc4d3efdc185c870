"""A page with the model inside: one HTML file that runs it from disk, without a network.

The model, and rows of data if they are given, are blocks of text that no browser takes for code.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path

from ...runtime.model import Model
from ...storage.files import check_output_file, write_file
from ..page.bundle import name_of, render_page
from ..page.packed_arrays import BITS
from .explored import ExploredData
from .packed_model import pack_model

MAX_FILE_BYTES = 5_000_000  # bytes of the file, which decide how many words it has, unless the caller does
START = "one_file"


def save_page(
    model: Model, path: str | Path, *, words: int | None = None, precision: str = "float16",
    data: ExploredData | None = None, overwrite: bool = False,
) -> int:  # fmt: skip
    """Write the model as one page, and return how many of its words are in it.

    The most frequent words are kept: `words` of them, or as many as fit into 5 MB; the page reads others as
    the most similar of these. `precision` is that of the weights: "float32" gives the probabilities of Python
    to 1e-5. The rows of `data` can be browsed in the page.

    >>> save_page(model, "page.html")  # doctest: +SKIP
    """
    check_output_file(path, overwrite)
    page, kept = build_page(model, words=words, precision=precision, data=data)
    write_file(path, page, overwrite)
    return kept


@dataclass(frozen=True)
class NotebookPage:
    """The page in a frame, as a notebook shows it; it stays in the saved notebook."""

    page: str
    height: int

    def __repr__(self) -> str:  # short: a notebook stores it next to the frame
        return f"<NotebookPage of {len(self.page) / 1e6:.1f} MB, shown in a notebook>"

    def _repr_html_(self) -> str:
        return (
            f'<iframe sandbox="allow-scripts allow-downloads" width="100%" height="{self.height}" '
            f'style="border:0" srcdoc="{escape(self.page)}"></iframe>'
        )


def explore_page(model: Model, *, words: int | None = None, height: int = 900) -> NotebookPage:
    """The page of `save_page` for a notebook, as `model.explore()` gives it.

    >>> explore_page(model)  # doctest: +SKIP
    """
    return NotebookPage(build_page(model, words=words)[0], height)


def build_page(
    model: Model, *, words: int | None = None, precision: str = "float16", data: ExploredData | None = None
) -> tuple[str, int]:
    """The text of the page, and how many words are in it."""
    blocks = {} if data is None else {"data": data.pack(in_page=True)}
    room = MAX_FILE_BYTES - len(render_page(START, name_of(model), blocks, in_file=True).encode()) - 1_000
    blocks["model"], kept = pack_model(model, words=words, most=room * BITS // 16, precision=precision)
    return render_page(START, name_of(model), blocks, in_file=True), kept
