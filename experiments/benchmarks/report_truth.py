"""Whether what a report calls certain is so: checked against what the guests themselves rated.

    python -m experiments.hotels.guests hotels --without not-these.txt --out data/guests
    limelight train data/guests/train.parquet --label stars --task ordinal --preset fast --aspects hotels --out fast-0 ...
    python experiments/benchmarks/report_truth.py fast-0 fast-1 small-0 --guests data/guests/measure.parquet --out truth

Models know stars alone, of other hotels. Three kinds of tables are reported on, by hotel and date: all hotels in one, twelve
hotels each, and each hotel alone. The ratings of the same guests judge: a statement is contradicted if the 95% interval of the
ratings' own difference, or own change, is on the other side of 0. Models are held against each other on the same tables. Profile:
the correlation of hotels' mean effects with their mean ratings, each less the hotel's mean and the aspect's. Quotes are drawn from the tables of twelve and written to
quotes.tsv, to be read. Readings are kept in --out, so that a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as pq

import limelight
from limelight.explain.intervals import Difference, differences, trend
from limelight.explain.lifts import MIN_TEXTS, AspectTexts, Lifts, Quote
from limelight.explain.periods import read_dates
from limelight.explain.statements import GROUP, TREND, certain_statements
from limelight.runtime.model import Model

ASPECTS = ["service", "cleanliness", "value", "sleep_quality", "rooms", "location"]
ARRAYS = (
    "mentioned",
    "effect",
    "clause_effect",
    "words",
    "clause_words",
    "answers",
    "spans",
    "alone",
    "refits",
)
TOGETHER, QUOTES = 12, 200  # hotels of a table; quotes drawn
PRAISE, BLAME = 4, 3  # ratings from which a guest praises, and up to which one does not


class Guests(NamedTuple):
    """A table of reviews."""

    texts: list[str]
    stars: list[int]
    hotels: list[str]
    dates: list[Any]
    ratings: np.ndarray  # (texts, aspects)

    @classmethod
    def read(cls, path: Path) -> Guests:
        table = pq.read_table(path)
        columns = [table[name].to_pylist() for name in ("text", "stars", "hotel", "date")]
        return cls(*columns, np.stack([table[name].to_numpy() for name in ASPECTS], axis=1).astype(float))

    def tables(self) -> Iterator[tuple[str, np.ndarray]]:
        """The name and the rows of each table that is reported on."""
        hotels = np.array(self.hotels)
        names = list(dict.fromkeys(self.hotels))
        yield "all", np.arange(len(hotels))
        for k in range(0, len(names), TOGETHER):
            yield f"twelve {k // TOGETHER}", np.flatnonzero(np.isin(hotels, names[k : k + TOGETHER]))
        for name in names:
            yield name, np.flatnonzero(hotels == name)


class Read:
    """All that a model makes of the texts; tables of some of them are measured without reading again."""

    def __init__(self, folder: Path, guests: Guests, kept: Path) -> None:
        self.model, self.guests = limelight.load(folder, threads=1), guests
        assert isinstance(self.model, Model)
        if not kept.exists():
            self._read(kept)
        self.arrays = dict(np.load(kept))

    def _read(self, kept: Path) -> None:
        whole, totals = AspectTexts(self.model, self.guests.texts), [np.zeros(2)]
        for reading in self.model.read_stream(self.guests.texts, progress=True):
            whole.add(reading)
            totals.append(np.concatenate([whole.total, whole.refit_total]))
        totals[0] = np.zeros_like(totals[-1])
        part = kept.with_suffix(".part.npz")
        np.savez(part, totals=np.diff(totals, axis=0), **{name: getattr(whole, name) for name in ARRAYS})
        part.rename(kept)

    def report(self, rows: np.ndarray, quoted: bool) -> Lifts:
        """What a report on these rows alone would say; quotes take their time."""
        texts, stars, hotels, dates = ([column[k] for k in rows] for column in self.guests[:4])
        found = AspectTexts(self.model, texts, dates, hotels, "hotel", stars)
        for name in ARRAYS:
            setattr(found, name, self.arrays[name][rows].copy())
        total = self.arrays["totals"][rows].sum(axis=0)
        found.total, found.refit_total = total[:2], total[2:]
        if not quoted:
            found._quotes = lambda *_: iter(())  # type: ignore[method-assign]
        return found.measure()


# ---------------------------------------------------------------- what the guests say

Key = tuple[str, str, str, str]  # table, kind, aspect, hotel


def rated(guests: Guests, name: str, rows: np.ndarray) -> dict[Key, Difference]:
    """By the ratings: how far each hotel of a table is from the others, and how each aspect has changed."""
    hotels, codes = np.unique([guests.hotels[k] for k in rows], return_inverse=True)
    days = read_dates([guests.dates[k] for k in rows]).days
    times = np.array([day.toordinal() for day in days if day], float)
    dated = np.array([day is not None for day in days])
    found = {}
    for a, aspect in enumerate(ASPECTS):
        given = guests.ratings[rows, a]
        for hotel, apart in zip(hotels, differences(given, codes, len(hotels), MIN_TEXTS), strict=True):
            if apart:
                found[name, GROUP, aspect, str(hotel)] = apart
        if change := trend(times, given[dated]):
            found[name, TREND, aspect, ""] = change
    return found


def stated(lifts: Lifts, name: str) -> tuple[dict[Key, int], dict[Key, Difference]]:
    """The sign of what a report calls certain; and all that it has measured."""
    certain = {(name, each.kind, each.aspect, each.group): each.sign for each in certain_statements(lifts)}
    groups = lifts.groups.lifts if lifts.groups else ()
    measured = {(name, GROUP, each.aspect, each.group): each.difference for each in groups if each.difference}
    measured |= {(name, TREND, each.name, ""): each.change for each in lifts.aspects if each.change}
    return certain, measured


def contradicts(sign: int, found: Difference | None) -> bool:
    """Whether an interval is on the other side of 0."""
    return found is not None and (found.high < 0 if sign > 0 else found.low > 0)


def profile(lifts: Lifts, guests: Guests) -> tuple[float, float]:
    """The correlation of effects and ratings by hotel and aspect, less the hotel's mean; and less the aspect's, too."""
    assert lifts.groups is not None
    effects = {(each.group, each.aspect): each.effect.mean for each in lifts.groups.lifts}
    hotels = np.array(guests.hotels)
    given = np.array([guests.ratings[hotels == name].mean(axis=0) for name in lifts.groups.names])
    found = np.array([[effects.get((name, each)) or 0.0 for each in ASPECTS] for name in lifts.groups.names])
    own = [each - each.mean(axis=1, keepdims=True) for each in (found, given)]
    net = [each - each.mean(axis=0) for each in own]
    return tuple(float(np.corrcoef(*map(np.ravel, pair))[0, 1]) for pair in (own, net))  # type: ignore[return-value]


# ---------------------------------------------------------------- quotes


def quotes_of(lifts: Lifts) -> Iterator[tuple[str, Quote]]:
    """All quotes of a report, with their aspects."""
    for each in lifts.aspects:
        yield from ((each.name, quote) for quote in (*each.best, *each.worst))
    for group in lifts.groups.lifts if lifts.groups else ():
        if group.quote:
            yield group.aspect, group.quote


def draw_quotes(found: list[tuple[str, int, Quote]], guests: Guests, out: Path) -> tuple[int, int]:
    """Some of them as a table to be read; how many have a rating on their side, of how many."""
    found = list({(a, k, q.clause): (a, k, q) for a, k, q in found if a in ASPECTS}.values())
    drawn = np.random.default_rng(0).permutation(len(found))[:QUOTES]
    right = 0
    with (out / "quotes.tsv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter="\t")
        writer.writerow(["aspect", "said", "rating", "stars", "clause", "before"])
        for k in drawn:
            aspect, row, quote = found[k]
            rating, praised = guests.ratings[row, ASPECTS.index(aspect)], quote.effect > 0
            right += rating >= PRAISE if praised else rating <= BLAME
            writer.writerow(
                [
                    aspect,
                    "praise" if praised else "blame",
                    int(rating),
                    guests.stars[row],
                    quote.clause,
                    quote.before,
                ]
            )
    return int(right), len(drawn)


# ---------------------------------------------------------------- the table


def row(name: str, bad: int, of: int, goal: str) -> None:
    print(f"| {name} | {bad} of {of:,} ({bad / max(of, 1):.1%}) | {goal} |", flush=True)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path, help="folders of models that know stars alone")
    parser.add_argument("--guests", type=Path, required=True, help="measure.parquet of guests.py")
    parser.add_argument("--out", type=Path, required=True, help="folder for readings and quotes")
    args = parser.parse_args(argv)
    args.out.mkdir(parents=True, exist_ok=True)
    guests = Guests.read(args.guests)
    tables = list(guests.tables())
    truth: dict[Key, Difference] = {}
    for name, rows in tables:
        truth |= rated(guests, name, rows)
    said, measured, quotes = {}, {}, list[tuple[str, int, Quote]]()
    for folder in args.models:
        read = Read(folder, guests, args.out / f"{folder.name}.npz")
        certain, all_measured = dict[Key, int](), dict[Key, Difference]()
        for name, rows in tables:
            lifts = read.report(rows, name.startswith("twelve"))
            for into, new in zip((certain, all_measured), stated(lifts, name), strict=True):
                into.update(new)
            if name.startswith("twelve"):
                quotes += [(aspect, int(rows[each.text]), each) for aspect, each in quotes_of(lifts)]
            if name == "all":
                print(f"| profile of a hotel, {folder.name}; less the aspects' means | "
                      "{:.3f}; {:.3f} | 0.78 |".format(*profile(lifts, guests)))  # fmt: skip
        said[folder.name], measured[folder.name] = certain, all_measured
        for kind, goal in ((GROUP, "2%"), (TREND, "2%")):
            own = [(key, sign) for key, sign in certain.items() if key[1] == kind and key[2] in ASPECTS]
            bad = sum(contradicts(sign, truth.get(key)) for key, sign in own)
            row(f"certain, {kind}, {folder.name}: contradicted by the ratings", bad, len(own), goal)
    for one, other in permutations(said, 2):
        bad = sum(contradicts(sign, measured[other].get(key)) for key, sign in said[one].items())
        row(f"certain by {one}: contradicted by {other}", bad, len(said[one]), "1%")
    row("quotes with a rating on the other side", *_other(draw_quotes(quotes, guests, args.out)), "5%")


def _other(found: tuple[int, int]) -> tuple[int, int]:
    return found[1] - found[0], found[1]


if __name__ == "__main__":
    main()
