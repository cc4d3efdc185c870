"""How well a network does on a split, which epoch is the best, and when to stop early."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import nn

from ..config.recipe import TrainingRecipe
from ..network.torch.network import Network, Output
from ..runtime.batches import Sentences
from ..text.batches import as_targets, gather, row_lengths
from ..text.dataset import Split
from .checkpoint import State
from .context import Processes
from .loss import CLASSIFICATION, TaskLoss
from .spelled_words import SpelledWords

WORDS = {"cpu": 8_192, "cuda": 32_768}  # in a batch, with padding: more saves no time and takes gigabytes
ALONE = Processes()
Plan = list[np.ndarray]  # the rows of each batch


class Scores(NamedTuple):
    """How well a network does on a split."""

    score: float  # accuracy, or the measure of another task
    loss: float
    weighted: tuple[float, float] | None = None  # score and loss, if rows have weights
    error: float = 0.0  # the standard error of the score


def logits(network: Network, split: Split, spelled: SpelledWords | None = None) -> np.ndarray:
    """(rows, classes): the network's logits for every row; of a reader, (rows, vector)."""
    plan = plan_batches(network, split)
    values = _logits(network, split, plan, spelled)
    in_order = np.empty_like(values)
    in_order[np.concatenate(plan)] = values
    return in_order


def _logits(network: Network, split: Split, plan: Plan, spelled: SpelledWords | None = None) -> np.ndarray:
    """The logits of a plan's rows, in its order; copied from the device once, at the end."""
    read = read_batches(network, split, plan, spelled)
    return torch.cat([output.logits.float() for _, output in read]).cpu().numpy()


def reading_plan(split: Split, rows: np.ndarray, words: int) -> Plan:
    """The rows of each batch, some of a split's, in batches of at most so many words with padding."""
    lengths = row_lengths(split)[rows]
    return [rows[batch] for batch in Sentences(split.ids[:0], lengths).batches(words)]


def plan_batches(network: nn.Module, split: Split) -> Plan:
    """The same of all rows, as many words as suit the network's device."""
    return reading_plan(split, np.arange(len(split)), WORDS[_device(network).type])


@torch.no_grad()
def read_batches(
    network: Network, split: Split, plan: Plan, spelled: SpelledWords | None = None
) -> Iterator[tuple[np.ndarray, Output]]:
    """The rows of each batch of a plan, and what the network makes of them, on its device."""
    was_training = network.training
    network.eval()
    try:
        for rows in plan:
            found = gather(split, rows)
            inputs = (found.ids, found.lengths, found.ids2, found.lengths2)
            tensors = [None if x is None else torch.from_numpy(x).to(_device(network)) for x in inputs]
            yield rows, network(*(spelled.read(*tensors[:2]) if spelled else tensors))  # type: ignore[arg-type]
    finally:
        network.train(was_training)


def evaluate(
    network: Network,
    split: Split,
    weights: np.ndarray | None = None,
    processes: Processes = ALONE,
    task: TaskLoss = CLASSIFICATION,
) -> Scores:
    """The mean score and loss over all rows; with weights, also those of the weighted rows.

    Each process reads its share of the batches. Every row's figures are exchanged before they are averaged,
    so any number of processes gives the same bits.
    """
    by_row = torch.zeros(2, len(split), dtype=torch.float64)  # loss and score
    mine = plan_batches(network, split)[processes.rank :: processes.size]
    if mine:
        rows = np.concatenate(mine)
        values = torch.from_numpy(_logits(network, split, mine)).double()
        labels = torch.from_numpy(as_targets(np.asarray(split.labels)[rows]))
        by_row[0, rows] = task.losses(values, labels)
        by_row[1, rows] = task.scores(values, labels).double()
    if processes.size > 1:
        by_row = by_row.to(_device(network))
        processes.sum(by_row)
    losses, scores = by_row.cpu().numpy()
    weighted = None
    if weights is not None:
        weighted = float(np.average(scores, weights=weights)), float(np.average(losses, weights=weights))
    error = float(scores.std()) / len(scores) ** 0.5
    return Scores(float(scores.sum()) / len(scores), float(losses.mean()), weighted, error)


def _device(network: nn.Module) -> torch.device:
    return next(network.parameters()).device


# ---------------------------------------------------------------- the best epoch


def update_best(state: State, scores: Scores | None, recipe: TrainingRecipe) -> bool:
    """Whether to keep this epoch: the best so far, by score and then by loss; where none counts, the newest.

    Where the learning rate falls to zero, the newest is kept if its score is within a standard error of the
    best: such an epoch is better than those before it more often than a few rows can tell.
    """
    if scores is not None:
        score, loss = scores.weighted or scores[:2]
        record = (state.history[state.best_epoch] if state.best_epoch >= 0 else state.first) or {}
        # whether the best score counts, and was measured in the same way, with row weights or without
        counts = record and (scores.weighted is None or "dev_weighted_loss" in record)
        counts = counts and (record["steps"] > recipe.min_steps or not recipe.min_steps)
        best = state.best_accuracy, -state.best_loss
        slack = 0.0 if recipe.schedule == "constant" else scores.error
        if counts and (score + slack, -loss) <= best:
            state.waited += 1
            return False
        if not counts or (score, -loss) > best:
            state.best_accuracy, state.best_loss = score, loss
    state.waited, state.best_epoch = 0, state.epoch
    return True


def is_finished(state: State, recipe: TrainingRecipe) -> bool:
    """Whether all epochs are done, or patience is exhausted."""
    return state.epoch >= recipe.epochs or 0 < recipe.patience <= state.waited
