"""A matrix for each row: on a GPU, the results are written in the order in which they are read."""

from __future__ import annotations

import pytest
import torch

from limelight.model.batched_dot import _BatchedDot, batched_dot


@pytest.mark.parametrize("transposed", [False, True])
def test_both_ways_are_the_sum_over_the_inputs(transposed: bool) -> None:
    torch.manual_seed(0)
    X, W, mix = (torch.randn(*shape).double() for shape in ((7, 3, 4), (3, 4, 5), (7, 3, 5)))
    if transposed:
        X = torch.randn(7, 4, 3).double().transpose(1, 2)
    found = []
    for way in (lambda X, W: torch.einsum("bri,rio->bro", X, W), batched_dot, _BatchedDot.apply):
        inputs = [x.clone().requires_grad_() for x in (X, W)]
        Y = way(*inputs)
        found.append([Y, *torch.autograd.grad(Y, inputs, mix)])
    for expected, *others in zip(*found, strict=True):
        for other in others:
            torch.testing.assert_close(other, expected)
    assert found[2][0].is_contiguous()
    assert found[2][1].is_contiguous()
