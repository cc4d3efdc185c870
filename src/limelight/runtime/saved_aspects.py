"""The aspects of a saved model, in the facts of its config.json: read, and changed."""

from __future__ import annotations

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


def write_aspects(folder: str | Path, aspects: Aspects, edit: str) -> None:
    """Give a saved model these aspects; its other files stay as they are. `edit` is for their history."""

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
