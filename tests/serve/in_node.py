"""The modules of the page, run by Node."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import limelight.serve

PAGE = Path(limelight.serve.__file__).parent / "page"
needs_node = pytest.mark.skipif(
    shutil.which("node") is None, reason="no Node on this machine: apt-get install nodejs"
)


def run_node(place: Path, script: str, given: Any) -> Any:
    """What `answer(given)` returns, where `script` defines `answer` and may import the modules."""
    modules = place / "modules"
    if not modules.exists():
        modules.mkdir()
        for file in PAGE.glob("*.js"):
            shutil.copy(file, modules)
        (modules / "package.json").write_text('{"type": "module"}')
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
