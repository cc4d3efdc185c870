"""Integrated gradients of the predicted class's logit: positive words speak for it, negative ones against."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from ..errors import LimelightError
from ..network.torch.network import Network, with_weights
from ..runtime.batches import Sentences
from ..runtime.model import Model
from ..text.tokenizer import PAD
from .variants import TokenIds, progress_bar

STEPS = 20  # points of the path integral
_BATCH_WORDS = 12_000

Side = tuple[Tensor, Tensor]  # word vectors S (batch, n, d), and lengths (batch,)


def network_of(model: Model) -> Network:
    """The model's network on the CPU, in evaluation mode.

    >>> model = Model.load("reviews")  # doctest: +SKIP
    >>> network_of(model)(ids, lengths).logits  # doctest: +SKIP
    """
    if not model.recipe.model.table_size:
        wrong = "gradients are those of word vectors; the encoder of this model reads words"
        raise LimelightError(wrong, code="model-task")
    sizes = len(model.tokenizer), len(model.labels), model.pair
    modules = copy.deepcopy(model.modules)
    return with_weights(lambda: Network(model.recipe.model, *sizes, modules), model.weights)


def integrated_gradients(
    network: Network, sides: list[Side], target: Tensor, steps: int = STEPS
) -> list[Tensor]:
    """Gradient times input, the gradient averaged along the straight path from zero vectors to the words.

    The attributions of a text add up to its logit minus the logit of zero vectors (Sundararajan et al. 2017),
    within the accuracy of Gauss-Legendre quadrature with `steps` points.
    """
    points, weights = np.polynomial.legendre.leggauss(steps)
    totals = [torch.zeros_like(S) for S, _ in sides]
    for point, weight in zip((1 + points) / 2, weights / 2, strict=True):
        S = [(side * point).requires_grad_() for side, _ in sides]
        given = [(vectors, lengths) for vectors, (_, lengths) in zip(S, sides, strict=True)]
        chosen = logits(network, given).gather(1, target[:, None])
        gradients = torch.autograd.grad(chosen.sum(), S)
        totals = [total + g * weight for total, g in zip(totals, gradients, strict=True)]
    return [(total * S).sum(2) for total, (S, _) in zip(totals, sides, strict=True)]


def attribute_ids(
    network: Network, ids: Sequence[TokenIds], targets: Sequence[int], *, bar_name: str = ""
) -> list[np.ndarray]:
    """(n + m,) for each text: the weights of its words for its target class; a `bar_name` shows a bar."""
    weights: list[np.ndarray] = [np.empty(0)] * len(ids)
    with _one_thread(), progress_bar(bar_name, len(ids)) as bar:
        lengths = np.array([len(each) for each in ids], int)
        for batch in Sentences(np.empty(0), lengths).batches(_BATCH_WORDS):
            sides = [_pad(network, side) for side in zip(*(ids[k].sides for k in batch), strict=True)]
            target = torch.tensor([targets[k] for k in batch])
            parts = integrated_gradients(network, sides, target)
            for row, k in enumerate(batch):
                both = zip(parts, ids[k].sides, strict=True)
                unpadded = [part[row, : len(side)].detach() for part, side in both]
                weights[k] = torch.cat(unpadded).double().numpy()
            bar.update(len(batch))
    return weights


@contextmanager
def _one_thread() -> Iterator[None]:
    """Use one thread: an LSTM's steps are too small to divide, and threads would wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def logits(network: Network, sides: list[Side]) -> Tensor:
    M = [network.pool(network.encoder(S, lengths), lengths)[0] for S, lengths in sides]
    return torch.as_tensor(network.head(network.relate(*M) if network.pair else M[0]))


def _pad(network: Network, ids: Sequence[np.ndarray]) -> Side:
    lengths = torch.tensor([len(each) for each in ids])
    texts = [torch.from_numpy(each.astype(np.int64)) for each in ids]
    with torch.no_grad():
        return network.vectors(pad_sequence(texts, batch_first=True, padding_value=PAD)), lengths
