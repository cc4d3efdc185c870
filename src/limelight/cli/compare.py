"""`limelight compare`: self-attention, both baselines and TF-IDF on your own data."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._parser import add_flag, add_recipe, check_encoded, given_options, recipe_from
from ._shared import (
    TRAIN_DEVICE,
    add_data,
    add_shared,
    check_least,
    check_out,
    data_from,
    encode,
    on_terminal,
    print_result,
    save_page,
    table,
)

if TYPE_CHECKING:
    from ..config.recipe import Recipe
    from ..text.encode import Dataset
    from ..training.compare import Contestant

PRESET = "light"  # which does not start from pretrained weights: the baselines have none
HELP = "compare self-attention with a max-pooled biLSTM, a CNN and TF-IDF on your own data"
USAGE = "%(prog)s DATA [DATA ...] [options]"
DESCRIPTION = """\
Train the paper's model, its two baselines, and TF-IDF with logistic regression, what many people would use
instead, on your own data: accuracy (mean and spread over several seeds), training time, and size on disk.

  limelight compare reviews.csv --text text --label stars --test test.csv --seeds 3
  limelight compare reviews.csv --out comparison.html
  limelight compare reviews.csv --test test.csv --with model      and a model that you have trained"""


def arguments(parser: argparse.ArgumentParser) -> None:
    add_flag(parser, "data", "DATA", "training table, or an encoded data set", nargs="+")
    add_flag(parser, "--seeds", "N", "number of seeds for each model", 3)
    trained = "a trained model to measure beside them, on --test or --dev; may be repeated"
    add_flag(parser, "--with", "MODEL", trained, action="append", dest="trained")
    add_flag(parser, "--out", "FILE", "also write the comparison as an HTML page")
    add_shared(parser, "--overwrite")
    add_flag(parser, *TRAIN_DEVICE)
    add_flag(parser, "--json", "", "print a JSON array with an object for each model, for scripts")
    add_data(parser)
    add_recipe(parser)


def run(args: argparse.Namespace) -> None:
    """Encode once, train each model with each seed, print one table."""
    from ..config.effects import warn_ignored
    from ..explain.pages import compare_page
    from ..training import need_torch
    from ..training.compare import compare, compare_tf_idf, compare_trained
    from ..training.train_job import recipe_for

    need_torch()
    check_out(args, page=True)
    check_least(args, seeds=1)
    recipe = recipe_from(args)
    first = recipe.training.seed
    with tempfile.TemporaryDirectory(prefix="limelight-") as folder:
        dataset = _dataset(args, recipe, Path(folder) / "data")
        asked, recipe = recipe, recipe_for(recipe, dataset).override(start=recipe.text.start)
        _warn_unused(recipe, given_options(args), dataset)
        if args.preset:
            warn_ignored(asked, recipe)
        data = data_from(args)  # a model that does not fit is an error before the long work
        trained = [
            compare_trained(each, data["tables"], data["columns"], data["on_bad"])
            for each in args.trained or ()
        ]
        sizes: dict[str, int] = {}

        def keep(name: str, fitted: Any) -> None:
            sizes[name] = sizes.get(name) or _size(Path(folder) / name, dataset, fitted)

        contestants = compare(
            dataset, recipe, range(first, first + args.seeds), device=args.device, show=on_terminal(),
            tell=lambda line: print(line, file=sys.stderr), keep=keep,
        )  # fmt: skip
        for one in contestants:
            one.bytes = sizes[one.embedding]
        contestants += [compare_tf_idf(dataset, recipe), *trained]
        if args.out:
            rows = {name: len(split) for name, split in dataset.splits.items()}
            save_page(args, compare_page(contestants, rows, Path(args.data[0]).name))
        print_result(args, [vars(one) | {"name": one.name} for one in contestants], format_table(contestants))


def _size(folder: Path, dataset: Dataset, fitted: Any) -> int:
    """Bytes of the saved model."""
    from ..training.outcome import save

    save(folder, dataset, fitted, {}, overwrite=False)
    return sum(file.stat().st_size for file in folder.iterdir())


def _dataset(args: argparse.Namespace, recipe: Any, folder: Path) -> Dataset:
    from ..text.dataset import Dataset

    if (Path(args.data[0]) / "dataset.json").is_file():
        check_encoded(args)
        return Dataset.open(args.data[0])
    return encode(args, folder, recipe)


def _warn_unused(recipe: Recipe, given: dict[str, Any], dataset: Dataset) -> None:
    """Warn about options without an effect on any of the models."""
    from ..config.effects import unused_options
    from ..errors import warn
    from ..training.compare import MODELS, baseline_recipe

    if {"encoder", "pooling"} & set(given):
        warn(f"encoder and pooling have no effect: compare trains all of {', '.join(MODELS)}")
    kind = {"has_dev": "dev" in dataset.splits, "pairs": dataset.pair}
    found = {each: unused_options(baseline_recipe(recipe, each), given, **kind) for each in MODELS}
    for name, line in found["self-attention"].items():
        if all(name in lines for lines in found.values()):
            warn(line)


def format_table(contestants: list[Contestant]) -> str:
    """The table: accuracies in per cent, mean and standard deviation over the seeds."""
    from ..training.compare import duration, megabytes, spread

    rows = [
        [
            one.name, spread(one.dev), spread(one.test), f"{one.parameters:,}", duration(one.seconds),
            megabytes(one.bytes),
        ]
        for one in contestants
    ]  # fmt: skip
    count = len(contestants[0].seeds)
    head = ["model", "dev %", "test %", "parameters", "trained in", "on disk"]
    note = f"accuracy, mean ± standard deviation of {count} seeds" if count > 1 else "accuracy, one seed"
    return f"{table(head, rows)}\n({note}; parameters without the words; trained in: one seed)"
