"""How often a threshold of --target-precision does not hold, on models whose true precision is known.

The logits are normal, the classes drawn by what they say; a model is miscalibrated if it is surer than that,
or labels are wrong. Each cell: thresholds whose true precision is lower, of those that are given.

python experiments/benchmarks/target_precision.py --tries 100
"""

from __future__ import annotations

import argparse
from collections import Counter

import numpy as np

from limelight.network.outputs import activate
from limelight.runtime.confidence import answer_curve, fit_temperature, reaching

TARGETS, ROWS, CLASSES, NEW = (0.8, 0.9, 0.95, 0.99), (50, 100, 200, 500, 2000), 4, 20_000
MODELS = {  # spread of the logits, how many times too sure, wrong labels, whether a temperature is fitted
    "calibrated, weak": (2, 1, 0, False), "calibrated, good": (4, 1, 0, False),
    "too sure, temperature": (4, 3, 0, True), "10% noise, temperature": (4, 1, 0.1, True),
    "too sure": (4, 3, 0, False), "not sure enough": (4, 0.4, 0, False),
}  # fmt: skip


def attempt(rng: np.random.Generator, model: str, rows: int) -> Counter:
    """Which targets give a threshold, and for which its precision on new texts is lower."""
    spread, sure, noise, fits = MODELS[model]
    Z = rng.normal(0, spread, (rows + NEW, CLASSES))  # new texts below
    P = (1 - noise) * activate("classification", Z) + noise / CLASSES  # what is true
    truth = (rng.random((rows, 1)) > P[:rows].cumsum(axis=1)).sum(axis=1).clip(max=CLASSES - 1)
    T = fit_temperature(sure * Z[:rows], truth) if fits else 1.0
    confidence, best = activate("classification", sure * Z / T).max(axis=1), Z.argmax(axis=1)
    right = P[np.arange(len(P)), best][rows:]
    curve = answer_curve(confidence[:rows], best[:rows] == truth)
    given = {target: point for target in TARGETS if (point := reaching(curve, target, rows))}
    wrong = [t for t, point in given.items() if right[confidence[rows:] >= point.threshold].mean() < t]
    return Counter([("given", target) for target in given] + [("wrong", target) for target in wrong])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tries", type=int, default=100)
    tries, total = parser.parse_args().tries, Counter()
    for model in MODELS:
        for rows in ROWS:
            rng = np.random.default_rng(rows)
            found = sum((attempt(rng, model, rows) for _ in range(tries)), Counter())
            total += found
            cells = (f"{found['wrong', each]:3} of {found['given', each]:3}" for each in TARGETS)
            print(f"{model:22} {rows:5,}  " + "  ".join(cells), flush=True)
    wrong, given = (sum(total[kind, target] for target in TARGETS) for kind in ("wrong", "given"))
    print(f"{wrong:,} of {given:,} do not hold: {wrong / given:.1%}")


if __name__ == "__main__":
    main()
