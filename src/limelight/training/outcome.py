"""The result of a run: its scores, the facts saved with it, and the saved folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import warn
from ..network.modules import Modules
from ..network.outputs import activate
from ..runtime.confidence import MIN_DEV_ROWS, confidence_facts, fit_temperature
from ..runtime.folder import Parts, plain_labels, save_folder
from ..storage.json_file import to_json_values
from ..text.dataset import Dataset
from ..text.labels import Label
from ..text.learnt_rows import MAX_ROWS, LearntRows
from ..text.metrics import AnyMetrics, LabelMetrics, Metrics
from ..text.tasks import find_task

if TYPE_CHECKING:
    from ..runtime.model import Model
    from ..runtime.start import Start
    from .run import Fitted

MAX_CLASSES_CONFUSED = 50  # classes; a larger table is unreadable on a card


def results_of(fitted: Fitted, dataset: Dataset, splits: Sequence[str]) -> dict[str, AnyMetrics]:
    results = {}
    for name in splits:
        if name in dataset.splits:
            truth = np.asarray(dataset.splits[name].labels)
            outputs = activate(dataset.task, fitted.logits(name))
            results[name] = find_task(dataset.task).measure(outputs, truth, fitted.thresholds)
    return results


def calibrate(fitted: Fitted, dataset: Dataset) -> dict[str, Any]:
    """Put the temperature of the development set into the network; `confidence`, for the saved folder.

    Only where the set is large enough, and the answer the most probable class: no temperature changes that.
    """
    import torch

    from ..network.torch.heads import LAST_LAYER
    from .loss import TASK_LOSSES

    split = dataset.splits.get("dev")
    if split is None or len(split) < MIN_DEV_ROWS or not TASK_LOSSES[dataset.task].one_class:
        return {}
    Z, truth = fitted.logits("dev"), np.asarray(split.labels)
    temperature = fit_temperature(Z, truth)
    with torch.no_grad():
        for name, weight in fitted.network.named_parameters():
            if name in LAST_LAYER:
                weight.div_(temperature)
    Z /= temperature  # as the network would give them now
    P = activate(dataset.task, Z)
    return {"confidence": {"temperature": temperature, **confidence_facts(P, truth)}}


def warn_if_constant(results: Mapping[str, AnyMetrics], labels: Sequence[Label]) -> None:
    """Warn if the model predicts the same class, or no label, for every development row."""
    dev = results.get("dev")
    if not isinstance(dev, Metrics | LabelMetrics) or dev.rows < 5:  # with fewer it may be chance
        return
    _, predicted, actual = map(np.flatnonzero, dev.counts)
    several = isinstance(dev, LabelMetrics)
    if len(actual) > 1 - several and len(predicted) == 1 - several:
        what = "no label" if several else repr(str(labels[predicted[0]]))
        warn(
            f"the model predicts {what} for all {dev.rows:,} dev rows: "
            "it has learnt nothing yet; try more rows, more epochs or another learning rate"
        )


def facts_of(
    dataset: Dataset, fitted: Fitted, results: Mapping[str, AnyMetrics], start: Start | None = None
) -> dict[str, Any]:
    """What the saved folder records about its data, training, results, pictures, and what it started from."""
    from .explanation_facts import explanation_facts

    sources = dataset.facts.get("sources", {})
    facts: dict[str, Any] = {
        "data": {"name": ", ".join(sources.values()), **dataset.facts.get("rows", {})},
        "results": {split: found.to_dict() for split, found in results.items()},
        "encoding": {name: fact for name, fact in dataset.facts.items() if name != "forbidden"},
        "training": {"best_epoch": fitted.state.best_epoch + 1, "history": fitted.history},
        **explanation_facts(fitted.network, dataset, weights_of(fitted), fitted.thresholds),
    }
    if "forbidden" in dataset.facts:  # what was not read in training must not be read later
        facts["forbidden"] = dataset.facts["forbidden"]
    if learnt := learnt_rows(dataset, start):
        facts["learnt_rows"] = learnt.to_fact()
    if dataset.facts.get("held_out"):
        facts["data"]["development set"] = dataset.facts["held_out"]
    for split in ("test", "dev"):
        found = results.get(split)
        if isinstance(found, Metrics) and len(dataset.labels) <= MAX_CLASSES_CONFUSED:
            facts |= {"confusion": found.confusion.tolist(), "confusion_split": split}
            break
    return facts


def learnt_rows(dataset: Dataset, start: Start | None) -> LearntRows | None:
    """The rows that the model has learnt from, now and before; None if these are not all known."""
    hashes = dataset.splits["train"].hashes
    if hashes is None:  # encoded by an older version
        return None
    learnt: LearntRows | None = LearntRows.of(hashes)
    if learnt and start and start.labels:
        before = LearntRows.from_fact(start.facts.get("learnt_rows"))
        learnt = before and learnt.joined(before)
    return learnt if learnt and len(learnt) <= MAX_ROWS else None


def weights_of(fitted: Fitted) -> dict[str, np.ndarray]:
    """The network's weights as plain arrays; counters of a module of the user's own are none."""
    state = fitted.network.state_dict()
    return {name: w.float().cpu().numpy() for name, w in state.items() if w.is_floating_point()}


def model_of(dataset: Dataset, fitted: Fitted, facts: dict[str, Any]) -> Model:
    """The trained model, as `Model.load` would open its folder."""
    from ..runtime.model import Model

    return Model(_parts(dataset, fitted, to_json_values(facts)))


def save(out: Path, dataset: Dataset, fitted: Fitted, facts: dict[str, Any], overwrite: bool) -> None:
    save_folder(out, _parts(dataset, fitted, facts), overwrite=overwrite)


def _parts(dataset: Dataset, fitted: Fitted, facts: dict[str, Any]) -> Parts:
    labels = plain_labels(dataset.labels, dataset.task)
    of_data = dataset.tokenizer, weights_of(fitted), labels, dataset.pair
    own = (getattr(part, "module", None) for part in (fitted.network.encoder, fitted.network.pooling))
    return Parts(fitted.recipe, *of_data, facts, fitted.thresholds, modules=Modules(*own))
