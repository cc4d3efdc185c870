"""Which epoch's weights to keep, and when to stop early."""

from __future__ import annotations

from ..config.recipe import TrainingRecipe
from .checkpoint import State
from .evaluate import Scores


def update_best(state: State, scores: Scores | None, recipe: TrainingRecipe) -> bool:
    """Whether this epoch is the best so far, by accuracy and then by loss; noted in `state`.

    Without a development split, and in the steps before its scores count, the newest epoch is the best.
    """
    if scores is not None:
        accuracy, loss = scores.weighted or scores[:2]
        no_better = (accuracy, -loss) <= (state.best_accuracy, -state.best_loss)
        if no_better and _best_counts(state, scores, recipe):
            state.waited += 1
            return False
        state.best_accuracy, state.best_loss = accuracy, loss
    state.waited, state.best_epoch = 0, state.epoch
    return True


def _best_counts(state: State, scores: Scores, recipe: TrainingRecipe) -> bool:
    """Whether the best epoch's score counts, and was measured in the same way (with row weights or not)."""
    if state.best_epoch < 0:
        return False
    record = state.history[state.best_epoch]
    same_measure = scores.weighted is None or "dev_weighted_accuracy" in record
    return bool(same_measure and record["steps"] > recipe.min_steps)


def is_finished(state: State, recipe: TrainingRecipe) -> bool:
    """Whether all epochs are done, or patience is exhausted.

    >>> is_finished(State(epoch=3, waited=2), TrainingRecipe(epochs=9, patience=2))
    True
    """
    return state.epoch >= recipe.epochs or 0 < recipe.patience <= state.waited
