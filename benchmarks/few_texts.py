"""A hundred texts and no development set: does the network learn, and is it chosen well?

    python benchmarks/few_texts.py                          the whole table (some minutes on two cores)
    python benchmarks/few_texts.py --sizes 60 --seeds 3     a corner of it

Preset `small` on the bundled sentences, those that people found bad against those they found good. Each seed
has training sentences of its own, a tenth of which is held out to choose the epoch by, as for anyone who
brings no development set. Test accuracy on all test sentences; "constant" counts the models that give one
answer to all.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

from limelight import TextClassifier
from limelight.bundled import LABELS, sentences
from limelight.training.compare import spread


def two_classes(split: str) -> tuple[np.ndarray, np.ndarray]:
    """The sentences of a split that are not in the middle, and whether each is good."""
    texts, labels = sentences(split)
    places = np.array([LABELS.index(label) for label in labels])
    middle = len(LABELS) // 2
    return np.array(texts, dtype=object)[places != middle], places[places != middle] > middle


def measure(size: int, judge_after: int, seeds: int) -> tuple[list[float], int]:
    """The test accuracy of each seed, and how many of the models are constant."""
    (texts, good), (test, truth) = two_classes("train"), two_classes("test")
    order = np.random.default_rng(0).permutation(len(texts))
    accuracies, constant = [], 0
    for seed in range(seeds):
        rows = order[seed * size : (seed + 1) * size]
        classifier = TextClassifier(min_steps=judge_after, seed=seed, device="cpu", progress=False)
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
    warnings.simplefilter("ignore")  # of models that have learnt nothing: they are counted here
    print("| sentences | judged after | test % | worst | constant |\n|---|---|---|---|---|", flush=True)
    for size in args.sizes:
        for steps in args.judge_after:
            accuracies, constant = measure(size, steps, args.seeds)
            worst = f"{100 * min(accuracies):.1f}"
            cells = [str(size), f"{steps} steps", spread(accuracies), worst, str(constant)]
            print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
