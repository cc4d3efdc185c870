"""Equations 1 to 4: words and the bidirectional LSTM, against the reference and against padding."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

import reference
from agreement import assert_agree_on_sentences, assert_gradcheck, pad, randomise
from drawing import examples
from limelight.network.torch.encoder import BiLSTM, WordEmbedding


def expected_states(S: np.ndarray, **parameters: np.ndarray) -> np.ndarray:
    return reference.stacked_bilstm(S, reference.numbered(parameters, "W_ih", "W_hh", "b"))


@examples(20)
@given(
    d=st.integers(1, 4),
    u=st.integers(1, 4),
    layers=st.integers(1, 3),
    lengths=st.lists(st.integers(1, 7), min_size=1, max_size=4),
    extra=st.integers(0, 4),
    seed=st.integers(0, 1000),
)
def test_bilstm_equals_the_reference(d, u, layers, lengths, extra, seed):
    rng = np.random.default_rng(seed)
    sentences = [rng.normal(size=(n, d)) for n in lengths]
    assert_agree_on_sentences(randomise(BiLSTM(d, u, layers), seed), expected_states, sentences, extra)


@pytest.mark.parametrize("layers", [1, 2])
def test_bilstm_gradients(layers):
    torch.manual_seed(0)
    bilstm = randomise(BiLSTM(3, 2, layers), 0)
    assert_gradcheck(bilstm, torch.randn(3, 5, 3).double(), torch.tensor([5, 2, 1]))


@pytest.mark.parametrize("layers", [1, 2])
def test_bilstm_parameters_are_named_and_shaped_as_documented(layers):
    d, u = 5, 3
    shapes = {name: tuple(p.shape) for name, p in BiLSTM(d, u, layers).named_parameters()}
    expected = {}
    for k in range(layers):
        expected |= {f"W_ih_{k}": (2, 4 * u, d + 2 * u * k), f"W_hh_{k}": (2, 4 * u, u), f"b_{k}": (2, 4 * u)}
    assert shapes == expected


def test_bilstm_equals_pytorch_s_own():
    """The reference could share a misunderstanding with the model; PyTorch's LSTM has the last word."""
    bilstm, theirs = BiLSTM(4, 3).double(), nn.LSTM(4, 3, batch_first=True, bidirectional=True).double()
    with torch.no_grad():
        for k, suffix in enumerate(["l0", "l0_reverse"]):
            bilstm.W_ih_0[k] = getattr(theirs, f"weight_ih_{suffix}")
            bilstm.W_hh_0[k] = getattr(theirs, f"weight_hh_{suffix}")
            bilstm.b_0[k] = getattr(theirs, f"bias_ih_{suffix}") + getattr(theirs, f"bias_hh_{suffix}")
    S, lengths = torch.randn(4, 9, 4).double(), torch.tensor([9, 1, 4, 6])
    packed = nn.utils.rnn.pack_padded_sequence(S, lengths, batch_first=True, enforce_sorted=False)
    H, _ = nn.utils.rnn.pad_packed_sequence(theirs(packed)[0], batch_first=True)
    torch.testing.assert_close(bilstm(S, lengths), H, rtol=0, atol=1e-12)


def test_neither_direction_reads_padding():
    """Mistake: the backward LSTM starts in the padding, though everything after it is masked."""
    bilstm = randomise(BiLSTM(3, 4, layers=2), 1)
    S, longer = torch.randn(6, 3).double(), torch.randn(30, 3).double()
    alone = bilstm(S[None], torch.tensor([6]))
    for company in ([], [longer]):
        for filling in (0.0, 1e3):
            padded = bilstm(*pad([S, *company], 60, filling))[:1]
            torch.testing.assert_close(padded[:, :6], alone, rtol=0, atol=1e-12)
            assert padded[:, 6:].abs().max() == 0


def test_no_gradient_reaches_the_padding():
    bilstm = randomise(BiLSTM(3, 4), 1)
    S = torch.randn(2, 8, 3).double().requires_grad_()
    bilstm(S, torch.tensor([8, 5])).sum().backward()
    assert S.grad is not None
    assert S.grad[0].ne(0).all()
    assert S.grad[1, :5].ne(0).all()
    assert S.grad[1, 5:].abs().max() == 0


def test_each_direction_sees_its_own_side():
    bilstm = randomise(BiLSTM(3, 4), 2)
    S, lengths = torch.randn(1, 5, 3).double(), torch.tensor([5])
    changed = S.clone()
    changed[0, 2] += 1
    moved = (bilstm(S, lengths) - bilstm(changed, lengths)).abs()[0]
    assert moved[:2, :4].max() == 0
    assert moved[2:, :4].min() > 0
    assert moved[:3, 4:].min() > 0
    assert moved[3:, 4:].max() == 0


def test_words_are_looked_up():
    words = WordEmbedding(7, 3)
    ids = torch.tensor([[4, 2, 4], [6, 1, 0]])
    torch.testing.assert_close(words(ids), words.weight[ids], rtol=0, atol=0)


def test_the_padding_vector_is_zero_and_stays_zero():
    words = WordEmbedding(7, 3)
    optimiser = torch.optim.Adam(words.parameters(), weight_decay=0.1)
    before = words.weight.detach().clone()
    (words(torch.tensor([[0, 0, 1, 3]])) - 1).square().sum().backward()
    optimiser.step()
    assert words.weight[0].abs().max() == 0
    assert (words.weight[3] != before[3]).all()


def test_the_unknown_word_is_not_padding():
    words = WordEmbedding(7, 3)
    words(torch.tensor([[1]])).sum().backward()
    assert words.weight[1].abs().min() > 0
    assert words.weight.grad is not None
    assert words.weight.grad.to_dense()[1].eq(1).all()
