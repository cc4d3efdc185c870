"""Labels of a journal whose texts the table no longer has: it was edited, or it is another one."""

from __future__ import annotations

from collections.abc import Container

from ..errors import LimelightError
from .journal import Journal
from .state import State


def texts_gone(journal: Journal, state: State, rows: Container[str]) -> dict[str, str]:
    """The labelled texts that are not among the table's `rows`, by their keys."""
    gone = [key for key, said in state.holding() if said.labels is not None and key not in rows]
    if lost := sum(key not in journal.texts for key in gone):
        fault = f"{journal.path} has labels of {lost:,} texts that are no longer in the table"
        older = "and as an earlier version wrote it, not the texts themselves"
        raise LimelightError(
            f"{fault}, {older}; put them back into the table, or give another --out", code="table-changed"
        )
    return {key: journal.texts[key] for key in gone}


def check_fits(journal: Journal, state: State, rows: Container[str], several: bool) -> dict[str, str]:
    """Raise if the labels so far cannot be of a table with these `rows`; the labelled texts it has not."""
    labelled = {key: said.labels for key, said in state.holding() if said.labels is not None}
    if not several and any(len(labels) != 1 for labels in labelled.values()):
        fault = f"{journal.path} has texts with several labels"
        raise LimelightError(f"{fault}; start with --several (in Python: several=True)", code="label-count")
    gone = texts_gone(journal, state, rows)
    if gone and len(gone) == len(labelled):
        fault = f"{journal.path} has labels of {len(gone):,} texts, and none of them is in this table"
        raise LimelightError(
            f"{fault}; give the table they came from, or another --out", code="table-changed"
        )
    return gone
