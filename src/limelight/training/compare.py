"""Compare the paper's model with its two baselines, and with TF-IDF and logistic regression."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..config.recipe import Recipe
from ..errors import LimelightError, warn
from ..network.parts import matrix_shape, shapes
from ..runtime.metrics import BASELINES
from ..runtime.model import Model
from ..runtime.predictions import predict_labelled
from ..tables.columns import choose_columns
from ..tables.table import open_table
from ..text.dataset import Dataset
from .outcome import results_of

if TYPE_CHECKING:
    from .tf_idf import TfIdf

# The rows of the paper's Table 1.
MODELS = {
    "max": "BiLSTM + max pooling + MLP",
    "cnn": "CNN + max pooling + MLP",
    "self-attention": "Structured self-attention",
}
TF_IDF = "tf-idf"
TRAINED = "trained"  # a model that was there before
STRENGTHS = (1.0, 3.0, 10.0, 30.0)  # of TF-IDF, scikit-learn's C; the development set chooses


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
    folder: str = ""  # of a model that was there before

    @property
    def name(self) -> str:
        """As in the paper's Table 1; of a model that was there before, its folder's."""
        if self.embedding == TRAINED:
            return f"{Path(self.folder).resolve().name} (trained before)"
        return BASELINES["tf_idf"] if self.embedding == TF_IDF else MODELS[self.embedding]


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
        wrong = f"compare trains classifiers; the task of this data is {dataset.task!r}"
        raise LimelightError(wrong, code="task-option")
    if not {"dev", "test"} & set(dataset.splits):
        wrong = "there is no data to measure the models on: give test data, or hold out some rows"
        raise LimelightError(wrong, code="no-rows")
    if not seeds:
        raise LimelightError("no seeds were given; give at least one", code="option-value")
    if recipe.text.start:
        wrong = f"start is {recipe.text.start!r}, but the baselines start from random weights"
        raise LimelightError(f"{wrong}; choose another preset, such as light", code="option-value")
    contestants = [Contestant(each, _parameters(dataset, baseline_recipe(recipe, each))) for each in models]
    for seed in seeds:
        for one in contestants:
            started = time.monotonic()
            fitted = fit(
                dataset, baseline_recipe(recipe, one.embedding).override(seed=seed), device=device, show=show
            )
            if fitted.interrupted:
                raise KeyboardInterrupt
            results = results_of(fitted, dataset, ("dev", "test"))
            one.seeds.append(seed)
            one.seconds.append(time.monotonic() - started)
            accuracies = {split: found.to_dict()["accuracy"] for split, found in results.items()}
            for split, accuracy in accuracies.items():
                getattr(one, split).append(accuracy)
            figures = ", ".join(f"{split} {accuracy:.2%}" for split, accuracy in accuracies.items())
            tell(f"{one.name}, seed {seed}: {figures}, {one.seconds[-1]:.0f} s")
            keep(one.embedding, fitted)
    return contestants


def baseline_recipe(recipe: Recipe, embedding: str) -> Recipe:
    """The recipe with another embedding. A baseline has one row, so a pruned head would leave it a fraction
    of the hidden units: it gets as many, fully connected.

    >>> from limelight.config.presets import preset
    >>> baseline_recipe(preset("light"), "max").model.head
    'full'
    """
    model = recipe.override(embedding="self-attention").model
    if embedding == "self-attention" or model.head == "full":
        return recipe.override(embedding=embedding)
    rows, size = matrix_shape(model)
    units = rows * model.row_units + size * model.column_units
    return recipe.override(embedding=embedding, head="full", head_hidden=units)


def compare_tf_idf(dataset: Dataset, recipe: Recipe) -> Contestant:
    """TF-IDF and logistic regression, what many people would use instead; it has no random seed.

    It reads the words and pairs of neighbours that the other models read.
    """
    from .tf_idf import STRENGTH, fit_tf_idf

    started = time.monotonic()
    splits, sizes = dataset.splits, (len(dataset.tokenizer), len(dataset.labels))
    balanced = recipe.training.class_weight == "balanced"
    best: Any = None
    for strength in STRENGTHS if "dev" in splits else (STRENGTH,):
        found = fit_tf_idf(splits["train"], *sizes, strength=strength, balanced=balanced)
        if best is None or found.accuracy(splits["dev"]) > best.accuracy(splits["dev"]):
            best = found
    seconds = time.monotonic() - started
    accuracies: dict[str, Any] = {
        name: [best.accuracy(splits[name])] for name in ("dev", "test") if name in splits
    }
    return Contestant(
        TF_IDF, best.W.numel() + best.b.numel(), seeds=[recipe.training.seed], seconds=[seconds],
        bytes=_shipped_bytes(best, dataset), **accuracies,
    )  # fmt: skip


def compare_trained(
    folder: str | Path, tables: Mapping[str, Sequence[str]], columns: Mapping[str, Any], on_bad: str = "error"
) -> Contestant:
    """A saved classifier, measured on the development and test tables.

    It may have learnt from any row of the training table, so one that is held out from it is no measure.
    """
    model = Model.load(folder)
    if model.task != "classification":
        wrong = f"compare measures classifiers; the task of {folder} is {model.task!r}"
        raise LimelightError(wrong, code="model-task")
    if not {"dev", "test"} & set(tables):
        wrong = f"{folder} may have learnt from any row of the training data: give --test, or --dev"
        raise LimelightError(wrong, code="no-rows")
    named: dict[str, Any] = {name: columns.get(name) for name in ("text", "label", "text2")}
    found: dict[str, Any] = {}
    for split in {"dev", "test"} & set(tables):
        files = [
            predict_labelled(model, table, choose_columns(table, **named, pair=model.pair), on_bad)
            for table in map(open_table, tables[split])
        ]
        learnt = sum(0 if each.learnt is None else int(each.learnt.sum()) for each in files)
        if learnt:
            warn(f"{folder} learnt from {learnt:,} of the {split} rows: its accuracy there is no measure")
        right = [each.outputs.argmax(axis=1) == each.truth for each in files]
        found[split] = [float(np.concatenate(right).mean())]
    size = sum(file.stat().st_size for file in Path(folder).iterdir())
    count = sum(each.size for name, each in model.weights.items() if name != "words.weight")
    return Contestant(TRAINED, count, bytes=size, folder=str(folder), **found)


def _shipped_bytes(fitted: TfIdf, dataset: Dataset) -> int:
    """Bytes of what one would ship: its terms as text, and its weights in float32."""
    known = dataset.tokenizer.vocabulary
    terms = "\n".join(" ".join(known[k] for k in fitted.term(number)) for number in range(len(fitted.codes)))
    weights = io.BytesIO()
    np.savez(weights, W=fitted.W.numpy(), b=fitted.b.numpy(), idf=fitted.idf.astype(np.float32))
    return len(terms.encode()) + len(weights.getvalue())


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
    """The mean time of a run, if it was measured.

    >>> duration([2.0, 3.0]), duration([100.0]), duration([])
    ('2.5 s', '100 s', '-')
    """
    if not seconds:
        return "-"
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
