"""What can be changed of a saved model without training: its aspects, and the words that it must not read.

Both are facts of its config.json, each with a list of the edits; the other files stay as they are. Forbidden
words, such as the names of chains, are dropped where a text becomes words (text/tokenizer.py), however they
are written (text/forbidding.py), before anything is computed. So the answer is the same whichever of them a
text has, or none, and none has a weight.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..aspects.facts import aspect_facts, check_takes_aspects, saved_aspects, with_edits
from ..aspects.seeds import Aspects
from ..config.recipe import Recipe
from ..errors import LimelightError, wrong_model
from ..text.tasks import find_task
from ..text.tokenizer import Tokenizer
from .config_file import open_saved, replace_facts
from .folder import MAX_FORBIDDEN, forbidden_words, is_reader_folder

MAX_WORD = 100  # characters


def read_aspects(folder: str | Path) -> Aspects:
    _check_kind(folder)
    with open_saved(Path(folder)) as saved:
        return saved_aspects(saved.config["facts"].get("aspects"))


def _check_kind(folder: str | Path) -> None:
    if is_reader_folder(folder):
        raise wrong_model(f"{folder} is a reader: aspects are for a trained model")


def write_aspects(folder: str | Path, aspects: Aspects, edit: str) -> None:
    """Give a saved model these aspects; `edit` is for their history."""

    def changed(config: dict[str, Any]) -> dict[str, Any]:
        recipe = Recipe.from_dict(config["recipe"])
        check_takes_aspects(find_task(recipe.text.task).name, config["kind"] == "pair")
        before = config["facts"].get("aspects")
        try:
            saved_aspects(before)
        except LimelightError:  # damaged ones are replaced
            before = None
        return {**config["facts"], "aspects": aspect_facts(aspects, before, edit)}

    _check_kind(folder)
    replace_facts(Path(folder), changed)


def read_forbidden(folder: str | Path) -> list[str]:
    with open_saved(Path(folder)) as saved:
        return sorted(forbidden_words(saved.config["facts"].get("forbidden")))


def write_forbidden(folder: str | Path, forbid: Iterable[str] = (), allow: Iterable[str] = ()) -> list[str]:
    """Forbid words, and allow others again. Returns all that are forbidden."""
    new, gone = check_words(forbid), check_words(allow)

    def changed(config: dict[str, Any]) -> dict[str, Any]:
        before = config["facts"].get("forbidden")
        words = forbidden_words(before)
        if unknown := [word for word in gone if word not in words]:
            raise LimelightError(f"{unknown[0]!r} is not forbidden", code="word-unknown")
        if len(words | set(new)) > MAX_FORBIDDEN:
            raise LimelightError(f"at most {MAX_FORBIDDEN:,} words can be forbidden", code="too-large")
        edits = [f"{name} {', '.join(some)}" for name, some in (("forbid", new), ("allow", gone)) if some]
        kept = {"words": sorted((words | set(new)) - set(gone))}
        return {**config["facts"], "forbidden": with_edits(kept, before, *edits)}

    replace_facts(Path(folder), changed)
    return read_forbidden(folder)


def check_words(words: Iterable[str]) -> list[str]:
    """The words in lower case; each must be one word of a text."""
    split = Tokenizer.from_words([]).split
    found = [word.strip() for word in words]
    for word in found:
        if len(word) > MAX_WORD or split(word) != [word]:
            parts = f"it is {len(split(word))} words of a text" if len(word) <= MAX_WORD else "it is too long"
            fault = f"{word[:60]!r} cannot be forbidden: {parts}; give single words"
            raise LimelightError(fault, code="word-form")
    return list(dict.fromkeys(word.casefold() for word in found))
