"""For `make mutants`: which test executes which line, and runs of chosen tests in a copy of the checkout.

The package and its tests are imported once, and a fork of that process gets the changed function. What runs
when it is imported is imported anew there.
"""

from __future__ import annotations

import faulthandler
import importlib
import inspect
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import defaultdict
from contextlib import redirect_stdout, suppress
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pytest

from mutating import Mutant

ROOT = Path(__file__).parent.parent
LIBRARIES = [
    "hypothesis", "httpx2", "jinja2", "numpy", "onnx", "onnxruntime", "openpyxl", "pandas", "pyarrow.parquet",
    "safetensors.numpy", "sklearn.linear_model", "starlette.applications", "tokenizers", "torch", "tqdm",
    "uvicorn", "zstandard",
]  # fmt: skip
PATIENCE = 20.0  # seconds for a test, and five times what it took
MAX_BYTES = 16 * 2**30
OPTIONS = ["--tb=no", "-p", "no:cacheprovider", "-p", "no:xdist"]


class Lines:
    """For pytest: the lines of the package that each test executes, and its seconds.

    What a fixture executes is under "", and counts for every test of the file: most are made once.
    """

    def __init__(self, source: Path) -> None:
        self.source, self.now = f"{source}{os.sep}", ""
        self.seconds: dict[str, float] = defaultdict(float)
        self.lines: dict[str, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
        self.failed: set[str] = set()

    def _enter(self, frame: Any, event: str, arg: Any) -> Any:
        name = frame.f_code.co_filename
        if not name.startswith(self.source):
            return None
        lines = self.lines[self.now][name.removeprefix(self.source)]
        lines.add(frame.f_lineno)

        def step(frame: Any, event: str, arg: Any) -> Any:
            lines.add(frame.f_lineno)
            return step

        return step

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self) -> Any:
        return (yield from self._traced(""))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Any:
        return (yield from self._traced(item.nodeid))

    def _traced(self, name: str) -> Any:
        self.now = name
        threading.settrace(self._enter)
        sys.settrace(self._enter)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            threading.settrace(None)  # type: ignore[arg-type]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] += report.duration
        if not report.passed:
            self.failed.add(report.nodeid)

    def found(self) -> dict[str, Any]:
        """Of the tests that passed."""
        return {
            "seconds": {name: took for name, took in self.seconds.items() if name not in self.failed},
            "lines": {
                name: {file: sorted(lines) for file, lines in files.items()}
                for name, files in self.lines.items()
                if name not in self.failed
            },
        }


class Chosen:
    """For pytest: these tests in this order, each within its time; `log` has the one that runs."""

    def __init__(self, tests: dict[str, float], log: Path) -> None:
        self.tests, self.log = tests, log

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        by_name = {item.nodeid: item for item in items}
        items[:] = [by_name[name] for name in self.tests if name in by_name]

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.log.write_text(nodeid)
        faulthandler.dump_traceback_later(PATIENCE + 5 * self.tests[nodeid], exit=True)


