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
from limelight.model.lstm.persistent import (
    MAXIMUM_UNITS,
    SHARED_MEMORY,
    Sizes,
    _backwards,
    _by_block,
    _by_gates,
    _by_pairs,
    _forwards,
    _program,
    _with_ones,
)
from limelight.model.lstm.recurrence import by_recurrence


def random(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64) / 2


def states_by_thread_blocks(S, W_ih, W_hh, b, direction):
    """H (n, u) of one sentence: each thread block multiplies all states with its own part of W_hh."""
    n, u = len(S), W_hh.shape[2]
    sizes = Sizes.of(u)
    W_1 = _by_pairs(torch.cat([W_ih, b.unsqueeze(2)], 2), _with_ones(S).shape[1], sizes)
    gates = (_with_ones(S) @ W_1.T).view(n, 2, sizes.width // 2, 4, 2)[
        :, direction
    ]  # pair, gate, of the pair
    W_f = _forwards(_by_block(W_hh, sizes))
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
@given(u=st.integers(1, 60).map(lambda u: 2 * u), d=st.integers(1, 12), n=st.integers(1, 4))
def test_each_thread_block_finds_its_weights(u, d, n):
    torch.manual_seed(u)
    S, W_ih, W_hh, b = random(n, d), random(2, 4 * u, d), random(2, 4 * u, u) / u**0.5, random(2, 4 * u)
    expected = by_recurrence(S[None], torch.tensor([n]), W_ih, W_hh, b, 0.0)[0].numpy()
    for direction in (0, 1):
        found = states_by_thread_blocks(S, W_ih, W_hh, b, direction)
        np.testing.assert_allclose(found, expected[:, direction * u : (direction + 1) * u], atol=1e-12)


@pytest.mark.parametrize("u", [8, 34, 130, 300])
def test_parts_of_the_gradient_add_up(u):
    """dh = dz W_hh, as the sum of what each thread block computes from its own gates."""
    sizes, W_hh, dz = Sizes.of(u), random(2, 4 * u, u), random(2, 4, u)
    W_b = _backwards(_by_block(W_hh, sizes), sizes)  # (2, cluster, own, 4, width, 8)
    padded = torch.zeros(2, 4, 8 * sizes.own * sizes.cluster, dtype=torch.float64)
    padded[..., :u] = dz
    by_block = padded.view(2, 4, sizes.cluster, sizes.own, 8)
    found = torch.einsum("xgcou,xcognu->xn", by_block, W_b)
    torch.testing.assert_close(found[:, :u], torch.einsum("xk,xku->xu", dz.flatten(1), W_hh))
    assert not found[:, u:].any()


@examples(20)
@given(u=st.integers(1, 200).map(lambda u: 2 * u), d=st.integers(1, 9))
def test_weights_come_back_from_the_kernel_s_order(u, d):
    sizes, W = Sizes.of(u), random(2, 4 * u, d)
    there = _by_pairs(W, d + 3, sizes).view(2, 4 * sizes.width, d + 3)
    assert torch.equal(_by_gates(there, sizes)[..., :d], W)


@pytest.mark.parametrize("d", [1, 3, 4, 7, 8, 300])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_a_one_beside_each_word_adds_the_bias(d, dtype):
    S = random(5, d).to(dtype)
    found = _with_ones(S)
    assert found.shape[1] % 8 == 0
    assert torch.equal(found[:, :d], S)
    assert found[:, d].eq(1).all()
    assert not found[:, d + 1 :].any()


@pytest.mark.parametrize("units", range(2, MAXIMUM_UNITS + 1, 6))
def test_every_number_of_units_fits(units):
    sizes = Sizes.of(units)
    assert sizes.cluster * sizes.own >= sizes.blocks
    assert 8 * sizes.blocks >= units
    assert max(sizes.shared_memory) <= SHARED_MEMORY
    assert 2 <= sizes.own <= 8
    assert 8 * sizes.own * -(-sizes.cluster // 2) <= 256  # columns of one wgmma


def test_the_program_names_its_sizes():
    """At the paper's 300 units: a cluster of 6, whose products have 128 and 96 columns, and 168 backwards."""
    program = _program(Sizes.of(300), training=True)
    for text in ("#define CLUSTER 6\n", "#define OWN 7\n", "#define BLOCKS 38\n", "#define PAIRS 150\n"):
        assert text in program
    for columns in (96, 128, 168):
        assert f"wgmma.mma_async.sync.aligned.m64n{columns}k16.f32.bf16.bf16" in program
    assert "PRODUCTS" not in program
