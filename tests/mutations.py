"""Mutations of every file that Limelight reads, with checksums that fit: an answer or one line of error.

    PYTHONPATH=src:tests python tests/mutations.py [COUNT] [SEED]

COUNT mutations are shared out over the folders of a model, a reader and an index, a run's checkpoints, an
encoded data set and a run.json. Each attempt must end within 10 seconds and 2 GB with an answer or a
LimelightError of one line; anything else is printed with its number, and the program exits with 1. Attempts
run in children, some hundred in each, so that a crash or a hang is counted too.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

import trained
from limelight.errors import LimelightError
from limelight.runtime.model import Model
from limelight.runtime.reader import Reader
from limelight.runtime.start import start_of
from limelight.search import index_folder
from limelight.search.index import Index
from limelight.text.dataset import Dataset
from limelight.training import fit
from limelight.training.train_job import TrainJob
from training import toys

SECONDS, BYTES = 10, 2 * 10**9
PER_CHILD = 100
ODD_VALUES: list[Any] = [
    None, True, False, 0, 1, -1, 2, 0.5, -0.0, 1e308, 10**18, 2**31, 2**63, 10**30, 10**400, -(10**30),
    "", "a", "../../etc/passwd", "/dev/zero", "\0", "\ud800", "x" * 10_000, [], {}, [[]], [1, "1"],
    {"a": 1}, [None] * 1000, float("inf"), float("nan"),
]  # fmt: skip


class Target(NamedTuple):
    """A folder, the files in it that are mutated, and what is done with it."""

    folder: Path
    files: list[str]
    seal: Callable[[Path, str], None]  # make the checksums fit after a file was changed
    use: Callable[[Path], Any]


# ---------------------------------------------------------------- mutations


def mutate(content: bytes, name: str, rng: random.Random) -> bytes:
    """Some bytes changed, or a value of its JSON, or of the JSON header of a safetensors file."""
    how = rng.random()
    if name.endswith(".json") and how < 0.7:
        return mutate_json(content, rng)
    if name.endswith(".safetensors") and how < 0.6:
        size = int.from_bytes(content[:8], "little")
        header = mutate_header(content[8 : 8 + size], rng)
        return len(header).to_bytes(8, "little") + header + content[8 + size :]
    if name.endswith(".npy") and how < 0.7:  # the numbers behind the header
        return content[:128] + mutate_bytes(content[128:], rng)
    return mutate_bytes(content, rng)


def mutate_bytes(content: bytes, rng: random.Random) -> bytes:
    changed = bytearray(content)
    for _ in range(rng.randint(1, 3)):
        start = rng.randint(0, len(changed) if rng.random() < 0.7 else min(len(changed), 200))
        end = min(len(changed), start + rng.choice([1, 2, 4, 8, 64, len(content)]))
        how = rng.choice(["flip", "cut", "repeat", "write", "floats"])
        if how == "flip" and start < len(changed):
            changed[start] ^= 1 << rng.randrange(8)
        elif how == "cut":
            del changed[start:end]
        elif how == "repeat":
            changed[start:start] = changed[start:end]
        elif how == "write":
            changed[start:end] = rng.randbytes(min(end - start, 64))
        else:
            value = np.float32(rng.choice([1e20, -1e38, 1e-40, 0]))
            changed[start : start + 4] = value.tobytes()
    return bytes(changed)


def mutate_json(content: bytes, rng: random.Random) -> bytes:
    data = json.loads(content)
    for _ in range(rng.randint(1, 2)):
        mutate_tree(data, rng)
    return json.dumps(data).encode()


def mutate_header(content: bytes, rng: random.Random) -> bytes:
    """Mutate the header, or the description that a checkpoint has inside it."""
    header = json.loads(content)
    inside = header.get("__metadata__", {}).get("limelight")
    if inside and rng.random() < 0.7:
        header["__metadata__"]["limelight"] = mutate_json(inside.encode(), rng).decode()
    else:
        mutate_tree(header, rng)
    text = json.dumps(header).encode()
    return text + b" " * (-len(text) % 8)


def mutate_tree(data: Any, rng: random.Random) -> None:
    """One value, anywhere in the tree, replaced, removed, swapped with another or given another name."""
    parent, key = data, None
    while isinstance(parent, dict | list) and parent:
        keys = sorted(parent) if isinstance(parent, dict) else list(range(len(parent)))
        deep = [each for each in keys if isinstance(parent[each], dict | list)]
        key = rng.choice(deep if deep and rng.random() < 0.6 else keys)
        if not isinstance(parent[key], dict | list) or not parent[key] or rng.random() < 0.15:
            break
        parent = parent[key]
    if key is None or not parent:
        return
    how = rng.choice(["replace", "replace", "remove", "add", "swap", "alter"])
    if how == "remove":
        del parent[key]
    elif how == "add" and isinstance(parent, dict):
        parent[rng.choice(["", "more", "\ud800", "__proto__"])] = rng.choice(ODD_VALUES)
    elif how == "swap" and len(parent) > 1:
        other = rng.choice(sorted(parent)) if isinstance(parent, dict) else rng.randrange(len(parent))
        parent[key], parent[other] = parent[other], parent[key]
    elif how == "alter" and type(parent[key]) in (int, float):
        parent[key] = rng.choice([parent[key] + 1, parent[key] - 1, -parent[key], parent[key] * 2])
    else:
        parent[key] = rng.choice(ODD_VALUES)


# ---------------------------------------------------------------- what is mutated


def seal_folder(folder: Path, name: str) -> None:
    """Make the checksums of a saved folder fit."""
    if name == "config.json":
        trained.edit(folder, lambda config: None)
    else:
        trained.replace(folder, name, (folder / name).read_bytes())


def model_target(place: Path) -> Target:
    folder = trained.save(place / "model")

    def use(folder: Path) -> None:
        model = Model.load(folder, threads=1)
        P = model.predict_proba(["w1 w2 unheard", ""])
        assert np.isfinite(P).all()
        assert P.shape == (2, len(model.labels))
        assert np.isfinite(model.read("w1 w2").attention).all()

    return Target(folder, ["config.json", "tokenizer.json", "model.safetensors"], seal_folder, use)


def reader_target(place: Path) -> Target:
    random, words = np.random.default_rng(0), ["soup", "cold", "train"]
    shapes = {
        "words.weight": (5, 32), "grams.weight": (8, 32), "encoder.W_ih_0": (2, 12, 32),
        "encoder.W_hh_0": (2, 12, 3), "encoder.b_0": (2, 12), "pooling.W_s1": (4, 6),
        "pooling.W_s2": (2, 4), "vector.W_shared": (5, 6), "vector.W_rows": (7, 10),
    }  # fmt: skip
    weights = {name: random.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    Reader.from_parts(words=words, weights=weights, facts={"rows": [["cold"]]}).save(place / "reader")

    def use(folder: Path) -> None:
        reader = Reader.load(folder, threads=1)
        assert np.isfinite(reader.encode(["cold soup unheard", ""])).all()
        assert np.isfinite(reader.read("cold soup").attention).all()

    files = ["config.json", "tokenizer.json", "model.safetensors"]
    return Target(place / "reader", files, seal_folder, use)


def checkpoint_target(place: Path) -> Target:
    data, recipe = toys.dataset(rows=20, dev=8), toys.recipe(epochs=2)
    fit(data, recipe, place / "run", show=False)
    files = sorted(path.name for path in (place / "run").glob("*.safetensors"))

    def seal(folder: Path, name: str) -> None:
        content = (folder / name).read_bytes()
        size = hashlib.sha256().digest_size
        digest = hashlib.sha256(content[:-size] + bytes(size)).digest()
        (folder / name).write_bytes(content[:-size] + digest)

    def use(folder: Path) -> None:
        fit(
            data,
            replace(recipe, training=replace(recipe.training, epochs=3)),
            folder,
            resume=True,
            show=False,
        )

    return Target(place / "run", files, seal, use)


def dataset_target(place: Path) -> Target:
    data = toys.dataset(rows=20, dev=8, weighted=True)
    vectors = np.random.default_rng(0).normal(size=(len(data.tokenizer), 8)).astype(np.float32)
    facts = {"recipe": {}, "sources": {"train": "a.csv"}, "rows": {"train": 20}, "held_out": None}
    replace(data, vectors=vectors, facts=facts).save(place / "data")

    def seal(folder: Path, name: str) -> None:
        if name == "tokenizer.json":
            description = json.loads((folder / "dataset.json").read_text())
            description["tokenizer"] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
            (folder / "dataset.json").write_text(json.dumps(description))

    def use(folder: Path) -> None:
        fit(Dataset.open(folder), toys.recipe(epochs=1), show=False)

    files = sorted(path.name for path in (place / "data").iterdir())
    return Target(place / "data", files, seal, use)


def job_target(place: Path) -> Target:
    folder = place / "job"
    (folder / "out.run").mkdir(parents=True)
    (folder / "a.csv").write_text("text,label\n" + "good soup,1\nbad soup,2\n" * 10)
    TrainJob(folder / "out", toys.recipe(), {"train": [str(folder / "a.csv")]}, {"text": "text"}).save()

    def use(folder: Path) -> None:
        job = TrainJob.load(folder / "out")
        job.encode(*start_of(job.recipe, (), job.started_in), show=False)

    return Target(folder, ["out.run/run.json"], lambda folder, name: None, use)


def index_target(place: Path) -> Target:
    model = trained.save(place / "indexed-model")
    rows = [{"id": k, "text": text} for k, text in enumerate(["w1 w2", "w3 w4. W5 w6!", "w7"])]
    index = Index.create(place / "index", rows, model=model, sentences=True, key="id")
    index.delete([2])
    files = sorted(path.name for path in index.folder.iterdir())

    def seal(folder: Path, name: str) -> None:
        data = json.loads((folder / "index.json").read_text())
        data.pop("sha256")
        if name != "index.json":
            entry = data["deleted"] if name.startswith("deleted-") else data["shards"][0]
            content = (folder / name).read_bytes()
            entry |= {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        data["sha256"] = index_folder._checksum(data)
        (folder / "index.json").write_text(json.dumps(data))

    def use(folder: Path) -> None:
        index = Index.open(folder, threads=1)
        hits = index.search("w1 w2", k=2)
        assert all(np.isfinite(hit.score) for hit in hits)
        index.update([{"id": 1, "text": "w8 w9"}])

    return Target(index.folder, files, seal, use)


TARGETS = (model_target, reader_target, checkpoint_target, dataset_target, job_target, index_target)


# ---------------------------------------------------------------- attempts


def attempt(target: Target, work: Path, number: int, seed: int) -> str:
    """Mutate one file in a copy of the folder and use it: what came of it, or the traceback."""
    rng = random.Random(f"{seed} {target.folder.name} {number}")
    shutil.copytree(target.folder, work)
    name = rng.choice(target.files)
    path = work / name
    try:
        path.write_bytes(mutate(path.read_bytes(), name, rng))
        if rng.random() < 0.9:
            target.seal(work, name)
    except (ValueError, KeyError, AttributeError, TypeError):
        pass  # too damaged to be sealed
    try:
        target.use(work)
    except LimelightError as error:
        return "refused" if str(error) and "\n" not in str(error) else f"not one line: {error!r}"
    except BaseException:
        return f"{name}: {traceback.format_exc()}"
    finally:
        shutil.rmtree(work)
    return "answered"


def peak_memory() -> int:
    """The most memory this process has had, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def run_child(target: Target, numbers: list[int], seed: int, report: int) -> None:
    """Report each attempt before and after it, as lines of JSON; the alarm ends a child that hangs."""
    warnings.simplefilter("ignore")
    for number in numbers:
        os.write(report, f"{json.dumps([number])}\n".encode())
        signal.alarm(SECONDS)
        start = time.monotonic()
        result = attempt(target, target.folder.parent / f"work-{os.getpid()}", number, seed)
        signal.alarm(0)
        if peak_memory() > BYTES:
            result = f"{peak_memory():,} bytes of memory"
        os.write(report, f"{json.dumps([number, result, time.monotonic() - start])}\n".encode())


