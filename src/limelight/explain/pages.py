"""The pages of `limelight trust` and `limelight compare`: a verdict in words, then the figures behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from ..reading import captions
from ..reading.html import render_style, style, templates
from ..runtime.decided import SHARES
from ..runtime.model import Model
from .attribution import NAMES
from .model_agreement import Agreement
from .plots import curves_plot
from .trust import RANDOM, Trust

if TYPE_CHECKING:
    from ..training.compare import Contestant

# In the order of the plot's colours.
LINES = {"random": RANDOM, "attention": NAMES["attention"], "decided": NAMES["effect"]}


def render_page(template: str, **given: Any) -> str:
    """A page of this package, in the style of the pictures and the reports."""
    environment = templates(__package__)
    sheet = style() + render_style(environment, "report.css.jinja")
    return environment.get_template(template).render(style=sheet, captions=captions, **given)


def trust_page(
    trust: Trust, model: Model, *, name: str, data: str, agreement: Agreement | None = None, other: str = ""
) -> str:
    """The page for a model of this name on this data; with `agreement`, also how it agrees with another."""
    curves = {line: trust[of].drop_without.mean(axis=0).tolist() for line, of in LINES.items()}
    ticks = [f"{share:.0%}" for share in SHARES]
    return render_page(
        "trust.html.jinja", title=f"How far to trust {name} on {data}", trust=trust,
        agreement=agreement, other=other, names=model.row_names or ("",) * len(trust.rows),
        labelled=any(row.accuracy_drop is not None for row in trust.rows),
        has_max_row=model.recipe.model.has_max_row,
        plot=curves_plot("Drop in probability", curves, "share", ticks, size=(360.0, 170.0)),
    )  # fmt: skip


def compare_page(contestants: Sequence[Contestant], rows: Mapping[str, int], data: str) -> str:
    """The page; `rows` has the number of rows of each split that was measured on."""
    from ..training.compare import duration, megabytes, spread

    best, sentence = verdict(contestants, rows)
    return render_page(
        "compare.html.jinja", title=f"What works best on {data}", contestants=contestants, best=best,
        splits=[name for name in ("dev", "test") if rows.get(name)], verdict=sentence,
        seeds=max(len(one.seeds) for one in contestants),
        spread=spread, mean=np.mean, duration=duration, megabytes=megabytes,
    )  # fmt: skip


def verdict(contestants: Sequence[Contestant], rows: Mapping[str, int]) -> tuple[Contestant, str]:
    """The most accurate model, and in a sentence how sure that is.

    Two accuracies are called level if they differ by at most two standard errors of an accuracy measured on
    this number of rows: different rows might give a different order.

    >>> from limelight.training.compare import Contestant
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
