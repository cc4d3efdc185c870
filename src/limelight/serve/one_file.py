"""A page with the model inside: one HTML file that runs it from disk, without a network.

The modules and the style of `page/` go into the file as they are; the model is a block of base64 that no
browser takes for code. Its Content-Security-Policy lets nothing run but that one script, and nothing load.
"""

from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from pathlib import Path

from ..errors import LimelightError
from ..reading.html import templates
from ..runtime.model import Model
from ..storage.files import atomic_file
from .packed_model import name_of, pack_model

LIMIT = 5_000_000  # bytes of the file, which decide how many words it has, unless the caller does
START = "one_file"


def save_page(
    model: Model,
    path: str | Path,
    *,
    words: int | None = None,
    precision: str = "float16",
    overwrite: bool = False,
) -> int:
    """Write the model as one page, and return how many of its words are in it.

    The most frequent words are kept: `words` of them, or as many as fit into 5 MB; the page reads others as
    unknown. `precision` is that of the weights: "float32" gives the probabilities of Python to 1e-5.

    >>> save_page(model, "page.html")  # doctest: +SKIP
    """
    path = Path(path)
    if path.is_dir():
        raise LimelightError(f"{path} is a folder; give a file name")
    if path.exists() and not overwrite:
        raise LimelightError(f"{path} already exists; choose another name or overwrite it")
    page, kept = build_page(model, words=words, precision=precision)
    with atomic_file(path) as file:
        file.write(page.encode())
    return kept


@dataclass(frozen=True)
class NotebookPage:
    """The page in a frame, as a notebook shows it; it stays in the saved notebook."""

    page: str
    height: int

    def _repr_html_(self) -> str:
        return (
            f'<iframe sandbox="allow-scripts allow-downloads" width="100%" height="{self.height}" '
            f'style="border:0" srcdoc="{escape(self.page)}"></iframe>'
        )


def show_page(model: Model, *, words: int | None = None, height: int = 900) -> NotebookPage:
    """The page of `save_page` for a notebook: the last line of a cell shows it.

    >>> show_page(model)  # doctest: +SKIP
    """
    return NotebookPage(build_page(model, words=words)[0], height)


def build_page(model: Model, *, words: int | None = None, precision: str = "float16") -> tuple[str, int]:
    """The text of the page, and how many words are in it."""
    script, style = bundle(START), _text("page.css")
    room = LIMIT - len(script.encode()) - len(style) - 8_000  # the rest of the page
    packed, kept = pack_model(model, words=words, most=room * 3 // 4, precision=precision)
    page = (
        templates(__package__)
        .get_template("one_file.html.jinja")
        .render(
            title=name_of(model),
            script=script,
            style=style,
            script_hash=_hash(script),
            style_hash=_hash(style),
            body=_text("explorer.html"),
            model=b64encode(packed).decode(),
        )
    )
    return page, kept


def _hash(content: str) -> str:
    return b64encode(sha256(content.encode()).digest()).decode()


# ---------------------------------------------------------------- modules


@cache
def _text(name: str) -> str:
    return (files(__package__) / "page" / name).read_text("utf-8")


_IMPORT = re.compile(r'^import (\{[^}]*\}) from "\./(\w+)\.js"$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:class|function|const) (\w+))", re.MULTILINE)


def bundle(start: str) -> str:
    """A module and all that it imports as one script, each of the others a function that returns its exports.

    >>> bundle("edits").startswith("// Words left out"), "const $dom = (() => {" in bundle("answer")
    (True, True)
    """
    order: list[str] = []
    _visit(start, order)
    return "\n".join([*map(_as_function, order[:-1]), _with_constants(start)])


def _visit(name: str, order: list[str]) -> None:
    """Add a module to `order` after those that it imports."""
    for _, needed in _IMPORT.findall(_text(f"{name}.js")):
        _visit(needed, order)
    if name not in order:
        order.append(name)


def _as_function(name: str) -> str:
    exports = ", ".join(_EXPORT.findall(_text(f"{name}.js")))
    return f"const ${name} = (() => {{\n{_with_constants(name)}\nreturn {{ {exports} }}\n}})()"


def _with_constants(name: str) -> str:
    return _EXPORT.sub("", _IMPORT.sub(r"const \1 = $\2", _text(f"{name}.js")))
