r"""Build the corpus: sources -> shards of clean, distinct English sentences of eight kinds.

    PYTHONHASHSEED=0 python experiments/reader/corpus.py --repositories CLONES --packages DEBS \
        --snli train.parquet --exclude stsb-dev.parquet banking77-test.parquet nlupp.jsonl ... --out CORPUS

Writes CORPUS/sentences-KIND-N.txt.xz, heldout.json (1,000 sentences of each kind) and sources.json (licence,
commit or version, and counts of each source). --exclude names every set that a reader will be evaluated on:
their sentences are left out.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import random
import re
from collections import defaultdict
from functools import partial
from multiprocessing import Pool
from pathlib import Path

from inputs import Fragment, Inputs
from sources import SOURCES, Source, books, tatoeba, wikipedia

HELD_OUT = 1000  # sentences of each kind
SHARD = 300_000
FRAGMENTS = 60_000  # of a source, at most
MOST = {"books": 300_000, "encyclopedia": 300_000, "howto": 300_000}  # training sentences of a kind, at most

PLAIN = str.maketrans(
    {"“": '"', "”": '"', "’": "'", "‘": "'", "—": " - ", "–": "-", "…": "..."}
    | {"\u00a0": " ", "\u00ad": "", "\n": " ", "\t": " "}
)
OK = re.compile(r"[A-Za-z0-9\"'(][A-Za-z0-9 ,.'\"!?;:()%$&/\u00c0-\u017f+-]{5,400}")
BAD = re.compile(r"www\.|\.\.\.\.|  |\d{7}|\(\)|[A-Z]{5,} [A-Z]{3,}")
MARK = re.compile(r"[0-9()/&%$+:]")
COMMON = re.compile(
    r"\b(?:the|an?|of|to|and|in|is|was|it|that|for|on|with|as|i|you|he|she|we|they|are|be|this|at|by|his|her|from"
    r"|or|not|have|had|has|do|does|did|what|how|why|when|where|who|my|your|can|could|would|should|there|which"
    r"|will|if|me|so|no|but|one|all|out|up|about|please|get|want|need|like|then|its|any|some|new|more)\b",
    re.I,
)
TEXT_COLUMNS = {"text", "first", "second", "premise", "hypothesis"}  # of evaluation sets
PUNCTUATION = {i: None for i in range(128) if not chr(i).isalnum() and chr(i) != " "}

Keyed = tuple[int, str]


def clean(sentence: str) -> str:
    """Plain quotes, dashes and spaces."""
    return re.sub(" +", " ", sentence.translate(PLAIN).strip(" *-"))


def is_good(sentence: str, low: int = 3, high: int = 60, strict: bool = True) -> bool:
    """Does it look like English prose of `low` to `high` words? If strict, it needs a common word too."""
    words = sentence.count(" ") + 1
    if not low <= words <= high or not OK.fullmatch(sentence) or BAD.search(sentence):
        return False
    if len(MARK.findall(sentence)) > 0.15 * len(sentence) or not 3 * words <= len(sentence) <= 14 * words:
        return False
    if strict and words >= 5 and not COMMON.search(sentence):
        return False
    return not sentence.isupper()


def key(sentence: str) -> int:
    """The same for sentences with the same letters, digits and spaces. Needs PYTHONHASHSEED=0."""
    return hash(sentence.lower().translate(PUNCTUATION))


def excluded_keys(paths: list[Path]) -> set[int]:
    """Keys of all texts in tables (.parquet) and lines of JSON (field text), as they are and cleaned."""
    import pyarrow.parquet as pq

    texts: list[str] = []
    for path in paths:
        if path.suffix == ".parquet":
            table = pq.read_table(path)
            for column in TEXT_COLUMNS & set(table.column_names):
                texts += table[column].to_pylist()
        else:
            texts += [json.loads(line)["text"] for line in path.read_text().splitlines()]
    return {number for text in texts for number in (key(text), key(clean(text)))}


def collect(inputs: Inputs, i: int) -> tuple[int, int, list[Keyed], list[Keyed]]:
    """Source i: the number of its candidates, and its good, distinct sentences and fragments."""
    candidates = 0
    sentences: list[Keyed] = []
    fragments: list[Keyed] = []
    seen = set()
    for text in SOURCES[i].read(inputs):
        candidates += 1
        is_fragment = isinstance(text, Fragment)
        sentence = clean(text)
        if is_fragment or sentence.count(" ") < 2:
            if not 1 <= sentence.count(" ") <= 7 or not is_good(sentence, 2, 8, strict=False):
                continue
        elif not is_good(sentence):
            continue
        number = key(sentence)
        if number not in seen:
            seen.add(number)
            (fragments if is_fragment else sentences).append((number, sentence))
    return i, candidates, sentences, fragments


def origin(source: Source, inputs: Inputs) -> str:
    parts = [f"GitHub {name} at {inputs.commit(name)[:12]}" for name in source.repositories]
    parts += [f"Debian {name} {inputs.version(name)}" for name in source.packages]
    return "; ".join(parts) or source.name


def build(
    inputs: Inputs, exclude: list[Path], chosen: list[int], processes: int
) -> tuple[dict[str, list[str]], list[dict]]:
    """The sentences of each kind, and a report on each source."""
    excluded = excluded_keys(exclude)
    seen = set(excluded)
    print(len(excluded), "sentences of evaluation sets are left out", flush=True)
    kinds: dict[str, list[str]] = defaultdict(list)
    report = []
    with Pool(processes) as pool:
        for i, candidates, sentences, fragments in pool.imap(partial(collect, inputs), chosen):
            source = SOURCES[i]
            found = sum(number in excluded for number, _ in sentences)
            sentences = [pair for pair in sentences if pair[0] not in seen]
            fragments = sorted(pair for pair in fragments if pair[0] not in seen)[:FRAGMENTS]
            if source.most and len(sentences) > source.most:
                sentences = sorted(sentences)[: source.most]  # by hash: a sample that ignores the order
            seen.update(number for number, _ in sentences + fragments)
            kinds[source.kind] += [sentence for _, sentence in sentences]
            kinds["fragments"] += [fragment for _, fragment in fragments]
            report.append(
                {
                    "source": source.name,
                    "kind": source.kind,
                    "licence": source.licence,
                    "where": origin(source, inputs),
                    "sentences": len(sentences),
                    "fragments": len(fragments),
                    "candidates": candidates,
                    "left_out_as_evaluation": found,
                    "questions": sum(sentence.endswith("?") for _, sentence in sentences),
                }
            )
            print(f"{source.name}: {candidates} -> {len(sentences)} + {len(fragments)} fragments", flush=True)
    return kinds, report


def write(kinds: dict[str, list[str]], report: list[dict], out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    held = {}
    for kind, rows in kinds.items():
        rows.sort()
        random.Random(1).shuffle(rows)
        held[kind], rows = rows[:HELD_OUT], rows[HELD_OUT:][: MOST.get(kind)]
        for i in range(0, max(1, len(rows)), SHARD):
            with lzma.open(out / f"sentences-{kind}-{i // SHARD}.txt.xz", "wt", encoding="utf-8") as file:
                file.write("\n".join(rows[i : i + SHARD]) + "\n")
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
    parser.add_argument("--only", nargs="+", help="read only these sources, by name")
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    if os.environ.get("PYTHONHASHSEED") != "0":
        parser.error("run with PYTHONHASHSEED=0: samples are drawn by hash")
    inputs = Inputs(arguments.repositories, arguments.packages, arguments.snli)
    chosen = [i for i, source in enumerate(SOURCES) if not arguments.only or source.name in arguments.only]
    chosen.sort(key=lambda i: SOURCES[i].read not in (wikipedia, books, tatoeba))  # the longest first
    write(*build(inputs, arguments.exclude, chosen, arguments.processes), arguments.out)


if __name__ == "__main__":
    main()
