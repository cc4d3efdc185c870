"""From the rows of some sources to a data set: rows are read and split once, then words get their ids."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, field, replace
from itertools import count
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from ..config.presets import Size
from ..config.recipe import TextRecipe
from ..errors import LimelightError, bad_value, warn
from ..tables.formats import join_names
from ..tables.rows import chunks
from .arrays import ArraysInMemory, ArraysOnDisk, Side, WordStore
from .batches import truncate
from .dataset import SPLITS, Dataset, Split
from .labels import Label, LabelColumn, are_many_numbers, join_classes, readable
from .learnt_rows import row_hash
from .numbering import number_words
from .remarks import TextRemarks
from .sources import TextSource
from .tasks import CLASSIFICATION, MULTI_LABEL, LabelFormat, count_labels, find_task
from .tokenizer import Tokenizer, choose_words
from .vectors import PretrainedWords, VectorFiles, add_words, vector_facts

HOLDOUT = 0.1
CHUNK_ROWS = 20_000  # split together, unless a million characters come first
NAMED_ROWS = 20  # of a class: with more, its name adds nothing
FEW_ROWS = 1000  # a tenth of fewer is too small to choose an epoch by; pretrained weights need none
Marked = tuple[int, str, str | None]  # a training row, and a further text or pair to learn its label from
# The name of what training starts from, and its words, once the size of the training rows is known:
Choose = Callable[[Size], tuple[str, PretrainedWords]]
ShareOfRows = Callable[[int], float]  # the share to hold out, by the number of rows
NO_VALUE = {"nan", "NaN", "NAN", "None", "null", "NULL", "NA", "N/A", "<NA>"}  # as programs write it
# Words, as many as in a short novel. The default network needs some 3 GiB to train on such a text; without
# a bound, one row that is a whole file by mistake would use up the memory, perhaps hours later.
LONGEST_TEXT = 50_000


@dataclass
class Encoding:
    """What `encode_tables` and `encode_texts` were asked for, and the way to it."""

    sources: Mapping[str, TextSource]
    arrays: ArraysOnDisk | ArraysInMemory
    recipe: TextRecipe
    holdout: float | ShareOfRows | None
    seed: int
    progress: bool
    start: PretrainedWords | None
    names: Sequence[Label] | None = None  # of all classes, where the labels are places in this list
    vectors_folder: str | Path = ""
    choose: Choose | None = None  # in place of `start`
    all_words: bool = False  # those of every row are in the vocabulary, not of the training rows alone
    seen: TextRemarks = field(default_factory=TextRemarks)  # the training rows
    remarks: Sequence[str] = ()  # on them, a line each
    hashes: array[int] = field(default_factory=lambda: array("I"))  # of them, as in learnt_rows.py

    def run(self) -> Dataset:
        """Read the rows, fill the arrays and describe them."""
        if not (self.holdout is None or callable(self.holdout)):
            check_share(self.holdout)  # before the long work
        with self.arrays.scratch() as file:
            return self._run(WordStore(file, sides=1 + self.sources["train"].pair))

    def _run(self, store: WordStore) -> Dataset:
        recipe, start, train = self.recipe, self.start, self.sources["train"]
        pretrained, task = None if self.choose else self._pretrained(), self._set_label_format()
        known: Sequence[Label] = start.labels if start else ()
        if start:
            start.check_kind(train.pair, recipe.start, task)
        marked: list[Marked] = []
        columns = self._read_rows(task, store, marked)
        classes, labels = self._number_labels(
            columns, known if self.names is None else range(len(self.names))
        )
        check_numbers(classes, recipe.task, train.where)
        if self.choose:
            count = store.words("train", recipe.max_length)
            size = Size(len(labels["train"]), count, len(classes), train.pair)
            name, start = self.choose(size)
            recipe, pretrained = replace(recipe, start=name), start
            self.recipe, self.start = recipe, start
        counts = count_labels(task, labels["train"], classes) if classes else {}
        warn_about_labels(counts, self.names or classes, known)
        self.remarks = self.seen.lines({name: rows for name, rows in counts.items() if rows > 1})
        held, note = self._hold_out(find_task(task).column, labels["train"])
        words = choose_words(self._count_words(store, held), recipe.min_count, recipe.max_words)
        tokenizer = Tokenizer.from_words(
            words, lowercase=recipe.lowercase, split_characters=recipe.split_characters
        )
        if pretrained and (start or recipe.extra_words):
            tokenizer = add_words(tokenizer, pretrained, recipe.extra_words)
        marked = [each for each in marked if not held[each[0]]]
        marked += self._class_names(classes, labels["train"], held)
        splits = self._write_splits(store, labels, held, tokenizer, marked)
        facts = {**self._facts(splits, classes, task), "held_out": note}
        if self.choose:
            facts["size"] = size._asdict()
        if marked:
            facts |= {"reasons": len(marked), "rows": {**facts["rows"], "train": int((~held).sum())}}
        if known and not find_task(task).is_number:
            facts["continued_from"] = _describe_classes(recipe.start, self.names or classes, known, counts)
        if not pretrained or self.all_words:  # an encoder that reads words has no vectors of them
            return Dataset(tokenizer, classes, splits, None, facts, task)
        found = pretrained.vectors(tokenizer.vocabulary)
        source = (recipe.start or "the model") if start else recipe.vectors
        facts["vectors"] = vector_facts(found, source, splits["train"])
        return Dataset(tokenizer, classes, splits, found.matrix, facts, task)

    @property
    def _forbidden(self) -> Set[str]:
        """The words that the model to go on with must not read: they are not read in training either."""
        return self.start.tokenizer.forbidden if self.start else frozenset()

    def _pretrained(self) -> PretrainedWords | VectorFiles | None:
        if self.recipe.start and self.start is None:
            todo = "encode with the weights that it names"
            raise LimelightError(f"start is {self.recipe.start!r}; {todo}", code="start-missing")
        if self.start or not self.recipe.vectors:
            return self.start
        return VectorFiles(self.recipe, self.vectors_folder, self.seed, self.progress)

    def _set_label_format(self) -> str:
        """Tell the sources how labels are written, and return the task; the first label settles 'auto'."""
        task, train = self.recipe.task, self.sources["train"]
        if task == "auto":
            train.labels = LabelFormat(task, self.recipe.separator)
            first = train.first() if train.labelled else None
            task = (MULTI_LABEL if first and isinstance(first.label, tuple) else CLASSIFICATION).name
        for source in self.sources.values():
            source.labels = LabelFormat(task, self.recipe.separator)
        return task

    def _read_rows(self, task: str, store: WordStore, marked: list[Marked]) -> dict[str, LabelColumn]:
        """Check every row; the labels by split, while words go into the store and marks are collected."""
        columns = {name: find_task(task).column() for name in self.sources}
        how = self.recipe.lowercase, self.recipe.split_characters, self._forbidden
        for name, source in self.sources.items():
            for texts in self._texts(source, f"reading {name}", columns[name], marked):
                store.append(name, number_words(texts, *how))
        return columns

    def _texts(
        self, source: TextSource, title: str, labels: LabelColumn, marked: list[Marked]
    ) -> Iterator[list[str]]:
        """The texts of some thousand rows at a time, for pairs followed by the second texts."""
        from tqdm import tqdm  # not on every machine that trains from encoded data

        bar = tqdm(source.rows(), title, unit=" rows", disable=None if self.progress else True)
        number = count()
        for rows in chunks(bar, CHUNK_ROWS):
            for row, place in zip(rows, number, strict=False):
                marked += [(place, *texts) for texts in row.reasons or ()]
                labels.append(row.label if source.labelled else 0)
                if source is self.sources["train"]:
                    self.seen.add(row.text, row.label, row.text2)
                    if source.labelled:
                        self.hashes.append(row_hash(row.text, row.text2))
            yield [row.text for row in rows] + [row.text2 for row in rows if row.text2 is not None]

    def _number_labels(
        self, columns: Mapping[str, LabelColumn], known: Sequence[Label]
    ) -> tuple[tuple[Label, ...], dict[str, np.ndarray]]:
        """The classes, and the labels by split as in tasks.py.

        `known` are classes that stay, with rows or without, unless the training rows have none of them.
        """
        train = self.sources["train"]
        if not train.labelled:
            return (), {name: column.numbers for name, column in columns.items()}
        classes = join_classes(columns["train"].classes(), known)
        labels = {name: each.index(classes, self.sources[name].name_row) for name, each in columns.items()}
        check_different(labels["train"], classes, train.where)
        return classes, labels

    def _hold_out(self, column: type[LabelColumn], labels: np.ndarray) -> tuple[np.ndarray, str | None]:
        """(rows,) bool: the training rows that are held out; and what to say of them."""
        strata = column.strata(labels)
        train, share = self.sources["train"], self.holdout
        if share is None:
            share = 0 if self.start and len(strata) < FEW_ROWS else HOLDOUT
        share = share(len(strata)) if callable(share) else share
        held = choose_held_out(strata, 0 if "dev" in self.sources else share, self.seed)
        if share and train.labelled and "dev" not in self.sources and not held.any():
            warn("no class has a second row to hold out: without a development set, the last epoch is kept")
        return held, describe_held_out(held, strata, share, train.where, column.group)

    def _class_names(self, classes: Sequence[Label], labels: np.ndarray, held: np.ndarray) -> list[Marked]:
        """The name of each class as one more text of it, where there are few and a reader knows the words."""
        single = labels.dtype.kind == "i" and not self.sources["train"].pair
        from_reader = self.start and not self.start.labels
        if not (single and from_reader and (~held).sum() < NAMED_ROWS * len(classes)):
            return []
        rows = {int(labels[row]): row for row in np.flatnonzero(~held)[::-1].tolist()}
        named = [readable(str(each)) for each in (classes if self.names is None else self.names)]
        return [(rows[k], name, None) for k, name in enumerate(named) if name and k in rows]

    def _count_words(self, store: WordStore, held: np.ndarray) -> dict[str, int]:
        if not self.all_words:
            return store.count("train", ~held)
        counts: Counter[str] = Counter()
        for name in self.sources:
            counts.update(store.count(name))
        return counts

    def _write_splits(
        self, store: WordStore, labels: Mapping[str, np.ndarray], held: np.ndarray, tokenizer: Tokenizer,
        marked: Sequence[Marked],
    ) -> dict[str, Split]:  # fmt: skip
        ids = store.ids(tokenizer)
        for name, source in self.sources.items():
            parts = self._encode_chunks(store.read(name), ids, source, labels[name])
            named = split_held_out(parts, held) if name == "train" else ((name, part) for part in parts)
            for split, part in named:
                self.arrays.append(split, part, len(tokenizer))
        if marked:
            self.arrays.append(
                "train", self._encode_marked(marked, labels["train"], tokenizer), len(tokenizer)
            )
        finished = self.arrays.finish()
        return {name: Split(**finished[name]) for name in SPLITS if name in finished}

    def _encode_chunks(
        self, pieces: Iterable[list[Side]], ids: np.ndarray, source: TextSource, labels: np.ndarray
    ) -> Iterator[Chunk]:
        """A split's arrays, some thousand rows at a time; `ids` are by the words' numbers in the store."""
        done, max_length = 0, self.recipe.max_length
        for sides in pieces:
            cut = [truncate(*side, max_length) for side in sides]
            for _, lengths in cut:
                longest = int(lengths.argmax())
                if max_length == 0 and lengths[longest] > LONGEST_TEXT:
                    raise LimelightError(
                        f"{source.name_row(done + longest)}: a text of {lengths[longest]:,} words is too "
                        f"long (limit: {LONGEST_TEXT:,}); truncate texts with --max-length (in Python: "
                        "max_length)",
                        code="text-too-long",
                    )
            rows = slice(done, done + len(lengths))
            yield self._chunk([(ids[numbers], lengths) for numbers, lengths in cut], source, labels, rows)
            done = rows.stop

    def _encode_marked(self, marked: Sequence[Marked], labels: np.ndarray, tokenizer: Tokenizer) -> Chunk:
        rows, *texts = zip(*marked, strict=True)
        source, read = self.sources["train"], tokenizer.forbid(self._forbidden).encode
        sides = [truncate(*read(each), self.recipe.max_length) for each in texts[: 1 + source.pair]]
        return self._chunk(sides, source, labels, list(rows))

    def _chunk(
        self, sides: Iterable[Side], source: TextSource, labels: np.ndarray, rows: slice | list[int]
    ) -> Chunk:
        """The arrays of some rows of a source, from the ids and lengths of their texts."""
        chunk: Chunk = {}
        for mark, (ids, lengths) in zip(("", "2"), sides, strict=False):
            chunk |= {f"ids{mark}": ids, f"lengths{mark}": lengths}
        if source.labelled:
            chunk["labels"] = labels[rows]
        if source.weights is not None:
            chunk["weights"] = source.weights[rows]
        if source.labelled and source is self.sources["train"]:
            chunk["hashes"] = np.frombuffer(self.hashes, np.uint32)[rows]
        return chunk

    def _facts(self, splits: Mapping[str, Split], classes: Sequence[Label], task: str) -> dict[str, Any]:
        facts: dict[str, Any] = {
            "sources": {name: source.where for name, source in self.sources.items()},
            "rows": {name: len(split) for name, split in splits.items()},
            "words": {name: split.words for name, split in splits.items()},
            "recipe": asdict(replace(self.recipe, task=task)),
            "seed": self.seed,
        }
        if self.start and "forbidden" in self.start.facts:
            facts["forbidden"] = self.start.facts["forbidden"]
        if classes:
            facts["classes"] = {
                name: count_labels(task, split.labels, classes)
                for name, split in splits.items()
                if split.labels is not None
            }
        return facts


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
    """Warn of classes with hardly any rows, by the `names` that the user knows; those `known` need none."""
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


# ---------------------------------------------------------------- holding rows out

# A class too small for its share gives one row, unless the held-out rows would then be more than TOLERANCE
# times the share of all rows that was asked for, and more than MUCH of all rows.
TOLERANCE, MUCH = 1.5, 0.25

Chunk = dict[str, np.ndarray]  # some rows of a split, by the names of its arrays


def check_share(share: float) -> None:
    """Raise unless it can be a share of the rows to hold out."""
    if not isinstance(share, Real) or not 0 <= share < 1:
        raise bad_value(f"holdout is {share!r}; it must be a number of at least 0 and below 1")


def choose_held_out(labels: np.ndarray, share: float, seed: int) -> np.ndarray:
    """(rows,) bool: the rows to hold out, `share` of each class but never its last row.

    A class too small for its share gives one row. If there are so many small classes that far more than
    `share` of all rows would be held out, only enough of them, drawn at random, give one.
    """
    check_share(share)
    if share == 0:
        return np.zeros(len(labels), dtype=bool)
    counts = np.bincount(labels)
    wanted = np.minimum(np.rint(counts * share).astype(np.int64), counts - 1)
    small = (wanted == 0) & (counts > 1)
    shuffled = np.random.default_rng(seed).permutation(len(labels))
    grouped = shuffled[np.argsort(labels[shuffled], kind="stable")]
    rank = np.empty(len(labels), np.int64)  # within its class
    rank[grouped] = np.arange(len(labels)) - np.repeat(np.cumsum(counts) - counts, counts)
    held = np.asarray(rank < wanted[labels])
    ones = shuffled[(small[labels] & (rank == 0))[shuffled]]  # one row of each small class, in random order
    if held.sum() + len(ones) > max(TOLERANCE * share, MUCH) * len(labels):
        aim = max(round(share * len(labels)), 1)
        ones = ones[: max(aim - int(held.sum()), 0)]
    held[ones] = True
    return held


def split_held_out(chunks: Iterable[Chunk], held: np.ndarray) -> Iterator[tuple[str, Chunk]]:
    """Divide each chunk of the training rows into its "train" and its held-out "dev" rows."""
    done = 0
    for chunk in chunks:
        rows = len(chunk["lengths"])
        for split, keep in (("train", ~held[done : done + rows]), ("dev", held[done : done + rows])):
            words = {  # of those rows
                ids: np.repeat(keep, chunk[lengths])
                for ids, lengths in (("ids", "lengths"), ("ids2", "lengths2"))
                if ids in chunk
            }
            if keep.any():
                yield split, {array: values[words.get(array, keep)] for array, values in chunk.items()}
        done += rows


def describe_held_out(
    held: np.ndarray, labels: np.ndarray, share: float, where: str, group: str = "class"
) -> str | None:
    """How many rows were held out, and the share that really is; `group` is what `labels` number."""
    if not held.any():
        return None
    wanted, true = f"{100 * share:.3g}%", f"{100 * held.mean():.3g}%"
    classes, giving = len(np.unique(labels)), len(np.unique(labels[held]))
    if giving < classes:
        small = "classes" if group == "class" else "groups"
        how = f"{true}; none from small {small}: {classes - giving:,} of {classes:,}"
    elif true == wanted:
        how = f"{wanted} of each {group}"
    else:
        how = f"{true}: {wanted} of each {group}, rounded, and at least one row"
    return f"held out {held.sum():,} of the {len(held):,} rows of {where} as the development set ({how})"
