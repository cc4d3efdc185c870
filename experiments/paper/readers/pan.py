"""PAN author profiling (2015, 2016): an XML file of tweets per author, and `truth.txt` with age groups."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Literal
from xml.etree import ElementTree

from limelight.errors import LimelightError

from .prepared import About, Parsed, prepared, text_problem
from .sources import Source, open_source
from .splits import Sizes

NO_AGE = "author without an age group"
NOT_ENGLISH = "author does not write English"
NO_TRUTH = "author not in truth.txt"
NO_FILE = "author in truth.txt without an XML file"
Tweet = tuple[str, str, str] | str  # author, age group, text; or why an author is dropped


def prepare_pan(
    source: str | Path,
    out: str | Path,
    *,
    by: Literal["tweet", "author"] = "tweet",
    sizes: Sizes = (68_485, 4_000, 4_000),
    seed: int = 1,
    overwrite: bool = False,
) -> About:
    """Split the English tweets at random: columns text, label (the age group, such as 25-34) and author.

    By tweet, as the paper: the same authors are in all splits. By author: each is in one split only, and the
    sizes, still in tweets, are met to within one author.

    >>> prepare_pan("pan16-english", "data/age")["rows"]  # doctest: +SKIP
    {'train': 68485, 'dev': 4000, 'test': 4000}
    """
    if by not in ("tweet", "author"):
        raise LimelightError(
            f"the split is by {by!r}; it must be by 'tweet' or by 'author'", code="option-value"
        )
    with open_source(source, out) as files:
        truth = files.find("truth.txt")
        ages = _ages(files, truth)
        expected = [NO_AGE, NOT_ENGLISH, NO_TRUTH, NO_FILE]
        with prepared(out, "pan", overwrite, expected, seed=seed, by=by) as tables:
            apart = "author" if by == "author" else None
            tables.split(lambda: _tweets(files, truth, ages), _parse, sizes, seed, apart)
            tables.about["files"] = [files.fingerprint(truth)]
    return tables.about


def documents(xml: bytes, name: str) -> tuple[str, list[str]]:
    """The language of an author's file ('en' if it does not say) and the texts of its documents.

    A DOCTYPE is refused: PAN files have none, and entities defined there can grow without bound.

    >>> documents(b"<author lang='en'><document><![CDATA[Hi & bye]]></document></author>", "a.xml")
    ('en', ['Hi & bye'])
    """
    parser = ElementTree.XMLParser(target=_NoDoctype())
    try:
        root = ElementTree.fromstring(xml, parser)
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise LimelightError(
            f"{name} is not XML as PAN has it: {error}; correct or remove it", code="source-damaged"
        ) from None
    return root.get("lang", "en").lower(), ["".join(d.itertext()).strip() for d in root.iter("document")]


class _NoDoctype(ElementTree.TreeBuilder):
    def doctype(self, name: str, pubid: str | None, system: str | None) -> None:
        raise ValueError("it has a DOCTYPE")


def _ages(files: Source, truth: str) -> dict[str, str]:
    """Author -> age group. A line is id:::gender:::age, and in 2015 five traits after that."""
    ages: dict[str, str] = {}
    for number, line in enumerate(files.lines(truth), 1):
        fields = line.decode("utf-8", "replace").strip().split(":::")
        if fields == [""]:
            continue
        age = fields[2].strip().upper() if len(fields) > 2 else ""
        if not re.fullmatch(r"(\d\d|XX)-(\d\d|XX)", age) or fields[0] in ages:
            raise LimelightError(
                f"{files.path}: {truth}, line {number}: {line.strip()[:60]!r}; "
                "expected id:::gender:::age, with ages like 25-34 or 65-XX and each id once",
                code="source-damaged",
            )
        ages[fields[0]] = age
    return ages


def _tweets(files: Source, truth: str, ages: dict[str, str]) -> Iterator[Tweet]:
    """All tweets, author by author sorted by name, whatever the order on disk."""
    folder = PurePosixPath(truth).parent
    paths = [PurePosixPath(name) for name in files.names]
    found = {p.stem: str(p) for p in paths if p.parent == folder and p.suffix.lower() == ".xml"}
    for author in sorted(ages.keys() | found.keys()):
        if author not in found or author not in ages:
            yield NO_TRUTH if author in found else NO_FILE
        elif ages[author] == "XX-XX":
            yield NO_AGE
        else:
            yield from _read_author(files, found[author], author, ages[author])


def _read_author(files: Source, name: str, author: str, age: str) -> Iterator[Tweet]:
    with files.open(name) as file:
        language, texts = documents(file.read(), f"{files.path}: {name}")
    if language != "en":
        yield NOT_ENGLISH
        return
    for text in texts:
        yield author, age, text


def _parse(tweet: Tweet) -> Parsed:
    if isinstance(tweet, str):
        return tweet
    author, age, text = tweet
    return text_problem(text) or {"text": text, "label": age, "author": author}
