"""The LSTM's ways to the same numbers, and the gradients clipped at its gates."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from drawing import examples
from limelight.network.torch.lstm.bilstm import bilstm, by_cudnn


def weights(d: int, u: int, seed: int) -> list[Tensor]:
    torch.manual_seed(seed)
    shapes = ((2, 4 * u, d), (2, 4 * u, u), (2, 4 * u))
    return [(torch.randn(*shape).double() / 2).requires_grad_() for shape in shapes]


@examples(15)
@given(
    d=st.integers(1, 4),
    u=st.integers(1, 4),
    lengths=st.lists(st.integers(1, 6), min_size=1, max_size=4),
    extra=st.integers(0, 3),
    seed=st.integers(0, 1000),
)
def test_the_gpu_s_arithmetic_equals_the_cpu_s(d, u, lengths, extra, seed):
    """Nothing in it needs a GPU but its speed, so that it can be checked without one."""
    parameters, lengths = weights(d, u, seed), torch.tensor(lengths)
    S = torch.randn(len(lengths), int(lengths.max()) + extra, d).double().requires_grad_()
    mix = torch.randn(*S.shape[:2], 2 * u).double()
    expected, found = (f(S, lengths, *parameters) for f in (bilstm, by_cudnn))
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)
    slopes = [torch.autograd.grad((mix * H).sum(), [S, *parameters]) for H in (expected, found)]
    for one, other in zip(*slopes, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-10)


def test_the_gradient_is_clipped_at_the_gates():
    """A sentence of one word has one gate gradient, and the bias's gradient is that very one."""
    W_ih, W_hh, b = weights(3, 4, 0)
    S, lengths = torch.randn(1, 1, 3).double(), torch.tensor([1])

    def bias_gradient(clip: float) -> Tensor:
        H = bilstm(S, lengths, W_ih, W_hh, b, clip)
        return torch.autograd.grad(H.sum(), b)[0]

    free = bias_gradient(0.0)
    assert free.abs().max() > 0.1
    torch.testing.assert_close(bias_gradient(0.05), free.clamp(-0.05, 0.05), rtol=0, atol=1e-12)
    torch.testing.assert_close(bias_gradient(100.0), free, rtol=0, atol=0)


def test_a_clipped_gradient_is_what_flows_back():
    """Each word's gate gradients are clipped before they reach the words: n words, n times the bound."""
    W_ih, W_hh, b = weights(3, 4, 0)
    S = torch.randn(1, 7, 3).double()
    H = bilstm(S, torch.tensor([7]), W_ih, W_hh, b, 1e-3)
    slope = torch.autograd.grad(1e6 * H.sum(), b)[0].abs()
    assert slope.max() <= 7e-3 + 1e-12
    assert slope.max() > 6e-3
