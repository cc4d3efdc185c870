"""Answers of a server per second and their delay: requests joined, one by one, and beside plain predict.

    python experiments/benchmarks/serving.py                         # 1, 16 and 256 clients, a few seconds each
    python experiments/benchmarks/serving.py --models yelp light   # other sizes; the weights are random
    python experiments/benchmarks/serving.py --load 60               # 256 clients for a minute: errors, memory, p99
    python experiments/benchmarks/serving.py --mixed                 # short texts alone, and beside long ones
    python experiments/benchmarks/serving.py --embed 7997 PID        # vectors, beside another server's

Every client sends one bundled sentence at a time and waits for its answer, over one connection. The clients
share the machine with the server and cost it processor time; plain predict, which reads the same sentences in
one call, has it alone. The three take turns in every round; the figures are medians over the rounds. The last
columns are milliseconds of processor time for a text, the server's without the clients', which other work on
the machine changes least.

--mixed has two servers, of one process and of two (--workers 2). 16 clients send short texts, first alone, then
beside 4 clients that send texts of 400 words. --embed asks for vectors in the way of OpenAI (/v1/embeddings): of
both bundled readers and of a server that already runs here, at that port and with that process number.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import numpy as np

from limelight import bundled
from limelight.config.presets import preset
from limelight.config.recipe import TextRecipe
from limelight.network.parts import shapes
from limelight.runtime.model import Model
from limelight.runtime.start import start_of
from limelight.text.encode import encode_texts

HEAD = "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
LONG_WORDS, SHORT_CLIENTS, LONG_CLIENTS = 400, 16, 4
COLUMNS = (
    "model", "clients", "joined, per s", "p50, ms", "p99", "one by one, per s", "p50", "p99",
    "predict, per s",
    "joined / one by one", "joined / predict",
    "processor ms: joined", "one by one", "predict",
)  # fmt: skip
SERVERS = {"joined": (), "one by one": ("--batch-words", "0")}


def save_model(name: str, texts: list[str], folder: Path, seed: int = 0) -> None:
    """A model of this preset's sizes with random weights, those of the reader where it starts from them."""
    recipe, start = start_of(preset(name))
    words = start.tokenizer if start else encode_texts(texts, recipe=TextRecipe(), holdout=0).tokenizer
    rng = np.random.default_rng(seed)
    weights = {
        each: rng.standard_normal(shape, np.float32) * np.float32(0.05)
        for each, shape in shapes(recipe.model, len(words), 5, False).items()
    }
    Model.from_parts(weights=weights, recipe=recipe, tokenizer=words, labels=list("12345")).save(folder)


@contextmanager
def serving(folder: Path, *flags: str) -> Iterator[tuple[int, int]]:
    """A server in a process of its own: its port and process."""
    argv = [sys.executable, "-m", "limelight", "serve", str(folder), "--port", "0", *flags]
    with tempfile.TemporaryFile("w+") as log, subprocess.Popen(argv, stderr=log) as server:
        try:
            for _ in range(600):
                time.sleep(0.1)
                log.seek(0)
                said = log.read()
                if "ready:" in said:
                    break
            yield int(re.search(r"http://\S+?:(\d+)", said)[1]), server.pid
        finally:
            server.send_signal(signal.SIGINT)


class Client:
    """Many connections that send requests until the time is over."""

    def __init__(self, port: int, texts: list[str], path: str = "/predict", **more: str) -> None:
        field = "input" if path.startswith("/v1/") else "inputs"
        bodies = [json.dumps({field: text, **more}).encode() for text in texts]
        self.port, self.requests = port, [(HEAD % (path, len(body))).encode() + body for body in bodies]
        self.seconds: list[float] = []
        self.errors, self.next = 0, count()

    async def _connect(self, end: float) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        begin = 0.0
        while not begin or time.perf_counter() < end:
            begin = time.perf_counter()
            writer.write(self.requests[next(self.next) % len(self.requests)])
            head = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(int(re.search(rb"content-length: (\d+)", head)[1]))
            self.seconds.append(time.perf_counter() - begin)
            self.errors += b" 200 " not in head[:16]
        writer.close()

    async def send(self, clients: int, seconds: float) -> None:
        self.seconds, end = [], time.perf_counter() + seconds
        await asyncio.gather(*(self._connect(end) for _ in range(clients)))

    def run(self, clients: int, seconds: float) -> tuple[float, float, float]:
        """Requests per second, p50 and p99 in milliseconds."""
        begin = time.perf_counter()
        asyncio.run(self.send(clients, seconds))
        return len(self.seconds) / (time.perf_counter() - begin), *self.percentiles()

    def percentiles(self) -> tuple[float, float]:
        p50, p99 = np.percentile(self.seconds, (50, 99))
        return 1000 * p50, 1000 * p99


