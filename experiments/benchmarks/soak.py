"""A day of a server in half an hour: everything at once, every answer checked, memory watched.

    python experiments/benchmarks/soak.py                 # 30 minutes; `make soak`
    python experiments/benchmarks/soak.py --minutes 2     # a first look

Two workers serve the bundled reader and a classifier. At the same time

- clients predict, embed and explain; each answer must equal, to the last bit, that of one of the two models
  that take turns in the classifier's folder;
- the folder is replaced every few seconds, and a worker is killed now and then;
- clients leave before their answer, send their headers a byte at a time, or never read;
- one process adds to an index while another searches it: a text that was added is found with a cosine of 1, and
  from the server, whichever worker answers, by a word that no other text has;
- two people label at one page, which is killed and opened again: no label that it confirmed is lost;
- a bulk job over a folder of tables starts again and again; some are killed, and the next goes on: each row
  must be there once, with the model's own answer.

The last table has the figures for docs/results.md; the exit code is 1 if anything was wrong.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from serving import memory_of, save_model
from soak_labelling import label

import limelight
from limelight import bundled
from limelight.search.index import Index

PATIENCE = 60.0  # seconds for an answer
EXPECTED = {200, 429, 503}  # statuses of a request that is as it should be


class Soak:
    """What all threads share: the server, the answers they must give, what happened, and when to end."""

    def __init__(self, folder: Path, seconds: float, seed: int) -> None:
        self.folder, self.seed, self.random = folder, seed, random.Random(seed)
        self.count: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.memory: list[float] = []
        self.delays: list[float] = []
        self.texts = bundled.sentences("test")[0][:400]
        self._make_models()
        self.index = self.folder / "texts.index"
        Index.create(self.index, self.texts)
        self._start()
        self.end = time.monotonic() + seconds

    def _make_models(self) -> None:
        """Two classifiers with different weights, and what they and the reader answer."""
        self.models = [self.folder / name for name in ("first", "second")]
        for seed, path in enumerate(self.models):
            save_model("small", self.texts, path, seed=seed)
        self.live = self.folder / "live"
        shutil.copytree(self.models[0], self.live)
        loaded = [limelight.load(path) for path in self.models]
        self.proba = [model.predict_proba(self.texts) for model in loaded]
        self.labels = [str(label) for label in loaded[0].labels]
        self.vectors = limelight.load("reader").encode(self.texts)
        self.decided = [[reading.decided for reading in model.read_many(self.texts[:40])] for model in loaded]

    def _start(self) -> None:
        self.log = self.folder / "server.log"
        argv = [
            sys.executable,
            "-m",
            "limelight",
            "serve",
            f"live={self.live}",
            "reader",
            "--index",
            str(self.index),
            "--port",
            "0",
            "--workers",
            "2",
        ]
        with self.log.open("w") as log:
            self.server = subprocess.Popen(argv, stderr=log, stdout=log)
        while "ready:" not in self.log.read_text():
            if self.server.poll() is not None:
                raise SystemExit(self.log.read_text())
            time.sleep(0.1)
        self.port = int(re.search(r"http://\S+?:(\d+)", self.log.read_text())[1])

    @property
    def goes_on(self) -> bool:
        return time.monotonic() < self.end

    def rest(self, seconds: float) -> None:
        time.sleep(max(0.0, min(seconds, self.end - time.monotonic())))

    def check(self, right: bool, what: str) -> None:
        if not right:
            self.wrong.append(what)

    def ask(self, path: str, body: object) -> Any:
        """The answer, or None where the server was too busy or its worker was killed."""
        connection, begin = (
            http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE),
            time.monotonic(),
        )
        try:
            connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            content = answer.read()
        except (OSError, http.client.HTTPException):
            self.count["requests cut by a kill"] += 1
            return None
        finally:
            connection.close()
        self.delays.append(time.monotonic() - begin)
        self.count[f"answers with status {answer.status}"] += 1
        self.check(answer.status in EXPECTED, f"{path} answered {answer.status}: {content[:200]!r}")
        return json.loads(content) if answer.status == 200 else None


# ---------------------------------------------------------------- clients


def predict(soak: Soak, rng: random.Random) -> None:
    """Some texts to the classifier: all of its answer is from one of the two models."""
    places = rng.sample(range(len(soak.texts)), rng.choice([1, 1, 3, 20]))
    found = soak.ask("/predict", {"inputs": [[soak.texts[k]] for k in places]})
    if found is None:
        return
    given = [
        [{each["label"]: each["score"] for each in answer}[label] for label in soak.labels]
        for answer in found
    ]
    right = any(all(given[i] == [float(x) for x in P[k]] for i, k in enumerate(places)) for P in soak.proba)
    soak.check(right, f"/predict of {places} is of neither model: {given[0]}")
    soak.count["predictions checked"] += len(places)


def embed(soak: Soak, rng: random.Random) -> None:
    """Vectors of the reader."""
    places = rng.sample(range(len(soak.texts)), rng.choice([1, 2, 16]))
    found = soak.ask("/embed", {"inputs": [soak.texts[k] for k in places], "model": "reader"})
    if found is None:
        return
    right = all(given == [float(x) for x in soak.vectors[k]] for given, k in zip(found, places, strict=True))
    soak.check(right, f"/embed of {places} is not the reader's")
    soak.count["vectors checked"] += len(places)


def explain(soak: Soak, rng: random.Random) -> None:
    """The words that decided."""
    k = rng.randrange(40)
    found = soak.ask("/explain", {"inputs": soak.texts[k]})
    if found is None:
        return
    given = found[0] if isinstance(found, list) else found
    right = any(
        len(given["decided"]) == len(each[k])
        and max(abs(a - b) for a, b in zip(given["decided"], each[k], strict=True)) < 1e-5
        for each in soak.decided
    )
    soak.check(right, f"/explain of {k} is of neither model")
    soak.count["explanations checked"] += 1


def client(soak: Soak, seed: int) -> None:
    """One client after another request."""
    rng = random.Random(seed)
    while soak.goes_on:
        rng.choices([predict, embed, explain], [5, 3, 1])[0](soak, rng)
        soak.rest(rng.expovariate(20))


def bad_clients(soak: Soak, seed: int) -> None:
    """Those who leave, those who are slow, those who never read, those who send rubbish."""
    rng = random.Random(seed)
    body = json.dumps({"inputs": ["the soup was cold and so were we " * 8] * 200}).encode()
    head = b"POST /predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    held: list[socket.socket] = []
    while soak.goes_on:
        with suppress(OSError):
            connection = socket.create_connection(("127.0.0.1", soak.port), PATIENCE)
            kind = rng.choice(["leaves", "slow", "does not read", "rubbish"])
            if kind == "leaves":
                connection.sendall(head % len(body) + body)
                connection.close()
            elif kind == "slow":
                for byte in head[:20]:
                    connection.sendall(bytes([byte]))
                    soak.rest(0.05)
            elif kind == "does not read":
                connection.sendall((head % len(body) + body) * 3)
            else:
                connection.sendall(rng.randbytes(200))
            held.append(connection)
            soak.count[f"clients: {kind}"] += 1
        while len(held) > 50:
            held.pop(0).close()
        soak.rest(rng.expovariate(0.7))


# ---------------------------------------------------------------- what happens to the server


def replace_model(soak: Soak) -> None:
    """Another model takes the folder's place, as `limelight train --overwrite` would put it there."""
    turn = 0
    models = [limelight.load(path) for path in soak.models]
    while soak.goes_on:
        soak.rest(7)
        turn = 1 - turn
        models[turn].save(soak.live, overwrite=True)
        soak.count["models replaced"] += 1


