"""The reader's network against its equations in float64, and against what the runtime computes."""

from __future__ import annotations

import numpy as np
import torch

import reference
from limelight.config.recipe import ModelRecipe
from limelight.network.torch.network import Network, Spelled, round_to_4_bits
from limelight.network.weights import pack_all, unpack_all

RECIPE = ModelRecipe(
    word_size=32, hidden=3, attention_hidden=4, rows=2, head="vector", buckets=5, vector_rank=4, vector_size=6
)


def network() -> Network:
    torch.manual_seed(0)
    return Network(RECIPE, vocabulary=9).double()


def test_the_vector_is_the_sum_over_rows_of_linear_maps():
    net = network()
    spelled = Spelled(torch.tensor([1]), torch.tensor([[2, 5, 0]]), torch.tensor([[7, 0]]))
    v, M, A, *_ = net(torch.tensor([[3, 0, 8], [2, 0, 0]]), torch.tensor([3, 1]), spelled=spelled)
    w = {name: x.detach().numpy() for name, x in net.named_parameters()}
    spelled = (w["grams.weight"][2] + w["grams.weight"][5]) / 2 + w["words.weight"][7]
    S = np.array([w["words.weight"][3], spelled, w["words.weight"][8]])
    H = reference.bilstm(S, *(w[f"encoder.{name}_0"] for name in ("W_ih", "W_hh", "b")))
    M0, A0 = reference.attention(H, w["pooling.W_s1"], w["pooling.W_s2"])
    maps = w["vector.W_rows"].T.reshape(2, 4, 6)
    expected = sum(row @ w["vector.W_shared"].T @ W for row, W in zip(M0, maps, strict=True))
    np.testing.assert_allclose(v[0].detach(), expected)
    np.testing.assert_allclose(M[0].detach(), M0)
    np.testing.assert_allclose(A[0].detach(), A0)


def test_padding_gets_no_gradient_and_rounding_passes_it_through():
    net = network()
    net.rounding.fill_(1)
    spelled = Spelled(torch.tensor([1]), torch.tensor([[0, 4]]), torch.tensor([[7, 0]]))
    net(torch.tensor([[3, 0]]), torch.tensor([2]), spelled=spelled).logits.sum().backward()
    moved = net.words.weight.grad.any(dim=1)
    assert moved.tolist() == [k in (3, 7) for k in range(9)]
    assert net.grams.weight.grad.any(dim=1).tolist() == [k == 4 for k in range(6)]


def test_words_are_rounded_in_training_as_they_are_stored():
    random = np.random.default_rng(0)
    weights = {
        "words.weight": random.standard_normal((5, 64)) * random.uniform(0, 3, (5, 1)),
        "grams.weight": random.standard_normal((4, 64)),
        "encoder.W_ih_0": random.standard_normal((2, 12, 64)),
        "encoder.W_hh_0": random.standard_normal((2, 12, 3)), "encoder.b_0": random.standard_normal((2, 12)),
        "vector.W_shared": random.standard_normal((6, 6)), "vector.W_rows": random.standard_normal((8, 6)),
    }  # fmt: skip
    weights = {name: x.astype(np.float32) for name, x in weights.items()}
    stored = unpack_all(pack_all(weights))
    rounded = round_to_4_bits(torch.from_numpy(weights["words.weight"]))
    np.testing.assert_allclose(stored["words.weight"], rounded, rtol=1e-6)
    np.testing.assert_array_equal(stored["encoder.b_0"], weights["encoder.b_0"])
    for name, x in weights.items():
        step = np.abs(x).max(axis=-1, keepdims=True) / (
            7 if name in ("words.weight", "grams.weight") else 127
        )
        assert (np.abs(stored[name] - x) <= 0.51 * step + 1e-3).all(), name
