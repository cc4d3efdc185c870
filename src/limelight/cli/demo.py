"""`limelight demo`: the paper's Table 1 and its heat maps on the data that comes with Limelight."""

from __future__ import annotations

import argparse
import csv
import dataclasses
import json
import lzma
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import LimelightError
from ._shared import add_json, check_no_model, table

if TYPE_CHECKING:
    from ..runtime.model import Model
    from ..text.encode import Dataset
    from ..training import Fitted
    from ..training.compare import Contestant

ORDER = 0
HELP = "train on the bundled sentences and see what the model reads (a few minutes)"
DESCRIPTION = """\
Train the paper's model and its two baselines on 18,732 rated sentences that come with Limelight, print the
paper's Table 1 for them, and show heat maps of sentences that the model has not seen. It needs no GPU."""

NAME = "Limelight's demo"
EPOCHS = 3  # more gain a point at most, and a newcomer waits
SPARE_WORDS = 10_000  # all these sentences bring most words themselves, and the folder stays under 10 MB
LEAST = 20  # the first so many sentences have every class more than once
# Held-out sentences of movie and product reviews, by source and id.
SHOWN = (
    ("movie", "3032"), ("movie", "5464"), ("movie", "4976"), ("movie", "7999"), ("product", "204_11"),
    ("product", "109_12"),
)  # fmt: skip


def arguments(parser: argparse.ArgumentParser) -> None:
    """Its flags."""
    parser.add_argument(
        "--out", default="demo", metavar="DIR",
        help="where to write (default: demo); an earlier demo there is replaced",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of all random choices (default: 0)")
    parser.add_argument("--preset", default="small", metavar="NAME", help="recipe to train (default: small)")
    parser.add_argument(
        "--sentences", type=int, metavar="N",
        help=f"train on the first N sentences alone (at least {LEAST})",
    )  # fmt: skip
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Train three models, print the table, draw the pictures."""
    from ..config.presets import preset
    from ..training.compare import compare
    from ..training.job import need_torch

    if args.sentences is not None and args.sentences < LEAST:
        raise LimelightError(f"--sentences is {args.sentences}; it must be at least {LEAST}")
    need_torch()
    _one_thread()
    started = time.monotonic()
    out = Path(args.out)
    _check_place(out)
    recipe = preset(args.preset).override(seed=args.seed)
    recipe = recipe.override(
        epochs=min(EPOCHS, recipe.training.epochs),
        extra_words=min(SPARE_WORDS, recipe.text.extra_words),
    )
    dataset = bundled(recipe, args.sentences)
    rows = dataset.facts["rows"]
    _tell(f"{rows['train']:,} sentences to train on, {rows['dev']:,} to choose by, {rows['test']:,} to test")
    kept: dict[str, Any] = {}
    contestants = compare(
        dataset, recipe, [args.seed], show=sys.stderr.isatty(), tell=_tell, keep=kept.__setitem__
    )
    model = _save(out / "model", dataset, kept["self-attention"])
    readings = _draw(model, out / "index.html")
    if args.json:
        print(json.dumps({"out": str(out), "models": [vars(one) for one in contestants]}))
        return 0
    print(f"\n{_table_1(contestants)}\n")
    print("\n\n".join(readings))
    print(_next(out, time.monotonic() - started))
    return 0


def _check_place(out: Path) -> None:
    """The demo may be run again; but it writes over nothing that is somebody's own."""
    from ..runtime.folder import KIND
    from ..storage.files import check_replaceable, check_writable

    check_no_model(out)
    check_writable(out)
    try:
        again = json.loads((out / "model" / "config.json").read_bytes())["facts"]["name"] == NAME
    except (OSError, ValueError, LookupError, TypeError):
        again = False
    there = [name for name in ("model", "index.html") if (out / name).exists()]
    if there and not again:
        raise LimelightError(f"{out / there[0]} is there already, and not of the demo; choose another --out")
    check_replaceable(out / "model", KIND, overwrite=True)


def _one_thread() -> None:
    """The steps of so small a network are too short to share: threads would mostly wait for each other."""
    import torch

    torch.set_num_threads(1)


def bundled(recipe: Any, sentences: int | None = None) -> Dataset:
    """The bundled sentences, encoded, with the classes from the worst to the best."""
    from ..bundled import LABELS
    from ..bundled import sentences as texts_of
    from ..text.encode import Texts, encode_texts

    parts = {}
    for split in ("train", "dev", "test"):
        texts, labels = texts_of(split)
        most = sentences if split == "train" else None
        parts[split] = Texts(texts[:most], [LABELS.index(label) for label in labels[:most]])
    dataset = encode_texts(*parts["train"], recipe=recipe.text, dev=parts["dev"], test=parts["test"])
    dataset.facts["sources"] = {"train": "sentences of vaderSentiment, which come with Limelight"}
    return dataclasses.replace(dataset, labels=LABELS)


def _save(out: Path, dataset: Dataset, fitted: Fitted) -> Model:
    from ..runtime.model import Model
    from ..training.outcome import facts_of, results_of, save

    facts = facts_of(dataset, fitted, results_of(fitted, dataset, ("dev", "test")))
    save(out, dataset, fitted, {"name": NAME, "license": "mit", **facts}, overwrite=True)
    return Model.load(out)


def _table_1(contestants: list[Contestant]) -> str:
    rows = [
        [
            one.name,
            f"{one.test[0]:.2%}",
            f"{one.dev[0]:.2%}",
            f"{one.parameters:,}",
            f"{one.seconds[0]:.0f} s",
        ]
        for one in contestants
    ]
    head = ["Table 1, on these sentences", "test", "dev", "parameters", "trained in"]
    return table(head, rows)


def shown_sentences() -> list[tuple[str, str]]:
    """Text and label of the held-out sentences that are drawn."""
    from ..bundled import sentences_path

    with lzma.open(sentences_path("test"), "rt", encoding="utf-8", newline="") as file:
        found = {(row["source"], row["id"]): (row["text"], row["label"]) for row in csv.DictReader(file)}
    return [found[key] for key in SHOWN]


def _draw(model: Model, page: Path) -> list[str]:
    """The pictures for the terminal; the page is written on the way."""
    from ..reading import to_page, to_terminal
    from ..storage.files import atomic_file

    chosen = shown_sentences()
    readings = [model.read(text) for text, _ in chosen]
    with atomic_file(page) as file:
        file.write(to_page(readings, title="What the demo model reads").encode())
    return [
        f"people say: {label}\nthe model:  {to_terminal(reading)}"
        for reading, (_, label) in zip(readings, chosen, strict=True)
    ]


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _next(out: Path, seconds: float) -> str:
    return f"""
All of it took {seconds:.0f} s. Heat maps of these sentences: {out / "index.html"}

What to try next:
  limelight explain {out / "model"} "The soup was cold but the waiter was lovely."
  limelight info {out / "model"}
  limelight train your.csv --text COLUMN --label COLUMN --out model
  limelight compare your.csv --text COLUMN --label COLUMN"""
