"""Ratings of aspects, where some texts have them: a ridge regression over what the model has read.

The network stays as it is, and so does its answer. For each aspect two vectors are fitted (`Rating`), one
over the mean row m = sum_t a_t h_t of M, one over the part of m that the aspect's own words give. Gram
matrices are summed over the texts, so any number of them takes the same memory.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..config.recipe import ModelRecipe
from ..errors import LimelightError
from ..network.outputs import EncodedText
from ..network.parts import rows_of, state_size
from ..tables.rows import Row
from ..text.labels import Label
from ..text.questions import are_numbers, class_values
from ..text.tasks import find_task
from .rating import RatedWords, Rating
from .seeds import Aspects
from .sums import own_words

MIN_RATED_TEXTS = 30  # texts with a rating of an aspect
MAX_TEXTS = 10_000  # more hardly help, and take their time to read
OWN = 2.0  # how much easier the own part is to use than the whole: docs/log/2026-11-17-aspects.md
STRENGTHS = (0.3, 1.0, 3.0, 10.0, 30.0)  # of the ridge, in texts of mean length
MAX_RATING = 1e6
HELD_OUT = 5  # every fifth rating chooses the strength


def rate_words(aspects: Aspects, text: EncodedText, recipe: ModelRecipe) -> dict[str, RatedWords]:
    """What the ratings of aspects have taught about each word of a text."""
    rated = [aspect for aspect in aspects.enabled if aspect.rating is not None]
    if not rated:
        return {}
    H = read_states(text, recipe)
    return {each.name: _rated(each.rating, H) for each in rated if each.rating is not None}


def _rated(rating: Rating, H: np.ndarray) -> RatedWords:
    return RatedWords(rating, float(rating.text @ H.sum(axis=0)), H @ rating.own)


def read_states(text: EncodedText, recipe: ModelRecipe) -> np.ndarray:
    """(n, 2u): a_t h_t, where a_t is what the rows read of the word on average."""
    rows = text.A[: rows_of(recipe).attention] if rows_of(recipe).attention else text.A
    return np.asarray(text.H * rows.mean(axis=0)[:, None])


def check_ratings(aspects: Aspects, recipe: ModelRecipe) -> None:
    """Raise unless the ratings fit the states of the model."""
    for aspect in aspects:
        if aspect.rating is not None and len(aspect.rating.text) != state_size(recipe):
            todo = "learn them again with --aspect-labels"
            raise LimelightError(
                f"the ratings of aspect {aspect.name!r} are of another model; {todo}", code="aspects"
            )


# ---------------------------------------------------------------- fitting


class Sums(NamedTuple):
    """All that ridge regression needs to know of some texts."""

    n: np.ndarray  # (): texts
    x: np.ndarray  # (f,)
    y: np.ndarray  # ()
    xx: np.ndarray  # (f, f)
    xy: np.ndarray  # (f,)
    yy: np.ndarray  # ()

    @classmethod
    def of(cls, X: np.ndarray, y: np.ndarray) -> Sums:
        return cls(*map(np.asarray, (len(y), X.sum(axis=0), y.sum(), X.T @ X, X.T @ y, y @ y)))

    def add(self, other: Sums) -> Sums:
        return Sums(*(a + b for a, b in zip(self, other, strict=True)))

    def fit(self, strength: float) -> tuple[np.ndarray, float]:
        """The weights (f,) and the bias."""
        mean, middle = self.x / self.n, self.y / self.n
        centred = self.xx - self.n * np.outer(mean, mean)
        ridge = strength * np.trace(centred) / self.n + 1e-9
        W = np.linalg.solve(centred + ridge * np.eye(len(mean)), self.xy - self.x * middle)
        return W, float(middle - mean @ W)

    def squared_error(self, W: np.ndarray, b: float) -> float:
        """The sum over the texts."""
        products = self.yy - 2 * (W @ self.xy + b * self.y)
        return float(products + W @ self.xx @ W + 2 * b * W @ self.x + self.n * b * b)


def fit_ratings(
    aspects: Aspects, texts: Iterable[EncodedText], ratings: Mapping[str, Sequence[float | None]],
    recipe: ModelRecipe,
) -> Aspects:  # fmt: skip
    """The aspects with what `ratings`, by name and for each of the texts one or None, teach about them."""
    names, size = [aspects.find(name).name for name in ratings], state_size(recipe)
    given = {name: np.array(each, dtype=float) for name, each in zip(names, ratings.values(), strict=True)}
    places = [[aspect.name for aspect in aspects.enabled].index(name) for name in names]
    held_out = {name: np.cumsum(~np.isnan(each)) % HELD_OUT == 0 for name, each in given.items()}
    parts: list[dict[str, Sums]] = [{}, {}]  # to fit; to choose the strength
    for number, X in enumerate(_features(aspects, texts, recipe, places)):
        for k, (name, each) in enumerate(given.items()):
            here = slice(number * BLOCK, number * BLOCK + len(X))
            y, held = each[here], held_out[name][here]
            for part, rows in zip(parts, (~held & ~np.isnan(y), held & ~np.isnan(y)), strict=True):
                found = Sums.of(X[rows, k].astype(float), y[rows])
                part[name] = part[name].add(found) if name in part else found
    strength = min(STRENGTHS, key=lambda each: _error(parts, each))
    fitted = {}
    for name, each in given.items():
        W, bias = parts[0][name].add(parts[1][name]).fit(strength)
        known = each[~np.isnan(each)]
        about = len(known), float(known.min()), float(known.max()), bias
        fitted[name] = Rating(*about, W[:size].astype(np.float32), (OWN * W[size:]).astype(np.float32))
    return aspects.with_ratings(fitted)


def _error(parts: list[dict[str, Sums]], strength: float) -> float:
    return sum(parts[1][name].squared_error(*sums.fit(strength)) for name, sums in parts[0].items())


BLOCK = 256  # texts


def _features(
    aspects: Aspects, texts: Iterable[EncodedText], recipe: ModelRecipe, places: list[int]
) -> Iterator[np.ndarray]:
    """(texts, aspects, 4u) for each block: the mean row, and what each aspect's own words give of it."""
    block: list[np.ndarray] = []
    for text in texts:
        H = read_states(text, recipe)
        own = own_words(aspects, text.text, text.offsets).by_word(len(H))[places] @ H
        whole = np.broadcast_to(H.sum(axis=0), own.shape)
        block.append(np.concatenate([whole, OWN * own], axis=1).astype(np.float32))
        if len(block) == BLOCK:
            yield np.stack(block)
            block = []
    if block:
        yield np.stack(block)


