"""Count the words of a corpus: `python words.py CORPUS` writes CORPUS/words.txt (word, tab, count).

A word of a kind with a weight of 5 counts five times, so that the words of science, law, finance and computing are
not drowned by those of talk and books; of passages, whose sentences are counted already, every fourth counts.
A word must occur twice, whatever its weight.
"""

from __future__ import annotations

import argparse
import lzma
from collections import Counter
from multiprocessing import Pool
from pathlib import Path

from limelight.text.tokenizer import Tokenizer

WEIGHTS = {
    "science": 3,
    "medicine": 5,
    "titles": 5,
    "law": 4,
    "finance": 4,
    "products": 5,
    "places": 5,
    "computing": 3,
    "howto": 2,
    "encyclopedia": 2,
    "definitions": 2,
    "questions": 2,
    "fragments": 2,
}  # others: 1
MOST = 400_000
EVERY = 4  # passage


def count(path: Path) -> Counter[str]:
    words = Tokenizer.from_words([]).words
    counts: Counter[str] = Counter()
    with lzma.open(path, "rt", encoding="utf-8") as file:
        for i, line in enumerate(file):
            if i % EVERY == 0 or not path.name.startswith("passages-"):
                counts.update(words(line.rstrip("\n")))
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", type=Path)
    corpus = parser.parse_args().corpus
    paths = sorted(corpus.glob("*.txt.xz"))
    plain: Counter[str] = Counter()
    weighted: Counter[str] = Counter()
    with Pool(2) as pool:
        for path, counts in zip(paths, pool.imap(count, paths), strict=True):
            weight = WEIGHTS.get(path.name.split("-")[1], 1)
            plain.update(counts)
            weighted.update({word: weight * n for word, n in counts.items()})
    words = [(word, n) for word, n in weighted.most_common() if plain[word] >= 2][:MOST]
    (corpus / "words.txt").write_text("".join(f"{word}\t{n}\n" for word, n in words))


if __name__ == "__main__":
    main()
