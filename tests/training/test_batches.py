"""Which rows form a batch, and their ids as one padded array: what must hold for any lengths."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from limelight.text.batches import POOL, gather, row_lengths, training_plan
from limelight.text.dataset import Dataset, Split
from limelight.training.evaluate import reading_plan
from training import toys

some_lengths = st.lists(st.integers(1, 200), min_size=1, max_size=400).map(np.array)


def flat(plan: list[np.ndarray]) -> list[int]:
    return [int(row) for rows in plan for row in rows]


@examples(60)
@given(some_lengths, st.integers(1, 70), st.integers(0, 5), st.integers(0, 5))
def test_an_epoch_has_every_row_once_and_no_small_batch_but_one(
    lengths: np.ndarray, batch: int, seed: int, epoch: int
) -> None:
    plan = training_plan(lengths, batch, seed, epoch)
    assert sorted(flat(plan)) == list(range(len(lengths)))
    sizes = sorted(map(len, plan), reverse=True)
    full, rest = divmod(len(lengths), batch)
    assert sizes == [batch] * full + [rest] * (rest > 0)


def test_the_order_follows_from_seed_and_epoch_alone() -> None:
    lengths = np.random.default_rng(0).integers(1, 100, 1000)
    np.random.seed(1)
    first = flat(training_plan(lengths, 8, seed=3, epoch=2))
    np.random.seed(2)
    np.random.default_rng().random(5)
    assert flat(training_plan(lengths, 8, seed=3, epoch=2)) == first
    others = [flat(training_plan(lengths, 8, seed, epoch)) for seed, epoch in ((3, 3), (2, 2), (2, 3))]
    assert first not in others


def test_sentences_of_like_length_are_together() -> None:
    lengths = np.exp(np.random.default_rng(0).normal(4.5, 0.75, 20_000)).astype(int) + 1

    def waste(plan: list[np.ndarray]) -> float:
        return sum(len(rows) * lengths[rows].max() for rows in plan) / lengths.sum() - 1

    assert waste(training_plan(lengths, 32, 0, 0)) < 0.15
    shuffled = np.random.default_rng(0).permutation(20_000)
    assert waste(np.array_split(shuffled, 625)) > 1, "the lengths of this test are too even to show anything"


def test_batches_come_in_random_order() -> None:
    lengths = np.arange(1, 32 * POOL + 1)
    order = np.array([lengths[rows].mean() for rows in training_plan(lengths, 32, 0, 0)])
    assert abs(np.corrcoef(order, np.arange(POOL))[0, 1]) < 0.4


@examples(60)
@given(some_lengths, st.integers(1, 500))
def test_reading_covers_every_row_once_within_the_budget(lengths: np.ndarray, words: int) -> None:
    split = Split(np.zeros(lengths.sum(), int), lengths)
    plan = reading_plan(split, np.arange(len(lengths)), words)
    assert sorted(flat(plan)) == list(range(len(lengths)))
    assert all(len(rows) == 1 or len(rows) * lengths[rows].max() <= words for rows in plan)
    ends = [lengths[rows].max() for rows in plan]
    assert ends == sorted(ends, reverse=True)


@examples(40)
@given(st.integers(0, 1000), st.booleans(), st.integers(0, 3))
def test_gathering_is_the_plain_loop(seed: int, pair: bool, wider: int) -> None:
    split = toys.split(17, pair, False, seed)
    rows = np.random.default_rng(seed).integers(0, 17, 6)
    width = 12 + wider if wider else None
    batch = gather(split, rows, width)
    for ids, lengths, found, own in (
        (split.ids, split.lengths, batch.ids, batch.lengths),
        (split.ids2, split.lengths2, batch.ids2, batch.lengths2),
    ):
        if ids is None or lengths is None:
            assert found is None
            continue
        sentences = np.split(ids, np.cumsum(lengths)[:-1])
        longest = max(len(sentences[row]) for row in rows)
        expected = [[*sentences[row], *[0] * ((width or longest) - len(sentences[row]))] for row in rows]
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(own, [len(sentences[row]) for row in rows])
    np.testing.assert_array_equal(batch.labels, split.labels[rows])


def test_pairs_are_sorted_by_their_longer_sentence() -> None:
    split = Split(np.arange(5), np.array([4, 1]), None, None, np.arange(5), np.array([2, 3]))
    assert row_lengths(split).tolist() == [4, 3]


class Watched(np.ndarray):
    """Counts the elements that are read through an index."""

    read = 0

    def __getitem__(self, index):  # type: ignore[no-untyped-def]
        found = super().__getitem__(index)
        Watched.read += np.size(found)
        return np.asarray(found)


def test_a_batch_reads_its_own_words_and_no_others(tmp_path: Path) -> None:
    made = toys.dataset(rows=400)
    made.save(tmp_path / "data")
    split = Dataset.open(tmp_path / "data").splits["train"]
    assert all(isinstance(array, np.memmap) for array in split.arrays().values())
    rows = np.array([3, 77, 391])
    watched = Split(split.ids.view(Watched), split.lengths, split.labels)
    Watched.read = 0
    found = gather(watched, rows)
    assert Watched.read == split.lengths[rows].sum() == found.lengths.sum()


def test_the_order_does_not_depend_on_where_the_lengths_lie(tmp_path: Path) -> None:
    made = toys.dataset(rows=100)
    made.save(tmp_path / "data")
    lengths = row_lengths(Dataset.open(tmp_path / "data").splits["train"])
    assert flat(training_plan(lengths, 8, 0, 0)) == flat(training_plan(made.splits["train"].lengths, 8, 0, 0))


@pytest.mark.parametrize("batch", [1, 7, 50, 1000])
def test_any_batch_size_works(batch: int) -> None:
    assert sorted(flat(training_plan(np.full(50, 3), batch, 0, 0))) == list(range(50))
