"""A saved model as a PyTorch network, for gradients."""

from __future__ import annotations

import numpy as np
import torch

from ..model.network import Network
from ..runtime.model import Model


def network_of(model: Model) -> Network:
    """The model's network on the CPU, in evaluation mode.

    >>> model = Model.load("reviews")  # doctest: +SKIP
    >>> network_of(model)(ids, lengths).logits  # doctest: +SKIP
    """
    with torch.random.fork_rng(devices=[]):  # the random starting weights are thrown away
        network = Network(model.recipe.model, len(model.tokenizer), len(model.labels), model.pair)
    weights = {name: torch.from_numpy(np.array(array)) for name, array in model.weights.items()}
    network.load_state_dict(weights, assign=True)
    return network.eval()
