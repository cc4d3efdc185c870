"""The starting weights of the author's code, on which the paper is silent."""

from __future__ import annotations

import math

import torch
from torch import nn

from .encoder import BiLSTM, Convolution, WordEmbedding
from .heads import GatedEncoder
from .module import ModuleEncoder, ModulePooling


@torch.no_grad()
def initialise(network: nn.Module) -> None:
    """LSTM weights N(0, 0.1), gated tensors within 0.00398, the rest Glorot-uniform; all biases 0.

    The word vectors are not touched: they come from a file, or from `WordEmbedding`. Nor is a module of the
    user's own.
    """
    own = [each for each in network.modules() if isinstance(each, ModuleEncoder | ModulePooling)]
    foreign = {module for each in own for module in each.modules()}
    for module in network.modules():
        if module in foreign:
            continue
        for name, weight in module.named_parameters(recurse=False):
            if isinstance(module, WordEmbedding):
                continue
            if name.startswith("b"):
                weight.zero_()
            elif isinstance(module, BiLSTM):
                weight.normal_(0, 0.1)
            elif isinstance(module, GatedEncoder):
                weight.uniform_(-0.00398, 0.00398)
            else:
                _glorot(weight, groups=weight.dim() == 3 and not isinstance(module, Convolution))


def _glorot(weight: nn.Parameter, groups: bool) -> None:
    """Uniform within sqrt(6 / (fan_in + fan_out)); each group of a pruned head by itself."""
    if groups:
        fan_in, fan_out = weight.shape[1:]
    elif weight.dim() == 1:
        fan_in, fan_out = weight.shape[0], 1
    else:
        field = math.prod(weight.shape[2:])
        fan_out, fan_in = weight.shape[0] * field, weight.shape[1] * field
    bound = math.sqrt(6 / (fan_in + fan_out))
    weight.uniform_(-bound, bound)
