"""Words that may be names: found by how texts write them and by the group that they are of, and forbidden."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from limelight.explain.leaks import Leaks
from limelight.reading.reading import GOOD_SOUP, Reading
from limelight.text.word_kinds import Names


def reading(text: str) -> Reading:
    """A reading whose words all count 0.1."""
    places, n = [each.span() for each in re.finditer(r"\S+", text)], len(text.split())
    return replace(
        GOOD_SOUP, text=text, offsets=np.array(places), known=np.ones(n, bool), decided=np.full(n, 0.1),
        attention=np.full((2, n), 1 / n),
    )  # fmt: skip


def test_words_written_as_names_and_words_of_one_group_are_found() -> None:
    leaks = Leaks()
    for _ in range(12):
        leaks.add(reading("we liked Paris and the monkeys here"), "A")
    for _ in range(30):
        leaks.add(reading("we liked the rooms and Rome on Monday too"), "B")
    for _ in range(30):
        leaks.add(reading("we liked rooms on Monday"), "C")
    found = {each.word: each for each in leaks.find()}
    assert next(iter(found)) == "rome"  # of the most texts
    assert set(found) == {"paris", "rome", "monkeys", "here", "too"}  # not rooms of two, nor a weekday
    paris, monkeys = found["paris"], found["monkeys"]
    assert (paris.texts, paris.is_name, paris.group, paris.of_group) == (12, True, "A", 12)
    assert (monkeys.is_name, monkeys.group) == (False, "A")
    assert round(paris.weight, 6) == 0.1


def names_in(*texts: str) -> Names:
    """What is known from each of the texts, five times."""
    names = Names()
    for text in texts * 5:
        names.add(text.split())
    return names


def test_a_word_at_the_start_of_a_sentence_or_in_capitals_is_no_name() -> None:
    names = names_in("Rooms are fine . Breakfast was BAD", '" Lobby " : Pool')
    assert not any(map(names.has, ("rooms", "breakfast", "bad", "lobby", "pool")))


def test_without_texts_or_groups_nothing_is_found() -> None:
    assert Leaks().find() == ()
    leaks = Leaks()
    leaks.add(reading("Paris"))
    assert leaks.find() == ()
