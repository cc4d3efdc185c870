"""Learning labels: the loss of each row by its task, plus the penalties on the attention."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..config.presets import MAX_ROWS_LAST, MIN_ROWS_LAST
from ..config.recipe import Recipe
from ..errors import LimelightError
from ..network.modules import OURS, Modules
from ..network.parts import module_tensors, rows_of
from ..network.torch.heads import ScaledLinearHead, VectorHead
from ..network.torch.network import Network
from ..runtime.start import Start
from ..storage.array_files import checksum, digest_rows
from ..text.dataset import Dataset, Split
from ..text.tasks import find_task
from .context import Processes
from .evaluate import Scores, evaluate
from .loss import TASK_LOSSES, BatchLoss, Tensors, loss
from .starting_network import (
    FOLDS,
    MAX_ROWS,
    build_network,
    fit_first_head,
    fit_last_head,
    fit_map,
    fit_new_classes,
    fits_map,
    real_rows,
)
from .step import Objective, Stepper

MANY_WORDS = 200_000  # take some seconds to read on two cores
WARM_UP = 0.1  # share of the steps, after a start from pretrained weights


class LabelObjective(Objective):
    """The labels of a data set, or in their place `targets` (rows, classes), probabilities of the classes."""

    def __init__(
        self, dataset: Dataset, recipe: Recipe, start: Start | None = None, targets: np.ndarray | None = None,
        modules: Modules = OURS, own_loss: BatchLoss | None = None,
    ) -> None:  # fmt: skip
        self.dataset, self.recipe, self.start, self.targets = dataset, recipe, start, targets
        self.modules, self.own_loss = modules, own_loss
        self.can_capture = not modules and own_loss is None  # what others wrote may wait for the GPU
        self.task = TASK_LOSSES[recipe.text.task]
        self.measure = self.task.measure
        self.weights, self.dev_weights = (row_weights(dataset, recipe, name) for name in ("train", "dev"))

    def build_network(self) -> Network:
        return build_network(self.dataset, self.recipe, self.start, self.modules)

    def identity(self) -> dict[str, Any]:
        known = run_identity(self.dataset, self.recipe, self.start)
        for part, module in self.modules.named.items():
            tensors = (w.detach().cpu().float().numpy() for w in module_tensors(module).values())
            name = "module" if part == "encoder" else part  # as runs of 0.3 have it
            known[name] = f"{class_name(module)} {checksum(tensors)}"  # of the weights that it starts with
        return known if self.own_loss is None else {**known, "loss": class_name(self.own_loss)}

    def warmup(self, total: int) -> int:
        """Steps in which the learning rate rises: Adam's first ones would undo pretrained weights."""
        return math.ceil(WARM_UP * total) if self.recipe.text.start or self.modules else 0

    def backward(self, stepper: Stepper, batch: Tensors | None, share: float) -> None:
        """Compute the gradients of this process's rows, if it has any, and count the figures."""
        if batch is None:
            return
        output = stepper.read(batch.ids, batch.lengths, batch.ids2, batch.lengths2)
        rows, vocabulary = rows_of(self.recipe.model).attention, len(stepper.network.words.weight)
        parts = loss(
            output, batch, self.recipe.training, rows, vocabulary, self.task, stepper.side, self.own_loss
        )
        count, logits = len(batch.labels), output.logits.detach()
        with stepper.side.aside():
            scores = self.task.scores(logits, batch.labels)
            stepper.count(count, parts.labels * count, parts.penalty * count, scores.sum())
        (parts.total * share if share != 1.0 else parts.total).backward()

    def evaluate(self, network: Any, processes: Processes) -> tuple[Scores | None, dict[str, float]]:
        """The scores on the development split, if there is one, and the figures to record."""
        dev = self.dataset.splits.get("dev")
        if dev is None:
            return None, {}
        scores = evaluate(network, dev, self.dev_weights, processes, self.task)
        figures = {f"dev_{self.measure}": scores.score, "dev_loss": scores.loss}
        if scores.weighted:
            score, weighted_loss = scores.weighted
            figures |= {f"dev_weighted_{self.measure}": score, "dev_weighted_loss": weighted_loss}
        return scores, figures

    # ------------------------------------------------------------ the first classifier

    def fit_start(self, stepper: Stepper, note: Callable[[str], None]) -> bool:
        """From a reader or a user's encoder, start with a linear model; of a model, fit the new classes."""
        network, train, seed = stepper.network, self.dataset.splits["train"], self.recipe.training.seed
        from_vectors, labels = self._starts_from_vectors(network), self.dataset.labels
        known = set(self.start.labels if self.start else ())  # the classes of the model to start from
        new = [k for k, label in enumerate(labels) if label not in known]
        if find_task(self.dataset.task).has_several or len(new) == len(labels):
            new = []  # a label that is a classifier of its own starts at random
        if new:
            fit_new_classes(network, train, new, self.weights, seed)
        if from_vectors:
            if train.words > MANY_WORDS:
                note(f"reading {min(len(train), MAX_ROWS):,} rows for a first classifier")
            how_to_fit = network, train, self.weights, seed, self.dataset.task
            found = fit_first_head(*how_to_fit, real_rows(self.dataset))
            if found.score is not None and "dev" not in self.dataset.splits:
                what = "encoder" if self.modules else "reader"
                how = f"{self.task.first_fit} of the frozen {what}, {FOLDS}-fold cross-validation"
                name, x = self.measure, found.score
                score = f"{x:.1%} right" if name == "accuracy" else f"{name} {x:.3f}"
                note(f"{score}: {how}")
            if self.task.one_class and fits_map(network, train, len(self.dataset.labels)):
                note(f"fitting the reader's vectors to the {len(self.dataset.labels)} classes")
                fit_map(network, train, self.weights)
                fit_first_head(*how_to_fit, strength=found.strength)
        if new or from_vectors:
            stepper.processes.broadcast(network.head.parameters())
            stepper.load({name: w.clone() for name, w in network.state_dict().items()})
        return from_vectors

    def fit_end(self, network: Network, note: Callable[[str], None]) -> None:
        """From a reader and many rows, end with a classifier fitted to what the network now reads."""
        train, own_goal = self.dataset.splits["train"], self.targets is not None or self.own_loss is not None
        fits = isinstance(network.head, VectorHead) and self.task.one_class and not own_goal
        if fits and len(train) >= MIN_ROWS_LAST:
            if train.words > MANY_WORDS:
                note(f"reading {min(len(train), MAX_ROWS_LAST):,} rows for a last classifier")
            fit_last_head(network, train, self.weights)

    def _starts_from_vectors(self, network: Network) -> bool:
        """Whether the classifier reads a reader's vectors, as the reader made them; or a module's M."""
        if isinstance(network.head, VectorHead):
            return True
        if self.modules:
            return isinstance(network.head, ScaledLinearHead)
        model = self.recipe.model
        linear_of_vectors = self.dataset.pair and (model.pair, model.head) == ("vectors", "linear")
        return self.start is not None and not self.start.labels and linear_of_vectors