def kill_workers(soak: Soak) -> None:
    """A worker is killed; the server starts another."""
    while soak.goes_on:
        soak.rest(30)
        workers = subprocess.run(
            ["pgrep", "-P", str(soak.server.pid)], capture_output=True, text=True
        ).stdout.split()
        if soak.goes_on and len(workers) > 1:
            with suppress(ProcessLookupError):
                os.kill(int(soak.random.choice(workers)), signal.SIGKILL)
                soak.count["workers killed"] += 1


def watch_memory(soak: Soak) -> None:
    """Of the server and its workers."""
    while soak.goes_on:
        with suppress(OSError, ValueError):
            soak.memory.append(memory_of(soak.server.pid))
        soak.rest(2)


# ---------------------------------------------------------------- beside it


def index(soak: Soak) -> None:
    """Add a few texts, then find them, opened anew and by the server; begin again before it grows large."""
    number = 0
    while soak.goes_on:
        new = [f"{soak.texts[(number + k) % 400]} number{number + k}" for k in range(5)]
        if number % 500 == 0:
            Index.create(soak.index, new, overwrite=True)
        else:
            Index(soak.index).add(new)
        hits = Index(soak.index).search(new, k=1)
        for text, found in zip(new, hits, strict=True):
            right = found[0].text == text and abs(found[0].cosine - 1) < 0.02
            soak.check(right, f"index: {text!r} finds {found[0].text!r} with a cosine of {found[0].cosine}")
        for k, text in enumerate(new):
            find_word(soak, f"number{number + k}", text)
        soak.count["index: texts added and found"] += len(new)
        number += len(new)
        soak.rest(1)


