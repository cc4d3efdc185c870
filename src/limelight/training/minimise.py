"""The least value of a smooth convex function: L-BFGS. That of PyTorch takes seconds to import."""

from collections.abc import Callable, Sequence

from torch import Tensor

STEPS, HISTORY = 100, 5  # a longer history takes more time than it saves
SHORTEST = 1e-6  # no shorter step is tried


def minimise(loss: Callable[[Tensor], tuple[float, Tensor]], x: Tensor, flat: float) -> Tensor:
    """Where a convex loss, given with its slope, is lowest: where no entry of the slope is above `flat`.

    >>> import torch
    >>> minimise(lambda x: (float((x - 3).square().sum()), 2 * (x - 3)), torch.zeros(2), flat=1e-4).tolist()
    [3.0, 3.0]
    """
    steps: list[tuple[Tensor, Tensor]] = []  # the last ones, and how the slope changed along each
    value, slope = loss(x)
    for _ in range(STEPS):
        if float(slope.abs().max()) < flat:
            break
        direction = _direction(slope, steps)
        down, length = float(direction @ slope), 1.0
        while length > SHORTEST:
            lower, turned = loss(x + length * direction)
            if lower <= value + 1e-4 * length * down:
                break
            length /= 2
        else:
            break
        step, change = length * direction, turned - slope
        steps = [*steps, (step, change)][-HISTORY:] if float(step @ change) > 0 else steps
        x, value, slope = x + step, lower, turned
    return x


def _direction(slope: Tensor, steps: Sequence[tuple[Tensor, Tensor]]) -> Tensor:
    """Downhill, as curved as the last steps have shown."""
    found, shares = -slope, []
    for step, change in reversed(steps):
        shares.append(float(step @ found) / float(step @ change))
        found = found - shares[-1] * change
    if steps:
        step, change = steps[-1]
        found = found * (float(step @ change) / float(change @ change))
    for (step, change), share in zip(steps, reversed(shares), strict=True):
        found = found + (share - float(change @ found) / float(step @ change)) * step
    return found
