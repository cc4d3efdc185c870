"""The name of a class is one more text of it where there are few, if training starts from a reader."""

from __future__ import annotations

import numpy as np
import pytest

from limelight.config.recipe import Recipe
from limelight.runtime.start import load_start
from limelight.text.encode import encode_texts
from limelight.training.starting_network import real_rows

TEXTS = ["where is my card", "the card is late", "how do I top up", "it is not topped up"]
LABELS = ["card_arrival", "card_arrival", "topUp", "topUp"]


@pytest.fixture(scope="module")
def start():
    return load_start("reader")


def encode(start, texts=TEXTS, labels=LABELS, **more):
    recipe = Recipe().override(start="reader", extra_words=20_000).text
    return encode_texts(texts, labels, recipe=recipe, start=start, holdout=0, **more)


def words(dataset, row):
    split = dataset.splits["train"]
    end = int(split.lengths[: row + 1].sum())
    return [dataset.tokenizer.vocabulary[k] for k in split.ids[end - split.lengths[row] : end]]


def test_names_come_last_and_are_no_rows_of_the_table(start):
    dataset = encode(start)
    train = dataset.splits["train"]
    assert [words(dataset, row) for row in (4, 5)] == [["card", "arrival"], ["top", "up"]]
    assert train.labels.tolist() == [0, 0, 1, 1, 0, 1]
    assert dataset.facts["rows"] == {"train": 4}
    assert real_rows(dataset) == 4


@pytest.mark.parametrize(
    ("labels", "added"),
    [
        (["1", "1", "2", "2"], 0),
        (["18-24", "18-24", "old", "old"], 1),  # a name that says nothing is left out
        ([("a b",), ("a b",), ("c d",), ("c d",)], 0),  # a text of several labels is none of one
    ],
)
def test_names_that_say_nothing(start, labels, added):
    assert len(encode(start, labels=labels).splits["train"]) == 4 + added


def test_a_name_counts_as_much_as_a_text_of_its_class(start):
    split = encode(start, weights=[2.0, 2.0, 0.5, 0.5]).splits["train"]
    np.testing.assert_array_equal(split.weights, [2, 2, 0.5, 0.5, 2, 0.5])


def test_with_many_texts_or_without_a_reader_there_are_none(start):
    assert len(encode(start, TEXTS * 10, LABELS * 10).splits["train"]) == 40
    assert len(encode(start, TEXTS * 9, LABELS * 9).splits["train"]) == 38
    assert len(encode_texts(TEXTS, LABELS, recipe=Recipe().text, holdout=0).splits["train"]) == 4
