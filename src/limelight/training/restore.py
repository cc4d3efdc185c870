"""A saved model as a PyTorch network again: for gradients, and for training on."""

from __future__ import annotations

import numpy as np
import torch

from ..model.network import Network
from ..runtime.model import Model


def network_of(model: Model) -> Network:
    """The network whose weights the model runs with, on the CPU, ready to predict.

    >>> model = Model.load("reviews")  # doctest: +SKIP
    >>> network_of(model)(ids, lengths).logits  # doctest: +SKIP
    """
    with torch.random.fork_rng(devices=[]):  # its starting weights are drawn, and thrown away
        network = Network(model.recipe.model, len(model.tokenizer), len(model.labels), model.pair)
    weights = {name: torch.from_numpy(np.array(array)) for name, array in model.weights.items()}
    network.load_state_dict(weights, assign=True)
    return network.eval()
