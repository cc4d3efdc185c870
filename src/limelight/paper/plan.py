"""An experiment is a list of named runs: a model of the paper with its recipe and seed on a data set.

All experiments may share one folder: a run that two tables have in common is then trained once.
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
    """An encoded data set, and the task of the paper whose settings it is trained with.

    >>> Data.parse("yelp=encoded/yelp").task, Data.parse("age:blogs=encoded/blogs").name
    ('yelp', 'blogs')
    """

    name: str
    task: str
    folder: Path

    @classmethod
    def parse(cls, given: str) -> Data:
        """`yelp=DIR`, or `yelp:hotels=DIR` for other data with the settings of a task."""
        name, equals, folder = given.partition("=")
        task, _, own = name.rpartition(":")
        if not equals or not folder or not own or PurePath(own).name != own:
            raise LimelightError(f"--data is {given!r}; write it as yelp=DIR, or yelp:hotels=DIR")
        if (task or own) not in TASKS:
            raise LimelightError(
                f"--data {given}: with the settings of which task ({', '.join(TASKS)})? "
                f"For example {TASKS[0]}:{own}={folder}"
            )
        return cls(own, task or own, Path(folder))


@dataclass(frozen=True)
class Plan:
    """What a command was asked for."""

    out: Path
    data: tuple[Data, ...] = ()
    seeds: tuple[int, ...] = (0, 1, 2)
    options: dict[str, Any] = field(default_factory=dict)  # of the recipe, for all runs
    only: tuple[str, ...] = ()  # names or patterns of runs
    device: str = "auto"
    note: str = ""
    show: bool = True

    def runs(self, models: Sequence[str], curve: bool = False) -> list[Run]:
        """Every model on every data set with every seed; the seeds outermost, to have a whole table early."""
        return [
            Run(data, model, setting(data.task, model).override(**{"seed": seed, **self.options}), curve)
            for seed in self.seeds
            for data in self.data
            for model in models
        ]

    def need(self, what: str, tasks: Sequence[str]) -> None:
        """Refuse data that an experiment is not about."""
        if not self.data:
            raise LimelightError(f"{what} needs data: --data {tasks[0]}=DIR, a folder of 'limelight encode'")
        for data in self.data:
            if data.task not in tasks:
                raise LimelightError(f"{what} is about {' and '.join(tasks)}; {data.name} is {data.task}")

    def keep(self, what: str, *names: str) -> None:
        """Refuse to change, for all runs alike, what an experiment compares: its table would tell lies."""
        for name in names:
            if name in self.options:
                raise LimelightError(f"{name} is for {what} to choose; leave it out of --set")


@dataclass(frozen=True)
class Run:
    """One training: a model with its recipe and seed on a data set."""

    data: Data
    model: str
    recipe: Recipe
    curve: bool = False  # test after every epoch

    @property
    def seed(self) -> int:
        """Every random choice follows from it."""
        return self.recipe.training.seed

    @property
    def name(self) -> str:
        """Also the name of its folder."""
        return f"{self.data.name}-{self.model}-seed{self.seed}"
