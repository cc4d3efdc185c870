"""The teacher: any sentence encoder, or vectors that were computed beforehand.

An encoder's vectors are kept in the run's folder as float16 arrays `vectors-K.npy` of SHARD texts each. Every
file appears whole; a resumed run computes those that are missing.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.lib import format as npy
from tqdm import tqdm

from ..errors import LimelightError, damaged, needs_extra, tidy_os_errors
from ..runtime.batches import chunks
from ..storage.array_files import digest_rows
from ..storage.files import atomic_file
from .job import vector_files

SHARD = 16_384  # texts
CHUNK = 1 << 16  # rows checked at a time
SAME_COSINE = 0.99  # between two vectors that a teacher gives for the same text


class Encoder(Protocol):
    """A sentence encoder, as sentence-transformers has them."""

    def encode(self, texts: list[str]) -> Any:
        """(texts, vector)."""


class Vectors:
    """The vectors of some rows of the texts, from one file or several; stays on disk until rows are taken."""

    def __init__(self, parts: Sequence[np.ndarray], rows: np.ndarray | None = None) -> None:
        self._parts, self._ends = parts, np.cumsum([len(part) for part in parts])
        self._rows = np.arange(self._ends[-1]) if rows is None else rows
        self.dtype, self.shape = parts[0].dtype, (len(self._rows), parts[0].shape[1])

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def nbytes(self) -> int:
        """In memory, if all were taken."""
        return int(self.shape[0] * self.shape[1] * self.dtype.itemsize)

    def select(self, rows: np.ndarray) -> Vectors:
        return Vectors(self._parts, self._rows[rows])

    def digest(self) -> str:
        return digest_rows(self._parts)

    def __getitem__(self, wanted: np.ndarray) -> np.ndarray:
        rows = self._rows[wanted]
        found = np.empty((len(rows), self.shape[1]), self.dtype)
        part = np.searchsorted(self._ends, rows, side="right")
        for k in np.unique(part):
            here = np.flatnonzero(part == k)
            start = self._ends[k] - len(self._parts[k])
            found[here] = self._parts[k][rows[here] - start]
        return found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self[np.arange(len(self))].astype(dtype or self.dtype, copy=False)


# ---------------------------------------------------------------- vectors computed beforehand


def open_vectors(path: str | Path, texts: int, pairs: int = 0) -> Vectors:
    """Open a .npy file with one row per text, the last `pairs` of them of translations, and check it."""
    with tidy_os_errors(f"cannot read {path}"):
        try:
            values = npy.open_memmap(path, mode="r")
        except (ValueError, EOFError) as error:
            reason = " ".join(str(error).split())
            raise damaged(f"{path} is not a .npy file ({reason})") from None
    is_float = values.dtype.kind == "f" and values.dtype.isnative  # PyTorch takes no other byte order
    if values.ndim != 2 or not is_float or values.shape[1] < 2:
        wrong = f"{path} holds {values.dtype} of shape {values.shape}"
        raise LimelightError(f"{wrong}; it must hold a vector of floats per text", code="vectors-shape")
    if len(values) != texts:
        wrong = f"{path} has {len(values):,} rows and there are {texts:,} texts"
        last = f", the last {pairs:,} for the English texts of the translations" if pairs else ""
        todo = f"it must have one for each text, in their order{last} (blank lines are skipped)"
        raise LimelightError(f"{wrong}; {todo}", code="vectors-rows")
    _check_values(values, str(path))
    return Vectors([values])


def _check_values(values: np.ndarray, where: str, first: int = 0) -> None:
    """Raise if a vector is zero or not finite, or all are the same."""
    for start in range(0, len(values), CHUNK):
        some = np.asarray(values[start : start + CHUNK], np.float32)
        bad = np.flatnonzero(~(np.isfinite(some).all(1) & some.any(1)))
        if len(bad):
            wrong = f"{where}: row {first + start + bad[0] + 1:,} is zero or not finite"
            raise LimelightError(f"{wrong}; a teacher must give every text a vector", code="vectors-values")
    if len(values) > 1 and not (np.asarray(values[:CHUNK]) != values[0]).any():
        same = f"{where}: all vectors are the same; the teacher must tell texts apart"
        raise LimelightError(same, code="vectors-values")


# ---------------------------------------------------------------- an encoder


def load_encoder(name: str, device: str = "auto") -> Encoder:
    """A sentence-transformers model, by its folder or its name on the hub."""
    if Path(name).exists() and not Path(name).is_dir():
        wrong = f"the teacher {name} is a file; give a .npy file, a model's folder or its name"
        raise LimelightError(wrong, code="teacher-unknown")
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        wrong = "a teacher that is not a .npy file needs sentence-transformers: pip install '.[pretrain]'"
        raise needs_extra(wrong) from None
    try:
        encoder: Encoder = SentenceTransformer(name, device=None if device == "auto" else device)
        return encoder
    except Exception as error:  # whatever its libraries raise: no such name, no network, half a download
        reason = " ".join(str(error).split())[:160]
        wrong = f"cannot load the teacher {name!r} ({reason})"
        todo = "name a sentence-transformers model or its folder"
        raise LimelightError(f"{wrong}; {todo}", code="teacher-unknown") from error


def encode_shards(encoder: Encoder, texts: Iterable[str], count: int, folder: Path, progress: bool) -> None:
    """Write the vectors of all texts, but those of the files that are already there.

    Of each of those the teacher is asked for the first text again: it may not be the teacher that wrote it.
    """
    done = size = 0
    bar = tqdm(total=count, desc="the teacher reads", unit=" texts", disable=None if progress else True)
    with bar:
        for number, shard in enumerate(chunks(texts, SHARD)):
            path = folder / f"vectors-{number:06d}.npy"
            if (found := _stored(path, len(shard))) is None:
                found = ask(encoder, shard, done)
                with atomic_file(path) as file:
                    np.save(file, found)
            elif _cosine(ask(encoder, shard[:1], done), found[:1]) <= SAME_COSINE:
                wrong = f"{path} does not have the vectors that the teacher gives for the texts"
                todo = "resume with the same teacher and texts, or start again with --overwrite"
                raise LimelightError(f"{wrong}; {todo}", code="run-differs")
            if size and found.shape[1] != size:
                wrong = f"{path} has vectors of {found.shape[1]} numbers, not {size}: another teacher's"
                raise LimelightError(f"{wrong}; start again with --overwrite", code="run-differs")
            size, done = found.shape[1], done + len(shard)
            bar.update(len(shard))
    if done != count:
        changed = f"there were {count:,} texts and now are {done:,}; start again with --overwrite"
        raise LimelightError(changed, code="run-differs")


def open_shards(folder: Path) -> Vectors:
    """The vectors that `encode_shards` has written."""
    with tidy_os_errors(f"cannot read {folder}"):
        return Vectors([npy.open_memmap(path, mode="r") for path in vector_files(folder)])


def ask(encoder: Encoder, texts: list[str], first: int = 0) -> np.ndarray:
    """(texts, vector) float16: what the encoder makes of them, checked."""
    try:
        found = np.asarray(encoder.encode(texts), dtype=np.float32)
    except LimelightError:
        raise
    except Exception as error:
        reason = " ".join(str(error).split())[:120]
        wrong = f"the teacher cannot encode the texts ({type(error).__name__}: {reason})"
        raise LimelightError(wrong, code="teacher-failed") from error
    if found.ndim != 2 or len(found) != len(texts) or found.shape[1] < 2:
        wrong = f"the teacher gave an array of shape {found.shape} for {len(texts):,} texts"
        todo = "it must be a sentence encoder, with one vector per text"
        raise LimelightError(f"{wrong}; {todo}", code="vectors-shape")
    _check_values(found, "the teacher's vectors", first)
    length = np.linalg.norm(found, axis=1, keepdims=True)
    return np.asarray(found / length, np.float16)  # of length 1, they cannot overflow


def _stored(path: Path, rows: int) -> np.ndarray | None:
    """A shard that is already there, and whole."""
    try:
        values = npy.open_memmap(path, mode="r")
    except (OSError, ValueError):
        return None
    return values if values.ndim == 2 and len(values) == rows and values.dtype == np.float16 else None


def _cosine(found: np.ndarray, stored: np.ndarray) -> float:
    """Of two vectors of length 1; they are the same but for what another batch or device makes of them."""
    return float((found * stored.astype(np.float32)).sum()) if found.shape == stored.shape else 0.0


def is_vectors_file(teacher: str) -> bool:
    """Whether a teacher's name is that of a file of vectors."""
    return os.path.splitext(teacher)[1].lower() == ".npy"
