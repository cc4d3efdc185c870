"""What a fitted model says about texts: answers, and the texts that it is sure or unsure of."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .refit import Fitted, task_of
from .state import Labels
from .vectors import TextVectors


class Word(NamedTuple):
    """A word of an answer: where it stands in the text, and how much it adds to the probability."""

    text: str
    start: int
    end: int
    weight: float


class Answer(NamedTuple):
    """What the model says about a text. Show it after the person has chosen, unless they ask."""

    row: int
    label: str | None  # the most probable class; None before there is anything to go by
    labels: Labels  # with several labels a text, all that are more likely than not; else the one
    probabilities: dict[str, float]  # the most probable first
    words: list[Word]  # in the order of the text
    told: Labels | None  # what the person said


@dataclass(frozen=True, eq=False)
class Answers:
    """Those of one fit, which stay the same whatever is learnt later: they need no lock."""

    fitted: Fitted | None
    classes: tuple[str, ...]
    vectors: TextVectors
    several: bool

    def probabilities(self, rows: Sequence[int] | np.ndarray) -> np.ndarray:
        """(rows, classes), in the order of `classes`; nan for texts not read yet."""
        rows = np.asarray(rows, int)
        found = np.full((len(rows), len(self.classes)), np.nan)
        if self.fitted is not None:
            read = self.vectors.is_read[rows]
            found[read] = self.fitted.probabilities(self.vectors.matrix[rows[read]])
        return found

    def confident(self, rows: Sequence[int], above: float, label: str | None) -> list[int]:
        """Rows whose answer is at least so probable, the surest first."""
        if self.fitted is None:
            return []
        P = self.probabilities(rows)
        if label is not None:
            k = self.classes.index(label)
            sure = np.where(P.argmax(axis=1) == k, P[:, k], -1) if not self.several else P[:, k]
        else:
            sure = P.max(axis=1)
        sure = np.nan_to_num(sure, nan=-1)
        order = np.argsort(-sure, kind="stable")
        return [rows[k] for k in order if sure[k] >= above]

    def similar(self, rows: Sequence[int], to: int | str) -> list[int]:
        """Rows that are read, the most similar first."""
        query = self.vectors.encode([to])[0] if isinstance(to, str) else self.vectors.matrix[to]
        read = [row for row in rows if self.vectors.is_read[row]]
        order = np.argsort(-(self.vectors.matrix[read] @ query), kind="stable")
        return [read[k] for k in order]

    def sample(self, rows: Sequence[int], count: int) -> list[int]:
        """Rows to check before all are accepted: the least certain ones and others, half and half."""
        if self.fitted is None or len(rows) <= count:
            return list(rows[:count])
        P = np.nan_to_num(self.probabilities(rows), nan=0)
        least = [rows[k] for k in np.argsort(P.max(axis=1), kind="stable")[: count // 2]]
        others = [row for row in rows if row not in least]
        return least + others[:: max(1, len(others) // (count - len(least)))][: count - len(least)]

    def answer(self, row: int, text: str, told: Labels | None) -> Answer:
        if self.fitted is None:
            return Answer(row, None, (), {}, [], told)
        (parts,) = self.vectors.reader.word_parts([text])
        logits = self.fitted.logits(parts.vector[None])[0].astype(np.float64)
        P = task_of(self.several).activate(logits[None])[0]
        order = np.argsort(-P, kind="stable")
        best = int(order[0])
        likely = [k for k in order if P[k] > 0.5] if self.several else [best]
        weights = parts.parts @ self._direction(self.fitted.W, logits, best) / self.fitted.temperature
        places = zip(parts.offsets.tolist(), weights.tolist(), strict=True)
        words = [Word(text[start:end], start, end, weight) for (start, end), weight in places]
        probabilities = {self.classes[k]: float(P[k]) for k in order}
        labels = tuple(self.classes[k] for k in likely)
        return Answer(row, self.classes[best], labels, probabilities, words, told)

    def _direction(self, W: np.ndarray, logits: np.ndarray, best: int) -> np.ndarray:
        """(size,): what speaks for the best class; against the others, unless there may be several."""
        if self.several or len(W) == 1:
            return np.asarray(W[best])
        others = task_of(False).activate(np.delete(logits, best)[None])  # also where the best is certain
        return np.asarray(W[best] - others[0] @ np.delete(W, best, axis=0))
