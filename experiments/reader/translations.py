r"""Pairs of an English text and its translation, for a reader of several languages.

    python experiments/reader/translations.py --translations FOLDER --repositories CLONES --stsb-multi train-dev.parquet \
        --packages DEBS --out PAIRS

FOLDER holds tables with the columns language, source, english and other, of which Tatoeba's rows are read: the
terms of Multi30k forbid commercial use. CLONES holds Helsinki-NLP/Tatoeba-Challenge and omwn/omw-data, DEBS Debian's
wordnet-base: words of Wiktionary and of the Open Dutch WordNet (CC BY-SA), each beside the English word of its
WordNet sense. Of STS-B the training part is read, but for sentences that the development part has too.

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

# What the pairs are made of: source, licence, where it is.
SOURCES = (
    ("Tatoeba, pairs (manythings.org/anki; Tatoeba Challenge)", "CC BY 2.0 FR", "tatoeba.org; GitHub Helsinki-NLP/Tatoeba-Challenge"),
    ("STS Benchmark, training part, and its machine translations", "CC BY-SA 4.0", "stsb-multi, de fr es nl"),
    ("Wiktionary, words by their WordNet sense", "CC BY-SA 3.0", "GitHub omwn/omw-data at f75be19ec590"),
    ("Open Dutch WordNet", "CC BY-SA 4.0", "GitHub omwn/omw-data at f75be19ec590"),
)  # fmt: skip
HELD_OUT = 1_000  # pairs of a language
LANGUAGES = {"deu": "de", "fra": "fr", "spa": "es", "nld": "nl", "ces": "cs"}
TATOEBA = "Helsinki-NLP/Tatoeba-Challenge"
WORDNETS = "omwn/omw-data"
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


def senses(inputs: Inputs) -> dict[str, str]:
    """The first English word of each sense of WordNet 3.0, by its place and part of speech: 02084071-n."""
    found = {}
    for _, data in inputs.package("wordnet-base", re.compile(r"/data\.(noun|verb|adj|adv)$").search):
        for line in decode(data).splitlines():
            if not line.startswith("  "):
                place, _, part, _, word, *_ = line.split()
                found[f"{place}-{part.replace('s', 'a')}"] = re.sub(r"\(\w+\)$", "", word).replace("_", " ")
    return found


def words(inputs: Inputs) -> Iterator[Pair]:
    english = senses(inputs)
    wanted = re.compile(rf"wns/(?:wikt/wn-wikt-({'|'.join(LANGUAGES)})|nld/wn-data-nld)\.tab").fullmatch
    for _, data in inputs.files(WORDNETS, wanted):
        head, *lines = decode(data).splitlines()
        language = LANGUAGES[head.split("\t")[1]]
        for sense, kind, word in (line.split("\t")[:3] for line in lines if line.count("\t") > 1):
            if kind.endswith(":lemma") and sense in english:
                yield language, english[sense], word.replace("_", " ")


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
    sentences = [*people, *shuffled(machine_made(arguments.stsb_multi)), *shuffled(words(inputs))]
    train = [pair for pair in sentences if plain(pair[1]) not in unseen and plain(pair[2]) not in unseen]
    arguments.out.mkdir(parents=True, exist_ok=True)
    write(arguments.out / "pairs.tsv.xz", train)
    write(arguments.out / "held-out.tsv.xz", held)
    print(dict(Counter(pair[0] for pair in train)), dict(Counter(pair[0] for pair in held)))


if __name__ == "__main__":
    main()
