"""Labelling, simulated: a person who always gives the label that a table has.

    python experiments/benchmarks/labelling.py all DATA --out labelling.jsonl        # the four below
    python experiments/benchmarks/labelling.py choosing DATA --out labelling.jsonl   # labels for an accuracy
    python experiments/benchmarks/labelling.py groups DATA --out labelling.jsonl     # keys, whole groups at once
    python experiments/benchmarks/labelling.py marks DATA --out labelling.jsonl      # with marked words
    python experiments/benchmarks/labelling.py coverage DATA --out labelling.jsonl   # does the interval hold it?
    python experiments/benchmarks/labelling.py speed                                 # 50,000 texts
    python experiments/benchmarks/labelling.py kills                                 # killed 100 times

DATA holds banking77, sst5, tweets, nlupp, absa, oposum and rationales. Of tweets the label is the age group, and
the test set has other authors; of NLU++, restaurants (SemEval 2014) and products (OPOSUM aspects) only texts with
one label, of labels that five texts have (of the last two 20 and 60). Accuracy is that of
the refitted model on the test set (of the last three, a fifth of the rows, a third and 1,200). One thread. Vectors are kept in --cache by
the reader's checksum and the text. Every run is a line of --out that names the reader; those that are there
are not done again, and the tables of docs/results.md are printed of all that are.
"""

from __future__ import annotations

import argparse
import json
import os

os.environ.setdefault(
    "OPENBLAS_NUM_THREADS", "1"
)  # before numpy: its threads wait for each other on busy cores

import random
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as pq

from limelight.labelling import LabelSession
from limelight.labelling.journal import Journal
from limelight.labelling.learner import MARK_WEIGHT
from limelight.labelling.refit import Space, fit, is_correct
from limelight.labelling.vectors import VectorCache
from limelight.runtime.reader import Reader

NAMES = {"sst5": ["very negative", "negative", "neutral", "positive", "very positive"]}
Columns = tuple[list[str], list[Any], list[str], list[Any]]  # texts and labels, of the table and of the test
NAMED = ("banking77", "sst5", "nlupp")  # tasks that are labelled with the names of the classes, too
TASKS = ("banking77", "sst5", "tweets", "nlupp", "restaurants", "products")
EVERY, LABELS = 25, 500
AT_ONCE = 5  # texts that are chosen by one model: on the page it is refitted after each
GROUPS, KEYS, CORE = 170, 150, 0.3  # of a group, its texts nearest to the centre
COVERED, COVERED_SEEDS = (50, 100, 200, 300), 10  # labels after which the estimate is looked at
MARKED = (25, 50, 100, 200, 400)
SHOWN = (0, 50, 100, 200, 300, 400, 500)  # columns of the table


class Task(NamedTuple):
    """Texts to label and texts to judge by, with their true labels."""

    texts: list[str]
    labels: list[str]
    test: np.ndarray  # (n, size)
    truth: list[str]
    reader: Any


class KeptReader:
    """The bundled reader with the vectors that it gave before."""

    def __init__(self, cache: Path) -> None:
        cache.mkdir(parents=True, exist_ok=True)
        self._reader = Reader.load(threads=1)
        self.sha256 = self._reader.sha256
        self._cache = VectorCache(cache / "vectors", self._reader)

    def get_sentence_embedding_dimension(self) -> int:
        return self._reader.get_sentence_embedding_dimension()

    def encode(self, texts: list[str]) -> np.ndarray:
        return np.concatenate([self._cache.encode(texts[k : k + 2000]) for k in range(0, len(texts), 2000)])

    def word_parts(self, texts: list[str]) -> Any:
        return self._reader.word_parts(texts)


# ---------------------------------------------------------------- data


def load(data: Path, name: str, reader: KeptReader) -> Task:
    texts, labels, texts2, truth = {
        "tweets": tweets,
        "nlupp": nlupp,
        "restaurants": restaurants,
        "products": products,
    }.get(name, splits)(data, name)
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


