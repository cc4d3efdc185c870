"""Pretrained weights that training can start from: a reader's, or those of a trained model."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..config.presets import Size, choose, describe
from ..config.recipe import DEFAULT_TASK, Recipe
from ..errors import LimelightError, bad_value, tidy_os_errors
from ..network.quantise import round_to_4_bits
from ..storage.array_files import checksum
from ..text.spelling import spell
from ..text.tasks import find_task
from ..text.tokenizer import PAD, SPECIAL, UNKNOWN
from ..text.vectors import Vectors
from .folder import Parts, folder_of, forbidden_words, is_reader, open_folder

NO_EPOCHS = "epochs is 0, which is for a classifier on a reader's vectors; give start, or more epochs"

# What weights have fixed once they are trained.
SIZES = (
    "encoder", "pooling", "word_size", "projection", "hidden", "layers", "attention_hidden", "rows",
    "max_row", "author_code", "vector_size", "vector_rank",
)  # fmt: skip
# The classifier of a trained model, which goes on with it; a reader has none.
HEAD = ("head", "head_hidden", "row_units", "column_units", "mix_units", "pair")
COMPARED = 1000  # words whose vectors tell whether they are the bundled reader's


class Start(Parts):
    """What training starts from: words with their vectors, and the weights above them."""

    @property
    def words(self) -> Sequence[str]:
        """The words it knows, the most frequent first."""
        return self.tokenizer.vocabulary[len(SPECIAL) :]

    def join_words(self, words: Sequence[str], extra: int) -> list[str]:
        """The vocabulary for texts with these words: a model keeps all of its own, a reader adds `extra`."""
        joined = [*self.words, *words] if self.labels else [*words, *self.words[:extra]]
        return list(dict.fromkeys(joined))

    def check_kind(self, pair: bool, name: str, task: str = DEFAULT_TASK) -> None:
        """Raise if this is a trained model of pairs and the data has single texts, or the other way round.

        A trained model's task must be that of the data too.
        """
        own_task = find_task(self.recipe.text.task).name
        if self.labels and own_task != task:
            fault = f"start: the task of {name or 'the model'} is {own_task!r}, that of the data {task!r}"
            raise LimelightError(f"{fault}; give --task, or start from a reader", code="start-other")
        if self.labels and self.pair != pair:
            own, data = ("pairs", "single texts") if self.pair else ("single texts", "pairs")
            fault = f"start: {name or 'the model'} reads {own}, but the data has {data}"
            todo = f"start from a model of {data}, or from a reader"
            raise LimelightError(f"{fault}; {todo}", code="start-other")

    def check_forbidden(self, facts: Mapping[str, Any]) -> None:
        """Raise if a data set, which has these facts, was encoded with words that must not be read."""
        if read := self.tokenizer.forbidden - forbidden_words(facts.get("forbidden")):
            wrong = f"the data was encoded with {min(read)!r}, which the model must not read"
            raise LimelightError(f"start: {wrong}; encode it again with --start", code="start-other")

    def vectors(self, vocabulary: Sequence[str]) -> Vectors:
        """Vectors for a vocabulary. New words: a reader spells them, and so does a model with its words;
        any other model reads them as <unk>.
        """
        ids = {word: number for number, word in enumerate(self.tokenizer.vocabulary)}
        places = np.array([ids.get(word, UNKNOWN) for word in vocabulary])
        matrix, found = self.weights["words.weight"][places], places > UNKNOWN
        new = np.flatnonzero(places == UNKNOWN)
        new = new[new > UNKNOWN] if self.labels else new
        if self.labels and len(new) and (reader := self._reader()):
            own = reader.vectors([*SPECIAL, *(vocabulary[k] for k in new.tolist())])
            matrix[new], found[new] = own.matrix[len(SPECIAL) :], own.found[len(SPECIAL) :]
        grams = self.weights.get("grams.weight")
        if grams is not None:
            table, known = self.weights["words.weight"], ids if self.recipe.model.stems else None
            matrix[new] = spell([vocabulary[k] for k in new.tolist()], grams, table, known)
            matrix[UNKNOWN] = grams[1:].mean(axis=0)
            matrix[new] = round_to_4_bits(matrix[new])  # as the others are: then the folder stays small
        matrix[PAD] = 0
        return Vectors(matrix, found)

    def _reader(self) -> Start | None:
        """The bundled reader, if the words of this model have its vectors: then it can spell new ones."""
        table = self.weights["words.weight"]
        reader = load_start("reader")
        theirs = reader.weights["words.weight"]
        if table.shape[1] != theirs.shape[1]:
            return None
        ids = {word: number for number, word in enumerate(reader.tokenizer.vocabulary)}
        both = [(k, ids[word]) for k, word in enumerate(self.tokenizer.vocabulary) if word in ids]
        mine, known = np.array(both[len(SPECIAL) :][:COMPARED]).reshape(-1, 2).T
        return reader if len(mine) and np.array_equal(table[mine], theirs[known]) else None

    def fit_recipe(self, recipe: Recipe, given: Iterable[str] = ()) -> Recipe:
        """The recipe with the sizes of these weights; a size the user has `given` must be the same."""
        own: dict[str, Any] = {name: getattr(self.recipe.model, name) for name in SIZES}
        given = set(given)
        own["lowercase"] = self.tokenizer.lowercase
        if self.labels:
            own |= {name: getattr(self.recipe.model, name) for name in HEAD}
            own["split_characters"] = self.tokenizer.split_characters
        values = recipe.values()
        for name, has in {**own, "vectors": ""}.items():
            if name in given and values[name] != has:
                shown = repr(has) if name in own else "its own"
                other = f"but {recipe.text.start!r}, which training starts from, has {shown}"
                todo = "leave it out, or take another preset, such as light"
                raise LimelightError(f"{name} is {values[name]!r}, {other}; {todo}", code="start-other")
        if self.labels and "fine_tune_words" not in given:  # or new words would all stay unknown
            own["fine_tune_words"] = self.recipe.training.fine_tune_words
        return recipe.override(**own)

    @property
    def fingerprint(self) -> str:
        return checksum(self.weights[name] for name in sorted(self.weights))


def load_start(name: str, folder: str | Path = "") -> Start:
    """Load what a recipe's `start` names; relative paths start from `folder`."""
    path = folder_of(name) if is_reader(name) else os.path.join(folder, name)
    try:
        with tidy_os_errors(f"cannot read {str(path)[:100]}"):  # such as a name that is too long
            return Start(**vars(open_folder(path)))
    except ValueError as error:  # our own, or about a NUL in the name
        raise LimelightError(f"start: {error}", code=getattr(error, "code", "start")) from error


