"""What the default word vectors gain on the bundled sentences, by number of training sentences.

    python experiments/benchmarks/demo_vectors.py                  the whole table (about twenty minutes on two cores)
    python experiments/benchmarks/demo_vectors.py --sizes 500      one row of it

Development and test accuracy of preset `light` at the best development epoch.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from spread import spread

from limelight.cli.demo import bundled
from limelight.config.presets import preset
from limelight.training import fit
from limelight.training.outcome import results_of

# All vectors; only those of the training words; none.
STARTS = {
    "default vectors": {},
    "their training words alone": {"extra_words": 0},
    "no vectors": {"vectors": "", "extra_words": 0},
}


def measure(size: int, options: dict[str, object], seeds: list[int]) -> tuple[list[float], list[float]]:
    """Development and test accuracy for each seed."""
    dev, test = [], []
    for seed in seeds:
        recipe = preset("light").override(seed=seed, **options)
        dataset = bundled(recipe, size or None)
        results = results_of(fit(dataset, recipe, device="cpu", show=False), dataset, ("dev", "test"))
        dev.append(results["dev"].accuracy)
        test.append(results["test"].accuracy)
    return dev, test


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sizes", type=int, nargs="+", default=[500, 2000, 0], help="0: all sentences")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--starts", nargs="+", default=list(STARTS), choices=list(STARTS))
    args = parser.parse_args()
    print("| sentences | start | dev % | test % | seconds a run |\n|---|---|---|---|---|", flush=True)
    for size in args.sizes:
        for name in args.starts:
            started = time.monotonic()
            dev, test = measure(size, STARTS[name], list(range(args.seeds)))
            seconds = (time.monotonic() - started) / args.seeds
            cells = [f"{size:,}" if size else "all 18,732", name, spread(dev), spread(test), f"{seconds:.0f}"]
            print(f"| {' | '.join(cells)} |", flush=True)
            assert np.isfinite(test).all()


if __name__ == "__main__":
    main()
