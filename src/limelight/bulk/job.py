"""A bulk job: tables in, a folder of Parquet out, every row exactly once however often it is interrupted.

    _manifest.json                        the model and the options
    reviews-000065536-3f2a….parquet       one for each piece of the input, whole or not there
    _skipped.jsonl                        with on_bad="skip", the rows that could not be used

The output files are the truth: a piece is done when its file is there, and the file says what it was made of.
"""

import copy
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from .. import __version__
from ..errors import LimelightError, check_at_least, check_choice, damaged, needs_extra, tidy_os_errors
from ..runtime.runner import progress_bar
from ..storage.files import atomic_file, check_writable, remove_leftovers, write_file
from ..storage.json_file import parse_object
from ..storage.locks import locked
from ..storage.open_files import read_regular
from ..tables.encoding import stated_encoding
from ..text.parallel import count_cores
from .pieces import Piece, cut, is_remote, list_files, names_of
from .predictor import Predictor
from .work import Done, Worker, read_done

ENGINES = ("local", "ray")
MANIFEST, SKIPPED = "_manifest.json", "_skipped.jsonl"
MAX_MANIFEST = 2**30  # bytes: earlier versions listed all pieces
IN_FLIGHT = 1000  # tasks given to a cluster at a time: as many as it has cores, and more for it to grow by
RETRIES = 20  # of a piece whose worker died; one that kills every worker ends the job
_STORE = 100 * 2**20  # bytes of shared memory for Ray on one machine: pieces do not travel through it


@dataclass(frozen=True)
class Summary:
    """A finished job, counted from its output files."""

    pieces: int
    pieces_before: int  # that an earlier run had done
    rows_in: int
    rows_out: int
    skipped: int


def run(
    predictor: Predictor, data: str | Path, out: str | Path, *, engine: str = "local",
    address: str | None = None, workers: int | None = None, on_bad: str = "error", progress: bool = False,
) -> Summary:  # fmt: skip
    """Add a predictor's columns to all tables of a folder, a pattern or an fsspec address, as Parquet files.

    Run it again after any interruption: only what is missing is done. The engine "local" is this process;
    "ray" a Ray cluster, the one at `address` or, without it, one of this machine's cores for as long as the
    job takes. `workers` is how many pieces are done at a time.

    >>> run(Predictor("reader"), "reviews", "vectors", engine="ray")  # doctest: +SKIP
    Summary(pieces=12, pieces_before=0, rows_in=720000, rows_out=720000, skipped=0)
    """
    _check_options(out, engine, on_bad, workers)
    folder, files = Path(out), list_files(data, Path(out))
    columns = predictor.columns_of(names_of(files[0]), files[0].name)
    predictor = copy.copy(predictor)
    predictor.text, predictor.text2 = columns.text, columns.text2
    encoding = stated_encoding()
    settings = predictor.settings | ({"encoding": encoding} if encoding else {})
    check_writable(folder)
    with tidy_os_errors(f"cannot write {folder}"):
        folder.mkdir(parents=True, exist_ok=True)
    lock = folder.resolve().with_name(f".{folder.resolve().name}.lock")
    with locked(lock, f"{folder} is being written by another process"):
        check_settings(folder, settings)
        pieces = cut(files, settings)
        check_strays(folder, pieces)
        remove_leftovers(folder)
        worker = Worker(predictor, folder.resolve(), on_bad == "skip", encoding)
        do: Callable[[Sequence[Piece]], Iterable[Done]] = partial(map, worker)
        if engine == "ray":
            do = partial(run_on_ray, worker, address=address, workers=workers)
        manifest = {"limelight": __version__, "settings": settings}
        write_file(folder / MANIFEST, json.dumps(manifest, indent=1))
        return _finish(folder, pieces, do, progress)


def _finish(
    folder: Path, pieces: Sequence[Piece], do: Callable[[Sequence[Piece]], Iterable[Done]], progress: bool
) -> Summary:
    there = {path.name for path in folder.iterdir()}
    before = [piece for piece in pieces if piece.out in there]
    with ThreadPoolExecutor(count_cores()) as pool:
        read = sum(done.rows_in for done in pool.map(lambda p: read_done(folder / p.out, whole=True), before))
    rows = [piece.rows for piece in pieces]
    total = None if None in rows else sum(rows)  # type: ignore[arg-type]
    with progress_bar(total, initial=read, disable=not progress) as bar:
        for done in do([piece for piece in pieces if piece.out not in there]):
            bar.update(done.rows_in)
    return _count(folder, pieces, len(before))


def _count(folder: Path, pieces: Sequence[Piece], before: int) -> Summary:
    """The rows of the files as they are now, which must be those of the input."""
    found = [read_done(folder / piece.out) for piece in pieces]
    for piece, done in zip(pieces, found, strict=True):
        lost = done.rows_in - done.rows_out - len(done.skipped)
        if lost or done.file != piece.file.name or piece.rows not in (None, done.rows_in):
            raise damaged(f"{done.out} has {done.rows_out:,} rows, not those of {done.file}")
    skipped = [{"file": d.file, "row": row, "fault": fault} for d in found for row, fault in d.skipped]
    if skipped:
        with atomic_file(folder / SKIPPED) as file:
            file.writelines(json.dumps(each).encode() + b"\n" for each in skipped)
    rows_out = sum(each.rows_out for each in found)
    return Summary(len(found), before, rows_out + len(skipped), rows_out, len(skipped))