class Chooser:
    """The recipe of a user who named none, once the table is read, and the reader that it starts from.

    `cores` are those that train, for an estimate of the time; on a GPU 0. None says nothing.
    """

    def __init__(self, recipe: Recipe, given: Collection[str], cores: int | None = None) -> None:
        self.recipe, self.given, self.cores = recipe, given, cores

    def __call__(self, size: Size) -> tuple[str, Start]:
        choice = choose(size)
        self.recipe, start = start_of(choice.apply(self.recipe, self.given), self.given)
        assert start is not None
        self.start = start
        if self.cores is not None:
            print(describe(self.recipe, choice, size, self.cores), file=sys.stderr)
        return self.recipe.text.start, start

    def settled(self, facts: Mapping[str, Any]) -> tuple[Recipe, Start]:
        """The recipe and the reader for a data set with these facts, encoded in this process or another."""
        if not hasattr(self, "start"):
            self.cores = None
            self(Size(**facts["size"]))
        return self.recipe, self.start


def start_of(
    recipe: Recipe, given: Iterable[str] = (), folder: str | Path = ""
) -> tuple[Recipe, Start | None]:
    """The recipe with the sizes of the weights it starts from, if any, and these."""
    if not recipe.text.start:
        if not recipe.training.epochs and not recipe.model.has_module:
            raise bad_value(NO_EPOCHS)
        return recipe, None
    start = load_start(recipe.text.start, folder)
    return start.fit_recipe(recipe, given), start
