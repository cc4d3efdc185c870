"""Words that a model reads together: "not good" says something else than "not" and "good" do. No PyTorch.

The answer is read without one word, without the other, and without both. Where the words have nothing to do
with each other, it falls by the sum without both; what is left over is what they do together. This is looked
for among the few words that decided most and their neighbours, and between a negation and the words after it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, pairwise
from typing import Any

import numpy as np

from ..reading.pieces import Pieces, split_pieces
from ..reading.reading import AnyReading, JointWords, PairReading
from ..runtime.model import Model
from ..text.labels import Label
from ..text.questions import class_values
from ..text.tasks import find_task
from ..text.word_kinds import FUNCTION_WORDS, is_function_word
from .attribution import ReadTexts, as_model, count_words

MIN_JOINT = 0.1  # of a probability; of ordered classes, of half of the way from the first to the last
MIN_TIMES = 0.5  # as much as the larger of the two words alone
MAX_JOINT = 2  # pairs of words that are told of a text
MAX_WORDS = 1000  # of a longer text it is not looked for them: one of its words changes little
MAX_WORDS_IN_PAGE = 60  # a browser reads a text in its own time: about 20 times here
_STRONGEST, _NEGATIONS, _AFTER = 3, 3, 3  # words to look at; words after a negation
_NEGATING = {"not", "never", "no", "hardly", "barely", "without", "nothing", "neither", "nor", "cannot"}

_Pair = tuple[int, int]  # numbers of pieces


def joint_words(model: Model, reading: AnyReading) -> AnyReading:
    """The same reading with the words that the model reads together, as `joint`; one more call of the model.

    A number has no scale of its own to say what is much: the reading of a regression model stays as it is.
    So does that of a very long text.

    >>> joint_words(model, model.read("Not bad at all")).joint  # doctest: +SKIP
    (JointWords(first=(0, 1), second=(1, 2), without_first=0.04, without_second=0.09, without_both=0.31),)
    """
    model = as_model(model)
    is_number, is_long = find_task(reading.sides[0].task).is_number, count_words(reading) > MAX_WORDS
    if is_number or is_long or reading.sides[0].decided is None:
        return reading
    texts = [split_pieces(side) for side in reading.sides]
    pairs = [list(_candidates(text, side.decided)) for text, side in zip(texts, reading.sides, strict=True)]
    if not any(pairs):
        return reading
    both = zip(texts, reading.sides, strict=True)
    words = [list(pairwise([*text.firsts.tolist(), len(side.offsets)])) for text, side in both]
    fall, sides = _falls(model, reading, words, pairs), []
    for k, (side, of, some) in enumerate(zip(reading.sides, words, pairs, strict=True)):
        found = [JointWords(of[a], of[b], fall[k, a], fall[k, b], fall[k, a, b]) for a, b in some]
        sides.append(replace(side, joint=_strongest(found, _least(side.asked, side.labels))))
    return PairReading(*sides) if len(sides) == 2 else sides[0]


def page_rules(task: str, labels: Sequence[Label]) -> dict[str, Any]:
    """The words and limits, for a page that looks for them itself (serve/explorer/page/joint.js)."""
    least = None if find_task(task).is_number else _least(task, labels)
    return {
        "minJoint": MIN_JOINT, "minAnswer": least, "minTimes": MIN_TIMES, "maxJoint": MAX_JOINT,
        "maxWords": MAX_WORDS_IN_PAGE, "strongest": _STRONGEST, "negations": _NEGATIONS, "after": _AFTER,
        "negating": sorted(_NEGATING), "small": sorted(FUNCTION_WORDS),
    }  # fmt: skip


def _candidates(text: Pieces, decided: np.ndarray | None) -> Iterator[_Pair]:
    """Neighbours that may be read together, each pair once; small words between them do not count."""
    words = text.words
    places = [k for k, word in enumerate(words) if word and (negates(word) or not is_function_word(word))]
    weights = np.abs(text.weights(np.asarray(decided)))
    order = sorted(range(len(places)), key=lambda i: -weights[places[i]])[:_STRONGEST]
    negations = [i for i, k in enumerate(places) if negates(words[k])]
    found = [pair for i in order for pair in ((i - 1, i), (i, i + 1))]
    found += [(i, i + step) for i in negations[:_NEGATIONS] for step in range(1, _AFTER + 1)]
    for i, j in dict.fromkeys(found):
        if i >= 0 and j < len(places):
            yield places[i], places[j]


def negates(word: str) -> bool:
    word = word.lower().replace("’", "'")
    return word in _NEGATING or word.endswith("n't")


def _falls(
    model: Model, reading: AnyReading, words: list[list[_Pair]], pairs: list[list[_Pair]]
) -> dict[tuple[int, ...], float]:
    """How far the answer falls without pieces: by the number of the text, and those of one piece or a pair.

    `words` has where the words of each piece start and end.
    """
    starts, masks = (0, len(reading.sides[0].offsets)), dict[tuple[int, ...], np.ndarray]()
    for k, some in enumerate(pairs):
        for pieces in [*((piece,) for piece in chain(*some)), *some]:
            mask = masks[k, *pieces] = np.ones(count_words(reading), bool)
            for first, end in (words[k][piece] for piece in pieces):
                mask[starts[k] + first : starts[k] + end] = False
    (P,) = ReadTexts(model, [reading]).predict([np.array(list(masks.values()))], "")
    before = np.asarray(reading.sides[0].probabilities, dtype=float)
    falls = _answer(reading, before[None]) - _answer(reading, P.astype(float))
    return dict(zip(masks, falls.tolist(), strict=True))


def _answer(reading: AnyReading, P: np.ndarray) -> np.ndarray:
    """(texts,): what the picture explains, from probabilities (texts, classes)."""
    side, k = reading.sides[0], reading.target
    if side.versus is not None:
        return np.asarray(P[:, k] / np.maximum(P[:, k] + P[:, side.labels.index(side.versus)], 1e-30))
    is_mean = find_task(side.asked).is_ordered
    return np.asarray(P @ np.array(class_values(side.labels)) if is_mean else P[:, k])


def _least(task: str, labels: Sequence[Label]) -> float:
    if not find_task(task).is_ordered:
        return MIN_JOINT
    values = class_values(labels)
    return MIN_JOINT * (max(values) - min(values)) / 2


def _strongest(found: list[JointWords], least: float) -> tuple[JointWords, ...]:
    """The pairs with the most effect together, each word only once."""
    kept: list[JointWords] = []
    for each in sorted(found, key=lambda one: -abs(one.together)):
        alone = max(abs(each.without_first), abs(each.without_second))
        taken = {k for one in kept for k in one[:2]}
        if abs(each.together) >= max(least, MIN_TIMES * alone) and not taken & {each.first, each.second}:
            kept.append(each)
    return tuple(kept[:MAX_JOINT])
