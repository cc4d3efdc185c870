"""What a labelling has learnt so far: the fitted model, and what it says about texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .choose import CANDIDATES, DRAWN, pick, uncertain
from .estimate import LEAST, estimate, expected_gain
from .groups import SAMPLE, distinguishing_words, find_centres, group_count
from .refit import Fitted, fit
from .state import Labels, State
from .vectors import TextVectors
from .views import Answer, Group, Need, Point, Progress, Word

EXAMPLES = 4


class Learner:
    """Fits the labels, and answers for it. `order` is the random order of the rows."""

    def __init__(
        self, vectors: TextVectors, order: np.ndarray, *, several: bool, ordered: bool, model: Any = None
    ) -> None:
        self.vectors, self.order, self.several, self.ordered = vectors, order, several, ordered
        self.is_stale = True
        self.classes: list[str] = []
        self.rows = np.zeros(0, int)  # that have a label and have been read
        self.Y = np.zeros((0, 0))
        self.fitted: Fitted | None = None
        self.history: list[Point] = []
        self.drawn = np.zeros(0, bool)  # (rows,): whether it is of the random sample
        self.spoken = np.zeros(len(order), bool)

    # ------------------------------------------------------------ fitting

    def refit(self, state: State, numbers: Mapping[str, int], texts: Sequence[str]) -> None:
        """Fit again if anything was said since."""
        if not self.is_stale:
            return
        self.is_stale = False
        self.classes = list(state.classes)
        column = {name: k for k, name in enumerate(self.classes)}
        self.spoken = np.zeros(len(self.order), bool)
        rows, labels = [], []
        for key in state.said:
            said, row = state.latest(key), numbers.get(key)
            if row is None or said is None:
                continue
            self.spoken[row] = True
            if said.labels is not None and (self.vectors.is_read[row] or not self.vectors.reader):
                rows.append(row)
                labels.append([column[name] for name in said.labels])
        self.rows = np.array(rows, int)
        self.Y = np.zeros((len(rows), len(self.classes)))
        for place, own in enumerate(labels):
            self.Y[place, own] = 1
        ended = np.flatnonzero(~self.spoken[self.order])
        prefix = self.order[: ended[0] if len(ended) else len(self.order)]
        self.drawn = np.isin(self.rows, prefix)
        self.fitted = None
        if self.vectors.reader and self.classes and (len(rows) or state.descriptions):
            self.fitted = fit(self.vectors.matrix[self.rows], self.Y, self._prior(state), self.several)
            self._note_history()

    def _prior(self, state: State) -> np.ndarray | None:
        if not state.descriptions:
            return None
        W = np.zeros((len(self.classes), self.vectors.matrix.shape[1]))
        known = [k for k, name in enumerate(self.classes) if name in state.descriptions]
        W[known] = self.vectors.encode([state.descriptions[self.classes[k]] for k in known])
        return W * 0.5

    def _correct(self) -> np.ndarray:
        """(rows,): whether the model finds the label of each text, when that text is left out."""
        assert self.fitted is not None
        if self.several:
            return np.asarray(((self.fitted.left_out > 0) == (self.Y > 0)).all(axis=1))
        return np.asarray(self.fitted.left_out.argmax(axis=1) == self.Y.argmax(axis=1))

    def _note_history(self) -> None:
        if self.drawn.sum() < LEAST:
            return
        point = Point(len(self.rows), *estimate(self._correct()[self.drawn]))
        self.history = [each for each in self.history if each.labels < point.labels] + [point]

    # ------------------------------------------------------------ choosing

    def choose(self, open_rows: set[int], how: str, count: int) -> list[tuple[int, str]]:
        """Rows, each with how it was chosen."""
        found: list[tuple[int, str]] = []
        is_open = np.zeros(len(self.order), bool)
        is_open[list(open_rows)] = True
        in_order = self.order[is_open[self.order]]
        if how == "random" or self.fitted is None or not len(self.rows):
            chosen = "random"
            return [(int(row), chosen) for row in in_order[:count]]
        drawn, said = int(self.drawn.sum()), len(self.rows)
        for _ in range(count):
            if drawn * DRAWN <= said and len(in_order):
                found.append((int(in_order[0]), "random"))
                in_order, drawn = in_order[1:], drawn + 1
            said += 1
        ready = in_order[self.vectors.is_read[in_order]][:CANDIDATES]
        if len(found) < count and len(ready):
            X = self.vectors.matrix[ready]
            useful = uncertain(self.fitted.probabilities(X), self.several)
            found += [(int(ready[k]), "auto") for k in pick(useful, X, count - len(found))]
        return found or [(int(row), "random") for row in in_order[:count]]

    # ------------------------------------------------------------ many texts

    def groups(
        self, texts: Sequence[str], labels: Mapping[int, Labels], open_rows: set[int], count: int | None
    ) -> list[Group]:
        """The groups of all texts read so far."""
        read = np.sort(self.order[: self.vectors.ready])
        if not len(read) or not self.vectors.reader:
            return []
        sample = self.order[: min(self.vectors.ready, SAMPLE)]
        centres = find_centres(self.vectors.matrix[sample], count or group_count(len(read)))
        likeness = self.vectors.matrix[read] @ centres.T.astype(np.float32)
        own = likeness.argmax(axis=1)
        names = distinguishing_words([texts[row] for row in read], own, len(centres))
        found = []
        for k in range(len(centres)):
            inside = np.flatnonzero(own == k)
            near = [int(read[i]) for i in inside[np.argsort(-likeness[inside, k], kind="stable")]]
            given = Counter(name for row in near for name in labels.get(row, ()))
            rows = [row for row in near if row in open_rows]
            found.append(Group(k, ", ".join(names[k]), names[k], rows, dict(given), near[:EXAMPLES]))
        found = sorted(
            (each for each in found if each.examples), key=lambda each: (-len(each.rows), each.number)
        )
        return [each._replace(number=number) for number, each in enumerate(found)]

    def confident(self, rows: Sequence[int], above: float, label: str | None) -> list[int]:
        """Rows whose answer is at least so probable, the surest first."""
        if self.fitted is None:
            return []
        P = self.probabilities(np.asarray(rows, int))
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
        """The least certain rows and others, half and half."""
        if self.fitted is None or len(rows) <= count:
            return list(rows[:count])
        P = np.nan_to_num(self.probabilities(np.asarray(rows, int)), nan=0)
        least = [rows[k] for k in np.argsort(P.max(axis=1), kind="stable")[: count // 2]]
        others = [row for row in rows if row not in least]
        return least + others[:: max(1, len(others) // (count - len(least)))][: count - len(least)]

    # ------------------------------------------------------------ answers

    def probabilities(self, rows: np.ndarray) -> np.ndarray:
        """(rows, classes); nan where nothing is known."""
        found = np.full((len(rows), len(self.classes)), np.nan)
        if self.fitted is not None:
            read = self.vectors.is_read[rows]
            found[read] = self.fitted.probabilities(self.vectors.matrix[rows[read]])
        return found

    def answer(self, row: int, text: str, told: Labels | None) -> Answer:
        """What the model says, and why."""
        if self.fitted is None:
            return Answer(row, None, (), {}, [], told)
        (parts,) = self.vectors.reader.word_parts([text])
        P = self.fitted.probabilities(parts.vector[None])[0]
        order = np.argsort(-P, kind="stable")
        best = int(order[0])
        labels = (
            tuple(self.classes[k] for k in order if P[k] > 0.5) if self.several else (self.classes[best],)
        )
        W = self.fitted.W
        direction = (
            W[best]
            if self.several
            else W[best] - np.delete(P, best) @ np.delete(W, best, axis=0) / max(1 - P[best], 1e-9)
        )
        weights = parts.parts @ direction / self.fitted.temperature
        words = [
            Word(text[start:end], int(start), int(end), float(weight))
            for (start, end), weight in zip(parts.offsets, weights, strict=True)
        ]
        return Answer(
            row, self.classes[best], labels, {self.classes[k]: float(P[k]) for k in order}, words, told
        )

    def progress(self, status: Counter[str]) -> Progress:
        """How far the labelling is."""
        by_class = dict(zip(self.classes, self.Y.sum(axis=0).astype(int).tolist(), strict=True))
        last = self.history[-1] if self.history and self.fitted is not None else None
        gain = expected_gain(self.history)
        return Progress(
            status["label"], status["skip"], status["unsure"], len(self.order), self.vectors.ready, by_class,
            last and last.accuracy, last and last.low, last and last.high, int(self.drawn.sum()),
            list(self.history), self._needs(), gain, False, "go on",
        )  # fmt: skip

    def _needs(self) -> list[Need]:
        counts = self.Y.sum(axis=0).astype(int)
        return sorted(
            (Need(n, int(c), None, None) for n, c in zip(self.classes, counts, strict=False)), key=lambda x: x.labels
        )
