"""Rows of a table on a GPU and their gradient, against plain operations."""

from __future__ import annotations

import pytest
import torch

from limelight.network.torch.encoder import rows

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("d", [4, 100, 300, 7])
@pytest.mark.parametrize("wider", [0, 4, 5])
def test_rows_on_a_gpu(dtype: torch.dtype, d: int, wider: int) -> None:
    """Gradients may lie in a wider matrix. The first row is padding's: it has none."""
    generator = torch.Generator().manual_seed(d)
    table = torch.randn(50, d, generator=generator).cuda().requires_grad_()
    ids = torch.randint(0, 50, (6, 40), generator=generator).cuda()
    found = rows(table, ids, dtype)
    assert found.dtype == dtype
    assert torch.equal(found, table.detach()[ids].to(dtype))
    gradient = torch.randn(6, 40, d + wider, generator=generator).cuda().to(dtype)[..., :d]
    found.backward(gradient)
    expected = torch.zeros(50, d, dtype=torch.float64, device="cuda")
    expected.index_add_(0, ids.flatten(), gradient.double().flatten(0, 1))
    torch.testing.assert_close(table.grad[1:].double(), expected[1:], rtol=1e-5, atol=1e-5)
    if d % 4 == 0:
        assert not table.grad[0].any()
    assert torch.equal(rows(table, ids.int(), dtype), found)
    assert torch.equal(rows(table.detach(), ids, dtype), found)