class Copy:
    """The checkout, copied to where its files may be changed, and a process to fork with all that it imports.

    `files` are the tests that will run.
    """

    def __init__(self, folder: Path, files: list[str]) -> None:
        self.folder, self.source = folder, folder / "src" / "limelight"
        self._copy_files()
        os.environ["PYTHONPATH"] = str(folder / "src")
        os.chdir(folder)
        sys.path.insert(0, str(folder / "src"))  # before this checkout
        for name in LIBRARIES:
            with suppress(ImportError):
                importlib.import_module(name)
        self._at_import: set[tuple[str, str]] = set()  # functions that ran while all this was imported
        sys.setprofile(self._note)
        with open(os.devnull, "w") as nothing, redirect_stdout(nothing):
            pytest.main([*OPTIONS, "--collect-only", *files])
        sys.setprofile(None)

    def _note(self, frame: Any, event: str, arg: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(str(self.source)):
            file = Path(frame.f_code.co_filename).relative_to(self.source).as_posix()
            self._at_import.add((file, frame.f_code.co_qualname))

    def _copy_files(self) -> None:
        """What git knows or would, and the compiled part."""
        argv = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=True)
        compiled = [str(path.relative_to(ROOT)) for path in (ROOT / "src").rglob("_native*")]
        for name in {*done.stdout.split("\0")[:-1], *compiled}:
            if (ROOT / name).is_file():
                (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.folder / name)

    def put(self, file: str, source: str) -> None:
        """Other source for a file of the package, with a time of its own: no older bytecode fits."""
        path = self.source / file
        path.write_text(source)
        stamp = time.time_ns() // 10**6 % 10**9
        os.utime(path, (stamp, stamp))

    def record(self, files: list[str]) -> dict[str, Any]:
        """The tests of some files, with their seconds and lines."""
        out = self.folder / "lines.json"
        out.unlink(missing_ok=True)
        lines = Lines(self.source)
        self._fork(files, lines, [], lambda: out.write_text(json.dumps(lines.found())))
        return dict(json.loads(out.read_text()))

    def run(self, tests: dict[str, float], mutant: Mutant | None = None) -> tuple[bool, str]:
        """Whether one of these tests fails with a mutant, and which; they have their seconds.

        To begin with, those of two files: most mutants need no more, and a file takes time to collect.
        """
        log, begin = self.folder / "running.txt", _first_files(list(tests), 2)
        for names in (list(tests)[:begin], list(tests)[begin:]):
            log.write_text("")
            files = list(dict.fromkeys(map(_file_of, names)))
            chosen = Chosen({name: tests[name] for name in names}, log)
            if names and self._fork(files, chosen, ["-x"], mutant=mutant):
                return True, log.read_text() or "import"
        return False, ""

    def _fork(
        self,
        files: list[str],
        plugin: Any,
        options: list[str],
        then: Any = None,
        mutant: Mutant | None = None,
    ) -> int:
        """pytest's exit status, in a process that ends with all that it started."""
        child = os.fork()
        if child == 0:
            first = (lambda: self._apply(mutant)) if mutant else None
            _run(files, plugin, [*OPTIONS, *options, f"--basetemp={self.folder}/temporary"], first, then)
        try:
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        finally:
            with suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)

    def _apply(self, mutant: Mutant) -> None:
        """Take a mutant into this process, where its file is already."""
        name = ".".join(["limelight", *Path(mutant.file).with_suffix("").parts]).removesuffix(".__init__")
        module, source = sys.modules.get(name), (self.source / mutant.file).read_text()
        is_later = (mutant.file, mutant.function) not in self._at_import
        if module is None or (is_later and swap_function(module, mutant.function, source)):
            return
        for name, each in list(sys.modules.items()):
            if str(getattr(each, "__file__", "")).startswith(str(self.folder)):
                del sys.modules[name]


def swap_function(module: ModuleType, name: str, source: str) -> bool:
    """Give a function of a module ("Class.method") the code that it has in other source, if that is all."""
    other = ModuleType(module.__name__)
    vars(other).update(__file__=module.__file__, __package__=module.__package__)
    exec(compile(source, str(module.__file__), "exec"), vars(other))
    old, new = module, other
    for part in name.split("."):
        old, new = (_function(vars(each).get(part)) for each in (old, new))
        if isinstance(old, FunctionType):
            old.__code__, old.__defaults__ = new.__code__, new.__defaults__
            old.__kwdefaults__ = new.__kwdefaults__
            return True
        if not isinstance(old, type):
            break
    return False


def _function(found: Any) -> Any:
    """What is inside a property, a method of a class, a cache or a context."""
    for name in ("fget", "func", "__func__"):
        found = found if isinstance(found, type) else getattr(found, name, found)
    return inspect.unwrap(found) if callable(found) else found


def _file_of(test: str) -> str:
    return test.split("::")[0]


def _first_files(tests: list[str], count: int) -> int:
    """How many of the first tests are of no more than so many files."""
    seen: set[str] = set()
    for number, test in enumerate(tests):
        seen.add(_file_of(test))
        if len(seen) > count:
            return number
    return len(tests)


def _run(files: list[str], plugin: Any, options: list[str], first: Any, then: Any) -> None:
    import resource  # not on Windows, where nothing forks

    code = 3
    try:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        null = os.open(os.devnull, os.O_RDWR)
        for handle in range(3):
            os.dup2(null, handle)
        resource.setrlimit(resource.RLIMIT_AS, (MAX_BYTES, MAX_BYTES))
        faulthandler.dump_traceback_later(60 * PATIENCE, exit=True)  # until the first test begins
        if first:
            first()
        code = int(pytest.main([*options, *files], plugins=[plugin]))
        if then:
            then()
    finally:
        os._exit(code)
