"""Train the paper's model and its two baselines on the same data with several seeds."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..config.recipe import Recipe
from ..errors import LimelightError
from ..network.parts import matrix_shape, shapes
from ..text.dataset import Dataset
from .outcome import results_of

# The rows of the paper's Table 1.
MODELS = {
    "max": "BiLSTM + max pooling + MLP",
    "cnn": "CNN + max pooling + MLP",
    "self-attention": "Structured self-attention",
}
TF_IDF = "tf-idf"


@dataclass
class Contestant:
    """One model of a comparison, with its figures per seed."""

    embedding: str
    parameters: int  # without the word vectors, which all share
    seeds: list[int] = field(default_factory=list)
    dev: list[float] = field(default_factory=list)  # accuracies
    test: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    bytes: int = 0  # on disk, if that was measured

    @property
    def name(self) -> str:
        """As in the paper's Table 1."""
        return "TF-IDF + logistic regression" if self.embedding == TF_IDF else MODELS[self.embedding]


def compare(
    dataset: Dataset,
    recipe: Recipe,
    seeds: Sequence[int] = (0, 1, 2),
    *,
    models: Sequence[str] = tuple(MODELS),
    device: str = "auto",
    show: bool = False,
    tell: Callable[[str], None] = lambda line: None,
    keep: Callable[[str, object], None] = lambda embedding, fitted: None,
) -> list[Contestant]:
    """Train each model with each seed and measure it on the development and test splits that exist.

    `tell` is called with a line about each finished run, and `keep` with its trained network.
    """
    from .train import fit

    if dataset.task != "classification":
        raise LimelightError(f"compare trains classifiers; the task of this data is {dataset.task!r}")
    if not {"dev", "test"} & set(dataset.splits):
        raise LimelightError(
            "there is no data to measure the models on: give test data, or hold out some rows"
        )
    if not seeds:
        raise LimelightError("no seeds were given; give at least one")
    if recipe.text.start:
        raise LimelightError(
            f"start is {recipe.text.start!r}, but the baselines start from random weights; choose another "
            "preset, such as light"
        )
    contestants = [Contestant(each, _parameters(dataset, as_model(recipe, each))) for each in models]
    for seed in seeds:
        for one in contestants:
            started = time.monotonic()
            fitted = fit(
                dataset, as_model(recipe, one.embedding).override(seed=seed), device=device, show=show
            )
            if fitted.interrupted:
                raise KeyboardInterrupt
            results = results_of(fitted, dataset, ("dev", "test"))
            one.seeds.append(seed)
            one.seconds.append(time.monotonic() - started)
            for split, into in (("dev", one.dev), ("test", one.test)):
                into += [results[split].to_dict()["accuracy"]] if split in results else []
            figures = ", ".join(
                f"{split} {found.to_dict()['accuracy']:.2%}" for split, found in results.items()
            )
            tell(f"{one.name}, seed {seed}: {figures}, {one.seconds[-1]:.0f} s")
            keep(one.embedding, fitted)
    return contestants


def as_model(recipe: Recipe, embedding: str) -> Recipe:
    """The recipe with another embedding. A baseline has one row, so a pruned head would leave it a fraction
    of the hidden units: it gets as many, fully connected.

    >>> from limelight.config.presets import preset
    >>> as_model(preset("light"), "max").model.head
    'full'
    """
    model = recipe.override(embedding="self-attention").model
    if embedding == "self-attention" or model.head == "full":
        return recipe.override(embedding=embedding)
    rows, size = matrix_shape(model)
    units = rows * model.row_units + size * model.column_units
    return recipe.override(embedding=embedding, head="full", head_hidden=units)


def spread(values: Sequence[float]) -> str:
    """Mean and standard deviation in per cent; of a single value, the mean.

    >>> spread([0.50, 0.52]), spread([0.5]), spread([])
    ('51.0 ± 1.4', '50.0', '-')
    """
    if not values:
        return "-"
    mean = f"{100 * np.mean(values):.1f}"
    return mean if len(values) == 1 else f"{mean} ± {100 * np.std(values, ddof=1):.1f}"


def duration(seconds: Sequence[float]) -> str:
    """The mean time of a run.

    >>> duration([2.0, 3.0]), duration([100.0])
    ('2.5 s', '100 s')
    """
    mean = float(np.mean(seconds))
    return f"{mean:.1f} s" if mean < 10 else f"{mean:,.0f} s"


def megabytes(size: int) -> str:
    """A size on disk, for people.

    >>> megabytes(1_260_000), megabytes(0)
    ('1.3 MB', '-')
    """
    return f"{size / 1e6:.1f} MB" if size else "-"


def _parameters(dataset: Dataset, recipe: Recipe) -> int:
    if dataset.vectors is not None:
        recipe = recipe.override(word_size=dataset.vectors.shape[1])
    found = shapes(recipe.model, len(dataset.tokenizer), len(dataset.labels), dataset.pair)
    return sum(int(np.prod(shape)) for name, shape in found.items() if name != "words.weight")
