r"""Build the corpus: sources -> shards of clean, distinct English sentences and passages of many kinds.

    PYTHONHASHSEED=0 python experiments/reader/corpus.py --repositories CLONES --packages DEBS \
        --snli train.parquet --exclude stsb-dev.parquet scifact/corpus.parquet cran.all.1400 ... --out CORPUS

Writes CORPUS/sentences-KIND-N.txt.xz and passages-KIND-N.txt.xz (a text per line), heldout.json (1,000
sentences of each kind) and sources.json (licence, commit or version, and counts of each source). --exclude
names every set that a reader will be evaluated on: their texts and sentences are left out, and every passage
that has one of them.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import random
import re
from collections import defaultdict
from collections.abc import Iterable
from functools import partial
from multiprocessing import Pool
from pathlib import Path
from typing import NamedTuple

from inputs import Fragment, Inputs, Passage, Title, split
from sources import SOURCES, Source, books, tatoeba, wikipedia

HELD_OUT = 1000  # sentences of each kind
SHARD = 300_000
PRESET = 6  # of xz
FRAGMENTS = 60_000  # of a source, at most
MOST = {  # training texts of a kind, at most
    "books": 200_000,
    "computing": 250_000,
    "encyclopedia": 600_000,
    "fragments": 200_000,
    "howto": 300_000,
    "science": 600_000,
    "talk": 1_150_000,
    "passages-encyclopedia": 100_000,
    "passages-science": 180_000,
}
PASSAGE = (60, 250)  # words
MOST_PASSAGES = 40_000  # of a kind that MOST does not name
SYMBOLIC = {"science", "medicine", "computing", "law", "finance", "products", "titles"}  # kinds with symbols

PLAIN = str.maketrans(
    {"“": '"', "”": '"', "’": "'", "‘": "'", "—": " - ", "–": "-", "…": "..."}
    | {
        "\u00a0": " ",
        "\u00ad": "",
        "\n": " ",
        "\t": " ",
        "\u2009": " ",
        "\u202f": " ",
        "\u2002": " ",
        "\u200a": " ",
    }
    | {"\u2010": "-", "\u2011": "-", "\u2212": "-", "\u200b": ""}
)
OK = re.compile(r"[A-Za-z0-9\"'(][A-Za-z0-9 ,.'\"!?;:()%$&/\u00c0-\u017f+-]{5,400}")
SYMBOLS = re.compile(
    r"[A-Za-z0-9\"'(\[\u0370-\u03ff][A-Za-z0-9 ,.'\"!?;:()%$&/+\-=<>~*#@\[\]_|^\u00a1-\u017f\u0370-\u03ff\u2032\u2033"
    r"\u2070-\u209f\u20ac\u2100-\u214f\u2190-\u2194\u2200-\u22ff\u2212]{5,2500}"
)
BAD = re.compile(r"www\.|\.\.\.\.|  |\d{7}|\(\)|[A-Z]{5,} [A-Z]{3,}")
MARK = re.compile(r"[0-9()/&%$+:]")
COMMON = re.compile(
    r"\b(?:the|an?|of|to|and|in|is|was|it|that|for|on|with|as|i|you|he|she|we|they|are|be|this|at|by|his|her|from"
    r"|or|not|have|had|has|do|does|did|what|how|why|when|where|who|my|your|can|could|would|should|there|which"
    r"|will|if|me|so|no|but|one|all|out|up|about|please|get|want|need|like|then|its|any|some|new|more)\b",
    re.I,
)
TEXT_COLUMNS = {
    "text",
    "first",
    "second",
    "premise",
    "hypothesis",
    "title",
    "abstract",
    "claim",
}  # of evaluation
PUNCTUATION = {i: None for i in range(128) if not chr(i).isalnum() and not chr(i).isspace()}

Keyed = tuple[int, str]


def clean(sentence: str) -> str:
    """Plain quotes, dashes and spaces."""
    return re.sub(" +", " ", sentence.translate(PLAIN).strip(" *-"))


def is_good(sentence: str, low: int = 3, high: int = 60, strict: bool = True, symbols: bool = False) -> bool:
    """Does it look like English prose of `low` to `high` words? If strict, it needs a common word too; symbols
    allows = < > and other signs, Greek letters and more digits."""
    words = sentence.count(" ") + 1
    if not low <= words <= high or BAD.search(sentence):
        return False
    if not (SYMBOLS if symbols else OK).fullmatch(sentence):
        return False
    if (
        len(MARK.findall(sentence)) > (0.25 if symbols else 0.15) * len(sentence)
        or not 3 * words <= len(sentence) <= 14 * words
    ):
        return False
    if strict and words >= 5 and not COMMON.search(sentence):
        return False
    return not sentence.isupper()


def key(sentence: str) -> int:
    """The same for sentences with the same letters and digits in the same words. Needs PYTHONHASHSEED=0."""
    return hash(" ".join(sentence.lower().translate(PUNCTUATION).split()))


def texts_of(path: Path) -> list[str]:
    """The texts of an evaluation set: a table (.parquet), lines of JSON (field text), pairs that
    translations.py held out (.tsv.xz), or a SMART collection."""
    import pyarrow.parquet as pq

    if path.name.endswith(".tsv.xz"):
        with lzma.open(path, "rt", encoding="utf-8") as file:
            return [text for line in file for text in line.rstrip("\n").split("\t")[1:]]
    if path.suffix == ".parquet":
        table = pq.read_table(path)
        cells = [cell for name in TEXT_COLUMNS & set(table.column_names) for cell in table[name].to_pylist()]
        joined = [" ".join(cell) for cell in cells if isinstance(cell, list)]
        return joined + [text for cell in cells for text in (cell if isinstance(cell, list) else [cell])]
    if path.suffix == ".jsonl":
        return [json.loads(line)["text"] for line in path.read_text().splitlines()]
    return re.findall(r"^\.[TW]\n(.*?)(?=^\.[A-Z]|\Z)", path.read_text(errors="replace"), re.M | re.S)


def excluded_keys(paths: list[Path]) -> set[int]:
    """Keys of all texts of these sets and of their sentences, as they are and cleaned."""
    texts = [text for path in paths for text in texts_of(path)]
    texts += [sentence for text in texts for sentence in split(text)]
    return {number for text in texts for number in (key(text), key(clean(text)))}


def is_good_passage(passage: str, excluded: set[int]) -> bool:
    """Is it clean, of the right length, and without a text of an evaluation set?"""
    if not is_good(passage, *PASSAGE, symbols=True):
        return False
    # Texts of a few words ("Results.") are in every set.
    return not any(key(sentence) in excluded for sentence in split(passage) if sentence.count(" ") > 3)


class Collected(NamedTuple):
    """What a source gave: the number of its candidates and its good, distinct texts with their keys."""

    candidates: int
    sentences: list[Keyed]
    fragments: list[Keyed]
    passages: list[Keyed]
    titles: list[Keyed]


def wanted_in(text: str, symbols: bool) -> str | None:
    """A sentence or fragment cleaned, or None if it is no good."""
    sentence = clean(text)
    if isinstance(text, Title):
        good = is_good(sentence, 3, 40, strict=False, symbols=True)
    elif isinstance(text, Fragment) or sentence.count(" ") < 2:
        good = is_good(sentence, 2, 8, strict=False, symbols=symbols)
    else:
        good = is_good(sentence, symbols=symbols)
    return sentence if good else None


def read_source(inputs: Inputs, source: Source, excluded: set[int]) -> Collected:
    found = Collected(0, [], [], [], [])
    candidates, seen = 0, set()
    for text in source.read(inputs):
        candidates += 1
        if isinstance(text, Passage):
            passage = clean(text)
            number = key(passage)
            if number not in seen and is_good_passage(passage, excluded):
                seen.add(number)
                found.passages.append((number, passage))
            continue
        sentence = wanted_in(text, source.kind in SYMBOLIC)
        if sentence is None:
            continue
        number = key(sentence)
        if number not in seen:
            seen.add(number)
            place = found.titles if isinstance(text, Title) else found.sentences
            (found.fragments if isinstance(text, Fragment) else place).append((number, sentence))
    return found._replace(candidates=candidates)


def collect(inputs: Inputs, excluded: set[int], cache: Path | None, i: int) -> tuple[int, Collected]:
    """Source i, read or taken from the cache."""
    kept = cache / (re.sub(r"\W+", "-", SOURCES[i].name) + ".json") if cache else None
    if kept and kept.exists():
        return i, Collected(*json.loads(kept.read_text()))
    try:
        found = read_source(inputs, SOURCES[i], excluded)
    except Exception as error:  # a source that cannot be read must not stop the others
        print(f"{SOURCES[i].name}: {error!r}", flush=True)
        return i, Collected(0, [], [], [], [])
    if kept:
        kept.write_text(json.dumps(found))
    return i, found


def origin(source: Source, inputs: Inputs) -> str:
    parts = [f"GitHub {name} at {inputs.commit(name, source.commit)[:12]}" for name in source.repositories]
    parts += [f"Debian {name} {inputs.version(name)}" for name in source.packages]
    return "; ".join(parts) or source.name


def sample(pairs: list[Keyed], seen: set[int], most: int | None) -> list[str]:
    """At most `most` of the texts not seen before, drawn by hash: a sample that ignores the order."""
    fresh = [(number, text) for number, text in pairs if number not in seen]
    if most and len(fresh) > most:
        fresh = sorted(fresh)[:most]
    seen.update(number for number, _ in fresh)
    return [text for _, text in fresh]


def build(
    inputs: Inputs, excluded: set[int], collected: Iterable[tuple[int, Collected]]
) -> tuple[dict[str, list[str]], list[dict]]:
    """The texts of each kind, and a report on each source."""
    seen = set(excluded)
    kinds: dict[str, list[str]] = defaultdict(list)
    report = []
    for i, found in collected:
        source = SOURCES[i]
        if not found.candidates:
            continue
        texts = {
            source.kind: sample(found.sentences, seen, source.most),
            "fragments": sample(found.fragments, seen, FRAGMENTS),
            f"passages-{source.kind}": sample(found.passages, seen, None),
            "titles": sample(found.titles, seen, None),
        }
        for kind, rows in texts.items():
            kinds[kind] += rows
        counts = dict(
            zip(("sentences", "fragments", "passages", "titles"), map(len, texts.values()), strict=True)
        )
        report.append(
            {
                "source": source.name,
                "kind": source.kind,
                "licence": source.licence,
                "where": origin(source, inputs),
                **counts,
                "candidates": found.candidates,
                "left_out_as_evaluation": sum(number in excluded for number, _ in found.sentences),
                "questions": sum(sentence.endswith("?") for sentence in texts[source.kind]),
            }
        )
        print(source.name, found.candidates, counts, flush=True)
    return kinds, report


def write_shards(out: Path, name: str, rows: list[str]) -> None:
    for i in range(0, len(rows), SHARD):
        with lzma.open(out / f"{name}-{i // SHARD}.txt.xz", "wt", encoding="utf-8", preset=PRESET) as file:
            file.write("\n".join(rows[i : i + SHARD]) + "\n")


def _most(kind: str) -> int | None:
    return MOST.get(kind, MOST_PASSAGES if kind.startswith("passages-") else None)


def kind_and_number(given: str) -> tuple[str, int]:
    kind, number = given.split("=")
    return kind, int(number)


def write(kinds: dict[str, list[str]], report: list[dict], out: Path, most: dict[str, int]) -> None:
    out.mkdir(parents=True, exist_ok=True)
    held = {}
    for kind, rows in kinds.items():
        rows.sort()
        random.Random(1).shuffle(rows)
        aside = min(HELD_OUT, len(rows) // 10)
        held[kind], rows = rows[:aside], rows[aside:][: most.get(kind, _most(kind))]
        write_shards(out, kind if kind.startswith("passages-") else f"sentences-{kind}", rows)
        print(kind, len(rows), flush=True)
    (out / "heldout.json").write_text(json.dumps(held))
    (out / "sources.json").write_text(json.dumps(report, indent=1))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--repositories", type=Path, required=True, help="folder of clones named owner+name")
    parser.add_argument("--packages", type=Path, required=True, help="folder of Debian packages (.deb)")
    parser.add_argument("--snli", type=Path, required=True, help="SNLI's training set (.parquet)")
    parser.add_argument("--exclude", type=Path, nargs="+", required=True, help="evaluation sets to leave out")
    parser.add_argument("--out", type=Path, required=True, help="folder for the shards")
    parser.add_argument(
        "--cache", type=Path, help="folder that keeps what each source gave, for the next run"
    )
    parser.add_argument("--only", nargs="+", help="read only these sources, by name")
    parser.add_argument(
        "--most", type=kind_and_number, nargs="*", default=[], metavar="KIND=N", help="in place of MOST's"
    )
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    if os.environ.get("PYTHONHASHSEED") != "0":
        parser.error("run with PYTHONHASHSEED=0: samples are drawn by hash")
    inputs = Inputs(arguments.repositories, arguments.packages, arguments.snli)
    chosen = [i for i, source in enumerate(SOURCES) if not arguments.only or source.name in arguments.only]
    chosen.sort(key=lambda i: SOURCES[i].read not in (wikipedia, books, tatoeba))  # the longest first
    if arguments.cache:
        arguments.cache.mkdir(parents=True, exist_ok=True)
    excluded = excluded_keys(arguments.exclude)
    print(len(excluded), "texts of evaluation sets are left out", flush=True)
    with Pool(arguments.processes) as pool:
        collected = pool.imap(partial(collect, inputs, excluded, arguments.cache), chosen)
        write(*build(inputs, excluded, collected), arguments.out, dict(arguments.most))


if __name__ == "__main__":
    main()
