"""The network's four kinds of matrix products as ONNX operators, in float32 or in int8."""

from collections.abc import Mapping

import numpy as np

from ..quantise import GROUP, SCALE, quantise, values
from .graph import Graph

ZERO = 128  # what a byte of 0 is stored as
OPEN = 20.0  # a gate at 20 is open: its sigmoid is 1 in float32, as is its hyperbolic tangent


class Float32:
    """Products in float32. Every weight enters the graph exactly as it was trained and saved.

    Where ONNX needs another layout, the graph rearranges it on loading, so that a file can contain the graph
    alone and point to the bytes of model.safetensors.
    """

    def __init__(self, graph: Graph, weights: Mapping[str, np.ndarray]) -> None:
        self.graph, self.weights = graph, weights

    def weight(self, name: str) -> str:
        """Add the weight of this name to the graph, in float32 however it is stored."""
        stored = self.graph.weight(name, self.weights[name])
        if name + SCALE not in self.weights:
            return stored
        g = self.graph
        scale = g.weight(name + SCALE, self.weights[name + SCALE])
        return g.op("Mul", g.op("Cast", stored, to=1), g.op("Cast", scale, to=1))

    def words(self, ids: str) -> str:
        """Equation 1: the word vectors, projected if the model does; ids (a, b) -> S (a, b, d)."""
        return self._project(self.rows("words.weight", ids))

    def rows(self, table: str, ids: str) -> str:
        """The rows (a, b, d) of a table, unpacked for these ids (a, b) only."""
        g = self.graph
        rows = g.op("Gather", g.weight(table, self.weights[table]), ids)
        if table + SCALE not in self.weights:
            return rows
        packed = g.op("Cast", rows, to=6)  # (a, b, d / 2) int32: two numbers to a byte
        scale = g.op("Cast", g.op("Gather", g.weight(table + SCALE, self.weights[table + SCALE]), ids), to=1)
        last, sixteen = g.constant([-1], "int64"), g.constant(16, "int32")
        halves = (g.op("Mod", packed, sixteen), g.op("Div", packed, sixteen))
        pairs = g.op("Concat", *(g.op("Unsqueeze", half, last) for half in halves), axis=-1)
        numbers = g.op("Cast", g.op("Sub", pairs, g.constant(8, "int32")), to=1)  # (a, b, d / 2, 2)
        groups = g.op("Reshape", numbers, g.constant([0, 0, -1, GROUP], "int64"))
        found = g.op("Mul", groups, g.op("Unsqueeze", scale, last))
        return g.op("Reshape", found, g.constant([0, 0, -1], "int64"))  # (a, b, d)

    def _project(self, S: str) -> str:
        """Always in float32: it is a small part of the work, and int8 words are already rounded once."""
        if "projection.W" not in self.weights:
            return S
        return self.graph.op("Relu", Float32.linear(self, S, "projection.W", "projection.b"))

    def lstm(self, X: str, lengths: str, layer: int, direction: str = "bidirectional") -> str:
        """X (n, batch, d) -> the states Y (n, 2, batch, u); with the weights of one direction, 1 for 2."""
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

    Each output of a product has its own scale, and so has each word and each line of an input: what a text is
    rounded to does not depend on the texts beside it. Small matrices stay float32, as quantising their input
    takes longer than they save; so the attention of every preset: where the last bit of a state depends on
    the batch, as on some processors, it would fall to either of two integers, and M change a thousandfold.
    """

    SMALL = 2**18  # weights

    def words(self, ids: str) -> str:
        """A word's int8 vector times its scale; words of 4 bits are small enough as they are."""
        if "words.weight.scale" in self.weights:
            return super().words(ids)
        g = self.graph
        table, scale = quantise(self.weights["words.weight"])
        rows = g.op("Cast", g.op("Gather", g.weight("words.int8", table), ids), to=1)
        return self._project(g.op("Mul", rows, g.op("Gather", g.weight("words.scale", scale), ids)))

    def lstm(self, X: str, lengths: str, layer: int, direction: str = "bidirectional") -> str:
        """ONNX Runtime's int8 LSTM; the gates themselves stay float32.

        It takes the scales of X and, at each step, of the states from the smallest and the largest number of
        the whole batch. So that these are the same in every batch, two inputs and two units are added that no
        other can exceed: the bounds of X, and units whose gates are all open.
        """
        g, (sides, _, u) = self.graph, self.weights[f"encoder.W_hh_{layer}"].shape
        W, W_scale = self._lstm_weight(f"encoder.W_ih_{layer}")
        R, R_scale = self._lstm_weight(f"encoder.W_hh_{layer}")
        b = _with_units(self.weights[f"encoder.b_{layer}"][..., None], OPEN)[..., 0]
        b[:, -1] *= -1  # the last unit's cell: downwards
        B = g.weight(f"encoder.B_{layer}", np.concatenate([b, np.zeros_like(b)], axis=1))
        zero = g.constant(np.full((sides, 4 * (u + 2)), ZERO), "uint8")
        Y = g.op(
            "DynamicQuantizeLSTM", self._with_bounds(X, layer), W, R, B, lengths, "", "", "", W_scale, zero,
            R_scale, zero, domain="com.microsoft", hidden_size=u + 2, direction=direction,
        )  # fmt: skip
        return g.op("Slice", Y, *(g.constant([x], "int64") for x in (0, u, 3)))

    def linear(self, X: str, W: str, bias: str = "") -> str:
        """As in float32, with a scale for each line of X (..., in); float32 if W is small."""
        if self.weights[W].size < self.SMALL:
            return super().linear(X, W, bias)
        integers, scale = quantise(values(self.weights, W))
        product = self._product(X, W, integers.T, scale[:, 0])
        return self.graph.op("Add", product, self.weight(bias)) if bias else product

    def dense(self, X: str, W: str, bias: str) -> str:
        if self.weights[W].size < self.SMALL:
            return super().dense(X, W, bias)
        return self.linear(X, W, bias)

    def grouped(self, X: str, W: str, bias: str = "") -> str:
        """As in float32, with a scale for each line of X; float32 if the groups are small."""
        if self.weights[W][0].size < self.SMALL:
            return super().grouped(X, W, bias)
        product = self._product(X, W, *quantise(values(self.weights, W), axis=1))
        if not bias:
            return product
        return self.graph.op("Add", product, self.graph.weight(bias, self.weights[bias][:, None]))

    def _product(self, X: str, name: str, integers: np.ndarray, scale: np.ndarray) -> str:
        g = self.graph
        largest = g.op("ReduceMax", g.op("Abs", X), axes=[-1], keepdims=1)  # (..., 1)
        step = g.op("Div", g.op("Max", largest, self._number(1e-30)), self._number(127))
        rounded = g.op("Add", g.op("Round", g.op("Div", X, step)), self._number(128))  # 1 to 255
        X_int, zero = g.op("Cast", rounded, to=2), g.constant(ZERO, "uint8")
        total = g.op("MatMulInteger", X_int, g.weight(f"{name}.int8", _as_bytes(integers)), zero, zero)
        product = g.op("Mul", g.op("Cast", total, to=1), g.weight(f"{name}.scale", scale))
        return g.op("Mul", product, step)

    def _lstm_weight(self, name: str) -> tuple[str, str]:
        """Quantise and rearrange to (2, in, 4u); with a single direction, (1, in, 4u)."""
        W = np.pad(_with_units(values(self.weights, name)), ((0, 0), (0, 0), (0, 2)))
        integers, scale = quantise(W)
        g = self.graph
        rearranged = _as_bytes(integers.transpose(0, 2, 1))
        return g.weight(f"{name}.int8", rearranged), g.weight(f"{name}.scale", scale[..., 0])

    def _with_bounds(self, X: str, layer: int) -> str:
        """X (n, batch, d) -> (n, batch, d + 2): clipped, and beside it what it is clipped to."""
        g, bound = self.graph, self._bound(layer)
        clipped = g.op("Clip", X, self._number(-bound), self._number(bound))
        shape = g.op("Concat", g.op("Shape", X, start=0, end=2), g.constant([2], "int64"), axis=0)
        bounds = g.op("Expand", g.constant([-bound, bound], "float32"), shape)
        return g.op("Concat", clipped, bounds, axis=2)

    def _bound(self, layer: int) -> float:
        """The largest input of this layer: word vectors and, above the first, states, which are below 1."""
        projects = "projection.W" in self.weights
        every = len(self.weights["words.weight"]) // 2048 + 1 if projects else 1  # all would take a second
        words = values(self.weights, "words.weight", every)
        if projects:
            words = words @ self.weights["projection.W"].T + self.weights["projection.b"]
        return max(float(words.max()), -float(words.min()), 1.0 if layer else 1e-30)

    def _number(self, value: float) -> str:
        return self.graph.constant(value, "float32")


def _as_bytes(integers: np.ndarray) -> np.ndarray:
    """int8 as uint8: ZERO stands for 0. Products of bytes with int8 would saturate on many processors."""
    return (integers.astype(np.int16) + ZERO).astype(np.uint8)


def _with_units(W: np.ndarray, value: float = 0.0) -> np.ndarray:
    """W (sides, 4u, in), its gates in ONNX's order, with two more units that have `value` everywhere."""
    gates = W.reshape(len(W), 4, W.shape[1] // 4, W.shape[2])[:, [0, 3, 1, 2]]
    gates = np.pad(gates, ((0, 0), (0, 0), (0, 2), (0, 0)), constant_values=value)
    return gates.reshape(len(W), -1, W.shape[2])
