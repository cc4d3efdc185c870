"""Write the questions and requests among sentences, and variants of them with other words in their places.

    python experiments/reader/vary.py SENTENCES... --out FOLDER

Writes FOLDER/sentences-requests-0.txt, sentences that ask or tell a service something, and
FOLDER/sentences-variants-0.txt, each of them with one to three content words replaced: half the time by one
of the words nearest in the bundled word vectors, half the time by any other word of these sentences. The
teacher says what a variant means, so it need not be a likely sentence.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from pathlib import Path

import numpy as np

from limelight.tables.table import read_values
from limelight.text.vectors import read_vectors

REQUEST = re.compile(
    r"(i|i'm|i've|i'd|my|me|we|our|can|could|please|help|how|why|what|when|where|which|who|is|are|do|does|did|"
    r"will|would|should|have|has|let|tell|show|give|find|it|there|need|want|looking|any)\b|.*\?\W*$",
    re.IGNORECASE,
)
WORD = re.compile(r"[A-Za-z]{3,}")
COMMON = 150  # words more frequent than this stay
NEAREST = 30


def requests(paths: list[Path]) -> list[str]:
    texts = (str(text) for path in paths for (text,) in read_values(path, ("text",)))
    return [text for text in texts if REQUEST.match(text) and 3 <= len(text.split()) <= 30]


def neighbours(words: list[str]) -> np.ndarray:
    """(words, 30): the nearest words of each, of the same list."""
    found = read_vectors("default", ("", "", *words), seed=0)
    v = (found.matrix * found.found[:, None])[2:]
    v = v / np.maximum(np.linalg.norm(v, axis=1, keepdims=True), 1e-6)
    nearest = []
    for k in range(0, len(v), 1000):
        similar = v[k : k + 1000] @ v.T
        nearest.append(np.argpartition(-similar, NEAREST + 1, axis=1)[:, : NEAREST + 1])
    return np.concatenate(nearest)


def vary(texts: list[str], seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seed)
    counts = Counter(word.lower() for text in texts for word in WORD.findall(text))
    ranked = [word for word, _ in counts.most_common(20_000)]
    words, frequent = ranked[COMMON:], set(ranked[:COMMON])
    place = {word: i for i, word in enumerate(words)}
    near = neighbours(words)
    share = np.array([counts[word] for word in words], float) ** 0.5
    pool = rng.choice(len(words), 1_000_000, p=share / share.sum())
    drawn, result = iter(pool.tolist() * 4), []
    for text, amount in zip(texts, rng.integers(1, 4, len(texts)), strict=True):
        spans = [
            m for m in WORD.finditer(text) if m.group().lower() in place and m.group().lower() not in frequent
        ]
        chosen = rng.permutation(len(spans))[:amount] if len(spans) > 1 else range(len(spans))
        for i in sorted(chosen, reverse=True):
            old = spans[i]
            k = next(drawn)
            if k % 2:
                k = int(near[place[old.group().lower()], k % NEAREST])
            text = text[: old.start()] + words[k] + text[old.end() :]
        result.append(text)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sentences", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    found = requests(arguments.sentences)
    for name, texts in (("requests", found), ("variants", vary(found))):
        (arguments.out / f"sentences-{name}-0.txt").write_text("\n".join(texts) + "\n")


if __name__ == "__main__":
    main()
