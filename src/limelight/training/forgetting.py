"""What a model forgets as it goes on: its accuracy on the old development set, before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import LimelightError
from ..runtime.start import Start
from ..text.dataset import Dataset
from .outcome import weights_of

if TYPE_CHECKING:
    from .job import Job
    from .run import Fitted


def check_old_dev(job: Job, start: Start | None) -> None:
    """Raise if there is an old development set, but no model that it belongs to."""
    if "old_dev" in job.tables and (start is None or not start.labels):
        raise LimelightError("--old-dev needs --start MODEL, the trained model that it was held out from")
    if "old_dev" in job.tables and start and start.recipe.text.task not in ("auto", "classification"):
        raise LimelightError(f"--old-dev measures accuracy, but the task is {start.recipe.text.task!r}")


def accuracy_before(job: Job, start: Start | None, dataset: Dataset) -> float | None:
    """The accuracy of the model that training starts from, on the old development set if there is one."""
    check_old_dev(job, start)
    if "old_dev" not in job.tables or start is None:
        return None
    if not set(start.labels) <= set(dataset.labels):
        raise LimelightError(
            "--old-dev cannot be measured: none of the new labels is a class of the old model"
        )
    return _accuracy(job, start)[0]


def forgetting(job: Job, before: float, dataset: Dataset, fitted: Fitted) -> dict[str, Any]:
    """Rows of the old development set, and the accuracy on it before and after, for the saved folder."""
    new = Start(fitted.recipe, dataset.tokenizer, weights_of(fitted), dataset.labels, dataset.pair)
    after, rows = _accuracy(job, new)
    return {"data": ", ".join(job.tables["old_dev"]), "rows": rows, "before": before, "after": after}


def _accuracy(job: Job, weights: Start) -> tuple[float, int]:
    """The accuracy on the old development set, and its rows."""
    from ..runtime.labelled import predict_labelled
    from ..runtime.model import Model
    from ..tables.columns import choose_columns

    model = Model.from_parts(
        weights=weights.weights, recipe=weights.recipe, tokenizer=weights.tokenizer, labels=weights.labels,
        pair=weights.pair,
    )  # fmt: skip
    text, label, text2 = (job.columns.get(name) for name in ("text", "label", "text2"))
    right = []
    for file in map(job.input_path, job.tables["old_dev"]):
        columns = choose_columns(file, text, label, text2, pair=model.pair)
        P, truth = predict_labelled(model, file, columns, job.on_bad)
        right.append(P.argmax(axis=1) == truth)
    return float(np.concatenate(right).mean()), sum(map(len, right))
