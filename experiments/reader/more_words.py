r"""Give a reader more words without training it again: words that another reader knows.

    python experiments/reader/more_words.py READER --from OTHER --teacher vectors.npy --texts reviews.parquet ... \
        --count 2700 --out READER2

The vectors of new words are predicted from the other reader's vectors and the teacher's, by ridge regression
over the words that both know (`vectors.npy` has a row for each word of OTHER). Those most frequent in --texts
(column text) are taken. Prints how near the prediction comes on a tenth of the known words, held out.
"""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np

from limelight.runtime.folder import open_folder
from limelight.runtime.reader import Reader
from limelight.tables.table import read_values
from limelight.text.tokenizer import SPECIAL, Tokenizer

RIDGE = 3.0


def fit(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """(features + 1, d): the map from X to Y."""
    X = np.c_[X, np.ones(len(X))]
    return np.linalg.solve(X.T @ X + RIDGE * np.eye(X.shape[1]), X.T @ Y)


def apply(X: np.ndarray, W: np.ndarray) -> np.ndarray:
    return np.asarray(np.c_[X, np.ones(len(X))] @ W)


def frequent(tokenizer: Tokenizer, paths: list[Path], wanted: set[str], count: int) -> list[str]:
    counts = Counter[str]()
    for path in paths:
        for (text,) in read_values(path, ("text",)):
            counts.update(word for word in tokenizer.words(str(text)) if word in wanted)
    return [word for word, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:count]]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("reader", type=Path)
    parser.add_argument("--from", dest="other", type=Path, required=True)
    parser.add_argument("--teacher", type=Path, required=True)
    parser.add_argument("--texts", type=Path, nargs="+", required=True)
    parser.add_argument("--count", type=int, default=2_700)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    mine, other = open_folder(arguments.reader), open_folder(arguments.other)
    words = other.tokenizer.vocabulary[len(SPECIAL) :]
    V = np.load(arguments.teacher)[: len(words)].astype(np.float64)
    E = other.weights["words.weight"][len(SPECIAL) :].astype(np.float64)
    X = np.c_[E / E.std(), V / V.std()]
    table = mine.weights["words.weight"]
    both = np.array([k for k, word in enumerate(words) if word in mine.tokenizer.ids])
    Y = table[[mine.tokenizer.ids[words[k]] for k in both]].astype(np.float64)
    held = np.arange(len(both)) % 10 == 0
    found = apply(X[both[held]], fit(X[both[~held]], Y[~held]))
    cosine = (found * Y[held]).sum(1) / np.linalg.norm(found, axis=1) / np.linalg.norm(Y[held], axis=1)
    print(f"{len(both):,} words in both; cosine of the prediction on a tenth of them: {cosine.mean():.3f}")
    missing = {word for word in words if word not in mine.tokenizer.ids and any(map(str.isalpha, word))}
    new = frequent(mine.tokenizer, arguments.texts, missing, arguments.count)
    places = {word: k for k, word in enumerate(words)}
    predicted = apply(X[[places[word] for word in new]], fit(X[both], Y)).astype(np.float32)
    weights = {**mine.weights, "words.weight": np.r_[table, predicted]}
    tokenizer = Tokenizer.from_words([*mine.tokenizer.vocabulary[len(SPECIAL) :], *new])
    facts = {**mine.facts, "added_words": len(new)}
    Reader(replace(mine, tokenizer=tokenizer, weights=weights, facts=facts)).save(
        arguments.out, overwrite=True
    )
    print(f"{len(new):,} words added: {', '.join(new[:20])} ...")


if __name__ == "__main__":
    main()
