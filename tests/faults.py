"""A failure at every step: the k-th open, write, fsync or rename fails, or the process dies there.

    OMP_NUM_THREADS=1 PYTHONPATH=tests python tests/faults.py FOLDER            # some of the steps
    OMP_NUM_THREADS=1 PYTHONPATH=tests python tests/faults.py FOLDER --all      # each of them

Each try is a child process on a copy of the old state. Afterwards there must be the old state or the new one,
never a third, and the same work done again must end in the new one and leave nothing behind. Prints what it
found as JSON: for each operation the number of steps, of tries, and those that went wrong.
"""

from __future__ import annotations

import builtins
import contextlib
import errno
import io
import json
import os
import shutil
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas  # noqa: F401 - what a child would import, each of them anew
import pyarrow.dataset
import pyarrow.parquet  # noqa: F401

import trained
from limelight.aspects.seeds import Aspects
from limelight.bulk import Predictor, run
from limelight.cli import main
from limelight.errors import LimelightError
from limelight.labelling.journal import Journal
from limelight.labelling.session import LabelSession
from limelight.labelling.state import fold
from limelight.labelling.vectors import VectorCache
from limelight.runtime.edits import write_aspects
from limelight.runtime.embeddings import write_array
from limelight.runtime.folder import open_folder
from limelight.runtime.model import Model
from limelight.search import index_folder
from limelight.search.index import Index
from limelight.serve.explorer.one_file import save_page
from limelight.storage import files
from reviews import FLAGS, review_table

DIE = 137
ERRORS = {"ENOSPC": errno.ENOSPC, "EIO": errno.EIO, "EACCES": errno.EACCES, "death": DIE}
State = dict[str, bytes]


