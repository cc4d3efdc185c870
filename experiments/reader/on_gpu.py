"""Readers from a mixture of teachers on a machine with a GPU, no network and little room for what is sent there.

    python experiments/reader/on_gpu.py pack CORPUS TEACHERS WORK --out PARTS
    python experiments/reader/on_gpu.py run PARTS --weights minilm=0.7 mpnet=1 arctic=0.5 --keep minilm=1 mpnet=1 \
        --epochs 30 --runs rows-0 --out OUT

`pack` puts what is needed into folders of at most --most MB: the texts and texts.json of CORPUS, the TEACHERS that
teachers.py has unpacked, and the words of WORK that `experiments.py prepare` has counted. `run` joins them, encodes
the texts, asks all teachers at once, mixes their vectors (mix.py) and pretrains (experiments.py). What is done is not
done again, so that a call that was cut off can be repeated; OUT gets the readers, the mixture and `seconds.txt`.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parent
WORDS = ("tokenizer.json", "words.txt")
NAMES = {"minilm": "all-MiniLM-L6-v2", "mpnet": "all-mpnet-base-v2", "arctic": "snowflake-arctic-embed-s"}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    steps = parser.add_subparsers(dest="step", required=True)
    packing, running = steps.add_parser("pack"), steps.add_parser("run")
    for name in ("corpus", "teachers", "work"):
        packing.add_argument(name, type=Path)
    packing.add_argument("--most", type=float, default=60.0, help="MB of a part")
    packing.add_argument("--out", type=Path, required=True)
    running.add_argument("parts", type=Path)
    running.add_argument("--weights", nargs="+", required=True, help="TEACHER=WEIGHT ...")
    running.add_argument(
        "--keep", nargs="*", default=[], help="TEACHER=SHARE ... of its mean; 0 if not given"
    )
    running.add_argument("--size", type=int, default=384)
    running.add_argument("--epochs", type=int, default=30)
    running.add_argument("--runs", nargs="*", default=["rows-0"], help="none: the vectors alone")
    running.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    if args.step == "pack":
        print("\n".join(pack(args.corpus, args.teachers, args.work, args.out, args.most * 1e6)))
    else:
        Job(args).run()


# ---------------------------------------------------------------- what is sent


def pack(corpus: Path, teachers: Path, work: Path, out: Path, most: float) -> Iterator[str]:
    """Copy all files into as few parts as hold them, the largest first; a line for each part."""
    files = [(path, Path("corpus", path.name)) for path in (*corpus.glob("*.txt.xz"), corpus / "texts.json")]
    files += [(work / name, Path("work", name)) for name in WORDS]
    found = (path for path in teachers.rglob("*") if path.is_file())
    files += [(path, Path("teachers") / path.relative_to(teachers)) for path in found]
    sizes: list[int] = []
    for path, place in sorted(files, key=lambda each: (-each[0].stat().st_size, each[1])):
        size = path.stat().st_size
        part = next((k for k, full in enumerate(sizes) if full + size <= most), len(sizes))
        if part == len(sizes):
            sizes.append(0)
        sizes[part] += size
        to = out / str(part + 1) / place
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, to)
    for number, size in enumerate(sizes, 1):
        yield f"{out / str(number)}: {size / 1e6:.1f} MB"


def join(parts: Path, into: Path) -> None:
    """The files of all parts in one folder."""
    for path in sorted(parts.glob("*/*/**/*")):
        if path.is_file():
            to = into / path.relative_to(parts).relative_to(path.relative_to(parts).parts[0])
            to.parent.mkdir(parents=True, exist_ok=True)
            if not to.exists():
                to.symlink_to(path.resolve())


# ---------------------------------------------------------------- what is done there


class Job:
    """All steps, in a folder beside the parts."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args, self.all = args, args.parts.resolve().with_name(args.parts.name + "-joined")
        self.work, self.corpus = self.all / "work", self.all / "corpus"
        self.weights = dict(each.split("=") for each in args.weights)
        self.keep = dict(each.split("=") for each in args.keep)
        args.out.mkdir(parents=True, exist_ok=True)

    def run(self) -> None:
        join(self.args.parts, self.all)
        texts = self.work / "texts.txt"
        lines = json.loads((self.corpus / "texts.json").read_text())["texts"]
        texts.write_text("".join(" ".join(line.split()) + "\n" for line in lines))
        self.files = sorted(map(str, self.corpus.glob("*.txt.xz")))
        read = {"files": self.files, "texts": [str(texts)], "words": [str(self.work / "words.txt")]}
        with shared_gpu():
            begun = [] if (self.work / "data/dataset.json").is_file() else [self._prepare()]
            begun += [self._teach(name, read) for name in self.weights]
            self._finish("prepared and taught", begun)
        self._finish("mixed", [self._mix(read)])
        if self.args.runs:
            self._finish("pretrained", [self._pretrain()])

    def _prepare(self) -> subprocess.Popen[bytes]:
        return start(
            [["experiments.py", "prepare", self.work, "--corpus", self.corpus, "--files", *self.files]],
            self.args.out / "prepare.log",
        )

    def _teach(self, teacher: str, read: dict[str, list[str]]) -> subprocess.Popen[bytes]:
        steps: list[list[object]] = []
        for what, paths in read.items():
            out = self._vectors(what, teacher)
            if not out.exists():
                steps.append(["teach.py", *paths, "--teacher", self.all / "teachers" / teacher, "--out", out])
        return start(steps, self.args.out / f"teach-{teacher}.log")

    def _mix(self, read: dict[str, list[str]]) -> subprocess.Popen[bytes]:
        mixture, weights = self.args.out / "mixture.npz", self.weights.values()
        fit = ["mix.py", "fit", *(self._vectors("files", name) for name in self.weights)]
        keep = [self.keep.get(name, "0") for name in self.weights]
        steps = [[*fit, "--weights", *weights, "--keep", *keep, "--size", self.args.size, "--out", mixture]]
        for what in read:
            given = [self._vectors(what, name) for name in self.weights]
            named = ["--words", self.work / "words.txt"] if what == "words" else []
            steps.append(["mix.py", "apply", mixture, *given, *named, "--out", self._vectors(what)])
        return start(steps, self.args.out / "mix.log")

    def _pretrain(self) -> subprocess.Popen[bytes]:
        files, texts, words = (self._vectors(what) for what in ("files", "texts", "words"))
        *most, last = (f"{NAMES.get(name, name)} ({weight})" for name, weight in self.weights.items())
        names = " and ".join([", ".join(most), last] if most else [last])
        return start(
            [["experiments.py", "run", self.work, "--corpus", self.corpus, "--vectors", files, "--texts", texts,
              "--words", words, "--teacher", f"a mixture of {names}", "--epochs", self.args.epochs,
              "--runs", *self.args.runs, "--out", self.args.out]],
            self.args.out / "pretrain.log",
        )  # fmt: skip

    def _vectors(self, what: str, teacher: str = "mixed") -> Path:
        return self.work / f"{what}-{teacher}.{'bin' if (what, teacher) == ('words', 'mixed') else 'npy'}"

    def _finish(self, what: str, begun: Sequence[subprocess.Popen[bytes]]) -> None:
        begin = time.monotonic()
        ended = [each.wait() for each in begun]
        if any(ended):
            logs = [path.read_text()[-2000:] for path in sorted(self.args.out.glob("*.log"))]
            raise SystemExit("\n".join(["a step failed", *logs]))
        line = f"{what}: {time.monotonic() - begin:.0f} s"
        print(line, flush=True)
        with (self.args.out / "seconds.txt").open("a") as file:
            file.write(line + "\n")


def start(steps: Sequence[Sequence[object]], log: Path) -> subprocess.Popen[bytes]:
    """Run scripts of this folder one after the other, up to the first that fails."""
    commands = [[sys.executable, str(HERE / str(name)), *map(str, given)] for name, *given in steps]
    all_of_them = f"import subprocess; [subprocess.run(each, check=True) for each in {commands!r}]"
    with log.open("ab") as file:
        return subprocess.Popen([sys.executable, "-c", all_of_them], stdout=file, stderr=subprocess.STDOUT)


@contextmanager
def shared_gpu() -> Iterator[None]:
    """Several processes compute on the GPU at the same time (MPS), where that can be had."""
    control = shutil.which("nvidia-cuda-mps-control")
    own = control and not subprocess.run([control, "-d"], check=False).returncode  # else it runs already
    try:
        yield
    finally:
        if own:
            subprocess.run([control], input=b"quit\n", check=False)


if __name__ == "__main__":
    main()
