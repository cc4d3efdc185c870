"""Which rows were learnt from: hashes that stay the same, kept small, and checked when they are read."""

from __future__ import annotations

import base64
import hashlib

import numpy as np
import pytest

from limelight.config.recipe import TextRecipe
from limelight.text.encode import encode_texts
from limelight.text.learnt_rows import LearntRows, row_hash
from refusing import refuses


@pytest.mark.parametrize(
    ("text", "text2", "hashed"),
    [
        ("  Good\tSoup\r\n", None, "good soup"),
        ("Cafe\u0301 😀", None, "caf\u00e9 😀"),
        ("A premise.", "B  said", "a premise.\nb said"),
        ("half \ud800", None, "half ?"),
        ("", None, ""),
    ],
)
def test_a_hash_is_that_of_the_format(text: str, text2: str | None, hashed: str) -> None:
    digest = hashlib.sha256(f"limelight row\n{hashed}".encode()).digest()
    assert row_hash(text, text2) == int.from_bytes(digest[:4], "little")


def test_a_pair_is_not_its_texts_joined() -> None:
    assert len({row_hash("a", "b"), row_hash("a b"), row_hash("b", "a"), row_hash("a")}) == 4


def test_rows_are_found_again_and_others_are_not() -> None:
    texts = [f"text number {k}" for k in range(3000)]
    rows = LearntRows.of([row_hash(text) for text in [*texts, *texts]])
    again = LearntRows.from_fact(rows.to_fact())
    assert again is not None
    assert len(again) == 3000
    assert again.has(texts).all()
    assert not again.has([f"other text {k}" for k in range(3000)]).any()
    joined = again.joined(LearntRows.of([row_hash("new")]))
    assert joined.has(["New", "text number 7", "none"]).tolist() == [True, True, False]
    assert len(rows.to_fact()) == 16_000  # 16 bytes for three rows


@pytest.mark.parametrize(
    "fact",
    [
        "", "soup", "AAAA", "A" * 7, 5, [1], {}, "AAAAAAAAAAA=", "é" * 8,
        base64.b64encode(np.array([5, 3], "<u4").tobytes()).decode(),
        base64.b64encode(np.array([5, 5], "<u4").tobytes()).decode(),
    ],
)  # fmt: skip
def test_what_a_stranger_wrote_is_checked(fact: object) -> None:
    with refuses("file-damaged"):
        LearntRows.from_fact(fact)


def test_the_rows_that_are_held_out_are_not_among_those_learnt_from() -> None:
    texts = [f"soup number {k}" for k in range(40)]
    marked = ["soup"] + [None] * 39
    dataset = encode_texts(
        texts, [k % 2 for k in range(40)], reasons=marked, recipe=TextRecipe(), holdout=0.25
    )
    hashes = {name: split.hashes for name, split in dataset.splits.items()}
    assert hashes["train"] is not None
    assert hashes["dev"] is not None
    assert len(hashes["train"]) == len(dataset.splits["train"])  # further texts have their row's hash
    train, dev = (LearntRows.of(each) for each in hashes.values())
    assert (train.has(texts) ^ dev.has(texts)).all()
    assert dev.has(texts).sum() == 10
