"""The encoded data of a job: the first process opens or encodes it, the others wait and open it."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any

from ..config.recipe import Recipe
from ..errors import LimelightError
from ..runtime.start import Start, start_of
from ..text.dataset import Dataset
from .job import Job, load_job


def prepare_data(job: Job, resume: bool, show: bool, start: Start | None = None) -> Dataset:
    """Open the job's data, and encode its tables first where that is not done yet."""
    if resume:
        load_job(job.out)  # another process may have finished it meanwhile
    if job.encoded or (job.folder / "data" / "dataset.json").is_file():
        return open_data(job)
    return _encode(job, show, start)


def open_data(job: Job) -> Dataset:
    """Open the job's encoded data."""
    dataset = Dataset.open(job.input_path(job.tables["train"][0]) if job.encoded else job.folder / "data")
    if not dataset.labels:
        raise LimelightError("the encoded data set has no labels, so there is nothing to learn from it")
    return dataset


def _encode(job: Job, show: bool, start: Start | None) -> Dataset:
    from ..text.encode import encode_tables  # needs packages that read tables; training alone does not

    text, label, text2 = (job.columns.get(name) for name in ("text", "label", "text2"))
    recipe, start = start_of(job.recipe, (), job.started_in, start)
    return encode_tables(
        job.folder / "data", job.tables["train"], job.tables.get("dev"), job.tables.get("test"), text=text,
        label=label, text2=text2, recipe=recipe.text, holdout=job.holdout,
        seed=job.recipe.training.seed, on_bad=job.on_bad, overwrite=True, progress=show,
        folder=job.started_in, start=start,
    )  # fmt: skip


def recipe_for(recipe: Recipe, dataset: Dataset) -> Recipe:
    """The recipe with the text options the data set was encoded with."""
    encoded = dataset.facts.get("recipe")
    if not isinstance(encoded, dict):
        raise LimelightError("the encoded data set does not say how it was encoded; encode the tables again")
    return Recipe(Recipe.from_dict({"text": encoded}).text, recipe.model, recipe.training)


# ---------------------------------------------------------------- several processes, before they join


def announce_data() -> None:
    """Tell the other processes that the data is encoded."""
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        _torchrun_store().set(_data_key(), "encoded")


def wait_for_data() -> None:
    """Wait for `announce_data`. Encoding may take hours; if it fails, torchrun ends the waiting processes."""
    _torchrun_store().wait([_data_key()], timedelta(days=7))


def _torchrun_store() -> Any:
    """The key-value store that torchrun keeps for its processes."""
    from torch.distributed import TCPStore  # type: ignore[attr-defined]

    return TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), is_master=False)


def _data_key() -> str:
    return f"limelight/data/{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}"
