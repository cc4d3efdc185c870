"""What rows of attention read: their words over many texts, names such as "negation: not, no, never",
and groups that read the same words of one text, because thirty separate rows are too many to look at.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..text.word_kinds import GRAMMAR, MEANING, PUNCTUATION, SMALL, is_function_word, is_kind

MAX_WORDS = 8  # of a row
MIN_OCCURRENCES = 5  # of a word
MIN_LIFT = 2.0  # a word must get this many times its even share
LISTED_FROM = 0.05  # of the share of the word it reads most; less is not what the row reads
# A row is named by its words if they get this much of its attention, and this many times their even share. It
# is named by a kind of words only if that gets most of its attention: a row that reads negation where
# there is any, and "and" elsewhere, is not about negation (docs/log/2026-11-17-pictures.md).
CLEAR_SHARE, CLEAR_LIFT = 0.25, 3.0
KIND_SHARE, KIND_LIFT = 0.5, 1.5
MAX_NAME_WORDS = 3
MIN_SHARED = 0.6  # two rows read the same words when they share at least this much attention
_NAMED_KINDS = (*MEANING, PUNCTUATION, *GRAMMAR, SMALL)  # the first that fits names a row
_LEAST = (*GRAMMAR, PUNCTUATION, SMALL)  # the kinds that say least about a text


class RowWords(NamedTuple):
    words: tuple[tuple[int, float], ...]  # numbers of words, with their share of attention above an even one
    name: str  # "" for a row without a clear aspect


def row_words(
    vocabulary: Sequence[str], ids: np.ndarray, A: np.ndarray, lengths: np.ndarray, special: int = 0
) -> list[RowWords]:
    """For each row, the words with the most attention above an even share of their text, and its name.

    `ids` (words,) and A (r, words) are those of all texts back to back, `lengths` (texts,) their numbers of
    words; ids below `special` are no words. By attention alone every row would list "the" and ".", which
    occur in every text.
    """
    numbers, ids = np.unique(ids, return_inverse=True)
    ids, count = ids.reshape(-1), len(numbers)
    words = [vocabulary[k] for k in numbers]
    kinds = {kind: np.array([is_kind(word, kind) for word in words], bool) for kind in _NAMED_KINDS}
    even = np.bincount(ids, np.repeat(1 / np.maximum(lengths, 1), lengths), count) / max(len(lengths), 1)
    often = (np.bincount(ids, minlength=count) >= MIN_OCCURRENCES) & (numbers >= special)
    found = []
    for row in A:
        mass = np.bincount(ids, row, count) / max(len(lengths), 1)
        top = _most_read(mass, even, often)
        shares = tuple((int(numbers[k]), float(mass[k] - even[k])) for k in top)
        found.append(RowWords(shares, _name(words, top, mass, even, kinds)))
    return found


def _most_read(mass: np.ndarray, even: np.ndarray, often: np.ndarray) -> list[int]:
    """The words of a row, from its attention on each and their even share."""
    above = np.where(often & (mass >= MIN_LIFT * even), mass - even, 0.0)
    order = np.argsort(-above, kind="stable")[:MAX_WORDS].tolist()
    return [k for k in order if above[k] > LISTED_FROM * above.max()]


def _name(
    words: Sequence[str], top: list[int], mass: np.ndarray, even: np.ndarray, kinds: dict[str, np.ndarray]
) -> str:
    for kind, own in kinds.items():
        share, of_kind = mass[own].sum(), [words[k] for k in top if own[k]]
        if share >= KIND_SHARE and share >= KIND_LIFT * even[own].sum() and of_kind:
            return f"{kind}: {_list(of_kind)}"
    top = [k for k in top if not kinds[PUNCTUATION][k]]
    if mass[top].sum() < max(CLEAR_SHARE, CLEAR_LIFT * even[top].sum()):
        return ""
    return _list([words[k] for k in top])


def saved_names(facts: Mapping[str, Any], count: int) -> tuple[str, ...]:
    """The names of the rows of a model from what is saved with it; none unless there are `count`.

    Older folders have only the words of each row.
    """
    names, rows = facts.get("row_names"), facts.get("rows")
    if isinstance(names, list) and len(names) == count:
        return tuple(name if isinstance(name, str) else "" for name in names)
    if not isinstance(rows, list) or len(rows) != count:
        return ()
    return tuple(_list([str(word) for word in row]) if isinstance(row, list) else "" for row in rows)


def _list(words: list[str]) -> str:
    """A few words; commas between punctuation would be read as one of them."""
    shown = words[:MAX_NAME_WORDS]
    return (" " if any(is_kind(word, PUNCTUATION) for word in shown) else ", ").join(shown)


def says_little(name: str) -> bool:
    """Whether a name is of a kind of small words, or a list of them."""
    kind, colon, _ = name.partition(": ")
    return kind in _LEAST if colon else bool(name) and all(map(is_function_word, name.split(", ")))


def join_names(names: list[str]) -> str:
    """One name for rows that read the same words in a text."""
    named = list(dict.fromkeys(filter(None, names)))
    if len(named) < 2:
        return "".join(named)
    kinds = list(dict.fromkeys(name.partition(": ")[0] for name in named))
    return "; ".join([*kinds[:2], "…"] if len(kinds) > 2 else kinds)


# ---------------------------------------------------------------- groups


class RowGroup(NamedTuple):
    rows: tuple[int, ...]  # counted from 0, ascending
    focus: float  # 0: spread evenly over the words; 1: all on a single word


def group_rows(attentions: tuple[np.ndarray, ...]) -> tuple[RowGroup, ...]:
    """Group the rows, the most informative group first. Any two rows of a group share at least `MIN_SHARED`.

    `attentions` holds A of one text, or of both texts of a pair, whose rows are then grouped together.
    A group is more informative the more rows it has and the fewer words they choose.
    """
    attentions = tuple(A for A in attentions if A.shape[1])  # a text without words has no attention
    if not attentions:
        return ()
    # (r, r) for each text: the attention that two rows share, from 0 to 1
    shared = [np.stack([np.minimum(A, row).sum(axis=1) for row in A]) for A in attentions]
    found = [
        RowGroup(rows, float(np.mean([focus(mean_row(A, rows)) for A in attentions])))
        for rows in _complete_linkage(np.mean(shared, axis=0))
    ]
    return tuple(sorted(found, key=lambda group: (-len(group.rows) * group.focus, group.rows)))


def mean_row(A: np.ndarray, rows: tuple[int, ...]) -> np.ndarray:
    """(n,): the mean attention of a group of rows."""
    return np.asarray(A[rows[0]] if len(rows) == 1 else A[list(rows)].mean(axis=0))


def focus(weights: np.ndarray) -> float:
    """How concentrated the weights are: 0 when spread evenly, 1 when all on one word."""
    if len(weights) < 2:
        return 0.0
    positive = weights[weights > 0]
    entropy = -float((positive * np.log(positive)).sum())
    return min(1.0, max(0.0, 1.0 - entropy / float(np.log(len(weights)))))


def _complete_linkage(shared: np.ndarray) -> list[tuple[int, ...]]:
    """Merge the two closest groups as long as every row of one is close to every row of the other."""
    shared = shared.copy()
    np.fill_diagonal(shared, -1.0)
    groups: list[tuple[int, ...]] = [(row,) for row in range(len(shared))]
    while len(groups) > 1:
        first, second = sorted(np.unravel_index(int(shared.argmax()), shared.shape))
        if shared[first, second] < MIN_SHARED:
            break
        groups[first] = tuple(sorted(groups[first] + groups.pop(second)))
        shared[first] = shared[:, first] = np.minimum(shared[first], shared[second])
        shared = np.delete(np.delete(shared, second, axis=0), second, axis=1)
        shared[first, first] = -1.0
    return groups
