"""`limelight demo aspects`: what made-up hotel reviews praise and blame, found from their stars alone."""

from __future__ import annotations

import argparse
import csv
import io
import json
import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._demo_shared import check_out, log, save
from ._shared import table

if TYPE_CHECKING:
    from ..runtime.model import Model

REVIEWS, TESTED, FOUND = 450, 150, 6  # reviews to train on; held out; aspects to find
EPOCHS = 2
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
    readings: Any = list(model.read_stream([row["text"] for row in test]))
    figures = _figures(model, readings)
    _report(model, test, out / "report.html")
    if args.json:
        print(json.dumps({"out": str(out), "aspects": figures}))
        return
    print(_format(figures, len(test)))
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
    from ..config.presets import preset
    from ..runtime.find_aspects import settle_aspects
    from ..runtime.start import start_of
    from ..text.encode import encode_texts
    from ..training import fit

    recipe = preset(args.preset).override(seed=args.seed, task="ordinal")
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


def _figures(model: Model, readings: Sequence[Any]) -> list[dict[str, Any]]:
    """For each aspect: how often it is mentioned, what it does to the stars, its best and worst clause."""
    found = []
    for k, aspect in enumerate(model.aspects.enabled):
        shares = [each.aspects[k] for each in readings if each.aspects[k].mentioned]
        if not shares:
            continue
        effects = [share.effect for share in shares]
        mean = sum(effects) / len(effects)
        spread = math.sqrt(sum((x - mean) ** 2 for x in effects) / max(1, len(effects) - 1) / len(effects))
        best, worst = (choose(shares, key=lambda share: share.effect) for choose in (max, min))
        found.append(
            {
                "aspect": aspect.name, "words": list(aspect.seeds), "mentioned": len(shares) / len(readings),
                "effect": mean, "margin": 1.96 * spread, "praised": best.clause, "blamed": worst.clause,
            }
        )  # fmt: skip
    return sorted(found, key=lambda each: -each["effect"])


def _report(model: Model, rows: list[Any], page: Path) -> None:
    from ..explain import save_report

    log("writing the report")
    texts, stars = [row["text"] for row in rows], [row["stars"] for row in rows]
    save_report(page, model, texts, stars, names=["demo"], data="reviews.csv", overwrite=True, most=100)


def _format(figures: list[dict[str, Any]], reviews: int) -> str:
    rows = [
        [each["aspect"], f"{each['mentioned']:.0%}", f"{each['effect']:+.2f} ± {each['margin']:.2f}"]
        for each in figures
    ]
    lines = [
        "", f"What {reviews:,} other reviews praise and blame, by a model trained on stars alone",
        "", table(["aspect", "mentioned", "mean effect in stars"], rows), "",
    ]  # fmt: skip
    for each in figures:
        lines.append(f"{each['aspect']}: {', '.join(each['words'])}")
        lines += [f"  praised  {each['praised']}", f"  blamed   {each['blamed']}"]
    return "\n".join(lines)


def _next_steps(out: Path, seconds: float) -> str:
    model, data = out / "model", out / "reviews.csv"
    return f"""
Finished in {seconds:.0f} s. The report: {out / "report.html"}

What to try next:
  limelight predict {model} {data} --text text --aspects --out answers.csv
  limelight aspects {model} --rename staff=service
  limelight train your.csv --text COLUMN --label COLUMN --aspects 8 --out model"""
