"""Zeros beside a matrix, and its gradient."""

from __future__ import annotations

import torch

from limelight.network.torch.shared import pad_to


def test_padding_and_its_gradient() -> None:
    x = torch.arange(6.0).view(2, 3).requires_grad_()
    padded = pad_to(x, 4, 5)
    assert padded.tolist() == [[0, 1, 2, 0, 0], [3, 4, 5, 0, 0], [0] * 5, [0] * 5]
    padded.backward(torch.arange(20.0).view(4, 5))
    assert x.grad is not None
    assert x.grad.tolist() == [[0, 1, 2], [5, 6, 7]]
