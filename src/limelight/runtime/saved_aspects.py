"""The aspects of a saved model, in the facts of its config.json: read, and changed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..aspects.facts import aspect_facts, check_takes_aspects, saved_aspects
from ..aspects.seeds import Aspects
from ..config.recipe import Recipe
from ..errors import LimelightError, wrong_model
from ..text.tasks import find_task
from .config_file import open_saved, replace_facts
from .folder import is_reader_folder


def read_aspects(folder: str | Path) -> Aspects:
    _check_kind(folder)
    with open_saved(Path(folder)) as saved:
        return saved_aspects(saved.config["facts"].get("aspects"))


def _check_kind(folder: str | Path) -> None:
    if is_reader_folder(folder):
        raise wrong_model(f"{folder} is a reader: aspects are for a trained model")


def write_aspects(
    folder: str | Path, change: Callable[[Aspects], Aspects], *edits: str, anew: bool = False,
) -> Aspects:  # fmt: skip
    """Change the aspects of a saved model; its other files stay as they are. Returns the new aspects.

    With `anew`, what it has may be damaged.
    """
    found = Aspects()

    def changed(config: dict[str, Any]) -> dict[str, Any]:
        nonlocal found
        recipe = Recipe.from_dict(config["recipe"])
        task = find_task(recipe.text.task).name
        check_takes_aspects(task, config["kind"] == "pair")
        before = config["facts"].get("aspects")
        try:
            found = saved_aspects(before)
        except LimelightError:
            if not anew:
                raise
            before = None
        old = found
        found = change(old)
        return {**config["facts"], "aspects": aspect_facts(found, before, *edits)}

    _check_kind(folder)
    replace_facts(Path(folder), changed)
    return found
