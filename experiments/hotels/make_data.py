r"""Hotel reviews with stars at the paper's scale: 500,000 to train on, 2,000, 2,000 and 10,000 more to test on.

    git clone https://github.com/WillGardella/hotels
    python experiments/hotels/make_data.py hotels --without not-these.txt --out data/hotels

The repository has a file of reviews per hotel, and many hotels have several files under different ids. Files
that share a text are one hotel: it is in one split only, and left out as a whole if --without lists any of
its ids. A row's split depends on a hash of its hotel's lowest id and its place on a hash of its text, so the
first N training rows are a random sample for every N. Texts have single spaces and are distinct; titles
without a review, texts under 20 characters and stars other than 1 to 5 are dropped.

Writes train-N.parquet, dev.parquet, test.parquet and test-10k.parquet (columns stars and text) and about.json
with counts and SHA-256 sums of the rows, which it prints too. Takes two minutes of one core and 2 GB of memory.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow
import pyarrow.parquet
from tqdm import tqdm

from limelight.errors import LimelightError
from limelight.storage.files import FolderLayout, atomic_folder, check_replaceable

SIZES = {"train": 500_000, "dev": 2_000, "test": 2_000, "test-10k": 10_000}
# Percent of the hotels: several times as many reviews as are needed, so that a split has many hotels.
PERCENT = {"dev": 2, "test": 2, "test-10k": 6}
PART = 100_000  # rows of a training file
SHORTEST = 20  # characters
REMNANT = "showReview("  # a script that was cut off with the review; what is left is the title


class Review(NamedTuple):
    stars: int
    text: str


class Reviews:
    """Distinct reviews, and which files are the same hotel because they share one."""

    def __init__(self) -> None:
        self.dropped: Counter[str] = Counter()
        self._first: dict[bytes, tuple[int, Review]] = {}  # by the hash of the text
        self._same: dict[int, int] = {}  # a file's id -> a lower id of the same hotel, or its own

    def add(self, hotel: int, reviews: Iterable[Any]) -> None:
        """Add what is in the file of a hotel."""
        self._same[hotel] = hotel
        for each in reviews:
            review = parse_review(each)
            if isinstance(review, str):
                self.dropped[review] += 1
                continue
            key = hashlib.sha256(review.text.encode()).digest()
            if key in self._first:
                self.dropped["duplicate"] += 1
                self._join(self._first[key][0], hotel)
            else:
                self._first[key] = hotel, review

    def hotel(self, file: int) -> int:
        """The lowest id of the hotel that a file belongs to."""
        while self._same[file] != file:
            self._same[file] = self._same[self._same[file]]
            file = self._same[file]
        return file

    def splits(self, without: Iterable[int]) -> dict[str, list[Review]]:
        """The rows of each split, in their order, without these hotels."""
        out = {self.hotel(file) for file in without if file in self._same}
        found: dict[str, list[Review]] = {name: [] for name in SIZES}
        for _, (file, review) in sorted(self._first.items()):
            hotel = self.hotel(file)
            split = split_of(hotel)
            if hotel in out:
                self.dropped["hotel left out"] += 1
            elif len(found[split]) == SIZES[split]:
                self.dropped["more than needed"] += 1
            else:
                found[split].append(review)
        for name, rows in found.items():
            if len(rows) < SIZES[name]:
                raise LimelightError(
                    f"{len(rows):,} usable reviews for {name}, {SIZES[name]:,} are needed", code="no-rows"
                )
        return found

    def _join(self, a: int, b: int) -> None:
        low, high = sorted((self.hotel(a), self.hotel(b)))
        self._same[high] = low


def parse_review(review: Any) -> Review | str:
    """A review of the repository's JSON, or why it is not used.

    >>> parse_review({"Ratings": {"Overall": "4.0"}, "Content": " Clean  room, kind staff. "})
    Review(stars=4, text='Clean room, kind staff.')
    """
    try:
        text, stars = " ".join(review["Content"].split()), float(review["Ratings"]["Overall"])
        text.encode()
    except (KeyError, TypeError, AttributeError, ValueError):
        return "no text or stars"
    if stars not in (1, 2, 3, 4, 5):
        return "stars not 1 to 5"
    if REMNANT in text:
        return "title only"
    return "too short" if len(text) < SHORTEST else Review(int(stars), text)


def split_of(hotel: int) -> str:
    """The split that a hotel's reviews belong to.

    >>> [split_of(hotel) for hotel in (1, 99, 16, 23)]
    ['train', 'dev', 'test', 'test-10k']
    """
    place = int.from_bytes(hashlib.sha256(str(hotel).encode()).digest()[:8], "big") % 100
    for name, percent in PERCENT.items():
        if place < percent:
            return name
        place -= percent
    return "train"


def list_files(repository: Path) -> dict[int, str]:
    """The files of reviews in the last commit: hotel -> Git's name of the content."""
    lines = git(repository, "ls-tree", "-r", "HEAD", "json/").splitlines()
    found = {}
    for line in lines:
        about, path = line.split("\t")
        name = Path(path)
        if name.suffix == ".json" and name.stem.isdecimal():
            found[int(name.stem)] = about.split()[2]
    if not found:
        raise LimelightError(f"{repository} has no files json/NUMBER.json", code="file-missing")
    return dict(sorted(found.items()))


def git(repository: Path, *arguments: str) -> str:
    """What a Git command prints."""
    try:
        done = subprocess.run(["git", "-C", str(repository), *arguments], capture_output=True, text=True)
    except FileNotFoundError:
        raise LimelightError("reading the repository needs git; install it", code="needs-program") from None
    if done.returncode:
        reason = " ".join(done.stderr.split())
        raise LimelightError(f"git cannot read {repository}: {reason}", code="source-damaged")
    return done.stdout


