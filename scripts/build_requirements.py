"""Write requirements-base.txt: the base install as constraints.txt pins it, with the hash of every file.

    python scripts/build_requirements.py          after a change of constraints.txt or of the dependencies

pip chooses the files itself, for Linux on x86-64 and aarch64 and each Python that is supported, from whatever
index it is configured to use; the file names no index.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
OUT = ROOT / "requirements-base.txt"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
MACHINES = ("x86_64", "aarch64")
GLIBC = (39, 34, 28, 27, 17, 12, 5)  # of the manylinux tags that wheels carry
HEAD = """\
# The base install with the hash of every file, for Linux on x86-64 and aarch64, Python 3.11 to 3.14:
#     pip install --require-hashes -r requirements-base.txt && pip install --no-deps .
# Made by scripts/build_requirements.py from pyproject.toml and constraints.txt.
"""


def main() -> None:
    files: dict[str, set[str]] = {}  # name==version -> hashes
    for machine in MACHINES:
        for python in PYTHONS:
            for requirement, digest in choose_files(machine, python):
                files.setdefault(requirement, set()).add(digest)
    lines = [
        " \\\n".join([name, *(f"    --hash=sha256:{digest}" for digest in sorted(files[name]))])
        for name in sorted(files, key=str.lower)
    ]
    OUT.write_text(HEAD + "\n".join(lines) + "\n", "ascii")
    print(f"{OUT.name}: {len(files)} packages, {sum(map(len, files.values()))} files")


def choose_files(machine: str, python: str) -> Iterator[tuple[str, str]]:
    """What pip would install on such a machine: name==version, and the SHA-256 of its file."""
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    tags = [f"--platform=manylinux_2_{minor}_{machine}" for minor in GLIBC]
    tags += [f"--platform=manylinux2014_{machine}", f"--python-version={python}", "--only-binary=:all:"]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        places = ["--target", folder, "--report", str(report), "-c", str(ROOT / "constraints.txt")]
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed"]
        subprocess.run([*command, *places, *tags, *needed], check=True)
        for each in json.loads(report.read_text("utf-8"))["install"]:
            about = each["metadata"]
            yield (
                f"{about['name']}=={about['version']}",
                each["download_info"]["archive_info"]["hashes"]["sha256"],
            )


if __name__ == "__main__":
    main()
