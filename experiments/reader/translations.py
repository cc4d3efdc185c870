r"""Pairs of an English text and its translation, for a reader of several languages.

    python experiments/reader/translations.py --translations FOLDER --stsb-multi train-dev.parquet \
        --packages DEBS --out PAIRS

FOLDER holds tables with the columns language, english and other; DEBS the Debian packages dict-freedict-*.
Writes PAIRS/pairs.tsv.xz (language, English, other) and PAIRS/held-out.tsv.xz: for each language 1,000 pairs
whose English text is in no other pair. Of STS-B only the training part is used, in LANGUAGES that have no
other source.
"""

from __future__ import annotations

import argparse
import itertools
import lzma
import random
import re
from collections.abc import Iterator
from pathlib import Path

from inputs import Inputs, decode

HELD_OUT = 1_000  # pairs of a language
MOST = 120_000  # entries of a dictionary
DICTIONARIES = {"deu": "de", "fra": "fr", "spa": "es", "nld": "nl", "ces": "cs"}
LANGUAGES = ("it", "pt", "pl", "ru", "zh", "ja")  # of STS-B's translations
HEAD = re.compile(r"(\S[^/<\t]*?)\s*(?:/[^/]*/)?\s*(?:<[^>]*>)?$")
NOISE = re.compile(r"\[[^]]*\]|\([^)]*\)|<[^>]*>|\{[^}]*\}|^\d+\.\s*|\"[^\"]*\"")

Pair = tuple[str, str, str]  # language, English, other


def tables(folder: Path) -> Iterator[Pair]:
    import pyarrow.parquet as pq

    for path in sorted(folder.glob("*.parquet")):
        for row in pq.read_table(path).to_pylist():
            yield row["language"], row["english"], row["other"]


def machine_made(path: Path) -> Iterator[Pair]:
    """STS-B's training sentences in languages that nothing else has, joined on the number of the pair."""
    import pyarrow.parquet as pq

    rows = [row for row in pq.read_table(path).to_pylist() if row["split"] == "train"]
    english = {row["pair"]: row for row in rows if row["language"] == "en"}
    for row in rows:
        if row["language"] in LANGUAGES and row["pair"] in english:
            for side in ("first", "second"):
                yield row["language"], english[row["pair"]][side], row[side]


def dictionary(inputs: Inputs, package: str, language: str, english_first: bool) -> Iterator[Pair]:
    """Headwords with their first translation."""
    for _, data in inputs.package(package, lambda path: path.endswith(".dict.dz")):
        lines = decode(data).splitlines()
        for head, line in itertools.pairwise(lines):
            found = HEAD.fullmatch(head)
            if not found or head.startswith((" ", "\t", "see:", "Synonym")):
                continue
            word, other = (
                NOISE.sub("", found[1]).strip(),
                NOISE.sub("", line).split(",")[0].split(";")[0].strip(),
            )
            if (
                word
                and other
                and len(word) < 60
                and len(other) < 60
                and not re.search(r"[:{}]|\d", word + other)
            ):
                yield (language, word, other) if english_first else (language, other, word)


def sample(pairs: Iterator[Pair], most: int) -> list[Pair]:
    distinct = sorted(set(pairs))
    random.Random(0).shuffle(distinct)
    return distinct[:most]


def write(path: Path, pairs: list[Pair]) -> None:
    with lzma.open(path, "wt", preset=2, encoding="utf-8") as file:
        for pair in pairs:
            file.write("\t".join(" ".join(part.split()) for part in pair) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--translations", type=Path, required=True)
    parser.add_argument("--stsb-multi", type=Path, required=True)
    parser.add_argument("--packages", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    pairs = sorted(set(tables(arguments.translations)))
    random.Random(0).shuffle(pairs)
    held: dict[str, list[Pair]] = {}
    for pair in pairs:
        some = held.setdefault(pair[0], [])
        if len(some) < HELD_OUT and pair[1] not in {other[1] for other in some[-50:]}:
            some.append(pair)
    unseen = {pair[1] for some in held.values() for pair in some} | {
        p[2] for some in held.values() for p in some
    }
    train = [pair for pair in pairs if pair[1] not in unseen and pair[2] not in unseen]
    inputs = Inputs(Path(), arguments.packages, Path())
    for code, language in DICTIONARIES.items():
        for english_first in (False, True):
            package = f"dict-freedict-eng-{code}" if english_first else f"dict-freedict-{code}-eng"
            train += sample(dictionary(inputs, package, language, english_first), MOST)
    train += list(machine_made(arguments.stsb_multi))
    arguments.out.mkdir(parents=True, exist_ok=True)
    write(arguments.out / "pairs.tsv.xz", train)
    write(arguments.out / "held-out.tsv.xz", [pair for some in held.values() for pair in some])
    counts: dict[str, int] = {}
    for language, *_ in train:
        counts[language] = counts.get(language, 0) + 1
    print(counts, {language: len(some) for language, some in held.items()})


if __name__ == "__main__":
    main()
