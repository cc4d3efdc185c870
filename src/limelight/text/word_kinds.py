"""Kinds of English words: grammar, and a few meanings such as negation and numbers."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

# English. In other languages a name is the words alone.
GRAMMAR = {
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
MEANING = {
    "negation": "not n't no never neither nor nothing none nobody cannot without hardly lack lacks",
    "people": "man woman men women boy girl boys girls child children kid kids people person guy guys lady "
    "ladies baby family mother father son daughter wife husband friend friends brother sister someone crowd",
    "numbers": "one two three four five six seven eight nine ten hundred thousand million first second "
    "third half many several few",
    "time": "day days night week weeks month months year years hour hours minute minutes today yesterday "
    "tomorrow now then january february march april june july august september october november december",
}
_KINDS = {kind: frozenset(words.split()) for kind, words in (MEANING | GRAMMAR).items()}
FUNCTION_WORDS = frozenset(word for kind in GRAMMAR for word in _KINDS[kind])
SMALL, PUNCTUATION = "small words", "punctuation"
# A few words of each language that hardly any text of three sentences does without: it is told by them.
_LANGUAGES = {
    "English": "the and is was of with for this that have not you are it my to i what how why",
    "German": "der die das und ist nicht ich mit ein eine zu den auf wir sehr auch für war mein wie",
    "French": "le les des est une et pas je pour dans que qui vous nous avec sur mon très c'est à",
    "Spanish": "el los las una es y que por con para muy pero mi se del está lo como más mis",
    "Portuguese": "o os uma é não e que com para muito mas meu minha do da em eu você foi são",
    "Italian": "il gli una è non che per con sono molto ma mio della di ho mi questo perché anche nel",
    "Dutch": "de het een en is niet ik met van voor zijn maar op dat te mijn heel ook wij naar",
}
SMALL_WORDS = {language: frozenset(words.split()) for language, words in _LANGUAGES.items()}


def is_kind(word: str, kind: str) -> bool:
    """Whether a word is of a kind such as "people", "time" or "numbers"; English."""
    if kind == PUNCTUATION:
        return not any(map(str.isalnum, word))
    if kind == SMALL:
        return is_function_word(word)
    return word.lower() in _KINDS[kind] or (kind == "numbers" and word.isdecimal())


def is_function_word(word: str) -> bool:
    """Whether it is grammar or punctuation rather than meaning; English."""
    return word.lower() in FUNCTION_WORDS or is_kind(word, PUNCTUATION)


# ---------------------------------------------------------------- which words texts write as names

MIN_TIMES, MIN_SHARE = 3, 0.8  # inside sentences: of a name, and how often it then has its capital letter
_AFTER = re.compile(r"[,;\w'’&-]+")  # a word after something else may begin a sentence, a title or a list
# English names that every text may have
_WORDS = (
    "monday tuesday wednesday thursday friday saturday sunday january february march april may june july "
    "august september october november december christmas easter english french spanish german italian "
    "american japanese chinese mexican"
)
_GENERAL = frozenset(_WORDS.split())


class Names:
    """Counts how words are written, text by text."""

    def __init__(self) -> None:
        self.times, self.capital = Counter[str](), Counter[str]()  # inside sentences

    def add(self, words: Sequence[str]) -> None:
        for before, word in pairwise(words):
            if len(word) < 3 or not word.isalpha() or word.isupper() or not _AFTER.fullmatch(before):
                continue
            self.times[word.casefold()] += 1
            self.capital[word.casefold()] += word[0].isupper()

    def has(self, word: str) -> bool:
        times = self.times[word]
        return times >= MIN_TIMES and self.capital[word] >= MIN_SHARE * times and word not in _GENERAL
