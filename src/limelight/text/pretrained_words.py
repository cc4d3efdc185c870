"""Pretrained words, of weights to start from or of files of vectors: in the vocabulary, and their vectors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from ..config.recipe import TextRecipe
from ..errors import warn
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


class VectorFiles:
    """The words of the files of vectors that a recipe names, which are checked before the long work."""

    def __init__(self, recipe: TextRecipe, folder: str | Path, seed: int, progress: bool) -> None:
        self._seed, self._progress, self._missing = seed, progress, recipe.missing_vectors
        if self._missing == "neighbours":  # of recipes that older versions wrote
            now = "is part of experiments/paper now: these words start from noise"
            warn(f"missing_vectors 'neighbours' {now}")
            self._missing = "noise"
        self._files = split_paths(recipe.vectors, folder)
        check_vectors(self._files)

    def join_words(self, words: Sequence[str], extra: int) -> list[str]:
        """The words of the training texts, then the first ones of the files."""
        return [*words, *(first_words(self._files, extra) if extra else [])]

    def vectors(self, vocabulary: Sequence[str]) -> Vectors:
        """A vector for every word of a vocabulary."""
        seed, missing = self._seed, self._missing
        return read_vectors(self._files, vocabulary, seed=seed, missing=missing, progress=self._progress)


def add_words(tokenizer: Tokenizer, pretrained: PretrainedWords | VectorFiles, extra: int) -> Tokenizer:
    """The tokenizer with pretrained words beside those of the training texts."""
    known = set(tokenizer.vocabulary)
    words = pretrained.join_words(tokenizer.vocabulary[len(SPECIAL) :], extra)
    fits = [word for word in words if word in known or not tokenizer.lowercase or word == word.lower()]
    return Tokenizer.from_words(
        [word for word in dict.fromkeys(fits) if word not in SPECIAL], lowercase=tokenizer.lowercase,
        split_characters=tokenizer.split_characters,
    )  # fmt: skip


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
