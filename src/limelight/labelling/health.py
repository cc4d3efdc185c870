"""The health of a labelled table: which labels are suspect, which texts, which classes.

Every text is judged by the others (left_out.py), and what they say against a label must be strong: so that of
the labels suspected at least half are wrong, few are suspected where there are few labels, or none.
"""

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import LimelightError, no_rows
from ..explain.render import render_page
from ..runtime.reader import Reader
from ..search.words import find_words
from ..storage.files import check_output_file, write_file
from ..tables import WRITABLE
from ..tables.cells import KeptColumns, NewColumn
from ..tables.columns import Columns
from ..tables.formats import BadRowError
from ..tables.rows import Row, TableRows, is_missing, show_reading, texts_of
from ..tables.table import Table
from ..tables.writers import format_of, require_format, write_table
from ..text.remarks import TextRemarks
from ..text.word_kinds import SMALL_WORDS
from .groups import distinguishing_words
from .left_out import Judged, Neighbours, find_neighbours, judge

AROUND = 10  # texts around one whose labels are counted
SAME = 0.95  # cosine from which two texts are near duplicates
EXPLAINED = 200  # suspects whose words are found: each costs a reading
WORDS = 4  # that made a label suspect
MAX_PAIRS, LEAST_CONFUSED = 10, 0.15  # of classes; what share of their texts goes to the other
MIN_HITS = 2  # small words of another language, and that many more than of the table's own
_LANGUAGES: defaultdict[str, list[str]] = defaultdict(list)  # that have a small word
for _language, _words in sorted(SMALL_WORDS.items()):
    for _word in _words:
        _LANGUAGES[_word].append(_language)
SHOWN = 100  # findings of each kind on the page
PAGES = (".html", ".htm")
NEW = tuple(NewColumn(name, "label", "text") for name in ("row", "issue", "label", "suggested", "about"))
KINDS = {"empty": "Empty", "no label": "Without a label", "language": "In another language"}


class Suspect(NamedTuple):
    row: int
    label: str
    suggested: str
    chance: float  # that the other texts give the label
    around: str  # the label most texts around it have
    share: float  # of the texts around it that have that label
    words: tuple[tuple[str, float], ...] = ()  # that speak for the suggested label and against the given one


class Duplicate(NamedTuple):
    """Two texts that are nearly the same and have different labels."""

    row: int
    row2: int
    label: str
    label2: str
    similarity: float


class ConfusedPair(NamedTuple):
    """Two classes that are hardly told apart."""

    label: str
    label2: str
    share: float  # of the texts of both, that look like the other class
    texts: int
    words: tuple[str, ...]  # of the first class and not of the second
    words2: tuple[str, ...]


class TextIssue(NamedTuple):
    """A text that a model will not read as it should."""

    row: int
    kind: str  # "empty", "no label", "language"
    about: str


