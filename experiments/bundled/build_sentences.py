"""Build the demo sentences in src/limelight/bundled from the ratings in vaderSentiment.

pip download --no-binary :all: --no-deps vaderSentiment==3.3.2
python experiments/bundled/build_sentences.py vaderSentiment-3.3.2.tar.gz
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import html
import io
import lzma
import random
import re
import tarfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import NamedTuple

DATA = Path(__file__).parents[2] / "src" / "limelight" / "bundled"
SHA256 = "5d7c06e027fc8b99238edb0d53d970cf97066ef97654009890b83703849632f9"
INNER = "vaderSentiment-3.3.2/additional_resources/hutto_ICWSM_2014.tar.gz"
FILES = {
    "movie": "hutto_ICWSM_2014/movieReviewSnippets_GroundTruth.txt",
    "news": "hutto_ICWSM_2014/nytEditorialSnippets_GroundTruth.txt",
    "tweet": "hutto_ICWSM_2014/tweets_GroundTruth.txt",
    "product": "hutto_ICWSM_2014/amazonReviewSnippets_GroundTruth.txt",
}
SHARES = {"train": 0.8, "dev": 0.1, "test": 0.1}
SEED = 2017


class Row(NamedTuple):
    id: str
    source: str
    label: str
    text: str


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("sdist", type=Path, help="vaderSentiment-3.3.2.tar.gz")
    rows = distinct(read(parser.parse_args().sdist))
    for name, part in split(families(rows)).items():
        write(DATA / f"sentences-{name}.csv.xz", part)
        labels = Counter(row.label for row in part)
        print(name, len(part), dict(labels.most_common()), dict(Counter(row.source for row in part)))


def read(sdist: Path) -> list[Row]:
    content = sdist.read_bytes()
    if hashlib.sha256(content).hexdigest() != SHA256:
        raise SystemExit(f"{sdist} is not the vaderSentiment 3.3.2 of the package index: its SHA-256 differs")
    with tarfile.open(fileobj=io.BytesIO(content)) as outer:
        resources = outer.extractfile(INNER).read()
    with tarfile.open(fileobj=io.BytesIO(resources)) as inner:
        files = {source: inner.extractfile(name).read() for source, name in FILES.items()}
    return [row for source, table in files.items() for row in parse(source, table)]


def parse(source: str, content: bytes) -> list[Row]:
    fields = [line.split("\t") for line in content.decode().splitlines()]
    return [Row(number, source, label(float(rating)), clean(text)) for number, rating, text in fields]


def label(rating: float) -> str:
    """The class of a mean rating, -4 to 4, by at least 20 people.

    Up to half a point rounds to 0, the raters' "neutral". Beyond 2 is the outer half of each side: VADER's
    lexicon, rated on the same scale, has "good" at 1.9 and "great" at 3.1.
    """
    strength = "" if abs(rating) <= 2 else "very "
    return "neutral" if abs(rating) <= 0.5 else strength + ("positive" if rating > 0 else "negative")


def clean(text: str) -> str:
    """Clean up: some tweets are escaped twice; dashes in the movie reviews are runs of spaces."""
    return " ".join(html.unescape(html.unescape(text)).replace("''", '"').split())


def words(text: str) -> tuple[str, ...]:
    return tuple(re.findall(r"\w+", text.casefold()))


def distinct(rows: list[Row]) -> list[Row]:
    """Keep the first of the rows with the same words: articles occur twice, tweets with more marks."""
    first: dict[tuple[str, ...], Row] = {}
    for row in rows:
        first.setdefault(words(row.text), row)
    first.pop((), None)
    return list(first.values())


def families(rows: list[Row]) -> list[list[Row]]:
    """Group the rows that must stay together: one review or article, or texts one word apart."""
    parent = list(range(len(rows)))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = i = parent[parent[i]]
        return i

    seen: dict[object, int] = {}
    for i, row in enumerate(rows):
        for mark in (f"{row.source} {row.id.split('_')[0]}", *signatures(row.text)):
            parent[root(i)] = root(seen.setdefault(mark, i))
    found = defaultdict(list)
    for i, row in enumerate(rows):
        found[root(i)].append(row)
    return list(found.values())


def signatures(text: str) -> list[frozenset[str]]:
    """Keys that two texts share if they differ by one word more, less or other."""
    kinds = frozenset(words(text))
    return [kinds - {word} for word in (None, *kinds)] if len(kinds) > 3 else []


def split(groups: list[list[Row]]) -> dict[str, list[Row]]:
    """Assign whole families, largest first, to the split that most lacks their kind of row.

    The rows of each split are then shuffled, so its first n are a fair sample.
    """
    shuffler = random.Random(SEED)
    shuffler.shuffle(groups)
    total = Counter((row.source, row.label) for group in groups for row in group)
    parts: dict[str, list[Row]] = {name: [] for name in SHARES}
    filled = {name: Counter() for name in SHARES}
    for group in sorted(groups, key=len, reverse=True):
        kinds = Counter((row.source, row.label) for row in group)

        def lack(name: str, kinds: Counter = kinds) -> float:
            return sum(n * (1 - filled[name][k] / (SHARES[name] * total[k])) for k, n in kinds.items())

        name = max(SHARES, key=lack)
        parts[name] += group
        filled[name] += kinds
    for part in parts.values():
        shuffler.shuffle(part)
    return parts


def write(path: Path, rows: list[Row]) -> None:
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(Row._fields)
    writer.writerows(rows)
    path.write_bytes(lzma.compress(table.getvalue().encode(), preset=9 | lzma.PRESET_EXTREME))


if __name__ == "__main__":
    main()
