"""Which texts of a table are in another language than most: by their letters, and by small words."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence

from ..search.words import find_words
from ..text.word_kinds import SMALL_WORDS

_OF_WORD: dict[str, set[str]] = {}
for _language, _words in SMALL_WORDS.items():
    for _word in _words:
        _OF_WORD.setdefault(_word, set()).add(_language)
MIN_HITS = 2  # small words of another language, and that many more than of the table's own


def other_languages(texts: Sequence[str]) -> dict[int, str]:
    """The texts that are not in the language of most, and which one they are in, or their script.

    >>> english = ["The soup was cold and the waiter was rude"] * 3
    >>> other_languages([*english, "Die Suppe ist nicht kalt und der Kellner", "Суп был холодный"])
    {3: 'German', 4: 'Cyrillic'}
    """
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
    return Counter(language for word in words for language in sorted(_OF_WORD.get(word, ())))


def _script(text: str) -> str:
    """The script of most letters, by the names that Unicode gives them; none without letters."""
    names = (unicodedata.name(letter, "").split(" ")[0] for letter in text[:400] if letter.isalpha())
    return _most(names).capitalize()


def _most(values: object) -> str:
    found = Counter(values).most_common(1)  # type: ignore[call-overload]
    return str(found[0][0]) if found else ""
