"""The results saved with a model, for its card and for people: what it forgot, and its baselines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def forgetting_sentence(measured: Any) -> str:
    """What a model forgot as it went on, from the figures saved with it; empty if there are none.

    >>> forgetting_sentence({"data": "dev.csv", "rows": 200, "before": 0.915, "after": 0.905})
    'On the old development set (dev.csv, 200 rows), accuracy was 91.50% before and is 90.50% now.'
    """
    try:
        data, rows = str(measured["data"]), int(measured["rows"])
        before, after = (float(measured[name]) for name in ("before", "after"))
    except (KeyError, TypeError, ValueError, OverflowError):
        return ""  # a folder from elsewhere may hold anything
    accuracies = f"accuracy was {before:.2%} before and is {after:.2%} now"
    return f"On the old development set ({data}, {rows:,} rows), {accuracies}."


BASELINES = {"tf_idf": "TF-IDF + logistic regression", "largest_class": "largest class alone"}


def with_baselines(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The results saved with a model, each followed by the accuracies of its baselines, if there are any.

    >>> found = {"results": {"dev": {"accuracy": 0.6}}, "baselines": {"dev": {"largest_class": 0.3}}}
    >>> with_baselines(found)
    {'dev': {'accuracy': 0.6}, 'dev, largest class alone': {'accuracy': 0.3}}
    """
    results, saved = (facts.get(key) for key in ("results", "baselines"))
    shown: dict[str, Any] = {}
    for split, figures in results.items() if isinstance(results, Mapping) else ():
        shown[split] = figures
        found: Any = saved.get(split) if isinstance(saved, Mapping) else None
        measured = found if isinstance(found, Mapping) else {}
        for key, name in BASELINES.items():
            if isinstance(measured.get(key), float):  # a folder from elsewhere may hold anything
                shown[f"{split}, {name}"] = {"accuracy": measured[key]}
    return shown
