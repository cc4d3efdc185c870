"""Warnings about options that have no effect, such as rows with a max-pooled embedding."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, fields
from types import SimpleNamespace

from ..errors import warn
from .recipe import Recipe, TrainingRecipe, options

# What the classifier on a frozen reader has no use for:
IN_EPOCHS = {field.name for field in fields(TrainingRecipe)} - {"epochs", "class_weight", "precision", "seed"}


def unused_options(
    recipe: Recipe, given: Iterable[str], *, has_dev: bool = True, pairs: bool = True
) -> dict[str, str]:
    """The options in `given` that have no effect in this recipe, or on data of this kind, and why.

    An option that is switched off (0 or False) is not reported: its user gets what they asked for.

    >>> unused_options(Recipe().override(pooling="max", rows=8), ["pooling", "rows"])
    {'rows': "rows has no effect: it needs pooling 'self-attention'"}
    """
    values = recipe.values()
    state = SimpleNamespace(**values, has_dev=has_dev, pairs=pairs)
    unused: dict[str, str] = {}
    for name in given:
        if name in IN_EPOCHS and not recipe.training.epochs and values[name]:
            unused[name] = f"{name} has no effect: it needs epochs above 0"
        for needs in options()[name].metadata["needs"] if values[name] else ():
            if not needs.holds(state):
                unused.setdefault(name, f"{name} has no effect: it needs {needs.what}")
    return unused


def warn_unused(recipe: Recipe, given: Iterable[str], *, has_dev: bool = True, pairs: bool = True) -> None:
    """Warn about each unused option, and about frozen random word vectors, whoever chose them."""
    for line in unused_options(recipe, given, has_dev=has_dev, pairs=pairs).values():
        warn(line)
    has_words = recipe.text.vectors or recipe.text.start or recipe.training.fine_tune_words
    if recipe.model.table_size and not has_words:
        warn("the word vectors stay random: there are no pretrained ones, and fine_tune_words is off")


def warn_ignored(recipe: Recipe, encoded: Recipe) -> None:
    """Warn if a preset's text options differ from those that the data was encoded with, which apply."""
    was = asdict(encoded.text)
    given = {name: value for name, value in asdict(recipe.text).items() if value != "auto"}  # the data's own
    other = [name for name, value in given.items() if value != was[name]]
    if other:
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in other)
        warn(f"ignoring the preset's {flags}: the data is already encoded")
