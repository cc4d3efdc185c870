"""An encoded data set: word ids back to back, lengths and labels as plain arrays in a folder.

The arrays are memory-mapped: opening a data set of any size takes no memory. `encode.py` makes one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy

from ..config.recipe import DEFAULT_TASK, TASKS
from ..errors import LimelightError, tidy_os_errors
from ..storage.array_files import safetensors_pieces
from ..storage.files import FolderLayout, atomic_folder
from ..storage.json_file import parse_object
from ..storage.open_files import check_memory, open_regular, read_regular
from ..tables.formats import shorten
from .arrays import DTYPES, ArraysOnDisk, array_path, encode_again, min_max, open_arrays
from .labels import Label
from .tasks import find_task
from .tokenizer import Tokenizer

FORMAT, VERSION = "limelight-dataset", 1
MAX_DESCRIPTION = 2**26  # bytes of a dataset.json
SPLITS = ("train", "dev", "test")
_ARRAYS = tuple(array_path(Path(), split, array).name for split in SPLITS for array in DTYPES)
LAYOUT = FolderLayout(
    "an encoded data set", ("dataset.json",), ("tokenizer.json", "vectors.safetensors", *_ARRAYS)
)


@dataclass(frozen=True, eq=False)
class Split:
    """Sentences as word ids back to back; for pairs also the second sentences."""

    ids: np.ndarray  # (words,) of all sentences, back to back; may be a memory map
    lengths: np.ndarray  # (rows,): words of each sentence, at least 1
    labels: np.ndarray | None = None  # (rows,): index into Dataset.labels; of other tasks as in tasks.py
    weights: np.ndarray | None = None  # (rows,): how much each row counts
    ids2: np.ndarray | None = None  # (words2,): the second sentences of pairs
    lengths2: np.ndarray | None = None  # (rows,)
    hashes: np.ndarray | None = None  # (rows,): of the texts, as in learnt_rows.py

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def pair(self) -> bool:
        return self.ids2 is not None

    @property
    def words(self) -> int:
        return len(self.ids) + (0 if self.ids2 is None else len(self.ids2))

    @property
    def starts(self) -> np.ndarray:
        """(rows,) int64: where each sentence begins in `ids`."""
        return self.sides[0][1]

    @cached_property
    def sides(self) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """(ids, starts, lengths) of the sentences, and for pairs of the second ones."""
        found = [(self.ids, self.lengths)]
        if self.ids2 is not None and self.lengths2 is not None:
            found.append((self.ids2, self.lengths2))
        return [(ids, np.cumsum(lengths, dtype=np.int64) - lengths, lengths) for ids, lengths in found]

    def row(self, number: int) -> list[np.ndarray]:
        """The ids of a row's sentence, or of both sentences of a pair."""
        return [np.asarray(ids[starts[number] :][: lengths[number]]) for ids, starts, lengths in self.sides]

    def arrays(self) -> dict[str, np.ndarray]:
        return {f.name: values for f in fields(self) if (values := getattr(self, f.name)) is not None}


@dataclass(frozen=True, eq=False)
class Dataset:
    """An encoded data set: its splits, the tokenizer and the classes that the numbers in them mean."""

    tokenizer: Tokenizer
    labels: tuple[Label, ...]
    splits: Mapping[str, Split]
    vectors: np.ndarray | None  # (vocabulary, d) float32: pretrained word vectors
    facts: dict[str, Any]  # sources, counts, what was skipped and held out
    task: str = DEFAULT_TASK

    @property
    def pair(self) -> bool:
        return self.splits["train"].pair

    def save(self, folder: str | Path, overwrite: bool = False) -> None:
        """Write everything into a folder, whole or not at all."""
        with atomic_folder(folder, LAYOUT, overwrite) as temporary:
            arrays = ArraysOnDisk(temporary)
            for name, split in self.splits.items():
                arrays.append(name, split.arrays(), len(self.tokenizer))
            arrays.finish()
            write_description(self, temporary)

    @classmethod
    def open(cls, folder: str | Path) -> Dataset:
        """Open a folder that `save` or `encode_tables` wrote; the arrays stay on disk."""
        folder = Path(folder)
        description = _read_description(folder)
        tokenizer = Tokenizer.load(folder / "tokenizer.json")
        if tokenizer.hash != description["tokenizer"]:
            raise encode_again(f"{folder}: tokenizer.json is not the one the data was encoded with")
        labels = tuple(description["labels"])
        splits = {
            name: Split(**open_arrays(folder, name, description["splits"][name]))
            for name in SPLITS
            if name in description["splits"]
        }
        if len({(split.pair, split.labels is None) for split in splits.values()}) > 1:
            raise encode_again(f"{folder}: its splits do not fit together")
        for name, split in splits.items():
            _check_split(split, f"{folder}: {name}", len(tokenizer), len(labels), description["task"])
        vectors = _read_vectors(folder, len(tokenizer)) if description["vectors"] else None
        return cls(tokenizer, labels, splits, vectors, description["facts"], description["task"])


