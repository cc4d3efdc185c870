"""Equations 5 to 8: the annotation matrix A, the embedding M and the penalty P."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import reference
from agreement import assert_agree, assert_agree_on_sentences, assert_gradcheck, pad, randomise
from drawing import examples
from limelight.network.torch import attention
from limelight.network.torch.attention import StructuredSelfAttention, penalty

SCALES = ("paper", "author")


def random_annotations(seed: int, batch: int = 2, r: int = 3, n: int = 5) -> torch.Tensor:
    return torch.randn(batch, r, n, generator=torch.manual_seed(seed), dtype=torch.float64).softmax(-1)


@examples(25)
@given(
    size=st.integers(1, 6),
    d_a=st.integers(1, 5),
    r=st.integers(1, 5),
    bias=st.booleans(),
    lengths=st.lists(st.integers(1, 8), min_size=1, max_size=4),
    extra=st.integers(0, 4),
    seed=st.integers(0, 1000),
)
def test_attention_equals_the_reference(size, d_a, r, bias, lengths, extra, seed):
    rng = np.random.default_rng(seed)
    attention = randomise(StructuredSelfAttention(size, d_a, r, bias), seed)
    sentences = [rng.normal(size=(n, size)) for n in lengths]
    assert_agree_on_sentences(attention, reference.attention, sentences, extra)


@pytest.mark.parametrize("bias", [False, True])
def test_attention_gradients(bias):
    attention = randomise(StructuredSelfAttention(4, 3, 2, bias), 0)
    assert_gradcheck(attention, torch.randn(3, 5, 4).double(), torch.tensor([5, 2, 1]))


def test_the_paper_s_attention_has_two_matrices_and_no_bias():
    def shapes(bias):
        return {k: tuple(v.shape) for k, v in StructuredSelfAttention(6, 4, 3, bias).named_parameters()}

    assert shapes(False) == {"W_s1": (4, 6), "W_s2": (3, 4)}
    assert shapes(True) == {"W_s1": (4, 6), "W_s2": (3, 4), "b_s1": (4,), "b_s2": (3,)}


def test_no_attention_falls_on_padding():
    """Mistake: softmax over padding, which once put 0.84 of the attention there."""
    attention = randomise(StructuredSelfAttention(4, 3, 5), 0)
    H = torch.randn(3, 4).double()
    M, A = attention(H[None], torch.tensor([3]))
    for filling in (0.0, 1e3):
        M_padded, A_padded = attention(*pad([H], 60, filling))
        assert A_padded[:, :, 3:].abs().max() == 0
        torch.testing.assert_close(A_padded[:, :, :3], A, rtol=0, atol=1e-12)
        torch.testing.assert_close(M_padded, M, rtol=0, atol=1e-12)


def test_each_row_is_a_distribution_over_the_words():
    """Mistake: softmax along the rows or along the batch. All sizes differ, so no other axis fits."""
    attention = randomise(StructuredSelfAttention(6, 5, 4), 0)
    _, A = attention(torch.randn(3, 7, 6).double(), torch.tensor([7, 7, 7]))
    assert A.shape == (3, 4, 7)
    assert A.min() > 0
    torch.testing.assert_close(A.sum(dim=2), torch.ones(3, 4).double(), rtol=0, atol=1e-12)


def test_rows_and_sentences_do_not_compete():
    """Mistake: softmax along the rows or along the batch, seen from what a change moves."""
    attention = randomise(StructuredSelfAttention(6, 5, 4), 0)
    H, lengths = torch.randn(3, 7, 6).double(), torch.tensor([7, 7, 7])
    _, before = attention(H, lengths)
    with torch.no_grad():
        attention.W_s2[1] += 1
    _, after = attention(H, lengths)
    assert (before[:, [0, 2, 3]] - after[:, [0, 2, 3]]).abs().max() < 1e-12
    assert (before[:, 1] - after[:, 1]).abs().max() > 1e-3
    H[2] += 1
    _, third = attention(H, lengths)
    assert (third[:2] - after[:2]).abs().max() < 1e-12


def test_a_word_keeps_its_attention_wherever_it_stands():
    """Mistake: `view` where a transpose was meant, which mixes words and units."""
    attention = randomise(StructuredSelfAttention(6, 5, 4), 0)
    H, lengths = torch.randn(1, 7, 6).double(), torch.tensor([7])
    order = torch.tensor([3, 6, 0, 5, 1, 2, 4])
    M, A = attention(H, lengths)
    M_moved, A_moved = attention(H[:, order], lengths)
    torch.testing.assert_close(A_moved, A[:, :, order], rtol=0, atol=1e-12)
    torch.testing.assert_close(M_moved, M, rtol=0, atol=1e-12)


def test_the_attention_runs_in_any_float_type():
    H, lengths = torch.randn(2, 4, 6), torch.tensor([4, 2])
    attention = StructuredSelfAttention(6, 5, 3)
    exact, _ = attention(H, lengths)
    for dtype in (torch.bfloat16, torch.float16):
        M, A = attention.to(dtype)(H.to(dtype), lengths)
        torch.testing.assert_close(M.float(), exact, rtol=0, atol=0.05)
        torch.testing.assert_close(A.float().sum(2), torch.ones(2, 3), rtol=0, atol=0.01)


def test_huge_scores_stay_finite():
    attention = randomise(StructuredSelfAttention(4, 3, 2), 0)
    with torch.no_grad():
        attention.W_s2.mul_(1e5)
    H = torch.randn(1, 6, 4).double().requires_grad_()
    M, A = attention(*pad([H[0]], 3))
    (M.sum() + A.square().sum()).backward()
    torch.testing.assert_close(A.sum(2), torch.ones(1, 2).double())
    assert H.grad is not None
    assert H.grad.isfinite().all()


@pytest.mark.parametrize("scale", SCALES)
@examples(15)
@given(
    r=st.integers(1, 5),
    lengths=st.lists(st.integers(1, 7), min_size=1, max_size=4),
    extra=st.integers(0, 3),
    seed=st.integers(0, 1000),
)
def test_penalty_equals_the_reference(scale, r, lengths, extra, seed):
    rng = np.random.default_rng(seed)
    scores = {f"scores {k}": rng.normal(size=(r, n)) for k, n in enumerate(lengths)}

    def annotations(v):
        return [np.array([reference.softmax(row) for row in v[name]]) for name in scores]

    def model(v):
        A = [v[name].softmax(1).T for name in scores]
        batch, n = pad(A, extra, rubbish=0.0)
        return [penalty(batch.transpose(1, 2), n, scale).reshape(1)]

    assert_agree(model, lambda v: [[reference.penalty(annotations(v), scale)]], scores)


@pytest.mark.parametrize("scale", SCALES)
def test_penalty_gradients(scale):
    scores = torch.randn(3, 4, 5, dtype=torch.float64, requires_grad=True)
    lengths = torch.tensor([5, 3, 1])
    mask = torch.arange(5) < lengths[:, None, None]

    def run(s):
        return penalty(s.masked_fill(~mask, -torch.inf).softmax(-1), lengths, scale)

    assert torch.autograd.gradcheck(run, (scores,))


def test_penalty_is_the_square_of_the_frobenius_norm():
    """Mistake: the norm unsquared. Three rows on one word: six ones off the diagonal, so P = 6."""
    A = torch.zeros(1, 3, 4).double()
    A[:, :, 1] = 1
    assert penalty(A).item() == pytest.approx(6, abs=1e-12)
    assert penalty(torch.eye(3, 4).double()[None]).item() == pytest.approx(0, abs=1e-12)
    uniform = torch.full((1, 3, 4), 0.25).double()  # A A^T is 1/4 everywhere
    assert penalty(uniform).item() == pytest.approx(6 / 16 + 3 * 9 / 16, abs=1e-12)


@pytest.mark.parametrize("scale", SCALES)
def test_penalty_does_not_grow_with_the_batch(scale):
    """Mistake: summed over the batch or divided by the wrong size, so that a batch said twice counts more."""
    A = random_annotations(0)
    lengths = torch.tensor([5, 5])
    twice = penalty(torch.cat([A, A]), torch.cat([lengths, lengths]), scale)
    torch.testing.assert_close(twice, penalty(A, lengths, scale), rtol=0, atol=1e-12)
    each = torch.stack([penalty(A[k : k + 1], lengths[k : k + 1], scale) for k in range(2)])
    torch.testing.assert_close(each.mean(), penalty(A, lengths, scale), rtol=0, atol=1e-12)


@pytest.mark.parametrize("scale", SCALES)
def test_penalty_does_not_see_padding(scale):
    A, lengths = random_annotations(1), torch.tensor([5, 5])
    padded = torch.cat([A, torch.zeros(2, 3, 60).double()], dim=2).requires_grad_()
    value = penalty(padded, lengths, scale)
    torch.testing.assert_close(value, penalty(A, lengths, scale), rtol=0, atol=1e-12)
    value.backward()
    assert padded.grad is not None
    assert padded.grad.isfinite().all()


@pytest.mark.parametrize("scale", SCALES)
def test_penalty_is_a_scalar_that_trains_the_attention(scale):
    """Mistake: `.item()` inside the loss, which leaves a number without a gradient."""
    attention = randomise(StructuredSelfAttention(4, 3, 2), 0)
    _, A = attention(*pad([torch.randn(n, 4).double() for n in (5, 3)]))
    P = penalty(A, torch.tensor([5, 3]), scale)
    assert P.shape == ()
    P.backward()
    for weight in attention.parameters():
        assert weight.grad is not None
        assert weight.grad.abs().min() > 0


def test_the_author_s_penalty_has_the_paper_s_gradient_over_n_squared():
    A = random_annotations(2, batch=1, r=3, n=5)
    gradients = []
    for scale in ("paper", "author"):
        leaf = A.clone().requires_grad_()
        penalty(leaf, torch.tensor([5]), scale).backward()
        gradients.append(leaf.grad)
    torch.testing.assert_close(gradients[1] * 25, gradients[0], rtol=0, atol=1e-12)
    torch.testing.assert_close(penalty(A, scale="author") * 25, penalty(A) + 5 - 3, rtol=0, atol=1e-12)


def test_an_unknown_form_of_the_penalty_is_an_error():
    with pytest.raises(ValueError, match=r"'kl'.*paper or author"):
        penalty(random_annotations(0), scale="kl")


@pytest.mark.parametrize("bias", [False, True])
def test_zeros_beside_the_hidden_numbers_change_nothing(bias: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a GPU in bf16 computes, on a CPU in float64: M and A, and the gradients of all weights."""
    torch.manual_seed(0)
    attend = StructuredSelfAttention(size=6, d_a=5, r=3, bias=bias).double()
    H, lengths, mix = torch.randn(2, 4, 6).double(), torch.tensor([4, 2]), torch.randn(2, 3, 6).double()
    found = []
    for more in (0, 3):
        monkeypatch.setattr(attention, "missing_columns", lambda x, width, more=more: more)
        M, A = attend(H, lengths)
        found.append([M, A, *torch.autograd.grad((M * mix).sum(), [attend.W_s1, attend.W_s2])])
    for plain, padded in zip(*found, strict=True):
        torch.testing.assert_close(padded, plain)
