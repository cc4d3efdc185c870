"""A second reader of saved folders, written from docs/format.md alone: json, numpy and safetensors.

It takes texts of ASCII letters and spaces only: the words of others need the engine of the splitting rules.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load

Array = np.ndarray
FILES = ("tokenizer.json", "model.safetensors", "model.onnx", "model.int8.onnx")


def relu(x: Array) -> Array:
    return np.maximum(x, 0)


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.asarray(e / e.sum(axis=-1, keepdims=True))


class FolderReader:
    """What the document says, one text at a time, in float64."""

    def __init__(self, folder: Path) -> None:
        config = json.loads((folder / "config.json").read_bytes())
        rest = {key: value for key, value in config.items() if key != "sha256"}
        content = json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()
        assert config["format"] == 1
        assert hashlib.sha256(content).hexdigest() == config["sha256"]
        contents = {name: (folder / name).read_bytes() for name in FILES}
        assert config["files"] == {
            name: {"bytes": len(each), "sha256": hashlib.sha256(each).hexdigest()}
            for name, each in contents.items()
        }
        self.pair, self.labels = config["kind"] == "pair", config["labels"]
        self.text, self.model = config["recipe"]["text"], config["recipe"]["model"]
        self.tokenizer = json.loads(contents["tokenizer.json"])
        stored = load(contents["model.safetensors"])
        self.w = {name: x.astype(np.float64) for name, x in stored.items()}
        if "words.weight.scale" in stored:  # 4 bits
            packed, scale = stored["words.weight"], self.w["words.weight.scale"]
            numbers = np.stack([packed & 15, packed >> 4], axis=2).reshape(len(packed), -1) - 8.0
            self.w["words.weight"] = numbers * np.repeat(scale, 32, axis=1)

    def ids(self, text: str) -> list[int]:
        if self.tokenizer["normalizer"]:
            text = text.lower()
        vocabulary = self.tokenizer["model"]["vocab"]
        ids = [vocabulary.get(word, 1) for word in text.split()] or [1]
        return ids[: self.text["max_length"] or None]

    def states(self, ids: list[int]) -> Array:
        """H, (n, 2u)."""
        w, S = self.w, self.w["words.weight"][ids]
        if self.model["projection"]:
            S = relu(S @ w["projection.W"].T + w["projection.b"])
        if self.model["embedding"] == "cnn":
            around = np.vstack([0 * S[:1], S, 0 * S[:1]])
            taps = [around[t : t + len(S)] @ w["encoder.W"][:, :, t].T for t in range(3)]
            return relu(sum(taps) + w["encoder.b"])
        below = [S]
        for k in range(self.model["layers"]):
            X = np.hstack(below)
            parts = [w[f"encoder.{name}_{k}"] for name in ("W_ih", "W_hh", "b")]
            forward = self.lstm(X, *(part[0] for part in parts))
            backward = self.lstm(X[::-1], *(part[1] for part in parts))[::-1]
            below.append(np.hstack([forward, backward]))
        return below[-1]

    @staticmethod
    def lstm(X: Array, W_ih: Array, W_hh: Array, b: Array) -> Array:
        h = c = np.zeros(W_hh.shape[1])
        states = []
        for x in X:
            i, f, g, o = np.split(W_ih @ x + W_hh @ h + b, 4)
            c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
            h = sigmoid(o) * np.tanh(c)
            states.append(h)
        return np.array(states)

    def embed(self, text: str) -> tuple[Array, Array]:
        """M, (R, Z), and A, (R, n)."""
        w, H = self.w, self.states(self.ids(text))
        shares = np.bincount(H.argmax(axis=0), minlength=len(H)) / H.shape[1]
        highest = H.max(axis=0)[None], shares[None]
        if self.model["embedding"] != "self-attention":
            return highest
        b_s1, b_s2 = (w.get(f"pooling.{name}", np.zeros(1)) for name in ("b_s1", "b_s2"))
        scores = w["pooling.W_s2"] @ np.tanh(w["pooling.W_s1"] @ H.T + b_s1[:, None]) + b_s2[:, None]
        A = softmax(scores)
        if not self.model["max_row"]:
            return A @ H, A
        return np.vstack([A @ H, highest[0]]), np.vstack([A, highest[1]])

    def probabilities(self, *texts: str) -> Array:
        M = [self.embed(text)[0] for text in texts]
        y = self.head(self.relation(*M) if self.pair else M[0])
        task = self.text.get("task", "auto")
        return y if task == "regression" else sigmoid(y) if task == "multi-label" else softmax(y)

    def relation(self, M: Array, M2: Array) -> Array:
        if self.model["pair"] == "vectors":
            M, M2 = self.vector(M), self.vector(M2)
        if self.model["pair"] != "gated":
            return np.hstack([M, M2, abs(M - M2), M * M2])
        rows = zip(M, M2, self.w["gate.W_fp"], self.w["gate.W_fh"], strict=True)
        return np.array([(m @ p) * (m2 @ h) for m, m2, p, h in rows])

    def vector(self, M: Array) -> Array:
        v = self.w["vector.W_rows"] @ (M @ self.w["vector.W_shared"].T).reshape(-1)
        return np.asarray(v / np.sqrt(np.mean(v**2)))[None]

    def head(self, F: Array) -> Array:
        w: dict[str, Any] = {name.removeprefix("head."): x for name, x in self.w.items()}
        if self.model["head"] == "full":
            return np.asarray(w["W_2"] @ relu(w["W_1"] @ F.reshape(-1) + w["b_1"]) + w["b_2"])
        if self.model["head"] == "linear":
            return np.asarray(w["W_o"] @ F.reshape(-1) + w["b_o"])
        units: list[Array] = []
        for side, groups in (("v", F), ("h", F.T)):
            if f"W_{side}_0" in w:
                rows = zip(groups, w[f"W_{side}_0"], w[f"b_{side}_0"], strict=True)
                units += [relu(row @ W + b) for row, W, b in rows]
        all_units = np.concatenate(units)
        if self.model["mix_units"]:
            all_units = relu(w["W_m"] @ all_units + w["b_m"])
        return np.asarray(w["W_o"] @ all_units + w["b_o"])
