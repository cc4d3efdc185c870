"""Labelling, simulated: a person who always gives the label that a table has.

    python experiments/benchmarks/labelling.py choosing DATA --out choosing.jsonl    # labels for an accuracy
    python experiments/benchmarks/labelling.py groups DATA --out groups.jsonl        # keys, whole groups at once
    python experiments/benchmarks/labelling.py marks DATA --out marks.jsonl          # with marked words
    python experiments/benchmarks/labelling.py coverage DATA --out coverage.jsonl    # does the interval hold it?
    python experiments/benchmarks/labelling.py speed DATA                            # 50,000 texts
    python experiments/benchmarks/labelling.py kills                                 # killed 100 times

DATA holds banking77, sst5, tweets, nlupp and rationales. Vectors are kept in --cache. Of tweets the label is the
age group, and the test set has other authors; of NLU++ only texts with one label, of labels that five texts
have. Accuracy is that of the refitted model on the test set (of NLU++, a fifth of the rows).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as pq

from limelight.labelling import LabelSession
from limelight.labelling.journal import Journal
from limelight.labelling.refit import Space, fit, is_correct
from limelight.labelling.vectors import VectorCache
from limelight.runtime.reader import Reader

NAMES = {"sst5": ["very negative", "negative", "neutral", "positive", "very positive"]}
Columns = tuple[list[str], list[Any], list[str], list[Any]]  # texts and labels, of the table and of the test
TASKS = ("banking77", "sst5", "tweets", "nlupp")
EVERY = 25
GROUPS = 170


class Task(NamedTuple):
    """Texts to label and texts to judge by, with their true labels."""

    texts: list[str]
    labels: list[str]
    test: np.ndarray  # (n, size)
    truth: list[str]
    reader: Any


class KeptReader:
    """The bundled reader with the vectors that it gave before."""

    sha256 = "kept"

    def __init__(self, cache: Path) -> None:
        self._reader = Reader.load(threads=1)
        self._cache = VectorCache(cache / "vectors", self._reader)

    def get_sentence_embedding_dimension(self) -> int:
        return self._reader.get_sentence_embedding_dimension()

    def encode(self, texts: list[str]) -> np.ndarray:
        return np.concatenate([self._cache.encode(texts[k : k + 2000]) for k in range(0, len(texts), 2000)])

    def word_parts(self, texts: list[str]) -> Any:
        return self._reader.word_parts(texts)


# ---------------------------------------------------------------- data


def load(data: Path, name: str, reader: KeptReader) -> Task:
    texts, labels, texts2, truth = {"tweets": tweets, "nlupp": nlupp}.get(name, splits)(data, name)
    names = NAMES.get(name)
    labels, truth = ([names[int(y)] if names else str(y) for y in each] for each in (labels, truth))
    return Task(texts, labels, reader.encode(texts2), truth, reader)


def splits(data: Path, name: str) -> Columns:
    tables = [pq.read_table(data / name / f"{part}.parquet") for part in ("train", "test")]
    return tuple(table[column].to_pylist() for table in tables for column in ("text", "label"))  # type: ignore[return-value]


def tweets(data: Path, name: str) -> Columns:
    rows = pq.read_table(data / "tweets/pan15.parquet").to_pylist()
    authors = sorted({row["author"] for row in rows})
    np.random.default_rng(0).shuffle(authors)
    return parted(rows, set(authors[:30]), "author", "age_group")


def nlupp(data: Path, name: str) -> Columns:
    files = [(data / f"nlupp/{part}.jsonl").read_text() for part in ("banking", "hotels")]
    rows = [json.loads(line) for file in files for line in file.splitlines()]
    rows = [{**row, "label": row["labels"][0]} for row in rows if len(row["labels"]) == 1]
    often = Counter(row["label"] for row in rows)
    rows = [row for row in rows if often[row["label"]] >= 5]
    third = set(np.random.default_rng(0).permutation(len(rows))[: len(rows) // 5].tolist())
    return parted([{**row, "n": k} for k, row in enumerate(rows)], third, "n", "label")


def parted(rows: list[dict[str, Any]], test: set[Any], by: str, label: str) -> Columns:
    train = [row for row in rows if row[by] not in test], [row for row in rows if row[by] in test]
    return tuple([row[column] for row in part] for part in train for column in ("text", label))  # type: ignore[return-value]


# ---------------------------------------------------------------- one labelling


def start(task: Task, seed: int, names: bool) -> LabelSession:
    """A session that knows the classes; without `names` they are called 0, 1, 2, which says nothing."""
    classes = sorted(set(task.labels) | set(task.truth))
    shown = classes if names else [str(k) for k in range(len(classes))]
    session = LabelSession(task.texts, reader=task.reader, classes=shown, seed=seed, background=False)
    session.called = dict(zip(classes, shown, strict=True))  # type: ignore[attr-defined]
    return session


def accuracy(session: LabelSession, task: Task) -> float:
    session._refit()
    fitted = session._learner.fitted
    if fitted is None:
        return 0.0
    called = session.called  # type: ignore[attr-defined]
    found = fitted.logits(task.test).argmax(axis=1)
    return float(np.mean([session.classes[k] == called[y] for k, y in zip(found, task.truth, strict=True)]))


def labelled(session: LabelSession, task: Task, how: str, count: int) -> Iterator[int]:
    """Label one text after the other; yields how many are."""
    called = session.called  # type: ignore[attr-defined]
    at_once = EVERY if how == "random" else 1  # what is drawn does not depend on the labels before
    number = 0
    while number < count and (found := session.next(how, at_once)):
        for shown in found:
            session.label(shown.row, called[task.labels[shown.row]])
            number += 1
            yield number


def choosing(task: Task, seed: int, how: str, names: bool, labels: int) -> dict[str, Any]:
    session = start(task, seed, names)
    curve = {0: accuracy(session, task)}
    for number in labelled(session, task, how, labels):
        if number % EVERY == 0:
            curve[number] = accuracy(session, task)
    return {"curve": curve}


def coverage(task: Task, seed: int, labels: int, how: str = "auto") -> dict[str, Any]:
    """The estimate beside the accuracy on all texts that were not labelled."""
    session = start(task, seed, names=True)
    found = []
    for number in labelled(session, task, how, labels):
        if number in (75, 150):
            progress, learner = session.progress(), session._learner
            rest = np.flatnonzero(~learner.spoken)
            logits = learner.fitted.logits(session.vectors.matrix[rest])  # type: ignore[union-attr]
            called = session.called  # type: ignore[attr-defined]
            right = [
                session.classes[k] == called[task.labels[row]]
                for row, k in zip(rest, logits.argmax(axis=1), strict=True)
            ]
            found.append(
                [number, float(np.mean(right)), progress.accuracy, progress.low, progress.high, progress.gain]
            )
    return {"found": found}


def groups(task: Task, seed: int, names: bool, keys: int) -> dict[str, Any]:
    """A key gives the core of a group the label that most of its examples have."""
    session = start(task, seed, names)
    called = session.called  # type: ignore[attr-defined]
    curve, pressed, right, total = {0: accuracy(session, task)}, 0, 0, 0
    while pressed < keys:
        group = session.next_group(GROUPS)
        if group is None:
            break
        label = Counter(task.labels[row] for row in group.examples).most_common(1)[0][0]
        session.accept(group.core, called[label], sample_checked=group.examples)
        right, total = right + sum(task.labels[row] == label for row in group.core), total + len(group.core)
        pressed += 1
        if pressed % EVERY == 0:
            curve[pressed] = accuracy(session, task)
    return {"curve": curve, "pure": right / max(total, 1), "rows": total}


# ---------------------------------------------------------------- marked words


def marks(data: Path, reader: KeptReader, seed: int, counts: list[int], weight: float) -> dict[str, Any]:
    """Accuracy with the labels alone, and with the marked words as further texts; texts drawn at random."""
    from experiments.benchmarks.reasons import movies  # type: ignore[import-not-found]

    rows = movies(data / "rationales")
    X = reader.encode([row["texts"][0] for row in rows])
    phrases = [
        " . ".join(row["texts"][0][a:b] for a, b in row["spans"][0]) or row["texts"][0] for row in rows
    ]
    marked = reader.encode(phrases)
    Y = np.eye(2)[[int(row["label"] == "POS") for row in rows]]
    order = np.random.default_rng(seed).permutation(len(rows))
    test, space = order[:600], Space.of(X)
    found: dict[str, dict[int, float]] = {"alone": {}, "marked": {}}
    for count in counts:
        own = order[600 : 600 + count]
        more = np.arange(count), marked[own], weight
        for name, given in (("alone", None), ("marked", more)):
            fitted = fit(X[own], Y[own], space, more=given)
            found[name][count] = float(is_correct(fitted.logits(X[test]), Y[test]).mean())
    return found


# ---------------------------------------------------------------- speed, kills


def speed(texts: int, classes: int, labels: int) -> dict[str, Any]:
    """Milliseconds, with vectors that are drawn: what the reader costs is measured elsewhere."""
    draw = np.random.default_rng(0)
    centres = draw.normal(size=(classes, 384))
    truth = draw.integers(0, classes, texts)
    X = centres[truth] * 0.5 + draw.normal(size=(texts, 384))
    X = (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)

    class Drawn:
        sha256 = "drawn"

        def get_sentence_embedding_dimension(self) -> int:
            return 384

        def encode(self, given: list[str]) -> np.ndarray:
            return X[[int(text) if text.isdigit() else 0 for text in given]]

    with tempfile.TemporaryDirectory() as folder:
        session = LabelSession([str(k) for k in range(texts)], reader=Drawn(), background=False,
                               classes=[f"{k}-" for k in range(classes)], journal=Path(folder, "journal"))  # fmt: skip
        key, refit, busy = [], [], []
        (shown,) = session.next()
        for _ in range(labels):
            began, work = time.perf_counter(), time.process_time()
            session.label(shown.row, f"{truth[shown.row]}-")
            middle = time.perf_counter()
            session._refit()
            refit.append(time.perf_counter() - middle)
            (shown,) = session.next()
            key.append(time.perf_counter() - began)
            busy.append(time.process_time() - work)
        began = time.perf_counter()
        session.progress()
        progress = time.perf_counter() - began
    ms = {name: [round(1000 * float(np.quantile(each[-500:], q)), 1) for q in (0.5, 0.95)]
          for name, each in (("key to next", key), ("its processor time", busy), ("refit", refit))}  # fmt: skip
    return {"texts": texts, "classes": classes, "labels": labels, **ms, "progress": round(1000 * progress, 1)}


def kills(count: int, seed: int = 0) -> dict[str, Any]:
    """A process labels as fast as it can and is killed at a random moment, again and again."""
    choose, lost, written, torn = random.Random(seed), 0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        path, told = Path(folder, "labels.csv.journal"), Path(folder, "told")
        for _ in range(count):
            told.write_bytes(b"")
            pid = os.fork()
            if pid == 0:
                label_for_ever(path, told)
            while told.stat().st_size == 0:
                time.sleep(0.001)
            time.sleep(choose.expovariate(1 / 0.02))
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            torn += not path.read_bytes().endswith(b"\n")
            known = {event["rows"][0] for event in Journal(path).events}
            acknowledged = told.read_text().split()
            lost += sum(each not in known for each in acknowledged)
            written += len(acknowledged)
    return {"kills": count, "acknowledged": written, "lost": lost, "left half-written": torn}


def label_for_ever(path: Path, told: Path) -> None:
    session = LabelSession(["a", "b", "c"], reader=None, classes=["x"], journal=path)
    handle = os.open(told, os.O_WRONLY | os.O_APPEND)
    for number in range(10**9):
        name = f"{os.getpid()}-{number}"
        session._journal.append("skip", by="me", rows=[name])
        os.write(handle, f"{name}\n".encode())


# ---------------------------------------------------------------- all of them


def runs(args: argparse.Namespace) -> Iterator[tuple[dict[str, Any], Any]]:
    """What each run is, and how to do it."""
    reader = KeptReader(args.cache)
    if args.what == "marks":
        for seed in args.seeds:
            about = {"task": "rationales", "seed": seed}
            yield (
                about,
                lambda seed=seed: marks(args.data, reader, seed, [25, 50, 100, 200, 400], args.weight),
            )
        return
    for name in args.tasks:
        task = load(args.data, name, reader)
        for seed in args.seeds:
            if args.what == "coverage":
                yield {"task": name, "seed": seed}, lambda t=task, s=seed: coverage(t, s, args.labels)
                continue
            for names in (False, True):
                if names and name == "tweets":
                    continue  # the names of age groups say nothing
                if args.what == "groups":
                    about = {"task": name, "seed": seed, "names": names}
                    yield about, lambda t=task, s=seed, n=names: groups(t, s, n, args.labels)
                    continue
                for how in ("random", "auto"):
                    about = {"task": name, "seed": seed, "names": names, "how": how}
                    yield about, lambda t=task, s=seed, n=names, h=how: choosing(t, s, h, n, args.labels)


def summary(found: list[dict[str, Any]]) -> None:
    """The mean curves, and how many labels reach what 500 random ones do."""
    curves: dict[tuple[Any, ...], list[dict[str, float]]] = {}
    for each in found:
        if "curve" in each:
            curves.setdefault((each["task"], each["names"], each.get("how", "groups")), []).append(
                each["curve"]
            )
    for key, several in curves.items():
        mean = {int(n): np.mean([curve[n] for curve in several if n in curve]) for n in several[0]}
        print(*key, {n: round(100 * x, 1) for n, x in mean.items() if n % 50 == 0})
        for names in (False, True):
            goal = curves.get((key[0], names, "random"))
            if goal:
                last = max(map(int, goal[0]))
                level = np.mean([curve[str(last)] for curve in goal])
                first = next((n for n, x in sorted(mean.items()) if x >= level), None)
                print(
                    f"    reaches the {100 * level:.1f} of {last} random labels{', with names' * names}: {first}"
                )
    inside = [low <= true <= high for each in found for _, true, _, low, high, _ in each.get("found", ())]
    if inside:
        width = [high - low for each in found for _, _, _, low, high, _ in each["found"]]
        print(
            f"the interval holds the accuracy in {np.mean(inside):.3f} of {len(inside)}, width {np.mean(width):.3f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("choosing", "groups", "marks", "coverage", "speed", "kills"))
    parser.add_argument("data", type=Path, nargs="?")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--cache", type=Path, default=Path("labelling-cache"))
    parser.add_argument("--tasks", nargs="+", default=list(TASKS), choices=TASKS)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--labels", type=int, default=500, help="labels, or keys, of a run")
    parser.add_argument("--weight", type=float, default=1.0, help="of marked words beside their text")
    args = parser.parse_args()
    if args.what == "speed":
        print(json.dumps(speed(50_000, 77, 1000)))
        return
    if args.what == "kills":
        print(json.dumps(kills(100)))
        return
    found = [json.loads(line) for line in args.out.read_text().splitlines()] if args.out.exists() else []
    for about, work in runs(args):
        if not any(about.items() <= each.items() for each in found):
            found.append(json.loads(json.dumps({**about, **work()})))
            with args.out.open("a") as file:
                file.write(json.dumps(found[-1]) + "\n")
    summary(found)


if __name__ == "__main__":
    main()
