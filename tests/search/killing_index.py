"""An index that is killed again and again while it is made, added to, updated, deleted from and replaced:

    PYTHONPATH=src:tests python tests/search/killing_index.py FOLDER [KILLS] [MODEL]

Prints how often each was killed, and the files that differ from those of an index left alone.
"""

from __future__ import annotations

import json
import random
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import trained
from limelight.search import index_folder
from limelight.search.index import Index
from reviews import write_csv
from training.killing import dies_while_writing, ended, forked

SHARD = 8  # texts
LIFE = 40  # points of what a process does with files, at most, before it is killed


def write_tables(folder: Path, rows: int) -> list[Path]:
    """A first table, one with other keys, and one with half of the keys of each."""
    choose = random.Random(1)
    found = []
    for name, start in (("first", 0), ("second", rows), ("third", rows // 2)):
        texts = [" ".join(choose.choices(trained.WORDS, k=choose.randint(1, 9))) for _ in range(rows)]
        found.append(write_csv(folder / f"{name}.csv", text=texts, number=list(range(start, start + rows))))
    return found


def create(place: Path, table: Path, model: str) -> None:
    if (place / index_folder.FILE).exists():
        Index.open(place).add(table)
    else:
        Index.create(place, table, model=model, key="number")


def add(place: Path, table: Path, model: str) -> None:
    Index.open(place).add(table)


def overwrite(place: Path, table: Path, model: str) -> None:
    Index.create(place, table, model=model, key="number", overwrite=True)


def update(place: Path, table: Path, model: str) -> None:
    Index.open(place).update(table)  # drops what it has replaced, too


def delete(place: Path, table: Path, model: str) -> None:
    Index.open(place).delete(range(0, 40, 3))


def compact(place: Path, table: Path, model: str) -> None:
    Index.open(place).compact()


def kill_until_done(work: Callable[[], None], kills: int, choose: random.Random, life: int = LIFE) -> int:
    """Start and kill the work until it has been killed so often, then let it end."""
    index_folder.SHARD_TEXTS = SHARD
    killed = 0
    while True:

        def live(point: int = choose.randint(1, life), last: bool = killed >= kills) -> None:
            if not last:
                dies_while_writing(point)
            work()

        status = ended(forked(live))
        if status == 0:
            return killed
        if status != -signal.SIGKILL:
            raise SystemExit(f"the work ended with {status} after {killed} kills")
        killed += 1


def contents(place: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in place.iterdir()}


def main() -> None:
    folder, most = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 6
    choose = random.Random(0)
    model = sys.argv[3] if len(sys.argv) > 3 else str(trained.save(folder / "model"))
    first, second, third = write_tables(folder, max(6 * SHARD, most * SHARD))
    alone, killed = folder / "alone", folder / "killed"
    found = {}
    for name, work, table, life in (
        ("create", create, first, LIFE),
        ("add", add, second, LIFE),
        ("update", update, third, LIFE),
        ("delete", delete, third, 8),
        ("compact", compact, third, 20),
        ("overwrite", overwrite, second, LIFE),
    ):
        assert kill_until_done(lambda w=work, t=table: w(alone, t, model), 0, choose) == 0
        kills = kill_until_done(lambda w=work, t=table: w(killed, t, model), most, choose, life)
        expected, given = contents(alone), contents(killed)
        different = sorted(k for k in expected | given if expected.get(k) != given.get(k))
        found[name] = {"kills": kills, "files": len(expected), "different": different}
    left = sorted(path.name for path in folder.iterdir())
    print(json.dumps({**found, "left": left}))


if __name__ == "__main__":
    main()
