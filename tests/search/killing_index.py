"""An index that is killed again and again while it is made, added to and replaced:

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


def write_tables(folder: Path, rows: int) -> tuple[Path, Path]:
    choose = random.Random(1)
    texts = [" ".join(choose.choices(trained.WORDS, k=choose.randint(1, 9))) for _ in range(2 * rows)]
    first = write_csv(folder / "first.csv", text=texts[:rows], number=list(range(rows)))
    return first, write_csv(folder / "second.csv", text=texts[rows:], number=list(range(rows)))


def create(place: Path, table: Path, model: str) -> None:
    if (place / index_folder.FILE).exists():
        Index.open(place).add(table)
    else:
        Index.create(place, table, model=model)


def add(place: Path, table: Path, model: str) -> None:
    Index.open(place).add(table)


def overwrite(place: Path, table: Path, model: str) -> None:
    Index.create(place, table, model=model, overwrite=True)


def kill_until_done(work: Callable[[], None], kills: int, choose: random.Random) -> int:
    """Start and kill the work until it has been killed so often, then let it end."""
    index_folder.SHARD_TEXTS = SHARD
    killed = 0
    while True:

        def live(point: int = choose.randint(1, LIFE), last: bool = killed >= kills) -> None:
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
    first, second = write_tables(folder, max(6 * SHARD, most * SHARD))
    alone, killed = folder / "alone", folder / "killed"
    found = {}
    for name, work, table in (
        ("create", create, first),
        ("add", add, second),
        ("overwrite", overwrite, second),
    ):
        assert kill_until_done(lambda w=work, t=table: w(alone, t, model), 0, choose) == 0
        kills = kill_until_done(lambda w=work, t=table: w(killed, t, model), most, choose)
        expected, given = contents(alone), contents(killed)
        different = sorted(k for k in expected | given if expected.get(k) != given.get(k))
        found[name] = {"kills": kills, "files": len(expected), "different": different}
    left = sorted(path.name for path in folder.iterdir())
    print(json.dumps({**found, "left": left}))


if __name__ == "__main__":
    main()
