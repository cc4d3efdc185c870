"""Words that a model must not read, such as the names of chains: in the facts of its config.json, with edits.

They are dropped where a text becomes words (text/tokenizer.py), however they are written
(text/forbidding.py), before anything is computed. So the answer is the same whichever of them a text has, or
none, and none has a weight.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..errors import LimelightError, damaged
from ..text.tokenizer import Tokenizer
from .config_file import open_saved, replace_facts

MAX_FORBIDDEN, MAX_WORD, MAX_EDITS = 10_000, 100, 1000  # words; characters; edits that are kept


def forbidden_words(fact: Any) -> frozenset[str]:
    """What config.json has as forbidden words, checked; none if it has none.

    >>> sorted(forbidden_words({"words": ["hilton", "marriott"], "history": []}))
    ['hilton', 'marriott']
    """
    if fact is None:
        return frozenset()
    words = fact.get("words") if isinstance(fact, dict) and fact.keys() == {"words", "history"} else None
    if not isinstance(words, list) or not isinstance(fact["history"], list) or len(words) > MAX_FORBIDDEN:
        raise _damaged()
    if not all(isinstance(word, str) and word and word == word.casefold() for word in words):
        raise _damaged()
    return frozenset(words)


def _damaged() -> LimelightError:
    return damaged("the forbidden words in config.json are not as Limelight writes them")


def read_forbidden(folder: str | Path) -> list[str]:
    with open_saved(Path(folder)) as saved:
        return sorted(forbidden_words(saved.config["facts"].get("forbidden")))


def write_forbidden(folder: str | Path, forbid: Iterable[str] = (), allow: Iterable[str] = ()) -> list[str]:
    """Forbid words, and allow others again; the model's other files stay. Returns all of them."""
    new, gone = check_words(forbid), check_words(allow)

    def changed(config: dict[str, Any]) -> dict[str, Any]:
        before = config["facts"].get("forbidden")
        words = forbidden_words(before)
        if unknown := [word for word in gone if word not in words]:
            raise LimelightError(f"{unknown[0]!r} is not forbidden", code="word-unknown")
        if len(words | set(new)) > MAX_FORBIDDEN:
            raise LimelightError(f"at most {MAX_FORBIDDEN:,} words can be forbidden", code="too-large")
        date = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        edits = [
            f"{name} {', '.join(some)}"[:200] for name, some in (("forbid", new), ("allow", gone)) if some
        ]
        history = [*(before or {}).get("history", ()), *({"date": date, "edit": edit} for edit in edits)]
        kept = sorted((words | set(new)) - set(gone))
        return {**config["facts"], "forbidden": {"words": kept, "history": history[-MAX_EDITS:]}}

    replace_facts(Path(folder), changed)
    return read_forbidden(folder)


def check_words(words: Iterable[str]) -> list[str]:
    """The words in lower case; each must be one word of a text."""
    split = Tokenizer.from_words([]).split
    found = [word.strip() for word in words]
    for word in found:
        if len(word) > MAX_WORD or split(word) != [word]:
            parts = f"it is {len(split(word))} words of a text" if len(word) <= MAX_WORD else "it is too long"
            raise LimelightError(
                f"{word[:60]!r} cannot be forbidden: {parts}; give single words", code="word-form"
            )
    return list(dict.fromkeys(word.casefold() for word in found))
