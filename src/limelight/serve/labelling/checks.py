"""What the labelling page shows of the labels' health."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...labelling.health import check
from ...labelling.session import LabelSession

SHOWN = 100  # findings of each kind


def check_labels(session: LabelSession) -> dict[str, Any]:
    """Suspected labels, duplicates with different labels and confused classes, of the labels so far."""
    said = {row: session.said(row) for row in np.flatnonzero(session.vectors.is_read).tolist()}
    rows = [row for row, each in said.items() if each and each.labels and len(each.labels) == 1]
    labels = [said[row].labels[0] for row in rows]  # type: ignore[union-attr,index]
    texts = [session.texts[row] for row in rows]
    found = check(texts, labels, reader=session.vectors.reader, vectors=session.vectors.matrix[rows])
    suspects = [
        {**each._asdict(), "row": rows[each.row], "text": texts[each.row]} for each in found.suspects[:SHOWN]
    ]
    duplicates = [
        {**each._asdict(), "row": rows[each.row], "row2": rows[each.row2],
         "text": texts[each.row], "text2": texts[each.row2]}
        for each in found.duplicates[:SHOWN]
    ]  # fmt: skip
    return {
        "checked": len(rows), "suspects": suspects, "duplicates": duplicates,
        "confused": [each._asdict() for each in found.confused],
        "count": len(found.suspects), "about": found.about_suspects, "remarks": found.remarks,
    }  # fmt: skip
