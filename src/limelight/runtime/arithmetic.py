"""The network's four kinds of matrix products as ONNX operators, in float32 and in int8.

A graph is built with one of the two; everything between the products is the same.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .onnx_file import Graph


class Float32:
    """Products in float32. Every weight enters the graph exactly as it was trained and saved.

    Where ONNX needs another layout, the graph rearranges the weight once, on loading. A file can therefore
    contain the graph alone and point to the bytes of model.safetensors.
    """

    def __init__(self, graph: Graph, weights: Mapping[str, np.ndarray]) -> None:
        self.graph, self.weights = graph, weights

    def weight(self, name: str) -> str:
        """Add the weight of this name to the graph."""
        return self.graph.weight(name, self.weights[name])

    def words(self, ids: str) -> str:
        """Equation 1: the word vectors, projected if the model does; ids (a, b) -> S (a, b, d)."""
        return self._project(self.graph.op("Gather", self.weight("words.weight"), ids))

    def _project(self, S: str) -> str:
        """Always in float32: it is a small part of the work, and int8 words are already rounded once."""
        if "projection.W" not in self.weights:
            return S
        return self.graph.op("Relu", Float32.linear(self, S, "projection.W", "projection.b"))

    def lstm(self, X: str, lengths: str, layer: int, direction: str = "bidirectional") -> str:
        """X (n, batch, d) -> the states Y (n, 2, batch, u).

        With the weights of a single direction, read 1 for 2.
        """
        g, (sides, _, u) = self.graph, self.weights[f"encoder.W_hh_{layer}"].shape
        W, R, b = (self._gates_in_onnx_order(f"encoder.{name}_{layer}", u) for name in ("W_ih", "W_hh", "b"))
        B = g.op("Concat", b, g.constant(np.zeros((sides, 4 * u)), "float32"), axis=1)
        return g.op("LSTM", X, W, R, B, lengths, hidden_size=u, direction=direction)

    def linear(self, X: str, W: str, bias: str = "") -> str:
        """X (batch, n, in) times the transposed W (out, in), plus a bias."""
        product = self.graph.op("MatMul", X, self.graph.op("Transpose", self.weight(W), perm=[1, 0]))
        return self.graph.op("Add", product, self.weight(bias)) if bias else product

    def dense(self, X: str, W: str, bias: str) -> str:
        """The same for X (batch, in), with an operator that needs no transposed copy of a large W."""
        return self.graph.op("Gemm", X, self.weight(W), self.weight(bias), transB=1)

    def grouped(self, X: str, W: str, bias: str = "") -> str:
        """X (groups, batch, in) times W (groups, in, out): each group has its own weights."""
        product = self.graph.op("MatMul", X, self.weight(W))
        if not bias:
            return product
        b = self.graph.op("Unsqueeze", self.weight(bias), self.graph.constant([1], "int64"))
        return self.graph.op("Add", product, b)

    def _gates_in_onnx_order(self, name: str, u: int) -> str:
        """Input, forget, cell, output -> input, output, forget, cell."""
        g = self.graph

        def gates(start: int, end: int) -> str:
            bounds = (g.constant([x], "int64") for x in (start * u, end * u, 1))
            return g.op("Slice", self.weight(name), *bounds)

        return g.op("Concat", gates(0, 1), gates(3, 4), gates(1, 3), axis=1)


class Int8(Float32):
    """Products of int8 weights and inputs quantised on the fly, summed in int32.

    Each output of a product has its own scale, and so has each word. Rounding is symmetric around zero.
    Small matrices stay float32: quantising their input takes longer than they save.
    On x86 processors without VNNI (before about 2019) ONNX Runtime's sums can saturate: check the accuracy.
    """

    SMALL = 2**16  # weights

    def words(self, ids: str) -> str:
        """A word's int8 vector times its scale."""
        g = self.graph
        table, scale = quantise(self.weights["words.weight"], axis=1)
        rows = g.op("Cast", g.op("Gather", g.weight("words.int8", table), ids), to=1)
        return self._project(g.op("Mul", rows, g.op("Gather", g.weight("words.scale", scale), ids)))

    def lstm(self, X: str, lengths: str, layer: int, direction: str = "bidirectional") -> str:
        """ONNX Runtime's int8 LSTM; the gates themselves stay float32."""
        g, (sides, _, u) = self.graph, self.weights[f"encoder.W_hh_{layer}"].shape
        order = np.r_[0:u, 3 * u : 4 * u, u : 3 * u]
        W, W_scale = self._lstm_weight(f"encoder.W_ih_{layer}", order)
        R, R_scale = self._lstm_weight(f"encoder.W_hh_{layer}", order)
        b = self.weights[f"encoder.b_{layer}"][:, order]
        B = g.weight(f"encoder.B_{layer}", np.concatenate([b, np.zeros_like(b)], axis=1))
        zero = g.constant(np.zeros((sides, 4 * u)), "int8")
        return g.op(
            "DynamicQuantizeLSTM", X, W, R, B, lengths, "", "", "", W_scale, zero, R_scale, zero,
            domain="com.microsoft", hidden_size=u, direction=direction,
        )  # fmt: skip

    def linear(self, X: str, W: str, bias: str = "") -> str:
        """As in float32, with one scale for all of X (..., in); float32 if W is small."""
        if self.weights[W].size < self.SMALL:
            return super().linear(X, W, bias)
        integers, scale = quantise(self.weights[W], axis=1)
        product = self._product(X, W, integers.T, scale[:, 0])
        return self.graph.op("Add", product, self.weight(bias)) if bias else product

    def dense(self, X: str, W: str, bias: str) -> str:
        """As `linear`; float32 if W is small."""
        if self.weights[W].size < self.SMALL:
            return super().dense(X, W, bias)
        return self.linear(X, W, bias)

    def grouped(self, X: str, W: str, bias: str = "") -> str:
        """As in float32, with one scale for all of X; float32 if the groups are small."""
        if self.weights[W][0].size < self.SMALL:
            return super().grouped(X, W, bias)
        product = self._product(X, W, *quantise(self.weights[W], axis=1))
        if not bias:
            return product
        return self.graph.op("Add", product, self.graph.weight(bias, self.weights[bias][:, None]))

    def _product(self, X: str, name: str, integers: np.ndarray, scale: np.ndarray) -> str:
        g = self.graph
        X_int, X_scale, X_zero = g.ops("DynamicQuantizeLinear", X, outputs=3)
        total = g.op("MatMulInteger", X_int, g.weight(f"{name}.int8", integers), X_zero)
        both = g.op("Mul", X_scale, g.weight(f"{name}.scale", scale))
        return g.op("Mul", g.op("Cast", total, to=1), both)

    def _lstm_weight(self, name: str, order: np.ndarray) -> tuple[str, str]:
        """Quantise and rearrange to (2, in, 4u); with a single direction, (1, in, 4u)."""
        integers, scale = quantise(self.weights[name][:, order], axis=2)
        g = self.graph
        return g.weight(f"{name}.int8", integers.transpose(0, 2, 1)), g.weight(f"{name}.scale", scale[..., 0])


def quantise(W: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """Round to integers from -127 to 127; also return the scales that undo it, one per line along `axis`.

    >>> integers, scale = quantise(np.array([[0.5, -1.0], [0.0, 0.0]], np.float32), axis=1)
    >>> integers.tolist(), (integers * scale).round(2).tolist()
    ([[64, -127], [0, 0]], [[0.5, -1.0], [0.0, 0.0]])
    """
    largest = np.maximum(W.max(axis=axis, keepdims=True), -W.min(axis=axis, keepdims=True))
    scale = (np.where(largest > 1e-30, largest, 1) / np.float32(127)).astype(np.float32)
    integers = W / scale
    return np.rint(integers, out=integers).astype(np.int8), scale
