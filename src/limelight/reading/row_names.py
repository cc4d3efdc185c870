"""What rows of attention read: their words over many texts, and names such as "negation: not, no, never"."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

MAX_WORDS = 8  # of a row
MIN_OCCURRENCES = 5  # of a word
MIN_LIFT = 2.0  # a word must get this many times its even share
LISTED_FROM = 0.05  # of the share of the word it reads most; less is not what the row reads
# A row has a clear aspect if its words get this many times their even share together, and so much of its
# attention above it. Measured by eye on rows of reviews, sentence pairs and a reader.
CLEAR_LIFT, CLEAR_SHARE = 3.0, 0.06
MAX_NAME_WORDS = 3
_MAX_JUDGED_WORDS = 5  # by which the kind is chosen; the first ones count most
# English. In other languages a name is the words alone.
_GRAMMAR = {
    "articles": "a an the",
    "pronouns": "i you he she it we they me him her us them my your his its our their mine yours this that "
    "these those myself yourself himself herself itself who whom whose something someone everyone",
    "prepositions": "to in at on with from into by of for about over under after before through during "
    "between against without within upon towards toward via off up out down near across along around",
    "linking words": "and or but nor so yet because if than then though although while as which that when "
    "where unless since whether of and/or also however",
    "auxiliary verbs": "is are was were be been being am 's 're 'm has have had 've do does did can could "
    "will would shall should may might must ca wo 'll 'd",
}
_MEANING = {
    "negation": "not n't no never neither nor nothing none nobody cannot without hardly lack lacks",
    "people": "man woman men women boy girl boys girls child children kid kids people person guy guys lady "
    "ladies baby family mother father son daughter wife husband friend friends brother sister someone crowd",
    "numbers": "one two three four five six seven eight nine ten hundred thousand million first second "
    "third half many several few",
    "time": "day days night week weeks month months year years hour hours minute minutes today yesterday "
    "tomorrow now then january february march april june july august september october november december",
}
_KINDS = {kind: frozenset(words.split()) for kind, words in (_MEANING | _GRAMMAR).items()}
_FUNCTION_WORDS = frozenset(word for kind in _GRAMMAR for word in _KINDS[kind])
_SMALL = "small words"
_LEAST = (*_GRAMMAR, "punctuation", _SMALL)  # the kinds that say least about a text


class RowWords(NamedTuple):
    """What one row reads."""

    words: tuple[tuple[int, float], ...]  # numbers of words, with their share of attention above an even one
    clear: bool


def row_words(ids: np.ndarray, A: np.ndarray, lengths: np.ndarray) -> list[RowWords]:
    """For each row, the words with the most attention above an even share of their text.

    `ids` (words,) and A (r, words) are those of all texts back to back, `lengths` (texts,) their numbers of
    words. By attention alone every row would list "the" and ".", which occur in every text.

    >>> ids, A = np.tile([7, 8, 9, 9], 5), np.tile([[1.0, 0, 0, 0], [0.25, 0.25, 0.25, 0.25]], 5)
    >>> row_words(ids, A, np.full(5, 4))
    [RowWords(words=((7, 0.75),), clear=True), RowWords(words=(), clear=False)]
    """
    words, ids = np.unique(ids, return_inverse=True)
    ids, count = ids.reshape(-1), len(words)
    even = np.bincount(ids, np.repeat(1 / np.maximum(lengths, 1), lengths), count)
    often = np.bincount(ids, minlength=count) >= MIN_OCCURRENCES
    return [_read_by(np.bincount(ids, row, count), even, often, words, len(lengths)) for row in A]


def _read_by(
    mass: np.ndarray, even: np.ndarray, often: np.ndarray, words: np.ndarray, texts: int
) -> RowWords:
    above = np.where(often & (mass >= MIN_LIFT * even), mass - even, 0.0)
    top = [k for k in np.argsort(-above, kind="stable")[:MAX_WORDS] if above[k] > LISTED_FROM * above.max()]
    clear = (
        bool(top)
        and mass[top].sum() >= CLEAR_LIFT * even[top].sum()
        and above[top].sum() >= CLEAR_SHARE * texts
    )
    return RowWords(tuple((int(words[k]), float(above[k] / texts)) for k in top), bool(clear))


def row_names(rows: Any, count: int) -> tuple[str, ...]:
    """The names of rows from the words of each; "" for a row without words: it has no clear aspect.

    `rows` are as saved with a model or a reader; anything else than `count` lists gives no names.

    >>> row_names([["woman", "man", "boy", "red"], ["soup", "broth"], []], 3)
    ('people: woman, man, boy', 'soup, broth', '')
    """
    if not isinstance(rows, list) or len(rows) != count:
        return ()
    return tuple(_name([str(word) for word in row] if isinstance(row, list) else []) for row in rows)


def _name(words: list[str]) -> str:
    judged = dict(enumerate(words[:_MAX_JUDGED_WORDS], 2))
    half = sum(1 / k for k in judged) / 2
    for kind in (*_MEANING, "punctuation", *_GRAMMAR, _SMALL):
        if sum(1 / k for k, word in judged.items() if _is(word, kind)) > half:
            return f"{kind}: {_list([word for word in words if _is(word, kind)])}"
    return _list([word for word in words if not _is(word, "punctuation")] or words)


def _list(words: list[str]) -> str:
    """A few words; commas between punctuation would be read as one of them."""
    shown = words[:MAX_NAME_WORDS]
    return (" " if any(_is(word, "punctuation") for word in shown) else ", ").join(shown)


def _is(word: str, kind: str) -> bool:
    if kind == "punctuation":
        return not any(map(str.isalnum, word))
    if kind == _SMALL:
        return is_function_word(word)
    return word.lower() in _KINDS[kind] or (kind == "numbers" and word.isdecimal())


def is_function_word(word: str) -> bool:
    """Whether it is grammar or punctuation rather than meaning; English.

    >>> is_function_word("The"), is_function_word("!"), is_function_word("soup")
    (True, True, False)
    """
    return word.lower() in _FUNCTION_WORDS or _is(word, "punctuation")


def says_little(name: str) -> bool:
    """Whether a name is of a kind of small words.

    >>> says_little("articles: the, a, an"), says_little("negation: not, no"), says_little("soup, broth")
    (True, False, False)
    """
    return name.partition(": ")[0] in _LEAST


def join_names(names: list[str]) -> str:
    """One name for rows that read the same words in a text.

    >>> join_names(["people: man, boy", "", "people: man, boy"]), join_names(["people: man", "red, blue"])
    ('people: man, boy', 'people; red, blue')
    """
    named = list(dict.fromkeys(filter(None, names)))
    if len(named) < 2:
        return "".join(named)
    kinds = list(dict.fromkeys(name.partition(": ")[0] for name in named))
    return "; ".join([*kinds[:2], "…"] if len(kinds) > 2 else kinds)
