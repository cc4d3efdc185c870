"""Pretrained words, of weights to start from or of files of vectors: in the vocabulary, and their vectors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from ..config.recipe import TextRecipe
from ..errors import LimelightError, warn
from .dataset import Split
from .labels import Label
from .tokenizer import SPECIAL, Tokenizer
from .vectors import Vectors, check_vectors, first_words, read_vectors, split_paths

LOW_COVERAGE = 0.5  # share of the words in the texts: pretrained vectors with less may be the wrong ones


class PretrainedWords(Protocol):
    """The words of weights that training starts from."""

    @property
    def labels(self) -> Sequence[Label]:
        """The classes of a trained model; a reader has none."""

    def join_words(self, words: Sequence[str], extra: int) -> list[str]:
        """The vocabulary for texts with these words."""

    def check_kind(self, pair: bool, name: str, task: str) -> None:
        """Raise if it cannot go on with pairs, or with single texts."""

    def vectors(self, vocabulary: Sequence[str]) -> Vectors:
        """A vector for every word of a vocabulary."""


def find_vector_files(recipe: TextRecipe, start: PretrainedWords | None, folder: str | Path) -> list[str]:
    """The files of vectors that the recipe names, checked before the long work; with a start, none."""
    if recipe.start and start is None:
        raise LimelightError(
            f"start is {recipe.start!r}; encode with the weights that it names", code="start-missing"
        )
    files = split_paths(recipe.vectors, folder) if recipe.vectors and not start else []
    check_vectors(files)
    return files


def add_words(
    tokenizer: Tokenizer, recipe: TextRecipe, start: PretrainedWords | None, files: Sequence[str]
) -> Tokenizer:
    """The tokenizer with the pretrained words that the recipe asks for."""
    own = tokenizer.vocabulary[len(SPECIAL) :]
    if start:
        return _with_words(tokenizer, start.join_words(own, recipe.extra_words))
    if files and recipe.extra_words:
        return _with_words(tokenizer, [*own, *first_words(files, recipe.extra_words)])
    return tokenizer


def find_vectors(
    tokenizer: Tokenizer,
    recipe: TextRecipe,
    start: PretrainedWords | None,
    files: Sequence[str],
    seed: int,
    progress: bool,
) -> Vectors | None:
    """A vector for each word, if any are pretrained."""
    if start:
        return start.vectors(tokenizer.vocabulary)
    if not files:
        return None
    missing = recipe.missing_vectors
    if missing == "neighbours":  # of recipes that older versions wrote
        warn("missing_vectors 'neighbours' is part of experiments/paper now: these words start from noise")
        missing = "noise"
    return read_vectors(files, tokenizer.vocabulary, seed=seed, missing=missing, progress=progress)


def vector_facts(found: Vectors, source: str, train: Split) -> dict[str, Any]:
    """How many words have a vector; a warning if few of the training texts' have one."""
    coverage = found.coverage(train)
    if coverage < LOW_COVERAGE:
        known = f"{source} has only {coverage:.0%} of the words in the training texts"
        warn(f"{known}; check its language, and whether its words are in lower case")
    return {
        "source": source,
        "size": found.matrix.shape[1],
        "words": len(found.found) - len(SPECIAL),
        "found": int(found.found.sum()),
        "found_of_training_words": round(coverage, 4),
    }


def _with_words(tokenizer: Tokenizer, words: Sequence[str]) -> Tokenizer:
    """A tokenizer with these words, of the training data and of the pretrained vectors."""
    known = set(tokenizer.vocabulary)
    fits = [word for word in words if word in known or not tokenizer.lowercase or word == word.lower()]
    return Tokenizer.from_words(
        [word for word in dict.fromkeys(fits) if word not in SPECIAL], lowercase=tokenizer.lowercase,
        split_characters=tokenizer.split_characters,
    )  # fmt: skip
