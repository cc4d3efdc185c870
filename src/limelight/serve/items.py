"""What models are asked about: texts, or pairs of them."""

from __future__ import annotations

from collections.abc import Sequence

Item = tuple[str, ...]  # a text, or a pair of texts
CHARACTERS = 5  # of a word: to count words exactly would cost more than it gains


def columns(items: Sequence[Item]) -> list[list[str]]:
    """The texts of all items, and of pairs their second texts.

    >>> columns([("soup", "broth"), ("train", "bus")])
    [['soup', 'train'], ['broth', 'bus']]
    """
    return [list(column) for column in zip(*items, strict=True)]


def estimate_words(items: Sequence[Item]) -> int:
    """About how many words the items have.

    >>> estimate_words([("The soup is cold.",)])
    3
    """
    return sum(len(text) for item in items for text in item) // CHARACTERS
