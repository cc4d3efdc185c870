"""The modules of the page, run by Node."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import limelight.serve

SERVE = Path(limelight.serve.__file__).parent
needs_node = pytest.mark.skipif(
    shutil.which("node") is None, reason="no Node on this machine: apt-get install nodejs"
)


def copy_modules(place: Path) -> None:
    """The modules of all pages in one folder."""
    place.mkdir()
    for file in SERVE.rglob("*.js"):
        flat = re.sub(r'from "[./\w]*/(\w+\.js)"', r'from "./\1"', file.read_text("utf-8"))
        (place / file.name).write_text(flat, "utf-8")
    (place / "package.json").write_text('{"type": "module"}')


def run_node(place: Path, script: str, given: Any) -> Any:
    """What `answer(given)` returns, where `script` defines `answer` and may import the modules."""
    modules = place / "modules"
    if not modules.exists():
        copy_modules(modules)
    (place / "given.json").write_text(json.dumps(given), "utf-8")
    runner = modules / "runner.js"
    runner.write_text(
        f'import fs from "node:fs"\n{script}\n'
        f"const given = JSON.parse(fs.readFileSync({json.dumps(str(place / 'given.json'))}))\n"
        "process.stdout.write(JSON.stringify(await answer(given)))\n",
        "utf-8",
    )
    done = subprocess.run(["node", str(runner)], capture_output=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)
