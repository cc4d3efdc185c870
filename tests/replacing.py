"""Loads of a folder that another process keeps replacing, in one step and in two.

    PYTHONPATH=src:tests python tests/replacing.py [LOADS]

Two models take turns; each has its own labels and weights. It prints how many loads gave a whole model, how
many mixed the two, and how many failed, and exits with 1 unless all were whole.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np

from limelight.config.recipe import Recipe
from limelight.errors import LimelightError
from limelight.network.parts import shapes
from limelight.runtime.folder import Parts, open_folder, save_folder
from limelight.storage import files
from limelight.text.tokenizer import Tokenizer

LABELS = (("a", "b"), ("x", "y"))


def write(path: Path, which: int) -> None:
    """One of the two models: all of its weights are its number plus 1."""
    recipe, words = (
        Recipe().override(hidden=30, rows=4, head_hidden=50),
        Tokenizer.from_words(["good", "bad"]),
    )
    expected = shapes(recipe.model, len(words), 2, False)
    weights = {name: np.full(shape, which + 1, np.float32) for name, shape in expected.items()}
    save_folder(path, Parts(recipe, words, weights, LABELS[which]), overwrite=True)


def replace_forever(path: Path, one_step: bool) -> None:
    if not one_step:
        files.exchange = lambda one, other: False
    while True:
        for which in (1, 0):
            write(path, which)


def load_once(path: Path) -> str:
    try:
        found = open_folder(path)
    except LimelightError as error:
        print(error, file=sys.stderr)
        return "failed"
    right = LABELS.index(found.labels) + 1
    return "whole" if all((array == right).all() for array in found.weights.values()) else "mixed"


def count_loads(loads: int, one_step: bool) -> Counter[str]:
    """What became of each load while a child replaces the folder."""
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "model"
        write(path, 0)
        child = os.fork()
        if not child:
            replace_forever(path, one_step)
        try:
            return Counter(load_once(path) for _ in range(loads))
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def main() -> int:
    loads = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    found = {f"{steps} step": count_loads(loads, steps == "one") for steps in ("one", "two")}
    print(json.dumps(found))
    return int(any(set(counts) != {"whole"} for counts in found.values()))


if __name__ == "__main__":
    sys.exit(main())
