"""Whole hotels with what their guests rated: hotel, date, stars, six aspects, text.

    git clone https://github.com/WillGardella/hotels
    python -m experiments.hotels.guests hotels --without not-these.txt --out data/guests

Of the same repository as make_data.py, with the same files joined to hotels and the same texts left out. Only
reviews with a date count. Writes choose.parquet and measure.parquet, hotels with at least 50 reviews
that rated all six aspects, of which up to 80 are drawn; and train.parquet, reviews of all other hotels,
shuffled. Takes two minutes and 3 GB.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow
import pyarrow.parquet
from experiments.hotels.make_data import (
    Reviews,
    check_known,
    list_files,
    parse_review,
    read_files,
    read_hotels,
)

from limelight.explain.periods import read_dates

KEYS = {
    "service": "Service", "cleanliness": "Cleanliness", "value": "Value", "sleep_quality": "Sleep Quality",
    "rooms": "Rooms", "location": "Location",
}  # fmt: skip
MIN_REVIEWS, MAX_REVIEWS = 50, 80  # of a hotel that rated all six
HOTELS = {"choose": 80, "measure": 240}
TRAIN = 60_000


class Guest(NamedTuple):
    """A review."""

    hotel: int
    date: str
    stars: int
    text: str
    ratings: tuple[int, ...]  # of the six, 0 for none


def parse_guest(hotel: int, review: Any) -> Guest | None:
    """A review with a date; None if it is not used.

    >>> parse_guest(7, {"Ratings": {"Overall": "4", "Rooms": "5"}, "Content": "A clean room, kind staff.",
    ...     "Date": "May 1, 2012"}).ratings
    (0, 0, 0, 0, 5, 0)
    """
    found = parse_review(review)
    if isinstance(found, str) or not str(review.get("Date") or "").strip():
        return None
    ratings = [float(review["Ratings"].get(key) or 0) for key in KEYS.values()]
    whole = tuple(int(x) if x in (1, 2, 3, 4, 5) else 0 for x in ratings)
    return Guest(hotel, str(review["Date"]).strip(), found.stars, found.text, whole)


def read_guests(repository: Path, ignore: list[int]) -> tuple[list[Guest], Reviews]:
    """Each text once, with the file that it is in; and which files are one hotel."""
    files = {hotel: name for hotel, name in list_files(repository).items() if hotel not in ignore}
    same, guests, seen = Reviews(), list[Guest](), set[bytes]()
    for hotel, content in zip(files, read_files(repository, list(files.values())), strict=True):
        reviews = json.loads(content or b"{}").get("Reviews", [])
        same.add(hotel, reviews)
        for guest in filter(None, (parse_guest(hotel, each) for each in reviews)):
            if (key := _key(guest.text)) not in seen:
                seen.add(key)
                guests.append(guest)
    return guests, same


def _key(*parts: Any) -> bytes:
    return hashlib.sha256("\t".join(map(str, parts)).encode()).digest()[:16]


def split(guests: list[Guest], same: Reviews, without: list[int]) -> Iterator[tuple[str, list[Guest]]]:
    """The rows of each table; hotels and reviews in the order of a hash."""
    out = {same.hotel(file) for file in without if file in same._same}
    hotels = defaultdict(list)
    for guest in guests:
        if (hotel := same.hotel(guest.hotel)) not in out:
            hotels[hotel].append(guest._replace(hotel=hotel))
    rated = {hotel: [each for each in rows if all(each.ratings)] for hotel, rows in hotels.items()}
    enough = sorted((h for h, rows in rated.items() if len(rows) >= MIN_REVIEWS), key=_key)
    first = 0
    for name, count in HOTELS.items():
        chosen = enough[first : first + count]
        first += count
        yield name, [each for hotel in chosen for each in sorted(rated[hotel], key=_by_text)[:MAX_REVIEWS]]
    others = hotels.keys() - set(enough[:first])
    yield "train", sorted((each for hotel in others for each in hotels[hotel]), key=_by_text)[:TRAIN]


def _by_text(guest: Guest) -> bytes:
    return _key(guest.text)


def write(rows: list[Guest], file: Path) -> None:
    """A table of them."""
    days = read_dates([each.date for each in rows]).days
    columns: dict[str, Any] = {
        "hotel": [f"hotel {each.hotel}" for each in rows],
        "date": [None if day is None else day.isoformat() for day in days],
        "stars": [each.stars for each in rows], "text": [each.text for each in rows],
    }  # fmt: skip
    columns |= {name: [each.ratings[k] for each in rows] for k, name in enumerate(KEYS)}
    pyarrow.parquet.write_table(pyarrow.table(columns), file, compression="zstd")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("repository", type=Path, help="a clone of WillGardella/hotels, bare or not")
    parser.add_argument("--without", type=Path, required=True, help="file of hotels to leave out")
    parser.add_argument("--ignore", type=int, nargs="+", default=[], help="hotels whose files are not read")
    parser.add_argument("--out", type=Path, required=True, help="folder to write")
    args = parser.parse_args()
    without = read_hotels(args.without)
    check_known(without, list_files(args.repository))
    args.out.mkdir(parents=True, exist_ok=True)
    for name, rows in split(*read_guests(args.repository, args.ignore), without):
        write(rows, args.out / f"{name}.parquet")
        print(f"{name}: {len(rows):,} reviews of {len({each.hotel for each in rows}):,} hotels")


if __name__ == "__main__":
    main()
