"""The page of `limelight trust`: a verdict in words, then the figures it comes from."""

from __future__ import annotations

from ..reading import captions
from ..reading.html import render_style, style, templates
from ..runtime.decided import SHARES
from ..runtime.model import Model
from .attribution import NAMES
from .model_agreement import Agreement
from .plots import curves_plot
from .trust import RANDOM, Trust

# In the order of the plot's colours.
LINES = {"random": RANDOM, "attention": NAMES["attention"], "decided": NAMES["effect"]}


def trust_page(
    trust: Trust, model: Model, *, name: str, data: str, agreement: Agreement | None = None, other: str = ""
) -> str:
    """The page for a model of this name on this data; with `agreement`, also how it agrees with another."""
    environment = templates(__package__)
    curves = {line: trust[of].drop_without.mean(axis=0).tolist() for line, of in LINES.items()}
    ticks = [f"{share:.0%}" for share in SHARES]
    return environment.get_template("trust.html.jinja").render(
        title=f"How far to trust {name} on {data}",
        style=style() + render_style(environment, "report.css.jinja"), trust=trust, captions=captions,
        agreement=agreement, other=other, names=model.row_names,
        labelled=any(row.accuracy_drop is not None for row in trust.rows),
        has_max_row=model.recipe.model.has_max_row,
        plot=curves_plot("Drop in probability", curves, "share", ticks, size=(360.0, 170.0)),
    )  # fmt: skip
