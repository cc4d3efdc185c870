"""`limelight demo aspects`: what made-up hotel reviews praise and blame, found from their stars alone."""

from __future__ import annotations

import argparse
import csv
import io
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._demo_shared import check_out, log, save
from ._results import table

if TYPE_CHECKING:
    from ..aspects.seeds import Aspects
    from ..explain.lifts import Lifts
    from ..explain.report import Report
    from ..runtime.model import Model

REVIEWS, TESTED, FOUND = 450, 120, 6  # reviews to train on; held out; aspects to find
EPOCHS = 2  # after one, some praise still counts as blame
SOURCE = "made-up hotel reviews (limelight.bundled.made_reviews)"
FILES = ("model", "reviews.csv", "report.html")


def run_aspects(args: argparse.Namespace) -> None:
    """Make reviews, train, find aspects, and show what is praised and blamed."""
    from ..training import need_torch

    need_torch()
    started, out = time.monotonic(), Path(args.out)
    check_out(out, FILES)
    train, test = _write_reviews(out, args.sentences or REVIEWS, args.seed)
    log(f"made {len(train):,} hotel reviews to train on and {len(test):,} to look at: {out / 'reviews.csv'}")
    model = _train(out / "model", args, train)
    report = _report(model, test, out / "report.html")
    if args.json:
        print(json.dumps({"out": str(out), **report.to_dict()}))
        return
    assert report.lifts is not None  # it has aspects
    print(_format(model.aspects, report.lifts))
    print(_next_steps(out, time.monotonic() - started))


def _write_reviews(out: Path, count: int, seed: int) -> tuple[list[Any], list[Any]]:
    """Reviews to train on and to look at; the latter are written as a table."""
    from ..bundled.made_reviews import made_reviews
    from ..storage.files import atomic_file

    rows = made_reviews(count + TESTED, seed)
    content = io.StringIO(newline="")
    writer = csv.DictWriter(content, fieldnames=list(rows[0]))
    writer.writeheader()
    writer.writerows(rows[count:])
    out.mkdir(parents=True, exist_ok=True)
    with atomic_file(out / "reviews.csv") as file:
        file.write(content.getvalue().encode())
    return rows[:count], rows[count:]


def _train(out: Path, args: argparse.Namespace, rows: list[Any]) -> Model:
    from ..aspects.find import settle_aspects
    from ..config.presets import preset
    from ..runtime.start import start_of
    from ..text.encode import encode_texts
    from ..text.tasks import ORDINAL
    from ..training import fit

    recipe = preset(args.preset).override(seed=args.seed, task=ORDINAL.name)
    recipe = recipe.override(epochs=min(EPOCHS, recipe.training.epochs))
    start = start_of(recipe)[1]
    texts, stars = [row["text"] for row in rows], [row["stars"] for row in rows]
    dataset = encode_texts(texts, stars, recipe=recipe.text, start=start, holdout=0.1)
    aspects = settle_aspects(FOUND, dataset)
    names = ", ".join(each.name for each in aspects)
    log(f"found {len(aspects)} aspects in them, without being given a word: {names}")
    fitted = fit(dataset, recipe, start=start)
    if fitted.interrupted:
        raise KeyboardInterrupt
    return save(out, dataset, fitted, SOURCE, aspects)


def _report(model: Model, rows: list[Any], page: Path) -> Report:
    from ..explain import save_report

    log("writing the report")
    names = ("text", "stars", "month", "hotel")
    texts, stars, months, hotels = ([row[name] for row in rows] for name in names)
    more: dict[str, Any] = {"dates": months, "groups": hotels, "by": "hotel"}
    return save_report(page, model, texts, stars, name="demo", data="reviews.csv", most=60, **more)


def _format(aspects: Aspects, lifts: Lifts) -> str:
    """A table of the effects, and of each aspect the clauses that lift and lower the stars most."""
    rows = [[each.name, f"{each.share:.0%}", *map(_signed, each.effect[1:])] for each in lifts.aspects]
    lines = [
        "", f"What {lifts.texts:,} other reviews praise and blame, by a model trained on stars alone", "",
        table(["aspect", "mentioned", "effect in stars", "from", "to"], rows), "",
    ]  # fmt: skip
    for each in lifts.aspects:
        lines.append(f"{each.name}: {', '.join(aspects.find(each.name).seeds)}")
        lines += [f"  praised  {quote.clause}" for quote in each.best[:1]]
        lines += [f"  blamed   {quote.clause}" for quote in each.worst[:1]]
    return "\n".join(lines)


def _signed(value: float | None) -> str:
    return "" if value is None else f"{value:+.2f}"


def _next_steps(out: Path, seconds: float) -> str:
    model, data = out / "model", out / "reviews.csv"
    return f"""
Finished in {seconds:.0f} s. The report: {out / "report.html"}

What to try next:
  limelight predict {model} {data} --text text --aspects --out answers.csv
  limelight explore {model} {data} --text text --label stars
  limelight aspects {model} --rename staff=service
  limelight train your.csv --text COLUMN --label COLUMN --aspects 8 --out model"""
