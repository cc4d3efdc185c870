"""The GPU kernels beside float64 arithmetic; `network/test_triton.py` runs this file in a process of its own.

Triton's interpreter runs them on a CPU, and is switched on before Triton is imported: TRITON_INTERPRET=1.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from torch import Tensor

import reference
from limelight.network.torch.lstm.bilstm import by_recurrence
from limelight.network.torch.lstm.triton_kernels import by_triton
from limelight.training import optimiser, step

pytestmark = pytest.mark.skipif(os.environ.get("TRITON_INTERPRET") != "1", reason="needs TRITON_INTERPRET=1")

# (sentences, words, inputs, units) and the bound on the gates' gradients: tiles of 16 or 64 sentences and
# 16 or 32 units, one or several of each, full or not; with 130 units a product is summed in several pieces
CASES = [
    ((3, 3, 7, 4), 0.0),
    ((17, 3, 4, 17), 0.05),
    ((40, 2, 3, 33), 0.0),
    ((130, 2, 3, 33), 0.0),
    ((2, 2, 3, 130), 0.0),
]
STATES = {"sgd": 0, "adagrad": 1, "adam": 2, "adamw": 2}  # numbers kept for each weight


@pytest.fixture(autouse=True)
def exact() -> Iterator[None]:
    before = torch.backends.cudnn.allow_tf32
    torch.backends.cudnn.allow_tf32 = False
    yield
    torch.backends.cudnn.allow_tf32 = before


def problem(batch: int, n: int, d: int, u: int, dtype: torch.dtype) -> tuple[Tensor, list[Tensor], Tensor]:
    """Lengths of 1 to n with both among them; S, W_ih, W_hh and b; a weight for every number of H."""
    torch.manual_seed(0)
    lengths = torch.cat([torch.tensor([n, 1]), torch.randint(1, n + 1, (batch - 2,))])
    shapes = [(batch, n, d), (2, 4 * u, d), (2, 4 * u, u), (2, 4 * u)]
    given = [torch.randn(shape).to(dtype) / (1 if k == 0 else u**0.5) for k, shape in enumerate(shapes)]
    return lengths, given, torch.randn(batch, n, 2 * u)


def with_slopes(way, lengths: Tensor, given: list[Tensor], upstream: Tensor, clip: float) -> list[Tensor]:
    """H and its gradient with respect to everything given."""
    given = [x.detach().clone().requires_grad_() for x in given]
    S, *weights = given
    H = way(S, lengths, *weights, clip)
    return [H, *torch.autograd.grad((H * upstream.to(H.dtype)).sum(), given)]


@pytest.mark.parametrize(("sizes", "clip"), CASES, ids=str)
def test_the_lstm_and_its_gradient(sizes, clip):
    lengths, given, upstream = problem(*sizes, torch.float32)
    exactly = [x.double() for x in given]
    found = with_slopes(by_triton, lengths, given, upstream, clip)
    expected = with_slopes(by_recurrence, lengths, exactly, upstream, clip)
    for mine, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(
            mine.double(), theirs, rtol=0, atol=2e-6 * max(1, theirs.abs().max().item())
        )


def test_the_lstm_is_the_paper_s():
    """Against the formulas in numpy, sentence by sentence; beyond a sentence's end H is zero."""
    lengths, given, _ = problem(5, 6, 3, 20, torch.float32)
    H = by_triton(given[0], lengths, *given[1:])
    S, *weights = (x.double().numpy() for x in given)
    for sentence, length, states in zip(S, lengths.tolist(), H.numpy(), strict=True):
        expected = reference.bilstm(sentence[:length], *weights)
        np.testing.assert_allclose(states[:length], expected, rtol=0, atol=1e-6)
        assert not states[length:].any()


def test_the_lstm_in_half_precision():
    """As in bf16, of which the interpreter makes no products: sums and cells are still in float32."""
    lengths, given, upstream = problem(17, 3, 5, 20, torch.float16)
    exactly = [x.double() for x in given]
    found = with_slopes(by_triton, lengths, given, upstream, 0.0)
    expected = with_slopes(by_recurrence, lengths, exactly, upstream, 0.0)
    for mine, theirs in zip(found, expected, strict=True):
        assert mine.dtype == torch.float16
        assert (mine.double() - theirs).norm() < 0.001 * theirs.norm()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("rule", optimiser.RULES)
def test_the_update(rule, dtype):
    """Five steps of 5,000 weights (four blocks and a part of one) beside the plain rule in float64."""
    torch.manual_seed(1)
    start = torch.randn(5000, dtype=dtype)
    w, state = start.clone(), [torch.zeros_like(start) for _ in range(STATES[rule])]
    exact_w, exact_state = start.double().clone(), [torch.zeros(5000).double() for _ in range(STATES[rule])]
    for t in range(1, 6):
        g = torch.randn(5000, dtype=dtype)
        numbers = torch.tensor([0.01, 0.5, t, 1 - 0.9**t, 1 - 0.999**t, 0.1, 1e-8]).double()
        optimiser._on_gpu(rule, w, g, state, numbers, None)
        optimiser._in_plain_operations(rule, exact_w, g.double(), exact_state, numbers)
    tolerance = 2e-6 if dtype == torch.float32 else 1e-14
    for mine, expected in zip([w, *state], [exact_w, *exact_state], strict=True):
        torch.testing.assert_close(mine.double(), expected, rtol=0, atol=tolerance)
    assert (w - start).abs().min() > 1e-7  # every weight was moved


@pytest.mark.parametrize("rule", optimiser.RULES)
def test_the_update_from_and_to_bf16(rule):
    """A gradient in bf16 is taken as the number it is, and the new weights are copied to bf16."""
    torch.manual_seed(2)
    g, w, copy = torch.randn(100).bfloat16(), torch.randn(100), torch.zeros(100).bfloat16()
    numbers = torch.tensor([0.01, 2.0, 1, 1 - 0.9, 1 - 0.999, 0.0, 1e-8]).double()
    expected = w.double()
    zeros = [torch.zeros(100) for _ in range(STATES[rule])]
    optimiser._in_plain_operations(rule, expected, g.double(), [x.double() for x in zeros], numbers)
    optimiser._on_gpu(rule, w, g, zeros, numbers, copy)
    torch.testing.assert_close(w.double(), expected, rtol=0, atol=1e-6)
    torch.testing.assert_close(copy.float(), w, rtol=2**-7, atol=0)  # the interpreter cuts, a GPU rounds


@pytest.mark.parametrize("width", [8, 24, 56])
def test_a_batch_is_gathered(width):
    """Sentences of 1 to 8 words one after the other, the last of them too, and rows in any order."""
    lengths = torch.tensor([8, 1, 5, 3])
    ids, starts = torch.arange(1, 18, dtype=torch.int32), torch.tensor([0, 8, 9, 14])
    for rows in (torch.tensor([3, 0, 0, 2]), torch.tensor([1])):
        found, expected = (
            way(ids, starts, lengths, rows, width) for way in (step._gather_by_kernel, step._gather)
        )
        for mine, theirs in zip(found, expected, strict=True):
            assert mine.dtype == theirs.dtype
            assert torch.equal(mine, theirs)
