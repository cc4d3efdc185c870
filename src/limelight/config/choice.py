"""Which preset, and how many epochs, where the user names none: as much as a table of that size is worth.

The choice depends on the data alone, so that it is the same on every machine; docs/train.md says what was
measured.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from typing import Any, NamedTuple

from .presets import AUTO, preset
from .recipe import ModelRecipe, Recipe

BASE = "small"  # what the user's options are given for
# Who gives one of these has chosen:
SETTLED = {"start", "vectors", *(field.name for field in dataclasses.fields(ModelRecipe))}
MIN_CLASS_ROWS = 20  # rows per class; with fewer, fine-tuning takes time and gains nothing
# Words, punctuation marks too, up to which `small` takes that many:
FOUR_EPOCHS, TWO_EPOCHS, ONE_EPOCH = 60_000, 150_000, 700_000
LONG, ONE_EPOCH_LONG = 100, 400_000  # of texts of so many words; 3,000 hotel reviews have 610,000 in all
FAST_TWO_EPOCHS = 25_000_000  # and `fast`, which takes all that is more
SHORTER = {"learning_rate": 1e-3}  # fewer epochs at twice the rate are as accurate
# Seconds of one core: for all that is not training, and for a million words there and back (Sapphire Rapids).
FIXED, PER_MILLION = 8.0, {"bilstm": 360.0, "words": 16.0}
MAX_CORES = 2  # more of them help little
# Training from a reader on at least so many rows ends with a fit of the classifier, to so many at most.
MIN_ROWS_LAST, MAX_ROWS_LAST = 5000, 30_000


class Size(NamedTuple):
    """What is known of the training rows once they are read."""

    rows: int
    words: int  # that are learnt from, punctuation marks too
    classes: int  # 0: numbers
    pair: bool = False


class Choice(NamedTuple):
    """A preset, and the options that differ from it."""

    preset: str
    options: dict[str, Any] = {}  # noqa: RUF012

    def apply(self, recipe: Recipe, given: Collection[str] = ()) -> Recipe:
        """The recipe `small`, some of whose options the user has `given`, as it was chosen.

        Who gives the epochs has them at the preset's rate: only fewer ones are as good at twice of it.
        """
        before, own = preset(BASE).values(), preset(self.preset).values()
        changed = {name: value for name, value in own.items() if value != before[name]}
        changed |= {} if "epochs" in given else self.options
        return recipe.override(**{name: value for name, value in changed.items() if name not in given})


def given_to_choose(preset: str, given: Collection[str]) -> list[str] | None:
    """The options that the user has given, if these leave the choice open.

    >>> given_to_choose("auto", ["seed"]), given_to_choose("small", []), given_to_choose("auto", ["rows"])
    (['seed'], None, None)
    """
    return sorted(given) if preset == AUTO and not SETTLED & set(given) else None


def choose(size: Size) -> Choice:
    """The choice for a table of this size.

    >>> choose(Size(rows=100, words=1_200, classes=10))
    Choice(preset='small', options={'epochs': 0})
    >>> choose(Size(rows=18_700, words=380_000, classes=5))
    Choice(preset='small', options={'learning_rate': 0.001, 'epochs': 1})
    >>> choose(Size(rows=3_000, words=610_000, classes=5))
    Choice(preset='fast', options={'learning_rate': 0.001, 'epochs': 2})
    """
    if size.rows < MIN_CLASS_ROWS * size.classes and not size.pair:
        return Choice(BASE, {"epochs": 0})
    if size.words <= FOUR_EPOCHS:
        return Choice(BASE)
    one_epoch = ONE_EPOCH_LONG if size.words >= LONG * size.rows else ONE_EPOCH
    if size.words <= one_epoch or size.pair:  # how two texts relate, words alone do not tell
        return Choice(BASE, {**SHORTER, "epochs": 2 if size.words <= TWO_EPOCHS else 1})
    return Choice("fast", {**SHORTER, "epochs": 2 if size.words <= FAST_TWO_EPOCHS else 1})


def describe(recipe: Recipe, choice: Choice, size: Size, cores: int) -> str:
    """What was chosen; how long that takes on so many idle cores, if any, and what else takes another time.

    >>> size = Size(rows=1_000, words=200_000, classes=5)
    >>> print(describe(choose(size).apply(preset("small")), choose(size), size, cores=2))
    1,000 rows of 200 words: chose preset small, epochs 1, about 55 s; small as it comes 3 min, fast 15 s
    """
    rows = f"{size.rows:,} rows of {size.words / max(size.rows, 1):,.0f} words"
    chosen = f"{rows}: chose preset {choice.preset}, epochs {recipe.training.epochs}"
    if not cores:
        return chosen
    own = _time(recipe, size, cores)
    named = {"small as it comes": BASE} | ({} if size.pair else {"fast": "fast"})
    times = {what: _time(preset(name), size, cores) for what, name in named.items()}
    others = ", ".join(f"{what} {time}" for what, time in times.items() if time != own)
    return f"{chosen}, about {own}; {others}" if others else f"{chosen}, about {own}"


def _time(recipe: Recipe, size: Size, cores: int) -> str:
    """The first and the last classifier need no way back: a third of an epoch each."""
    passes = recipe.training.epochs + 1 / 3
    if size.rows >= MIN_ROWS_LAST and recipe.training.epochs and size.classes and not size.pair:
        passes += min(1, MAX_ROWS_LAST / size.rows) / 3
    work = passes * size.words / 1e6 * PER_MILLION[recipe.model.encoder]
    seconds = FIXED + work / min(cores, MAX_CORES)
    if seconds < 90:
        return f"{5 * max(round(seconds / 5), 1)} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{round(minutes / 60)} h"
