"""Texts to padded batches: similar lengths together, and a budget of words rather than a number of texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, zip_longest
from typing import Any, Self

import numpy as np

from ..config.presets import LANGUAGES
from ..config.recipe import Recipe
from ..errors import LimelightError, warn
from ..text.batches import truncate
from ..text.spelling import spell
from ..text.tokenizer import PAD, SPECIAL, UNKNOWN, Tokenizer
from ..text.word_kinds import SMALL_WORDS

JUDGED_WORDS, JUDGED_TEXTS = 6, 200  # a language is judged by no fewer words, and by about so many texts
FEWEST_KNOWN, FREQUENT, FEWEST_FREQUENT = 0.7, 500, 0.15  # shares of words, and of the first ones
MOST_KNOWN, MOST_FREQUENT, SMALL_SHARE = 0.8, 0.4, 0.07  # shares where another language's small words decide


@dataclass(frozen=True, eq=False)
class Sentences:
    """Word ids of many texts, back to back."""

    ids: np.ndarray  # (words,)
    lengths: np.ndarray  # (texts,): at least 1 each

    @classmethod
    def join(cls, ids: Sequence[np.ndarray]) -> Sentences:
        """Join texts that are already word ids, (n,) each."""
        lengths = np.array([len(text) for text in ids], np.int32)
        return cls(np.concatenate([np.empty(0, np.int32), *ids]), lengths)

    def check(self, vocabulary: int) -> Sentences:
        """The same, or an error that names the first text without words, or with a word that is not there.

        >>> Sentences.join([np.array([5]), np.array([6, 7])]).check(vocabulary=7)
        Traceback (most recent call last):
        limelight.errors.LimelightError: text 1 has the word id 7; they go from 0 to 6
        """
        if not self.lengths.all():
            fault = f"text {int(np.argmin(self.lengths))} has no word ids; give it at least one"
            raise LimelightError(fault, code="word-ids")
        if len(self.ids) and not 0 <= self.ids.min() <= self.ids.max() < vocabulary:
            at = int(np.flatnonzero((self.ids < 0) | (self.ids >= vocabulary))[0])
            text = int(np.searchsorted(self.starts, at, side="right")) - 1
            fault = f"text {text} has the word id {self.ids[at]}; they go from 0 to {vocabulary - 1}"
            raise LimelightError(fault, code="word-ids")
        return self

    def batches(self, budget: int, multiple: int = 1) -> list[np.ndarray]:
        """Indices of the texts, longest first, in batches of at most `budget` words including padding.

        Texts are padded to the longest in their batch, and up to a multiple of `multiple`.

        >>> [b.tolist() for b in Sentences(np.zeros(9, int), np.array([2, 4, 1, 2])).batches(budget=4)]
        [[1], [0, 3], [2]]
        """
        most = int(self.lengths.max(initial=0))
        shorter = most - self.lengths  # 16 bits are sorted five times faster
        order = np.argsort(shorter.astype(np.uint16) if most < 2**16 else shorter, kind="stable")
        batches, start = [], 0
        while start < len(order):
            width = -(-int(self.lengths[order[start]]) // multiple) * multiple
            size = max(1, budget // width)
            batches.append(order[start : start + size])
            start += size
        return batches

    def feed(self, batch: np.ndarray) -> dict[str, np.ndarray]:
        """The encoder graph's inputs: ids (batch, n), padded, and lengths (batch,)."""
        if len(self.lengths) == 1:  # a short text is encoded in less time than padding takes
            return {"ids": self.ids[None].astype(np.int32, copy=False), "lengths": self.lengths}
        lengths = self.lengths[batch]
        t = np.arange(lengths.max(initial=0))
        places = self.starts[batch][:, None] + t  # (batch, n)
        ids = self.ids.take(places, mode="clip")
        ids[t >= lengths[:, None]] = PAD
        return {"ids": ids.astype(np.int32, copy=False), "lengths": lengths.astype(np.int32, copy=False)}

    def parts(self, size: int) -> Iterator[Self]:
        """The same texts, so many at a time.

        >>> [part.ids.tolist() for part in Sentences(np.arange(6), np.array([2, 1, 3])).parts(2)]
        [[0, 1, 2], [3, 4, 5]]
        """
        for k in range(0, len(self.lengths), size):
            lengths = self.lengths[k : k + size]
            start = self.starts[k]
            yield replace(self, ids=self.ids[start : start + lengths.sum()], lengths=lengths)

    @property
    def starts(self) -> np.ndarray:
        """(texts,): where each begins in ids.

        Computed once; until Python 3.12 a cached_property has a lock, which a fork may copy while held.
        """
        if "starts" not in vars(self):
            vars(self)["starts"] = np.cumsum(self.lengths) - self.lengths
        return np.asarray(vars(self)["starts"])


