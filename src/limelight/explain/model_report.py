"""What a report says of one model: figures, what decided, and what an accuracy stands beside."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log1p, sqrt
from typing import NamedTuple
from unicodedata import category

import numpy as np

from ..reading.captions import NO_LABEL
from ..reading.pieces import printable
from ..reading.reading import AnyReading, Reading
from ..runtime.card import with_baselines
from ..runtime.model import Model
from ..text.metrics import LabelMetrics, Metrics, wilson
from ..text.tasks import find_task
from ..text.word_kinds import is_function_word

FEW_CLASSES = 12  # up to which each class has more words and examples
BINS = 10  # of confidence
MAX_TERMS = (10, 6)  # telling words and phrases of each of few classes, and of many
MAX_PHRASE = 3  # words
MIN_PHRASE_TEXTS = 2
PHRASE_GAIN = 1.25  # a phrase must weigh this many times what any part of it does
# of a phrase's weight, that its first and last words must have by themselves, and more if they are grammar
EDGE_SHARE, GRAMMAR_SHARE = 0.1, 0.33
INSIDE_SHARE = 0.5  # a word that is this often within a listed phrase is not listed again
LISTED_FROM = 0.05  # of the first one's score; less hardly counts
EXAMPLES, AROUND, AROUND_CHARACTERS = 2, 6, 60  # snippets of a term, words and characters on each side

# English words of little meaning beside those of grammar
_SMALL = frozenset(["there", "here", "how", "why", "what", "when", "where", "just", "very"])
Term = tuple[str, ...]  # words, their case folded


class Snippet(NamedTuple):
    before: str
    term: str
    after: str


class TellingTerm(NamedTuple):
    term: str
    texts: int  # in which it occurs, among those given the class
    right: int  # of these, how many have the class in the data
    weight: float  # what it adds to a text, on average
    examples: tuple[Snippet, ...]


class DecidedText:
    """A text, or both texts of a pair, with how much each word supports one class."""

    def __init__(self, sides: Sequence[tuple[Reading, np.ndarray]], right: bool) -> None:
        self.sides, self.right = sides, right

    @cached_property
    def words(self) -> list[list[str]]:
        """Of each side, with their case folded."""
        return [[word.casefold() for word in reading.words] for reading, _ in self.sides]

    @cached_property
    def sums(self) -> list[list[float]]:
        """Of each side: the weights, summed from the start."""
        return [[0.0, *np.cumsum(weights, dtype=float).tolist()] for _, weights in self.sides]

    def terms(self, length: int) -> Iterator[tuple[Term, float, int, int]]:
        """Each term of so many words with its weight, its side and its first word."""
        for side, (words, sums) in enumerate(zip(self.words, self.sums, strict=True)):
            for first in range(len(words) - length + 1):
                last = first + length
                yield tuple(words[first:last]), sums[last] - sums[first], side, first

    def snippet(self, side: int, first: int, length: int) -> Snippet:
        """The term that begins with this word, and some words around it."""
        reading = self.sides[side][0]
        text, offsets, end = reading.text, reading.offsets, first + length
        start, stop = int(offsets[first][0]), int(offsets[end - 1][1])
        low = max(int(offsets[max(first - AROUND, 0)][0]), start - AROUND_CHARACTERS)
        high = min(int(offsets[min(end + AROUND, len(offsets)) - 1][1]), stop + AROUND_CHARACTERS)
        cut = ("…" if text[:low].strip() else "", "…" if text[high:].strip() else "")
        return Snippet(cut[0] + text[low:start], text[start:stop], text[stop:high] + cut[1])


class _Measured(NamedTuple):
    texts: int
    right: int
    weight: float  # mean

    @property
    def score(self) -> float:
        return self.weight * log1p(self.texts)


def telling_terms(texts: Sequence[DecidedText], most: int) -> list[TellingTerm]:
    """The terms that decided most for a class, by their mean weight and how many of its texts they are in."""
    found: dict[Term, _Measured] = {}
    for length in range(1, MAX_PHRASE + 1):
        found |= _measure(texts, length, found)
    chosen = _choose(found, most)
    examples = _examples(texts, chosen)
    pairs = [(found[term], tuple(examples[term])) for term in chosen]
    return [TellingTerm(shown[0].term.casefold(), *each, shown) for each, shown in pairs]


def _measure(
    texts: Sequence[DecidedText], length: int, known: Mapping[Term, _Measured]
) -> dict[Term, _Measured]:
    """All terms of a length that are in enough texts; of phrases, those whose parts are."""
    counts: dict[Term, list[float]] = defaultdict(lambda: [0, 0, 0.0])
    for text in texts:
        weights: dict[Term, float] = defaultdict(float)
        for term, weight, _, _ in text.terms(length):
            if length == 1 or (term[:-1] in known and term[1:] in known):
                weights[term] += weight
        for term, weight in weights.items():
            entry = counts[term]
            entry[0] += 1
            entry[1] += text.right
            entry[2] += weight
    least = MIN_PHRASE_TEXTS if length > 1 or len(texts) >= 5 else 1
    least = max(least, round(sqrt(len(texts)) / 4))  # more of many, so that chance lists none
    return {
        term: _Measured(int(n), int(right), total / n)
        for term, (n, right, total) in counts.items()
        if n >= least and (length > 1 or any(map(str.isalnum, term[0])) or _is_symbol(term[0]))
    }


def _choose(found: Mapping[Term, _Measured], most: int) -> list[Term]:
    chosen: list[Term] = []
    for term in sorted(found, key=lambda term: (-found[term].score, term)):
        least = LISTED_FROM * found[chosen[0]].score if chosen else 0.0
        if len(chosen) == most or found[term].score <= least:
            break
        if _has_meaning(term) and _says_more(term, found) and not _is_listed(term, chosen, found):
            chosen.append(term)
    return chosen


def _says_more(term: Term, found: Mapping[Term, _Measured]) -> bool:
    """Whether a phrase weighs more than any part of it, and does not only add a neutral word at its edge."""
    if len(term) == 1:
        return True
    weight = found[term].weight
    parts = [found[part].weight for part in _parts(term)]
    edges = [(found[(word,)].weight, not _has_meaning((word,))) for word in (term[0], term[-1])]
    carried = all(each >= (GRAMMAR_SHARE if small else EDGE_SHARE) * weight for each, small in edges)
    return carried and weight >= PHRASE_GAIN * max(parts)


def _parts(term: Term) -> list[Term]:
    lengths = range(1, len(term))
    return [term[first : first + n] for n in lengths for first in range(len(term) - n + 1)]


def _is_listed(term: Term, chosen: Sequence[Term], found: Mapping[Term, _Measured]) -> bool:
    """Whether it is mostly within, or says hardly more than, a term that is already listed."""
    for other in chosen:
        if term in _parts(other) and found[other].texts >= INSIDE_SHARE * found[term].texts:
            return True
        if len(term) > 1 and len(other) == len(term) and {term[1:], term[:-1]} & {other[1:], other[:-1]}:
            return True  # two phrases that overlap
    return False


def _examples(texts: Sequence[DecidedText], chosen: Sequence[Term]) -> dict[Term, list[Snippet]]:
    """Of each term the snippets with the largest weight, right ones first, no two alike."""
    places: dict[Term, list[tuple[bool, float, int, int, int]]] = {term: [] for term in chosen}
    for length in {len(term) for term in chosen}:
        for number, text in enumerate(texts):
            for term, weight, side, first in text.terms(length):
                if term in places:
                    places[term].append((not text.right, -weight, number, side, first))
    found: dict[Term, list[Snippet]] = {}
    for term, where in places.items():
        snippets: dict[Snippet, None] = {}
        for _, _, number, side, first in sorted(where):
            snippets[texts[number].snippet(side, first, len(term))] = None
            if len(snippets) == EXAMPLES:
                break
        found[term] = list(snippets)
    return found


def _is_symbol(word: str) -> bool:
    """Such as an emoji, which is more than punctuation."""
    return any(category(c) == "So" for c in word)


def _has_meaning(term: Term) -> bool:
    """Whether a word of it is more than grammar."""
    return any(_is_symbol(word) or not (word in _SMALL or is_function_word(word)) for word in term)


@dataclass(frozen=True, eq=False)
class Calibration:
    """Texts by the confidence of their predictions, in ten bins of equal width."""

    counts: np.ndarray  # (bins,)
    confidence: np.ndarray  # (bins,): the mean; 0 in an empty bin
    accuracy: np.ndarray  # (bins,): the share of correct predictions; 0 in an empty bin

    @property
    def error(self) -> float:
        """The expected calibration error: |accuracy - confidence|, averaged over the texts."""
        return float((self.counts * np.abs(self.accuracy - self.confidence)).sum() / self.counts.sum())


def measure_calibration(confidence: np.ndarray, correct: np.ndarray) -> Calibration:
    """Bin the confidence (texts,) of each prediction, and whether it is correct (texts,)."""
    confidence = confidence.astype(float)
    bins = np.clip(np.ceil(confidence * BINS).astype(int) - 1, 0, BINS - 1)
    counts = np.bincount(bins, minlength=BINS)
    means = [np.bincount(bins, each, BINS) / np.maximum(counts, 1) for each in (confidence, correct)]
    return Calibration(counts, *means)


@dataclass(frozen=True, eq=False)
class ModelReport:
    name: str
    model: Model
    metrics: Metrics | LabelMetrics  # of the texts that are `measured`, like all figures
    calibration: Calibration
    correct: np.ndarray  # (texts,): whether the prediction is right, all labels of it
    confidence: np.ndarray  # (texts,)
    measured: np.ndarray  # (texts,) bool: those that it did not learn from, if there are any
    sample: np.ndarray  # (read,): the numbers of the texts that the following are of
    readings: list[AnyReading]
    truth: np.ndarray  # (read,): indices of the true classes; of several labels (read, labels)
    trust: str  # how far to trust what decided, in a sentence; empty if it could not be measured

    @cached_property
    def predicted(self) -> np.ndarray:
        """(read,): indices of the predicted classes; of several labels, of the surest."""
        return np.array([each.target for each in self.readings])

    @property
    def several(self) -> bool:
        return find_task(self.model.task).has_several

    @property
    def accuracy(self) -> float:
        return float(self.correct[self.measured].mean())

    @property
    def baselines(self) -> dict[str, float]:
        """Accuracies to compare with: of simple models, and what training measured on its held-out rows."""
        if self.several:
            return {}
        true = self.metrics.counts[2]
        largest, share = self.labels[int(true.argmax())], float(true.max() / self.metrics.rows)
        found = {"This model": self.accuracy, f"Always the largest class, here “{largest}”": share}
        for name, figures in with_baselines(self.model.facts).items():
            value = figures.get("accuracy") if isinstance(figures, Mapping) else None
            if isinstance(value, float):
                found[f"At training, on {name}"] = value
        return found

    @property
    def interval(self) -> tuple[float, float]:
        return wilson(self.accuracy, self.metrics.rows)

    def true_label(self, read: int) -> str:
        if not self.several:
            return self.labels[int(self.truth[read])]
        return ", ".join(self.labels[k] for k in np.flatnonzero(self.truth[read])) or NO_LABEL

    @property
    def labels(self) -> list[str]:
        return [printable(str(label)) for label in self.model.labels]

    @cached_property
    def telling(self) -> list[list[TellingTerm]]:
        """For each class, the words and phrases that decided for it."""
        given: list[list[DecidedText]] = [[] for _ in self.labels]
        for reading, truth in zip(self.readings, self.truth, strict=True):
            for label, weights in _decided(reading):
                right = bool(truth[label] if self.several else truth == label)
                given[label].append(DecidedText(list(zip(reading.sides, weights, strict=True)), right))
        most = MAX_TERMS[len(self.labels) > FEW_CLASSES]
        return [telling_terms(each, most) for each in given]


def _decided(reading: AnyReading) -> Iterator[tuple[int, list[np.ndarray]]]:
    """Each class that a text is given, and for each side how much every word supports it."""
    sides, target = reading.sides, reading.target
    is_given = not find_task(sides[0].task).has_several or reading.label in reading.answer
    supporting = [side.supporting for side in sides]
    if is_given and all(weights is not None for weights in supporting):
        yield target, [np.asarray(weights) for weights in supporting]
    for further in zip(*(side.decided_further for side in sides), strict=True):
        yield further[0][0], [weights for _, weights in further]
