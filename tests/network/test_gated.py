"""The gated encoder's products: a GPU's way, run on a CPU, against plain operations."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from limelight.network.torch.heads import _Gated, gated


def plainly(M: Tensor, W_p: Tensor, W_h: Tensor) -> Tensor:
    p, h = (torch.einsum("bri,rio->bro", X, W) for X, W in zip(M.chunk(2), (W_p, W_h), strict=True))
    return p * h


@pytest.mark.parametrize("transposed", [False, True])
def test_all_ways_are_the_same(transposed: bool) -> None:
    torch.manual_seed(0)
    M, W_p, W_h, mix = (
        torch.randn(*shape).double() for shape in ((14, 3, 4), (3, 4, 5), (3, 4, 5), (7, 3, 5))
    )
    if transposed:
        M = torch.randn(14, 4, 3).double().transpose(1, 2)
    found = []
    for way in (plainly, gated, _Gated.apply):
        inputs = [x.clone().requires_grad_() for x in (M, W_p, W_h)]
        F_r = way(*inputs)
        found.append([F_r, *torch.autograd.grad(F_r, inputs, mix)])
    for expected, *others in zip(*found, strict=True):
        for other in others:
            torch.testing.assert_close(other, expected)
    assert found[2][0].is_contiguous()
    assert found[2][1].is_contiguous()
