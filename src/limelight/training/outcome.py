"""The chosen network of a run: how well it does, what is told about it, and its saved folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import warn
from ..runtime.metrics import Metrics
from ..text.dataset import Dataset
from ..text.labels import Label

if TYPE_CHECKING:
    from . import Fitted

MOST_CONFUSED = 50  # classes; the table of more is too large for a card, and nobody would read it


def results_of(fitted: Fitted, dataset: Dataset, splits: Sequence[str]) -> dict[str, Metrics]:
    """How the chosen network does on those of the splits that are there."""
    from .evaluate import logits

    results = {}
    for name in splits:
        if name in dataset.splits:
            values = logits(fitted.network, dataset.splits[name]).astype(np.float64)
            exponentials = np.exp(values - values.max(axis=1, keepdims=True))
            probabilities = exponentials / exponentials.sum(axis=1, keepdims=True)
            results[name] = Metrics.of(probabilities, np.asarray(dataset.splits[name].labels))
    return results


def warn_if_constant(results: Mapping[str, Metrics], labels: Sequence[Label]) -> None:
    """Say so where a network has learnt nothing but which class is frequent."""
    if "dev" not in results:
        return
    confusion = results["dev"].confusion
    given, asked = np.flatnonzero(confusion.sum(axis=0)), np.flatnonzero(confusion.sum(axis=1))
    if len(given) == 1 and len(asked) > 1 and results["dev"].rows >= 5:  # of fewer, by chance
        warn(
            f"the model answers {str(labels[given[0]])!r} to all {results['dev'].rows:,} development rows: "
            "it has learnt nothing yet; it may take more rows, more epochs or another rate"
        )


def facts_of(dataset: Dataset, fitted: Fitted, results: Mapping[str, Metrics]) -> dict[str, Any]:
    """What the saved folder says about its data and its results."""
    sources = dataset.facts.get("sources", {})
    facts: dict[str, Any] = {
        "data": {"name": ", ".join(sources.values()), **dataset.facts.get("rows", {})},
        "results": {split: found.to_dict() for split, found in results.items()},
        "encoding": dataset.facts,
        "training": {"best_epoch": fitted.state.best_epoch + 1, "history": fitted.history},
    }
    if dataset.facts.get("held_out"):
        facts["data"]["development set"] = dataset.facts["held_out"]
    for split in ("test", "dev"):
        if split in results and len(dataset.labels) <= MOST_CONFUSED:
            facts |= {"confusion": results[split].confusion.tolist(), "confusion_split": split}
            break
    return facts


def weights_of(fitted: Fitted) -> dict[str, np.ndarray]:
    """The chosen weights as plain arrays."""
    return {name: tensor.cpu().numpy() for name, tensor in fitted.network.state_dict().items()}


def save(out: Path, dataset: Dataset, fitted: Fitted, facts: dict[str, Any], overwrite: bool) -> None:
    """Write the chosen model as a folder."""
    from ..runtime.folder import save_folder

    save_folder(
        out, weights=weights_of(fitted), recipe=fitted.recipe, tokenizer=dataset.tokenizer,
        labels=dataset.labels, pair=dataset.pair, facts=facts, overwrite=overwrite,
    )  # fmt: skip
