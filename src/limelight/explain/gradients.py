"""Attributions from gradients: of the predicted class's logit, through the rows of M and to the words.

All are signed: above 0 a word speaks for the predicted class, below 0 against it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor

from ..model.network import Network
from ..text.tokenizer import PAD
from .variants import Words, texts_bar

STEPS = 20  # points of the path integral
_BATCH_WORDS = 12_000

Side = tuple[Tensor, Tensor]  # word vectors S (batch, n, d), and lengths (batch,)
Method = Callable[[Network, list[Side], Tensor], list[Tensor]]


def effect(network: Network, sides: list[Side], target: Tensor) -> list[Tensor]:
    """How much of the logit comes from each word through the rows: sum_i A_it <dlogit/dM_i, h_t>.

    To first order the logit is sum_i <dlogit/dM_i, M_i> and a constant, and M_i = sum_t A_it h_t: the sum
    taken apart word by word is this. Attention alone says how much of h_t row i takes; this also says
    what the classifier makes of it. A row that weighs each unit by itself, such as one of max pooling, is
    taken apart unit by unit.
    """
    with torch.no_grad():
        H = [network.encoder(S, lengths) for S, lengths in sides]
    values = [h.clone().requires_grad_() for h in H]
    M = [network.pool(h, lengths, v)[0] for h, v, (_, lengths) in zip(H, values, sides, strict=True)]
    gradients = torch.autograd.grad(_chosen(network, M, target), values)
    return [(g * h).sum(2) for g, h in zip(gradients, H, strict=True)]


def gradient_times_input(network: Network, sides: list[Side], target: Tensor) -> list[Tensor]:
    """<dlogit/dw_t, w_t> of every word vector w_t."""
    S = [side.requires_grad_() for side, _ in sides]
    gradients = _word_gradients(network, S, [lengths for _, lengths in sides], target)
    return [(g * s).sum(2) for g, s in zip(gradients, S, strict=True)]


def integrated_gradients(
    network: Network, sides: list[Side], target: Tensor, steps: int = STEPS
) -> list[Tensor]:
    """The same with the gradient averaged along the straight path from zero vectors to the words.

    The attributions of a text add up to its logit minus that of the zero vectors (Sundararajan et al. 2017),
    to the accuracy of Gauss-Legendre quadrature with `steps` points.
    """
    points, weights = np.polynomial.legendre.leggauss(steps)
    totals = [torch.zeros_like(S) for S, _ in sides]
    for point, weight in zip((1 + points) / 2, weights / 2, strict=True):
        S = [(side * point).requires_grad_() for side, _ in sides]
        gradients = _word_gradients(network, S, [lengths for _, lengths in sides], target)
        totals = [total + g * weight for total, g in zip(totals, gradients, strict=True)]
    return [(total * S).sum(2) for total, (S, _) in zip(totals, sides, strict=True)]


def attributions(
    network: Network, method: Method, words: Sequence[Words], *, bar: str = ""
) -> list[np.ndarray]:
    """For each text (n + m,): what `method` gives its words, batched by length; a bar if it has a name."""
    found: list[np.ndarray] = [np.empty(0)] * len(words)
    with _one_thread(), texts_bar(bar, len(words)) as shown:
        for rows in _batches(words):
            sides = [_padded(network, side) for side in zip(*(words[k].sides for k in rows), strict=True)]
            with torch.no_grad():
                target = logits(network, sides).argmax(1)
            parts = method(network, sides, target)
            for place, k in enumerate(rows):
                lengths = [len(side) for side in words[k].sides]
                own = [part[place, :n].detach() for part, n in zip(parts, lengths, strict=True)]
                found[k] = torch.cat(own).double().numpy()
            shown.update(len(rows))
    return found


@contextmanager
def _one_thread() -> Iterator[None]:
    """The steps of an LSTM are too small to share out: on a busy machine threads wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def logits(network: Network, sides: list[Side]) -> Tensor:
    """(batch, classes) from word vectors."""
    return _head(network, [network.pool(network.encoder(S, lengths), lengths)[0] for S, lengths in sides])


def _word_gradients(
    network: Network, S: list[Tensor], lengths: list[Tensor], target: Tensor
) -> tuple[Tensor, ...]:
    chosen = logits(network, list(zip(S, lengths, strict=True))).gather(1, target[:, None]).sum()
    return torch.autograd.grad(chosen, S)


def _chosen(network: Network, M: list[Tensor], target: Tensor) -> Tensor:
    return _head(network, M).gather(1, target[:, None]).sum()


def _head(network: Network, M: list[Tensor]) -> Tensor:
    features: Tensor = network.relate(*M) if network.pair else M[0]
    return torch.as_tensor(network.head(features))


def _padded(network: Network, ids: Sequence[np.ndarray]) -> Side:
    lengths = torch.tensor([len(each) for each in ids])
    grid = torch.full((len(ids), int(lengths.max())), PAD)
    for row, each in zip(grid, ids, strict=True):
        row[: len(each)] = torch.from_numpy(each.astype(np.int64))
    with torch.no_grad():
        return network.vectors(grid), lengths


def _batches(words: Sequence[Words]) -> Iterator[list[int]]:
    """Numbers of the texts, the longest first, as many at a time as memory should hold."""
    order = sorted(range(len(words)), key=lambda k: -len(words[k]))
    while order:
        size = max(1, _BATCH_WORDS // len(words[order[0]]))
        yield order[:size]
        order = order[size:]
