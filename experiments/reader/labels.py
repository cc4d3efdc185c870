"""Openly licensed labels for tuning a reader: what people call the same, entailed, or opposite.

    PYTHONHASHSEED=0 python experiments/reader/labels.py --repositories CLONES --snli train.parquet \\
        --exclude SETS... --passages CORPUS/passages-*.txt.xz --out LABELS

Writes LABELS/classes.tsv.xz (task, class, text), of SGD, MultiDoGO, Snips, NLU evaluation data (intents) and GoEmotions, and
LABELS/pairs.tsv.xz (task, text, text of the same meaning, text of another meaning or nothing), of SNLI (a premise, what
follows from it, what contradicts it) and of titles with their abstracts. --exclude is corpus.py's.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from corpus import clean, excluded_keys, key
from inputs import Inputs, decode

FEWEST, MOST = 8, 1_500  # texts of a class
NO_INTENT = {"contentonly", "outofdomain", "confirmation", "rejection", "thankyou"}
Labelled = Iterator[tuple[str, str, str]]  # task, class, text


def schema_guided(inputs: Inputs) -> Labelled:
    """What users say when they state what they want; the same intent of two services is one class."""
    wanted = re.compile(r"(train|dev|test)/dialogues_\d+\.json").match
    for _, data in inputs.files("google-research-datasets/dstc8-schema-guided-dialogue", wanted):
        for conversation in json.loads(data):
            for turn in conversation["turns"]:
                for frame in turn["frames"] if turn["speaker"] == "USER" else ():
                    for action in frame["actions"]:
                        if action["act"] == "INFORM_INTENT":
                            domain = frame["service"].split("_")[0]
                            yield "sgd", f"{domain} {action['values'][0]}", turn["utterance"]


def multidogo(inputs: Inputs) -> Labelled:
    name = "awslabs/multi-domain-goal-oriented-dialogues-dataset"
    found = re.compile(r".*annotated_at_sentence_level/(\w+)/train\.tsv").match
    for path, data in inputs.files(name, found):
        rows = [line.split("\t") for line in decode(data).splitlines()]
        text, intent = rows[0].index("utterance"), rows[0].index("intent")
        domain = found(path)
        assert domain
        for row in rows[1:]:
            if len(row) == len(rows[0]) and row[intent] not in NO_INTENT and row[intent].isalpha():
                yield f"multidogo {domain[1]}", row[intent], row[text]


def snips(inputs: Inputs) -> Labelled:
    wanted = re.compile(r"2017.*/train_\w+_full\.json").match
    for _, data in inputs.files("sonos/nlu-benchmark", wanted):
        try:
            content = json.loads(data)
        except ValueError:
            content = json.loads(data.decode("latin-1"))
        for intent, rows in content.items():
            for row in rows:
                yield "snips", intent, "".join(part["text"] for part in row["data"])


def home(inputs: Inputs) -> Labelled:
    wanted = re.compile(r".*Rasa.*/KFold_1/.*\.json").match
    for _, data in inputs.files("xliuhw/NLU-Evaluation-Data", wanted):
        content = json.loads(data)
        for row in content.get("rasa_nlu_data", {}).get("common_examples", ()):
            yield "home", row["intent"], row["text"]


def emotions(inputs: Inputs) -> Labelled:
    names = ""
    for _, data in inputs.files("monologg/GoEmotions-pytorch", lambda p: p == "data/original/labels.txt"):
        names = decode(data)
    labels = names.split()
    for _, data in inputs.files("monologg/GoEmotions-pytorch", lambda p: p == "data/original/train.tsv"):
        for line in decode(data).splitlines():
            text, numbers, _ = line.split("\t")
            if numbers.isdigit():  # one emotion
                yield (
                    "emotions",
                    labels[int(numbers)],
                    re.sub(r"\[NAME\]", "Sam", text).replace("[RELIGION]", "Christian"),
                )


def classes(inputs: Inputs, excluded: set[int]) -> list[tuple[str, str, str]]:
    """Distinct texts, at most MOST of each class with at least FEWEST."""
    found: dict[tuple[str, str], dict[int, str]] = defaultdict(dict)
    for read in (schema_guided, multidogo, snips, home, emotions):
        for task, label, text in read(inputs):
            text = clean(text)
            number = key(text)
            if 2 <= text.count(" ") + 1 <= 60 and text.isprintable() and number not in excluded:
                found[task, label].setdefault(number, text)
    return [
        (task, label, text)
        for (task, label), texts in sorted(found.items())
        if len(texts) >= FEWEST
        for _, text in sorted(texts.items())[:MOST]
    ]


def entailed(path: Path, excluded: set[int]) -> Iterator[tuple[str, str, str, str]]:
    """Premise, what follows from it, what contradicts it."""
    import pyarrow.parquet as pq

    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for row in pq.read_table(path).to_pylist():
        found[row["premise"]][row["label"]].append(row["hypothesis"])
    for premise, labels in found.items():
        other = labels["contradiction"]
        for k, text in enumerate(labels["entailment"]):
            opposite = other[k % len(other)] if other else ""
            if not any(key(part) in excluded for part in (premise, text, opposite) if part):
                yield "snli", clean(premise), clean(text), clean(opposite)


def titles(paths: Iterable[Path]) -> Iterator[tuple[str, str, str, str]]:
    """The title in front of a passage, and the passage without it."""
    for path in paths:
        with lzma.open(path, "rt", encoding="utf-8") as file:
            for line in file:
                title, _, text = line.rstrip("\n").partition(". ")
                if 4 <= title.count(" ") + 1 <= 25 and text.count(" ") > 40:
                    yield "titles", title, text, ""


def write(path: Path, rows: Iterable[tuple[str, ...]]) -> None:
    counts = Counter[str]()
    with lzma.open(path, "wt", encoding="utf-8", preset=6) as file:
        for row in rows:
            counts[row[0]] += 1
            file.write("\t".join(" ".join(cell.split()) for cell in row) + "\n")
    print(path, dict(counts))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--repositories", type=Path, required=True, help="folder of clones named owner+name")
    parser.add_argument("--snli", type=Path, required=True, help="SNLI's training set (.parquet)")
    parser.add_argument("--exclude", type=Path, nargs="+", required=True, help="evaluation sets to leave out")
    parser.add_argument("--passages", type=Path, nargs="*", default=[], help="passages with titles")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    if os.environ.get("PYTHONHASHSEED") != "0":
        parser.error("run with PYTHONHASHSEED=0: samples are drawn by hash")
    inputs = Inputs(arguments.repositories, Path(), arguments.snli)
    excluded = excluded_keys(arguments.exclude)
    arguments.out.mkdir(parents=True, exist_ok=True)
    write(arguments.out / "classes.tsv.xz", classes(inputs, excluded))
    pairs = [*entailed(arguments.snli, excluded), *titles(arguments.passages)]
    write(arguments.out / "pairs.tsv.xz", pairs)


if __name__ == "__main__":
    main()
