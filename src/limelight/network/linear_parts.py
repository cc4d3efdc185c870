"""Each head as a linear function of M of single texts: W and a bias, with the hidden units that are on.

A hidden layer of ReLUs is linear once it is known which of its units are on for a text; the bias is then what
the biases of all layers add. `parts.py` names the class of each head.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

import numpy as np

Weights = Mapping[str, np.ndarray]


class LinearPart(ABC):
    """A head for some texts, from its weights and their M (batch, r, 2u)."""

    biases: np.ndarray  # (batch, classes): the logits that no word gives

    def __init__(self, weights: Weights, M: np.ndarray) -> None:
        self.weights, self.shape = weights, M.shape[1:]
        self.biases = self.switch(M)

    @abstractmethod
    def switch(self, M: np.ndarray) -> np.ndarray:
        """Note which units are on, and return what reaches the logits from the biases alone."""

    @abstractmethod
    def toward(self, direction: np.ndarray, texts: np.ndarray) -> np.ndarray:
        """W (k, r, 2u): <W, M> is <direction, logits - biases>; directions (k, classes) of `texts` (k,)."""


class Linear(LinearPart):
    """Without hidden layer: M does not matter."""

    def switch(self, M: np.ndarray) -> np.ndarray:
        return np.repeat(self.weights["head.b_o"][None], len(M), axis=0)

    def toward(self, direction: np.ndarray, texts: np.ndarray) -> np.ndarray:
        return np.asarray((direction @ self.weights["head.W_o"]).reshape(len(direction), *self.shape))


class Full(LinearPart):
    """A hidden layer that reads all of M."""

    def switch(self, M: np.ndarray) -> np.ndarray:
        W, b = self.weights["head.W_1"], self.weights["head.b_1"]
        self.on = M.reshape(len(M), -1) @ W.T + b > 0
        return np.asarray((self.on * b) @ self.weights["head.W_2"].T + self.weights["head.b_2"])

    def toward(self, direction: np.ndarray, texts: np.ndarray) -> np.ndarray:
        back = direction @ self.weights["head.W_2"] * self.on[texts]
        return np.asarray((back @ self.weights["head.W_1"]).reshape(len(direction), *self.shape))


class Pruned(LinearPart):
    """Groups of hidden units, each of a row ("v") or a column ("h") of M, and a layer that may mix them."""

    def switch(self, M: np.ndarray) -> np.ndarray:
        weights = self.weights
        sides = {  # name -> units before the ReLU (batch, groups, units)
            name: _grouped(X, weights[f"head.W_{name}_0"]) + weights[f"head.b_{name}_0"]
            for name, X in (("v", M), ("h", M.transpose(0, 2, 1)))
            if f"head.W_{name}_0" in weights
        }
        self.on: dict[str, np.ndarray] = {name: before > 0 for name, before in sides.items()}
        units, alone = (
            np.concatenate([each.reshape(len(M), -1) for each in parts], axis=1)
            for parts in (
                [np.maximum(before, 0) for before in sides.values()],
                [self.on[name] * weights[f"head.b_{name}_0"] for name in sides],
            )
        )
        if "head.W_m" in weights:
            self.on["m"] = units @ weights["head.W_m"].T + weights["head.b_m"] > 0
            alone = self.on["m"] * (alone @ weights["head.W_m"].T + weights["head.b_m"])
        return np.asarray(alone @ weights["head.W_o"].T + weights["head.b_o"])

    def toward(self, direction: np.ndarray, texts: np.ndarray) -> np.ndarray:
        weights = self.weights
        W = direction @ weights["head.W_o"]  # (k, units of both sides, or of the mix)
        if "m" in self.on:
            W = W * self.on["m"][texts] @ weights["head.W_m"]
        total, start = np.zeros((len(direction), *self.shape), W.dtype), 0
        for name in ("v", "h"):
            if name in self.on:
                on = self.on[name][texts]
                end = start + on[0].size
                back = W[:, start:end].reshape(on.shape) * on
                part = _grouped(back, weights[f"head.W_{name}_0"].transpose(0, 2, 1))
                total += part if name == "v" else part.transpose(0, 2, 1)
                start = end
        return total


def _grouped(X: np.ndarray, W: np.ndarray) -> np.ndarray:
    """X (batch, groups, in) times W (groups, in, out), each group with weights of its own."""
    return np.asarray((X.transpose(1, 0, 2) @ W).transpose(1, 0, 2))
