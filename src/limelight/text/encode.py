"""From raw text to an encoded data set: tables of any size into a folder, or sequences in memory.

The tables are read three times: to check every row and collect the labels, to count the words of the
training split, and to write the ids. Memory holds one chunk of rows, the vocabulary and four bytes per row
for its label (of several labels, a byte for each there is), however large the tables are.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..config.recipe import TextRecipe
from ..errors import LimelightError, warn
from ..storage.files import atomic_folder, check_replaceable
from ..tables.columns import Columns, choose_columns
from ..tables.formats import join_names
from ..tables.table import open_table
from .arrays import ArraysInMemory, ArraysOnDisk
from .dataset import LAYOUT, SPLITS, Dataset, Split, write_description
from .encode_steps import (
    check_numbers,
    encode_chunks,
    read_labels,
    set_label_format,
    train_tokenizer,
    warn_about_labels,
)
from .holdout import choose_held_out, describe_held_out, split_held_out
from .labels import Label
from .pretrained_words import PretrainedWords, VectorFiles, add_words, vector_facts
from .sources import MemorySource, TableSource, Texts, TextSource, table_paths
from .tasks import count_labels, find_task
from .tokenizer import Tokenizer

__all__ = ["Dataset", "Split", "Texts", "encode_tables", "encode_texts"]

Paths = str | Path | Sequence[str | Path]
HOLDOUT = 0.1
FEW_ROWS = 1000  # a tenth of fewer is too small to choose an epoch by; pretrained weights need none
ShareOfRows = Callable[[int], float]  # the share to hold out, by the number of rows


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
    labelled: bool = True,
    holdout: float | ShareOfRows | None = None,
    seed: int = 0,
    on_bad: str = "error",
    overwrite: bool = False,
    progress: bool = True,
    folder: str | Path = "",
    start: PretrainedWords | None = None,
) -> Dataset:
    """Encode tables into the folder `out` and open it.

    Each of `train`, `dev` and `test` is a file or several; the columns are named or guessed (see
    `choose_columns`) in the first training file and must be the same in all. Without `dev`, a stratified
    share of the training rows is held out: `holdout`, by default a tenth, but none of fewer than 1,000 rows
    when there is a `start`. The words come from the training split alone.
    Relative paths, also those in `recipe.vectors`, start from `folder`, by default the working folder. With
    `start`, the words and vectors are those of the weights that training will start from.
    With `labelled=False` the texts have no labels, and `holdout` may depend on the number of rows.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "soup.csv").write_text("text,stars\\nGood!,5\\nBad.,1\\nGood.,5\\nBad!,1\\n")
    >>> dataset = encode_tables(folder / "soup", folder / "soup.csv", recipe=TextRecipe(), progress=False)
    >>> dataset.labels, dataset.facts["rows"]
    ((1, 5), {'train': 3, 'dev': 1})
    """
    check_replaceable(out, LAYOUT, overwrite)
    files = table_paths({"train": train, "dev": dev, "test": test})
    first = open_table(Path(folder, files["train"][0]))
    pair = None if labelled else False
    columns = choose_columns(first.path, text, label, text2, labelled, pair, first.names)
    sources = {
        name: TableSource(paths, columns, on_bad, Path(folder), table=first if name == "train" else None)
        for name, paths in files.items()
    }
    with ExitStack() as stack, atomic_folder(out, LAYOUT, overwrite) as new:
        for source in sources.values():
            stack.callback(source.close)
        arrays = ArraysOnDisk(new)
        dataset = _encode(sources, arrays, recipe, holdout, seed, progress, start, None, folder)
        dataset.facts["columns"] = asdict(columns)
        dataset.facts["skipped"] = {name: source.skipped for name, source in sources.items()}
        guessed = f"{columns} (guessed)" if columns != Columns(text or "", label, text2) else None
        notes = (guessed, dataset.facts.get("goes_on"), dataset.facts["held_out"])
        for note in filter(None, notes if progress and labelled else ()):
            print(note, file=sys.stderr)
        write_description(dataset, new)
    return Dataset.open(out)


def encode_texts(
    texts: Sequence[str],
    labels: Sequence[Any] | None = None,
    texts2: Sequence[str] | None = None,
    weights: Sequence[float] | None = None,
    *,
    recipe: TextRecipe,
    dev: Texts | tuple[Any, ...] | None = None,
    test: Texts | tuple[Any, ...] | None = None,
    holdout: float | None = None,
    seed: int = 0,
    progress: bool = False,
    names: Sequence[Label] | None = None,
    start: PretrainedWords | None = None,
) -> Dataset:
    """Encode sequences in memory: texts, their labels, for pairs the second texts, and sample weights.

    `dev` and `test` are `Texts` (or tuples in its order). Without `dev`, rows are held out as by
    `encode_tables`. Where the labels are the places of the user's own in a list, `names` is that list, of all
    classes, with rows or without.

    >>> texts, labels = ["Good soup!", "Bad soup."] * 2, [1, 0] * 2
    >>> dataset = encode_texts(texts, labels, recipe=TextRecipe(), holdout=0)
    >>> train = dataset.splits["train"]
    >>> [dataset.tokenizer.vocabulary[i] for i in train.ids[:6]], train.lengths.tolist()
    (['good', 'soup', '!', 'bad', 'soup', '.'], [3, 3, 3, 3])
    >>> train.labels.tolist(), dataset.labels
    ([1, 0, 1, 0], (0, 1))
    """
    given = {"train": Texts(texts, labels, texts2, weights), "dev": dev, "test": test}
    sources = {name: MemorySource(Texts(*each), name) for name, each in given.items() if each is not None}
    if len({(source.pair, source.labelled) for source in sources.values()}) > 1:
        raise LimelightError(
            "train, dev and test must all have labels or none, and all second texts or none",
            code="split-mismatch",
        )
    return _encode(sources, ArraysInMemory(), recipe, holdout, seed, progress, start, names)


def _encode(
    sources: Mapping[str, TextSource],
    arrays: ArraysOnDisk | ArraysInMemory,
    recipe: TextRecipe,
    holdout: float | ShareOfRows | None,
    seed: int,
    progress: bool,
    start: PretrainedWords | None,
    names: Sequence[Label] | None = None,
    vectors_folder: str | Path = "",
) -> Dataset:
    if recipe.start and start is None:
        todo = "encode with the weights that it names"
        raise LimelightError(f"start is {recipe.start!r}; {todo}", code="start-missing")
    pretrained: PretrainedWords | VectorFiles | None = start
    if recipe.vectors and not start:
        pretrained = VectorFiles(recipe, vectors_folder, seed, progress)
    task = set_label_format(sources, recipe)
    known: Sequence[Label] = start.labels if start else ()
    if start:
        start.check_kind(sources["train"].pair, recipe.start, task)
    classes, labels = read_labels(sources, task, progress, known if names is None else range(len(names)))
    check_numbers(classes, recipe.task, sources["train"].where)
    counts = count_labels(task, labels["train"], classes) if classes else {}
    warn_about_labels(counts, names or classes, known)
    if holdout is None:
        holdout = 0 if start and len(labels["train"]) < FEW_ROWS else HOLDOUT
    share = holdout(len(labels["train"])) if callable(holdout) else holdout
    strata = find_task(task).strata(labels["train"])
    held = choose_held_out(strata, 0 if "dev" in sources else share, seed)
    if share and classes and "dev" not in sources and not held.any():
        warn("no class has a second row to hold out: without a development set, the last epoch is kept")
    tokenizer = train_tokenizer(sources["train"], held, recipe, progress)
    if pretrained and (start or recipe.extra_words):
        tokenizer = add_words(tokenizer, pretrained, recipe.extra_words)
    splits = _write_splits(sources, labels, held, tokenizer, recipe.max_length, arrays, progress)
    facts = _facts(sources, splits, classes, replace(recipe, task=task), seed)
    where, group = sources["train"].where, find_task(task).group
    facts["held_out"] = describe_held_out(held, strata, share, where, group)
    if known and task != "regression":
        facts["goes_on"] = _describe_classes(recipe.start, names or classes, known, counts)
    found = pretrained.vectors(tokenizer.vocabulary) if pretrained else None
    if found is not None:
        facts["vectors"] = vector_facts(found, recipe.start if start else recipe.vectors, splits["train"])
    return Dataset(tokenizer, classes, splits, None if found is None else found.matrix, facts, task)


def _write_splits(
    sources: Mapping[str, TextSource],
    labels: Mapping[str, np.ndarray],
    held: np.ndarray,
    tokenizer: Tokenizer,
    max_length: int,
    arrays: ArraysOnDisk | ArraysInMemory,
    progress: bool,
) -> dict[str, Split]:
    for name, source in sources.items():
        chunks = encode_chunks(source, labels[name], tokenizer, max_length, progress)
        for split, chunk in split_held_out(chunks, held) if name == "train" else ((name, c) for c in chunks):
            arrays.append(split, chunk, len(tokenizer))
    finished = arrays.finish()
    return {name: Split(**finished[name]) for name in SPLITS if name in finished}


def _describe_classes(
    start: str, classes: Sequence[Label], known: Sequence[Label], counts: Mapping[str, int]
) -> str:
    """Which classes a trained model goes on with, by their rows; a warning if it has none of them."""
    model = start or "the model"
    if not set(known) & set(classes):
        warn(
            f"none of the labels is a class of {model}: its classifier is not kept, and the new model has "
            f"only the new classes; to keep {join_names([str(each) for each in known])}, add rows of them"
        )
        return f"starts from {model}, with a new classifier"
    new = [str(label) for label in classes if label not in set(known)]
    absent = [str(label) for label, rows in zip(classes, counts.values(), strict=True) if not rows]
    parts = [f"new: {join_names(new)}"] if new else []
    parts += [f"kept, without new rows: {join_names(absent)}"] if absent else []
    return "; ".join([f"goes on with {model}, {len(classes)} classes", *parts])


def _facts(
    sources: Mapping[str, TextSource],
    splits: Mapping[str, Split],
    classes: Sequence[Label],
    recipe: TextRecipe,
    seed: int,
) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "sources": {name: source.where for name, source in sources.items()},
        "rows": {name: len(split) for name, split in splits.items()},
        "words": {name: split.words for name, split in splits.items()},
        "recipe": asdict(recipe),
        "seed": seed,
    }
    if classes:
        facts["classes"] = {
            name: count_labels(recipe.task, split.labels, classes)
            for name, split in splits.items()
            if split.labels is not None
        }
    return facts
