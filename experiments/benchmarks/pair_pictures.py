"""What it costs to see what decided a pair, beside its prediction and leaving out each word in turn.

python experiments/benchmarks/pair_pictures.py --presets small light snli

Random weights, the bundled sentences in pairs; processor time with one thread, the best of several rounds.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

from inference import random_model, words_of

from limelight.bundled import sentences
from limelight.config.presets import preset
from limelight.explain.attribution import ReadTexts, attribute_readings
from limelight.runtime.model import Model


def best(run: Callable[[], object], rounds: int) -> float:
    """Processor seconds."""
    found = []
    for _ in range(rounds):
        begin = time.process_time()
        run()
        found.append(time.process_time() - begin)
    return min(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--presets", nargs="+", default=["small", "light"])
    parser.add_argument("--pairs", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=4)
    args = parser.parse_args()
    texts = sentences("dev")[0][: 2 * args.pairs]
    first, second = texts[0::2], texts[1::2]
    for name in args.presets:
        recipe = preset(name)
        if recipe.model.head == "linear":
            recipe = recipe.override(head="pruned")  # as training has it for pairs
        parts = random_model(recipe, words_of(texts), pair=True)
        model = Model.from_parts(**parts, threads=1)  # type: ignore[arg-type]
        model.read(first[0], second[0])  # starts its sessions
        ways = {
            "predict": lambda model=model: model.predict_proba(first, second),
            "what decided": lambda model=model: model.read_many(first, second),
            "leave one out": lambda model=model: attribute_readings(
                ReadTexts(model, model.read_many(first, second)), "leave-one-out"
            ),
        }
        for way, run in ways.items():
            print(
                f"{name:10} {way:14} {1e3 * best(run, args.rounds) / len(first):8.2f} ms a pair", flush=True
            )


if __name__ == "__main__":
    main()
