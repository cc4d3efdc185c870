"""A trained model without PyTorch: texts in; probabilities, labels, embeddings and readings out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..config.recipe import Recipe
from ..errors import LimelightError
from ..reading.reading import PairReading, Reading
from ..text.labels import Label
from ..text.tokenizer import UNKNOWN, Tokenizer
from .batches import checked, paired
from .export import rows_and_size
from .folder import open_folder, plain_labels, save_folder
from .runner import BATCH_WORDS, Look, Runner
from .shapes import check_weights, shapes


class Model:
    """A trained model that predicts, embeds and reads.

    Made by `Model.load` from a saved folder, or by `Model.from_parts` right after training. Texts are
    sorted by length and batched inside; results come in the order given. In float32 the same text gives
    the same result, to rounding, in any batch and with any number of threads; in int8 the texts of a batch
    share their scales, and M moves by a few thousandths with its company.

    >>> recipe = Recipe().override(embedding="max", word_size=4, hidden=3, head_hidden=6)
    >>> words = Tokenizer.from_words(["good", "bad"])
    >>> weights = {n: np.ones(s, np.float32) for n, s in shapes(recipe.model, 4, 2, False).items()}
    >>> model = Model.from_parts(weights=weights, recipe=recipe, tokenizer=words, labels=["-", "+"])
    >>> model.predict_proba(["good", "bad good"]).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    >>> model.read("Good or bad").words
    ('Good', 'or', 'bad')
    """

    def __init__(
        self,
        weights: Mapping[str, np.ndarray],
        recipe: Recipe,
        tokenizer: Tokenizer,
        labels: Sequence[Label],
        pair: bool,
        facts: Mapping[str, Any],
        precision: str,
        threads: int | None,
    ) -> None:
        self.weights, self.recipe, self.tokenizer = weights, recipe, tokenizer
        self.labels, self.pair, self.facts = tuple(labels), pair, dict(facts)
        self._runner = Runner(weights, recipe, tokenizer, len(self.labels), pair, precision, threads)

    @classmethod
    def load(cls, folder: str | Path, *, precision: str = "float32", threads: int | None = None) -> Model:
        """Open a folder that Limelight saved; everything in it is checked first.

        >>> Model.load("no/such/model")
        Traceback (most recent call last):
        limelight.errors.LimelightError: no/such/model is not a folder; give one that Limelight saved
        """
        found = open_folder(folder)
        parts = (found.weights, found.recipe, found.tokenizer, found.labels, found.pair, found.facts)
        return cls(*parts, precision, threads)

    @classmethod
    def from_parts(
        cls,
        *,
        weights: Mapping[str, np.ndarray],
        recipe: Recipe,
        tokenizer: Tokenizer,
        labels: Sequence[Label],
        pair: bool = False,
        facts: Mapping[str, Any] | None = None,
        precision: str = "float32",
        threads: int | None = None,
    ) -> Model:
        """A model that was never saved, from its weights as in `network.state_dict()`."""
        labels = plain_labels(labels)
        weights = {name: np.asarray(array) for name, array in weights.items()}
        check_weights(weights, shapes(recipe.model, len(tokenizer), len(labels), pair))
        return cls(weights, recipe, tokenizer, labels, pair, facts or {}, precision, threads)

    def save(self, path: str | Path, *, card: str | None = None, overwrite: bool = False) -> None:
        """Write the folder that `load` reads."""
        save_folder(
            path, weights=self.weights, recipe=self.recipe, tokenizer=self.tokenizer, labels=self.labels,
            pair=self.pair, facts=self.facts, card=card, overwrite=overwrite,
        )  # fmt: skip

    # ------------------------------------------------------------ labels and probabilities

    def predict(
        self,
        texts: Iterable[str],
        texts2: Iterable[str] | None = None,
        *,
        batch_words: int = BATCH_WORDS,
        progress: bool = False,
    ) -> list[Label]:
        """The likeliest label of each text (or pair), in the labels' own type."""
        best = self.predict_proba(texts, texts2, batch_words=batch_words, progress=progress).argmax(axis=1)
        return [self.labels[k] for k in best]

    def predict_proba(
        self,
        texts: Iterable[str],
        texts2: Iterable[str] | None = None,
        *,
        batch_words: int = BATCH_WORDS,
        progress: bool = False,
    ) -> np.ndarray:
        """Probabilities (texts, classes), the classes in the order of `labels`."""
        parts = self.predict_proba_stream(texts, texts2, batch_words=batch_words, progress=progress)
        return _collect(parts, _count(texts), (len(self.labels),))

    def predict_proba_stream(
        self,
        texts: Iterable[str],
        texts2: Iterable[str] | None = None,
        *,
        batch_words: int = BATCH_WORDS,
        progress: bool = False,
    ) -> Iterator[np.ndarray]:
        """The same for any number of texts, such as a file's: an array for some of them at a time.

        Only those are in memory. A sentence that stands in several of their pairs is encoded once.
        """
        self._check_kind(texts2)
        run, total = self._runner, _count(texts)
        if texts2 is None:
            return run.stream(checked(texts), run.probabilities, batch_words, progress, total)
        both = paired(checked(texts), checked(texts2))
        return run.stream(both, run.pair_probabilities, batch_words, progress, total)

    # ------------------------------------------------------------ embeddings

    def embed(
        self,
        texts: Iterable[str],
        *,
        flat: bool = False,
        batch_words: int = BATCH_WORDS,
        progress: bool = False,
    ) -> np.ndarray:
        """M of each text, (texts, r, 2u); flat, as one long vector each, (texts, r * 2u)."""
        parts = self.embed_stream(texts, batch_words=batch_words, progress=progress)
        M = _collect(parts, _count(texts), rows_and_size(self.recipe.model))
        return M.reshape(len(M), M.shape[1] * M.shape[2]) if flat else M

    def embed_stream(
        self, texts: Iterable[str], *, batch_words: int = BATCH_WORDS, progress: bool = False
    ) -> Iterator[np.ndarray]:
        """The same for any number of texts: an array (some texts, r, 2u) at a time."""
        run = self._runner
        return run.stream(checked(texts), run.embeddings, batch_words, progress, _count(texts))

    # ------------------------------------------------------------ readings

    def read(self, text: str, text2: str | None = None) -> Reading | PairReading:
        """One text (or pair) with everything the model saw in it."""
        return self.read_many([text], None if text2 is None else [text2])[0]

    def read_many(
        self, texts: Iterable[str], texts2: Iterable[str] | None = None
    ) -> list[Reading] | list[PairReading]:
        """A Reading of each text, or a PairReading of each pair."""
        self._check_kind(texts2)
        if texts2 is None:
            return [self._reading(look, P) for (look,), P in self._look(list(checked(texts)))]
        pairs = list(paired(checked(texts), checked(texts2)))
        looks = self._look([a for a, _ in pairs], [b for _, b in pairs])
        return [PairReading(self._reading(a, P), self._reading(b, P)) for (a, b), P in looks]

    def _look(self, *columns: list[str]) -> list[tuple[tuple[Look, ...], np.ndarray]]:
        """For each text or pair: what the encoder saw, and the probabilities."""
        sides = [self._runner.look(column) for column in columns]
        if not sides[0]:
            return []
        P = self._runner.classify(*(np.stack([look.M for look in side]) for side in sides))
        return list(zip(zip(*sides, strict=True), P, strict=True))

    def _reading(self, look: Look, P: np.ndarray) -> Reading:
        max_row = self.recipe.model.has_max_row
        return Reading(look.text, look.offsets, look.ids != UNKNOWN, look.A, look.M, self.labels, P, max_row)

    def _check_kind(self, texts2: Any) -> None:
        if self.pair and texts2 is None:
            raise LimelightError("this model reads pairs of texts: give the second texts too")
        if not self.pair and texts2 is not None:
            raise LimelightError("this model reads single texts, not pairs: leave the second texts out")


def _collect(parts: Iterable[np.ndarray], count: int | None, shape: tuple[int, ...]) -> np.ndarray:
    """All parts in one array; where their number is known, without holding them twice."""
    if count is None:
        return np.concatenate([np.empty((0, *shape), np.float32), *parts])
    whole, done = np.empty((count, *shape), np.float32), 0
    for part in parts:
        whole[done : done + len(part)] = part
        done += len(part)
    if done != count:  # never the memory that nobody has written
        raise LimelightError(f"the texts have a length of {count:,}, but there are {done:,} of them")
    return whole


def _count(texts: Any) -> int | None:
    return len(texts) if hasattr(texts, "__len__") else None
