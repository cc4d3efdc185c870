"""Every command reads each of its tables once: from files that cannot go back, or from a pipe."""

from __future__ import annotations

import json
import os
import threading
from collections import Counter
from pathlib import Path

import pytest

from reading_once import count_passes
from reviews import FLAGS, reviews, write_csv
from shared_reader import share_reader


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    share_reader(monkeypatch)
    return count_passes(monkeypatch)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Tables of reviews, of which one has a column that only looks like that of the labels."""
    texts, stars = reviews(80)
    rooms = ["The room was good." if star == 5 else "Bad room, and the bed was cold." for star in stars]
    columns = {"text": [f"{a} {b}" for a, b in zip(texts, rooms, strict=True)], "stars": stars}
    write_csv(tmp_path / "a.csv", **columns)
    write_csv(tmp_path / "b.csv", **columns, room_stars=stars)
    write_csv(tmp_path / "c.csv", text=columns["text"], label=[f"note {k}" for k in range(80)])
    lines = [json.dumps({"text": text, "id": k}) for k, text in enumerate(texts)]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    (tmp_path / "rooms.json").write_text('{"rooms": ["room", "bed"]}')
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "argv",
    [
        "predict MODEL a.csv --out o.csv",
        "predict MODEL a.csv --out o.jsonl --skip-bad",
        "predict MODEL a.jsonl --out o.parquet",
        "predict MODEL a.jsonl --out o.csv --skip-bad",
        "embed MODEL a.csv --out o.npy",
        "embed MODEL a.jsonl --out o.jsonl",
        "evaluate MODEL a.csv",
        "check a.csv --text text --label stars",
        "encode a.csv --dev b.csv --out o",
        "train a.csv --dev b.csv --test c.csv",
        "train a.csv b.csv --label stars",
        "train b.csv --label stars --aspects rooms.json",
        "train a.csv --start MODEL --label stars",
        "explain MODEL --data a.csv --rows 3,7-9 --out o.html",
        "explore MODEL a.csv --save o.html",
        "explore MODEL c.csv --save o.html",
        "report MODEL a.csv --label stars --out o.html",
        "report ROOMS c.csv --out o.html",
    ],
)
def test_a_command_reads_its_tables_once(argv, place, passes, model, call):
    command, *rest = argv.replace("MODEL", str(model)).split()
    if "ROOMS" in rest:
        aspects = ("--aspects", "rooms.json", "--out", "ROOMS")
        assert call("train", "a.csv", *FLAGS, *aspects)[0] == 0
    if "c.csv" in rest and command == "train":
        write_csv(place / "c.csv", text=["Good room.", "Cold soup."], stars=[5, 1])
    fast = [*FLAGS, "--out", "o"] if command == "train" else []
    passes.clear()
    code, _, err = call(command, *rest, *fast)
    assert code == 0, err
    tables = {name for name in rest if name.endswith((".csv", ".jsonl")) and not name.startswith("o.")}
    assert {name: count for name, count in passes.items() if name in tables} == dict.fromkeys(tables, 1)


@pytest.mark.parametrize("argv", ["predict MODEL - --format jsonl", "embed MODEL - --out o.npy"])
def test_standard_input_may_be_a_pipe(argv, place, model, call, monkeypatch):
    read, write = os.pipe()

    def fill() -> None:
        with open(write, "wb") as file:
            file.writelines(b"The soup was cold.\n" for _ in range(5000))

    writer = threading.Thread(target=fill)
    writer.start()
    with open(read) as piped:
        monkeypatch.setattr("sys.stdin", piped)
        code, out, err = call(*argv.replace("MODEL", str(model)).split())
    writer.join()
    assert code == 0, err
    assert (out.count("\n") == 5000) or "5000 x" in out
