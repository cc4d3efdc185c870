"""What requests ask a model for: functions of a model and the items of many requests, joined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import conflict
from ...explain import joint_words
from ...reading.comparison import Comparison
from ...reading.reading import AnyReading
from ...runtime.model import Model
from ...runtime.onnx_runner import BATCH_WORDS
from ...runtime.reader import Reader
from ..http.bodies import Item
from ..http.limits import PIECE_TEXTS, PIECE_WORDS

AnyModel = Model | Reader
CHARACTERS = 5  # of a word: to count words exactly would cost more than it gains
BATCH_PARTS = 4  # of a joined batch, by length: little is padding, and every thread has some


def predictions(model: Model, items: list[Item]) -> np.ndarray:
    """(items, classes)."""
    return model.predict_proba(*columns(items), batch_words=_batch_words(items))


def vectors(model: AnyModel, items: list[Item]) -> np.ndarray:
    """(items, size): a reader's vector, before it is scaled to length 1, or a classifier's M, flat."""
    (texts,) = columns(items)
    if isinstance(model, Reader):
        batch_size = max(4, len(texts) // BATCH_PARTS)
        return np.asarray(model.encode(texts, batch_size, normalize_embeddings=False))
    return model.embed(texts, flat=True, batch_words=_batch_words(items))


def matrices(model: AnyModel, items: list[Item]) -> np.ndarray:
    """(items, r, 2u): M."""
    return model.embed(*columns(items), batch_words=_batch_words(items))


def readings(
    model: AnyModel,
    items: list[Item],
    without_rows: Sequence[int] = (),
    against: Any = None,
    label: Any = None,
    joint: bool = False,
) -> Sequence[AnyReading]:
    """A Reading of each text, or a PairReading; with `joint`, with the words that are read together."""
    if isinstance(model, Reader):
        if without_rows or against is not None or label is not None or joint:
            fault = "without_rows, against, label and joint are for classifiers; this model is a reader"
            raise conflict(fault)
        return [model.read(text) for (text,) in items]
    found = model.read_many(*columns(items), without_rows=without_rows, against=against, label=label)
    return [joint_words(model, each) for each in found] if joint else found


def comparisons(model: AnyModel, items: list[Item]) -> list[Comparison]:
    return model.compare_many(*columns(items))


def _batch_words(items: list[Item]) -> int:
    return min(BATCH_WORDS, max(64, estimate_words(items) // BATCH_PARTS))


def columns(items: Sequence[Item]) -> list[list[str]]:
    """The texts of all items, and of pairs their second texts.

    >>> columns([("soup", "broth"), ("train", "bus")])
    [['soup', 'train'], ['broth', 'bus']]
    """
    return [list(column) for column in zip(*items, strict=True)]


def cut_pieces(items: list[Item]) -> list[list[Item]]:
    """The items in pieces that are computed one after another, so that others have their turn between them.

    >>> [len(piece) for piece in cut_pieces([("soup",)] * 600)]
    [256, 256, 88]
    """
    pieces, words = [list[Item]()], 0
    for item in items:
        more = estimate_words([item])
        if pieces[-1] and (len(pieces[-1]) == PIECE_TEXTS or words + more > PIECE_WORDS):
            pieces.append([])
            words = 0
        pieces[-1].append(item)
        words += more
    return pieces


def estimate_words(items: Sequence[Item]) -> int:
    """About how many words the items have; of text that is not ASCII, at most: each character may be one.

    >>> estimate_words([("The soup is cold.",)]), estimate_words([("汤很冷",)])
    (3, 3)
    """
    texts = [text for item in items for text in item]
    return sum(len(text) // (CHARACTERS if text.isascii() else 1) for text in texts)
