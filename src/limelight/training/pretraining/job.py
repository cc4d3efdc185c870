"""A pretraining job: texts and a teacher in, a reader's folder out. It can be interrupted and resumed.

`OUT.run` holds `run.json`, `data` (the encoded texts), the teacher's vectors, `start.npy` (the word vectors
that training starts from) and the checkpoints. At the end the folder `OUT` appears at once, and `OUT.run` is
removed.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...config.pretrain_recipe import ReaderRecipe
from ...config.recipe import TextRecipe
from ...errors import LimelightError, tidy_os_errors
from ...storage.files import FolderLayout, atomic_file
from ...tables.columns import Columns, choose_columns
from ...text.dataset import Dataset
from ...text.holdout import choose_held_out
from ...text.sources import TableSource, table_paths
from ...text.tokenizer import SPECIAL
from ...text.vectors import check_vectors, read_vectors
from .. import need_torch
from ..job import AnyJob, own_folder, read_job
from ..job_data import announce_data, wait_for_data
from .teacher import (
    Encoder,
    Vectors,
    ask,
    encode_shards,
    is_vectors_file,
    load_encoder,
    open_shards,
    open_vectors,
)  # fmt: skip

if TYPE_CHECKING:
    from ...runtime.reader import Reader
    from ...text.encode import Paths
    from .run import Lesson

ALL_WORDS = 1_000_000  # different words of the texts that can be told apart; rarer ones are unknown
HELD_OUT, MOST_HELD_OUT = 0.02, 2_000  # share and number of texts to measure by
FEWEST = 20  # texts


@dataclass(frozen=True)
class PretrainJob(AnyJob):
    """What to make a reader from, as `run.json` stores it."""

    command = "pretrain"
    out: Path
    recipe: ReaderRecipe
    texts: list[str]
    teacher: str
    text: str | None = None  # the column
    word_vectors: str = ""
    on_bad: str = "error"
    overwrite: bool = False

    @property
    def layout(self) -> FolderLayout:
        from ...runtime.folder import LAYOUT

        return LAYOUT

    def content(self) -> dict[str, Any]:
        """With absolute paths: the run may be resumed from another directory."""
        content = {**asdict(self), "texts": [os.path.abspath(path) for path in self.texts]}
        for name in ("teacher", "word_vectors"):
            path = content[name]
            content[name] = os.path.abspath(path) if path and os.path.exists(path) else path
        return content

    def input_files(self) -> list[str]:
        return [*self.texts, self.teacher, self.word_vectors]


def load_pretrain_job(out: str | Path) -> PretrainJob:
    """Load the unfinished job of an output folder, or of the run's own folder `OUT.run`."""

    def build(out: Path, found: dict[str, Any]) -> PretrainJob:
        return PretrainJob(out=out, recipe=ReaderRecipe().override(**found.pop("recipe")), **found)

    return read_job(out, "pretrain", build)


def pretrain(
    texts: Paths,
    teacher: str | Path | Encoder,
    *,
    out: str | Path,
    text: str | None = None,
    word_vectors: str | Path | None = None,
    on_bad: str = "error",
    overwrite: bool = False,
    resume: bool = False,
    device: str = "auto",
    progress: bool = True,
    **options: Any,
) -> Reader:
    """Teach a reader the vectors of a sentence encoder, from texts without labels; save it and load it.

    `texts` are tables or files with a text per line. `teacher` is a sentence-transformers model (its folder
    or name), any object with `encode(texts)`, or a .npy file with a vector per text. `word_vectors` (a GloVe
    or word2vec file) are for a .npy teacher, which cannot be asked about single words. `options` are those of
    the recipe: `rows=16`. `resume` continues an interrupted run of the same arguments.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "texts.txt").write_text("Good soup.\\nCold soup!\\nThe train is late.\\n" * 10)
    >>> np.save(folder / "vectors.npy", np.tile(np.eye(3, 8), (10, 1)))
    >>> reader = pretrain(folder / "texts.txt", folder / "vectors.npy", out=folder / "reader", rows=2,
    ...                   hidden=4, epochs=2, progress=False)
    >>> reader.encode(["Good soup!"]).shape
    (1, 8)
    """
    encoder = None if isinstance(teacher, str | os.PathLike) else teacher
    name = os.fspath(teacher) if isinstance(teacher, str | os.PathLike) else type(teacher).__name__
    job = PretrainJob(
        out=Path(out), recipe=ReaderRecipe().override(**options), teacher=name, text=text,
        texts=[str(path) for path in table_paths({"train": texts})["train"]],
        word_vectors=str(word_vectors or ""), on_bad=on_bad, overwrite=overwrite,
    )  # fmt: skip
    if resume:
        _check_same(load_pretrain_job(out), job)
    if run_pretraining(job, encoder=encoder, device=device, show=progress, resume=resume) is None:
        raise KeyboardInterrupt
    from ...runtime.reader import Reader

    return Reader.load(out)


