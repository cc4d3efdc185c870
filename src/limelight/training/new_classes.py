"""The classifier of new classes, as training that goes on with a model starts with it.

Random weights would take many steps to catch up with those of the old classes, and change all the rest.
Logistic regression on what the last layer reads is convex and takes none; the old classes stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from ..network.torch.network import Network
from ..text.dataset import Split
from .first_head import USUAL
from .last_layer import draw_rows, last_layer, minimise, read_features, weights_at

MOST = 2000  # rows that it is fitted to
RIDGE = 1e-6  # added to the diagonal of products, which may be singular


@torch.no_grad()
def fit_new_classes(
    network: Network, split: Split, new: Sequence[int], weights: np.ndarray | None, seed: int
) -> None:
    """Fit the rows of the last layer that belong to the classes `new`; all else stays as it is."""
    rows = draw_rows(split, MOST, seed)
    last, bias = last_layer(network)
    X = read_features(network, split, rows)  # (n, f)
    Z = X @ last.double().T + bias.double()  # (n, classes)
    y = torch.from_numpy(np.asarray(split.labels, dtype=np.int64)[rows]).to(X.device)
    w = weights_at(rows, weights, X)
    scale = X.norm(dim=1).mean().clamp(min=1e-12)
    W, b = fit_rows(X.div_(scale), Z, y, w, new)
    last[list(new)] = (W / scale).to(last)
    bias[list(new)] = b.to(bias)


def fit_rows(
    V: Tensor, Z: Tensor, y: Tensor, w: Tensor, new: Sequence[int], strength: float = USUAL
) -> tuple[Tensor, Tensor]:
    """W (new, f) and b (new,) of new classes beside the logits Z (n, classes) of the others, which are fixed.

    Of many features f, only the directions of the n rows V (n, f) matter: V V^T = L L^T, and L stands for V.
    """
    many = V.shape[1] > len(V)
    eye = RIDGE * torch.eye(len(V), dtype=V.dtype, device=V.device)
    L = torch.linalg.cholesky(V @ V.T + eye) if many else V
    W, b = L.new_zeros(len(new), L.shape[1]), L.new_zeros(len(new))
    columns = torch.tensor(list(new), device=V.device)

    def loss() -> Tensor:
        logits = Z.index_copy(1, columns, L @ W.T + b)
        entropy = torch.nn.functional.cross_entropy(logits, y, reduction="none")
        return strength * (entropy * w).sum() + W.square().sum() / 2

    found, bias = minimise(W, b, loss)
    return (torch.linalg.solve_triangular(L, found, upper=False, left=False) @ V if many else found), bias
