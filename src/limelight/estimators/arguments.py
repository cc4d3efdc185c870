"""The arguments of an estimator: a preset, every option of the recipe, and how to train."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator

from ..config.migrations import split_embedding
from ..config.presets import preset as preset_of
from ..config.recipe import TASKS, Recipe, options, section_of
from ..errors import LimelightError
from ..reading.answers import answers_of

if TYPE_CHECKING:
    from ..training.callbacks import Callback

# The arguments and the recipe's options they set; scikit-learn calls the random seed random_state.
ARGUMENTS = {"random_state" if name == "seed" else name: name for name in options()}


class Arguments(BaseEstimator):
    """What is passed to an estimator, as scikit-learn keeps it, and the recipe it makes."""

    _predicts_numbers = False
    class_weight: Any

    def __init__(
        self,
        preset: str = "small",
        *,
        holdout: float | None = None,
        device: str = "auto",
        progress: bool = True,
        callbacks: list[Callback] | None = None,
        **given: Any,
    ) -> None:
        self.preset, self.holdout, self.device, self.progress = preset, holdout, device, progress
        self.callbacks, given = callbacks, split_embedding(given)
        for name in given:
            if name == "seed":
                raise LimelightError(
                    "there is no option 'seed'; did you mean 'random_state'?", code="option-unknown"
                )
            if name not in ARGUMENTS:
                section_of(name)
        for name in ARGUMENTS:
            setattr(self, name, given.get(name))

    def _recipe(self) -> Recipe:
        """The preset with the options that were passed."""
        given = self._given()
        if isinstance(self.class_weight, Mapping):
            del given["class_weight"]
        if isinstance(given.get("seed"), np.random.RandomState):  # as scikit-learn's estimators take it
            given["seed"] = given["seed"].randint(2**31 - 1)
        task = given.get("task", "auto")
        numbers = answers_of(task).is_number if task in TASKS else self._predicts_numbers
        if numbers != self._predicts_numbers:
            right = "Regressor" if numbers else "Classifier"
            raise LimelightError(
                f"task is {task!r}; use a Text{right} or Pair{right} for it", code="model-task"
            )
        if self._predicts_numbers:
            given["task"] = "regression"
        try:
            return preset_of(self.preset).override(**given)
        except LimelightError as error:
            message = re.sub("^seed is", "random_state is", str(error))
            raise LimelightError(message, code=error.code) from None

    def _given(self) -> dict[str, Any]:
        """The recipe's options that were passed."""
        given = {name: getattr(self, argument) for argument, name in ARGUMENTS.items()}
        return {name: value for name, value in given.items() if value is not None}


def _with_options(init: Any) -> None:
    """Put the recipe's options into the signature, for `get_params` and a notebook's help."""
    signature = inspect.signature(init)
    kept = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    added = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in ARGUMENTS]
    init.__signature__ = signature.replace(parameters=[*kept, *added])
    lines = [f"    {name}: {options()[option].metadata['help']}" for name, option in ARGUMENTS.items()]
    init.__doc__ = "Options default to the preset's values.\n\n" + "\n".join(lines)


_with_options(Arguments.__init__)
