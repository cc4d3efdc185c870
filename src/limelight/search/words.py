"""The words of a text as an index has them: where each is, and the form that it is looked up by."""

import re
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module

from ..text.tokenizer import Tokenizer

RULES = 3  # a query's words must be found as those of its index were: change this number with the rules
LANGUAGES = ("english", "german", "french", "spanish", "dutch", "czech", "none")  # whose stems are known
MAX_STEMMED = 64  # letters: a longer run is no word, and would take the square of its length
_NO_SPACES = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"  # Thai to Khmer, kana, Han
_RUN = rf"[^\W_{_NO_SPACES}]+"
_WORDS = re.compile(rf"{_RUN}(?:(?<=\d)[.,](?=\d){_RUN})*|[^\W_]")
_SINGULAR = frozenset(("news", "atlas", "cosmos", "bias", "andes"))  # as in Snowball
_FUNCTION_WORDS = """a about above after again against all although am an and any are as at be because been
before being below between both but by can could d did do does doing down during each either few for from
further had has have having he hence her here hers herself him himself his how however i if in into is it
its itself just ll m may me might more moreover most must my myself neither no nor not now of off on once
one only onto or other others ought our ours ourselves out over own per rather re s same shall she should
since so some such t than that the their theirs them themselves then there therefore these they this those
though through thus to too under until up upon us ve very was we were what when where whether which while
who whom whose why will with within without would yet you your yours yourself yourselves
"""  # of English: what is left of a contraction, such as ll, too
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())


@lru_cache(2**17)
def stem(word: str, language: str = "english") -> str:
    """The stem of a word, in lower case."""
    word = word.casefold()
    if language == "none" or len(word) > MAX_STEMMED or not word.isalpha():
        return word
    # A new stemmer for each word: they keep it in themselves, and threads would share it. The package's own
    # way to one may give another library's.
    module = import_module(f"snowballstemmer.{language}_stemmer")
    return str(getattr(module, f"{language.capitalize()}Stemmer")().stemWord(word))


@lru_cache(2**17)
def singular(word: str) -> str:
    """A word in lower case, without a plural's s.

    >>> [singular(word) for word in ("Macrophages", "studies", "glass", "bus", "basis", "news", "is")]
    ['macrophage', 'study', 'glass', 'bus', 'basis', 'news', 'is']
    """
    word = word.casefold()
    if len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is")) or word in _SINGULAR:
        return word
    return word[:-3] + "y" if word.endswith("ies") and len(word) > 4 else word[:-1]


@dataclass(frozen=True)
class WordRules:
    """How the words of an index are found: without those that its model must not read."""

    language: str = "english"
    tokenizer: Tokenizer | None = None  # the model's

    def find(self, text: str) -> list[tuple[int, int, str]]:
        """Where each word of a text starts and ends, and its normal form."""
        words = _WORDS.finditer(self._readable(text))
        return [(*match.span(), self.normal_form(match[0])) for match in words]

    def forms(self, text: str) -> list[str]:
        """The normal forms of the words alone, faster."""
        return [self.normal_form(word) for word in _WORDS.findall(self._readable(text))]

    def normal_form(self, word: str) -> str:
        return stem(word, self.language)

    def is_function_word(self, word: str) -> bool:
        """Whether a word says little of what a text is about; known for English only."""
        return self.language == "english" and word.casefold() in FUNCTION_WORDS

    def _readable(self, text: str) -> str:
        return text if self.tokenizer is None else self.tokenizer.blank_forbidden(text)


def find_words(text: str) -> list[tuple[int, int, str]]:
    """Where each word of a text starts and ends, and its form without a plural's s, which people can read."""
    return [(*match.span(), singular(match[0])) for match in _WORDS.finditer(text)]
