"""What Python does for the persistent LSTM; plain programs take the place of its kernels.

The kernels themselves need a Hopper GPU; `experiments/benchmarks/lstm.py` checks them there against float64.
"""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from limelight.network.torch.lstm.bilstm import by_recurrence
from limelight.network.torch.lstm.persistent import (
    HELD,
    MANY,
    MAXIMUM_UNITS,
    SHARED_MEMORY,
    GateTable,
    Sizes,
    _program,
    by_persistent,
    packing,
    unpacking,
)
from plain_kernels import plain_kernels

CPU = torch.device("cpu")


def random(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64) / 2


@pytest.mark.parametrize("batch", [1, 32, 100, 300, 512, 4096])
@pytest.mark.parametrize("units", range(2, MAXIMUM_UNITS + 1, 10))
def test_every_number_of_units_fits(units, batch):
    sizes = Sizes.of(units, batch)
    assert sizes.cluster * sizes.own >= sizes.blocks
    assert 8 * sizes.blocks >= units
    assert max(sizes.shared_memory) <= SHARED_MEMORY
    assert 2 <= sizes.own <= 8
    assert 8 * sizes.own * -(-sizes.cluster // 2) <= 256  # columns of one wgmma
    assert len(packing(sizes, 5, CPU)[0]) % 4 == len(unpacking(sizes, 5, CPU)[0]) % 4 == 0


@pytest.mark.parametrize(
    ("batch", "cluster", "rows"),
    [(32, 13, 32), (96, 13, 32), (100, 8, 32), (300, 5, 32), (512, 6, 64), (9999, 6, 64)],
)
def test_clusters_are_as_large_as_the_gpu_holds_for_all_tiles(batch, cluster, rows):
    sizes = Sizes.of(300, batch)
    assert (sizes.cluster, sizes.rows) == (cluster, rows)
    assert batch > 512 or 2 * -(-batch // rows) <= HELD.get(cluster, 7)


def test_the_program_names_its_sizes():
    """At the paper's 300 units: a cluster of 6, whose products have 128 and 96 columns, and 168 backwards."""
    program = _program(Sizes.of(300, batch=512), "training")
    for text in ("CLUSTER 6", "OWN 7", "BLOCKS 38", "PAIRS 150", "ROWS 64", "TRAINING 1", "TABLE 0"):
        assert f"#define {text}\n" in program
    for width in (96, 128, 168):
        assert f"wgmma.mma_async.sync.aligned.m64n{width}k16.f32.bf16.bf16" in program
    assert "PRODUCTS" not in program


@pytest.mark.parametrize("units", [2, 16, 64, 72, 150, 300, 512])
def test_many_sentences_are_read_by_the_smallest_clusters_and_the_units_spread_evenly(units):
    sizes = Sizes.of(units, MANY)
    assert sizes == Sizes.of(units, 100 * MANY)
    assert sizes.rows == 64
    assert sizes.own == max(2, -(-sizes.blocks // sizes.cluster))


@examples(15)
@given(
    u=st.integers(1, 60),
    d=st.integers(1, 12),
    lengths=st.lists(st.integers(1, 4), min_size=1, max_size=3),
    as_if=st.sampled_from((1, 200, MANY)),
    clip=st.sampled_from((0.0, 0.05)),
)
def test_states_and_gradients_are_those_of_the_recurrence(u, d, lengths, as_if, clip):
    """Whatever the sizes of clusters and tiles, which are chosen by the number of sentences."""
    torch.manual_seed(u)
    batch, n = len(lengths), max(lengths)
    given = [random(batch, n, d), random(2, 4 * u, d), random(2, 4 * u, u) / u**0.5, random(2, 4 * u)]
    mix, found = random(batch, n, 2 * u), []
    with plain_kernels(as_if):
        for way in (by_recurrence, by_persistent):
            S, *weights = inputs = [x.clone().requires_grad_() for x in given]
            H = way(S, torch.tensor(lengths), *weights, clip)
            found.append([H, *torch.autograd.grad(H, inputs, mix)])
    for expected, ours in zip(*found, strict=True):
        torch.testing.assert_close(ours, expected)


@pytest.mark.parametrize("u", [6, 7])
def test_words_looked_up_in_a_table_are_read_as_given(u):
    torch.manual_seed(u)
    words, W_ih, W_hh, b = random(9, 5), random(2, 4 * u, 5), random(2, 4 * u, u), random(2, 4 * u)
    lengths, ids = torch.tensor([4, 2, 1]), torch.tensor([1, 8, 3, 7, 0, 6, 8], dtype=torch.int32)
    with torch.no_grad(), plain_kernels():
        table = GateTable(words[:7], W_ih, W_hh, b)
        found = table(ids, lengths.cumsum(0) - lengths, lengths, 8, table.of(words[7:]))
        S = torch.zeros(3, 8, 5, dtype=torch.float64)
        for row, own in enumerate(ids.split(lengths.tolist())):
            S[row, : len(own)] = words[own]
        expected = by_recurrence(S, lengths, W_ih, W_hh, b, 0.0)
    torch.testing.assert_close(found, expected)
    assert not found[1, 2:].any()