def predict_rate(model: Model, texts: list[str], seconds: float) -> tuple[float, float]:
    """Texts per second of plain predict, and processor time of a text."""
    begin, work, done = time.perf_counter(), time.process_time(), 0
    while time.perf_counter() - begin < seconds:
        model.predict(texts)
        done += len(texts)
    return done / (time.perf_counter() - begin), (time.process_time() - work) / done


def compare(folder: Path, texts: list[str], clients: list[int], seconds: float, rounds: int) -> None:
    """A row for each number of clients."""
    model = Model.load(folder)
    model.predict(texts[:64])
    with serving(folder) as joined, serving(folder, *SERVERS["one by one"]) as single:
        servers = dict(zip(SERVERS, (joined, single), strict=True))
        for number in clients:
            found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in servers}
            plain, work = [], {name: [] for name in (*servers, "predict")}
            for _ in range(rounds):
                for name, (port, process) in servers.items():
                    client, begin = Client(port, texts), processor_time(process)
                    found[name].append(client.run(number, seconds))
                    work[name].append((processor_time(process) - begin) / len(client.seconds))
                    assert not client.errors, client.errors
                rate, cost = predict_rate(model, texts, seconds)
                plain.append(rate)
                work["predict"].append(cost)
            print_row(folder.name, number, found, plain, work)


def print_row(model: str, clients: int, found: dict, plain: list[float], work: dict) -> None:
    cells = []
    for results in found.values():
        rate, p50, p99 = (statistics.median(column) for column in zip(*results, strict=True))
        cells += [f"{rate:,.0f}", f"{p50:.1f}", f"{p99:.1f}"]
    rates = {name: [rate for rate, *_ in results] for name, results in found.items()}
    ratio = [a / b for a, b in zip(rates["joined"], rates["one by one"], strict=True)]
    share = [a / b for a, b in zip(rates["joined"], plain, strict=True)]
    last = [
        f"{statistics.median(plain):,.0f}",
        f"{statistics.median(ratio):.2f}",
        f"{statistics.median(share):.2f}",
    ]
    costs = [f"{1000 * statistics.median(each):.2f}" for each in work.values()]
    print("| " + " | ".join([model, str(clients), *cells, *last, *costs]) + " |", flush=True)


def mixed(folder: Path, texts: list[str], seconds: float, rounds: int) -> None:
    """Short texts alone and beside long ones: answers a second of each, p50 and p99."""
    words = " ".join(texts).split()
    long = [" ".join(words[k : k + LONG_WORDS]) for k in range(0, len(words) - LONG_WORDS, LONG_WORDS)]
    print(
        "| workers | | short, per s | p50, ms | p99 | long, per s | p50 | p99 |\n|---|---|---|---|---|---|---|---|"
    )
    for workers in ("1", "2"):
        with serving(folder, "--workers", workers) as (port, _):
            Client(port, texts).run(SHORT_CLIENTS, 1.0)
            for name, count in (("alone", 0), ("beside long ones", LONG_CLIENTS)):
                found = [side_by_side(port, texts, long, count, seconds) for _ in range(rounds)]
                cells = [f"{statistics.median(column):,.1f}" for column in zip(*found, strict=True)]
                print(f"| {workers} | {name} | " + " | ".join(cells) + " |", flush=True)


def side_by_side(port: int, texts: list[str], long: list[str], count: int, seconds: float) -> list[float]:
    clients = {Client(port, texts): SHORT_CLIENTS, Client(port, long): count}

    async def send() -> None:
        await asyncio.gather(*(each.send(number, seconds) for each, number in clients.items() if number))

    asyncio.run(send())
    assert not any(each.errors for each in clients)
    return [
        figure
        for each in clients
        if each.seconds
        for figure in (len(each.seconds) / seconds, *each.percentiles())
    ]