class Faults:
    """Counts the steps of this process in a folder, and lets the one with the number `at` fail."""

    def __init__(self, folder: Path, at: int, fault: int) -> None:
        self.folder, self.at, self.fault, self.count = str(folder), at, fault, 0

    def step(self, path: Any, before: Callable[[], object] = lambda: None) -> None:
        """Fail if this is the one, after doing `before`."""
        if isinstance(path, int | None) or not os.path.abspath(os.fsdecode(path)).startswith(self.folder):
            return
        self.count += 1
        if self.count == self.at:
            before()
            if self.fault == DIE:
                os._exit(DIE)
            raise OSError(self.fault, os.strerror(self.fault))

    def install(self) -> None:
        """For the rest of this process. Opening, renaming, linking and making folders have audit events."""
        sys.addaudithook(lambda event, args: self.step(args[0]) if event in EVENTS else None)
        real_open, real_sync, real_exchange = io.open, os.fsync, files.exchange
        real_write, real_truncate = os.write, os.ftruncate
        faults = self

        class File(io.FileIO):
            def write(self, content: Any) -> int:
                half = memoryview(content).cast("B")[: len(memoryview(content).cast("B")) // 2]
                faults.step(self.name, lambda: io.FileIO.write(self, half))
                return io.FileIO.write(self, content)

        def opened(file: Any, mode: str = "r", *rest: Any, **how: Any) -> Any:
            if mode not in ("w", "wb") or isinstance(file, int):
                return real_open(file, mode, *rest, **how)
            raw = io.BufferedWriter(File(os.fspath(file), "w"))
            return raw if mode == "wb" else io.TextIOWrapper(raw, encoding=how.get("encoding"))

        def path_of(handle: int) -> str:
            return os.readlink(f"/proc/self/fd/{handle}")

        def synced(handle: int) -> None:
            self.step(path_of(handle))
            real_sync(handle)

        def written(handle: int, content: Any) -> int:
            self.step(path_of(handle), lambda: real_write(handle, bytes(content)[: len(content) // 2]))
            return real_write(handle, content)

        def truncated(handle: int, size: int) -> None:
            self.step(path_of(handle))
            real_truncate(handle, size)

        def exchanged(one: Path, other: Path) -> bool:
            try:
                self.step(one)
            except OSError:
                return False
            return real_exchange(one, other)

        io.open = builtins.open = opened  # type: ignore[assignment]
        os.fsync, files.exchange = synced, exchanged  # type: ignore[assignment]
        os.write, os.ftruncate = written, truncated  # type: ignore[assignment]


EVENTS = {"open", "os.rename", "os.link", "os.mkdir"}


class Operation(NamedTuple):
    """Work in a folder, the old state it starts from, and what is done again after a failure."""

    prepare: Callable[[Path], object]
    work: Callable[[Path], object]
    again: Callable[[Path], object]
    result: str  # the file or folder that must be old or new
    quick: bool = True  # otherwise the kinds of errors take turns
    view: Callable[[Path], State] = lambda path: state(path)  # what a reader finds there
    in_parts: bool = False  # a part of the new state may be there, to be completed


def state(path: Path) -> State:
    """Every file below a path, or the file itself; nothing if it is not there."""
    if path.is_file():
        return {"": path.read_bytes()}
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}


def forked(work: Callable[[], object]) -> int:
    """The exit code of a child that does the work: 2 after an error of one line, 3 after any other."""
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    code = 3
    try:
        with (
            open(os.devnull, "w") as nowhere,
            contextlib.redirect_stdout(nowhere),
            contextlib.redirect_stderr(nowhere),
        ):
            found = work()
            code = found if isinstance(found, int) else 0
    except LimelightError:
        code = 2
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def try_steps(operation: Operation, place: Path, most: int | None) -> dict[str, Any]:
    """Let every step fail in every way, or at most about `most` of these."""
    old, new = place / "old", place / "new"
    old.mkdir(parents=True)
    forked(lambda: operation.prepare(old))
    shutil.copytree(old, new)
    count = place / "count"

    def counted() -> None:
        faults = Faults(new, 0, 0)
        faults.install()
        operation.work(new)
        count.write_text(str(faults.count))

    assert forked(counted) == 0
    steps, wrong = int(count.read_text()), []
    expected = Expected(*(operation.view(each / operation.result) for each in (old, new)), state(new))
    kinds = list(ERRORS)
    each = [kinds if operation.quick else [kinds[at % 3], "death"] for at in range(steps)]
    tries = [(at, name) for at, names in enumerate(each, 1) for name in names]
    tries = tries if most is None else tries[:: max(1, len(tries) // most)]
    for at, name in tries:
        here = place / "here"
        shutil.rmtree(here, ignore_errors=True)
        shutil.copytree(old, here)
        found = one_try(operation, here, at, ERRORS[name], expected)
        wrong += [f"step {at}, {name}: {found}"] if found else []
    return {"steps": steps, "tries": len(tries), "wrong": wrong}


class Expected(NamedTuple):
    """What a reader may find after a failure, and all files after the work was done again."""

    old: State
    new: State
    files: State


def one_try(operation: Operation, here: Path, at: int, fault: int, expected: Expected) -> str:
    """What went wrong, or nothing."""
    old, new, files = expected

    def work() -> object:
        Faults(here, at, fault).install()
        return operation.work(here)

    code, result = forked(work), here / operation.result
    if code not in (0, 2, DIE):
        return f"exit code {code}"
    found = operation.view(result)
    is_part = operation.in_parts and found.items() <= new.items()
    if found not in (old, new) and not is_part and not is_recoverable(result, old):
        return "neither the old state nor the new one"
    if code == 0 and found != new:
        return "no error, and not the new state"
    if (code := forked(lambda: operation.again(here))) != 0:
        return f"done again: exit code {code}"
    if operation.view(result) != new:
        return "done again: not the new state"
    left = sorted(state(here).keys() - files.keys())
    return f"done again: left {left[0]}" if left else ""


def is_recoverable(result: Path, old: State) -> bool:
    """Whether the old folder stands aside, to be brought back; only where names cannot be exchanged."""
    return not result.exists() and any(
        state(each) == old for each in result.parent.glob(f".{result.name}.*/was")
    )


# ---------------------------------------------------------------- the operations


def model(seed: int) -> Model:
    recipe = trained.recipe_of({})
    weights = trained.weights_of(trained.network_of(recipe, seed=seed))
    parts = {"recipe": recipe, "tokenizer": trained.tokenizer(), "labels": trained.LABELS}
    return Model.from_parts(weights=weights, **parts)


def save(folder: Path, seed: int = 1) -> None:
    model(seed).save(folder / "model", overwrite=True)
    open_folder(folder / "model")


def save_in_two_steps(folder: Path) -> None:
    files.exchange = lambda one, other: False  # as where the system cannot
    save(folder)


def embed(name: str, seed: int = 1) -> Callable[[Path], None]:
    parts = [np.full((3, 2, 4), seed + k, np.float32) for k in range(3)]
    return lambda folder: print(write_array(folder / name, parts), file=sys.stderr)


def train(folder: Path) -> int:
    os.chdir(folder)  # the model names its data as given
    flags = [*FLAGS, "--epochs", "2", "--checkpoint-minutes", "0"]
    return main(["train", "reviews.csv", "--out", "model", *flags])


def resume(folder: Path) -> int:
    """As the message says: resume, or if there is nothing to resume, start again."""
    os.chdir(folder)
    if Path("model.run", "run.json").is_file():
        return main(["train", "--resume", "model", "--quiet"])
    return 0 if Path("model").exists() else train(folder)


def shared_model(folder: Path) -> str:
    """One for all tries: an index names the place of its model."""
    path = folder.parent / "shared-model"
    return str(path if path.exists() else trained.save(path))


def create_index(folder: Path, texts: tuple[str, ...] = ("w1 w2", "w3"), overwrite: bool = False) -> None:
    if not overwrite and (folder / "index" / "index.json").is_file():  # as the message says: finish it
        Index.open(folder / "index").add(texts)
    else:
        Index.create(folder / "index", texts, model=shared_model(folder), overwrite=overwrite)


def replace_index(folder: Path) -> None:
    create_index(folder, ("w4", "w5 w6", "w7"), overwrite=True)


def add_to_index(folder: Path) -> None:
    index_folder.SHARD_TEXTS = 2
    Index.open(folder / "index").add(["w4", "w5 w6", "w7"])


def create_keyed(folder: Path) -> None:
    rows = [{"id": k, "text": f"w{k}"} for k in range(1, 5)]
    Index.create(folder / "index", rows, model=shared_model(folder), key="id")


def update_index(folder: Path) -> None:
    Index.open(folder / "index").update([{"id": 2, "text": "w5 w6"}, {"id": 9, "text": "w7"}])


def delete_from_index(folder: Path) -> None:
    Index.open(folder / "index").delete([2, 3])


def create_and_delete(folder: Path) -> None:
    create_keyed(folder)
    delete_from_index(folder)


def compact_index(folder: Path) -> None:
    Index.open(folder / "index").compact()


def view_index(path: Path) -> State:
    """What a reader finds: every text that index.json names and is not deleted, its vector checked."""
    if not (path / "index.json").is_file():
        return {}
    config, shards = index_folder.open_shards(path)
    index_folder.check_shards(path, config)
    living = [(shard, at) for shard in shards for at in range(len(shard))
              if shard.alive is None or shard.alive[at]]  # fmt: skip
    entries = [(shard.entry(at), shard.floats([at])) for shard, at in living]
    return {str(k): f"{entry['text']} {V.tolist()}".encode() for k, (entry, V) in enumerate(entries)}


def write_tables(folder: Path) -> None:
    shared_model(folder)
    (folder / "data").mkdir()
    for name in "ab":
        (folder / "data" / f"{name}.csv").write_text("text\nw1 w2\nw3\n")


def bulk(folder: Path) -> None:
    run(Predictor(shared_model(folder), threads=1), folder / "data", folder / "out")


def view_pieces(path: Path) -> State:
    return {each.name: each.read_bytes() for each in path.glob("*.parquet")}


def page(folder: Path, words: int = 20) -> None:
    save_page(Model.load(shared_model(folder)), folder / "page.html", words=words, overwrite=True)


def edit_aspects(folder: Path) -> None:
    write_aspects(folder / "model", Aspects.of({"rooms": ["w1"]}), "set")


def view_aspects(path: Path) -> State:
    """What a reader finds: the aspects of a whole model. Edits have dates, so no two files are the same."""
    found = Model.load(path).aspects
    return {aspect.name: ",".join(aspect.seeds).encode() for aspect in found}


LABELLED = ["good soup", "bad soup", "a room", "another room"]


def labelling(folder: Path) -> LabelSession:
    return LabelSession(
        LABELLED, reader=None, classes=["food", "room"], journal=folder / "labels.csv.journal"
    )


def label(*rows: int) -> Callable[[Path], None]:
    """Give some texts their labels."""

    def work(folder: Path) -> None:
        session = labelling(folder)
        for row in rows:
            session.label(row, "room" if "room" in LABELLED[row] else "food", marks=[(0, 3)])

    return work


def view_journal(path: Path) -> State:
    """What a reader finds: the label of each text. Events have ids and times: no two files are the same."""
    state = fold(Journal(path).events, [], {})
    return {key: f"{said.labels} {state.marks[key]}".encode() for key, said in state.holding()}


def prepare_table(folder: Path) -> None:
    """The labels of two texts are in the table, those of a third only in the journal."""
    (folder / "texts.csv").write_text("".join(f"{line}\n" for line in ["text", *LABELLED]))
    label(0, 2)(folder)
    save_table(folder)
    label(1)(folder)


def save_table(folder: Path) -> None:
    labelling(folder).save(folder / "labels.csv", folder / "texts.csv")


class CountingReader:
    """Vectors of two numbers."""

    sha256 = "counting"

    def get_sentence_embedding_dimension(self) -> int:
        return 2

    def encode(self, texts: list[str]) -> np.ndarray:
        return np.array([[len(text), text.count("o")] for text in texts], np.float32)


def keep_vectors(count: int) -> Callable[[Path], object]:
    return lambda folder: VectorCache(folder / "vectors", CountingReader()).encode(LABELLED[:count])


def view_vectors(path: Path) -> State:
    """What a reader finds: the vectors that need not be computed."""
    cache = VectorCache(path, CountingReader())
    stored = cache._stored([cache._key(text) for text in LABELLED])
    return {key.hex(): vector.tobytes() for key, vector in stored.items()}


OPERATIONS = {
    "save a model": Operation(lambda folder: None, save, save, "model"),
    "replace a model": Operation(lambda folder: save(folder, 0), save, save, "model"),
    "replace a model in two steps": Operation(
        lambda folder: save(folder, 0), save_in_two_steps, save_in_two_steps, "model"
    ),
    "edit aspects": Operation(save, edit_aspects, edit_aspects, "model", view=view_aspects),
    "embed to .npy": Operation(embed("m.npy", 7), embed("m.npy"), embed("m.npy"), "m.npy"),
    "embed to .safetensors": Operation(
        embed("m.safetensors", 7), embed("m.safetensors"), embed("m.safetensors"), "m.safetensors"
    ),
    "train": Operation(
        lambda folder: review_table(folder / "reviews.csv", 24), train, resume, "model", quick=False
    ),
    "create an index": Operation(shared_model, create_index, create_index, "index", False, view_index, True),
    "replace an index": Operation(create_index, replace_index, replace_index, "index", False, view_index),
    "add to an index": Operation(create_index, add_to_index, add_to_index, "index", False, view_index, True),
    "update an index": Operation(create_keyed, update_index, update_index, "index", False, view_index),
    "delete from an index": Operation(
        create_keyed, delete_from_index, delete_from_index, "index", False, view_index
    ),
    "compact an index": Operation(
        create_and_delete, compact_index, compact_index, "index", False, view_index
    ),
    "bulk": Operation(write_tables, bulk, bulk, "out", False, view_pieces, True),
    "save a page": Operation(lambda folder: page(folder, 10), page, page, "page.html", False),
    "begin to label": Operation(
        lambda folder: None, label(0), label(0), "labels.csv.journal", view=view_journal
    ),
    "label a text": Operation(label(0, 2), label(1), label(1), "labels.csv.journal", view=view_journal),
    "write the labels": Operation(prepare_table, save_table, save_table, "labels.csv"),
    "keep vectors": Operation(
        keep_vectors(1), keep_vectors(4), keep_vectors(4), "vectors", view=view_vectors, in_parts=True
    ),
}

if __name__ == "__main__":
    place, everything = Path(sys.argv[1]).resolve(), "--all" in sys.argv[2:]
    chosen = [name for name in sys.argv[2:] if name != "--all"] or list(OPERATIONS)
    results = {}
    for k, name in enumerate(chosen):
        some = 6 if OPERATIONS[name].quick else 3
        results[name] = try_steps(OPERATIONS[name], place / str(k), None if everything else some)
    print(json.dumps(results))
