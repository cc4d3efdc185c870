"""How many small wrong changes of the code do the tests notice? `make mutants`.

    PYTHONPATH=src:tests python tests/mutants.py [--count 300] [--seed 0] [--room search ...]

A sample of the changes that `mutating.py` makes to the rooms below, the same for the same seed, is put into a
copy of the checkout, one at a time. Then the tests run that execute the changed line, the quickest first,
until one fails; a change that none notices survives. Those that cannot be noticed are in
`mutants_equivalent.toml`, each with its reason. If more than 5% of the others survive, the exit code is 1.

Which test executes which line is recorded first. What is known is kept in `build/mutants/`: a run that was
stopped goes on, and after a change of files only what it may have changed runs again. A test that hangs or
exhausts the memory has noticed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import signal
import sys
import tempfile
import time
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from mutant_tests import ROOT, Copy
from mutating import EVERYWHERE, Mutant, mutants

PACKAGE, KEPT = ROOT / "src" / "limelight", ROOT / "build" / "mutants"
EQUIVALENT = Path(__file__).with_name("mutants_equivalent.toml")
ROOMS = {
    "search": ["search"],
    "labelling": ["labelling"],
    "tables": ["tables"],
    "runtime": [f"runtime/{name}.py" for name in ("decided", "confidence", "word_parts")],
    "reading": [f"reading/{name}.py" for name in ("comparison", "pieces")],
    "aspects": ["aspects/sums.py"],
}
OF_RUNTIME = (
    "decided", "confidence", "word_parts", "outputs", "reader", "model",
)  # fmt: skip
TESTS = [
    "search", "labelling", "tables", "reading", "aspects",
    *(f"runtime/test_{name}.py" for name in OF_RUNTIME),
    "serve/test_labeller.py", "serve/test_searching.py", "serve/test_aspects.py", "cli/test_search.py",
]  # fmt: skip
MAX_TEST_SECONDS = 10.0  # no test that takes longer is run
MAX_SECONDS = 120.0  # of tests for one mutant, as recorded: a survivor takes a fourth of that
MAX_SURVIVORS = 0.05
Recorded = dict[str, dict[str, Any]]  # by file of tests: the tests, their seconds and their lines


def sample(rooms: list[str], count: int, seed: int) -> dict[str, list[Mutant]]:
    """As many of each room; a mutant's rank depends on nothing but itself and the seed."""
    found = {}
    for room in rooms:
        every = [each for file in _files(room) for each in mutants(file, _text(file))]
        every.sort(key=lambda each: _digest(f"{seed} {each.key}"))
        found[room] = every[: -(-count // len(rooms))]
    return found


# ---------------------------------------------------------------- which tests


def record(copy: Copy) -> Recorded:
    """What each test executes; of tests that have not changed, nor what they executed, from before."""
    kept, found = _load("recorded.json"), {}
    for name, files in (groups := _test_files()).items():
        tests = "".join((copy.folder / file).read_text() for file in files)
        found[name] = kept.get(name, {"lines": {}})
        if found[name].get("digest") != _digest(tests + _sources(found[name])):
            print(f"recording {len(found)} of {len(groups)}: {name}", file=sys.stderr)
            found[name] = copy.record(files)
            found[name]["digest"] = _digest(tests + _sources(found[name]))
            _save("recorded.json", {**kept, **found})
    return found


def _sources(recorded: dict[str, Any]) -> str:
    """Of the files that some tests execute, as they are now."""
    return "".join(_text(file) for file in _files() if file in _executed(recorded))


def _executed(recorded: dict[str, Any]) -> set[str]:
    return {file for lines in recorded["lines"].values() for file in lines}


def _test_files() -> dict[str, list[str]]:
    """What is recorded in one run: each file of tests, and all the examples in docstrings."""
    paths = _expand([ROOT / "tests" / name for name in TESTS], "test_*.py")
    names = [each.relative_to(ROOT).as_posix() for each in paths]
    return {**{name: [name] for name in names}, "docstrings": [f"src/limelight/{file}" for file in _files()]}


def tests_of(mutant: Mutant, recorded: Recorded) -> dict[str, float]:
    """The tests to run, with their seconds: those that execute the line, and of too many the quickest.

    A constant, outside of functions, all tests of a file may notice of which one executes the module.
    Files of tests one after another, since many have a fixture; first those that take the least time.
    """
    hits = []
    for at in recorded.values():
        looked = at["lines"].values() if mutant.lines == EVERYWHERE else [at["lines"].get("", {})]
        by_all = any(_executes(lines, mutant) for lines in looked)
        for name, took in at["seconds"].items():
            if took < MAX_TEST_SECONDS and (by_all or _executes(at["lines"].get(name, {}), mutant)):
                hits.append((took, name))
    files: dict[str, dict[str, float]] = {}
    left = MAX_SECONDS
    for took, name in sorted(hits):
        left -= took
        if left > 0:
            files.setdefault(name.split("::")[0], {})[name] = took
    by_time = sorted(files.values(), key=lambda tests: sum(tests.values()))
    return {name: took for tests in by_time for name, took in tests.items()}


def _executes(lines: dict[str, list[int]], mutant: Mutant) -> bool:
    begin, end = mutant.lines
    return any(begin <= line <= end for line in lines.get(mutant.file, []))


# ---------------------------------------------------------------- which mutants survive


def run(copy: Copy, chosen: dict[str, list[Mutant]]) -> dict[str, Any]:
    """What became of each mutant, by its key."""
    recorded = record(copy)
    results, todo = _load("results.json"), [each for room in chosen.values() for each in room]
    for number, mutant in enumerate(todo):
        source, old = _digest(_text(mutant.file)), results.get(mutant.key, {})
        tests = [each for each in recorded.values() if mutant.file in _executed(each)]
        known = _digest("".join(each["digest"] for each in tests))
        if old.get("source") == source and (old["killed"] or old["known"] == known):
            continue
        found = judge(copy, mutant, tests_of(mutant, recorded))
        results[mutant.key] = {**found, "source": source, "known": known}
        _save("results.json", results)
        said = "killed  " if found["killed"] else "SURVIVED"
        print(f"{number + 1} of {len(todo)} {said} {found['seconds']:5.1f} s {mutant.key}", file=sys.stderr)
    found = {each.key: results[each.key] for each in todo}
    check_unchanged(copy, {each["by"] for each in found.values()}, recorded)
    return found


def judge(copy: Copy, mutant: Mutant, tests: dict[str, float]) -> dict[str, Any]:
    """Whether a test notices a mutant, and which."""
    begin = time.monotonic()
    copy.put(mutant.file, mutant.source())
    killed, by = copy.run(tests, mutant) if tests else (False, "")
    copy.put(mutant.file, _text(mutant.file))
    seconds = round(time.monotonic() - begin, 1)
    return {"killed": killed, "by": by, "tests": len(tests), "seconds": seconds}


def check_unchanged(copy: Copy, killers: set[str], recorded: Recorded) -> None:
    """The tests that noticed something pass without a mutant: otherwise they would have noticed nothing."""
    seconds = {name: took for at in recorded.values() for name, took in at["seconds"].items()}
    failed, which = copy.run({name: seconds[name] for name in sorted(killers & seconds.keys())})
    if failed:
        raise SystemExit(f"{which} fails without a mutant")


# ---------------------------------------------------------------- what came of it


def report(chosen: dict[str, list[Mutant]], results: dict[str, Any], seed: int) -> int:
    """Print a table and keep it as JSON; 1 if too many survive."""
    explained = set(map(key_of, equivalents()))
    rows, left, every = [], [], [each for room in chosen.values() for each in room]
    for room, of_room in {**chosen, "all": every}.items():
        alive = [each.key for each in of_room if not results[each.key]["killed"]]
        left = [key for key in alive if key not in explained]
        rows.append((room, len(of_room), len(of_room) - len(alive), len(alive) - len(left), len(left)))
    print(f"| room (seed {seed}) | mutants | killed | equivalent | survived | rate |")
    print("|---|---|---|---|---|---|")
    for room, count, killed, equal, survived in rows:
        rate = survived / max(1, count - equal)
        print(f"| {room} | {count} | {killed} | {equal} | {survived} | {rate:.1%} |")
    for key in left:
        print(f"survived{'' if results[key]['tests'] else ' (no test executes it)'}: {key}")
    _save(f"report-{seed}.json", {"seed": seed, "rows": rows, "survived": left, "results": results})
    return int(left != [] and rate > MAX_SURVIVORS)


def equivalents() -> list[dict[str, str]]:
    """The mutants that no test can notice, with their reasons."""
    return list(tomllib.loads(EQUIVALENT.read_text()).get("mutant", []))


def key_of(entry: dict[str, str]) -> str:
    """The key of the mutant that an entry of the list is about."""
    return f"{entry['file']}::{entry['function']}: {entry['change']}"


# ---------------------------------------------------------------- files


def _files(*rooms: str) -> list[str]:
    paths = _expand([PACKAGE / name for room in rooms or ROOMS for name in ROOMS[room]], "*.py")
    return [each.relative_to(PACKAGE).as_posix() for each in paths]


def _expand(paths: list[Path], pattern: str) -> list[Path]:
    return [each for path in paths for each in ([path] if path.is_file() else sorted(path.rglob(pattern)))]


@cache
def _text(file: str) -> str:
    """As it was when this program began."""
    return (PACKAGE / file).read_text()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _load(name: str) -> dict[str, Any]:
    return dict(json.loads((KEPT / name).read_text())) if (KEPT / name).exists() else {}


def _save(name: str, content: dict[str, Any]) -> None:
    KEPT.mkdir(parents=True, exist_ok=True)
    (KEPT / f"{name}.part").write_text(json.dumps(content, indent=0))
    os.replace(KEPT / f"{name}.part", KEPT / name)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--room", action="append", choices=ROOMS)
    args = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"  # before PyTorch counts the cores
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # and end the tests that run
    chosen = sample(args.room or list(ROOMS), args.count, args.seed)
    with tempfile.TemporaryDirectory() as folder:
        files = [file for some in _test_files().values() for file in some]
        results = run(Copy(Path(folder), files), chosen)
    return report(chosen, results, args.seed)


if __name__ == "__main__":
    sys.exit(main())