def embeddings(texts: list[str], clients: list[int], seconds: float, rounds: int, other: list[int]) -> None:
    """Vectors of both readers and of a server that runs already, in turns."""
    print("| server | clients | per s | p50, ms | p99 | processor ms |\n|---|---|---|---|---|---|")
    with serving(Path("reader")) as reader, serving(Path("reader-fast")) as fast:
        servers = {"reader": reader, "reader-fast": fast, **({"other": tuple(other)} if other else {})}
        for number in clients:
            found: dict[str, list[tuple[float, ...]]] = {name: [] for name in servers}
            for _ in range(rounds):
                for name, (port, process) in servers.items():
                    client, begin = Client(port, texts, "/v1/embeddings", model=name), processor_time(process)
                    rates = client.run(number, seconds)
                    assert not client.errors, (name, client.errors)
                    cost = 1000 * (processor_time(process) - begin) / len(client.seconds)
                    found[name].append((*rates, cost))
            for name, figures in found.items():
                rate, *rest = (statistics.median(column) for column in zip(*figures, strict=True))
                print(f"| {name} | {number} | {rate:,.0f} | " + " | ".join(f"{x:.2f}" for x in rest) + " |")


def load_test(folder: Path, texts: list[str], seconds: float, flags: list[str]) -> None:
    """Many clients for long: the requests, errors and times, and the memory of the server's processes."""
    with serving(folder, *flags) as (port, process):
        client, memory = Client(port, texts), [memory_of(process)]
        every = seconds / 6
        results, total = [], 0
        for _ in range(6):
            results.append(client.run(256, every))
            total += len(client.seconds)
            memory.append(memory_of(process))
    rates, p50, p99 = zip(*results, strict=True)
    print(f"{folder.name}: 256 clients, {seconds:g} s, {' '.join(flags)}")
    print(f"  {total:,} requests, {client.errors} errors")
    print(
        f"  per second: {min(rates):,.0f} to {max(rates):,.0f}; p50 {max(p50):.0f} ms, p99 {max(p99):.0f} ms"
    )
    print(f"  MiB, at the start and after each sixth: {' '.join(f'{each:.0f}' for each in memory)}")


def processor_time(process: int) -> float:
    """Seconds of processor time that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_of(process: int) -> float:
    """MiB of a process and its children."""
    family = [process, *map(int, Path(f"/proc/{process}/task/{process}/children").read_text().split())]
    pages = sum(int(Path(f"/proc/{each}/statm").read_text().split()[1]) for each in family)
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", nargs="+", default=["small"], help="presets")
    parser.add_argument("--clients", nargs="+", type=int, default=[1, 16, 256])
    parser.add_argument("--seconds", type=float, default=5.0, help="of one measurement")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--count", type=int, default=1024, help="sentences")
    parser.add_argument("--load", type=float, metavar="SECONDS", help="run the load test instead")
    parser.add_argument("--mixed", action="store_true", help="short texts beside long ones instead")
    parser.add_argument(
        "--embed",
        nargs="*",
        type=int,
        metavar="N",
        help="vectors instead; port and process of another server",
    )
    parser.add_argument("--flags", nargs=argparse.REMAINDER, default=[], help="of limelight serve, last")
    args = parser.parse_args()
    texts, _ = bundled.sentences("dev")
    if args.embed is not None:
        embeddings(texts[: args.count], args.clients, args.seconds, args.rounds, args.embed)
        return
    if not args.load and not args.mixed:
        print("| " + " | ".join(COLUMNS) + " |\n" + "|---" * len(COLUMNS) + "|")
    with tempfile.TemporaryDirectory() as temporary:
        for name in args.models:
            folder = Path(temporary, name)
            save_model(name, texts, folder)
            if args.mixed:
                mixed(folder, texts[: args.count], args.seconds, args.rounds)
            elif args.load:
                load_test(folder, texts[: args.count], args.load, args.flags)
            else:
                compare(folder, texts[: args.count], args.clients, args.seconds, args.rounds)


if __name__ == "__main__":
    main()
