"""Hotel reviews with stars, put together from clauses: data to show aspects with that anyone may ship.

Each guest has an opinion of some aspects and gives the stars that these opinions add up to. Nothing is copied
from a real review, and the same number and seed give the same reviews.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from pathlib import Path

_CLAUSES = json.loads(Path(__file__).with_suffix(".json").read_bytes())
# What guests say of each aspect, by its nouns, which but for the first may stand with where it is; how much
# an aspect counts; and how likely a guest of a hotel is to like it.
_SAID, _WEIGHTS, _KNOWN_FOR = _CLAUSES["said"], _CLAUSES["weights"], _CLAUSES["known_for"]
HOTELS = tuple(_KNOWN_FOR)


def made_reviews(count: int, seed: int = 0) -> list[dict[str, str | int]]:
    """Reviews, each with its text, stars from 1 to 5, hotel and month.

    >>> made_reviews(1)[0] == made_reviews(2)[0]
    True
    """
    rng = random.Random(seed)
    return [_review(rng) for _ in range(count)]


def _review(rng: random.Random) -> dict[str, str | int]:
    hotel, month = rng.choice(HOTELS), rng.randrange(1, 13)
    mood = rng.gauss(0, 0.25)  # some guests like everything
    chosen = rng.sample(sorted(_SAID), rng.choice((2, 3, 3, 4)))
    likes = {name: rng.random() < _KNOWN_FOR[hotel].get(name, 0.6) + mood for name in chosen}
    total = sum(_WEIGHTS[name] * (1 if liked else -1) for name, liked in likes.items())
    total /= sum(_WEIGHTS[name] for name in chosen)
    stars = min(5, max(1, round(3 + 2.2 * total + rng.gauss(0, 0.35))))
    opening = rng.choice(_CLAUSES["openings"]).format(n=rng.randrange(2, 8), hotel=hotel)
    ending = _CLAUSES["endings"]["praise" if total > 0 else "blame"]
    said = " ".join(filter(None, [opening, _sentences(rng, likes), rng.choice(ending)]))
    return {"text": said, "stars": stars, "hotel": hotel, "month": f"2026-{month:02}"}


def _sentences(rng: random.Random, likes: Mapping[str, bool]) -> str:
    """A clause for each aspect, some joined into one sentence."""
    found: list[str] = []
    before: bool | None = None  # what the last sentence is, if a clause can be added to it
    for name, liked in likes.items():
        clause = _clause(rng, name, liked)
        if before is not None and rng.random() < 0.4:
            found[-1] += f", {'and' if before == liked else 'but'} {clause}"
            before = None
        else:
            found.append(clause)
            before = liked
    return " ".join(f"{each[0].upper()}{each[1:]}{'!' if rng.random() < 0.1 else '.'}" for each in found)


def _clause(rng: random.Random, name: str, liked: bool) -> str:
    where, nouns = _SAID[name]["where"], list(_SAID[name]["nouns"])
    noun = rng.choice(nouns)
    if noun in (nouns[0], where.split()[-1]) or rng.random() >= 0.4:
        where = ""
    return f"the {noun}{where} was {rng.choice(_SAID[name]['nouns'][noun]['praise' if liked else 'blame'])}"
