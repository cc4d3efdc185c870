"""What an experiment runs: models of the paper with their settings and seeds on data sets.

Experiments may share one folder: a run that two tables have in common is trained once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

from limelight.config.presets import LITERAL, preset
from limelight.config.recipe import Recipe
from limelight.errors import LimelightError

TASKS = ("yelp", "age", "snli")
CLASSES = {"yelp": 5, "age": 5, "snli": 3}
SPLITS = {  # rows: train, dev, test
    "yelp": (500_000, 2_000, 2_000),
    "age": (68_485, 4_000, 4_000),
    "snli": (549_367, 9_842, 9_824),
}

# What a model changes in its task's preset. Section 4.1: both baselines have an MLP of 3000 units. Of the
# ingredients of the author's code, each model but "literal" lacks one.
CHANGES: dict[str, dict[str, Any]] = {
    "self-attention": {},
    "max": {"pooling": "max", "head_hidden": 3000},
    "cnn": {"encoder": "cnn", "pooling": "max", "head_hidden": 3000},
    "no-penalty": {"penalty": 0.0},
    "b4000": {"head_hidden": 4000},
    "all-epochs": {"patience": 0},  # all curves of a figure have the same length
    "literal": {"clip_norm": 0.5, **LITERAL},
    "norm-clipped": {"clip_norm": 0.5, "clip_gates": 0.0},
    "unscaled-penalty": {"penalty_scale": "paper"},
    "plain-start": {"author_code": False},
    "adagrad": {"optimizer": "adagrad", "learning_rate": 0.01},
    "adamw": {
        "optimizer": "adamw",
        "learning_rate": 8e-4,
        "batch_size": 128,
        "weight_decay": 0.1,
        "epochs": 6,
        "halve_on_plateau": True,
    },
}

# Appendix A. The pruning table has b = 4000 for Age where the text has 2000; p and q are each task's own.
ORIGINAL = {"yelp": "self-attention", "age": "b4000", "snli": "self-attention"}
UNITS = {"yelp": (150, 10), "age": (25, 20), "snli": (300, 10)}


def setting(task: str, model: str) -> Recipe:
    """The paper's recipe for a model on a task; changes are joined by +.

    >>> setting("age", "cnn").model.head_hidden, setting("age", "pruned").model.row_units
    (3000, 25)
    >>> setting("snli", "r5").model.rows, setting("yelp", "max+literal").training.clip_norm
    (5, 0.5)
    """
    recipe = preset(task)
    for change in model.split("+"):
        recipe = recipe.override(**_change(task, change))
    return recipe


def _change(task: str, name: str) -> dict[str, Any]:
    if name == "pruned":
        p, q = UNITS[task]
        return {"head": "pruned", "row_units": p, "column_units": q}
    if name.startswith("r") and name[1:].isdigit():
        return {"rows": int(name[1:])}
    if name not in CHANGES:
        what = f"the paper has no model {name!r}; it has: {', '.join(CHANGES)}"
        raise LimelightError(what, code="model-unknown")
    return CHANGES[name]


@dataclass(frozen=True)
class Data:
    """An encoded data set, and the paper's task whose settings it is trained with.

    >>> Data.parse("yelp=encoded/yelp").task, Data.parse("age:blogs=encoded/blogs").name
    ('yelp', 'blogs')
    """

    name: str
    task: str
    folder: Path

    @classmethod
    def parse(cls, given: str) -> Data:
        """Parse `yelp=DIR`, or `yelp:hotels=DIR` for other data with the settings of a task."""
        name, equals, folder = given.partition("=")
        task, _, own = name.rpartition(":")
        if not equals or not folder or not own or PurePath(own).name != own:
            raise LimelightError(
                f"--data is {given!r}; write it as yelp=DIR, or yelp:hotels=DIR", code="option-value"
            )
        if (task or own) not in TASKS:
            raise LimelightError(
                f"--data {given} does not say which task's settings to use ({', '.join(TASKS)}); "
                f"for example {TASKS[0]}:{own}={folder}",
                code="option-value",
            )
        return cls(own, task or own, Path(folder))


@dataclass(frozen=True)
class Plan:
    """What a command asks for."""

    out: Path
    data: tuple[Data, ...] = ()
    seeds: tuple[int, ...] = (0, 1, 2)
    options: dict[str, Any] = field(default_factory=dict)  # of the recipe, for all runs
    only: tuple[str, ...] = ()  # names or patterns of runs
    device: str = "auto"
    note: str = ""
    show: bool = True

    def runs(self, models: Sequence[str], curve: bool = False) -> list[ExperimentRun]:
        """Every model on every data set with every seed; seeds outermost, to have a whole table early."""
        return [
            ExperimentRun(
                data, model, setting(data.task, model).override(**{"seed": seed, **self.options}), curve
            )
            for seed in self.seeds
            for data in self.data
            for model in models
        ]

    def require_tasks(self, what: str, tasks: Sequence[str]) -> None:
        """Raise unless all data is for tasks of an experiment."""
        if not self.data:
            raise LimelightError(
                f"{what} needs data: --data {tasks[0]}=DIR, a folder of 'limelight encode'", code="needs-data"
            )
        for data in self.data:
            if data.task not in tasks:
                names = " and ".join(tasks)
                raise LimelightError(
                    f"{what} takes data for {names}; {data.name} is for {data.task}", code="data-task"
                )

    def forbid_options(self, what: str, *names: str) -> None:
        """Raise if options are set that an experiment varies itself: its table would be wrong."""
        for name in names:
            if name in self.options:
                raise LimelightError(f"{what} sets {name} itself; leave it out of --set", code="option-fixed")


@dataclass(frozen=True)
class ExperimentRun:
    """A model with its recipe and seed on a data set."""

    data: Data
    model: str
    recipe: Recipe
    curve: bool = False  # test after every epoch

    @property
    def seed(self) -> int:
        """The random seed."""
        return self.recipe.training.seed

    @property
    def name(self) -> str:
        """Its name, and that of its folder."""
        return f"{self.data.name}-{self.model}-seed{self.seed}"
