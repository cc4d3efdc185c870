"""Hooks into training: what to do after every step and every epoch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..errors import LimelightError

if TYPE_CHECKING:
    from .run import TrainingRun


class Callback:
    """Override the hooks you need; the others do nothing.

    `run` is the network in training: `run.network`, `run.recipe`, `run.state.epoch` (finished epochs),
    `run.state.number` (steps), `run.state.history` (a record per epoch), and `run.figures()`, the loss and
    accuracy of the epoch so far, which on a GPU waits for the steps in flight. Of several processes, the
    first calls the hooks.

    >>> class Losses(Callback):
    ...     def on_epoch_end(self, run, record):
    ...         print(record["epoch"], record["loss"])
    >>> from limelight import TextClassifier
    >>> TextClassifier(callbacks=[Losses()]).callbacks[0].__class__.__name__
    'Losses'
    """

    def on_train_begin(self, run: TrainingRun) -> None:
        """Training starts, or resumes."""

    def on_batch_end(self, run: TrainingRun, rows: int) -> None:
        """A step was taken on so many rows."""

    def on_epoch_end(self, run: TrainingRun, record: dict[str, Any]) -> None:
        """An epoch was evaluated. What is added to `record` is kept in the history."""

    def on_train_end(self, run: TrainingRun) -> None:
        """Training has ended, also by an error or an interruption."""


def check_callbacks(given: Iterable[Callback] | None) -> tuple[Callback, ...]:
    """The callbacks as a tuple, or an error before the long work."""
    if isinstance(given, Callback):
        wrong = "callbacks must be a list; put the one callback into a list"
        raise LimelightError(wrong, code="callback-type")
    found = tuple(given or ())
    for k, each in enumerate(found):
        if not isinstance(each, Callback):
            what = f"the class {each.__name__}" if isinstance(each, type) else f"a {type(each).__name__}"
            raise LimelightError(f"callbacks[{k}] is {what}; it must be a Callback", code="callback-type")
    return found