def row_weights(dataset: Dataset, recipe: Recipe, name: str = "train") -> np.ndarray | None:
    """How much each row of a split counts, 1 on average; None if all count equally."""
    split = dataset.splits.get(name)
    if split is None:
        return None
    if split.weights is not None and not np.any(split.weights):
        if name == "train":
            wrong = "every training row has a weight of 0; at least one must have more"
            raise LimelightError(wrong, code="weights-zero")
        return None  # held-out rows may all have weight 0: then they count equally
    weights = None if split.weights is None else np.array(split.weights, dtype=np.float64)
    if recipe.training.class_weight == "balanced":
        labels = np.asarray(split.labels)
        if labels.dtype.kind != "i":
            wrong = f"class_weight is 'balanced', but the task is {dataset.task!r}"
            todo = "weights are for rows of one class each: leave it out"
            raise LimelightError(f"{wrong}; {todo}", code="task-option")
        weights = np.ones(len(split)) if weights is None else weights
        totals = np.bincount(labels, weights, minlength=len(dataset.labels))
        weights = weights / np.where(totals > 0, totals, 1)[labels]
    return None if weights is None else (weights / weights.mean()).astype(np.float32)


def run_identity(dataset: Dataset, recipe: Recipe, start: Start | None = None) -> dict[str, Any]:
    """The options, and enough of the data and the starting weights to tell them from others."""
    options = recipe.values() | {"task": dataset.task}
    for name in ("epochs", "patience"):  # a run may be resumed to train longer
        del options[name]
    data = {f"{name} rows": _fingerprint(dataset.splits.get(name)) for name in ("train", "dev")}
    data |= word_digests(dataset)
    if start is not None:  # a path may hold other weights by now
        data["start"] = start.fingerprint
    return {**options, "tokenizer": dataset.tokenizer.hash, "labels": list(dataset.labels), **data}


def class_name(given: Any) -> str:
    """The name of a module's class, or of a function."""
    found = given if hasattr(given, "__qualname__") else type(given)
    return f"{found.__module__}.{found.__qualname__}"


def word_digests(dataset: Dataset) -> dict[str, str]:
    """The SHA-256 of all word ids of the splits that are trained on and measured by."""
    splits = {name: split for name, split in dataset.splits.items() if name in ("train", "dev")}
    return {
        f"{name} words sha256": digest_rows((ids for ids, *_ in each.sides), np.int32)
        for name, each in splits.items()
    }


def _fingerprint(split: Split | None) -> str:
    """Enough of a split to tell it from another, without reading all of its words."""
    if split is None:
        return "none"
    arrays = [array for array in (split.lengths, split.labels, split.lengths2) if array is not None]
    plain = (array if array.dtype.kind == "f" else np.asarray(array, dtype=np.int32) for array in arrays)
    return f"{len(split)} of {split.words} words ({checksum(plain)})"
