"""A report on a data set as one HTML page: how well a model works, what it reads, how far to trust that.

Two models are shown side by side, with what sets them apart. No network, no script.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from ..errors import LimelightError
from ..runtime.model import Model
from ..storage.files import atomic_file, check_writable
from ..text.inputs import as_list, as_texts
from ..text.labels import Label
from .report_data import measure_model
from .report_page import render_report
from .variants import as_model


def to_report(
    models: Model | Sequence[Model],
    texts: Sequence[str],
    labels: Sequence[Label],
    texts2: Sequence[str] | None = None,
    *,
    names: Sequence[str] = ("model",),
    data: str = "",
    seed: int = 0,
    progress: bool = False,
) -> str:
    """The report on one model, or on two side by side, as an HTML page.

    >>> page = to_report(model, texts, labels, names=["reviews"], data="test.csv")  # doctest: +SKIP
    """
    several = isinstance(models, Iterable) and not isinstance(models, str) and not hasattr(models, "model_")
    chosen = [as_model(each) for each in (cast("Sequence[Model]", models) if several else [models])]
    texts, labels = as_texts(texts), as_list(labels, "labels")
    texts2 = None if texts2 is None else as_texts(texts2, "second texts")
    _check(chosen, names, texts, labels)
    rng = np.random.default_rng(seed)
    sample = rng.permutation(len(texts))
    reports = [
        measure_model(
            model, name, texts, texts2, labels, data=data or "the data", sample=sample, seed=seed,
            progress=progress,
        )
        for model, name in zip(chosen, names, strict=True)
    ]  # fmt: skip
    return render_report(reports, data, rng)


def _check(models: list[Model], names: Sequence[str], texts: list[str], labels: list[Label]) -> None:
    if not 1 <= len(models) == len(names) <= 2:
        raise LimelightError(
            f"a report is on one model or two, each with a name; got {len(models)} models and "
            f"{len(names)} names"
        )
    if not texts or len(texts) != len(labels):
        raise LimelightError(
            f"a report needs labelled texts; got {len(texts)} texts and {len(labels)} labels"
        )
    if len({each.pair for each in models}) > 1:
        pairs, single = names if models[0].pair else reversed(names)
        raise LimelightError(f"{pairs} reads pairs and {single} single texts; compare models of one task")
    if any(set(each.labels) != set(models[0].labels) for each in models):
        raise LimelightError(f"{' and '.join(names)} have different classes; compare models of one task")


def save_report(
    path: str | Path, models: Model | Sequence[Model], texts: Sequence[str], labels: Sequence[Label],
    texts2: Sequence[str] | None = None, **options: Any,
) -> None:  # fmt: skip
    """Write the report to a file, whole or not at all; options as for `to_report`.

    >>> save_report("report.html", model, texts, labels)  # doctest: +SKIP
    """
    if Path(path).suffix.lower() not in (".html", ".htm"):
        raise LimelightError(f"a report is an HTML page: {Path(path).name} must end in .html")
    check_writable(Path(path).parent)  # before the long work
    content = to_report(models, texts, labels, texts2, **options)
    with atomic_file(path) as file:
        file.write(content.encode(errors="replace"))  # it may hold file names that are not UTF-8