def check_settings(folder: Path, settings: dict[str, Any]) -> None:
    """Raise if the folder holds what another model or other options made, or something else altogether."""
    path = folder / MANIFEST
    if not os.path.lexists(path):
        if others := sorted(each.name for each in folder.iterdir() if not each.name.startswith(".")):
            raise _unfit(f"{folder} exists and holds {others[0]};", "exists")
        return
    found = parse_object(read_regular(path, MAX_MANIFEST), str(path)).get("settings")
    if not isinstance(found, dict):
        raise _unfit(f"{path} was not written by Limelight;", "file-foreign")
    for name in {**settings, **found}:
        if found.get(name) != settings.get(name):
            what = f"{name} {found.get(name)!r}, not {settings.get(name)!r}"
            what = "another model" if name == "model_sha256" else what
            raise _unfit(f"{folder} was made with {what};", "model-differs")


def check_strays(folder: Path, pieces: Sequence[Piece]) -> None:
    """Raise if the folder holds tables that do not follow from the input: their rows would be extra."""
    known = {piece.out for piece in pieces}
    strays = sorted(path.name for path in folder.glob("*.parquet") if path.name not in known)
    if strays:
        more = f" and {len(strays) - 1:,} more" if strays[1:] else ""
        fault = "made of input that has changed or is gone; delete it, or"
        raise _unfit(f"{folder} holds {strays[0]}{more}, {fault}", "input-changed")


def _unfit(fault: str, code: str) -> LimelightError:
    return LimelightError(f"{fault} choose another --out", code=code)


def _check_options(out: str | Path, engine: str, on_bad: str, workers: int | None) -> None:
    if find_spec("pyarrow") is None:
        raise needs_extra("bulk jobs need pyarrow: pip install '.[ray]'")
    if is_remote(str(out)):
        fault = f"{out} is not a folder; write to a file system that all workers share"
        raise LimelightError(fault, code="remote-output")
    check_choice("engine", engine, ENGINES)
    check_choice("on_bad", on_bad, ("error", "skip"))
    check_at_least("workers", workers, 1)


# ---------------------------------------------------------------- on a Ray cluster
#
# One task for each piece, done again by Ray when its worker or its machine dies. Tasks of Ray Core, not Ray
# Data's own reading and writing: there blocks are split and joined as they flow, and files are named by the
# task that wrote them, so that after a restart nobody could say which rows are missing.


def run_on_ray(
    worker: Worker, pieces: Sequence[Piece], address: str | None, workers: int | None
) -> Iterator[Done]:
    """What was done, in the order in which it is finished."""
    if not pieces:
        return
    predictor = copy.copy(worker.predictor)
    on_gpu = predictor.device == "cuda"
    with _cluster(address, count_cores() if on_gpu else min(workers or count_cores(), len(pieces))) as ray:
        predictor.threads = _cores_per_gpu(ray.cluster_resources()) if on_gpu else 1
        needs = {"num_cpus": predictor.threads, "num_gpus": int(on_gpu)}
        task = ray.remote(**needs, max_retries=RETRIES)(_do)
        shared = ray.put(replace(worker, predictor=predictor))
        yield from _finished(ray, (task.remote(shared, piece) for piece in pieces), workers or IN_FLIGHT)


def _cores_per_gpu(resources: dict[str, float]) -> int:
    """The cores that split words for each GPU of a cluster."""
    if not resources.get("GPU"):
        fault = "device is 'cuda', but the Ray cluster has no GPU; leave out the device"
        raise LimelightError(fault, code="option-conflict")
    return max(1, int(resources.get("CPU", 1) // resources["GPU"]))


def _do(worker: Worker, piece: Piece) -> Done | LimelightError:
    """Runs in a worker; an error of ours comes back, where Ray would wrap it."""
    try:
        return worker(piece)
    except LimelightError as error:
        return error


def _finished(ray: Any, tasks: Iterator[Any], most: int) -> Iterator[Done]:
    running: list[Any] = []
    while True:
        while len(running) < most and (task := next(tasks, None)) is not None:
            running.append(task)
        if not running:
            return
        ready, running = ray.wait(running)
        try:
            (found,) = ray.get(ready)
        except ray.exceptions.WorkerCrashedError as error:
            fault = f"a piece ended its worker {RETRIES + 1} times: {error}"
            raise LimelightError(fault, code="cluster") from error
        if isinstance(found, LimelightError):
            for task in running:
                ray.cancel(task, force=True)
            raise found
        yield found


@contextmanager
def _cluster(address: str | None, cores: int) -> Iterator[Any]:
    """The cluster that this process is connected to, the one at an address, or one of its own."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
    except ImportError:
        raise needs_extra("--engine ray needs Ray: pip install '.[ray]'") from None
    if ray.is_initialized():
        yield ray
        return
    own = {"num_cpus": cores, "include_dashboard": False, "object_store_memory": _STORE}
    try:
        # "local" would otherwise be whatever cluster happens to run on this machine.
        ray.init(address or "local", log_to_driver=False, logging_level="error", **({} if address else own))
    except (ConnectionError, ValueError, RuntimeError) as error:
        fault = f"no Ray cluster at {address or 'this machine'}: {error}"
        raise LimelightError(fault, code="cluster") from error
    try:
        yield ray
    finally:
        ray.shutdown()
