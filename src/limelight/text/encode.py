"""From raw text to an encoded data set: tables of any size into a folder, or sequences in memory.

The tables are read three times: to check every row and collect the labels, to count the words of the
training split, and to write the ids. What is held in memory is one chunk of rows, the vocabulary and
four bytes per label, however large the tables are.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from ..config.recipe import TextRecipe
from ..errors import LimelightError, warn
from ..storage.files import atomic_folder, check_replaceable, tables_of
from .arrays import ArraysInMemory, ArraysOnDisk
from .dataset import KIND, SPLITS, Dataset, Split, write_description
from .labels import Label
from .passes import encoded_chunks, hold_out, read_labels, read_words, shared_out, warn_of_labels
from .sources import InMemory, Part, Tables, Texts
from .tables import choose_columns
from .tokenizer import SPECIAL, Tokenizer
from .vectors import check_vectors, first_words, read_vectors

__all__ = ["Dataset", "Split", "Texts", "encode_tables", "encode_texts"]

Paths = str | Path | Sequence[str | Path]
FEW = 0.5  # of the words in the texts: pretrained vectors that have fewer may be the wrong ones


def encode_tables(
    out: str | Path,
    train: Paths,
    dev: Paths | None = None,
    test: Paths | None = None,
    *,
    text: str | None = None,
    label: str | None = None,
    text2: str | None = None,
    recipe: TextRecipe,
    pair: bool | None = None,
    holdout: float = 0.1,
    seed: int = 0,
    on_bad: str = "error",
    overwrite: bool = False,
    progress: bool = True,
) -> Dataset:
    """Encode tables into the folder `out` and open it.

    Each of `train`, `dev` and `test` is a file or several parts; the columns are named or guessed (see
    `choose_columns`) in the first training file and must be the same in all. Without `dev`, a stratified
    part of the training rows (`holdout`) is held out. The words come from the training split alone.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "soup.csv").write_text("text,stars\\nGood!,5\\nBad.,1\\nGood.,5\\nBad!,1\\n")
    >>> dataset = encode_tables(folder / "soup", folder / "soup.csv", recipe=TextRecipe(), progress=False)
    >>> dataset.labels, dataset.facts["rows"]
    ((1, 5), {'train': 3, 'dev': 1})
    """
    check_replaceable(out, KIND, overwrite)
    files = tables_of({"train": train, "dev": dev, "test": test})
    columns = choose_columns(files["train"][0], text, label, text2, pair=pair)
    parts = {name: Tables(paths, columns, on_bad) for name, paths in files.items()}
    with atomic_folder(out, KIND, overwrite) as folder:
        dataset = _encode(parts, ArraysOnDisk(folder), recipe, holdout, seed, progress)
        dataset.facts["columns"] = asdict(columns)
        dataset.facts["skipped"] = {name: part.skipped for name, part in parts.items()}
        if progress and dataset.facts["held_out"]:
            print(dataset.facts["held_out"], file=sys.stderr)
        write_description(dataset, folder)
    return Dataset.open(out)


def encode_texts(
    texts: Sequence[str],
    labels: Sequence[Label] | None = None,
    texts2: Sequence[str] | None = None,
    weights: Sequence[float] | None = None,
    *,
    recipe: TextRecipe,
    dev: Texts | tuple[Any, ...] | None = None,
    test: Texts | tuple[Any, ...] | None = None,
    holdout: float = 0.1,
    seed: int = 0,
    progress: bool = False,
    names: Sequence[Label] | None = None,
) -> Dataset:
    """Encode sequences in memory: texts, their labels, for pairs the second texts, and sample weights.

    `dev` and `test` are `Texts` (or tuples in its order). Without `dev`, a stratified part of the rows
    (`holdout`) is held out; `holdout=0` holds nothing out. Where the labels are numbers from 0 that stand
    for others, `names` has those, for what is said of them.

    >>> texts, labels = ["Good soup!", "Bad soup."] * 2, [1, 0] * 2
    >>> dataset = encode_texts(texts, labels, recipe=TextRecipe(), holdout=0)
    >>> train = dataset.splits["train"]
    >>> [dataset.tokenizer.vocabulary[i] for i in train.ids[:6]], train.lengths.tolist()
    (['good', 'soup', '!', 'bad', 'soup', '.'], [3, 3, 3, 3])
    >>> train.labels.tolist(), dataset.labels
    ([1, 0, 1, 0], (0, 1))
    """
    given = {"train": Texts(texts, labels, texts2, weights), "dev": dev, "test": test}
    parts = {name: InMemory(Texts(*part), name) for name, part in given.items() if part is not None}
    kinds = {(part.pair, part.labelled) for part in parts.values()}
    if len(kinds) > 1:
        raise LimelightError("train, dev and test must all have labels or none, and all second texts or none")
    return _encode(parts, ArraysInMemory(), recipe, holdout, seed, progress, names)


def _encode(
    parts: Mapping[str, Part],
    arrays: ArraysOnDisk | ArraysInMemory,
    recipe: TextRecipe,
    holdout: float,
    seed: int,
    progress: bool,
    names: Sequence[Label] | None = None,
) -> Dataset:
    if recipe.vectors:
        check_vectors(recipe.vectors)  # before the long work, not after it
    classes, labels = read_labels(parts, progress)
    warn_of_labels(labels["train"], classes, names or classes)
    held = np.zeros(len(labels["train"]), dtype=bool)
    if "dev" not in parts:
        held = hold_out(labels["train"], holdout, seed)
        _warn_if_none(held, holdout)
    tokenizer = read_words(parts["train"], held, recipe, progress)
    if recipe.vectors and recipe.extra_words:
        tokenizer = _with_spare_words(tokenizer, recipe)
    for name, part in parts.items():
        encoded = encoded_chunks(part, labels[name], tokenizer, recipe.max_length, progress)
        for split, chunk in shared_out(encoded, held) if name == "train" else ((name, c) for c in encoded):
            arrays.append(split, chunk, len(tokenizer))
    finished = arrays.finish()
    splits = {name: Split(**finished[name]) for name in SPLITS if name in finished}
    facts = _facts(parts, splits, classes, recipe, seed)
    facts["held_out"] = _held_out_note(held, labels["train"], holdout, parts["train"].where)
    vectors = _vectors(tokenizer, splits["train"], recipe, seed, facts, progress) if recipe.vectors else None
    return Dataset(tokenizer, classes, splits, vectors, facts)


def _with_spare_words(tokenizer: Tokenizer, recipe: TextRecipe) -> Tokenizer:
    """What only the pretrained vectors know follows the words of the training data."""
    own = dict.fromkeys(tokenizer.vocabulary[len(SPECIAL) :])
    spare = first_words(recipe.vectors, recipe.extra_words)
    if recipe.lowercase:
        spare = [word for word in spare if word == word.lower()]
    words = [word for word in {**own, **dict.fromkeys(spare)} if word not in SPECIAL]
    return Tokenizer.from_words(words, lowercase=recipe.lowercase)


def _warn_if_none(held: np.ndarray, share: float) -> None:
    if share and not held.any():
        why = "no class has a second row, so that none can be held out"
        warn(f"{why}: without a development set, the last epoch is kept")


def _held_out_note(held: np.ndarray, labels: np.ndarray, share: float, where: str) -> str | None:
    """What was held out, with its true share."""
    if not held.any():
        return None
    asked, true = f"{100 * share:.3g}%", f"{100 * held.mean():.3g}%"
    classes, giving = labels.max() + 1, len(np.unique(labels[held]))
    if giving < classes:
        how = f"{true}; small classes that give none: {classes - giving:,} of {classes:,}"
    elif true == asked:
        how = f"{asked} of each class"
    else:
        how = f"{true}: {asked} of each class, rounded, and at least one row"
    return f"held out {held.sum():,} of the {len(held):,} rows of {where} as the development set ({how})"


def _facts(
    parts: Mapping[str, Part],
    splits: Mapping[str, Split],
    classes: Sequence[Label],
    recipe: TextRecipe,
    seed: int,
) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "sources": {name: part.where for name, part in parts.items()},
        "rows": {name: len(split) for name, split in splits.items()},
        "words": {name: split.words for name, split in splits.items()},
        "recipe": asdict(recipe),
        "seed": seed,
    }
    if classes:
        facts["classes"] = {
            name: dict(zip(map(str, classes), counts.tolist(), strict=True))
            for name, split in splits.items()
            if split.labels is not None
            for counts in [np.bincount(split.labels, minlength=len(classes))]
        }
    return facts


def _vectors(
    tokenizer: Tokenizer, train: Split, recipe: TextRecipe, seed: int, facts: dict[str, Any], progress: bool
) -> np.ndarray:
    vectors = read_vectors(
        recipe.vectors,
        tokenizer.vocabulary,
        seed=seed,
        missing=recipe.missing_vectors,
        corpus=train,
        progress=progress,
    )
    share = vectors.share_of(train)
    facts["vectors"] = {
        "source": recipe.vectors,
        "size": vectors.matrix.shape[1],
        "words": len(tokenizer) - 2,
        "found": int(vectors.found.sum()),
        "found_of_training_words": round(share, 4),
    }
    if share < FEW:
        known = f"{recipe.vectors} has {share:.0%} of the words in the training texts"
        warn(f"{known}; is it of their language, and written as they are (lower case)?")
    return vectors.matrix
