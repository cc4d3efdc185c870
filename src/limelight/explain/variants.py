"""Texts with some of their words left out, and what a model answers to them. No PyTorch.

A word is left out by taking it from the sequence of words, as if it had never been written: what remains
is a shorter text. (Putting zeros in its place would show the network something it never met in training.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from tqdm.auto import tqdm

from ..errors import LimelightError
from ..reading.reading import AnyReading, Reading
from ..runtime.batches import Sentences
from ..runtime.export import rows_and_size
from ..runtime.model import Model
from ..runtime.runner import BATCH_WORDS, BLOCK
from ..text.tokenizer import UNKNOWN

Tick = Callable[[float], None]  # told how many more are done
_NO_WORDS = np.array([UNKNOWN], np.int32)  # a text without words is one unknown, as the tokenizer has it
_BYTES = 2**27  # of M, held in memory together
_TOGETHER = 2**22  # words of variants, likewise


@dataclass(frozen=True, eq=False)
class Words:
    """The word ids of a text, or of both texts of a pair."""

    sides: tuple[np.ndarray, ...]  # (n,), and for a pair (m,)

    def __len__(self) -> int:
        return sum(map(len, self.sides))

    def keep(self, kept: np.ndarray) -> tuple[np.ndarray, ...]:
        """The words where `kept` (n + m,) is True, side by side."""
        places = np.cumsum([len(side) for side in self.sides])[:-1]
        parts = zip(self.sides, np.split(kept, places), strict=True)
        return tuple(side[mask] if mask.any() else _NO_WORDS for side, mask in parts)

    def split(self, weights: np.ndarray) -> tuple[np.ndarray, ...]:
        """Weights (n + m,) of all words as one array for each text."""
        return tuple(np.split(weights, np.cumsum([len(side) for side in self.sides])[:-1]))


def words_of(model: Model, readings: Iterable[AnyReading]) -> list[Words]:
    """The word ids of texts that the model has read."""
    return [Words(tuple(_ids(model, side) for side in reading.sides)) for reading in readings]


def _ids(model: Model, reading: Reading) -> np.ndarray:
    """Cut where the model cut it."""
    return model.tokenizer.locate(reading.text)[0][: len(reading.offsets)]


def length_of(reading: AnyReading) -> int:
    """How many words a text has, or both texts of a pair."""
    return sum(len(side.offsets) for side in reading.sides)


def answers(
    model: Model, words: Sequence[Words], kept: Iterable[np.ndarray], *, bar: str = ""
) -> list[np.ndarray]:
    """For each text, with kept (variants, n) True where a variant has the word: (variants, classes).

    The variants of many texts are batched by length, and equal ones are computed once. With a name for it,
    a bar is shown.
    """
    found: list[np.ndarray] = []
    with texts_bar(bar, len(words)) as shown:
        for some in _together(zip(words, kept, strict=True)):
            found += _answers(model, some, _ticks(shown, len(found)))
            shown.update(len(found) - shown.n)
    return found


def _ticks(shown: tqdm[Any], before: int) -> Tick:
    """Moves a bar on by fractions of texts, for a group of them takes long: whole ones are shown."""
    done = float(before)

    def tick(texts: float) -> None:
        nonlocal done
        done += texts
        shown.update(int(done) - shown.n)

    return tick


def model_of(given: Any) -> Model:
    """The model itself, or that of a trained classifier."""
    model = getattr(given, "model_", given)
    if not isinstance(model, Model):
        raise LimelightError(f"expected a model or a trained classifier, not {type(given).__name__}")
    return model


def read_texts(
    model: Model, texts: Sequence[str], texts2: Sequence[str] | None = None, *, progress: bool = False
) -> list[AnyReading]:
    """A reading of each text or pair, with a bar."""
    if texts2 is not None and len(texts2) != len(texts):
        return [*model.read_many(texts, texts2)]  # which says what is wrong
    found: list[AnyReading] = []
    with texts_bar("Reading" if progress else "", len(texts)) as shown:
        for k in range(0, len(texts), BLOCK):
            some = slice(k, k + BLOCK)
            found += model.read_many(texts[some], None if texts2 is None else texts2[some])
            shown.update(len(found) - shown.n)
    return found


def texts_bar(name: str, total: int) -> tqdm[Any]:
    """A bar over texts, which goes when it is full; only with a name, and only on a terminal."""
    return tqdm(total=total, desc=name, unit=" texts", leave=False, disable=None if name else True)


def _together(texts: Iterable[tuple[Words, np.ndarray]]) -> Iterator[list[tuple[Words, np.ndarray]]]:
    """Neighbouring texts whose variants fit into memory together; those of a long text stand alone."""
    some: list[tuple[Words, np.ndarray]] = []
    held = 0
    for text, masks in texts:
        if some and held + masks.size > _TOGETHER:
            yield some
            some, held = [], 0
        some.append((text, masks))
        held += masks.size
    if some:
        yield some


def _answers(model: Model, texts: list[tuple[Words, np.ndarray]], tick: Tick) -> list[np.ndarray]:
    variants = [text.keep(mask) for text, masks in texts for mask in masks]
    rows, size = rows_and_size(model.recipe.model)
    at_once = max(1, _BYTES // (4 * rows * size))
    share = len(texts) / max(len(variants), 1)  # of a text that a variant is
    parts = [
        _classify(model, variants[k : k + at_once], lambda done: tick(done * share))
        for k in range(0, len(variants), at_once)
    ]
    P = np.concatenate([np.empty((0, len(model.labels)), np.float32), *parts])
    return np.split(P, np.cumsum([len(masks) for _, masks in texts])[:-1])


def _classify(model: Model, variants: Sequence[tuple[np.ndarray, ...]], tick: Tick) -> np.ndarray:
    numbers: dict[bytes, int] = {}
    ids: list[np.ndarray] = []
    places = np.empty((len(variants), len(variants[0])), int)
    for k, sides in enumerate(variants):
        for side, array in enumerate(sides):
            places[k, side] = numbers.setdefault(array.tobytes(), len(numbers))
            if len(numbers) > len(ids):
                ids.append(array)
    alike, back = np.unique(places, axis=0, return_inverse=True)
    M = embed_ids(model, ids, lambda done: tick(done * len(variants) / len(ids)))
    return model._runner.classify(*(M[side] for side in alike.T))[back.reshape(-1)]


def embed_ids(model: Model, ids: Sequence[np.ndarray], tick: Tick) -> np.ndarray:
    """(texts, r, 2u): M of texts that are given as word ids, at least one each."""
    run = model._runner
    sentences = Sentences(np.concatenate(ids), np.array([len(each) for each in ids], np.int32))
    M = np.empty((len(ids), *rows_and_size(model.recipe.model)), np.float32)

    def encode(batch: np.ndarray) -> int:
        M[batch] = run.encoder.run(sentences.feed(batch), "M")[0]
        return len(batch)

    with ThreadPoolExecutor(run.threads) as pool:
        for done in pool.map(encode, sentences.batches(BATCH_WORDS)):
            tick(done)
    return M
