"""Which rows a model learnt from, without their text: hashes of the training texts, in its config.json.

A row's hash is the first 32 bits of the SHA-256 of its text, after a fixed prefix. So the answer to "was this
text learnt from?" is right when it is no, and wrong by chance for n of 2^32 new texts when it is yes, where n
is the number of training rows: one in 2 million for 2,000 rows, one in 8,192 for the most that are kept.
"""

from __future__ import annotations

import hashlib
from base64 import b64decode, b64encode
from collections.abc import Sequence
from unicodedata import normalize

import numpy as np

from ..errors import damaged

MAX_ROWS = 2**19  # of more nothing is kept: config.json is read whole whenever a model is opened
PREFIX = b"limelight row\n"


def row_hash(text: str, text2: str | None = None) -> int:
    """32 bits of a text, or of a pair: case, spacing and how accents are encoded do not matter."""
    sides = [" ".join(normalize("NFC", side).lower().split()) for side in (text, text2) if side is not None]
    content = PREFIX + "\n".join(sides).encode(errors="replace")
    return int.from_bytes(hashlib.sha256(content).digest()[:4], "little")


class LearntRows:
    """The training rows of a model."""

    def __init__(self, hashes: np.ndarray) -> None:
        self._hashes = hashes  # (distinct rows,) uint32, sorted

    def __len__(self) -> int:
        return len(self._hashes)

    @classmethod
    def of(cls, hashes: Sequence[int] | np.ndarray) -> LearntRows:
        """From the hashes of rows, in any order and repeated."""
        return cls(np.unique(np.asarray(hashes, np.uint32)))

    def has(self, texts: Sequence[str], texts2: Sequence[str] | None = None) -> np.ndarray:
        """(texts,) bool: whether each text, or pair, was learnt from."""
        second = [None] * len(texts) if texts2 is None else texts2
        return self.has_hashes([row_hash(*each) for each in zip(texts, second, strict=True)])

    def has_hashes(self, hashes: Sequence[int]) -> np.ndarray:
        return np.isin(np.asarray(hashes, np.uint32), self._hashes)

    def joined(self, other: LearntRows) -> LearntRows:
        return LearntRows.of(np.concatenate([self._hashes, other._hashes]))

    def to_fact(self) -> str:
        """What config.json has: the hashes as little-endian integers of four bytes, in base64."""
        return b64encode(self._hashes.astype("<u4").tobytes()).decode()

    @classmethod
    def from_fact(cls, fact: object) -> LearntRows | None:
        """What config.json has, checked; None if it does not say which rows were learnt from."""
        if fact is None:
            return None
        try:
            content = b64decode(fact, validate=True) if isinstance(fact, str) else b""
        except ValueError:
            content = b""
        hashes = np.frombuffer(content[: len(content) // 4 * 4], "<u4").astype(np.uint32)
        if not content or len(content) % 4 or (hashes[1:] <= hashes[:-1]).any():
            raise damaged("'learnt_rows' in config.json is not as Limelight writes it")
        return cls(hashes)
