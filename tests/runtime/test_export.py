"""The exported graphs against PyTorch, for every architecture."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

import trained
from limelight.config.presets import PRESETS, preset
from limelight.network.onnx.arithmetic import Int8
from limelight.network.onnx.layers import export_onnx, pooling_graph
from limelight.network.parts import shapes
from limelight.network.quantise import round_to_4_bits
from limelight.network.weights import pack_words
from limelight.runtime.session import Session
from trained import ARCHITECTURES, PAIRS, network_of, recipe_of, weights_of

BOTH = pytest.mark.parametrize("pair", PAIRS)
EVERY = pytest.mark.parametrize("name", ARCHITECTURES)
TOLERANCE = {"rtol": 0, "atol": 1e-5}


def batch(lengths: list[int], seed: int = 0, extra: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    ids = rng.integers(1, len(trained.WORDS) + 2, (len(lengths), max(lengths) + extra)).astype(np.int32)
    ids[np.arange(ids.shape[1]) >= np.array(lengths)[:, None]] = 0
    return ids, np.array(lengths, np.int32)


def run(content: bytes, **feed: np.ndarray) -> list[np.ndarray]:
    return onnxruntime.InferenceSession(content).run(["probabilities", "M", "A"], feed)


def tensors(*arrays: np.ndarray) -> list[torch.Tensor]:
    return [torch.from_numpy(array).long() for array in arrays]


@EVERY
@BOTH
def test_shapes_are_those_of_the_network(name: str, pair: str | None) -> None:
    recipe = recipe_of(ARCHITECTURES[name], pair)
    found = {k: v.shape for k, v in weights_of(network_of(recipe, pair is not None)).items()}
    assert found == shapes(recipe.model, len(trained.WORDS) + 2, 3, pair is not None)


@EVERY
def test_text_model_equals_pytorch(name: str) -> None:
    recipe = recipe_of(ARCHITECTURES[name])
    network = network_of(recipe)
    content = export_onnx(weights_of(network), recipe.model, 3, pair=False)
    for lengths, extra in (([9, 4, 1, 6], 3), ([1], 0), ([1, 1], 5), ([40, 2], 0)):
        ids, n = batch(lengths, extra=extra)
        with torch.no_grad():
            expected = network(*tensors(ids, n))
        P, M, A = run(content, ids=ids, lengths=n)
        np.testing.assert_allclose(P, expected.logits.softmax(1), **TOLERANCE)
        np.testing.assert_allclose(M, expected.M, **TOLERANCE)
        np.testing.assert_allclose(A, expected.A, **TOLERANCE)


@EVERY
@pytest.mark.parametrize("pair", ["gated", "concat", "vectors"])
def test_pair_model_equals_pytorch(name: str, pair: str) -> None:
    recipe = recipe_of(ARCHITECTURES[name], pair)
    network = network_of(recipe, pair=True)
    content = export_onnx(weights_of(network), recipe.model, 3, pair=True)
    ids, n = batch([9, 4, 1, 6])
    pairs = np.array([[0, 1], [2, 3], [0, 2], [1, 1], [3, 0]], np.int32)
    (i, n_i), (j, n_j) = (tensors(ids[pairs[:, k]], n[pairs[:, k]]) for k in (0, 1))
    with torch.no_grad():
        expected = network(i, n_i, j, n_j)
    P, M, A = run(content, ids=ids, lengths=n, pairs=pairs)
    np.testing.assert_allclose(P, expected.logits.softmax(1), **TOLERANCE)
    np.testing.assert_allclose(M[pairs[:, 1]], expected.M2, **TOLERANCE)
    np.testing.assert_allclose(A[pairs[:, 0]], expected.A, **TOLERANCE)


def test_an_empty_sentence_is_finite_as_in_pytorch() -> None:
    recipe = recipe_of({})
    network = network_of(recipe)
    ids, n = np.zeros((1, 3), np.int32), np.array([0], np.int32)
    with torch.no_grad():
        expected = network(*tensors(ids, n))
    _, M, A = run(export_onnx(weights_of(network), recipe.model, 3, pair=False), ids=ids, lengths=n)
    np.testing.assert_allclose(M, expected.M, **TOLERANCE)
    assert A[0].tolist() == [[1, 0, 0]] * 3


@EVERY
@BOTH
@pytest.mark.parametrize("int8", [False, True])
def test_the_file_is_valid_onnx(name: str, pair: str | None, int8: bool) -> None:
    recipe = recipe_of(ARCHITECTURES[name], pair)
    weights = weights_of(network_of(recipe, pair is not None))
    content = export_onnx(weights, recipe.model, 3, pair is not None, int8=int8)
    model = onnx.load_from_string(content)
    onnx.checker.check_model(model, full_check=not int8)  # the checker knows no operators but ONNX's own
    assert [o.name for o in model.graph.output] == ["probabilities", "M", "A"]
    assert [i.name for i in model.graph.input] == ["ids", "lengths", "pairs"][: 2 + (pair is not None)]
    assert all(i.type.tensor_type.elem_type == onnx.TensorProto.INT32 for i in model.graph.input)


@BOTH
@EVERY
@pytest.mark.parametrize("small", [0, Int8.SMALL])
def test_int8_is_near(name: str, pair: str | None, small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Int8, "SMALL", small)
    recipe = recipe_of(ARCHITECTURES[name], pair)
    weights = weights_of(network_of(recipe, pair is not None))
    ids, n = batch([9, 4, 1, 6])
    feed = {"ids": ids, "lengths": n}
    if pair:
        feed["pairs"] = np.array([[0, 1], [2, 3]], np.int32)
    exact, near = (
        run(export_onnx(weights, recipe.model, 3, bool(pair), int8=q), **feed) for q in (False, True)
    )
    np.testing.assert_allclose(near[0], exact[0], atol=0.05)
    np.testing.assert_allclose(near[1], exact[1], atol=0.05)
    if recipe.model.encoder != "cnn":  # a CNN's maxima often tie, and then any of the words may hold them
        assert np.abs(near[2] - exact[2]).mean() < 0.01
    np.testing.assert_allclose(near[2].sum(axis=2), 1, atol=1e-5)


@pytest.mark.parametrize("name", [name for name in PRESETS if preset(name).model.encoder == "bilstm"])
def test_the_last_bit_of_a_state_changes_int8_as_little_as_float32(name: str) -> None:
    """Some processors give another last bit in another batch; a state between two integers would leap."""
    recipe, rng = preset(name).model, np.random.default_rng(0)
    sizes = shapes(recipe, vocabulary=2, classes=2, pair=False)
    weights = {
        key: rng.normal(0, 3 * size[-1] ** -0.5, size).astype(np.float32)
        for key, size in sizes.items()
        if key.startswith("pooling.")
    }
    Y = rng.uniform(-1, 1, (20, 2, 50, recipe.hidden)).astype(np.float32)  # (n, 2, batch, u)
    feed = {"ids": np.ones((50, 20), np.int32), "lengths": np.full(50, 20, np.int32)}
    session = Session(pooling_graph(weights, recipe, int8=True))
    M, nudged = (session.run({"Y": each, **feed}, "M")[0] for each in (Y, np.nextafter(Y, np.float32(2))))
    np.testing.assert_allclose(M, nudged, rtol=0, atol=5e-6)


@pytest.mark.parametrize("options", [{}, {"layers": 2}, {"projection": 5}], ids=str)
def test_int8_of_words_in_4_bits_is_near(options: dict[str, int]) -> None:
    """The bound of the LSTM's inputs is that of the words, not that of the bytes they are stored in."""
    recipe = recipe_of({"word_size": 64, **options})
    weights = weights_of(network_of(recipe))
    weights["words.weight"] = round_to_4_bits(weights["words.weight"] / 8)
    packed = pack_words(weights)
    assert packed["words.weight"].dtype == np.uint8
    ids, n = batch([9, 4, 1, 6])
    exact, near = (
        run(export_onnx(packed, recipe.model, 3, pair=False, int8=q), ids=ids, lengths=n)
        for q in (False, True)
    )
    for a, b in zip(near, exact, strict=True):
        np.testing.assert_allclose(a, b, atol=0.01)


def test_int8_is_about_a_quarter_of_the_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Int8, "SMALL", 0)
    recipe = recipe_of({"word_size": 64, "hidden": 32, "head_hidden": 200})
    weights = weights_of(network_of(recipe))
    whole, small = (len(export_onnx(weights, recipe.model, 3, False, int8=q)) for q in (False, True))
    assert small < 0.35 * whole
