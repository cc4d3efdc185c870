r"""Mix the vectors of several teachers into one vector of each text, which a reader can be pretrained on.

    python experiments/reader/mix.py fit TEACHER.npy TEACHER.npy --weights 1 0.7 --size 384 --out map.npz
    python experiments/reader/mix.py apply map.npz TEACHER.npy TEACHER.npy --out mixed.npy
    python experiments/reader/mix.py apply map.npz WORDS.npy WORDS.npy --words words.txt --out words.bin

Each file has a row per text, of the same texts in the same order, as teach.py writes them. A teacher's vectors are
centred (but for a share of their mean, `--keep`) and divided by their root mean square length, weighed, put side by
side, and turned and cut to `--size` numbers by their principal components, which keeps the most of their likeness
that so few numbers can.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from limelight.storage.array_files import ArrayWriter
from limelight.storage.files import atomic_file

SAMPLE = 100_000  # rows that the components are found from
CHUNK = 65_536  # rows at a time


def fit(
    teachers: Sequence[np.ndarray], weights: Sequence[float], size: int, keep: Sequence[float] = ()
) -> dict[str, np.ndarray]:
    """The mean and the map of each teacher, float32: their mixture is the sum of (v - mean) @ map.

    Of a teacher's mean the share `keep` stays, 0 if it is not given.

    >>> teachers = [np.eye(4, 3), np.eye(4, 2)]
    >>> mixture = fit(teachers, [1.0, 0.5], 2)
    >>> mixture["mean0"].shape, mixture["map0"].shape, mixture["map1"].shape
    ((3,), (3, 2), (2, 2))
    """
    rows = np.unique(np.linspace(0, len(teachers[0]) - 1, SAMPLE).astype(int))
    found, parts = {}, []
    shares = keep or [0.0] * len(teachers)
    for number, (vectors, weight, share) in enumerate(zip(teachers, weights, shares, strict=True)):
        sample = np.asarray(vectors[rows], np.float64)
        mean = sample.mean(0) * (1 - share)
        scale = weight / np.sqrt(((sample - mean) ** 2).sum(1).mean())
        found[f"mean{number}"] = mean.astype(np.float32)
        parts.append((sample - mean) * scale)
        found[f"map{number}"] = np.eye(len(mean)) * scale
    joined = np.concatenate(parts, axis=1)
    _, components = np.linalg.eigh(joined.T @ joined)  # ascending
    kept = components[:, ::-1][:, :size]
    start = 0
    for number, part in enumerate(parts):
        turned = found[f"map{number}"] @ kept[start : start + part.shape[1]]
        found[f"map{number}"] = turned.astype(np.float32)
        start += part.shape[1]
    return found


def apply(mixture: dict[str, np.ndarray], teachers: Sequence[np.ndarray]) -> np.ndarray:
    """(texts, size) unit vectors, float32."""
    mixed = sum(
        (np.asarray(vectors, np.float32) - mixture[f"mean{k}"]) @ mixture[f"map{k}"]
        for k, vectors in enumerate(teachers)
    )
    return mixed / np.maximum(np.linalg.norm(mixed, axis=1, keepdims=True), 1e-9)


def write(mixture: dict[str, np.ndarray], teachers: Sequence[np.ndarray], out: Path) -> None:
    """Write the mixture of all rows, in fp16."""
    with atomic_file(out) as file:
        writer = ArrayWriter(file, np.float16)
        for start in range(0, len(teachers[0]), CHUNK):
            part = apply(mixture, [vectors[start : start + CHUNK] for vectors in teachers])
            writer.append(part.astype(np.float16))
        writer.finish()


def write_words(vectors: np.ndarray, words: Sequence[str], out: Path) -> None:
    """Write the vectors of words in word2vec's format."""
    with atomic_file(out) as file:
        file.write(f"{len(words)} {vectors.shape[1]}\n".encode())
        for word, vector in zip(words, vectors.astype("<f4"), strict=True):
            file.write(word.encode() + b" " + vector.tobytes() + b"\n")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    steps = parser.add_subparsers(dest="step", required=True)
    for name in ("fit", "apply"):
        step = steps.add_parser(name)
        if name == "apply":
            step.add_argument("map", type=Path)
            step.add_argument("--words", type=Path, help="the words that were read, one a line")
        step.add_argument("teachers", type=Path, nargs="+")
        if name == "fit":
            step.add_argument("--weights", type=float, nargs="+", required=True)
            step.add_argument("--keep", type=float, nargs="*", default=[])
            step.add_argument("--size", type=int, default=384)
        step.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    teachers = [np.load(path, mmap_mode="r") for path in arguments.teachers]
    if len({len(vectors) for vectors in teachers}) > 1:
        parser.error("the teachers have not read the same number of texts")
    if arguments.step == "apply":
        with np.load(arguments.map) as file:
            mixture = dict(file)
        if arguments.words:
            words = arguments.words.read_text().splitlines()
            write_words(apply(mixture, teachers), words, arguments.out)
        else:
            write(mixture, teachers, arguments.out)
        return
    if len(arguments.weights) != len(teachers):
        parser.error(f"{len(teachers)} teachers, {len(arguments.weights)} weights")
    with atomic_file(arguments.out) as file:
        np.savez(file, **fit(teachers, arguments.weights, arguments.size, arguments.keep))


if __name__ == "__main__":
    main()
