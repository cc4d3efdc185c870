"""The steps of encoding, each of which reads all rows once: labels, words, arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from tqdm import tqdm

from ..config.recipe import TextRecipe
from ..errors import LimelightError, warn
from ..tables.formats import join_names
from ..tables.rows import Row, chunks, without_skipped
from .batches import truncate
from .holdout import Chunk
from .labels import Label, are_many_numbers, join_classes
from .sources import TextSource
from .tasks import LabelFormat, find_task
from .tokenizer import Tokenizer

NO_VALUE = {"nan", "NaN", "NAN", "None", "null", "NULL", "NA", "N/A", "<NA>"}  # as programs write it
# Words, as many as in a short novel. The default network needs some 3 GiB to train on such a text; without
# a bound, one row that is a whole file by mistake would use up the memory, perhaps hours later.
LONGEST_TEXT = 50_000


def set_label_format(sources: Mapping[str, TextSource], recipe: TextRecipe) -> str:
    """Tell the sources how labels are written, and return the task; 'auto' is settled by the first label."""
    task, train = recipe.task, sources["train"]
    if task == "auto":
        train.labels = LabelFormat(task, recipe.separator)
        first = next(train.rows(), None) if train.labelled else None
        task = "multi-label" if first is not None and isinstance(first.label, tuple) else "classification"
    for source in sources.values():
        source.labels = LabelFormat(task, recipe.separator)
    return task


def read_labels(
    sources: Mapping[str, TextSource], task: str, progress: bool, known: Sequence[Label] = ()
) -> tuple[tuple[Label, ...], dict[str, np.ndarray]]:
    """The classes, and the labels by split as in tasks.py; checks every row on the way.

    `known` are classes that stay, with rows or without, unless the training rows have none of them.
    """
    kind, labelled = find_task(task), sources["train"].labelled
    columns = {}
    for name, source in sources.items():
        rows = tqdm(source.rows(), f"checking {name}", unit=" rows", disable=_disable(progress))
        columns[name] = kind(row.label if labelled else 0 for row in rows)
    if not labelled:
        return (), {name: column.numbers for name, column in columns.items()}
    classes = join_classes(columns["train"].classes(), known)
    where = {name: without_skipped(source.where, source.skipped) for name, source in sources.items()}
    labels = {name: column.index(classes, where[name]) for name, column in columns.items()}
    check_different(labels["train"], classes, sources["train"].where)
    return classes, labels


def check_different(labels: np.ndarray, classes: Sequence[Label], where: str) -> None:
    """Raise if there is nothing to learn, because all rows have the same label, or none has any."""
    if not classes:
        raise LimelightError(f"{where}: no text has a label; at least one must", code="label-count")
    if len(classes) > 1 if labels.dtype.kind == "i" else (labels != labels[0]).any():
        return  # classes may be of a model that training goes on with
    same = {
        "i": f"every label is {classes[0]!r}; at least two classes are needed",
        "f": f"every label is {labels.item(0)!r}; at least two numbers are needed",
        "u": "every text has the same labels; at least two must differ",
    }
    raise LimelightError(f"{where}: {same[labels.dtype.kind]}", code="label-count")


def check_numbers(classes: Sequence[Label], task: str, where: str) -> None:
    """Raise if the classes of a `task` 'auto' look like numbers to predict."""
    if task == "auto" and are_many_numbers(classes):
        raise LimelightError(
            f"{where}: the labels are {len(classes):,} different numbers, such as {classes[0]}; is each a "
            "class, or are numbers to be predicted? Say --task classification or --task regression",
            code="task-ambiguous",
        )


def warn_about_labels(counts: Mapping[str, int], names: Sequence[Label], known: Sequence[Label] = ()) -> None:
    """Warn about classes that can hardly be learnt, by the `names` that the user knows.

    `counts` has the rows of each class; those `known` have been learnt already.
    """
    both = zip(names, counts.values(), strict=True)
    single = [str(name) for name, n in both if n == 1 and name not in known]
    if single:
        what = "1 label occurs" if len(single) == 1 else f"{len(single)} labels occur"
        warn(f"{what} only once in the training data: {join_names(single)}")
    for label, rows in counts.items():
        if label in NO_VALUE:  # which cannot be told from a class of that name
            what = f"the label {label!r} (rows: {rows:,}) is learnt as a class"
            todo = "if it means no label, empty those cells and skip such rows with --skip-bad"
            warn(f"{what}; {todo} (in Python: on_bad='skip')")


def train_tokenizer(source: TextSource, held: np.ndarray, recipe: TextRecipe, progress: bool) -> Tokenizer:
    """The tokenizer with the words of the training rows, without those held out."""
    rows = tqdm(source.rows(), "counting words", len(held), unit=" rows", disable=_disable(progress))
    texts = (
        text
        for row, out in zip(rows, held.tolist(), strict=True)
        if not out
        for text in (row.text, row.text2)
        if text is not None
    )
    return Tokenizer.train(
        texts, lowercase=recipe.lowercase, min_count=recipe.min_count, max_words=recipe.max_words,
        split_characters=recipe.split_characters,
    )  # fmt: skip


def encode_chunks(
    source: TextSource, labels: np.ndarray, tokenizer: Tokenizer, max_length: int, progress: bool
) -> Iterator[Chunk]:
    """Yield the arrays of a split (ids, lengths, labels, ...), some thousand rows at a time."""
    done = 0
    title = f"encoding {source.where}"
    with tqdm(total=len(labels), desc=title, unit=" rows", disable=_disable(progress)) as bar:
        for rows in chunks(source.rows()):
            chunk = _encode(rows, tokenizer, max_length)
            if max_length == 0:
                _check_lengths(chunk, source, done)
            if source.labelled:
                chunk["labels"] = labels[done : done + len(rows)]
            if source.weights is not None:
                chunk["weights"] = source.weights[done : done + len(rows)]
            yield chunk
            done += len(rows)
            bar.update(len(rows))


def _check_lengths(chunk: Chunk, source: TextSource, done: int) -> None:
    for lengths in (chunk[name] for name in ("lengths", "lengths2") if name in chunk):
        longest = int(lengths.argmax())
        if lengths[longest] > LONGEST_TEXT:
            raise LimelightError(
                f"{source.name_row(done + longest)}: a text of {lengths[longest]:,} words is too long "
                f"(limit: {LONGEST_TEXT:,}); truncate texts with --max-length (in Python: max_length)",
                code="text-too-long",
            )


def _encode(rows: Sequence[Row], tokenizer: Tokenizer, max_length: int) -> Chunk:
    ids, lengths = truncate(*tokenizer.encode([row.text for row in rows]), max_length)
    if rows[0].text2 is None:
        return {"ids": ids, "lengths": lengths}
    ids2, lengths2 = truncate(*tokenizer.encode([row.text2 or "" for row in rows]), max_length)
    return {"ids": ids, "lengths": lengths, "ids2": ids2, "lengths2": lengths2}


def _disable(progress: bool) -> bool | None:
    """What tqdm's `disable` must be: None shows the bar on a terminal only."""
    return None if progress else True