def find_word(soak: Soak, word: str, text: str) -> None:
    """The server finds this text, and no other, by a word."""
    found = soak.ask("/search", {"query": word, "by": "words", "k": 10, "words": False})
    if found is not None:
        given = [hit["text"] for hit in found]
        soak.check(given == [text], f"/search for {word} finds {given}, not {text!r}")
        soak.count["searches by words checked"] += 1


def bulk(soak: Soak) -> None:
    """Tables to answers, by a command that is killed now and then; every row once."""
    source, out = soak.folder / "tables", soak.folder / "answers"
    source.mkdir()
    for k in range(4):
        rows = "".join(
            json.dumps({"text": text, "id": 400 * k + n}) + "\n" for n, text in enumerate(soak.texts)
        )
        (source / f"{k}.jsonl").write_text(rows)
    labels = limelight.load(soak.models[0]).predict(soak.texts)
    argv = [
        sys.executable,
        "-m",
        "limelight",
        "predict",
        soak.models[0],
        source,
        "--out",
        out,
        "--engine",
        "local",
        "--text",
        "text",
    ]
    while soak.goes_on:
        shutil.rmtree(out, ignore_errors=True)
        with subprocess.Popen(
            [*map(str, argv)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as killed:
            with suppress(subprocess.TimeoutExpired):
                killed.wait(soak.random.uniform(1, 12))
            killed.kill()
        done = subprocess.run([*map(str, argv)], capture_output=True, text=True)
        soak.check(done.returncode == 0, f"bulk: {done.stderr[-300:]}")
        if done.returncode == 0:
            rows = pq.read_table(out).to_pylist()
            right = sorted(row["id"] for row in rows) == list(range(1600))
            right = right and all(str(row["label"]) == str(labels[row["id"] % 400]) for row in rows)
            soak.check(right, f"bulk: {len(rows)} rows, not the model's")
            soak.count["bulk: rows checked after a kill"] += len(rows)
        soak.rest(5)


# ---------------------------------------------------------------- all of it


def guarded(soak: Soak, work: Callable[..., None], *args: Any) -> threading.Thread:
    """A thread whose failure is one of the soak's."""

    def run() -> None:
        try:
            work(soak, *args)
        except Exception as error:
            soak.wrong.append(f"{work.__name__}: {type(error).__name__}: {error}")

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def report(soak: Soak, minutes: float) -> int:
    """Print the figures; 1 if anything was wrong."""
    soak.server.send_signal(signal.SIGTERM)
    code = soak.server.wait(PATIENCE)
    said = soak.log.read_text().splitlines()
    quarter = max(1, len(soak.memory) // 4)
    early, late = (
        statistics.median(soak.memory[quarter : 2 * quarter] or [0]),
        statistics.median(soak.memory[-quarter:]),
    )
    soak.check(code == 0, f"the server ended with {code}")
    soak.check(not any("Traceback" in line for line in said), "the log has a traceback")
    soak.check(late < 1.1 * early, f"memory grew from {early:.0f} to {late:.0f} MiB")
    delays = sorted(soak.delays) or [0.0]
    print(f"| {minutes:g} minutes, seed {soak.seed} | |\n|---|---|")
    for name, count in sorted(soak.count.items()):
        print(f"| {name} | {count:,} |")
    print(f"| wrong | {len(soak.wrong)} |")
    print(
        f"| seconds to an answer, median and 99% | {delays[len(delays) // 2]:.3f}, {delays[int(len(delays) * 0.99)]:.2f} |"
    )
    print(f"| MiB of the server, second quarter and last | {early:.0f}, {late:.0f} |")
    print(f"| lines of its log, the longest | {len(said):,}, {max(map(len, said), default=0)} characters |")
    for line in soak.wrong[:20]:
        print(f"WRONG: {line}", file=sys.stderr)
    return int(bool(soak.wrong))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        soak = Soak(Path(folder), args.minutes * 60, args.seed)
        threads = [guarded(soak, client, seed) for seed in range(3)]
        threads += [guarded(soak, bad_clients, 10 + seed) for seed in range(2)]
        threads += [
            guarded(soak, each) for each in (replace_model, kill_workers, watch_memory, index, label, bulk)
        ]
        while soak.goes_on:
            soak.rest(30)
            print(
                f"{max(0, soak.end - time.monotonic()) / 60:.1f} minutes left, {len(soak.wrong)} wrong",
                file=sys.stderr,
            )
        for thread in threads:
            thread.join(2 * PATIENCE)
        return report(soak, args.minutes)


if __name__ == "__main__":
    sys.exit(main())