def restaurants(data: Path, name: str) -> Columns:
    rows = pq.read_table(data / "absa/restaurants-2014-train.parquet").to_pylist()
    found = [(row["text"], row["categories"][0]) for row in rows if len(set(row["categories"])) == 1]
    return frequent(found, 20, len(found) // 3)


def products(data: Path, name: str) -> Columns:
    rows = pq.read_table(data / "oposum/dev.parquet").to_pylist()
    return frequent([(row["text"], row["aspect"]) for row in rows if len(set(row["aspects"])) == 1], 60, 1200)


def frequent(pairs: list[tuple[str, str]], least: int, test: int) -> Columns:
    """Texts and labels that at least so many have, `test` of them to judge by."""
    often = Counter(label for _, label in pairs)
    rows = [{"text": text, "label": label} for text, label in pairs if often[label] >= least]
    drawn = set(np.random.default_rng(0).permutation(len(rows))[:test].tolist())
    return parted([{**row, "n": k} for k, row in enumerate(rows)], drawn, "n", "label")


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


def correct(session: LabelSession, vectors: np.ndarray, labels: Sequence[str]) -> float:
    """The share of texts whose answer is the label they have."""
    numbers = {name: k for k, name in enumerate(session.classes)}
    truth = [numbers[session.called[label]] for label in labels]  # type: ignore[attr-defined]
    fitted = session._learner.fitted
    return 0.0 if fitted is None else float((fitted.logits(vectors).argmax(axis=1) == truth).mean())


def accuracy(session: LabelSession, task: Task) -> float:
    session._refit()
    return correct(session, task.test, task.truth)


def labelled(session: LabelSession, task: Task, how: str, count: int) -> Iterator[int]:
    """Label one text after the other; yields how many are."""
    called = session.called  # type: ignore[attr-defined]
    at_once = EVERY if how == "random" else AT_ONCE  # what is drawn does not depend on the labels before
    number = 0
    while number < count and (found := session.next(how, at_once)):
        for shown in found:
            session.label(shown.row, called[task.labels[shown.row]])
            number += 1
            yield number


def choosing(task: Task, seed: int, how: str, names: bool) -> dict[str, Any]:
    session = start(task, seed, names)
    curve = {0: accuracy(session, task)}
    for number in labelled(session, task, how, LABELS):
        if number % EVERY == 0:
            curve[number] = accuracy(session, task)
    return {"curve": curve}


def coverage(task: Task, seed: int) -> dict[str, Any]:
    """The estimate beside the accuracy on the test set."""
    session = start(task, seed, names=False)
    found = []
    for number in labelled(session, task, "auto", max(COVERED)):
        if number in COVERED:
            progress = session.progress()
            true = correct(session, task.test, task.truth)
            found.append([number, true, progress.low, progress.high])
    return {"found": found}


def groups(task: Task, seed: int, names: bool) -> dict[str, Any]:
    """A key gives the core of a group the label that most of its examples have."""
    session = start(task, seed, names)
    called = session.called  # type: ignore[attr-defined]
    curve, pressed, right, total = {0: accuracy(session, task)}, 0, 0, 0
    while pressed < KEYS:
        group = session.groups(GROUPS)[0]  # that with most texts left
        if not group.rows:
            break
        label = Counter(task.labels[row] for row in group.examples).most_common(1)[0][0]
        core = group.rows[: max(len(group.examples), int(CORE * len(group.rows)))]  # more alike than all
        session.accept(core, called[label], sample_checked=group.examples)
        right, total = right + sum(task.labels[row] == label for row in core), total + len(core)
        pressed += 1
        if pressed % EVERY == 0:
            curve[pressed] = accuracy(session, task)
    return {"curve": curve, "pure": right / max(total, 1), "rows": total}


# ---------------------------------------------------------------- marked words


def marks(data: Path, reader: KeptReader, seed: int) -> dict[str, Any]:
    """Accuracy with the labels alone, and with the marked words as further texts; texts drawn at random."""
    from reasons import movies

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
    for count in MARKED:
        own = order[600 : 600 + count]
        more = np.arange(count), marked[own], MARK_WEIGHT
        for name, given in (("alone", None), ("marked", more)):
            fitted = fit(X[own], Y[own], space, more=given)
            found[name][count] = float(is_correct(fitted.logits(X[test]), Y[test]).mean())
    return {"marks": found}


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
            known = {event["text"] for event in Journal(path).events}
            acknowledged = told.read_text().split()
            lost += sum(each not in known for each in acknowledged)
            written += len(acknowledged)
    return {"kills": count, "acknowledged": written, "lost": lost, "left half-written": torn}


def label_for_ever(path: Path, told: Path) -> None:
    session = LabelSession(["a", "b", "c"], reader=None, classes=["x"], journal=path)
    handle = os.open(told, os.O_WRONLY | os.O_APPEND)
    for number in range(10**9):
        name = f"{os.getpid()}-{number}"
        session.note(0, name)
        os.write(handle, f"{name}\n".encode())


# ---------------------------------------------------------------- all of them


Run = tuple[dict[str, Any], Callable[[], dict[str, Any]]]


def runs(what: str, args: argparse.Namespace, reader: KeptReader) -> Iterator[Run]:
    """What each run is, and how to do it."""
    if what == "marks":
        for seed in args.seeds:
            yield {"what": what, "task": "rationales", "seed": seed}, partial(marks, args.data, reader, seed)
        return
    for name in [name for name in args.tasks if what != "groups" or name == "banking77"]:
        task = load(args.data, name, reader)
        for seed in range(COVERED_SEEDS) if what == "coverage" else args.seeds:
            about = {"what": what, "task": name, "seed": seed}
            if what == "coverage":
                yield about, partial(coverage, task, seed)
                continue
            for names in (False, True) if name in NAMED else (False,):
                if what == "groups":
                    yield {**about, "names": names}, partial(groups, task, seed, names)
                    continue
                for how in ("random", "auto"):
                    more = {"names": names, "how": how}
                    yield {**about, **more}, partial(choosing, task, seed, how, names)


def kept(out: Path, reader: str) -> list[dict[str, Any]]:
    """The lines that this reader has; one that was being written when a run was killed is removed."""
    if not out.exists():
        return []
    written = out.read_bytes()
    os.truncate(out, written.rfind(b"\n") + 1)
    found = [json.loads(line) for line in written.splitlines(keepends=True) if line.endswith(b"\n")]
    return [each for each in found if each["reader"] == reader]


# ---------------------------------------------------------------- the tables of docs/results.md


def tables(found: list[dict[str, Any]]) -> Iterator[str]:
    curves: dict[tuple[str, bool, str], list[dict[str, float]]] = {}
    for each in found:
        if "curve" in each:
            curves.setdefault((each["task"], each["names"], each.get("how", "groups")), []).append(
                each["curve"]
            )
    mean = {key: mean_curve(several) for key, several in curves.items()}
    yield from labels_needed(mean)
    yield "\n| test accuracy after so many labels | " + " | ".join(map(str, SHOWN)) + " |"
    yield "|---" * (1 + len(SHOWN)) + "|"
    for (task, names, how), curve in mean.items():
        cells = [f"{100 * curve[n]:.1f}" if n in curve else "" for n in SHOWN]
        called = {"auto": "chosen"}.get(how, how) + ", with names" * names
        yield f"| {task}, {called}, {len(curves[task, names, how])} seeds | {' | '.join(cells)} |"
    for (task, names, how), several in curves.items():
        if how == "groups":
            keys = "; ".join(
                f"{n} keys {spread([c[n] for c in several])}" for n in several[0] if int(n) >= 75
            )
            yield f"\n{task}, whole groups{', with names' * names}: {keys}"
    yield from marked_words([each["marks"] for each in found if "marks" in each])
    yield from covered([each for line in found for each in line.get("found", ())])


def mean_curve(several: list[dict[str, float]]) -> dict[int, float]:
    return {int(n): float(np.mean([curve[n] for curve in several if n in curve])) for n in several[0]}


def labels_needed(mean: dict[tuple[str, bool, str], dict[int, float]]) -> Iterator[str]:
    """How many labels, or keys, reach what all random ones do that have no names of classes."""
    yield "| | accuracy of random labels | random, with names | chosen | chosen, with names | groups | groups, with names |"
    yield "|---" * 7 + "|"
    for task in dict.fromkeys(task for task, _, _ in mean):
        goal = mean.get((task, False, "random"))
        if goal:
            level = goal[max(goal)]
            keys = [(names, how) for how in ("random", "auto", "groups") for names in (False, True)][1:]
            curves = [mean.get((task, *key), {}) for key in keys]
            first = [next((n for n, x in sorted(each.items()) if x >= level), "-") for each in curves]
            yield f"| {task} | {100 * level:.1f}% of {max(goal)} | {' | '.join(map(str, first))} |"


def marked_words(several: list[dict[str, dict[str, float]]]) -> Iterator[str]:
    if several:
        yield "\n| labels | " + " | ".join(map(str, MARKED)) + " |\n" + "|---" * (1 + len(MARKED)) + "|"
        for key, name in (("alone", "labels alone"), ("marked", "with marked words")):
            cells = [spread([each[key][str(n)] for each in several]) for n in MARKED]
            yield f"| {name} | {' | '.join(cells)} |"


def covered(estimates: list[list[float]]) -> Iterator[str]:
    for number in COVERED:
        some = [(true, low, high) for n, true, low, high in estimates if n == number]
        if some:
            inside = np.mean([low <= true <= high for true, low, high in some])
            width = np.mean([high - low for _, low, high in some])
            yield f"\nafter {number} labels the interval holds the accuracy in {inside:.1%} of {len(some)},"
            yield f"and is {100 * width:.0f} points wide"


def spread(shares: Sequence[float]) -> str:
    return f"{100 * np.mean(shares):.1f} ± {100 * np.std(shares, ddof=1 if len(shares) > 1 else 0):.1f}"


MEASURED = ("choosing", "groups", "marks", "coverage")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("all", *MEASURED, "speed", "kills"))
    parser.add_argument("data", type=Path, nargs="?")
    parser.add_argument("--out", type=Path, default=Path("labelling.jsonl"))
    parser.add_argument("--cache", type=Path, default=Path("labelling-cache"))
    parser.add_argument("--tasks", nargs="+", default=list(TASKS), choices=TASKS)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    args = parser.parse_args()
    if args.what == "speed":
        print(json.dumps(speed(50_000, 77, 1000)))
        return
    if args.what == "kills":
        print(json.dumps(kills(100)))
        return
    reader = KeptReader(args.cache)
    found = kept(args.out, reader.sha256)
    for what in MEASURED if args.what == "all" else (args.what,):
        for about, work in runs(what, args, reader):
            if not any(about.items() <= each.items() for each in found):
                began = time.process_time()
                line = {"reader": reader.sha256, **about, **work()}
                found.append(
                    json.loads(json.dumps({**line, "seconds": round(time.process_time() - began, 1)}))
                )
                with args.out.open("a") as file:
                    file.write(json.dumps(found[-1]) + "\n")
    print("\n".join(tables(found)))


if __name__ == "__main__":
    main()
