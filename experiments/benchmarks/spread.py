"""Accuracies of several seeds in one cell of a table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def spread(values: Sequence[float]) -> str:
    """Mean and standard deviation in per cent; of a single value, the mean.

    >>> spread([0.50, 0.52]), spread([0.5]), spread([])
    ('51.0 ± 1.4', '50.0', '-')
    """
    if not values:
        return "-"
    mean = f"{100 * np.mean(values):.1f}"
    return mean if len(values) == 1 else f"{mean} ± {100 * np.std(values, ddof=1):.1f}"
