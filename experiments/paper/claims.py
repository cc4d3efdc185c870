"""The paper's claims, one by one: as its author ran it, as its text reads literally, and with AdamW.

python -m experiments.paper claims --data yelp:hotels=encoded/hotels --data age:blogs=encoded/blogs --out runs
python -m experiments.paper claims --out experiments/paper/measured   # the table from results that are there

A claim is that one model is better than another. It is reproduced or reversed where the difference of the
means over the seeds is more than twice its standard error, which has both the test rows' spread (compared row
by row) and the seeds'; otherwise it is not reproduced. The seeds' spread is pooled over all models on the data,
so that it is known for a model with one seed, too; over all data where nothing on this one has two seeds.
A second table for each data set has every model there is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from limelight.network.parts import rows_of

from . import markdown
from .plan import Data, ExperimentRun, Plan
from .report import data_notes, figures, percent, write_table
from .results import ResultsByRun, RunResult, recorded

BETWEEN = ("r5", "r10", "r20")  # rows, beside the one and the 30 of a claim
RECIPES = {"": "as its author ran it", "literal": "literally", "adamw": "with AdamW"}


class Claim(NamedTuple):
    """That `better` is ahead of `worse`, and by how much in the paper, by task."""

    sentence: str
    better: str
    worse: str
    paper: dict[str, str]


CLAIMS = (
    Claim(
        "self-attention is ahead of max pooling", "self-attention", "max",
        {"yelp": "64.21, 61.99", "age": "80.45, 77.40"},
    ),
    Claim(
        "... and of a CNN", "self-attention", "cnn", {"yelp": "64.21, 62.05", "age": "80.45, 78.15"}
    ),
    Claim(
        "the penalty helps", "self-attention", "no-penalty",
        {"yelp": "64.21, 61.74", "age": "80.45, 79.27", "snli": "alike"},
    ),
    Claim("30 rows are ahead of one", "self-attention", "r1", {"age": "a curve", "snli": "a curve"}),
    Claim(
        "the full head is ahead of the pruned one", "self-attention", "pruned",
        {"yelp": "64.21, 63.86", "age": "80.45, 77.32", "snli": "84.43, 83.16"},
    ),
)  # fmt: skip


def runs(plan: Plan) -> list[ExperimentRun]:
    """Every model of a claim with each recipe, the author's first; other numbers of rows on reviews, last."""
    plan.forbid_options("claims", "encoder", "pooling", "rows", "penalty", "head")
    models = list(dict.fromkeys(name for claim in CLAIMS for name in (claim.better, claim.worse)))
    asked = [run for recipe in RECIPES for run in plan.runs([_joined(m, recipe) for m in models])]
    asked += [run for run in plan.runs(BETWEEN) if run.data.task == "yelp"]
    return [run for run in asked if run.data.task != "snli" or rows_of(run.recipe.model).attention]


def _joined(model: str, recipe: str) -> str:
    """The name of a model with a recipe.

    >>> _joined("max", "literal"), _joined("max", "")
    ('max+literal', 'max')
    """
    return f"{model}+{recipe}" if recipe else model


def write(plan: Plan, results: ResultsByRun) -> None:
    """Write claims.md and claims.json."""
    given, results = recorded(plan, results)
    tables, content = [], {}
    for data in given:
        spread = seed_variance(results.values(), data)
        rows = []
        for claim in CLAIMS:
            cells = {name: _cell(results, data, claim, key, spread) for key, name in RECIPES.items()}
            rows.append([claim.sentence, claim.paper.get(data.task, "-"), *cells.values()])
            content[f"{data.name}: {claim.sentence}"] = cells
        head = [data.name, f"the paper's {data.task}", *RECIPES.values()]
        tables += [markdown.table(head, rows), _models(results, data)]
    body, notes = "\n\n".join(tables), data_notes(replace(plan, data=given), results)
    write_table(plan, "claims", "The paper's claims", body, notes, {"claims": content, "runs": results})


def _models(results: ResultsByRun, data: Data) -> str:
    rows = []
    for model in sorted({r["model"] for r in results.values() if r["data"]["name"] == data.name}):
        found = sorted(_runs_of(results, data, model), key=lambda r: int(r["seed"]))
        seeds = ", ".join(f"{100 * r['accuracy']['test']:.2f}" for r in found)
        rows.append([model, percent(figures(results, data, model)), seeds])
    return markdown.table([data.name, "test", "by seed"], rows)


def _cell(results: ResultsByRun, data: Data, claim: Claim, recipe: str, spread: float | None) -> str:
    models = [_joined(model, recipe) for model in (claim.better, claim.worse)]
    better, worse = (_runs_of(results, data, model) for model in models)
    if not better or not worse:
        return "-"
    shown = ", ".join(percent(figures(results, data, model)) for model in models)
    seeds = min(len(better), len(worse))
    count = f"{seeds} seed" + "s" * (seeds > 1)
    return f"{shown} ({count}): {verdict(better, worse, spread)}"


def _runs_of(results: ResultsByRun, data: Data, model: str) -> list[RunResult]:
    return [r for r in results.values() if (r["data"]["name"], r["model"]) == (data.name, model)]


def verdict(better: Sequence[RunResult], worse: Sequence[RunResult], seed_variance: float | None) -> str:
    """What the runs say of a claim, given the variance of an accuracy over seeds.

    >>> run = lambda test, right: {"accuracy": {"test": test}, "right": right, "data": {"rows": {"test": 8}}}
    >>> verdict([run(1.0, "ff"), run(1.0, "ff")], [run(0.0, "00"), run(0.0, "00")], 1e-4)
    'reproduced'
    >>> verdict([run(0.5, "f0"), run(0.5, "f0")], [run(0.5, "0f"), run(0.5, "0f")], 1e-4)
    'not reproduced'
    """
    if seed_variance is None:
        return "undecided, no two seeds"
    gain, error = difference(better, worse, seed_variance)
    if abs(gain) <= 2 * error:
        return "not reproduced"
    return "reproduced" if gain > 0 else "reversed"


def seed_variance(results: Iterable[RunResult], data: Data) -> float | None:
    """The variance of the test accuracy over seeds, pooled over the models on this data, or else on all."""
    groups: dict[tuple[str, str], list[float]] = defaultdict(list)
    for run in results:
        groups[run["data"]["name"], run["model"]].append(run["accuracy"]["test"])
    several = {key: values for key, values in groups.items() if len(values) > 1}
    here = [values for (name, _), values in several.items() if name == data.name] or list(several.values())
    if not here:
        return None
    squares = sum(float(np.var(values) * len(values)) for values in here)
    return squares / sum(len(values) - 1 for values in here)


def difference(
    better: Sequence[RunResult], worse: Sequence[RunResult], seed_variance: float
) -> tuple[float, float]:
    """The difference of the mean accuracies, and its standard error: of test rows and of seeds."""
    means = [np.mean([_right(run) for run in side], axis=0) for side in (better, worse)]
    by_row = means[0] - means[1]  # (test rows,)
    variance = by_row.var() / len(by_row) + sum(seed_variance / len(side) for side in (better, worse))
    return float(by_row.mean()), float(np.sqrt(variance))


def _right(run: RunResult) -> np.ndarray:
    """(test rows,): 1 where the prediction is right."""
    packed = np.frombuffer(bytes.fromhex(run["right"]), np.uint8)
    return np.unpackbits(packed, count=run["data"]["rows"]["test"]).astype(float)
