"""What the labelling page shows of the labels' health, and of what is new in a batch of texts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ...labelling.health import Health, check
from ...labelling.news import News, find_news
from ...labelling.session import LabelSession

SHOWN = 100  # findings of each kind
UNSURE = 10  # texts the model is least sure of


class LabelChecks:
    """`seen` are texts that were there before, if these are a new batch."""

    def __init__(self, session: LabelSession, seen: Sequence[str] = ()) -> None:
        self._session, self._seen = session, list(seen)

    @property
    def has_news(self) -> bool:
        """Whether there is something to compare with."""
        return bool(self._seen)

    def health(self) -> dict[str, Any]:
        """Suspected labels, duplicates with different labels and confused classes, of the labels so far."""
        session = self._session
        said = {row: session.said(row) for row in np.flatnonzero(session.vectors.is_read).tolist()}
        rows = [row for row, each in said.items() if each and each.labels and len(each.labels) == 1]
        labels = [said[row].labels[0] for row in rows]  # type: ignore[union-attr,index]
        found = check(
            [session.texts[row] for row in rows], labels, reader=session.vectors.reader,
            vectors=session.vectors.matrix[rows],
        )  # fmt: skip
        return self._plain(found, rows)

    def _plain(self, found: Health, rows: list[int]) -> dict[str, Any]:
        texts = self._session.texts
        suspects = [
            {**each._asdict(), "row": rows[each.row], "text": texts[rows[each.row]]}
            for each in found.suspects[:SHOWN]
        ]
        duplicates = [
            {**each._asdict(), "row": rows[each.row], "row2": rows[each.row2],
             "text": texts[rows[each.row]], "text2": texts[rows[each.row2]]}
            for each in found.duplicates[:SHOWN]
        ]  # fmt: skip
        confused = [each._asdict() for each in found.confused]
        return {
            "checked": len(rows), "suspects": suspects, "duplicates": duplicates, "confused": confused,
            "count": len(found.suspects), "about": found.about_suspects, "remarks": found.remarks,
        }  # fmt: skip

    @cached_property
    def _news(self) -> News:
        vectors = self._session.vectors
        vectors.wait()
        return find_news(self._seen, vectors.encode(self._seen), self._session.texts, vectors.matrix)

    def news(self) -> dict[str, Any]:
        """What is new in the texts, and what the model is unsure of."""
        texts, news = self._session.texts, self._news
        groups = [
            {**each._asdict(), "examples": [texts[row] for row in each.rows[:3]]} for each in news.groups
        ]
        strange = [
            {"row": row, "text": texts[row], "similarity": similarity} for row, similarity in news.strange
        ]
        return {"words": news.words, "gone": news.gone, "groups": groups, "strange": strange,
                "seen": len(self._seen), "unsure": self._unsure()}  # fmt: skip

    def _unsure(self) -> list[dict[str, Any]]:
        session = self._session
        rows = [row for row in range(len(session.texts)) if session.said(row) is None]
        if not rows or len(session.classes) < 2:
            return []
        top = session.probabilities(rows).max(axis=1)
        order = [k for k in np.argsort(top, kind="stable")[:UNSURE] if np.isfinite(top[k])]
        return [{"row": rows[k], "text": session.texts[rows[k]], "sure": float(top[k])} for k in order]