@dataclass(frozen=True, eq=False)
class SpelledSentences(Sentences):
    """Sentences that reach the network as word vectors; ids from len(table) on are spelled words."""

    table: np.ndarray  # (vocabulary, d)
    spelled: np.ndarray  # (other words, d)
    max_sentences: int | None = None  # in a batch

    def batches(self, budget: int, multiple: int = 1) -> list[np.ndarray]:
        """Batches of at most `budget` words and `max_sentences` sentences."""
        size = self.max_sentences or budget
        whole = super().batches(budget, multiple)
        return [batch[k : k + size] for batch in whole for k in range(0, len(batch), size)]

    def feed(self, batch: np.ndarray) -> dict[str, np.ndarray]:
        """The word vectors X (n, batch, d) beside ids (batch, n) and lengths (batch,)."""
        feed = super().feed(batch)
        ids = feed["ids"].T
        others = ids >= len(self.table)
        X = self.table[np.where(others, PAD, ids)]
        X[others] = self.spelled[ids[others] - len(self.table)]
        return {**feed, "X": X}


def encode_texts(
    recipe: Recipe, tokenizer: Tokenizer, weights: Mapping[str, np.ndarray], texts: Sequence[str]
) -> Sentences:
    """The word ids of the texts; of a reader, with vectors for words outside its vocabulary."""
    if not recipe.model.spells_words:
        found = Sentences(*truncate(*tokenizer.encode(texts), recipe.text.max_length))
        if recipe.text.start and recipe.text.extra_words:  # otherwise it may know few words of any language
            warn_of_other_language(tokenizer, texts, found.ids != UNKNOWN)
        return found
    table = weights["words.weight"]
    spelled = encode_spelled(tokenizer, texts, table, weights["grams.weight"], recipe.model.stems)
    warn_of_other_language(tokenizer, texts, spelled.ids < len(table))
    return spelled


def encode_spelled(
    tokenizer: Tokenizer, texts: Sequence[str], table: np.ndarray, grams: np.ndarray, stems: bool = False
) -> SpelledSentences:
    """Look up the words of each text; those outside the vocabulary get ids of their own."""
    ids, lengths, others = tokenizer.encode_open(texts)
    ends, numbers = np.cumsum(lengths), {word: number for number, word in enumerate(others)}
    for k in [k for k, text in enumerate(texts) if not text.isascii()]:  # whose words may still be unknown
        words = ids[ends[k] - lengths[k] : ends[k]]
        unknown = np.flatnonzero((words == UNKNOWN) | (words >= len(table))).tolist()
        split = tokenizer.words(texts[k]) if unknown else []  # a text without words stays one unknown word
        for at in unknown if split else ():
            words[at] = len(table) + numbers.setdefault(split[at], len(numbers))
    spelled = spell(list(numbers), grams, table, tokenizer.ids if stems else None)
    return SpelledSentences(ids, lengths, table, spelled)


