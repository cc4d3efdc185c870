r"""Pairs of an English text and its translation, for a reader of several languages.

    python experiments/reader/translations.py --translations FOLDER --repositories CLONES --packages DEBS \
        --stsb-multi train-dev.parquet --out PAIRS

FOLDER holds tables with the columns language, source, english and other, of which Tatoeba's rows are read: the
terms of Multi30k forbid commercial use. CLONES holds Helsinki-NLP/Tatoeba-Challenge, DEBS the packages
dict-freedict-*. Of STS-B the training part is read, but for sentences that the development part has too.

Writes PAIRS/pairs.tsv.xz (language, English, other) and PAIRS/held-out.tsv.xz: for each language 1,000 pairs of
Tatoeba, neither side of which is in a pair for training, whatever its case and marks.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import lzma
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from inputs import Inputs, decode

HELD_OUT = 1_000  # pairs of a language
MOST = 60_000  # entries of a dictionary
LANGUAGES = {"deu": "de", "fra": "fr", "spa": "es", "nld": "nl", "ces": "cs"}
LONGEST = 60  # characters of a dictionary's entry
TATOEBA = "Helsinki-NLP/Tatoeba-Challenge"
HEAD = re.compile(r"(\S[^/<\t]*?)\s*(?:/[^/]*/)?\s*(?:<[^>]*>)?$")
NOISE = re.compile(r"\[[^]]*\]|\([^)]*\)|<[^>]*>|\{[^}]*\}|^\d+\.\s*|\"[^\"]*\"")
WORD = re.compile(r"\w+")

Pair = tuple[str, str, str]  # language, English, other


def plain(text: str) -> str:
    """The words of a text, without case and marks."""
    return " ".join(WORD.findall(text.lower()))


def tables(folder: Path) -> Iterator[Pair]:
    import pyarrow.parquet as pq

    for path in sorted(folder.glob("*.parquet")):
        for row in pq.read_table(path).to_pylist():
            if row["source"] == "tatoeba":
                yield row["language"], row["english"], row["other"]


def tatoeba(inputs: Inputs) -> Iterator[Pair]:
    """Tatoeba's pairs in the development and test sets of the Tatoeba Challenge, of all its releases."""
    codes = "|".join(LANGUAGES)
    wanted = re.compile(rf"data/.*(?:eng-({codes})|({codes})-eng)\b.*\.txt(?:\.gz)?").fullmatch
    for path, data in inputs.files(TATOEBA, wanted):
        for line in decode(gzip.decompress(data) if path.endswith(".gz") else data).splitlines():
            columns = line.split("\t")
            if len(columns) != 4:
                continue
            first, second, one, other = columns
            if first == "eng" and second in LANGUAGES:
                yield LANGUAGES[second], one, other
            elif second == "eng" and first in LANGUAGES:
                yield LANGUAGES[first], other, one


def machine_made(path: Path) -> Iterator[Pair]:
    """STS-B's training sentences and their machine translations, joined on the number of the pair."""
    import pyarrow.parquet as pq

    rows = pq.read_table(path).to_pylist()
    sides = ("first", "second")
    judged = {plain(row[side]) for row in rows if row["split"] != "train" for side in sides}
    train = [row for row in rows if row["split"] == "train"]
    english = {row["pair"]: row for row in train if row["language"] == "en"}
    for row in train:
        if row["language"] in LANGUAGES.values() and row["pair"] in english:
            for side in sides:
                one, other = english[row["pair"]][side], row[side]
                if plain(one) not in judged and plain(other) not in judged:
                    yield row["language"], one, other


def dictionary(inputs: Inputs, package: str, language: str, english_first: bool) -> Iterator[Pair]:
    """Headwords with their first translation."""
    for _, data in inputs.package(package, lambda path: path.endswith(".dict.dz")):
        for head, line in itertools.pairwise(decode(data).splitlines()):
            found = HEAD.fullmatch(head)
            if not found or head.startswith((" ", "\t", "see:", "Synonym")):
                continue
            word = NOISE.sub("", found[1]).strip()
            other = NOISE.sub("", line).split(",")[0].split(";")[0].strip()
            if (
                word
                and other
                and max(len(word), len(other)) < LONGEST
                and not re.search(r"[:{}]|\d", word + other)
            ):
                yield (language, word, other) if english_first else (language, other, word)


def entries(inputs: Inputs, known: set[str]) -> Iterator[Pair]:
    """Those of the dictionaries whose English words are all known: the others are too rare to be worth a row."""
    for code, language in LANGUAGES.items():
        for english_first in (False, True):
            package = f"dict-freedict-eng-{code}" if english_first else f"dict-freedict-{code}-eng"
            found = dictionary(inputs, package, language, english_first)
            yield from shuffled(pair for pair in found if known.issuperset(plain(pair[1]).split()))[:MOST]


def shuffled(pairs: Iterable[Pair]) -> list[Pair]:
    """Each pair once, in an order that depends on nothing else."""
    distinct = sorted({(language, " ".join(a.split()), " ".join(b.split())) for language, a, b in pairs})
    random.Random(0).shuffle(distinct)
    return [pair for pair in distinct if pair[1] and pair[2]]


def hold_out(pairs: list[Pair]) -> list[Pair]:
    """HELD_OUT pairs of each language, with different texts."""
    held: list[Pair] = []
    counts, seen = Counter[str](), set[tuple[str, str]]()
    for language, english, other in pairs:
        sides = {(language, plain(english)), (language, plain(other))}
        if counts[language] < HELD_OUT and not sides & seen:
            held.append((language, english, other))
            counts[language] += 1
            seen |= sides
    return held


def write(path: Path, pairs: list[Pair]) -> None:
    with lzma.open(path, "wt", encoding="utf-8") as file:
        file.writelines("\t".join(pair) + "\n" for pair in pairs)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--translations", type=Path, required=True)
    parser.add_argument("--repositories", type=Path, required=True)
    parser.add_argument("--packages", type=Path, required=True)
    parser.add_argument("--stsb-multi", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    inputs = Inputs(arguments.repositories, arguments.packages, Path())
    people = shuffled(itertools.chain(tables(arguments.translations), tatoeba(inputs)))
    held = hold_out(people)
    unseen = {plain(text) for pair in held for text in pair[1:]}
    sentences = [*people, *shuffled(machine_made(arguments.stsb_multi))]
    known = {word for _, english, _ in sentences for word in plain(english).split()}
    found = [*sentences, *entries(inputs, known)]
    train = [pair for pair in found if plain(pair[1]) not in unseen and plain(pair[2]) not in unseen]
    arguments.out.mkdir(parents=True, exist_ok=True)
    write(arguments.out / "pairs.tsv.xz", train)
    write(arguments.out / "held-out.tsv.xz", held)
    print(dict(Counter(pair[0] for pair in train)), dict(Counter(pair[0] for pair in held)))


if __name__ == "__main__":
    main()
