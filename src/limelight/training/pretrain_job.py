"""Make a reader from texts: encode them, ask the teacher, train, and save the folder. It can be resumed.

`OUT.run` holds, beside what every job has, the teacher's vectors, `start.npy`, the word vectors that training
starts from, and `prepared.json`, the checksums of all that training reads.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..config.pretrain_recipe import ReaderRecipe
from ..config.recipe import TextRecipe
from ..errors import LimelightError, tidy_os_errors
from ..storage.array_files import digest_rows
from ..storage.files import atomic_file, write_file
from ..storage.json_file import parse_object
from ..storage.open_files import open_regular, read_regular
from ..tables.columns import Columns, choose_columns
from ..tables.formats import file_of
from ..text.dataset import Dataset
from ..text.encode_steps import choose_held_out
from ..text.sources import TableSource, table_paths
from ..text.tokenizer import SPECIAL
from ..text.vectors import check_vectors, read_vectors
from . import need_torch, teacher
from .job import MAX_JOB_BYTES, Job
from .teacher import Encoder, Vectors

if TYPE_CHECKING:
    from ..runtime.reader import Reader
    from ..text.encode import Paths
    from .vector_objective import PretrainData, VectorObjective

ALL_WORDS = 1_000_000  # different words of the texts that can be told apart; rarer ones are unknown
HELD_OUT, MAX_HELD_OUT = 0.02, 2_000  # share and number of texts to measure by
MIN_TEXTS = 20
TEXTS = "texts.json"  # the checksums of the files that the run encoded
PAIRS = ("pairs-english.jsonl", "pairs-other.jsonl")  # both sides of translations, as tables of their own
SIDES = ("english", "other")  # the columns of a table of translations


def pretrain(
    texts: Paths | None,
    teacher: str | Path | Encoder,
    *,
    out: str | Path,
    text: str | None = None,
    pairs: str | Path | None = None,
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
    or name), any object with `encode(texts)`, or a .npy file with a vector per text. `pairs` is a table of
    translations with the columns english and other: the reader learns both, each with the teacher's vector of
    the English text (in a .npy file they come after those of the texts), and `texts` may be None.
    `word_vectors` (a GloVe or word2vec file) are for a .npy teacher, which cannot be asked about words.
    `options` are those of the recipe: `rows=16`. `resume` continues an interrupted run of the same arguments.

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
        texts=[] if texts is None and pairs else list(map(str, table_paths({"train": texts})["train"])),
        pairs=str(pairs or ""), word_vectors=str(word_vectors or ""), on_bad=on_bad, overwrite=overwrite,
    )  # fmt: skip
    if resume:
        job.check_same(PretrainJob.load(out))
    if job.run(encoder=encoder, device=device, show=progress, resume=resume) is None:
        raise KeyboardInterrupt
    from ..runtime.reader import Reader

    return Reader.load(out)


@dataclass(frozen=True)
class PretrainJob(Job):
    """What to make a reader from, as `run.json` stores it."""

    command = "pretrain"
    out: Path
    recipe: ReaderRecipe
    texts: list[str]
    teacher: str
    text: str | None = None  # the column
    pairs: str = ""
    word_vectors: str = ""
    on_bad: str = "error"
    overwrite: bool = False

    def content(self) -> dict[str, Any]:
        """With absolute paths: the run may be resumed from another directory."""
        content = {**asdict(self), "texts": [os.path.abspath(path) for path in self.texts]}
        for name in ("teacher", "pairs", "word_vectors"):
            path = content[name]
            content[name] = os.path.abspath(path) if path and os.path.exists(path) else path
        return content

    def input_files(self) -> list[str]:
        return [*self.texts, self.teacher, self.pairs, self.word_vectors]

    @classmethod
    def from_content(cls, out: Path, found: dict[str, Any]) -> Self:
        return cls(out=out, recipe=ReaderRecipe().override(**found.pop("recipe")), **found)

    def check_same(self, started: PretrainJob) -> None:
        """Raise if the run was started with another recipe, other texts or another teacher."""
        ours, theirs = self.content(), started.content()
        for name in ("recipe", "texts", "pairs", "teacher", "text", "word_vectors", "on_bad"):
            if ours[name] != theirs[name]:
                other = f"the run was started with another {name}; resume with the same"
                raise LimelightError(other, code="run-differs")

    def run(
        self,
        *,
        encoder: Encoder | None = None,
        device: str = "auto",
        show: bool = True,
        resume: bool = False,
        checkpoint_every: float = 600.0,
    ) -> dict[str, Any] | None:
        """Encode the texts, ask the teacher, train and save the reader: its facts, or None if interrupted."""
        need_torch()
        from .context import choose_device, run_context
        from .run import TrainingRun
        from .vector_objective import VectorObjective

        where = choose_device(device)  # before the long work, not after it
        with self.prepared(resume, lambda: self._prepare(encoder, device, show)) as first:
            data = self._open_data()
            recipe = self.recipe.for_rows(len(data.train))
            begun = time.monotonic()
            with run_context(where, self.folder, show, checkpoint_every) as context:
                objective = VectorObjective(data, recipe, where)
                context.progress.note(
                    f"{len(data.train):,} texts, {objective.known - len(SPECIAL):,} words, vectors of "
                    f"{data.train.shape[1]} numbers; {recipe.epochs} epochs in batches of {recipe.batch_size}"
                )
                fitted = TrainingRun(objective, self.folder, context, ()).fit(resume)
            if fitted.interrupted or not first:
                return None if fitted.interrupted else {}
            return self._finish(objective, fitted.network, time.monotonic() - begun)

    # ------------------------------------------------------------ before training

    def _prepare(self, encoder: Encoder | None, device: str, show: bool) -> None:
        """Everything that training reads, as far as it is not there yet."""
        if self.word_vectors:
            check_vectors([self.word_vectors])
        beforehand = encoder is None and teacher.is_vectors_file(self.teacher)
        if beforehand and not Path(self.teacher).is_file():
            raise LimelightError(f"no such file: {self.teacher}", code="file-missing")
        if (self.folder / "start.npy").exists():
            return
        if encoder is None and not beforehand:
            encoder = teacher.load_encoder(self.teacher, device)  # first: it may not exist
        data = self.folder / "data"
        dataset = Dataset.open(data) if (data / "dataset.json").is_file() else self._encode(show)
        if encoder is not None:
            # the teacher must read the texts whose word ids are there
            path = self.folder / TEXTS
            if path.is_file() and json.loads(path.read_bytes()) != self._text_digests():
                changed = "the files of texts are not those that the run began with"
                todo = "give those, or start again with --overwrite"
                raise LimelightError(f"{changed}; {todo}", code="run-differs")
            source = TableSource(self._taught(), Columns(self._column()), self.on_bad)
            texts = (row.text for row in source.rows())  # in the order in which they were encoded
            teacher.encode_shards(encoder, texts, _rows(dataset) - self._pair_rows(), self.folder, show)
        start = self._start_words(dataset, encoder, device, show)
        write_file(self.folder / "prepared.json", json.dumps(self._digests(dataset, start)))
        with atomic_file(self.folder / "start.npy") as file:
            np.save(file, start)

    def _digests(self, dataset: Dataset, start: np.ndarray) -> dict[str, str]:
        """What the run must find again when it is resumed."""
        from .label_objective import word_digests

        vectors = self._all_vectors(dataset).digest()
        return {**word_digests(dataset), "teacher sha256": vectors, "start sha256": digest_rows([start])}

    def _encode(self, show: bool) -> Dataset:
        from ..text.encode import encode_tables

        recipe = TextRecipe(max_words=ALL_WORDS, max_length=self.recipe.max_length)
        tables = [*self._taught(), *self._sides()[1:]]
        dataset = encode_tables(
            self.folder / "data", tables, text=self._column(), labelled=False, recipe=recipe,
            holdout=_held_share, seed=self.recipe.seed, on_bad=self.on_bad, overwrite=True, progress=show,
        )  # fmt: skip
        if (rows := _rows(dataset)) < MIN_TEXTS:
            shutil.rmtree(self.folder / "data")
            few = f"{self._files()[0]}: {rows} texts are too few to learn from; give {MIN_TEXTS} or more"
            raise LimelightError(few, code="too-few-rows")
        write_file(self.folder / TEXTS, json.dumps(self._text_digests()))
        return dataset

    def _files(self) -> list[str]:
        """The files of texts, and that of translations."""
        return [*self.texts, *([self.pairs] if self.pairs else [])]

    def _text_digests(self) -> list[str]:
        found = []
        for path in map(Path, self._files()):
            with tidy_os_errors(f"cannot read {path}"), open_regular(file_of(path)) as file:
                found.append(hashlib.file_digest(file, "sha256").hexdigest())
        return found

    def _column(self) -> str:
        """The column of the texts in every table."""
        if not self.texts:
            return "text"
        return choose_columns(Path(self.texts[0]), self.text, need_label=False).text

    def _taught(self) -> list[Path]:
        """The tables that the teacher reads: the texts, and the English sides of translations."""
        return [*map(Path, self.texts), *self._sides()[:1]]

    def _sides(self) -> list[Path]:
        """The two sides of the translations, as tables with the same column as the texts."""
        if not self.pairs:
            return []
        paths = [self.folder / name for name in PAIRS]
        if not all(path.is_file() for path in paths):
            english, other = SIDES
            columns = choose_columns(Path(self.pairs), english, text2=other, need_label=False)
            source, column = TableSource([Path(self.pairs)], columns, self.on_bad), self._column()
            with atomic_file(paths[0]) as first, atomic_file(paths[1]) as second:
                for row in source.rows():
                    for side, file in ((row.text, first), (row.text2, second)):
                        file.write(json.dumps({column: side}).encode() + b"\n")
        return paths

    def _pair_rows(self) -> int:
        if not self.pairs:
            return 0
        with open_regular(self._sides()[1]) as file:
            return sum(1 for _ in file)

    def _vectors(self, dataset: Dataset) -> tuple[Vectors, Vectors | None]:
        """The teacher's vectors of the training rows and of those held out."""
        rows, whole = _rows(dataset), self._all_vectors(dataset)
        held = choose_held_out(np.zeros(rows, np.int64), _held_share(rows), self.recipe.seed)
        train = whole.select(np.flatnonzero(~held))
        return train, whole.select(np.flatnonzero(held)) if "dev" in dataset.splits else None

    def _all_vectors(self, dataset: Dataset) -> Vectors:
        """The teacher's vectors of all texts, in their order; a translation has that of the English text."""
        pairs = self._pair_rows()
        taught = _rows(dataset) - pairs
        if teacher.is_vectors_file(self.teacher):
            found = teacher.open_vectors(self.teacher, taught, pairs)
        else:
            found = teacher.open_shards(self.folder)
        return found.select(np.r_[:taught, taught - pairs : taught]) if pairs else found

    def _start_words(self, dataset: Dataset, encoder: Encoder | None, device: str, show: bool) -> np.ndarray:
        """(known words, d): from the teacher's vectors of words, a file, or the sentences they are in."""
        from .context import choose_device
        from .vector_objective import fit_words, known_words, reduce_vectors

        known, seed = known_words(dataset, self.recipe), self.recipe.seed
        vocabulary = dataset.tokenizer.vocabulary[:known]
        train, _ = self._vectors(dataset)  # checks a file of vectors, before the long work
        if self.word_vectors:
            found = read_vectors([self.word_vectors], vocabulary, seed=seed, progress=show)
            vectors = found.matrix * found.found[:, None]
        elif encoder is not None and not self.pairs:  # which knows no words of other languages
            words = list(vocabulary[len(SPECIAL) :])
            asked = [teacher.ask(encoder, words[k : k + 4096]) for k in range(0, len(words), 4096)]
            vectors = np.concatenate([np.zeros((len(SPECIAL), train.shape[1]), np.float16), *asked])
        else:
            vectors = fit_words(dataset.splits["train"], train, known, choose_device(device), seed)
        return reduce_vectors(vectors[len(SPECIAL) :].astype(np.float32), self.recipe.word_size, seed)

    # ------------------------------------------------------------ training and after

    def _open_data(self) -> PretrainData:
        from .checkpoint import check_identity
        from .vector_objective import PretrainData

        dataset = Dataset.open(self.folder / "data")
        train, dev = self._vectors(dataset)
        with tidy_os_errors(f"cannot read {self.folder}"):
            start = np.load(self.folder / "start.npy")
        digests = self._digests(dataset, start)
        path = self.folder / "prepared.json"
        if path.is_file():  # a run of an older version has none
            check_identity(path, parse_object(read_regular(path, MAX_JOB_BYTES), path.name), digests)
        return PretrainData(dataset, train, dev, start, os.path.basename(self.teacher.rstrip("/")), digests)

    def _finish(self, objective: VectorObjective, network: Any, seconds: float) -> dict[str, Any]:
        """Save the reader and remove the run's folder; measure it as it is stored, rounded."""
        from ..runtime.folder import holds_weights
        from ..runtime.reader import Reader

        dataset = objective.dataset
        words = dataset.tokenizer.vocabulary[len(SPECIAL) : objective.known]
        weights = {name: x.detach().float().cpu().numpy() for name, x in network.state_dict().items()}
        texts = {
            "files": sorted({os.path.basename(path) for path in self._files()}),
            "rows": sum(dataset.facts["rows"].values()),
            "words": sum(dataset.facts["words"].values()),
        }
        with self.naming_kept_files():
            facts = objective.measure_stored(network, weights)
            facts |= {"teacher": objective.data.teacher, "texts": texts, "seconds": round(seconds)}
            if not holds_weights(self.out, weights):  # it may have been killed after writing it
                about = {"pretraining": objective.reader_recipe.to_dict(), **facts}
                model = objective.recipe.model
                reader = Reader.from_parts(words=words, weights=weights, model=model, facts=about)
                reader.save(self.out, overwrite=self.overwrite)
        shutil.rmtree(self.folder, ignore_errors=True)
        return facts


def _rows(dataset: Dataset) -> int:
    return sum(len(split) for split in dataset.splits.values())


def _held_share(rows: int) -> float:
    return min(HELD_OUT, MAX_HELD_OUT / max(rows, 1))