def _check_same(found: PretrainJob, given: PretrainJob) -> None:
    ours, theirs = given.content(), found.content()
    for name in ("recipe", "texts", "teacher", "text", "word_vectors", "on_bad"):
        if ours[name] != theirs[name]:
            raise LimelightError(f"the run was started with another {name}; resume with the same")


def run_pretraining(
    job: PretrainJob,
    *,
    encoder: Encoder | None = None,
    device: str = "auto",
    show: bool = True,
    resume: bool = False,
    checkpoint_every: float = 600.0,
) -> dict[str, Any] | None:
    """Encode the texts, ask the teacher, train and save the reader; return its facts, None if interrupted.

    Under `torchrun`, the first process prepares and writes, and the others wait for it.
    """
    need_torch()
    from ..setup import choose_device

    choose_device(device)  # before the long work, not after it
    first = int(os.environ.get("RANK", "0")) == 0
    with own_folder(job, resume) if first else nullcontext():
        if first:
            _prepare(job, encoder, device, show)
            announce_data()
        else:
            wait_for_data()
        return _train(job, device, show, resume, checkpoint_every, first)


# ---------------------------------------------------------------- before training


def _prepare(job: PretrainJob, encoder: Encoder | None, device: str, show: bool) -> None:
    """Everything that training reads, as far as it is not there yet."""
    if job.word_vectors:
        check_vectors([job.word_vectors])
    beforehand = encoder is None and is_vectors_file(job.teacher)
    if beforehand and not Path(job.teacher).is_file():
        raise LimelightError(f"no such file: {job.teacher}")
    if (job.folder / "start.npy").exists():
        return
    if encoder is None and not beforehand:
        encoder = load_encoder(job.teacher, device)  # first: it may not exist
    data = job.folder / "data"
    dataset = Dataset.open(data) if (data / "dataset.json").is_file() else _encode(job, show)
    rows = sum(len(split) for split in dataset.splits.values())
    if encoder is not None:
        texts = (row.text for row in _source(job).rows())
        encode_shards(encoder, texts, rows, job.folder, show)
    start = _start_words(job, dataset, encoder, device, show)
    with atomic_file(job.folder / "start.npy") as file:
        np.save(file, start)


def _encode(job: PretrainJob, show: bool) -> Dataset:
    from ...text.encode import encode_tables

    recipe = TextRecipe(max_words=ALL_WORDS, max_length=job.recipe.max_length)
    dataset = encode_tables(
        job.folder / "data", job.texts, text=job.text, labelled=False, recipe=recipe, holdout=_held_share,
        seed=job.recipe.seed, on_bad=job.on_bad, overwrite=True, progress=show,
    )  # fmt: skip
    rows = sum(len(split) for split in dataset.splits.values())
    if rows < FEWEST:
        shutil.rmtree(job.folder / "data")
        raise LimelightError(f"{job.texts[0]}: {rows} texts are too few to learn from; give {FEWEST} or more")
    return dataset


def _source(job: PretrainJob) -> TableSource:
    """The texts once more, in the same order."""
    paths = [Path(path) for path in job.texts]
    return TableSource(paths, Columns(choose_columns(paths[0], job.text, need_label=False).text), job.on_bad)


def _held_share(rows: int) -> float:
    return min(HELD_OUT, MOST_HELD_OUT / max(rows, 1))


def _vectors(job: PretrainJob, dataset: Dataset) -> tuple[Vectors, Vectors | None]:
    """The teacher's vectors of the training rows and of those held out."""
    rows = sum(len(split) for split in dataset.splits.values())
    whole = open_vectors(job.teacher, rows) if is_vectors_file(job.teacher) else open_shards(job.folder)
    held = choose_held_out(np.zeros(rows, np.int64), _held_share(rows), job.recipe.seed)
    train = whole.select(np.flatnonzero(~held))
    return train, whole.select(np.flatnonzero(held)) if "dev" in dataset.splits else None