class Health(NamedTuple):
    """What was found; rows count from 0."""

    texts: list[Any]
    labels: list[str]
    counts: dict[str, int]
    suspects: list[Suspect]
    duplicates: list[Duplicate]
    confused: list[ConfusedPair]
    issues: list[TextIssue]
    quality: dict[int, float]  # the chance that the others give each label that was judged
    remarks: Sequence[str] = ()  # on all of it, a line each
    numbers: Sequence[int] = ()  # of the rows in their table

    def number(self, row: int) -> int:
        """The number of a row as people see it in its table; of texts in memory, from 1."""
        return self.numbers[row] if self.numbers else row + 1

    @property
    def about_suspects(self) -> str:
        """What it means that a label is suspected, and that none is."""
        if self.suspects:
            return "If one label in twenty is wrong, most of these are; where fewer are, most may be right."
        return (
            f"None of {len(self.quality):,} labels is suspected. That does not show that none is wrong: only "
            "those are suspected that the other texts leave little doubt about."
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values, with the texts that they are about."""
        found: dict[str, Any] = {
            "rows": len(self.texts),
            "classes": self.counts,
            "remarks": list(self.remarks),
        }
        for name in ("suspects", "duplicates", "confused", "issues"):
            found[name] = [each._asdict() for each in getattr(self, name)]
            for each in found[name] if name != "confused" else ():
                each["text"] = self.texts[each["row"]]
        return found


def check(
    texts: Sequence[Any], labels: Sequence[Any], *, reader: Any = "reader", vectors: np.ndarray | None = None
) -> Health:
    """Look for wrong labels and unusable texts; the same result in every run.

    `vectors` (texts, size) are the reader's, if they are there already.

    >>> texts = ["good soup", "great soup", "good meal", "good food", "bad soup", "bad meal", "bad food"] * 9
    >>> health = check(texts, (["good"] * 4 + ["bad"] * 3) * 8 + ["good"] * 3 + ["bad"] * 4)
    >>> [texts[each.row] for each in health.suspects], health.suspects[0].suggested
    (['good food'], 'good')
    """
    texts = texts_of(texts)
    if len(texts) != len(labels):
        raise LimelightError(f"{len(texts)} texts and {len(labels)} labels", code="lengths-differ")
    issues, usable = [], []
    for row, (text, label) in enumerate(zip(texts, labels, strict=True)):
        if is_missing(text) or not str(text).strip():
            issues.append(TextIssue(row, "empty", "there is no text"))
        elif is_missing(label) or not str(label).strip():
            issues.append(TextIssue(row, "no label", "there is no label"))
        else:
            usable.append(row)
    names = ["" if is_missing(label) else str(label).strip() for label in labels]
    classes = _classes([names[row] for row in usable])
    reader = Reader.load(reader) if isinstance(reader, str) else reader
    known = [texts[row] for row in usable]
    y = np.array([classes.index(names[row]) for row in usable])
    X = np.asarray(reader.encode(known) if vectors is None else vectors[usable], np.float32)
    near = find_neighbours(X)
    judged = judge(X, y, len(classes), near)
    found = _Found(known, usable, y, classes, near, judged, reader)
    issues += [TextIssue(usable[k], "language", name) for k, name in other_languages(known).items()]
    counts = dict(zip(classes, np.bincount(y, minlength=len(classes)).tolist(), strict=True))
    remarks = TextRemarks()
    for row in usable:
        remarks.add(texts[row], names[row])
    quality = dict(zip(usable, judged.P[np.arange(len(y)), y].tolist(), strict=True))
    return Health(
        texts, names, counts, found.suspects(), found.duplicates(), found.confused(),
        sorted(issues), quality, remarks.lines(counts),
    )  # fmt: skip


def _classes(names: Sequence[str]) -> list[str]:
    classes = sorted(set(names))
    if len(classes) < 2:
        raise LimelightError("all texts have the same label; check needs two classes", code="one-class")
    if 2 * len(classes) > len(names):
        fault = f"{len(classes):,} different labels for {len(names):,} texts"
        raise LimelightError(f"{fault}: check is for classes, which repeat", code="too-many-classes")
    return classes


class _Found(NamedTuple):
    texts: list[str]
    rows: list[int]  # their places in the table
    y: np.ndarray
    classes: list[str]
    near: Neighbours
    judged: Judged
    reader: Any

    def suspects(self) -> list[Suspect]:
        P = self.judged.P
        own = P[np.arange(len(self.y)), self.y]
        better = np.where(np.eye(len(self.classes), dtype=bool)[self.y], -1, P).argmax(axis=1)
        suspected = self.judged.suspected(self.y)
        order = [int(k) for k in np.argsort(own, kind="stable") if suspected[k]]
        words = self._words(order[:EXPLAINED], better)
        found = []
        for place, k in enumerate(order):
            around = np.bincount(self.y[self.near.rows[k, :AROUND]])
            most, texts = int(around.argmax()), min(AROUND, self.near.rows.shape[1])
            found.append(Suspect(
                self.rows[k], self.classes[self.y[k]], self.classes[better[k]], float(own[k]),
                self.classes[most], float(around[most] / texts), words[place] if place < len(words) else (),
            ))  # fmt: skip
        return found

    def _words(self, places: list[int], better: np.ndarray) -> list[tuple[tuple[str, float], ...]]:
        """The words that add most to the suggested class over the given one, by the sum over words."""
        if not places:
            return []
        W, found = self.judged.W, []
        for k, parts in zip(places, self.reader.word_parts([self.texts[k] for k in places]), strict=True):
            weights = parts.parts @ (W[better[k]] - W[self.y[k]])
            cut = [self.texts[k][slice(*place)] for place in parts.offsets]
            order = (j for j in np.argsort(-weights, kind="stable") if weights[j] > 0)
            words = ((cut[j], float(weights[j])) for j in order if any(map(str.isalnum, cut[j])))
            found.append(tuple(islice(words, WORDS)))
        return found

    def duplicates(self) -> list[Duplicate]:
        found = []
        for k, (rows, cosines) in enumerate(zip(*self.near, strict=True)):
            for other, cosine in zip(rows.tolist(), cosines.tolist(), strict=True):
                if cosine < SAME:
                    break
                if k < other and self.y[k] != self.y[other]:
                    labels = self.classes[self.y[k]], self.classes[self.y[other]]
                    found.append(Duplicate(self.rows[k], self.rows[other], *labels, min(cosine, 1.0)))
        return sorted(found, key=lambda each: (-each.similarity, each.row))

    def confused(self) -> list[ConfusedPair]:
        taken, counts = self.judged.P.argmax(axis=1), np.bincount(self.y, minlength=len(self.classes))
        table = np.zeros((len(self.classes),) * 2)
        np.add.at(table, (self.y, taken), 1)
        pairs = []
        for a in range(len(self.classes)):
            for b in range(a + 1, len(self.classes)):
                share = (table[a, b] + table[b, a]) / (counts[a] + counts[b])
                if share >= LEAST_CONFUSED:
                    pairs.append((-share, a, b))
        return [self._pair(-share, a, b) for share, a, b in sorted(pairs)[:MAX_PAIRS]]

    def _pair(self, share: float, a: int, b: int) -> ConfusedPair:
        places = np.flatnonzero((self.y == a) | (self.y == b))
        own = (self.y[places] == b).astype(int)
        words = distinguishing_words([self.texts[k] for k in places], own, 2)
        return ConfusedPair(self.classes[a], self.classes[b], float(share), len(places), *words)


def other_languages(texts: Sequence[str]) -> dict[int, str]:
    """The texts that are not in the language of most, and which one they are in, or their script."""
    scripts = [_script(text) for text in texts]
    counts = [_count(text) for text in texts]
    script = _most(each for each in scripts if each)
    own = _most(each.most_common(1)[0][0] for each in counts if each)
    found = {}
    for row, (each, small) in enumerate(zip(scripts, counts, strict=True)):
        if each and each != script:
            found[row] = each
        elif small and own:
            language, hits = small.most_common(1)[0]
            if language != own and hits >= MIN_HITS + small[own]:
                found[row] = language
    return found


def _count(text: str) -> Counter[str]:
    words = (text[start:end].casefold() for start, end, _ in find_words(text))
    return Counter(language for word in words for language in _LANGUAGES.get(word, ()))


def _script(text: str) -> str:
    """The script of most letters, by the names that Unicode gives them; none without letters."""
    names = (unicodedata.name(letter, "").split(" ")[0] for letter in text[:400] if letter.isalpha())
    return _most(names).capitalize()


def _most(values: object) -> str:
    found = Counter(values).most_common(1)  # type: ignore[call-overload]
    return str(found[0][0]) if found else ""


def read_labelled(
    table: Table, columns: Columns, on_bad: str = "error", progress: bool = False
) -> tuple[list[Any], list[Any], list[int]]:
    """The texts and labels of a table as they are, and the numbers of the rows.

    A row that cannot be read at all is an error. With `on_bad="skip"`, every row that others could not use is
    skipped.
    """
    if on_bad == "skip":
        rows = TableRows(table, columns, on_bad=on_bad)
        read: Iterable[Any] = ((row.text, row.label) for row in rows)
    else:
        read = table.rows([columns.text, columns.label])
    texts, labels, numbers = list[Any](), list[Any](), list[int]()
    for values in show_reading(read, table.path, progress):
        if isinstance(values, BadRowError):
            todo = "correct it, or skip such rows with --skip-bad"
            raise LimelightError(f"{table.place}: {values}; {todo}", code="row-unusable")
        texts.append(values[0])
        labels.append(values[1])
        numbers.append(table.number)
    if not texts:
        raise no_rows(f"{table.path} has no rows to check")
    return texts, labels, numbers


def check_health_file(path: str | Path, overwrite: bool) -> None:
    if Path(path).suffix.lower() not in PAGES:
        if format_of(path) is None:
            raise LimelightError(f"{path} should end in .html, {WRITABLE}", code="file-suffix")
        require_format(path)
    check_output_file(path, overwrite)


def save_health(
    health: Health, path: str | Path, *, data: str = "the table", overwrite: bool = False
) -> None:
    check_health_file(path, overwrite)
    if Path(path).suffix.lower() in PAGES:
        write_file(path, health_page(health, data), overwrite)
        return
    kept = KeptColumns(["text"], ["text"], str(path))
    with write_table(path, str(format_of(path)), NEW, kept, overwrite=overwrite) as writer:
        for row, *cells in findings(health):
            text = health.texts[row]
            shown = Row(str(text or ""), cells=[str(text or "")])
            writer.append([shown], [[cell] for cell in (str(health.number(row)), *cells)])


def findings(health: Health) -> Iterator[tuple[int, str, str, str, str]]:
    """(row, issue, label, suggested label, about) of everything found in a text."""
    for each in health.suspects:
        words = ", ".join(word for word, _ in each.words)
        around = f"{each.share:.0%} of the texts around it are {each.around}"
        about = f"chance {each.chance:.1%} by the other texts; {around}{f'; words: {words}' if words else ''}"
        yield each.row, "label", each.label, each.suggested, about
    for pair in health.duplicates:
        about = f"nearly the same as row {health.number(pair.row2)}, which is {pair.label2}"
        yield pair.row, "duplicate", pair.label, "", about
    for issue in health.issues:
        yield issue.row, issue.kind, health.labels[issue.row], "", issue.about


def health_page(health: Health, data: str) -> str:
    title = f"The labels of {data}"
    return render_page("check.html.jinja", title=title, health=health, shown=SHOWN, kinds=KINDS)
