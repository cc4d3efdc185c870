"""From a table or a list of texts to the labelling page, behind the same guard as everything else."""

import secrets
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from starlette.applications import Starlette

from ...errors import LimelightError, name_taken, no_rows, tidy_os_errors
from ...labelling.journal import journal_of
from ...labelling.save import SEPARATOR
from ...labelling.session import LabelSession
from ...storage.json_file import parse_object
from ...tables.columns import choose_columns
from ...tables.rows import TableRows, is_missing
from ...tables.table import open_table
from ...tables.writers import require_format
from ..http.guard import guarded
from ..http.limits import Limits
from ..http.metrics import Metrics
from ..http.posts import Posts
from ..http.run import address_shown, configure, listen, run_one
from .labeller import Labeller, TableSaver, close

BODY = 2**24  # bytes of a request: a group may have a hundred thousand rows
START = "limelight"  # who adds the classes of the start: nobody's undo takes them back
TABLE = "table"  # who gave the labels that were there


def label(
    texts: str | Path | Sequence[str],
    out: str | Path,
    *,
    text: str | None = None,
    classes: Sequence[str] = (),
    descriptions: Mapping[str, str] | None = None,
    model: Any = None,
    reader: Any = "reader",
    by: str = "me",
    several: bool = False,
    ordered: bool = False,
    labels: str | None = None,
    view: str = "",
    port: int = 0,
    show: Callable[[str], object] | None = None,
) -> int:
    """Label texts in the browser until Ctrl-C; the number of rows written to `out`.

    `texts` is a table, whose column of texts is `text`, or a list of texts; rows without a text are skipped.
    What was labelled before into the same `out` is there again. `show` gets the address, with its token; by
    default it is printed and opened.

    `labels` is a column of labels that the table has already, to go on from or to correct. The page
    opens with a `view`, such as "check".

    >>> label("texts.csv", "labels.csv", text="text", classes=["good", "bad"])  # doctest: +SKIP
    """
    require_format(out)
    table, column, found = read_texts(texts, text)
    check_ours(out, table)
    session = start_session(
        found, out, classes=classes, descriptions=descriptions, model=model, reader=reader, by=by,
        several=several, ordered=ordered,
    )  # fmt: skip
    with closing(session), address_shown("labelling") as usual:
        if labels is not None and table is not None and column is not None:
            take_labels(session, table, column, labels)
        token = secrets.token_urlsafe(24)
        app = create_label_app(session, out, token=token, table=table, text=column)
        with listen("127.0.0.1", port) as listening:
            try:
                view = f"view={view}&" if view else ""
                (show or usual)(f"http://127.0.0.1:{listening.getsockname()[1]}/#{view}token={token}")
                run_one(configure(app), listening)
            finally:
                if (progress := session.progress()).low is not None:
                    print(progress.estimate, file=sys.stderr)
                count = close(app.state.labeller)
        return count


def create_label_app(
    session: LabelSession, out: str | Path, *, token: str | None = None, table: str | Path | None = None,
    text: str | None = None,
) -> Starlette:  # fmt: skip
    """An ASGI application with the page of a labelling; close `app.state.labeller` with `labeller.close`."""
    labeller = Labeller(session, Posts(Limits(body=BODY)), TableSaver(session, out, table, text))
    app = guarded(labeller.routes(), Metrics(None), token=token, hosts=(), log_requests=False)
    app.state.labeller = labeller
    return app


def read_texts(
    texts: str | Path | Sequence[str], text: str | None
) -> tuple[Path | None, str | None, list[str]]:
    """The table, if there is one, its column, and the texts."""
    if not isinstance(texts, str | Path):
        return None, None, list(texts)
    path = Path(texts)
    with open_table(path) as table:
        columns = choose_columns(table, text, need_label=False)
        return path, columns.text, [row.text for row in TableRows(table, columns, on_bad="skip")]


def start_session(
    texts: Sequence[str],
    out: str | Path,
    *,
    classes: Sequence[str] = (),
    descriptions: Mapping[str, str] | None = None,
    model: Any = None,
    **options: Any,
) -> LabelSession:
    """The labelling that goes into `out`, with its journal and the vectors of its texts beside it.

    Classes that are new are noted in the journal, so that the next start has them without naming them again.
    """
    if not texts:
        raise no_rows("there are no texts to label")
    if isinstance(model, str | Path):
        from ...runtime.model import Model

        model = Model.load(model)
    journal = journal_of(out)
    session = LabelSession(texts, model=model, journal=journal, cache=Path(f"{out}.vectors"), **options)
    with tidy_os_errors(f"cannot write {journal}"):
        journal.touch()  # by which the next start knows `out` even if nothing is said now
    known, about = session.every_class, descriptions or {}
    for name in dict.fromkeys([*classes, *about]):
        if name not in known:  # one that was renamed or removed does not come back
            session.add_class(name, about.get(name), by=START)
    return session


def take_labels(session: LabelSession, table: Path, text: str, column: str) -> None:
    """Start with the labels of a table, unless something was said about its texts already."""
    with open_table(table) as opened:
        columns = choose_columns(opened, text, need_label=False)
        given = [row.cells[0] for row in TableRows(opened, columns, on_bad="skip", further=[column])]
    rows: dict[tuple[str, ...], list[int]] = {}
    for row, cell in enumerate(given):
        labels = _labels_of(cell, session.several)
        if labels and session.said(row) is None:
            rows.setdefault(labels, []).append(row)
    for labels in sorted(rows):
        for name in labels:
            if name not in session.classes:
                session.add_class(name, by=START)
        session.accept(rows[labels], labels, chosen="picked", by=TABLE)


def _labels_of(cell: Any, several: bool) -> tuple[str, ...]:
    """The labels of a cell, as this labelling or another program wrote them; none if it is empty."""
    if several and isinstance(cell, str):
        cell = cell.split(SEPARATOR)
    cells = cell if several and isinstance(cell, list | tuple) else [cell]
    names = (str(each).strip() for each in cells if not is_missing(each))
    return tuple(dict.fromkeys(name for name in names if name))


def read_descriptions(path: str | Path) -> dict[str, str]:
    """A sentence for each class: a JSON object, or lines such as `rooms: about beds, noise and size`."""
    if Path(path).suffix == ".json":
        pairs = list(parse_object(Path(path).read_bytes(), str(path)).items())
    else:
        lines = [line for line in Path(path).read_text("utf-8").splitlines() if line.strip()]
        pairs = [(name.strip(), about.strip()) for name, _, about in (line.partition(":") for line in lines)]
    if not all(name and isinstance(about, str) and about for name, about in pairs):
        fault = f"{path} must have a line 'class: a sentence about it' for each class"
        raise LimelightError(fault, code="descriptions")
    return dict(pairs)


def check_ours(out: str | Path, table: Path | None) -> None:
    """Raise if the labels would replace the texts, or a file that no labelling wrote."""
    if table is not None and Path(out).exists() and Path(out).samefile(table):
        raise LimelightError(f"{out} is the table of texts; give another --out", code="same-file")
    if Path(out).exists() and not journal_of(out).exists():
        raise name_taken(f"{out} exists, and no labelling wrote it; give another --out")