def _start_words(
    job: PretrainJob, dataset: Dataset, encoder: Encoder | None, device: str, show: bool
) -> np.ndarray:
    """(known words, d): from the teacher's vectors of single words, a file, or the sentences they are in."""
    from ..setup import choose_device
    from .run import known_words
    from .start import fit_words, reduce_vectors

    known = known_words(dataset, job.recipe)
    vocabulary = dataset.tokenizer.vocabulary[:known]
    train, _ = _vectors(job, dataset)  # checks a file of vectors, before the long work
    if job.word_vectors:
        found = read_vectors([job.word_vectors], vocabulary, seed=job.recipe.seed, progress=show)
        vectors = found.matrix * found.found[:, None]
    elif encoder is not None:
        words = list(vocabulary[len(SPECIAL) :])
        asked = [ask(encoder, words[k : k + 4096]) for k in range(0, len(words), 4096)]
        vectors = np.concatenate([np.zeros((len(SPECIAL), train.shape[1]), np.float16), *asked])
    else:
        vectors = fit_words(dataset.splits["train"], train, known, choose_device(device), job.recipe.seed)
    return reduce_vectors(vectors[len(SPECIAL) :].astype(np.float32), job.recipe.word_size, job.recipe.seed)


# ---------------------------------------------------------------- training and after


def _train(
    job: PretrainJob, device: str, show: bool, resume: bool, checkpoint_every: float, first: bool
) -> dict[str, Any] | None:
    from ..setup import choose_device
    from ..train import run_context
    from .run import Lesson, PretrainingRun

    dataset = Dataset.open(job.folder / "data")
    train, dev = _vectors(job, dataset)
    with tidy_os_errors(f"cannot read {job.folder}"):
        start = np.load(job.folder / "start.npy")
    lesson = Lesson(dataset, train, dev, start, os.path.basename(job.teacher.rstrip("/")))
    recipe = job.recipe.for_rows(len(train))
    begun = time.monotonic()
    with run_context(choose_device(device), job.folder, show, checkpoint_every) as context:
        run = PretrainingRun(lesson, recipe, job.folder, context)
        if first and show:
            _announce(run, lesson)
        fitted = run.fit(resume)
        if fitted.interrupted or not first:
            return None if fitted.interrupted else {}
        return _finish(job, run, fitted.network, time.monotonic() - begun)


def _announce(run: Any, lesson: Lesson) -> None:
    recipe, rows = run.reader_recipe, len(lesson.train)
    run.progress.note(
        f"{rows:,} texts, {run.known - len(SPECIAL):,} words, vectors of {lesson.train.shape[1]} numbers; "
        f"{recipe.epochs} epochs in batches of {recipe.batch_size}"
    )


def _finish(job: PretrainJob, run: Any, network: Any, seconds: float) -> dict[str, Any]:
    """Save the reader and remove the run's folder; measure it as it is stored, rounded."""
    from ...runtime.folder import holds_weights
    from ...runtime.reader import Reader
    from ..job import naming_kept_files
    from .result import measure_stored

    words = run.dataset.tokenizer.vocabulary[len(SPECIAL) : run.known]
    weights = {name: x.detach().float().cpu().numpy() for name, x in network.state_dict().items()}
    with naming_kept_files(job):
        facts = measure_stored(run, weights) | {"teacher": run.lesson.teacher}
        facts |= {"texts": _describe_texts(job, run.dataset), "seconds": round(seconds)}
        if not holds_weights(job.out, weights):  # it may have been killed after writing it
            stored = {"pretraining": run.reader_recipe.to_dict(), **facts}
            Reader.from_parts(words=words, weights=weights, facts=stored).save(
                job.out, overwrite=job.overwrite
            )
    shutil.rmtree(job.folder, ignore_errors=True)
    return facts


def _describe_texts(job: PretrainJob, dataset: Dataset) -> Mapping[str, Any]:
    files: Sequence[str] = sorted({os.path.basename(path) for path in job.texts})
    facts = dataset.facts
    return {"files": list(files), "rows": sum(facts["rows"].values()), "words": sum(facts["words"].values())}
