"""The results saved with a model, for its card and for people, beside its baselines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
