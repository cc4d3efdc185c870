"""Dropout keeps the right share, scales it so that the mean stays, and follows the seed."""

from __future__ import annotations

import pytest
import torch

from limelight.network.torch.shared import Dropout


@pytest.mark.parametrize("p", [0.1, 0.4, 0.5, 0.99])
@pytest.mark.parametrize("shape", [(400_003,), (201, 7, 99)], ids=str)
def test_the_share_that_is_kept_and_its_scale(p: float, shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    x = torch.full(shape, 3.0, requires_grad=True)
    y = Dropout(p)(x)
    kept = y != 0
    assert kept.float().mean().item() == pytest.approx(1 - p, abs=5 * (p * (1 - p) / x.numel()) ** 0.5)
    assert y[kept].unique().tolist() == pytest.approx([3 / (1 - p)], rel=1e-3)
    y.sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad * 3, y)


def test_entries_are_dropped_independently_of_their_neighbours() -> None:
    torch.manual_seed(0)
    y = Dropout(0.5)(torch.ones(400_000)) - 1  # +1 or -1
    for distance in (1, 2, 3, 4, 8, 100):
        assert abs((y[:-distance] * y[distance:]).mean().item()) < 0.01


def test_the_seed_decides() -> None:
    def draw(seed: int) -> torch.Tensor:
        torch.manual_seed(seed)
        return torch.as_tensor(Dropout(0.5)(torch.ones(1000)))

    assert torch.equal(draw(1), draw(1))
    assert not torch.equal(draw(1), draw(2))


def test_evaluation_and_probability_zero_change_nothing() -> None:
    x = torch.randn(50)
    assert torch.equal(Dropout(0.5).eval()(x), x)
    assert torch.equal(Dropout(0.0)(x), x)
