"""A job on a Ray cluster of three nodes whose workers, nodes and driver are killed at random:

    PYTHONPATH=src:tests python tests/bulk/killing_bulk.py FOLDER [WORKERS] [OTHERS] [MODEL]

kills WORKERS workers, and OTHERS times a node or the driver, which then starts again. Prints how often each
was killed, the rows, and the files that differ from those of a job left alone.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from limelight.bulk import Predictor, job, pieces, run, work

WORDS = [f"w{k}" for k in range(40)]
PIECES, PIECE_ROWS = 60, 200
NODE = {"num_cpus": 1, "object_store_memory": 80 * 2**20}


class DyingWorker(work.Worker):
    """Kills its own process, with a chance, until the file `wanted` has its number of deaths.

    At once; when the output is written but not in place; or at any moment of the work. The piece is then
    given to another worker.
    """

    def __call__(self, piece: pieces.Piece) -> work.Done:
        wanted, chance = json.loads((self.folder.parent / "wanted").read_text())
        number = deaths(self.folder.parent)
        choose = random.Random(f"{number} {piece.out}")
        if number < wanted and choose.random() < chance:
            if number % 3 == 0:
                die(self.folder.parent)
            elif number % 3 == 1:
                os.fsync = lambda handle: die(self.folder.parent)
            else:
                threading.Timer(choose.uniform(0, 0.3), die, [self.folder.parent]).start()
        return super().__call__(piece)


def die(folder: Path) -> None:
    with open(folder / "deaths", "ab", buffering=0) as file:
        file.write(b"x")
    os.kill(os.getpid(), signal.SIGKILL)


def deaths(folder: Path) -> int:
    path = folder / "deaths"
    return path.stat().st_size if path.exists() else 0


def outputs(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("*.parquet")}


def write_table(path: Path) -> Path:
    choose = random.Random(0)
    rows = PIECES * PIECE_ROWS
    texts = [" ".join(choose.choices(WORDS, k=choose.randint(1, 20))) for _ in range(rows)]
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"id": range(rows), "text": texts}), path)
    return path


def drive(folder: Path, model: str, address: str | None) -> None:
    """The job; with an address, on Ray with workers that die."""
    pieces.PIECE_ROWS = PIECE_ROWS
    out = folder / ("killed" if address else "alone")
    if address:
        job.Worker = DyingWorker  # type: ignore[misc]
    engine: dict[str, Any] = {"engine": "ray", "address": address} if address else {}
    run(Predictor(model, threads=1), folder / "data", out, **engine)


def start_driver(folder: Path, model: str, address: str) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, __file__, "drive", str(folder), model, address])


def kill_until_done(folder: Path, model: str, others: int) -> dict[str, int]:
    from ray.cluster_utils import Cluster

    head = {**NODE, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    nodes = [cluster.add_node(**NODE) for _ in range(2)]
    choose, kills = random.Random(0), {"nodes": 0, "drivers": 0}
    driver = start_driver(folder, model, cluster.address)
    try:
        while driver.poll() is None or kills["nodes"] + kills["drivers"] < others:
            if driver.poll() == 0:
                raise SystemExit(f"the job ended after {kills}; make it longer")
            time.sleep(choose.uniform(0.5, 6))
            if kills["nodes"] + kills["drivers"] >= others:
                continue
            if choose.random() < 0.6:
                cluster.remove_node(nodes.pop(choose.randrange(2)), allow_graceful=False)
                nodes.append(cluster.add_node(**NODE))
                kills["nodes"] += 1
            else:
                driver.kill()
                driver.wait()
                driver = start_driver(folder, model, cluster.address)
                kills["drivers"] += 1
    finally:
        driver.kill()
        cluster.shutdown()
    return {**kills, "status": driver.returncode}


def main() -> None:
    folder = Path(sys.argv[1]).resolve()
    workers, others = (int(sys.argv[k]) if len(sys.argv) > k else most for k, most in ((2, 50), (3, 10)))
    write_table(folder / "data" / "texts.parquet")
    if len(sys.argv) > 4:
        model = sys.argv[4]
    else:
        import trained

        model = str(trained.save(folder / "model"))
    (folder / "wanted").write_text(json.dumps([workers, 0.5]))
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
    drive(folder, model, None)
    kills = kill_until_done(folder, model, others)
    expected, found = outputs(folder / "alone"), outputs(folder / "killed")
    ids = [row for path in found for row in pq.read_table(folder / "killed" / path)["id"].to_pylist()]
    different = sorted(k for k in expected | found if expected.get(k) != found.get(k))
    print(json.dumps({
        "workers": deaths(folder), **kills, "files": len(found), "different": different, "rows": len(ids),
        "distinct": len(set(ids)), "expected": PIECES * PIECE_ROWS,
    }))  # fmt: skip


if __name__ == "__main__":
    if sys.argv[1] == "drive":
        from bulk import killing_bulk  # by the name that workers import it by

        killing_bulk.drive(Path(sys.argv[2]), sys.argv[3], sys.argv[4])
    else:
        main()
