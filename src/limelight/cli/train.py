"""`limelight train`: tables in, a saved model folder out."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..config.presets import AUTO, given_to_choose
from ..config.recipe import DEFAULT_TASK
from ..errors import LimelightError, conflict
from ._jobs import add_data, add_run, data_from, print_resume, run_job
from ._output import metrics_table, print_result
from ._parser import add_flag, add_recipe, check_encoded, given_data, given_options, recipe_from

if TYPE_CHECKING:
    from ..config.recipe import TrainingRecipe
    from ..text.dataset import Dataset
    from ..training.train_job import Outcome, TrainJob

MIN_RATINGS, MAX_RATINGS = 4, 11  # different labels: 1 to 5 stars, 0 to 10 points; more are hardly ratings
HELP = "train a model on a table of labelled text"
USAGE = "%(prog)s DATA [DATA ...] --out DIR [options]"
DESCRIPTION = """\
Train a model on tables of labelled text (csv, tsv, jsonl, json, parquet, xlsx; also .gz, .xz, .bz2, .zst)
or on a folder written by 'limelight encode', and save the best epoch's model as a folder. Most tables need
only --text, --label and --out. The options below change parts of a preset; --help-all lists every one.

  limelight train reviews.csv --text text --label stars --out model
  limelight train more.csv --start model --out model-2      go on with a trained model
  limelight train --resume model      resume an interrupted run
  torchrun --nproc-per-node 4 -m limelight train big.parquet --preset yelp --out model"""


def arguments(parser: argparse.ArgumentParser) -> None:
    add_flag(parser, "data", "DATA", "training table; several are joined", nargs="*")
    add_flag(parser, "--out", "DIR", "model folder to write; DIR.run is used while training")
    add_run(parser)
    add_data(parser)
    lists = (
        "what reviews praise and blame: a JSON file, or hotels, restaurants, products, apps; 8: find up to 8"
    )
    add_flag(parser, "--aspects", "FILE_OR_NAME_OR_N", lists)
    add_recipe(parser)


def run(args: argparse.Namespace) -> int:
    job = _job(args)
    given, preset_given = given_options(args), bool(args.preset)
    outcome: Outcome = run_job(args, job, given=given, preset_given=preset_given)
    if outcome.fitted.interrupted:
        trained = outcome.fitted.state.is_model
        kept = f"; the best model so far is in {outcome.out}" if trained else ""
        return print_resume(job, kept) if outcome.facts or not trained else 1
    if outcome.facts:
        data = {"out": str(outcome.out), "best_epoch": outcome.fitted.state.best_epoch + 1}
        data |= {key: outcome.facts[key] for key in ("results", "baselines") if key in outcome.facts}
        print_result(args, data, _format_outcome(outcome, outcome.fitted.recipe.training))
        if job.recipe.text.task == "auto" and not given.get("start") and not args.json:
            _suggest_ordinal(outcome.dataset)
    return 0


def _job(args: argparse.Namespace) -> TrainJob:
    from ..aspects.find import aspects_given
    from ..training.train_job import TrainJob

    if args.resume:
        other = args.data or args.out or args.overwrite or args.preset or args.aspects
        if other or given_options(args) or given_data(args):
            raise conflict("--resume takes data and options from the interrupted run; give nothing else")
        return TrainJob.load(args.resume)
    if not args.data or not args.out:
        needed = "training data and --out are required: limelight train reviews.csv --out model"
        raise LimelightError(needed, code="argument-missing")
    data = data_from(args)
    aspects = aspects_given(int(args.aspects) if (args.aspects or "").isdecimal() else args.aspects)
    given = given_to_choose(args.preset or AUTO, given_options(args))
    job = TrainJob(
        out=Path(args.out), recipe=recipe_from(args), given=given, overwrite=args.overwrite, aspects=aspects,
        **data,
    )  # fmt: skip
    if job.encoded:
        check_encoded(args)
    return job


def _format_outcome(outcome: Outcome, recipe: TrainingRecipe) -> str:
    from ..runtime.card import with_baselines

    history, best_epoch = outcome.fitted.history, outcome.fitted.state.best_epoch
    epochs, steps = recipe.epochs, history[best_epoch]["steps"] if best_epoch >= 0 else 0
    best = "best" if recipe.schedule == "constant" else "within a standard error of the best"
    why = f"{best} on the development set" if "dev" in outcome.results else "the last one; no development set"
    if "dev" in outcome.results and 0 < steps <= recipe.min_steps:
        why = f"the last one; dev scores count after {recipe.min_steps} steps"
    elif measure := _rising_measure(history, epochs):
        why = f"{why}; {measure} was still rising, so more than --epochs {epochs} may do better"
    epoch = f"epoch {best_epoch + 1} of {len(history)}"
    kept = epoch if best_epoch >= 0 else "the first classifier"
    lines = [f"kept {kept} ({why})" if history else f"kept {kept}: the reader stays as it is"]
    if outcome.results:
        lines.append(metrics_table(with_baselines(outcome.facts)))
    if "baselines" in outcome.facts:
        used, rows = outcome.facts["baselines"]["train_rows"], len(outcome.dataset.splits["train"])
        if used < rows:
            lines.append(f"(TF-IDF was trained on {used:,} of the {rows:,} training rows)")
    texts = ["first sentence", "second sentence"] if outcome.dataset.pair else ["your own sentence"]
    example = shlex.join(["limelight", "explain", str(outcome.out), *texts])
    return "\n".join([*lines, f"saved {outcome.out}; try: {example}"])


def _suggest_ordinal(dataset: Dataset) -> None:
    """Point out on standard error that labels look like ratings, which classification takes as unrelated."""
    labels = dataset.labels
    numbers = [label for label in labels if type(label) is int]
    if dataset.task != DEFAULT_TASK or not MIN_RATINGS <= len(numbers) == len(labels) <= MAX_RATINGS:
        return
    low, high = min(numbers), max(numbers)
    if high - low + 1 == len(numbers):
        found = f"the labels are the numbers {low} to {high}"
        todo = "if they are ratings, try --task ordinal, which knows their order"
        print(f"limelight: {found}; {todo}", file=sys.stderr)


def _rising_measure(history: list[dict[str, Any]], epochs: int) -> str:
    """The measure by which the last possible epoch is better than all before it; none if it is not."""
    from ..training.progress import MEASURES

    name = next((each for each in MEASURES if history and f"dev_{each}" in history[0]), "")
    records = [record for record in history if f"dev_{name}" in record]
    scores = [record.get(f"dev_weighted_{name}", record[f"dev_{name}"]) for record in records]
    return name if len(scores) == epochs > 1 and max(scores[:-1]) < scores[-1] < 1 else ""
