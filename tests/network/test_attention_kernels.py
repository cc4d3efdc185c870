"""The attention's kernels against plain operations in float64, on a GPU or in Triton's interpreter."""

from __future__ import annotations

import os

import pytest
import torch

from limelight.network.torch import attention
from limelight.network.torch import attention as kernels

GPU = torch.cuda.is_available()
DEVICE = "cuda" if GPU else "cpu"
pytestmark = pytest.mark.skipif(
    not GPU and os.environ.get("TRITON_INTERPRET") != "1", reason="needs a GPU or TRITON_INTERPRET=1"
)
# The kernels see the size in their tiles, which gradient is given in one of them, and the biases not at all:
# each size once, and all ways with one size of several tiles. In the interpreter, 4,096 words take long.
LARGEST = kernels.MOST_WORDS if GPU else 256
SIZES = [(1, 1, 1), (3, 8, 2), (10, 16, 30), (2, 100, 100), (2, LARGEST, 3)]
WAYS = [(which, bias) for which in ("both", "M", "A") for bias in (False, True)]
CASES = [(size, "both", True) for size in SIZES] + [((3, 150, 30), *way) for way in WAYS]


@pytest.mark.parametrize(("size", "which", "bias"), CASES)
def test_the_attention(
    size: tuple[int, int, int], which: str, bias: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """M, A and all gradients, with more rows than r. The interpreter makes no products of bf16."""
    batch, n, r = size
    if n == LARGEST:  # a thread block of the softmax then has one row
        monkeypatch.setattr(kernels, "MOST_WORDS", LARGEST)
    dtype = torch.bfloat16 if GPU else torch.float16
    generator = torch.Generator().manual_seed(n)
    width, d_a = 70, 24
    shapes = [(batch, n, width), (d_a, width), (d_a,), (r + batch % 3, d_a), (r + batch % 3,)]
    given = [
        (torch.randn(shape, generator=generator) / (1 if k == 0 else 5)).to(DEVICE, dtype)
        for k, shape in enumerate(shapes)
    ]
    lengths = torch.randint(1, n // 2 + 2, (batch,), generator=generator).to(DEVICE)
    dM, dA = (torch.randn(batch, r, k, generator=generator).to(DEVICE) for k in (width, n))
    assert kernels.can_attend(given[0], r) == GPU
    found, expected = (
        with_gradients(way, [x.to(kind) for x in given], bias, lengths, r, dM, dA, which)
        for way, kind in ((kernels.attend, dtype), (plainly, torch.float64))
    )
    padding = torch.arange(n, device=DEVICE) >= lengths[:, None]
    assert not found[1].transpose(1, 2)[padding].any()
    if bias:  # b_s2's gradient is 0, up to the rounding of what is summed, which W_s2's shows
        assert found.pop().norm() <= 0.01 * expected[-2].norm() + 0.01
        expected.pop()
    for mine, theirs in zip(found, expected, strict=True):
        assert (mine.double() - theirs).norm() <= 0.02 * theirs.norm() + 0.02


def plainly(H, W_s1, b_s1, W_s2, b_s2, lengths, r):
    hidden = torch.tanh(torch.nn.functional.linear(H, W_s1, b_s1))
    scores = torch.nn.functional.linear(hidden, W_s2, b_s2)[..., :r]
    A = attention.masked_softmax(scores.transpose(1, 2), lengths)
    return A @ H, A


def with_gradients(way, given, bias, lengths, r, dM, dA, which):
    H, W_s1, b_s1, W_s2, b_s2 = given = [x.requires_grad_() for x in given]
    M, A = way(H, W_s1, b_s1 if bias else None, W_s2, b_s2 if bias else None, lengths, r)
    total = 0.0
    if which != "A":
        total = total + (M * dM.to(M.dtype)).sum()
    if which != "M":
        total = total + (A * dA.to(A.dtype)).sum()
    return [M, A, *torch.autograd.grad(total, given if bias else [H, W_s1, W_s2])]


def test_what_is_too_large_for_the_kernels() -> None:
    assert kernels.can_attend(torch.zeros(1, 4096, 3, device=DEVICE).bfloat16(), 128) == GPU
    assert not kernels.can_attend(torch.zeros(1, 4097, 3, device=DEVICE).bfloat16(), 128)
    assert not kernels.can_attend(torch.zeros(1, 4096, 3, device=DEVICE).bfloat16(), 129)


def test_a_machine_that_only_predicts_needs_no_compiler() -> None:
    with torch.no_grad():
        assert not kernels.can_attend(torch.zeros(1, 2, 3, device=DEVICE).bfloat16(), 2)
