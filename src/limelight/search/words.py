"""The words of a text as an index has them: where each is, and the form that it is looked up by.

An index keeps the rules that it was made with: a query's words must be found as its own were.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from ..text.tokenizer import Tokenizer

RULES = 2  # the newest. 1: "news" was the plural of "new", and "1.8kg" two words
_NO_SPACES = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"  # Thai to Khmer, kana, Han
_RUN = rf"[^\W_{_NO_SPACES}]+"
_WORD = {1: re.compile(rf"{_RUN}|[^\W_]"), 2: re.compile(rf"{_RUN}(?:(?<=\d)[.,](?=\d){_RUN})*|[^\W_]")}
_SINGULAR = {
    1: frozenset[str](),
    2: frozenset(("news", "atlas", "cosmos", "bias", "andes")),
}  # as in Snowball


@lru_cache(2**16)
def normal_form(word: str, rules: int = RULES) -> str:
    """A word in lower case, without a plural's s.

    >>> [normal_form(word) for word in ("Macrophages", "studies", "glass", "bus", "basis", "news", "is")]
    ['macrophage', 'study', 'glass', 'bus', 'basis', 'news', 'is']
    """
    word = word.casefold()
    if len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word in _SINGULAR[rules]:
        return word
    return word[:-3] + "y" if word.endswith("ies") and len(word) > 4 else word[:-1]


@dataclass(frozen=True)
class WordRules:
    """How words are found: by the rules of a version, and without those that the index's model must not read.

    >>> WordRules().find("Top-up fees of 1.8kg")
    [(0, 3, 'top'), (4, 6, 'up'), (7, 11, 'fee'), (12, 14, 'of'), (15, 20, '1.8kg')]
    >>> WordRules(tokenizer=Tokenizer.from_words([]).forbid(["hilton"])).find("The Hilton-style fees")
    [(0, 3, 'the'), (17, 21, 'fee')]
    """

    version: int = RULES
    tokenizer: Tokenizer | None = None  # the model's

    def find(self, text: str) -> list[tuple[int, int, str]]:
        """Where each word of a text starts and ends, and its normal form."""
        words = _WORD[self.version].finditer(self._readable(text))
        return [(*match.span(), self.normal_form(match[0])) for match in words]

    def forms(self, text: str) -> list[str]:
        """The normal forms of the words alone, faster."""
        return [self.normal_form(word) for word in _WORD[self.version].findall(self._readable(text))]

    def normal_form(self, word: str) -> str:
        """A word as it is looked up."""
        return normal_form(word, self.version)

    def _readable(self, text: str) -> str:
        return text if self.tokenizer is None else self.tokenizer.blank_forbidden(text)


def find_words(text: str) -> list[tuple[int, int, str]]:
    """Where each word of a text starts and ends, and its normal form, by the newest rules.

    >>> find_words("Top-up fees")
    [(0, 3, 'top'), (4, 6, 'up'), (7, 11, 'fee')]
    """
    return WordRules().find(text)