def warn_of_other_language(tokenizer: Tokenizer, texts: Sequence[str], known: np.ndarray) -> None:
    """Say so if most texts seem to be in a language that the model does not know.

    Then few words are known, and hardly any is one of the frequent ones, such as articles; or some are small
    words of a language whose small words are not frequent in the vocabulary. Words without letters do not
    count. `known` says of each word whether it is in the vocabulary.

    >>> import warnings
    >>> tokenizer, texts = Tokenizer.from_words(["soup"]), ["Wir lesen heute leider nichts, und morgen nie."]
    >>> with warnings.catch_warnings(record=True) as found:
    ...     warn_of_other_language(tokenizer, texts, np.zeros(10, bool))
    ...     warn_of_other_language(tokenizer, ["1 2 3 4 5 6 7 8"], np.zeros(8, bool))
    >>> [str(each.message)[:33] for each in found]
    ['only 0% of the words are known: a']
    """
    if len(known) < JUDGED_WORDS or known.mean() > (1 + FEWEST_KNOWN) / 2:  # full stops are among them
        return
    some = texts[:: -(-len(texts) // JUDGED_TEXTS)]
    words = [word for text in some for word in tokenizer.words(text) if any(map(str.isalpha, word))]
    if len(words) < JUDGED_WORDS:
        return
    found = [word for word in words if word in tokenizer.ids]
    frequent = {word for word in found if tokenizer.ids[word] < len(SPECIAL) + FREQUENT}
    known_share = len(found) / len(words)
    frequent_share = sum(word in frequent for word in words) / len(words)
    few = known_share < FEWEST_KNOWN and frequent_share < FEWEST_FREQUENT
    fewer = known_share < MOST_KNOWN and frequent_share < MOST_FREQUENT
    if fewer and not few:
        others = [word.lower() for word in words if word not in frequent]
        small = max(sum(word in each for word in others) for each in SMALL_WORDS.values())  # of one language
        few = small >= SMALL_SHARE * len(words)
    if few:
        wrong = f"only {known_share:.0%} of the words are known"
        todo = f"are the texts in a language that it cannot read? 'reader-multilingual' reads {LANGUAGES}"
        warn(f"{wrong}: {todo}; limelight pretrain --pairs makes readers of others")


def chunks(texts: Iterable[Any], size: int) -> Iterator[list[Any]]:
    """Lists of up to `size` texts, read one list at a time."""
    rest = iter(texts)
    while chunk := list(islice(rest, size)):
        yield chunk


def check_texts(texts: Iterable[Any]) -> Iterator[str]:
    """Yield the texts, or raise at the first that is not a string."""
    if isinstance(texts, str | bytes):
        fault = f"expected a list of texts; got one text: put it in a list, [{str(texts)[:30]!r}]"
        raise LimelightError(fault, code="text-type")
    is_column = not isinstance(texts, Mapping | set | frozenset) and getattr(texts, "ndim", 1) == 1
    if not is_column or not hasattr(texts, "__iter__"):
        fault = f"expected a list or a column of texts, not {type(texts).__name__}"
        raise LimelightError(fault, code="text-type")
    if isinstance(texts, list | tuple) and set(map(type, texts)) == {str}:  # quicker than one by one
        yield from texts
        return
    for k, text in enumerate(texts.to_pylist() if hasattr(texts, "to_pylist") else texts):  # an Arrow column
        if not isinstance(text, str):
            given = f"{str(text)[:40]}, of type {type(text).__name__}"
            raise LimelightError(f"text {k} is {given}; every text must be a string", code="text-type")
        yield text


def check_pairs(texts: Iterable[str], texts2: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the pairs of two columns, or raise where one column is shorter.

    >>> list(check_pairs(["a", "b"], ["c"]))
    Traceback (most recent call last):
    limelight.errors.LimelightError: got more first texts than second texts; every pair needs both
    """
    for text, text2 in zip_longest(texts, texts2):
        if text is None or text2 is None:
            more = "first texts than second" if text2 is None else "second texts than first"
            raise LimelightError(f"got more {more} texts; every pair needs both", code="pair-or-text")
        yield text, text2


def collect(parts: Iterable[np.ndarray], count: int | None, shape: tuple[int, ...]) -> np.ndarray:
    """Join the parts; where the number of rows is known, without holding them twice."""
    if count is None:
        return np.concatenate([np.empty((0, *shape), np.float32), *parts])
    whole, done = np.empty((count, *shape), np.float32), 0
    for part in parts:
        whole[done : done + len(part)] = part
        done += len(part)
    if done != count:  # never return memory that was not written
        raise LimelightError(f"len() of the texts is {count:,}, but they yield {done:,}", code="text-count")
    return whole


def count_texts(texts: Any) -> int | None:
    """Their number, or None if they come one by one."""
    return len(texts) if hasattr(texts, "__len__") else None
