"""A small labelling behind HTTP: texts about food and rooms, with vectors that need no reader."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
from starlette.testclient import TestClient

from limelight.labelling.session import LabelSession
from limelight.runtime.word_parts import TextParts
from limelight.serve.labelling.texts import create_label_app

FOOD = ["soup", "bread", "cheese", "salad", "cake", "rice", "pasta", "fish"]
ROOM = ["bed", "shower", "window", "carpet", "pillow", "balcony", "mirror", "lamp"]
TEXTS = [f"The {word} tasted <b>great</b>" for word in FOOD] + [f"Our {word} broke 😀 today" for word in ROOM]


class TinyReader:
    """A vector of four numbers, by which of some words a text has: a reader takes longer."""

    sha256 = "tiny"

    def get_sentence_embedding_dimension(self) -> int:
        return 4

    def encode(self, texts: list[str]) -> np.ndarray:
        return np.stack([self.word_parts([text])[0].vector for text in texts])

    def word_parts(self, texts: list[str]) -> list[Any]:
        return [_parts(text) for text in texts]


class WaitingReader(TinyReader):
    """Reads nothing before `go` is set."""

    def __init__(self) -> None:
        self.go = threading.Event()

    def encode(self, texts: list[str]) -> np.ndarray:
        assert self.go.wait(60)
        return super().encode(texts)


def _parts(text: str) -> TextParts:
    words, offsets, at = text.split(" "), [], 0
    for word in words:
        offsets.append((at, at + len(word)))
        at += len(word) + 1
    known = {"tasted": 0, "broke": 1, "The": 2, "Our": 3}
    parts = np.full((len(words), 4), 0.02, np.float32)
    for k, word in enumerate(words):
        if word in known:
            parts[k, known[word]] += 1
        elif word in FOOD + ROOM:
            parts[k] += 0.03 * (FOOD + ROOM).index(word) * np.array([1, -1, 1, -1], np.float32) / 16
    length = float(np.linalg.norm(parts.sum(axis=0)))
    vector, known_words = parts.sum(axis=0) / length, np.ones(len(words), bool)
    return TextParts(text, np.array(offsets), known_words, vector, parts / length, parts)


def start(folder: Path, out: str = "labels.csv", **options: Any) -> tuple[LabelSession, Any]:
    """A labelling into a folder, and its application with the token "t"."""
    path, token = folder / out, options.pop("token", "t")
    options = {"reader": TinyReader(), "background": False, **options}
    session = LabelSession(TEXTS, journal=f"{path}.journal", **options)
    return session, create_label_app(session, path, token=token)


def client_of(app: Any, token: str = "t") -> TestClient:
    headers = {"authorization": f"Bearer {token}"}
    return TestClient(app, base_url="http://127.0.0.1", headers=headers)