def attempts(target: Target, count: int, seed: int) -> Iterator[tuple[int, str, float]]:
    """Number, result and seconds of each attempt."""
    left = list(range(count))
    while left:
        some, (read, write) = left[:PER_CHILD], os.pipe()
        child = os.fork()
        if not child:
            os.close(read)
            try:
                run_child(target, some, seed, write)
            finally:
                os._exit(0)
        os.close(write)
        with open(read) as lines:
            found = [json.loads(line) for line in lines]
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        yield from (tuple(each) for each in found if len(each) == 3)
        done = {each[0] for each in found if len(each) == 3}
        started = {each[0] for each in found}
        for number in started - done:
            yield number, f"the process ended with {status}", float(SECONDS)
        left = [number for number in left if number not in started]


def main() -> int:
    torch.set_num_threads(1)  # a child has none of its parent's threads, and would wait for them
    count, seed = (int(sys.argv[k]) if len(sys.argv) > k else (10_000, 0)[k - 1] for k in (1, 2))
    problems, figures = 0, {}
    with tempfile.TemporaryDirectory() as place:
        for make in TARGETS:
            target = make(Path(place))
            sound = shutil.copytree(target.folder, Path(place) / "sound")
            target.use(sound)
            shutil.rmtree(sound)
            results: Counter[str] = Counter()
            slowest = 0.0
            for number, result, seconds in attempts(target, count // len(TARGETS), seed):
                results[result if result in ("answered", "refused") else "problem"] += 1
                slowest = max(slowest, seconds)
                if results["problem"] and result not in ("answered", "refused"):
                    print(f"{target.folder.name} {number}: {result}", file=sys.stderr)
            problems += results["problem"]
            figures[target.folder.name] = {**results, "slowest_seconds": round(slowest, 2)}
    print(json.dumps(figures))
    return int(problems > 0)


if __name__ == "__main__":
    sys.exit(main())
