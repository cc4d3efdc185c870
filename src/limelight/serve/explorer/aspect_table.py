"""What each row of data says about the aspects of a model, as arrays for the explorer's page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...aspects.sums import AspectSum
from ...runtime.model import Model
from ...text.questions import are_numbers
from ...text.tasks import find_task


@dataclass(frozen=True, eq=False)
class ExploredAspects:
    """For each row and aspect: the effect and the clause that carries it; the span of one that is not there
    is empty."""

    names: tuple[str, ...]
    unit: str  # of the effects: "stars", "points" or, of a number's own, "number"
    sums: np.ndarray  # (rows, 2): the bias, and the rest
    effects: np.ndarray  # (rows, aspects)
    clause_effects: np.ndarray  # (rows, aspects): of the clause alone
    spans: np.ndarray  # (rows, aspects, 2)

    def put(self, row: int, found: AspectSum) -> None:
        self.sums[row] = found.bias, found.rest
        for k, share in enumerate(found.aspects):
            if share.span is not None:
                self.effects[row, k], self.clause_effects[row, k] = share.effect, share.strongest.effect
                self.spans[row, k] = share.span

    def about(self) -> dict[str, Any]:
        return {"names": self.names, "unit": self.unit}

    def arrays(self) -> dict[str, np.ndarray]:
        return {
            "aspectSums": self.sums, "aspectEffects": self.effects,
            "clauseEffects": self.clause_effects, "clauseSpans": self.spans,
        }  # fmt: skip


def collect_aspects(model: Model, rows: int) -> ExploredAspects:
    """The aspects of a model, with room for this many rows."""
    names = tuple(aspect.name for aspect in model.aspects.enabled)
    effects, clause_effects = np.zeros((2, rows, len(names)), np.float32)
    spans = np.zeros((rows, len(names), 2), np.int32)
    unit = "stars" if are_numbers(model.labels) else "points"
    unit = "number" if find_task(model.task).is_number else unit
    return ExploredAspects(names, unit, np.zeros((rows, 2), np.float32), effects, clause_effects, spans)
