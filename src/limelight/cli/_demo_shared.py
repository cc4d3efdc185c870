"""What the demos share: the folder they write, and how they save their model."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import LimelightError

if TYPE_CHECKING:
    from ..aspects.seeds import Aspects
    from ..runtime.model import Model
    from ..text.encode import Dataset
    from ..training import Fitted

NAME = "Limelight's demo"


def check_out(out: Path, files: Sequence[str]) -> None:
    """Raise unless `out` is new or an earlier demo: nothing else may be overwritten."""
    from ..runtime.folder import LAYOUT
    from ..storage.files import check_replaceable, check_writable

    if (out / "config.json").is_file():  # with other files in it, it could not be overwritten any more
        raise LimelightError(f"{out} is a model folder; choose another --out", code="exists")
    check_writable(out)
    try:
        is_demo = json.loads((out / "model" / "config.json").read_bytes())["facts"]["name"] == NAME
    except (OSError, ValueError, LookupError, TypeError):
        is_demo = False
    there = [name for name in files if (out / name).exists()]
    if there and not is_demo:
        not_ours = f"{out / there[0]} exists and is not from the demo; choose another --out"
        raise LimelightError(not_ours, code="exists")
    check_replaceable(out / "model", LAYOUT, overwrite=True)


def save(out: Path, dataset: Dataset, fitted: Fitted, source: str, aspects: Aspects | None = None) -> Model:
    """Measure and save the model of a demo, which replaces that of an earlier one."""
    from ..aspects.facts import facts_of_training
    from ..runtime.model import Model
    from ..training.outcome import calibrate, facts_of, results_of
    from ..training.outcome import save as save_model

    dataset.facts["sources"] = {"train": source}
    sure = calibrate(fitted, dataset)
    facts = facts_of(dataset, fitted, results_of(fitted, dataset, ("dev", "test"))) | sure
    if aspects:
        facts |= facts_of_training(aspects, None, dataset.task, dataset.pair)
    save_model(out, dataset, fitted, {"name": NAME, "license": "mit", **facts}, overwrite=True)
    return Model.load(out)


def log(line: str) -> None:
    """Say how far it is, on standard error."""
    print(line, file=sys.stderr, flush=True)
