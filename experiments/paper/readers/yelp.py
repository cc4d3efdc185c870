"""Yelp reviews: the academic data set (JSON lines, any size) and `yelp_review_full_csv`."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from limelight.errors import LimelightError

from .prepared import BROKEN_JSON, About, Item, Parsed, Tables, json_object, prepared, text_problem
from .sources import Source, open_source
from .splits import Sizes

REVIEWS = ("yelp_academic_dataset_review.json", "review.json")  # the second in some years
STRANGE_STARS = "stars not 1 to 5"


def prepare_yelp(
    source: str | Path,
    out: str | Path,
    *,
    sizes: Sizes = (500_000, 2_000, 2_000),
    seed: int = 1,
    overwrite: bool = False,
) -> About:
    """Draw the paper's random splits from the academic data set: columns text and label (1 to 5 stars).

    `source` is the file of reviews itself, plain or compressed, or a folder, zip or tar that holds it. It is
    read twice; the same file, sizes and seed give the same tables. Rows keep the order of the file.

    >>> prepare_yelp("yelp_dataset.tar", "data/yelp")["rows"]  # doctest: +SKIP
    {'train': 500000, 'dev': 2000, 'test': 2000}
    """
    with open_source(source, out) as files:
        alone = files.names == [files.path.name]  # a single file may have any name
        name = files.names[0] if alone else files.find(*REVIEWS)
        with prepared(out, "yelp", overwrite, seed=seed) as tables:
            tables.split(lambda: files.lines(name), _from_json, sizes, seed)
            tables.about["files"] = [files.fingerprint(name)]
    return tables.about


def prepare_yelp_full(
    source: str | Path,
    out: str | Path,
    *,
    sizes: Sizes = (None, 2_000, None),
    seed: int = 1,
    overwrite: bool = False,
) -> About:
    """The folder or tar `yelp_review_full_csv`; development rows are drawn from train.csv.

    >>> prepare_yelp_full("yelp_review_full_csv.tgz", "data/yelp-full")["rows"]  # doctest: +SKIP
    {'train': 648000, 'dev': 2000, 'test': 50000}
    """
    with open_source(source, out) as files:
        train, test = files.find("train.csv"), files.find("test.csv")
        with prepared(out, "yelp-full", overwrite, seed=seed) as tables:
            split_full(tables, lambda: _csv(files, train), lambda: _csv(files, test), _from_csv, sizes, seed)
            tables.about["files"] = [files.fingerprint(train), files.fingerprint(test)]
    return tables.about


def split_full(
    tables: Tables,
    train: Callable[[], Iterable[Item]],
    test: Callable[[], Iterable[Item]],
    parse: Callable[[Item], Parsed],
    sizes: Sizes,
    seed: int,
) -> None:
    """Split a distribution without a development set: it is drawn from the training set."""
    if len(sizes) != 3:
        raise LimelightError(
            f"sizes are {tuple(sizes)}; give three: train, dev and test", code="option-value"
        )
    tables.split(train, parse, (sizes[0], sizes[1], 0), seed)
    tables.split(test, parse, (0, 0, sizes[2]), seed)


def review(stars: object, text: object) -> Parsed:
    """A row with two checked columns, or the reason to drop it.

    >>> review("4.0", "Good soup.")
    {'text': 'Good soup.', 'label': 4}
    >>> review(3.5, "Good soup.")
    'stars not 1 to 5'
    """
    try:
        number = float(stars) if isinstance(stars, (int, float, str)) and not isinstance(stars, bool) else 0.0
    except (ValueError, OverflowError):
        return STRANGE_STARS
    if number not in (1, 2, 3, 4, 5):
        return STRANGE_STARS
    return text_problem(text) or {"text": str(text), "label": int(number)}


def unescape(text: str) -> str:
    """The original text, for data with backslashes before n and quotation marks.

    >>> unescape('Good.' + chr(92) + 'nReally ' + chr(92) + '"good' + chr(92) + '".')
    'Good.\\nReally "good".'
    """
    return re.sub(r'\\(n|""?)', lambda found: "\n" if found[1] == "n" else '"', text)


def _from_json(line: bytes) -> Parsed:
    row = json_object(line)
    return BROKEN_JSON if row is None else review(row.get("stars"), row.get("text"))


def _csv(files: Source, name: str) -> Iterator[list[str]]:
    csv.field_size_limit(2**31 - 1)
    with files.open(name) as file:
        text = io.TextIOWrapper(file, encoding="utf-8-sig", errors="surrogateescape", newline="")
        reader = csv.reader(text, strict=True)
        try:
            yield from filter(None, reader)  # skip blank lines
        except csv.Error as error:
            raise LimelightError(
                f"{files.path}: {name}, line {reader.line_num}: {error}", code="source-damaged"
            ) from None


def _from_csv(fields: list[str]) -> Parsed:
    return review(fields[0], unescape(fields[1])) if len(fields) == 2 else "not two columns"