def read_files(repository: Path, names: Sequence[str]) -> Iterator[bytes | None]:
    """The content of each file by Git's name of it; None for one that the repository lacks."""
    command = ["git", "-C", str(repository), "cat-file", "--batch", "--buffer"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        # From a thread: git stops reading names while nobody reads what it writes.
        threading.Thread(target=_send, args=(process.stdin, names), daemon=True).start()
        for name in names:
            header = process.stdout.readline().split()
            if header[1:] == [b"missing"]:
                yield None
                continue
            if len(header) != 3:
                raise LimelightError(f"git cannot read {name} of {repository}", code="source-damaged")
            yield process.stdout.read(int(header[2]) + 1)[:-1]


def _send(pipe: Any, names: Sequence[str]) -> None:
    with pipe:
        pipe.write("".join(f"{name}\n" for name in names).encode())


def read_reviews(repository: Path, files: dict[int, str]) -> Reviews:
    """All reviews of these files."""
    reviews, missing = Reviews(), []
    contents = tqdm(read_files(repository, list(files.values())), "reading", len(files), unit=" files")
    for hotel, content in zip(files, contents, strict=True):
        if content is None:
            missing.append(hotel)
            continue
        try:
            reviews.add(hotel, json.loads(content)["Reviews"])
        except (ValueError, KeyError, TypeError) as error:
            raise LimelightError(f"json/{hotel}.json is damaged: {error}", code="source-damaged") from None
    if missing:
        raise LimelightError(
            f"{repository} lacks the content of {len(missing)} files: clone it again, or do without them: "
            f"--ignore {' '.join(map(str, missing))}",
            code="file-missing",
        )
    return reviews


def read_hotels(path: Path) -> list[int]:
    """The hotels listed in a file, an id per line."""
    words = path.read_text().split()
    if wrong := [word for word in words if not word.isdecimal()]:
        raise LimelightError(f"{path}: {wrong[0][:40]!r} is not a hotel's number", code="option-value")
    return [int(word) for word in words]


def check_known(hotels: Iterable[int], files: dict[int, str]) -> None:
    """Raise if a hotel is not in the repository: it may be the wrong list."""
    if unknown := [hotel for hotel in hotels if hotel not in files]:
        raise LimelightError(f"the repository has no hotel {unknown[0]}", code="option-value")


def digest(rows: Iterable[Review]) -> str:
    """SHA-256 of the lines "stars<tab>text"."""
    found = hashlib.sha256()
    for row in rows:
        found.update(f"{row.stars}\t{row.text}\n".encode())
    return found.hexdigest()


def describe(splits: dict[str, list[Review]], dropped: Counter[str], commit: str) -> dict[str, Any]:
    """The content of about.json."""
    about = {}
    for name, rows in splits.items():
        stars = sorted(Counter(row.stars for row in rows).items())
        about[name] = {"rows": len(rows), "stars": dict(stars), "sha256": digest(rows)}
    return {"commit": commit, "splits": about, "dropped": dict(sorted(dropped.items()))}


def layout() -> FolderLayout:
    tables = [f"train-{k}" for k in range(-(-SIZES["train"] // PART))] + list(PERCENT)
    files = tuple(f"{name}.parquet" for name in tables)
    return FolderLayout("a folder of hotel reviews", ("about.json", *files), ())


def write(splits: dict[str, list[Review]], about: dict[str, Any], out: Path, overwrite: bool) -> None:
    """Write the tables, all or none."""
    with atomic_folder(out, layout(), overwrite) as folder:
        for name, rows in splits.items():
            parts = range(0, len(rows), PART) if name == "train" else [0]
            for number, start in enumerate(parts):
                file = folder / (f"{name}-{number}.parquet" if name == "train" else f"{name}.parquet")
                write_table(rows[start : start + PART], file)
        (folder / "about.json").write_text(json.dumps(about, indent=2) + "\n")


def write_table(rows: list[Review], file: Path) -> None:
    columns = {"stars": pyarrow.array([row.stars for row in rows], pyarrow.int64())}
    columns["text"] = pyarrow.array([row.text for row in rows], pyarrow.string())
    pyarrow.parquet.write_table(pyarrow.table(columns), file, compression="zstd")


def make(repository: Path, without: list[Path], ignore: list[int], out: Path, overwrite: bool) -> None:
    """Read the repository, write the tables and print what is in them."""
    check_replaceable(out, layout(), overwrite)
    files = list_files(repository)
    left_out = [hotel for path in without for hotel in read_hotels(path)]
    check_known([*left_out, *ignore], files)
    commit = git(repository, "rev-parse", "HEAD").strip()
    reviews = read_reviews(repository, {hotel: name for hotel, name in files.items() if hotel not in ignore})
    splits = reviews.splits(left_out)
    about = describe(splits, reviews.dropped, commit)
    write(splits, about, out, overwrite)
    print(json.dumps(about, indent=2))


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("repository", type=Path, help="a clone of WillGardella/hotels, bare or not")
    parser.add_argument(
        "--without", type=Path, action="append", default=[], help="file of hotels to leave out"
    )
    parser.add_argument("--ignore", type=int, nargs="+", default=[], help="hotels whose files are not read")
    parser.add_argument("--out", type=Path, required=True, help="folder to write")
    parser.add_argument("--overwrite", action="store_true", help="replace existing output")
    args = parser.parse_args(argv)
    try:
        make(args.repository, args.without, args.ignore, args.out, args.overwrite)
    except (LimelightError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
