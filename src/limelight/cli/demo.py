"""`limelight demo`: similar sentences without a label, then a classifier and what decided."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..config.presets import AUTO
from ..errors import name_taken
from ._output import metrics_table, print_painted
from ._parser import add_flag, check_least

if TYPE_CHECKING:
    from ..runtime.model import Model
    from ..text.encode import Dataset
    from ..training import Fitted

HELP = "train on the bundled sentences and see what decides (one to five minutes)"
DESCRIPTION = """\
Find similar sentences with the bundled reader, which needs no labels; then fine-tune it on the 18,732 rated
sentences bundled with Limelight, measure it, and show what decided for some others. No GPU is needed.

  limelight demo"""

NAME = "Limelight's demo"
SOURCE = "the bundled sentences (from vaderSentiment)"
EPOCHS = 2  # more gain a point at most and take longer
QUERIES = (
    "The battery runs out too fast.", "We laughed from start to finish.", "Taxes are going up again.",
)  # fmt: skip
MIN_SENTENCES = 20  # the first 20 sentences have every class more than once
SHOWN = (2039, 920, 286, 1215, 819, 679, 846, 1142, 879)  # held-out sentences of reviews to draw
NEXT_STEPS = """
Finished in {seconds:.0f} s. These and more pictures as a page: {page}

