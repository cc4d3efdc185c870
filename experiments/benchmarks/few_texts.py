"""A hundred texts and no development set: does the model learn, and is a good epoch chosen?

    python experiments/benchmarks/few_texts.py                          the whole table (a few minutes on two cores)
    python experiments/benchmarks/few_texts.py --sizes 60 --seeds 3     part of it

Preset `light` on the bundled sentences, negative against positive. Each seed has its own training sentences,
a tenth of which is held out to choose the epoch, as always without a development set. Test accuracy is on all
test sentences; "constant" counts the models that predict one class for every sentence.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from spread import spread

from limelight import TextClassifier
from limelight.bundled import LABELS, sentences


def two_classes(split: str) -> tuple[np.ndarray, np.ndarray]:
    """The sentences of a split that are not neutral, and whether each is positive."""
    texts, labels = sentences(split)
    places = np.array([LABELS.index(label) for label in labels])
    middle = len(LABELS) // 2
    return np.array(texts, dtype=object)[places != middle], places[places != middle] > middle


def measure(size: int, min_steps: int, seeds: int) -> tuple[list[float], int]:
    """The test accuracy for each seed, and how many of the models are constant."""
    (texts, good), (test, truth) = two_classes("train"), two_classes("test")
    order = np.random.default_rng(0).permutation(len(texts))
    accuracies, constant = [], 0
    for seed in range(seeds):
        rows = order[seed * size : (seed + 1) * size]
        classifier = TextClassifier(
            preset="light", min_steps=min_steps, random_state=seed, device="cpu", progress=False
        )
        answers = classifier.fit(texts[rows], good[rows]).predict(test)
        accuracies.append(float((answers == truth).mean()))
        constant += len(np.unique(answers)) == 1
    return accuracies, constant


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[60, 100, 200, 300])
    parser.add_argument("--min-steps", type=int, nargs="+", default=[0, 100])
    parser.add_argument("--seeds", type=int, default=8)
    args = parser.parse_args()
    warnings.simplefilter("ignore")  # about models that learned nothing: they are counted here
    print("| sentences | min_steps | test % | worst | constant |\n|---|---|---|---|---|", flush=True)
    for size in args.sizes:
        for steps in args.min_steps:
            accuracies, constant = measure(size, steps, args.seeds)
            worst = f"{100 * min(accuracies):.1f}"
            cells = [str(size), str(steps), spread(accuracies), worst, str(constant)]
            print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
