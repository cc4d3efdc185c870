"""What is chosen where the user names no preset."""

from __future__ import annotations

import pytest

from limelight.config.presets import (
    AUTO,
    FAST_TWO_EPOCHS,
    FOUR_EPOCHS,
    LONG,
    MIN_CLASS_ROWS,
    ONE_EPOCH,
    ONE_EPOCH_LONG,
    TWO_EPOCHS,
    Size,
    choose,
    describe,
    given_to_choose,
    preset,
)
from limelight.config.recipe import TextRecipe
from limelight.text.encode import encode_texts


def settled(size, given=(), **options):
    return choose(size).apply(preset(AUTO).override(**options), given)


def test_few_rows_of_each_class_leave_the_reader_as_it_is():
    few, enough = (Size(rows, 2000, 5) for rows in (5 * MIN_CLASS_ROWS - 1, 5 * MIN_CLASS_ROWS))
    assert settled(few).training.epochs == 0
    assert settled(enough) == preset("small")
    assert settled(few._replace(pair=True)) == preset("small")  # a reader has no classifier of pairs
    assert settled(few._replace(classes=0)) == preset("small")


@pytest.mark.parametrize(
    ("words", "name", "epochs"),
    [
        (FOUR_EPOCHS, "small", 4), (FOUR_EPOCHS + 1, "small", 2), (TWO_EPOCHS + 1, "small", 1),
        (ONE_EPOCH, "small", 1), (ONE_EPOCH + 1, "fast", 2), (FAST_TWO_EPOCHS + 1, "fast", 1),
    ],
)  # fmt: skip
def test_the_words_decide_on_reader_and_epochs(words, name, epochs):
    found = settled(Size(10_000, words, 5))
    rate = preset(name).training.learning_rate if epochs == 4 else 1e-3
    assert found == preset(name).override(epochs=epochs, learning_rate=rate)


def test_long_texts_are_left_to_the_fast_reader_sooner():
    words = ONE_EPOCH_LONG + 1
    assert settled(Size(words // LONG, words, 5)).text.start == "reader-fast"
    assert settled(Size(words // LONG + 1, words, 5)).text.start == "reader"
    assert settled(Size(10, ONE_EPOCH_LONG, 0)).text.start == "reader"


def test_pairs_keep_the_reader_that_reads_whole_texts():
    size = Size(10**6, FAST_TWO_EPOCHS, 3, pair=True)
    assert settled(size).text.start == "reader"
    assert "fast" not in describe(settled(size), choose(size), size, cores=2)


def test_what_the_user_gives_stays():
    found = settled(Size(10**6, 10**8, 5), ["epochs", "seed"], epochs=7, seed=3)
    assert (found.text.start, found.training.epochs, found.training.seed) == ("reader-fast", 7, 3)
    assert found.training.learning_rate == preset("fast").training.learning_rate  # that of more epochs
    assert settled(Size(10**6, 10**8, 5), ["seed"], seed=3).training.learning_rate == 1e-3
    assert given_to_choose(AUTO, ["epochs"]) == ["epochs"]
    assert given_to_choose(AUTO, ["epochs", "start"]) is None
    assert given_to_choose("fast", []) is None


def test_only_the_words_that_are_learnt_from_count():
    sizes: list[Size] = []

    def note(size):
        sizes.append(size)
        raise StopAsyncIteration

    for max_length in (0, 3):
        with pytest.raises(StopAsyncIteration):
            encode_texts(
                ["cold soup , again", "tea"], [0, 1], recipe=TextRecipe(max_length=max_length), choose=note
            )
    assert [size.words for size in sizes] == [5, 4]


def test_the_line_names_what_else_there_is():
    size = Size(100, 1300, 10)
    line = describe(settled(size), choose(size), size, cores=1)
    assert line.startswith("100 rows of 13 words: chose preset small, epochs 0, about ")
    assert "as it comes" not in line  # all take seconds
    assert (
        describe(settled(size), choose(size), size, cores=0)
        == "100 rows of 13 words: chose preset small, epochs 0"
    )
    size = Size(100_000, 18_000_000, 5)
    line = describe(settled(size), choose(size), size, cores=2)
    assert "chose preset fast, epochs 2" in line
    assert "small as it comes 4 h" in line


@pytest.mark.parametrize(
    ("rows", "time"),
    [(4_999, "80 s"), (5_000, "2 min")],  # 8 s + 300,000 words, 4 or 5 thirds of them, 180 s a million
)
def test_the_last_classifier_takes_time_too(rows: int, time: str):
    size = Size(rows=rows, words=300_000, classes=5)
    line = describe(settled(size), choose(size), size, cores=2)
    assert f"epochs 1, about {time};" in line
