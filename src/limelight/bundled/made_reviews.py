"""Hotel reviews with stars, put together from clauses: data to show aspects with that anyone may ship.

Each guest has an opinion of some aspects and gives the stars that these opinions add up to. Nothing is copied
from a real review, and the same number and seed give the same reviews.
"""

from __future__ import annotations

import random
from collections.abc import Mapping

HOTELS = ("Harbour House", "The Old Mill", "Park View", "Station Inn")
# What guests say about an aspect, for each noun: when they like it / when they do not. The nouns after the
# first may stand with it, as the first line says.
_SAID = {
    "room": """ in the room
    room: spacious and quiet; spotless; bright and cosy / tiny and dark; noisy all night; freezing
    bed: wonderfully comfortable; huge / hard as a board; too short; far too soft
    mattress: excellent; brand new / lumpy; sagging in the middle
    carpet: soft and clean / full of stains; threadbare
    furniture: elegant; new / worn out; falling apart""",
    "staff": """ on the staff
    staff: friendly and helpful; always smiling; wonderful with our children / rude; unfriendly; hard to find
    receptionist: patient with all our questions; a delight / hopeless; careless with our booking
    manager: kind and generous; quick to help / arrogant; not interested in our complaint
    waiter: charming; very attentive / slow; bad-tempered""",
    "breakfast": """ at breakfast
    breakfast: delicious; fresh and varied; superb / disappointing; the same every day; cold
    coffee: excellent; strong and hot / bitter; undrinkable
    bread: still warm from the oven; fresh / stale; dry
    buffet: generous; beautifully laid out / half empty; a sad sight
    food: a treat every morning; full of flavour / bland; greasy; awful""",
    "bathroom": """ in the bathroom
    bathroom: sparkling clean; modern; surprisingly large / mouldy; dirty; cramped
    shower: powerful; a pleasure / broken; blocked; hardly more than a drip
    water: hot within seconds / cold in the mornings; brown at first
    sink: brand new; spotless / cracked; full of hair""",
    "location": """ there
    location: ideal; perfect for the old town; great / terrible; miles from anything; inconvenient
    street: quiet and safe; charming / loud with traffic; a bit scary at night
    neighbourhood: lively; full of nice little shops / run-down; deserted after six
    area: green and peaceful; lovely for walks / grim; one big building site""",
    "price": """ on the bill
    price: very fair; a bargain; lower than expected / far too high; a rip-off; higher than promised
    bill: correct to the cent; modest / full of extras; wrong twice
    fee: small; waived without asking / never mentioned before; unfair
    rate: reasonable; hard to beat / outrageous; a bad joke""",
}
_WEIGHTS = {"room": 1.2, "staff": 1.1, "breakfast": 0.8, "bathroom": 0.9, "location": 0.6, "price": 0.7}
_KNOWN_FOR = {  # how likely a guest of this hotel is to like it
    "Harbour House": {"location": 0.9, "price": 0.3, "breakfast": 0.8},
    "The Old Mill": {"room": 0.85, "staff": 0.9, "location": 0.35},
    "Park View": {"bathroom": 0.25, "room": 0.4, "price": 0.8},
    "Station Inn": {"staff": 0.3, "room": 0.3, "location": 0.8, "breakfast": 0.35},
}
_OPENINGS = (
    "We spent {n} nights at {hotel}.", "I was here for {n} nights on business.",
    "A short break of {n} nights.", "We came with friends for {n} nights.", "Our second visit.",
    "I booked this hotel at the last minute.", "We chose this hotel for our anniversary.",
    "Two families, {n} nights.", "",
)  # fmt: skip
_ENDINGS = {
    True: ("We will be back.", "I can recommend this hotel.", "Until next year!", "", "", ""),
    False: ("We will not be back.", "Look elsewhere.", "Next time we will stay at home.", "", "", ""),
}


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
    opening = rng.choice(_OPENINGS).format(n=rng.randrange(2, 8), hotel=hotel)
    said = " ".join(filter(None, [opening, _sentences(rng, likes), rng.choice(_ENDINGS[total > 0])]))
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
    link, *lines = _SAID[name].split("\n")
    first, line = lines[0].split(":")[0].strip(), rng.choice(lines)
    noun, _, said = line.strip().partition(": ")
    where = link if noun not in (first, link.split()[-1]) and rng.random() < 0.4 else ""
    return f"the {noun}{where} was {rng.choice(said.split(' / ')[not liked].split('; '))}"
