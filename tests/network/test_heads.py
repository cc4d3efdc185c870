"""The two-layer classifier and its pruned form (appendix A)."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.func import functional_call

import reference
from agreement import assert_agree, assert_gradcheck, randomise, values_of
from drawing import examples
from limelight.network.torch import heads
from limelight.network.torch.heads import FullHead, PrunedHead

sizes = st.integers(1, 4)


def expected_pruned(M: np.ndarray, **parameters: np.ndarray) -> np.ndarray:
    return reference.classify({f"head.{name}": value for name, value in parameters.items()}, M)


def assert_head_agrees(head: nn.Module, expected, rows: int, size: int, batch: int, seed: int) -> None:
    values = values_of(head)
    names = list(values)
    values["M"] = np.random.default_rng(seed).normal(size=(batch, rows, size))

    def parameters(v):
        return {name: v[name] for name in names}

    assert_agree(
        lambda v: [functional_call(head, parameters(v), (v["M"],))],
        lambda v: [[expected(M, **parameters(v)) for M in v["M"]]],
        values,
    )


@examples(20)
@given(rows=sizes, size=sizes, b=sizes, classes=sizes, batch=sizes, seed=st.integers(0, 1000))
def test_full_head_equals_the_reference(rows, size, b, classes, batch, seed):
    head = randomise(FullHead(rows, size, b, classes), seed)
    assert_head_agrees(head, reference.full_head, rows, size, batch, seed)


@examples(30)
@given(
    rows=sizes,
    size=sizes,
    p=st.integers(0, 3),
    q=st.integers(1, 3),
    classes=sizes,
    mix=st.integers(0, 3),
    batch=sizes,
    seed=st.integers(0, 1000),
)
def test_pruned_head_equals_the_reference(rows, size, p, q, classes, mix, batch, seed):
    head = randomise(PrunedHead(rows, size, p, q, classes, mix=mix), seed)
    assert_head_agrees(head, expected_pruned, rows, size, batch, seed)


def test_pruned_head_with_rows_only():
    head = randomise(PrunedHead(3, 4, 2, 0, 2), 0)
    assert_head_agrees(head, expected_pruned, 3, 4, 2, 0)


@pytest.mark.parametrize(
    "head", [FullHead(3, 4, 5, 2), PrunedHead(3, 4, 2, 3, 2), PrunedHead(3, 4, 2, 3, 2, mix=2)]
)
def test_head_gradients(head):
    torch.manual_seed(0)
    assert_gradcheck(randomise(head, 0), torch.randn(2, 3, 4).double())


def test_head_parameters_are_named_and_shaped_as_documented():
    full = {name: tuple(p.shape) for name, p in FullHead(3, 4, 5, 2).named_parameters()}
    assert full == {"W_1": (5, 12), "b_1": (5,), "W_2": (2, 5), "b_2": (2,)}
    pruned = {name: tuple(p.shape) for name, p in PrunedHead(3, 4, 6, 7, 2).named_parameters()}
    rows = {"W_v_0": (3, 4, 6), "b_v_0": (3, 6)}
    columns = {"W_h_0": (4, 3, 7), "b_h_0": (4, 7)}
    assert pruned == rows | columns | {"W_o": (2, 3 * 6 + 4 * 7), "b_o": (2,)}
    mixed = {name: tuple(p.shape) for name, p in PrunedHead(3, 4, 6, 7, 2, mix=5).named_parameters()}
    mix = {"W_m": (5, 3 * 6 + 4 * 7), "b_m": (5,)}
    assert mixed == rows | columns | mix | {"W_o": (2, 5), "b_o": (2,)}


def hidden_layer(head: PrunedHead, M: torch.Tensor) -> torch.Tensor:
    """M^v and M^h themselves, through a softmax layer whose weights are the identity."""
    with torch.no_grad():
        head.W_o.copy_(torch.eye(len(head.W_o)))
        head.b_o.zero_()
    return head(M)


def blocks(moved: torch.Tensor, rows: int, p: int, size: int, q: int) -> tuple[list[bool], list[bool]]:
    """Which row groups and which column groups moved."""
    v, h = moved[: rows * p].reshape(rows, p), moved[rows * p :].reshape(size, q)
    return [bool(g.abs().max() > 1e-9) for g in v], [bool(g.abs().max() > 1e-9) for g in h]


def test_every_group_of_the_pruned_head_has_its_own_weights():
    """Mistake: weights shared across groups. Moving one group's weights must move that group alone."""
    rows, size, p, q = 3, 4, 2, 5
    head = randomise(PrunedHead(rows, size, p, q, rows * p + size * q), 0)
    M = torch.rand(1, rows, size).double() + 1
    with torch.no_grad():
        for parameter in head.parameters():
            parameter.abs_()  # every unit is awake
        before = hidden_layer(head, M)[0]
        head.W_v_0[1] += 1
        head.W_h_0[2] += 1
        moved = hidden_layer(head, M)[0] - before
    assert blocks(moved, rows, p, size, q) == ([False, True, False], [False, False, True, False])


def test_every_group_of_the_pruned_head_sees_one_row_or_column():
    rows, size, p, q = 3, 4, 2, 5
    head = randomise(PrunedHead(rows, size, p, q, rows * p + size * q), 0)
    M = torch.rand(1, rows, size).double() + 1
    with torch.no_grad():
        for parameter in head.parameters():
            parameter.abs_()
        before = hidden_layer(head, M)[0]
        M[0, 2, 1] += 1
        moved = hidden_layer(head, M)[0] - before
    assert blocks(moved, rows, p, size, q) == ([False, False, True], [False, True, False, False])


@pytest.mark.parametrize(
    "head", [FullHead(2, 3, 40, 40, dropout=0.5), PrunedHead(2, 3, 8, 8, 40, dropout=0.5)]
)
def test_dropout_takes_hidden_units_and_doubles_the_rest(head):
    last = head.W_2 if isinstance(head, FullHead) else head.W_o
    with torch.no_grad():
        for parameter in randomise(head, 0).parameters():
            parameter.abs_()
        last.zero_()
        last.fill_diagonal_(1)
        M = torch.rand(50, 2, 3).double() + 1
        bias = head.b_2 if isinstance(head, FullHead) else head.b_o
        kept = head.eval()(M) - bias
        torch.manual_seed(0)
        ratio = (head.train()(M) - bias) / kept
    dropped = ratio.abs() < 1e-9
    assert ((ratio - 2).abs() < 1e-9).logical_or(dropped).all()
    assert dropped.double().mean().item() == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("head", [FullHead(3, 4, 5, 2), PrunedHead(3, 4, 5, 2, 2)])
def test_zeros_beside_the_logits_change_nothing(head, monkeypatch):
    """What a GPU in bf16 computes, on a CPU in float64: logits, and the gradients of all weights."""
    M, found = torch.randn(7, 3, 4).double(), []
    for more in (0, 6):
        monkeypatch.setattr(heads, "missing_columns", lambda x, width, more=more: more)
        logits = head.double()(M)
        found.append([logits, *torch.autograd.grad(logits.square().sum(), list(head.parameters()))])
    for plain, padded in zip(*found, strict=True):
        torch.testing.assert_close(padded, plain)
