"""The attention's kernels against plain operations in float64, on a GPU or in Triton's interpreter."""

from __future__ import annotations

import os

import pytest
import torch

from limelight.model import attention
from limelight.model import attention_kernels as kernels

GPU = torch.cuda.is_available()
DEVICE = "cuda" if GPU else "cpu"
pytestmark = pytest.mark.skipif(
    not GPU and os.environ.get("TRITON_INTERPRET") != "1", reason="needs a GPU or TRITON_INTERPRET=1"
)
SIZES = [(1, 1, 1), (3, 8, 2), (10, 16, 30), (7, 300, 30), (2, 4096, 5)]


@pytest.mark.parametrize(("batch", "n", "r"), SIZES)
@pytest.mark.parametrize("which", ["both", "A", "rounded"])
def test_the_softmax(batch: int, n: int, r: int, which: str) -> None:
    generator = torch.Generator().manual_seed(n)
    columns = r + batch % 3  # some that are not read
    scores = torch.randn(batch, n, columns, generator=generator).mul(3).bfloat16().to(DEVICE).requires_grad_()
    lengths = torch.randint(1, n + 1, (batch,), generator=generator).to(DEVICE)
    dA, d_rounded = (torch.randn(batch, r, n, generator=generator).to(DEVICE) for _ in range(2))
    d_rounded = d_rounded.bfloat16()
    assert kernels.can_softmax(scores) == GPU
    A, rounded = kernels.masked_softmax(scores, lengths, r)
    exact_scores = scores.detach().double().requires_grad_()
    exact = attention.masked_softmax(exact_scores[..., :r].transpose(1, 2), lengths)
    torch.testing.assert_close(A.double(), exact, rtol=1e-5, atol=1e-9)
    # the interpreter cuts, a GPU rounds
    torch.testing.assert_close(rounded, A.bfloat16(), rtol=0 if GPU else 2**-7, atol=0 if GPU else 1e-38)
    padding = torch.arange(n, device=DEVICE) >= lengths[:, None]
    assert not A.transpose(1, 2)[padding].any()
    given = {"both": [(A, dA), (rounded, d_rounded)], "A": [(A, dA)], "rounded": [(rounded, d_rounded)]}[
        which
    ]
    torch.autograd.backward([x for x, _ in given], [d for _, d in given])
    exact.backward(sum(d.double() for _, d in given))
    torch.testing.assert_close(scores.grad.double(), exact_scores.grad, rtol=1e-2, atol=1e-6)
    assert not scores.grad[padding].any()


@pytest.mark.parametrize(("batch", "n", "r"), [*SIZES, (3, 20, 100)])
def test_the_penalty(batch: int, n: int, r: int) -> None:
    generator = torch.Generator().manual_seed(n)
    A = torch.randn(batch, r, n, generator=generator).softmax(dim=2).to(DEVICE).requires_grad_()
    exact_A = A.detach().double().requires_grad_()
    assert kernels.can_overlap(A) == GPU
    P, exact = kernels.overlap(A), attention._Overlap.apply(exact_A)
    torch.testing.assert_close(P.double(), exact, rtol=1e-5, atol=1e-5)
    mix = torch.arange(1.0, batch + 1, device=DEVICE)
    P.backward(mix)
    exact.backward(mix.double())
    torch.testing.assert_close(A.grad.double(), exact_A.grad, rtol=1e-4, atol=1e-5)


def test_a_machine_that_only_predicts_needs_no_compiler() -> None:
    with torch.no_grad():
        assert not kernels.can_softmax(torch.zeros(1, 2, 3, device=DEVICE).bfloat16())
        assert not kernels.can_overlap(torch.zeros(1, 2, 3, device=DEVICE))
