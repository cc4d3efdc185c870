"""What callbacks cost: steps a second with none, with hooks that do nothing, and with a log of every step.

OMP_NUM_THREADS=1 python experiments/benchmarks/callbacks.py --rounds 9

A round trains the same network once in each way, one after the other; what counts is the median of the
rounds' ratios to training without callbacks, in processor time, which other work hardly changes.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

from limelight.bundled import sentences
from limelight.config.presets import preset
from limelight.text.encode import encode_texts
from limelight.training import Callback, fit


class Steps(Callback):
    """Notes every step."""

    def __init__(self) -> None:
        self.seen: list[tuple[int, int]] = []

    def on_batch_end(self, run: Any, rows: int) -> None:
        self.seen.append((run.state.number, rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--texts", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    texts, labels = (column[: args.texts] for column in sentences("train"))
    recipe = preset("tiny").override(epochs=1, batch_size=8)  # small steps, so that hooks weigh the most
    dataset = encode_texts(texts, labels, recipe=recipe.text, holdout=0)
    ways: dict[str, Callable[[], list[Callback]]] = {
        "none": list,
        "one that does nothing": lambda: [Callback()],
        "one that notes every step": lambda: [Steps()],
    }

    def seconds(make: Callable[[], list[Callback]]) -> float:
        started = time.process_time()
        fit(dataset, recipe, device="cpu", show=False, callbacks=make())
        return time.process_time() - started

    seconds(list)  # the first run is slower
    rounds = [{name: seconds(make) for name, make in ways.items()} for _ in range(args.rounds)]
    steps = -(-args.texts // 8)
    for name in ways:
        rate = statistics.median(steps / each[name] for each in rounds)
        ratio = statistics.median(each["none"] / each[name] for each in rounds)
        print(f"{name:28} {rate:8,.0f} steps/s   ratio {ratio:.3f}")


if __name__ == "__main__":
    main()
