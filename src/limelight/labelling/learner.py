"""What a labelling learns: a model of the labels so far, what to label next, how far it is.

Next comes a text that is uncertain, unlike those labelled, and not like the others chosen. But texts that
were chosen because they are hard, or accepted because they are easy, say little about how accurate the model
is on the others. The rows of a table have a random order (vectors.py), and every second label is of the next
text in it. The texts at its start, all labelled, are a fair sample of the table, less those that were chosen
by the model: of the texts that are left, that is. Each is judged by the model that was fitted without it. The
share that is right has Wilson's interval.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..tables.rows import Row
from ..text.labels import readable
from ..text.metrics import wilson
from ..text.reasons import with_reasons
from .answers import Answers
from .groups import Grouping
from .refit import Fitted, Prior, Space, describe, fit, is_correct
from .state import Said, State
from .vectors import TextVectors

AROUND = 4000  # texts that distances are measured by
GROUP_WEIGHT = 1.5  # texts that all those accepted at once count for: they are alike, and some are wrong
ENOUGH = 10  # labels of a class: with fewer, it needs more even if they are all right
MAX_MODEL_WEIGHT = 10.0  # texts of each class, at most, that a model to start from counts for
MODEL_TEXTS = 500  # that it is asked about
MARK_WEIGHT = 0.5  # texts that marked words count for
RANDOM_SHARE = 0.5  # of the labels: those of texts drawn at random
CANDIDATES = 2000  # texts that are looked at for each choice
MEASURED = 2000  # texts by which it is seen how they vary
DIRECTIONS = 64
NOISE = 0.3  # of a label, where a text's vector has the length 1
MIN_SAMPLE = 10  # texts in the sample, before there is a range
MIN_SAMPLE_FOR_SHARE = 50  # with fewer, one share would say more than is known
MAX_WIDTH = 0.2  # of the interval: a wider one may hide that the model is poor


class Need(NamedTuple):
    """A class that needs more labels, and why."""

    name: str
    labels: int
    drawn: int  # of its texts, drawn at random
    right: int  # of these, for the model that was fitted without each
    confused_with: str | None


class Point(NamedTuple):
    """The estimated accuracy after so many labels."""

    labels: int
    accuracy: float | None
    low: float
    high: float


class Progress(NamedTuple):
    """How far the labelling is. Of few texts drawn at random there is a range, and `accuracy` is None."""

    labelled: int
    skipped: int
    unsure: int
    total: int
    read: int  # texts that the reader has read so far
    by_class: dict[str, int]
    accuracy: float | None
    low: float | None  # a 95% interval
    high: float | None
    drawn: int  # labels of randomly drawn texts, on which the estimate rests
    history: list[Point]
    needs: list[Need]  # the neediest first
    advice: str  # one sentence
    near: float | None = None  # of ordered classes: answers that are at most one class away
    estimate: str = "accuracy: too few texts drawn at random yet"  # the figures above, in words


class Learner:
    """Fits the labels, and answers for it. `order` is the random order of the rows."""

    def __init__(
        self, vectors: TextVectors, keys: list[str], several: bool, ordered: bool = False, model: Any = None
    ) -> None:
        self.vectors, self.order, self.several, self.ordered = vectors, vectors.order, several, ordered
        self._rank = np.argsort(self.order)  # where each row stands in it
        self.is_stale = True
        self.space: Space | None = None
        self._around = Surroundings(np.zeros((0, 1)), np.zeros(0, int))
        self._grouping: Grouping | None = None
        self._grouping_lock = threading.Lock()
        self._looked = 0  # texts that `space` was made of
        self._keys, self._vectors = keys, dict[str, np.ndarray]()  # of descriptions and marked words
        self.fitted: Fitted | None = None
        self.history: list[Point] = []
        self._model, self._asked, self._says = model, 0, np.zeros((0, 0))
        self._collect(State(), {})

    def refit(self, state: State, numbers: Mapping[str, int], texts: Sequence[str]) -> None:
        moved = self._look_around()
        if not (self.is_stale or moved):
            return
        self.is_stale = False
        self._collect(state, numbers)
        self.fitted = None
        if self.space is not None and self.classes:
            prior = self._prior(state, texts)
            if len(self.rows) or prior[1].any():
                X, how = self.vectors.matrix[self.rows], dict[str, Any](several=self.several, prior=prior)
                more = self._marked(state, texts)
                self.fitted = fit(X, self.Y, self.space, weights=self.weights, more=more, **how)
        # After an undo, what came later is forgotten.
        self.history = [each for each in self.history if each.labels < len(self.rows)]
        if found := self._estimate():
            self.history.append(Point(len(self.rows), found.accuracy, found.low, found.high))

    def _look_around(self) -> bool:
        """Whether so many more texts were read that distances are to be measured again."""
        ready = min(self.vectors.ready, AROUND)
        if ready == self._looked or (ready < 2 * self._looked and ready < min(len(self.order), AROUND)):
            return False
        self._looked = ready
        self.space = Space.of(self.vectors.matrix[self.order[:ready]])
        self._around = Surroundings(self.vectors.matrix, self.order[:ready])
        return True

    def _collect(self, state: State, numbers: Mapping[str, int]) -> None:
        """The rows with labels, their classes, and which of them are of the random sample."""
        self.classes = list(state.classes)
        column = {name: k for k, name in enumerate(self.classes)}
        self.spoken = np.zeros(len(self.order), bool)
        self.status, self.by_class = Counter[str](), dict.fromkeys(self.classes, 0)  # of all, read or not
        found = list[tuple[int, Said]]()
        for key, said in state.holding():
            if (row := numbers.get(key)) is None:
                continue
            self.spoken[row] = True
            self.status[said.status] += 1
            for name in said.labels or ():
                self.by_class[name] += 1
            if said.labels is not None and (self.vectors.is_read[row] or not self.vectors.reader):
                found.append((row, said))
        together = Counter(said.event for _, said in found)
        self.rows = np.array([row for row, _ in found], int)  # that have a label and have been read
        weights = [min(1, GROUP_WEIGHT / together[said.event]) for _, said in found]
        self.weights = np.array(weights, np.float32)
        self.Y = np.zeros((len(found), len(self.classes)), np.float32)
        for place, (_, said) in enumerate(found):
            self.Y[place, [column[name] for name in said.labels or ()]] = 1
        unspoken = self._rank[~self.spoken]
        first = unspoken.min() if len(unspoken) else len(self.order)
        by_model = np.array([said.chosen == "auto" for _, said in found], bool)
        self.drawn = (self._rank[self.rows] < first) & ~by_model  # (rows,): of the random sample

    def _prior(self, state: State, texts: Sequence[str]) -> Prior:
        """What the descriptions of the classes say, or their names, and what the model says."""
        assert self.space is not None
        vectors = np.zeros((len(self.classes), self.vectors.matrix.shape[1]), np.float32)
        sentences = [state.descriptions.get(name) or readable(name) for name in self.classes]
        for k, sentence in enumerate(sentences):
            if sentence:
                vectors[k] = self._vector(sentence)
        sums, counts = describe(vectors, self.space.centre)
        for name, (total, count) in self._taught(texts).items():
            if name in self.classes:
                k = self.classes.index(name)
                sums[k], counts[k] = sums[k] + total, counts[k] + count
        return sums, counts

    def _taught(self, texts: Sequence[str]) -> dict[str, Prior]:
        """For each class of the model the sum of the vectors that it gives to it, and what it counts for."""
        if self._model is None or self.space is None:
            return {}
        rows = self.order[: min(self.vectors.ready, MODEL_TEXTS)]
        if len(rows) > self._asked:
            self._asked, self._says = len(rows), self._model.predict_proba([texts[row] for row in rows])
        P, D = self._says, self.vectors.matrix[self.order[: self._asked]] - self.space.centre
        total = np.maximum(P.sum(axis=0), 1e-9)
        counts = np.minimum(total, MAX_MODEL_WEIGHT)
        sums = (P.T @ D) * (counts / total)[:, None]
        return {str(name): (sums[k], counts[k]) for k, name in enumerate(self._model.labels)}

    def _marked(self, state: State, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray, float] | None:
        """The marked words of texts, as further texts of the same label (text/reasons.py)."""
        places, vectors = [], []
        for place, row in enumerate(self.rows):
            if spans := state.spans(self._keys[row], texts[row]):
                found = with_reasons(Row(texts[row], reasons=([list(span) for span in spans], None))).reasons
                places += [place] * len(found)
                vectors += [self._vector(text) for text, _ in found]
        return (np.array(places), np.array(vectors), MARK_WEIGHT) if places else None

    def _vector(self, text: str) -> np.ndarray:
        if text not in self._vectors:
            self._vectors[text] = self.vectors.encode([text])[0]
        return self._vectors[text]

    def _estimate(self) -> Estimate | None:
        if self.fitted is None:
            return None
        return estimate(is_correct(self.fitted.left_out, self.Y, self.several)[self.drawn])

    def choose(self, is_open: np.ndarray, how: str, count: int) -> list[tuple[int, str]]:
        """At most `count` rows that are open (texts,), each with how it was chosen."""
        in_order = self.order[is_open[self.order]]
        found: list[tuple[int, str]] = []
        drawn, said = int(self.drawn.sum()), len(self.rows)
        for number in range(min(count, len(in_order))):
            if how == "random" or self.fitted is None or drawn <= RANDOM_SHARE * (said + number):
                found.append((int(in_order[len(found)]), "random"))
                drawn += 1
        left = in_order[len(found) :]
        left = left[self.vectors.is_read[left]][:CANDIDATES]
        if self.fitted is not None and len(found) < count and len(left):
            X = self.vectors.matrix[left]
            useful = uncertain(self.fitted.logits(X), self.several)
            useful *= self._around.gain(left, useful, self.rows)
            found += [(int(left[k]), "auto") for k in pick(useful, X, count - len(found))]
        return found

    def grouping(self, texts: Sequence[str], count: int | None) -> Grouping:
        """The groups of all texts read so far. It may take seconds, and needs none of what is learnt."""
        with self._grouping_lock:
            if self._grouping is None or self._grouping.asked != (self.vectors.ready, count):
                rows = self.order[: self.vectors.ready]
                self._grouping = Grouping.of(self.vectors.matrix, rows, texts, count)
            return self._grouping

    def answers(self) -> Answers:
        """What the model says now, whatever is learnt later."""
        return Answers(self.fitted, tuple(self.classes), self.vectors, self.several)

    def progress(self) -> Progress:
        found, status = self._estimate(), self.status
        drawn = int(self.drawn.sum())
        progress = Progress(
            status["label"], status["skip"], status["unsure"], len(self.order), self.vectors.ready,
            dict(self.by_class), found and found.accuracy, found and found.low, found and found.high, drawn,
            list(self.history), self._needs(), advise(found, drawn),
        )  # fmt: skip
        if found is None or self.fitted is None:
            return progress
        if not self.ordered or found.accuracy is None:
            return progress._replace(estimate=str(found))
        answers, labels = (each[self.drawn].argmax(axis=1) for each in (self.fitted.left_out, self.Y))
        near = float((np.abs(answers - labels) <= 1).mean())
        return progress._replace(near=near, estimate=f"{found}; {near:.0%} at most one class away")

    def _needs(self) -> list[Need]:
        """Classes by how many more labels would help: those with few labels, then those often mistaken."""
        if self.fitted is None:
            return [Need(name, self.by_class[name], 0, 0, None) for name in self.classes]
        P = self.fitted.left_out
        found = []
        for k, name in enumerate(self.classes):
            own = np.flatnonzero((self.Y[:, k] > 0) & self.drawn)
            right = (P[own, k] > 0) if self.several else (P[own].argmax(axis=1) == k)
            wrong = Counter(P[own[~right]].argmax(axis=1).tolist()) if not self.several else Counter()
            other = self.classes[wrong.most_common(1)[0][0]] if wrong else None
            found.append(Need(name, self.by_class[name], len(own), int(right.sum()), other))
        return sorted(found, key=lambda each: (each.right + 1) / (each.drawn + 2) * min(each.labels, ENOUGH))


def uncertain(logits: np.ndarray, several: bool) -> np.ndarray:
    """(n,), from 0 to 1: how close the two best classes are; with several labels, one to a half."""
    if several:
        gap = np.abs(logits).min(axis=1)
    elif logits.shape[1] < 2:
        return np.ones(len(logits))
    else:
        top = np.partition(logits, -2, axis=1)
        gap = top[:, -1] - top[:, -2]
    return np.asarray(2 / (1 + np.exp(np.minimum(gap, 50))))


class Surroundings:
    """What a label tells about the texts around it: the matrix of all vectors, and `rows` that stand for all.

    Labels are taken for noisy measurements of a linear function of the directions in which texts vary most.
    Each reduces the variance of the function's value elsewhere, in closed form: more where there are many
    texts like it, less where some of them have a label already.
    """

    def __init__(self, matrix: np.ndarray, rows: np.ndarray) -> None:
        self._matrix = matrix
        rows = rows[:MEASURED]
        self._centre = matrix[rows].mean(axis=0) if len(rows) else np.zeros(matrix.shape[1], np.float32)
        D = matrix[rows] - self._centre
        values, directions = np.linalg.eigh(D.T @ D)
        self._basis = directions[:, np.argsort(-values)[:DIRECTIONS]].astype(np.float32)
        self._places = np.full((len(matrix), self._basis.shape[1]), np.nan, np.float32)

    def gain(self, rows: np.ndarray, weights: np.ndarray, labelled: np.ndarray) -> np.ndarray:
        """(rows,): by how much a label of each would reduce the variance at all of them, by their weights."""
        D, L = self._places_of(rows), self._places_of(labelled)
        V = np.linalg.inv(np.eye(D.shape[1]) + L.T @ L / NOISE).astype(np.float32)  # the variance so far
        DV = D @ V
        S = (D * weights[:, None].astype(np.float32)).T @ D
        return np.asarray(((DV @ S) * DV).sum(axis=1) / (NOISE + (DV * D).sum(axis=1)))

    def _places_of(self, rows: np.ndarray) -> np.ndarray:
        """(rows, directions), each computed once."""
        new = rows[np.isnan(self._places[rows, 0])]
        self._places[new] = (self._matrix[new] - self._centre) @ self._basis
        return np.asarray(self._places[rows])


def pick(useful: np.ndarray, X: np.ndarray, count: int) -> list[int]:
    """The most useful `count` texts X (n, size), each less useful the more it is like one picked before."""
    left, found = useful.astype(np.float64), list[int]()
    while len(found) < min(count, len(left)):
        if found:
            left *= 1 - np.clip(X @ X[found[-1]], 0, 1) ** 2
            left[found] = -1
        found.append(int(np.argmax(left)))
    return found


class Estimate(NamedTuple):
    """How many of the texts drawn at random are right, and the 95% interval of the accuracy."""

    right: int
    drawn: int
    low: float
    high: float

    @property
    def accuracy(self) -> float | None:
        """The share that is right; None of a sample that is too small for one number."""
        return self.right / self.drawn if self.drawn >= MIN_SAMPLE_FOR_SHARE else None

    def __str__(self) -> str:
        share = "" if self.accuracy is None else f"{self.accuracy:.0%}, "
        interval = f"{self.low:.0%} to {self.high:.0%} with 95% confidence"
        return f"accuracy {share}{interval}, from {self.drawn:,} texts drawn at random"


def estimate(correct: np.ndarray) -> Estimate | None:
    """From a fair sample: whether each text is right (n,)."""
    n, right = len(correct), int(np.sum(correct))
    return Estimate(right, n, *wilson(right / n, n)) if n >= MIN_SAMPLE else None


def advise(found: Estimate | None, drawn: int) -> str:
    if found is None:
        more = MIN_SAMPLE - drawn
        gives = f"{more} more texts drawn at random give" if more > 1 else "1 more text drawn at random gives"
        return f"Go on: {gives} a first estimate."
    if found.accuracy is None or found.high - found.low > MAX_WIDTH:
        return "The estimate is rough: go on, more texts drawn at random are needed."
    return "Where the curve no longer rises, more labels add little."
