"""The wheel in an empty environment, with the base dependencies only: it predicts and explains, no PyTorch.

make wheel                        with the Python that `make setup` uses
make wheel PYTHON=python3.13      with another

On the machines that requirements-base.txt is for, every file is checked against its hash there.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from limelight.runtime.model import Model
from trained import save, texts_of

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "limelight"
REQUIREMENTS = ROOT / "requirements-base.txt"
NEEDED = (
    "py.typed",
    "bundled/reader/model.safetensors",
    "bundled/reader/tokenizer.json",
    "bundled/reader-fast/model.safetensors",
    "bundled/sans-regular.ttf",
    "bundled/vectors.safetensors",
    "reading/templates/page.html.jinja",
    "search/templates/results.html.jinja",
)
ABSENT = ("torch", "triton", "sklearn", "pyarrow", "onnx", "resvg_py", "ray")
PROGRAM = f"""
import importlib.util, json, sys
assert [name for name in {ABSENT} if importlib.util.find_spec(name)] == []
import limelight, limelight.bundled
from limelight.reading import to_page, to_svg

assert len(limelight.bundled.sentences("dev")[0]) == 2359
assert len(limelight.bundled.default_vectors()[0]) == 33264
assert all(path.is_file() for path in limelight.bundled.font_files())
assert limelight.load("reader").encode("The soup was cold.").shape == (384,)
index = limelight.Index.create(sys.argv[1] + ".index", ["Cold soup.", "A late train."])
assert index.search("chilly broth", k=1)[0].text == "Cold soup."
model = limelight.load(sys.argv[1])
from limelight.bulk import Predictor, run
assert Predictor("reader")({{"text": ["The soup was cold."]}})["embedding"].shape == (1, 384)
texts = json.loads(sys.stdin.read())
reading = model.read(texts[0])
assert to_svg(reading).startswith("<svg") and "</html>" in to_page([reading])
numbers = {{"probabilities": model.predict_proba(texts), "M": model.embed(texts[:1]), "A": reading.attention}}
print(json.dumps({{name: array.tolist() for name, array in numbers.items()}}))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--python", default="python3", help="the interpreter to try it with")
    args = parser.parse_args()
    python = args.python
    with tempfile.TemporaryDirectory() as folder:
        with ThreadPoolExecutor() as pool:  # pip waits for the network
            environment = pool.submit(create, Path(folder) / "environment", python)
            again = pool.submit(build_elsewhere, Path(folder))
            wheel = build(Path(folder), ROOT)
            check_content(wheel)
            assert again.result().read_bytes() == wheel.read_bytes()
        programs = install(environment.result(), wheel)
        check_listed(Path(folder), programs)
        check_answers(Path(folder), programs)
    version = run(python, "--version").strip()
    print(f"{wheel.name}: {version}, base dependencies only: predicts and explains")


def build(folder: Path, source: Path) -> Path:
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, source)
    (wheel,) = folder.glob("*.whl")
    return wheel


def build_elsewhere(folder: Path) -> Path:
    """From another folder, with other dates and permissions of the files: the bytes must be the same."""
    copy, again = folder / "copy", folder / "again"
    for name in ("src", "hatch_build.py", "pyproject.toml", "README.md", "LICENSE"):
        copied = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy.mkdir(exist_ok=True)
        copied(ROOT / name, copy / name)
    for path in copy.rglob("*"):
        os.utime(path, (10**9, 10**9))
        path.chmod(0o700 if path.is_dir() else 0o600)
    return build(again, copy)


def check_listed(folder: Path, programs: Path) -> None:
    """What is in the environment must be what requirements-base.txt has."""
    bom = folder / "limelight.cdx.json"
    run(programs / "python", ROOT / "scripts" / "build_sbom.py", bom)
    listed = {line.split()[0].lower() for line in REQUIREMENTS.read_text().splitlines() if "==" in line}
    found = {f"{each['name']}=={each['version']}" for each in json.loads(bom.read_text())["components"]}
    assert found <= {name.replace("_", "-") for name in listed}


def check_content(wheel: Path) -> None:
    """Every file of the package, and nothing else."""
    with zipfile.ZipFile(wheel) as file:
        packed = {name for name in file.namelist() if ".dist-info/" not in name}
    there = [path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert packed == {f"limelight/{path.relative_to(PACKAGE).as_posix()}" for path in there}
    assert {f"limelight/{name}" for name in NEEDED} <= packed


def create(environment: Path, python: str) -> Path:
    """The folder with the programs of a new environment; what we need is in it if its hashes are known."""
    run(python, "-m", "venv", "--without-pip", environment)  # ours installs into it, in half the time
    programs = environment / ("Scripts" if os.name == "nt" else "bin")
    if has_hashes(python):
        run(*pip(programs), *INSTALL, "--require-hashes", "-r", REQUIREMENTS)
    return programs


def install(programs: Path, wheel: Path) -> Path:
    known = has_hashes(str(programs / "python"))
    run(*pip(programs), *INSTALL, *(["--no-deps"] if known else ["-c", ROOT / "constraints.txt"]), wheel)
    run(*pip(programs), "check")
    return programs


INSTALL = ("install", "--quiet", "--no-compile")


def pip(programs: Path) -> tuple[str | Path, ...]:
    return sys.executable, "-m", "pip", "--python", programs / "python"


def has_hashes(python: str) -> bool:
    """Whether requirements-base.txt has the files for this machine and this Python."""
    version = run(python, "-c", "import sys; print(*sys.version_info[:2], sep='.')").strip()
    machines = ("x86_64", "aarch64")
    known = ("3.11", "3.12", "3.13", "3.14")
    return sys.platform == "linux" and platform.machine() in machines and version in known


def check_answers(folder: Path, programs: Path) -> None:
    """What the empty environment answers is what this one does."""
    model, texts = save(folder / "model"), texts_of(20)
    here = Model.load(model)
    found = json.loads(run(programs / "python", "-c", PROGRAM, model, told=json.dumps(texts)))
    expected = {
        "probabilities": here.predict_proba(texts),
        "M": here.embed(texts[:1]),
        "A": here.read(texts[0]).attention,
    }
    for name, array in expected.items():
        np.testing.assert_allclose(found[name], array, rtol=0, atol=1e-6, err_msg=name)

    limelight = programs / "limelight"
    lines = run(limelight, "predict", model, "--format", "jsonl", told="\n".join(texts)).splitlines()
    assert [json.loads(line)["label"] for line in lines] == list(here.predict(texts))
    for kind in ("html", "svg", "json", "txt"):
        run(limelight, "explain", model, texts[0], "--out", folder / f"reading.{kind}")
        assert (folder / f"reading.{kind}").stat().st_size > 100
    refused = subprocess.run(
        [limelight, "explain", model, texts[0], "--out", folder / "a.png"], capture_output=True, text=True
    )
    assert refused.returncode == 2
    assert "pip install '.[pictures]'" in refused.stderr


def run(*command: str | Path, told: str = "") -> str:
    """The standard output of a command that must succeed, without our own folders in its way."""
    environment = {
        key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")
    }
    done = subprocess.run(
        list(map(str, command)), input=told, capture_output=True, text=True, env=environment, check=False
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command[:6]))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main()