def write_description(dataset: Dataset, folder: Path) -> None:
    """Write everything but the arrays: tokenizer.json, the vectors and, last, dataset.json."""
    dataset.tokenizer.save(folder / "tokenizer.json")
    if dataset.vectors is not None:
        with open(folder / "vectors.safetensors", "wb") as file:
            file.writelines(safetensors_pieces({"vectors": dataset.vectors}))
    description = {
        "format": FORMAT,
        "version": VERSION,
        "tokenizer": dataset.tokenizer.hash,
        "task": dataset.task,
        "labels": list(dataset.labels),
        "splits": {
            name: {array: len(values) for array, values in split.arrays().items()}
            for name, split in dataset.splits.items()
        },
        "vectors": dataset.vectors is not None,
        "facts": dataset.facts,
    }
    (folder / "dataset.json").write_text(json.dumps(description, indent=2) + "\n", encoding="ascii")


def _read_description(folder: Path) -> dict[str, Any]:
    path = folder / "dataset.json"
    if not path.is_file():
        raise LimelightError(
            f"{folder} is not an encoded data set (no dataset.json); encode one first", code="not-a-dataset"
        )
    content = read_regular(path, MAX_DESCRIPTION)
    try:
        description = parse_object(content, path.name)
    except LimelightError as error:
        raise encode_again(f"{path} is damaged ({error})") from None
    if description.get("format") != FORMAT:
        raise LimelightError(f"{path} does not describe a Limelight data set", code="not-a-dataset")
    if description.get("version") != VERSION:
        raise LimelightError(
            f"{path} has version {shorten(repr(description.get('version')))}, this version reads {VERSION}; "
            "update Limelight or encode the data again",
            code="format-newer",
        )
    _check_description(description, path)
    return {"task": DEFAULT_TASK, **description}  # older versions know no other


def _check_description(description: dict[str, Any], path: Path) -> None:
    kinds = {"tokenizer": str, "labels": list, "splits": dict, "vectors": bool, "facts": dict}
    wrong = [name for name, kind in kinds.items() if not isinstance(description.get(name), kind)]
    if not wrong:
        splits, labels, facts = (description[name] for name in ("splits", "labels", "facts"))
        bad = [name for name in {"train", *splits} if not _is_split(name, splits.get(name))]
        wrong = [f"splits.{shorten(name)}" for name in bad]
        wrong += [f"facts.{name}" for name, fits in _FACTS.items() if name in facts and not fits(facts[name])]
        distinct = {str(label) for label in labels if isinstance(label, str | int | float)}
        wrong += ["labels"] if len(distinct) < len(labels) else []
        wrong += [] if description.get("task", TASKS[0]) in TASKS else ["task"]
    if wrong:
        raise encode_again(f"{path} is damaged ({', '.join(sorted(wrong))})")


_FACTS: dict[str, Callable[[Any], bool]] = {  # those that are used again
    "sources": lambda value: isinstance(value, dict) and all(isinstance(x, str) for x in value.values()),
    "rows": lambda value: isinstance(value, dict) and all(type(x) is int for x in value.values()),
    "recipe": lambda value: isinstance(value, dict),
    "held_out": lambda value: value is None or isinstance(value, str),
}


def _is_split(name: str, sizes: Any) -> bool:
    """Whether an entry has a known name and the sizes of known arrays, ids and lengths among them."""
    if name not in SPLITS or not isinstance(sizes, dict):
        return False
    return {"ids", "lengths"} <= set(sizes) <= set(DTYPES) and all(
        type(size) is int and size > 0 for size in sizes.values()
    )


def _check_split(split: Split, where: str, words: int, classes: int, task: str) -> None:
    """Check that sizes fit together and that ids and labels exist: nothing later has to check again."""
    by_row = (split.lengths2, split.labels, split.weights, split.hashes)
    if any(values is not None and len(values) != len(split) for values in by_row) or (
        (split.ids2 is None) != (split.lengths2 is None)
    ):
        raise encode_again(f"{where}: its arrays do not fit together")
    for ids, _, lengths in split.sides:
        lowest, highest = min_max(ids)
        fits = int(lengths.sum(dtype=np.int64)) == len(ids) and lengths.min() >= 1
        if not fits or lowest < 0 or highest >= words:
            raise encode_again(f"{where}: its word ids are damaged")
    if split.weights is not None and not (np.isfinite(split.weights) & (split.weights >= 0)).all():
        raise encode_again(f"{where}: its weights are damaged")
    if split.labels is not None and not find_task(task).column.fits(split.labels, classes):
        raise encode_again(f"{where}: some labels are not in dataset.json")


def _read_vectors(folder: Path, words: int) -> np.ndarray:
    path = folder / "vectors.safetensors"
    with tidy_os_errors(f"cannot read {path}"):
        with open_regular(path) as file:
            check_memory(os.fstat(file.fileno()).st_size, path.name)
        try:
            vectors = safetensors.numpy.load_file(path)["vectors"]
        except (safetensors.SafetensorError, KeyError, TypeError, ValueError, AttributeError) as error:
            reason = shorten(" ".join(str(error).split()))
            raise encode_again(f"{path} is damaged ({reason})") from None
    if vectors.ndim != 2 or len(vectors) != words or not vectors.size or vectors.dtype != np.float32:
        raise encode_again(f"{path} holds {vectors.dtype} of shape {vectors.shape}, not float32 ({words}, d)")
    if not np.isfinite(vectors).all():
        raise encode_again(f"{path} holds numbers that are not finite")
    return np.asarray(vectors)
