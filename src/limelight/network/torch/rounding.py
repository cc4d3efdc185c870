"""Word vectors as they will be stored, in 4 bits, while they are trained."""

from __future__ import annotations

from torch import Tensor

from ..quantise import GROUP, TOP_4


def round_to_4_bits(rows: Tensor) -> Tensor:
    """As `quantise.round_to_4_bits`, on any device.

    >>> import torch
    >>> round_to_4_bits(torch.tensor([[7.0, 0.6] + [0.0] * 30]))[0, :2].tolist()
    [7.0, 1.0]
    """
    groups = rows.reshape(-1, GROUP)
    scale = (groups.abs().amax(1, keepdim=True) / TOP_4).clamp(min=1e-7).half().to(rows.dtype)
    return ((groups / scale).round().clamp(-TOP_4, TOP_4) * scale).view_as(rows)
