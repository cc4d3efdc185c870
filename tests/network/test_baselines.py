"""The paper's baselines: max pooling and the convolution."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import reference
from agreement import assert_agree_on_sentences, assert_gradcheck, pad, randomise
from drawing import examples
from limelight.network.torch.attention import MaxPooling
from limelight.network.torch.encoder import Convolution

lengths = st.lists(st.integers(1, 8), min_size=1, max_size=4)


@examples(15)
@given(u=st.integers(1, 4), lengths=lengths, extra=st.integers(0, 4), seed=st.integers(0, 1000))
def test_max_pooling_equals_the_reference(u, lengths, extra, seed):
    rng = np.random.default_rng(seed)
    sentences = [rng.normal(size=(n, 2 * u)) for n in lengths]
    assert_agree_on_sentences(MaxPooling(), reference.max_pooling, sentences, extra)


def test_max_pooling_gradients():
    torch.manual_seed(0)
    assert_gradcheck(MaxPooling(), torch.randn(3, 5, 4).double(), torch.tensor([5, 2, 1]))


def test_max_pooling_does_not_read_padding():
    """Mistake: max pooling over padding. All states are negative, so that a padded zero would win."""
    pooling = MaxPooling()
    H = -torch.rand(3, 4).double() - 1
    M, A = pooling(H[None], torch.tensor([3]))
    for filling in (0.0, 1e3):
        M_padded, A_padded = pooling(*pad([H], 60, filling))
        torch.testing.assert_close(M_padded, M, rtol=0, atol=1e-12)
        torch.testing.assert_close(A_padded[:, :, :3], A, rtol=0, atol=1e-12)
        assert A_padded[:, :, 3:].abs().max() == 0
    assert A.sum().item() == pytest.approx(1, abs=1e-12)


def test_of_equal_maxima_the_first_word_holds_it():
    H = torch.zeros(1, 4, 6).double()
    H[0, 2, 0] = 1
    _, A = MaxPooling()(H, torch.tensor([4]))
    torch.testing.assert_close(A[0, 0], torch.tensor([5 / 6, 0, 1 / 6, 0]).double())


@examples(25)
@given(
    d=st.integers(1, 4),
    filters=st.integers(1, 4),
    width=st.integers(1, 5),
    lengths=lengths,
    extra=st.integers(0, 4),
    seed=st.integers(0, 1000),
)
def test_convolution_equals_the_reference(d, filters, width, lengths, extra, seed):
    rng = np.random.default_rng(seed)
    sentences = [rng.normal(size=(n, d)) for n in lengths]
    convolution = randomise(Convolution(d, filters, width), seed)
    assert_agree_on_sentences(convolution, reference.convolution, sentences, extra)


@pytest.mark.parametrize("width", [2, 3])
def test_convolution_gradients(width):
    torch.manual_seed(0)
    convolution = randomise(Convolution(3, 2, width), 0)
    assert_gradcheck(convolution, torch.randn(3, 5, 3).double(), torch.tensor([5, 2, 1]))


def test_convolution_does_not_read_padding():
    convolution = randomise(Convolution(3, 4, 5), 0)
    S = torch.randn(2, 3).double()
    alone = convolution(S[None], torch.tensor([2]))
    padded = convolution(*pad([S], 60))
    torch.testing.assert_close(padded[:, :2], alone, rtol=0, atol=1e-12)
    assert padded[:, 2:].abs().max() == 0


def test_baseline_parameters_are_named_and_shaped_as_documented():
    convolution = {name: tuple(p.shape) for name, p in Convolution(3, 4, 5).named_parameters()}
    assert convolution == {"W": (4, 3, 5), "b": (4,)}
    assert not list(MaxPooling().parameters())