What to try next:
  limelight explain {model} "The soup was cold but the waiter was lovely."
  limelight info {model}
  limelight train your.csv --text COLUMN --label COLUMN --out model"""


def arguments(parser: argparse.ArgumentParser) -> None:
    add_flag(parser, "--out", "DIR", "folder to write; an earlier demo there is replaced", "demo")
    add_flag(parser, "--seed", "N", "random seed", 0)
    add_flag(parser, "--preset", "NAME", "recipe to train", AUTO)
    add_flag(parser, "--sentences", "N", f"train on the first N sentences only (at least {MIN_SENTENCES})")


def run(args: argparse.Namespace) -> None:
    from ..config.presets import preset
    from ..runtime.start import Chooser
    from ..training import fit, need_torch

    check_least(args, sentences=MIN_SENTENCES)
    need_torch()
    from ..training.context import choose_device, training_cores

    started = time.monotonic()
    out = Path(args.out)
    _check_out(out)
    recipe = preset(args.preset).override(seed=args.seed)
    recipe = recipe.override(epochs=min(EPOCHS, recipe.training.epochs))
    cores = training_cores(choose_device("auto"))
    chooser = Chooser(recipe, ["seed"], cores) if args.preset == AUTO else None
    print(_similar(), flush=True)
    dataset = bundled(recipe, args.sentences, chooser)
    recipe = chooser.recipe if chooser else recipe
    rows = dataset.facts["rows"]
    sizes = f"{rows['train']:,} training, {rows['dev']:,} development and {rows['test']:,} test sentences"
    print(sizes, file=sys.stderr, flush=True)
    fitted = fit(dataset, recipe)
    if fitted.interrupted:
        raise KeyboardInterrupt
    model = _save(out / "model", dataset, fitted)
    readings = _draw(model, out / "index.html")
    print(f"\nHow it answers for sentences it has not seen\n{metrics_table(model.facts['results'])}\n")
    print_painted("\n\n".join(readings))
    print(NEXT_STEPS.format(seconds=time.monotonic() - started, page=out / "index.html", model=out / "model"))


def _check_out(out: Path) -> None:
    """Raise unless `out` is new or an earlier demo: nothing else may be overwritten."""
    from ..runtime.folder import LAYOUT
    from ..storage.files import check_replaceable, check_writable

    if (out / "config.json").is_file():  # with other files in it, it could not be overwritten any more
        raise name_taken(f"{out} is a model folder; choose another --out")
    check_writable(out)
    try:
        is_demo = json.loads((out / "model" / "config.json").read_bytes())["facts"]["name"] == NAME
    except (OSError, ValueError, LookupError, TypeError):
        is_demo = False
    there = [name for name in ("model", "index.html") if (out / name).exists()]
    if there and not is_demo:
        not_ours = f"{out / there[0]} exists and is not from the demo; choose another --out"
        raise name_taken(not_ours)
    check_replaceable(out / "model", LAYOUT, overwrite=True)


def _save(out: Path, dataset: Dataset, fitted: Fitted) -> Model:
    """Measure and save the model, which replaces that of an earlier demo."""
    from ..runtime.model import Model
    from ..training.outcome import calibrate, facts_of, results_of, save

    dataset.facts["sources"] = {"train": SOURCE}
    sure = calibrate(fitted, dataset)
    facts = facts_of(dataset, fitted, results_of(fitted, dataset, ("dev", "test"))) | sure
    save(out, dataset, fitted, {"name": NAME, "license": "mit", **facts}, overwrite=True)
    return Model.load(out)


def _similar() -> str:
    from ..bundled import sentences
    from ..runtime.reader import Reader

    reader = Reader.load()
    texts = [text for text in sentences("test")[0] if len(text) <= 90]  # that fit into a line
    reading = f"reading {len(texts):,} sentences: the bundled reader needs no labels"
    print(reading, file=sys.stderr, flush=True)
    similarity = reader.encode(QUERIES) @ reader.encode(texts).T  # (queries, texts)
    lines = ["Without a label: what is said most similarly in the held-out sentences"]
    for query, values in zip(QUERIES, similarity, strict=True):
        best = values.argsort()[::-1][:2]
        lines += [f"  {query}", *(f"    {values[k]:.2f}  {texts[k]}" for k in best)]
    return "\n".join(lines)


def bundled(recipe: Any, sentences: int | None = None, choose: Any = None) -> Dataset:
    """The bundled sentences, encoded; classes from the most negative to the most positive."""
    from ..bundled import LABELS
    from ..bundled import sentences as texts_of
    from ..runtime.start import start_of
    from ..text.encode import Texts, encode_texts

    parts = {}
    for split in ("train", "dev", "test"):
        texts, labels = texts_of(split)
        most = sentences if split == "train" else None
        parts[split] = Texts(texts[:most], [LABELS.index(label) for label in labels[:most]])
    dataset = encode_texts(
        *parts["train"][:2], recipe=recipe.text, dev=parts["dev"], test=parts["test"],
        start=None if choose else start_of(recipe)[1], choose=choose,
    )  # fmt: skip
    return dataclasses.replace(dataset, labels=LABELS)


def _draw(model: Model, page: Path) -> list[str]:
    """Write the page, and return the pictures for the terminal."""
    from ..bundled import sentences
    from ..reading import to_page, to_terminal
    from ..storage.files import write_file

    texts, labels = sentences("test")
    readings: list[Any] = model.read_many([texts[k] for k in SHOWN])
    readings = [dataclasses.replace(each, truth=labels[k]) for k, each in zip(SHOWN, readings, strict=True)]
    right = [each for each in readings if each.label == each.truth]
    wrong = [each for each in readings if each.label != each.truth]
    sections: list[Any] = []
    for heading, some in (("Where it is right", right), ("Where it is wrong", wrong)):
        sections += [heading, *some] if some else []
    test, rows = model.facts["results"]["test"], model.facts["data"]["train"]
    about = (
        f"Limelight trained this model on {rows:,} sentences from reviews, news and tweets, rated by people "
        f"from {model.labels[0]} to {model.labels[-1]}. It classifies {test['accuracy']:.1%} of "
        f"{test['rows']:,} sentences that it has not seen correctly, in {len(model.labels)} classes. Below "
        "are some of these sentences, with the class it predicts, its probability, and the true label."
    )
    html = to_page(sections, title="What the demo model decides, and why", about=[about])
    write_file(page, html)
    return [to_terminal(each) for each in (*right[:2], *wrong[:1])]  # a terminal soon scrolls away
