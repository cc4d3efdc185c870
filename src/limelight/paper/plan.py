"""What an experiment runs: models of the paper with their recipes and seeds on data sets.

Experiments may share one folder: a run that two tables have in common is trained once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

from ..config.recipe import Recipe
from ..errors import LimelightError
from .settings import TASKS, setting


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
            raise LimelightError(f"--data is {given!r}; write it as yelp=DIR, or yelp:hotels=DIR")
        if (task or own) not in TASKS:
            raise LimelightError(
                f"--data {given} does not say which task's settings to use ({', '.join(TASKS)}); "
                f"for example {TASKS[0]}:{own}={folder}"
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
            ExperimentRun(data, model, self._recipe(data.task, model, seed), curve)
            for seed in self.seeds
            for data in self.data
            for model in models
        ]

    def _recipe(self, task: str, model: str, seed: int) -> Recipe:
        return setting(task, model).override(**{"seed": seed, **self.options})

    def require_tasks(self, what: str, tasks: Sequence[str]) -> None:
        """Raise unless all data is for tasks of an experiment."""
        if not self.data:
            raise LimelightError(f"{what} needs data: --data {tasks[0]}=DIR, a folder of 'limelight encode'")
        for data in self.data:
            if data.task not in tasks:
                names = " and ".join(tasks)
                raise LimelightError(f"{what} takes data for {names}; {data.name} is for {data.task}")

    def forbid_options(self, what: str, *names: str) -> None:
        """Raise if options are set that an experiment varies itself: its table would be wrong."""
        for name in names:
            if name in self.options:
                raise LimelightError(f"{what} sets {name} itself; leave it out of --set")


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
