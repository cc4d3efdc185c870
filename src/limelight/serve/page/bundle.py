"""A page as one HTML text: its modules and style as they are, blocks of data, and what it says
of a model. Its Content-Security-Policy lets nothing run but that one script."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from ...reading import captions
from ...reading.html import render_style, templates
from ...runtime.decided import attribution_method
from ...runtime.model import Model
from ...text.questions import class_values
from ...text.tasks import find_task
from .packed_arrays import to_text

if TYPE_CHECKING:
    from starlette.responses import HTMLResponse

FOLDERS = ("", "../explorer/page/", "../labelling/page/")
SHEET = "page.css.jinja"
TEXTS = (
    ("The soup was cold, but the waiter was lovely.",),
    ("I have never been so bored in my life!",),
    ("Not bad at all.",),
)  # fmt: skip
PAIRS = (
    ("A man is playing a guitar on stage.", "A musician performs."),
    ("Two children play in the snow.", "The children are asleep."),
)  # fmt: skip


def render_page(
    start: str, title: str, blocks: Mapping[str, bytes], in_file: bool, body: str = "explorer.html",
    sheet: str = SHEET,
) -> str:  # fmt: skip
    """The page that starts with a module; `blocks` are for its script to read, by id."""
    allowed = policy(start) if in_file else ""  # a server sends it as a header
    written = {name: to_text(content) for name, content in blocks.items()}
    page = templates(__package__).get_template("explorer.html.jinja")
    parts = {"script": bundle(start), "style": style(sheet), "policy": allowed, "body": page_text(body)}
    return page.render(title=title, blocks=written, **parts)


def page_answer(start: str, title: str, body: str = "explorer.html", sheet: str = SHEET) -> HTMLResponse:
    """A page as a server answers with it; nothing of models or texts is in it: its script asks for them."""
    from starlette.responses import HTMLResponse  # a page that is a file needs no server

    page = render_page(start, title, {}, in_file=False, body=body, sheet=sheet)
    allowed = f"{policy(start, served=True, sheet=sheet)}; frame-ancestors 'none'"
    return HTMLResponse(page, headers={"content-security-policy": allowed})


def name_of(model: Model) -> str:
    kind = "Numbers" if find_task(model.task).is_number else "A classifier"
    return str(model.facts.get("name") or f"{kind} of {'pairs of ' if model.pair else ''}texts")


def about_model(model: Model) -> dict[str, Any]:
    return {
        "name": name_of(model),
        "task": model.task,
        "labels": list(map(str, model.labels)),
        "values": class_values(model.labels),
        "thresholds": None if model.thresholds is None else model.thresholds.tolist(),
        "pair": model.pair,
        "rows": model.embedding_shape[0],
        "rowNames": model.row_names,
        "noAspect": captions.NO_ASPECT,
        "rowsLine": captions.rows_line(model.embedding_shape[0]),
        "examples": PAIRS if model.pair else TEXTS,
        "dotted": "are not in the model's vocabulary: all of them are read as the same unknown word.",
        "notes": [
            captions.method(attribution_method(model.recipe.model, model.pair), model.task),
            model.trust or captions.NOT_MEASURED,
        ],
    }


@cache
def policy(start: str, served: bool = False, sheet: str = SHEET) -> str:
    """What the page may do: run its script, use its style, save pictures; ask its server, if `served`."""
    contents = (content.encode() for content in (bundle(start), style(sheet)))
    code, sheet = (b64encode(sha256(content).digest()).decode() for content in contents)
    runs, asks = ("", "connect-src 'self'; ") if served else (" 'wasm-unsafe-eval'", "")
    return (
        f"default-src 'none'; script-src 'sha256-{code}'{runs}; style-src 'sha256-{sheet}'; "
        f"img-src blob:; {asks}base-uri 'none'; form-action 'none'"
    )


@cache
def style(sheet: str = SHEET) -> str:
    return str(render_style(templates(__package__), sheet))


@cache
def page_text(name: str) -> str:
    """A file of a page; no two of them have the same name."""
    places = (files(__package__).joinpath(f"{folder}{name}") for folder in FOLDERS)
    return next(place for place in places if place.is_file()).read_text("utf-8")


_IMPORT = re.compile(r'^import (\{[^}]*\}) from "[./\w]*/(\w+)\.js"$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:class|function|const) (\w+))", re.MULTILINE)


@cache
def bundle(start: str) -> str:
    """A module and all that it imports as one script, each import a function that returns its exports."""
    order, parts = list[str](), list[str]()
    _visit(start, order)
    for name in order[:-1]:
        exports = ", ".join(_EXPORT.findall(page_text(f"{name}.js")))
        parts.append(f"const ${name} = (() => {{\n{_with_constants(name)}\nreturn {{ {exports} }}\n}})()")
    return "\n".join([*parts, _with_constants(start)])


def _visit(name: str, order: list[str]) -> None:
    for _, needed in _IMPORT.findall(page_text(f"{name}.js")):
        _visit(needed, order)
    if name not in order:
        order.append(name)


def _with_constants(name: str) -> str:
    return _EXPORT.sub("", _IMPORT.sub(r"const \1 = $\2", page_text(f"{name}.js")))
