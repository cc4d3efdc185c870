"""The order in which the persistent kernel gets its numbers, checked by a plain program that reads them so.

The kernel itself needs a Hopper GPU; `benchmarks/lstm.py` checks it there against float64.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from limelight.model.lstm.layout import HELD, MAXIMUM_UNITS, SHARED_MEMORY, Sizes, columns, packing, unpacking
from limelight.model.lstm.persistent import _program
from limelight.model.lstm.recurrence import by_recurrence

CPU = torch.device("cpu")
BATCHES = st.sampled_from((1, 200, 5000))


def random(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64) / 2


def pick(given, index, shapes):
    """What the kernel `pick` does."""
    numbers = torch.cat([torch.zeros(1, dtype=torch.float64), *(x.flatten() for x in given)])
    found = numbers[index.abs().long()] * torch.where(index < 0, 0.5, 1.0)
    return [x.view(shape) for x, shape in zip(found.split([s.numel() for s in shapes]), shapes, strict=True)]


def with_ones(S):
    """What the kernel `with_ones` does."""
    words, d = S.shape
    return torch.cat([S, S.new_ones(words, 1), S.new_zeros(words, columns(d) - d - 1)], 1)


def states_by_thread_blocks(S, W_ih, W_hh, b, direction, batch):
    """H (n, u) of one sentence: each thread block multiplies all states with its own part of W_hh."""
    (n, d), u = S.shape, W_hh.shape[2]
    sizes = Sizes.of(u, batch)
    W_1, W_f, _ = pick([W_ih, W_hh, b], *packing(sizes, d, CPU))
    gates = (with_ones(S) @ W_1.T).view(n, 2, sizes.width // 2, 4, 2)[:, direction]  # pair, gate, of the pair
    room = 8 * sizes.own * sizes.cluster
    h, c, H = np.zeros(W_f.shape[2] * 8), np.zeros(room), np.zeros((n, u))
    for t in range(n) if direction == 0 else reversed(range(n)):
        z = np.einsum("ckoguv,kv->gcou", W_f[direction].numpy(), h.reshape(-1, 8)).reshape(4, room)
        x = np.zeros((4, room))
        x[:, : sizes.width] = gates[t].permute(1, 0, 2).reshape(4, -1).numpy()
        i, f, o = (np.tanh(z[k] + x[k] / 2) / 2 + 0.5 for k in (0, 1, 3))
        c = f * c + i * np.tanh(z[2] + x[2])
        new = o * np.tanh(c)
        h[: sizes.width], H[t] = new[: sizes.width], new[:u]
    return H


@examples(20)
@given(u=st.integers(1, 60).map(lambda u: 2 * u), d=st.integers(1, 12), n=st.integers(1, 4), batch=BATCHES)
def test_each_thread_block_finds_its_weights(u, d, n, batch):
    torch.manual_seed(u)
    S, W_ih, W_hh, b = random(n, d), random(2, 4 * u, d), random(2, 4 * u, u) / u**0.5, random(2, 4 * u)
    expected = by_recurrence(S[None], torch.tensor([n]), W_ih, W_hh, b, 0.0)[0].numpy()
    for direction in (0, 1):
        found = states_by_thread_blocks(S, W_ih, W_hh, b, direction, batch)
        np.testing.assert_allclose(found, expected[:, direction * u : (direction + 1) * u], atol=1e-12)


@pytest.mark.parametrize("u", [8, 34, 130, 300])
@pytest.mark.parametrize("batch", [32, 4096])
def test_parts_of_the_gradient_add_up(u, batch):
    """dh = dz W_hh, as the sum of what each thread block computes from its own gates."""
    sizes, W_hh, dz = Sizes.of(u, batch), random(2, 4 * u, u), random(2, 4, u)
    _, _, W_b = pick([random(2, 4 * u, 3), W_hh, random(2, 4 * u)], *packing(sizes, 3, CPU))
    padded = torch.zeros(2, 4, 8 * sizes.own * sizes.cluster, dtype=torch.float64)
    padded[..., :u] = dz
    by_block = padded.view(2, 4, sizes.cluster, sizes.own, 8)
    found = torch.einsum("xgcou,xcognu->xn", by_block, W_b)  # of (2, cluster, own, 4, width, 8)
    torch.testing.assert_close(found[:, :u], torch.einsum("xk,xku->xu", dz.flatten(1), W_hh))
    assert not found[:, u:].any()


@examples(20)
@given(u=st.integers(1, 100).map(lambda u: 2 * u), d=st.integers(1, 9), batch=BATCHES)
def test_gradients_come_back_in_pytorch_s_order(u, d, batch):
    """W_1 and, by its gates, W_hh go to the kernel's order; their gradients come from it."""
    sizes, W_ih, W_hh, b = Sizes.of(u, batch), random(2, 4 * u, d), random(2, 4 * u, u), random(2, 4 * u)
    W_1 = pick([W_ih, W_hh, b], *packing(sizes, d, CPU))[0]
    dW_h = torch.zeros(2, sizes.width // 2, 4, 2, sizes.width, dtype=torch.float64)
    for unit in range(u):
        dW_h[:, unit // 2, :, unit % 2, :u] = W_hh.view(2, 4, u, u)[:, :, unit]
    for found, expected in zip(pick([W_1, dW_h], *unpacking(sizes, d, CPU)), (W_ih, W_hh, b), strict=True):
        assert torch.equal(found, expected)


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
