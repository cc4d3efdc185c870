r"""Fit a fast reader to the words of another reader than the one that it was trained with, without a GPU.

    python experiments/reader/experiments.py prepare WORK --corpus CORPUS --files TEXTS...
    python experiments/reader/teach.py TEXTS... --teacher FOLDER --out vectors.npy
    python experiments/reader/refit.py FAST READER --work WORK --vectors vectors.npy --out OUT

FAST reads the words x that it was trained with by linear maps W alone. It starts with W B, where B maps READER's
words to those, x ~ B y, by least squares over the words that the texts have; then it is trained as before.
A tenth of the corpus is enough: five passes over 330,000 texts take 25 minutes of one core.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import torch

import experiments
from limelight.config.pretrain_recipe import ReaderRecipe
from limelight.network.torch.network import Network
from limelight.runtime.reader import Reader
from limelight.text.dataset import Dataset
from limelight.text.tokenizer import SPECIAL
from limelight.training.context import choose_device, run_context
from limelight.training.run import TrainingRun
from limelight.training.teacher import Vectors
from limelight.training.vector_objective import PretrainData

READ_WORDS = ("pooling.W_s1", "vector.W_shared")  # the maps that read the words; the others come after them


def words_to_words(old: np.ndarray, new: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """B (d, d) with the least squares of old - B new, rows of both being words; frequent words count more."""
    weights = np.sqrt(counts + 1.0)[:, None]
    return np.asarray(np.linalg.lstsq(new * weights, old * weights, rcond=None)[0].T)


class Refit(experiments.Shared):
    """Starts from the fast reader of other words."""

    fast: Reader
    B: np.ndarray

    def build_network(self) -> Network:
        network = super().build_network()
        with torch.no_grad():
            for name in ("pooling.W_s1", "pooling.W_s2", "vector.W_shared", "vector.W_rows"):
                W = self.fast.weights[name]
                found = W @ self.B if name in READ_WORDS else W
                network.get_parameter(name).copy_(torch.from_numpy(np.ascontiguousarray(found, np.float32)))
        return network


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("fast", help="folder, or the bundled reader-fast")
    parser.add_argument("reader", type=Path, help="folder of the reader whose words shall be read")
    parser.add_argument("--work", type=Path, required=True, help="folder that experiments.py prepared")
    parser.add_argument(
        "--vectors", type=Path, required=True, help="the teacher's, of the texts in their order"
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    arguments = parser.parse_args()
    fast, reader = Reader.load(arguments.fast), Reader.load(arguments.reader)
    dataset = Dataset.open(arguments.work / "data")
    old, new = (found.weights["words.weight"][len(SPECIAL) :] for found in (fast, reader))
    counts = np.bincount(dataset.splits["train"].ids, minlength=len(new) + len(SPECIAL))[len(SPECIAL) :]
    Refit.fast, Refit.B = fast, words_to_words(old, new, counts[: len(new)])
    experiments.SHARED_WITH = arguments.reader

    options = {**experiments.RUNS["quick"], "max_length": experiments.LONGEST, "precision": "float32"}
    recipe = ReaderRecipe().override(
        **options, epochs=arguments.epochs, learning_rate=arguments.learning_rate
    )
    train = Vectors([np.load(arguments.vectors, mmap_mode="r")], np.load(arguments.work / "rows.npy"))
    recipe, begun = recipe.for_rows(len(train)), time.monotonic()
    data = PretrainData(dataset, train, None, new, reader.facts["teacher"])
    with run_context(choose_device("auto"), None, True, 1e9) as context:
        objective = Refit(data, recipe, choose_device("auto"))
        network = TrainingRun(objective, None, context, ()).fit(resume=False).network
    weights = {k: x.detach().float().cpu().numpy() for k, x in network.state_dict().items()}
    seconds = round(time.monotonic() - begun)
    facts = {
        k: x for k, x in fast.facts.items() if k not in ("cosine", "held_out", "overlap")
    }  # of other words
    facts["refitted"] = {"rows": len(train), "epochs": recipe.epochs, "seconds": seconds}
    words, model = reader.tokenizer.vocabulary[len(SPECIAL) :], objective.recipe.model
    Reader.from_parts(words=words, weights=weights, model=model, facts=facts).save(
        arguments.out, overwrite=True
    )


if __name__ == "__main__":
    main()
