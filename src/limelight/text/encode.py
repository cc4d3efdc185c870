"""From raw text to an encoded data set: tables of any size into a folder, or sequences in memory.

Every table is read once. While rows are checked and labels collected, words are numbered as they come, and
the numbers put aside in a file. Then the rows to hold out and the vocabulary are chosen, and the numbers
become ids. Memory holds a chunk of rows, every different word, four bytes per row for its label (of several
labels, a byte for each there is), and what people marked in it, however large the tables are.
"""

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from ..config.recipe import TextRecipe
from ..errors import LimelightError
from ..storage.files import atomic_folder, check_replaceable
from ..tables.columns import Columns, choose_columns
from ..tables.table import open_table
from .arrays import ArraysInMemory, ArraysOnDisk
from .dataset import LAYOUT, Dataset, Split, write_description
from .encode_steps import Choose, Encoding, ShareOfRows
from .labels import Label
from .sources import MemorySource, TableSource, Texts, table_paths
from .vectors import PretrainedWords

__all__ = ["Dataset", "Split", "Texts", "encode_tables", "encode_texts"]

Paths = str | Path | Sequence[str | Path]


def encode_tables(
    out: str | Path,
    train: Paths,
    dev: Paths | None = None,
    test: Paths | None = None,
    *,
    text: str | None = None,
    label: str | None = None,
    text2: str | None = None,
    reasons: str | None = None,
    not_reasons: str | None = None,
    recipe: TextRecipe,
    labelled: bool = True,
    holdout: float | ShareOfRows | None = None,
    seed: int = 0,
    on_bad: str = "error",
    overwrite: bool = False,
    progress: bool = True,
    folder: str | Path = "",
    start: PretrainedWords | None = None,
    choose: Choose | None = None,
    all_words: bool = False,
) -> Dataset:
    """Encode tables into the folder `out` and open it.

    Each of `train`, `dev` and `test` is a file or several; the columns are named or guessed (see
    `choose_columns`) in the first training file and must be the same in all. Without `dev`, a stratified
    share of the training rows is held out: `holdout`, by default a tenth, but none of fewer than 1,000 rows
    when there is a `start`. The words come from the training split alone.
    Relative paths, also those in `recipe.vectors`, start from `folder`, by default the working folder. With
    `start`, the words and vectors are those of the weights that training will start from; `choose` finds
    these once the rows are read.
    `reasons` and `not_reasons` are columns of the training tables, as in reasons.py.
    With `labelled=False` the texts have no labels, and `holdout` may depend on the number of rows. With
    `all_words` the words of all splits are known, for an encoder that reads the words themselves.
    """
    check_replaceable(out, LAYOUT, overwrite)
    files = table_paths({"train": train, "dev": dev, "test": test})
    first = open_table(Path(folder, files["train"][0]))
    pair = None if labelled else False
    columns = choose_columns(first, text, label, text2, labelled, pair)
    marked = replace(columns, reasons=reasons, not_reasons=not_reasons)
    sources = {"train": TableSource(files.pop("train"), marked, on_bad, Path(folder), table=first)}
    sources |= {name: TableSource(paths, columns, on_bad, Path(folder)) for name, paths in files.items()}
    with ExitStack() as stack, atomic_folder(out, LAYOUT, overwrite) as new:
        for source in sources.values():
            stack.callback(source.close)
        how = holdout, seed, progress, start, None, folder, choose, all_words
        encoding = Encoding(sources, ArraysOnDisk(new), recipe, *how)
        dataset = encoding.run()
        dataset.facts["columns"] = {
            k: v for k, v in asdict(marked).items() if v or k in ("text", "label", "text2")
        }
        dataset.facts["skipped"] = {name: source.skipped for name, source in sources.items()}
        guessed = f"{columns} (guessed)" if columns != Columns(text or "", label, text2) else None
        notes = (guessed, *encoding.remarks, dataset.facts.get("continued_from"), dataset.facts["held_out"])
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
    reasons: Sequence[Any] | None = None,
    not_reasons: Sequence[Any] | None = None,
    recipe: TextRecipe,
    dev: Texts | tuple[Any, ...] | None = None,
    test: Texts | tuple[Any, ...] | None = None,
    holdout: float | None = None,
    seed: int = 0,
    progress: bool = False,
    names: Sequence[Label] | None = None,
    start: PretrainedWords | None = None,
    choose: Choose | None = None,
    all_words: bool = False,
) -> Dataset:
    """Encode sequences in memory: texts, their labels, for pairs the second texts, and sample weights.

    `dev` and `test` are `Texts` (or tuples in its order). Without `dev`, rows are held out as by
    `encode_tables`. Where the labels are the places of the user's own in a list, `names` is that list, of all
    classes, with rows or without.
    """
    train = Texts(texts, labels, texts2, weights, reasons, not_reasons)
    given = {"train": train, "dev": dev, "test": test}
    sources = {name: MemorySource(Texts(*each), name) for name, each in given.items() if each is not None}
    if len({(source.pair, source.labelled) for source in sources.values()}) > 1:
        raise LimelightError(
            "train, dev and test must all have labels or none, and all second texts or none",
            code="split-mismatch",
        )
    arrays = ArraysInMemory()
    how = holdout, seed, progress, start, names, "", choose, all_words
    return Encoding(sources, arrays, recipe, *how).run()
