"""Small encoded data sets and recipes for the paper's experiments, and results as if of trained models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from experiments.paper.experiment import run_experiment
from experiments.paper.plan import Data, Plan

from limelight.config.recipe import TextRecipe
from limelight.text.encode import Texts, encode_texts
from reviews import pairs, reviews

TINY = {
    "word_size": 6, "hidden": 4, "attention_hidden": 3, "head_hidden": 5, "row_units": 1, "column_units": 1,
    "rows": 3, "batch_size": 16, "optimizer": "adam", "learning_rate": 0.02, "epochs": 1,
}  # fmt: skip


def save_reviews(folder: Path) -> Path:
    """48 reviews to learn from, 12 to choose by, 20 to test on."""
    dev, test = Texts(*reviews(12, 1)), Texts(*reviews(20, 2))
    encode_texts(*reviews(48), recipe=TextRecipe(), dev=dev, test=test).save(folder)
    return folder


def save_pairs(folder: Path) -> Path:
    """The same of pairs."""
    (a, b, labels), (a2, b2, labels2) = pairs(48), pairs(12, 1)
    other = Texts(a2, labels2, b2)
    encode_texts(a, labels, b, recipe=TextRecipe(), dev=other, test=other).save(folder)
    return folder


def run(module: Any, asked: Plan) -> None:
    """Run an experiment as `limelight paper` does."""
    run_experiment(asked, module.runs(asked), lambda results: module.write(asked, results))


def plan(out: Path, *data: tuple[str, str, Path], **changes: Any) -> Plan:
    """A plan with tiny recipes; data are (name, task, folder)."""
    options = {**TINY, **changes.pop("options", {})}
    given = {"seeds": (0,), "device": "cpu", "show": False, **changes}
    return Plan(out, tuple(Data(*each) for each in data), options=options, **given)


def result(data: str, task: str, model: str, seed: int, test: float, **more: Any) -> dict[str, Any]:
    """What a run would have left."""
    about = {"name": data, "task": task, "rows": {"train": 1000, "dev": 200, "test": 400}, "vectors": ""}
    found = {"data": about, "model": model, "seed": seed, "accuracy": {"test": test}, "by_length": []}
    return {**found, **more}


def results(*found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {f"{r['data']['name']}-{r['model']}-seed{r['seed']}": r for r in found}
