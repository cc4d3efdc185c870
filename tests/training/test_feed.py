"""Batches on the device are those of the host, in few widths."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from limelight.training.step import DeviceFeed, HostFeed, bucket
from training import toys

CPU = torch.device("cpu")


@pytest.mark.parametrize("pair", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("taught", [False, True])
def test_both_feeds_give_the_same_tensors(pair: bool, weighted: bool, taught: bool) -> None:
    split = toys.split(60, pair=pair)
    weights = np.random.default_rng(0).random(60).astype(np.float32) if weighted else None
    targets = np.random.default_rng(1).random((60, 3)).astype(np.float32) if taught else None
    host, device = HostFeed(split, CPU, weights, targets), DeviceFeed(split, CPU, weights, targets)
    for rows in (torch.arange(9), torch.tensor([59]), torch.tensor([5, 5, 2])):
        for width in (12, 16):
            expected, found = host.batch(rows, width), device.batch(rows, width)
            for name, a, b in zip(expected._fields, expected, found, strict=True):
                assert (a is None) == (b is None), name
                if a is not None and b is not None:
                    assert a.dtype == b.dtype, name
                    assert torch.equal(a, b), name


def test_the_device_feed_wants_a_width_and_labels() -> None:
    split = toys.split(5)
    with pytest.raises(ValueError, match="needs a width"):
        DeviceFeed(split, CPU).batch(torch.tensor([0]))


@examples(200)
@given(st.integers(1, 5000))
def test_a_bucket_holds_its_sentences_with_little_waste(n: int) -> None:
    width = bucket(n)
    assert n <= width < n + max(8, n / 8)
    assert bucket(n + 1) >= width
    assert bucket(width) == width


def test_there_are_few_buckets() -> None:
    assert len({bucket(n) for n in range(1, 1001)}) <= 16 + 8 * 4
