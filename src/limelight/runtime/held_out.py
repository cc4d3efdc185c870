"""Which rows of a table figures are of: those that a model did not learn from, if it can tell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

NOT_KNOWN = (
    "{} does not know which rows it learnt from; of rows it did, figures are better than of new texts."
)
MEASURES = {"accuracy": "an accuracy of {:.1%}", "micro_f1": "a micro F1 of {:.3f}", "r2": "an R2 of {:.3f}"}


class HeldOut(NamedTuple):
    """Some rows, and which of them at least one of some models learnt from."""

    learnt: np.ndarray  # (rows,) bool
    unsure: tuple[str, ...]  # the models that cannot tell
    names: tuple[str, ...]  # of all models

    @classmethod
    def of(cls, learnt: Mapping[str, np.ndarray | None], rows: int) -> HeldOut:
        """From what each model of a name learnt from, (rows,), or None where it does not know."""
        known = [each for each in learnt.values() if each is not None]
        union = np.logical_or.reduce([np.zeros(rows, bool), *known])
        return cls(union, tuple(name for name, each in learnt.items() if each is None), tuple(learnt))

    @property
    def trained_on(self) -> int:
        return int(self.learnt.sum())

    @property
    def measured(self) -> np.ndarray:
        """(rows,) bool: the rows that figures are of: those not learnt from; all if there are none."""
        return np.ones(len(self.learnt), bool) if self.learnt.all() else ~self.learnt

    @property
    def is_mixed(self) -> bool:
        return 0 < self.trained_on < len(self.learnt)

    @property
    def of_what(self) -> str:
        """What figures are of, such as "rows it did not learn from"; empty if there is nothing to tell apart.

        >>> HeldOut.of({"hotels": np.array([True, False])}, 2).of_what
        '1 row not learnt from'
        """
        rows = int(self.measured.sum())
        if self.is_mixed:
            return f"{rows:,} row{'' if rows == 1 else 's'} not learnt from"
        return f"{rows:,} rows, all learnt from" if self.trained_on else ""

    @property
    def share(self) -> str:
        """How many were learnt from, if the models can tell; for rows without labels, where figures are none.

        >>> HeldOut.of({"hotels": np.array([True, False])}, 2).share
        '1 of these 2 rows was learnt from.'
        """
        return "" if self.unsure else f"{self._some_learnt}."

    @property
    def _some_learnt(self) -> str:
        were = "was" if self.trained_on == 1 else "were"
        return f"{self.trained_on:,} of these {len(self.learnt):,} rows {were} learnt from"

    def sentences(self, before: str = "") -> str:
        """What the figures are of; `before` says what was measured in training.

        >>> HeldOut.of({"hotels": np.array([True, True, False])}, 3).sentences()
        '2 of these 3 rows were learnt from; the figures are of the other one.'
        """
        rows, said = len(self.learnt), list[str]()
        others = rows - self.trained_on
        if self.is_mixed:
            rest = "one" if others == 1 else f"{others:,}"
            said.append(f"{self._some_learnt}; the figures are of the other {rest}.")
        elif self.trained_on:
            learnt = "This row was" if rows == 1 else f"All of these {rows:,} rows were"
            said.append(f"{learnt} learnt from: the figures say how well it remembers, not how good it is.")
            said += [before] if before else []
        elif not self.unsure:
            said.append("None of these rows was learnt from.")
        names = self.unsure if len(self.names) > 1 else ["This model"][: len(self.unsure)]
        return " ".join([*said, *(NOT_KNOWN.format(name) for name in names)])

    def to_dict(self) -> dict[str, Any]:
        """Plain values; `learnt_from` is None where a model cannot tell."""
        return {"of_rows": len(self.learnt), "learnt_from": None if self.unsure else self.trained_on}


def development_sentence(facts: Mapping[str, Any]) -> str:
    """What training measured on the rows that it held out, from the facts of a model; "" without any."""
    results = facts.get("results")
    dev = results.get("dev") if isinstance(results, Mapping) else None
    if not isinstance(dev, Mapping) or not isinstance(dev.get("rows"), int):
        return ""
    said = [form.format(dev[key]) for key, form in MEASURES.items() if isinstance(dev.get(key), int | float)]
    rows = f"{dev['rows']:,} development rows that it held out"
    return f"Training measured {said[0]} on {rows}." if said else ""
