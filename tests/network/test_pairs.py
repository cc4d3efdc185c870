"""Appendix B: two sentences meet in the gated encoder, or side by side."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.func import functional_call

import reference
from agreement import assert_agree, assert_gradcheck, randomise, values_of
from drawing import examples
from limelight.network.torch.heads import GatedEncoder, concat_features

sizes = st.integers(1, 5)


@examples(20)
@given(rows=sizes, size=sizes, batch=sizes, seed=st.integers(0, 1000))
def test_gated_encoder_equals_the_reference(rows, size, batch, seed):
    rng = np.random.default_rng(seed)
    gate = randomise(GatedEncoder(rows, size), seed)
    M = {"M_p": rng.normal(size=(batch, rows, size)), "M_h": rng.normal(size=(batch, rows, size))}

    def model(v):
        weights = {"W_fh": v["W_fh"], "W_fp": v["W_fp"]}
        return [functional_call(gate, weights, (v["M_p"], v["M_h"]))]

    def expected(v):
        pairs = zip(v["M_p"], v["M_h"], strict=True)
        return [[reference.gated_encoder(M_p, M_h, v["W_fp"], v["W_fh"]) for M_p, M_h in pairs]]

    assert_agree(model, expected, values_of(gate) | M)


@examples(20)
@given(rows=sizes, size=sizes, batch=sizes, seed=st.integers(0, 1000))
def test_concat_features_equal_the_reference(rows, size, batch, seed):
    rng = np.random.default_rng(seed)
    values = {"u": rng.normal(size=(batch, rows, size)), "v": rng.normal(size=(batch, rows, size))}

    def expected(v):
        return [[reference.concat_features(a, b) for a, b in zip(v["u"], v["v"], strict=True)]]

    assert_agree(lambda v: [concat_features(v["u"], v["v"])], expected, values)


def test_gated_encoder_gradients():
    torch.manual_seed(0)
    M_p, M_h = torch.randn(2, 3, 4).double(), torch.randn(2, 3, 4).double()
    assert_gradcheck(randomise(GatedEncoder(3, 4), 0), M_p, M_h)


def test_the_gated_encoder_is_two_untied_tensors_without_bias():
    shapes = {name: tuple(p.shape) for name, p in GatedEncoder(3, 4).named_parameters()}
    assert shapes == {"W_fh": (3, 4, 4), "W_fp": (3, 4, 4)}


def test_every_row_of_the_gated_encoder_has_its_own_weights():
    """Mistake: one matrix shared by all rows, or by both sides."""
    gate = randomise(GatedEncoder(3, 4), 0)
    M_p, M_h = torch.randn(2, 3, 4).double(), torch.randn(2, 3, 4).double()
    for row, weight in ((1, gate.W_fh), (2, gate.W_fp)):
        before = gate(M_p, M_h)
        with torch.no_grad():
            weight[row] += 1
        moved = (gate(M_p, M_h) - before).abs().amax(dim=(0, 2)) > 1e-9
        assert moved.tolist() == [k == row for k in range(3)]


def test_premise_and_hypothesis_are_not_exchangeable():
    gate = randomise(GatedEncoder(3, 4), 0)
    M_p, M_h = torch.randn(1, 3, 4).double(), torch.randn(1, 3, 4).double()
    assert (gate(M_p, M_h) - gate(M_h, M_p)).abs().max() > 1e-3
    with torch.no_grad():
        gate.W_fh.zero_()
    M_h.requires_grad_()
    gate(M_p, M_h).sum().backward()  # W_fh is the hypothesis's: without it, the hypothesis is not heard
    assert M_h.grad is not None
    assert M_h.grad.abs().max() == 0
