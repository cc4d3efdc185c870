"""Words and their ids, split as the Stanford tokenizer does; rules and vocabulary in one tokenizer.json."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers
from tokenizers import models, normalizers, pre_tokenizers, trainers

from ..errors import LimelightError
from ..files import atomic_file, tidy_os_errors
from .rules import WORD

PAD = 0
UNKNOWN = 1
SPECIAL = ("<pad>", "<unk>")

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class Tokenizer:
    """Splits text into words, as the Stanford tokenizer does, and gives each word its id.

    >>> tokenizer = Tokenizer.train(["I don't like it.", "I like it!"])
    >>> tokenizer.split("I don't!")
    ['I', 'do', "n't", '!']
    >>> tokenizer.vocabulary[:5]
    ('<pad>', '<unk>', 'i', 'it', 'like')
    >>> ids, offsets = tokenizer.locate("I like cats")
    >>> ids.tolist(), offsets.tolist()
    ([2, 4, 1], [[0, 1], [2, 6], [7, 11]])
    """

    def __init__(self, text: str) -> None:
        self._json = text
        self._rules = _parse(text)
        self._rules.no_padding()
        self._rules.no_truncation()
        words = self._rules.get_vocab(with_added_tokens=False)
        self.vocabulary: tuple[str, ...] = tuple(sorted(words, key=words.__getitem__))
        self.lowercase: bool = isinstance(self._rules.normalizer, normalizers.Lowercase)

    @classmethod
    def train(
        cls, texts: Iterable[str], *, lowercase: bool = True, min_count: int = 1, max_words: int = 100_000
    ) -> Tokenizer:
        """Count the words of `texts` (read once, never held) and keep the most frequent.

        Equally frequent words come in alphabetical order; `max_words` does not count padding and unknown.

        >>> Tokenizer.train(["b a b c", "c"], min_count=2).vocabulary
        ('<pad>', '<unk>', 'b', 'c')
        """
        rules = _build({}, lowercase)
        trainer = trainers.WordLevelTrainer(
            vocab_size=max_words, min_frequency=min_count, show_progress=False, special_tokens=[]
        )
        rules.train_from_iterator(map(_encodable, texts), trainer)
        words = rules.get_vocab()
        return cls.from_words(sorted(words, key=words.__getitem__), lowercase=lowercase)

    @classmethod
    def from_words(cls, words: Sequence[str], *, lowercase: bool = True) -> Tokenizer:
        """A tokenizer with exactly these words, in this order, from id 2 on.

        >>> Tokenizer.from_words(["good", "bad"]).locate("Bad, good")[0].tolist()
        [3, 1, 2]
        """
        ids = {word: number for number, word in enumerate((*SPECIAL, *words))}
        if len(ids) != len(words) + len(SPECIAL):
            raise LimelightError(
                f"the words of a vocabulary must be distinct and none of {', '.join(SPECIAL)}"
            )
        return cls(_build(ids, lowercase).to_str())

    @classmethod
    def load(cls, path: str | Path) -> Tokenizer:
        """Read a tokenizer.json that `save` wrote."""
        with tidy_os_errors(f"cannot read {path}"):
            content = Path(path).read_bytes()
        try:
            return cls(content.decode())
        except ValueError as error:
            raise LimelightError(f"{path} is not a tokenizer of Limelight: {_one_line(error)}") from error

    def save(self, path: str | Path) -> None:
        """Write one standard tokenizer.json, which plain `tokenizers` loads too."""
        with atomic_file(path) as file:
            file.write(self._json.encode())

    @classmethod
    def from_json(cls, text: str) -> Tokenizer:
        """The tokenizer that `to_json` gave."""
        return cls(text)

    def to_json(self) -> str:
        """Rules and vocabulary as the text of a tokenizer.json."""
        return self._json

    @property
    def hash(self) -> str:
        """SHA-256 of the JSON: two tokenizers with the same hash give the same ids."""
        return hashlib.sha256(self._json.encode()).hexdigest()

    def __len__(self) -> int:
        return len(self.vocabulary)

    def split(self, text: str) -> list[str]:
        """The words, as they stand in the text.

        >>> Tokenizer.from_words([]).split("Mr. O'Neil's 20% off...")
        ['Mr.', "O'Neil", "'s", '20', '%', 'off', '...']
        """
        return [text[start:end] for start, end in self._encode(text).offsets]

    def locate(self, text: str) -> tuple[np.ndarray, np.ndarray]:
        """Ids (n,) and character offsets (n, 2) of the words; a text without words is one unknown at 0, 0."""
        encoding = self._encode(text)
        ids = np.asarray(encoding.ids or [UNKNOWN], dtype=np.int32)
        offsets = np.asarray(encoding.offsets or [(0, 0)], dtype=np.int32)
        return ids, offsets

    def encode(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Ids of all texts back to back, and the number of words of each; in parallel.

        >>> ids, lengths = Tokenizer.from_words(["good"]).encode(["good day", "", "Good"])
        >>> ids.tolist(), lengths.tolist()
        ([2, 1, 1, 2], [2, 1, 1])
        """
        encodings = self._rules.encode_batch_fast([_encodable(t) for t in texts], add_special_tokens=False)
        words = [encoding.ids or [UNKNOWN] for encoding in encodings]
        lengths = np.fromiter(map(len, words), dtype=np.int32, count=len(words))
        ids = np.fromiter(chain.from_iterable(words), dtype=np.int32, count=int(lengths.sum()))
        return ids, lengths

    def _encode(self, text: str) -> Any:
        return self._rules.encode(_encodable(text), add_special_tokens=False)


def _build(ids: dict[str, int], lowercase: bool) -> tokenizers.Tokenizer:
    rules = tokenizers.Tokenizer(models.WordLevel(ids, unk_token=SPECIAL[UNKNOWN]))
    if lowercase:
        rules.normalizer = normalizers.Lowercase()
    rules.pre_tokenizer = pre_tokenizers.Split(tokenizers.Regex(WORD), behavior="removed", invert=True)
    return rules


def _parse(text: str) -> tokenizers.Tokenizer:
    """Check what comes from outside: a word-level model with ids 0, 1, 2, ..., the special two first."""
    try:
        model = json.loads(text)["model"]
        ids = sorted(model["vocab"].values())
        rules = tokenizers.Tokenizer.from_str(text)
    except Exception as error:
        raise LimelightError(f"not a tokenizer.json: {_one_line(error)}") from error
    special = [model["vocab"].get(word) for word in SPECIAL]
    if model.get("type") != "WordLevel" or ids != list(range(len(ids))) or special != [PAD, UNKNOWN]:
        raise LimelightError(f"expected word-level ids 0, 1, 2, ... that begin with {' and '.join(SPECIAL)}")
    return rules


def _encodable(text: str) -> str:
    """Lone surrogates are no text; each becomes the replacement character, so that offsets stay the same."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return _LONE_SURROGATE.sub("\ufffd", text)
    return text


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())
