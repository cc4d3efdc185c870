"""The page of `limelight compare`: which model is the best on the data, and what it costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt

import numpy as np

from ..reading.html import render_style, style, templates
from ..training.compare import Contestant, duration, megabytes, spread


def compare_page(contestants: Sequence[Contestant], rows: Mapping[str, int], data: str) -> str:
    """The page; `rows` has the number of rows of each split that was measured on."""
    environment = templates(__package__)
    best, sentence = verdict(contestants, rows)
    return environment.get_template("compare.html.jinja").render(
        title=f"What works best on {data}", style=style() + render_style(environment, "report.css.jinja"),
        contestants=contestants, splits=[name for name in ("dev", "test") if rows.get(name)], best=best,
        verdict=sentence, seeds=max(len(one.seeds) for one in contestants),
        spread=spread, mean=np.mean, duration=duration, megabytes=megabytes,
    )  # fmt: skip


def verdict(contestants: Sequence[Contestant], rows: Mapping[str, int]) -> tuple[Contestant, str]:
    """The most accurate model, and in a sentence how sure that is.

    Two accuracies are called level if they differ by at most two standard errors of an accuracy measured on
    so many rows: with other rows, the order might be another.

    >>> found = [Contestant("max", 10, test=[0.8]), Contestant("cnn", 10, test=[0.5])]
    >>> verdict(found, {"test": 1000})[1]
    'BiLSTM + max pooling + MLP is the most accurate on the test set, with 80.0%; the others are behind.'
    """
    split = "test" if rows.get("test") else "dev"
    accuracy = {one.name: float(np.mean(getattr(one, split))) for one in contestants}
    best = max(contestants, key=lambda one: accuracy[one.name])
    top = accuracy[best.name]
    near = 2 * sqrt(top * (1 - top) / rows[split])
    level = [name for name, each in accuracy.items() if top - each <= near and name != best.name]
    rest = "the others are behind"
    if level:
        rest = f"{' and '.join(level)} cannot be told from it on {rows[split]:,} rows"
    which = "test" if split == "test" else "development"
    return best, f"{best.name} is the most accurate on the {which} set, with {top:.1%}; {rest}."
