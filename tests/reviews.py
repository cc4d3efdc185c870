"""Made-up reviews that a tiny model learns in a second."""

from __future__ import annotations

import csv
import random
from pathlib import Path
from typing import Any

from limelight.config.recipe import TextRecipe
from limelight.text.encode import encode_texts
from limelight.text.tokenizer import Tokenizer

GOOD = ("good", "lovely", "fresh", "warm", "friendly")
BAD = ("cold", "stale", "rude", "slow", "bland")
# A network that learns these reviews within two epochs.
QUICK = {"preset": "tiny", "epochs": 3, "learning_rate": 0.02, "random_state": 1}
FLAGS = ["--preset", "tiny", "--epochs", "3", "--learning-rate", "0.02", "--seed", "1", "--quiet"]


def reviews(count: int, seed: int = 0) -> tuple[list[str], list[int]]:
    """Texts and their stars, 1 or 5."""
    rng = random.Random(seed)
    texts, stars = [], []
    for number in range(count):
        words = (BAD, GOOD)[number % 2]
        texts.append(f"The soup was {rng.choice(words)} and the waiter {rng.choice(words)}.")
        stars.append((1, 5)[number % 2])
    return texts, stars


THINGS = {
    "room": ["room", "bed", "pillow", "carpet"], "staff": ["staff", "waiter", "manager", "receptionist"],
    "food": ["food", "soup", "pasta", "dessert"],
}  # fmt: skip
PRAISE = ["clean", "great", "friendly", "terrible", "awful", "lovely"]


def judged_reviews(count: int, seed: int = 0) -> list[str]:
    """Reviews of three things each, two words of a thing within a clause."""
    rng, texts = random.Random(seed), []
    for _ in range(count):
        said = []
        for words in rng.sample(list(THINGS.values()), 2):
            first, second = rng.sample(words, 2)
            said.append(f"The {first} with the {second} was {rng.choice(PRAISE)}")
        plural = said[0].split()[1] + "s"
        texts.append(f"We stayed one time in this hotel. {', '.join(said)}! The {plural} were fine.")
    return texts


def pairs(count: int, seed: int = 0) -> tuple[list[str], list[str], list[str]]:
    """Premises, hypotheses and whether the second agrees with the first."""
    rng = random.Random(seed)
    rows = [(rng.choice(GOOD), rng.choice((BAD, GOOD)[k % 2]), ("no", "yes")[k % 2]) for k in range(count)]
    return (
        [f"The soup was {a}." for a, _, _ in rows],
        [f"It was {b}." for _, b, _ in rows],
        [c for *_, c in rows],
    )


def write_csv(path: Path, **columns: list) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file)
        lines.writerow(columns)
        lines.writerows(zip(*columns.values(), strict=True))
    return path


def review_table(path: Path, count: int = 200, seed: int = 0) -> Path:
    texts, stars = reviews(count, seed)
    return write_csv(path, text=texts, stars=stars)


def words_of(texts: list[str], **options: Any) -> Tokenizer:
    """A tokenizer with the words of these texts, as training has it."""
    return encode_texts(texts, recipe=TextRecipe(**options), holdout=0).tokenizer
