"""An LSTM step by step, from known products of the words with W_ih: in numpy, as ONNX's Scan, and in C.

Each way has `products`, of word vectors, and `states`, from the products of some words and where these stand.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

from limelight.network.onnx.arithmetic import Int8
from limelight.network.onnx.graph import Graph
from limelight.runtime.session import Session

Weights = dict[str, np.ndarray]


class Numpy:
    """A product and the gates at each step; sigmoid(x) = tanh(x / 2) / 2 + 1/2, the half in the weights."""

    def __init__(self, weights: Weights) -> None:
        W, R, b = (weights[f"encoder.{name}_0"] for name in ("W_ih", "W_hh", "b"))
        self.u = u = R.shape[2]
        order = np.r_[: 2 * u, 3 * u : 4 * u, 2 * u : 3 * u]  # input, forget, output, cell
        half = np.repeat(np.float32([0.5, 1]), [3 * u, u])
        self.W, self.R = (np.ascontiguousarray((x[:, order] * half[:, None]).swapaxes(1, 2)) for x in (W, R))
        self.b = b[:, None, order] * half

    def products(self, X: np.ndarray) -> np.ndarray:
        """X (words, d) -> (2, words, 4u)."""
        return np.asarray(X @ self.W + self.b)

    def states(self, P: np.ndarray, places: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """Rows of P and their places (n, batch), the longest sentence first -> Y (n, 2, batch, u)."""
        (n, batch), u = places.shape, self.u
        Y, active = np.zeros((n, 2, batch, u), np.float32), count_active(n, lengths)
        for side, steps in enumerate((range(n), range(n - 1, -1, -1))):
            c, h = np.zeros((2, batch, u), np.float32)
            for t in steps:
                k = active[t]
                z = h[:k] @ self.R[side]
                z += P[side][places[t, :k]]
                np.tanh(z, out=z)
                z[:, : 3 * u] *= 0.5
                z[:, : 3 * u] += 0.5
                c[:k] *= z[:, u : 2 * u]
                c[:k] += z[:, :u] * z[:, 3 * u :]
                h = Y[t, side]
                np.multiply(z[:, 2 * u : 3 * u], np.tanh(c[:k]), out=h[:k])
        return Y


class Scan:
    """The same steps as ONNX's Scan; a cell is kept at 0 where a sentence has no word."""

    STEP = """step (float[b,u] h, float[b,u] c, float[b,w] p, float[b,one] on) =>
        (float[b,u] h2, float[b,u] c2, float[b,u] y) {
        m = MatMul(h, R)  z = Add(m, p)  gates, cell = Split<axis = 1>(z, sizes)
        s = Sigmoid(gates)  i, f, o = Split<axis = 1>(s)  new = Tanh(cell)
        kept = Mul(f, c)  added = Mul(i, new)  sum = Add(kept, added)  c2 = Mul(sum, on)
        squashed = Tanh(c2)  h2 = Mul(o, squashed)  y = Identity(h2) }"""

    def __init__(self, weights: Weights) -> None:
        W, R, b = (weights[f"encoder.{name}_0"] for name in ("W_ih", "W_hh", "b"))
        self.u = u = R.shape[2]
        order = np.r_[: 2 * u, 3 * u : 4 * u, 2 * u : 3 * u]
        self.W, self.b = np.ascontiguousarray(W[:, order].swapaxes(1, 2)), b[:, None, order]
        self.sides = [self._session(np.ascontiguousarray(R[k, order].T), k) for k in (0, 1)]

    def _session(self, R: np.ndarray, side: int) -> onnxruntime.InferenceSession:
        body = onnx.parser.parse_graph(self.STEP)
        sizes = np.array([3 * self.u, self.u])
        body.initializer.extend([numpy_helper.from_array(R, "R"), numpy_helper.from_array(sizes, "sizes")])
        scan = helper.make_node(
            "Scan", ["zeros", "zeros", "p", "on"], ["h", "c", "Y"], body=body, num_scan_inputs=2,
            scan_input_directions=[side, side], scan_output_directions=[side],
        )  # fmt: skip
        given = {"P": (1, ["w", 4 * self.u]), "places": (6, ["n", "b"]), "on": (1, ["n", "b", 1]),
                 "zeros": (1, ["b", self.u])}  # fmt: skip
        inputs = [helper.make_tensor_value_info(name, *about) for name, about in given.items()]
        output = helper.make_tensor_value_info("Y", 1, ["n", "b", self.u])
        nodes = [helper.make_node("Gather", ["P", "places"], ["p"]), scan]
        model = helper.make_model(
            helper.make_graph(nodes, "scan", inputs, [output]), ir_version=8,
            opset_imports=[helper.make_opsetid("", 17)],
        )  # fmt: skip
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = 1, 3
        content = model.SerializeToString()
        return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])

    products = Numpy.products

    def states(self, P: np.ndarray, places: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        on = (np.arange(len(places))[:, None] < lengths)[..., None].astype(np.float32)  # (n, batch, 1)
        feed = {"places": places, "on": on, "zeros": np.zeros((len(lengths), self.u), np.float32)}
        sides = [session.run(["Y"], {**feed, "P": P[k]})[0] for k, session in enumerate(self.sides)]
        return np.stack(sides, axis=1)


class Compiled:
    """The kernel in C; W_hh and the products are in the order it reads them, in whole vectors."""

    def __init__(self, weights: Weights) -> None:
        self.library = compile_kernel()
        W, R, b = (weights[f"encoder.{name}_0"] for name in ("W_ih", "W_hh", "b"))
        self.u = R.shape[2]
        self.W, self.b = (self._pack(x).reshape(2, x.shape[1], -1) for x in (W.swapaxes(1, 2), b[:, None]))
        self.R = np.ascontiguousarray(self._pack(R.swapaxes(1, 2)).swapaxes(1, 2))  # (2, blocks, u, 4, VL)

    def _pack(self, X: np.ndarray) -> np.ndarray:
        """(2, in, 4u) -> (2, in, blocks, 4, VL)."""
        VL = self.library.vector_length()
        gates = X.reshape(*X.shape[:2], 4, self.u)
        gates = np.pad(gates, ((0, 0), (0, 0), (0, 0), (0, -self.u % VL)))
        return np.ascontiguousarray(gates.reshape(*gates.shape[:3], -1, VL).swapaxes(2, 3))

    products = Numpy.products

    def states(self, P: np.ndarray, places: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        (n, batch), units = places.shape, P.shape[2] // 4
        Y, cells = np.zeros((n, 2, batch, units), np.float32), np.zeros((2, batch, units), np.float32)
        ids, active = np.ascontiguousarray(places, np.int32), count_active(n, lengths)
        for side, p in enumerate(P):
            arrays = [pointer(x) for x in (self.R[side], p, ids, active)]
            self.library.lstm(*arrays, n, batch, self.u, units, side, pointer(Y), pointer(cells[side]))
        return Y[..., : self.u]


class CompiledInt8(Compiled):
    """The kernel in int8, for processors of ARM with dot products; the input products by ONNX Runtime in int8."""

    def __init__(self, weights: Weights) -> None:
        super().__init__(weights)
        R, u = weights["encoder.W_hh_0"], self.u
        self.K = K = u + -u % 16
        scale = np.abs(R).max(axis=2, keepdims=True) / 127
        q = np.pad(np.rint(R / scale).astype(np.int8), ((0, 0), (0, 0), (0, K - u)))
        q = q.reshape(2, 4, u // 4, 4, K // 4, 4)  # side, gate, block, unit, and K in fours
        self.R = np.ascontiguousarray(q.transpose(0, 2, 4, 1, 3, 5))
        self.S = np.ascontiguousarray(
            (scale / 127).reshape(2, 4, u // 4, 4).swapaxes(1, 2).astype(np.float32)
        )
        self.sides = [_linear(np.ascontiguousarray(W.T), b[0]) for W, b in zip(self.W, self.b, strict=True)]

    def products(self, X: np.ndarray) -> np.ndarray:
        return np.stack([side.run({"X": np.ascontiguousarray(X)}, "Y")[0] for side in self.sides])

    def states(self, P: np.ndarray, places: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        (n, batch), u = places.shape, self.u
        Y, cells = np.zeros((n, 2, batch, u), np.float32), np.zeros((2, batch, u), np.float32)
        ids, active = np.ascontiguousarray(places, np.int32), count_active(n, lengths)
        for side, p in enumerate(P):
            rounded = np.zeros((2, batch, self.K), np.int8)
            arrays = [pointer(x) for x in (self.R[side], self.S[side], p, ids, active)]
            ends = [pointer(x) for x in (Y, cells[side], rounded)]
            self.library.lstm8(*arrays, n, batch, self.K, u, side, *ends)
        return Y


def _linear(W: np.ndarray, b: np.ndarray) -> Session:
    """X -> X W.T + b, in int8."""
    g = Graph("products")
    Y = Int8(g, {"W": W, "b": b}).linear(g.input("X", "float32", "n", W.shape[1]), "W", "b")
    g.output("Y", Y, "float32", "n", len(W))
    return Session(g)


def compile_kernel() -> ctypes.CDLL:
    source = Path(__file__).with_name("cpu_lstm.c")
    with tempfile.TemporaryDirectory() as folder:
        compiled, library = str(Path(folder, "kernel.o")), str(Path(folder, "kernel.so"))
        cc, flags = str(shutil.which("cc")), ["-O3", "-march=native", "-ffast-math", "-fPIC"]
        subprocess.run([cc, *flags, "-c", str(source), "-o", compiled], check=True)
        # linked without -ffast-math, with which loading the library makes Python's own small numbers zero
        subprocess.run([cc, "-shared", compiled, "-o", library, "-lm"], check=True)
        return ctypes.CDLL(library)


def pointer(array: np.ndarray) -> ctypes.c_void_p:
    return array.ctypes.data_as(ctypes.c_void_p)


def count_active(n: int, lengths: np.ndarray) -> np.ndarray:
    """(n,): how many sentences have a word t."""
    return (np.arange(n)[:, None] < lengths).sum(axis=1, dtype=np.int32)


def stepwise() -> dict[str, Any]:
    found = {"Scan": Scan, "numpy": Numpy, "C": Compiled}
    return {name: kind for name, kind in found.items() if name != "C" or shutil.which("cc")}