# ---------------------------------------------------------------- the ratings given

Ratings = Mapping[str, Sequence[float | None]]  # by aspect, for each text one or None


def rating_scale(task: str, labels: Sequence[Label]) -> tuple[float, float] | None:
    """The least and the largest rating: those of the classes, if they are numbers."""
    if find_task(task).is_number or not are_numbers(labels):
        return None
    values = class_values(labels)
    return min(values), max(values)


def parse_ratings(
    ratings: Mapping[str, Iterable[Any]], scale: tuple[float, float] | None
) -> dict[str, list[float | None]]:
    """Numbers; what is none, or below the scale, is missing. Above the scale is an error: it is another one.

    >>> parse_ratings({"rooms": ["4", "", 0, None]}, (1, 5))
    {'rooms': [4.0, None, None, None]}
    """
    found = {name: [_number(value) for value in each] for name, each in ratings.items()}
    if scale is None:
        return found
    for name, each in found.items():
        largest = max((x for x in each if x is not None), default=scale[1])
        if largest > scale[1]:
            what = f"the ratings of aspect {name!r} go up to {largest:g}, those of the texts to {scale[1]:g}"
            raise LimelightError(f"{what}; give both on one scale", code="rating-scale")
    return {name: [None if x is None or x < scale[0] else x for x in each] for name, each in found.items()}


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) and abs(number) <= MAX_RATING else None


def check_rated(aspects: Aspects, ratings: Ratings) -> None:
    """Raise unless these are ratings of aspects in use, and enough of them."""
    known = [aspects.find(name) for name in ratings]
    if twice := [each.name for k, each in enumerate(known) if each in known[:k]]:
        raise LimelightError(f"aspect {twice[0]!r} is rated twice", code="option-twice")
    for aspect, given in zip(known, ratings.values(), strict=True):
        if not aspect.enabled:
            off = f"aspect {aspect.name!r} is off; --on {aspect.name} uses it again"
            raise LimelightError(off, code="aspects")
        values = [x for x in given if x is not None]
        if len(values) < MIN_RATED_TEXTS or min(values) == max(values):
            same = ", all the same" if len(values) >= MIN_RATED_TEXTS else ""
            what = f"aspect {aspect.name!r} has {len(values)} ratings{same}"
            needed = f"at least {MIN_RATED_TEXTS} are needed, not all the same"
            raise LimelightError(f"{what}; {needed}", code="too-few-ratings")


def collect_ratings(
    rows: Iterable[Row], names: Sequence[str], scale: tuple[float, float] | None
) -> tuple[list[str], dict[str, list[float | None]]]:
    """The texts that have a rating, and for each aspect theirs, from the further cells of a table's rows.

    Of more than `MAX_TEXTS`, as many are drawn at random, the same each time.
    """
    rng, kept, count = random.Random(0), list[tuple[int, str, list[float | None]]](), 0
    for row in rows:
        parsed = parse_ratings({name: [x] for name, x in zip(names, row.cells, strict=True)}, scale)
        ratings = [parsed[name][0] for name in names]
        if all(each is None for each in ratings):
            continue
        count += 1
        if count <= MAX_TEXTS:
            kept.append((count, row.text, ratings))
        elif (place := rng.randrange(count)) < MAX_TEXTS:
            kept[place] = count, row.text, ratings
    kept.sort(key=lambda each: each[0])
    texts = [text for _, text, _ in kept]
    return texts, {name: [ratings[k] for _, _, ratings in kept] for k, name in enumerate(names)}
