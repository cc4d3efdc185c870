"""Requests that nobody should send, to a server that must answer or close, and go on.

PYTHONPATH=src:tests python tests/serve/fuzzing.py 10000 SEED
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import trained
from limelight.serve import Limits, create_app
from limelight.serve.api.routes import FIELDS as FIELDS_OF
from limelight.serve.http import run
from serve.live import in_thread, request, status_of, talk

PATHS = [*FIELDS_OF, "/info", "/metrics", "/", "/x", "/explorer/about", "/explorer/words"]
VALUES = [
    None, True, -1, 1e308, 10**40, "", "w1", "w1 " * 30, "\ud800", "\x00", "é\u202e😀", [], ["w1"], ["w1", 2],
    [[]], [["w1"]], [["w1", "w2"]], {}, {"source_sentence": "w1", "sentences": ["w2"]}, {"sentences": []},
    ["w1"] * 300,
]  # fmt: skip
FIELDS = [
    "inputs", "input", "model", "normalize", "truncate", "parameters", "encoding_format", "dimensions",
    "raw_scores", "without_rows", "joint", "text",
]  # fmt: skip
HEADERS = [
    "Transfer-Encoding: chunked",
    "Expect: 100-continue",
    "Upgrade: websocket",
    "X: \x80",
    "A" * 70_000,
]
ALLOWED = {0, 200, 400, 404, 405, 408, 413, 415, 422, 424, 429}  # 0: closed, which broken HTTP may be


def bad_request(rng: random.Random) -> bytes:
    """A request with something wrong in its fields, its bytes or its HTTP."""
    fields = rng.sample(FIELDS, rng.randrange(1, 4))
    body = json.dumps({name: rng.choice(VALUES) for name in fields}).encode()
    if rng.random() < 0.4:
        body = mutate(rng, body)
    method = rng.choice(("POST", "POST", "POST", "GET", "PUT", "HEAD", "B@D"))
    length = rng.choice((None, None, None, 0, len(body) // 2, len(body) + 9, 10**12))
    headers = rng.sample(HEADERS, rng.randrange(3)) if rng.random() < 0.3 else []
    sent = request(rng.choice(PATHS), body, *headers, method=method, length=length)
    return mutate(rng, sent) if rng.random() < 0.3 else sent


def mutate(rng: random.Random, data: bytes) -> bytes:
    """Change, drop, repeat or insert some bytes."""
    changed = bytearray(data)
    for _ in range(rng.randrange(1, 6)):
        at = rng.randrange(len(changed) + 1)
        end = at + rng.randrange(1, 9)
        changed[at:end] = rng.choice(
            (b"", rng.randbytes(3), changed[at:end] * 3, b"\r\n", b"\xff\xfe", b"[" * 50)
        )
    return bytes(changed)


def attack(port: int, count: int, seed: int) -> Counter[int]:
    """Send so many, eight at a time; the statuses that came back."""
    rng = random.Random(seed)
    requests = [bad_request(rng) for _ in range(count)]
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(partial(talk, port), requests))
    for number, (sent, answer) in enumerate(zip(requests, answers, strict=True)):
        assert status_of(answer) in ALLOWED, (seed, number, sent[:300], answer[:300])
        assert b"Traceback" not in answer, (seed, number, answer[:300])
    assert status_of(talk(port, request("/predict", {"inputs": "w1"}))) == 200
    return Counter(map(status_of, answers))


def main() -> None:
    count, seed = map(int, sys.argv[1:3])
    run.HEAD_SECONDS = 0.05
    with tempfile.TemporaryDirectory() as folder:
        model = trained.save(Path(folder, "model"))
        with in_thread(create_app({"model": model}, limits=Limits(seconds=0.05))) as port:
            print(dict(sorted(attack(port, count, seed).items())))


if __name__ == "__main__":
    main()
