"""What a saved model knows about its pictures: the words each row reads, how far to trust what decided."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch

from ..aspects.refits import MAX_ROWS, MIN_ROWS, fit_refits, refits_to_json
from ..network.outputs import activate
from ..network.parts import linear_part, rows_of
from ..network.quantise import Weights
from ..network.torch.module import ModulePooling
from ..network.torch.network import Network
from ..reading.rows import row_words
from ..runtime.decided import is_sum, most_weighted, word_losses, word_weights
from ..runtime.word_parts import matrix_without
from ..text.batches import draw, gather
from ..text.dataset import Dataset, Split
from ..text.questions import Question, are_numbers, class_values
from ..text.tasks import find_task
from ..text.tokenizer import SPECIAL, UNKNOWN
from .evaluate import logits, plan_batches
from .starting_network import draw_rows, read_features

ROW_TEXTS, ROW_WORDS = 1000, 40_000  # training rows that the words are taken from, and their words in all
TRUST_TEXTS, TRUST_WORDS = 100, 4000  # development rows; each is read eleven times

Thresholds = np.ndarray | None


class States(NamedTuple):
    """One sentence in the network."""

    ids: np.ndarray  # (n,)
    H: np.ndarray  # (n, 2u)
    M: np.ndarray  # (r, 2u)
    A: np.ndarray  # (r, n)


def explanation_facts(
    network: Network, dataset: Dataset, weights: Weights, thresholds: Thresholds = None
) -> dict[str, Any]:
    """`rows` and their names, from training texts; `trust`, if there are development texts; and `refits`."""
    facts = describe_rows(network, dataset)
    if (W := fit_heads(network, dataset)) is not None:
        facts["refits"] = refits_to_json(W)
    if "dev" in dataset.splits and not find_task(dataset.task).is_number:
        facts["trust"] = measure_trust(network, dataset, weights, thresholds)
    return facts


def fit_heads(network: Network, dataset: Dataset) -> np.ndarray | None:
    """W (refits, 2u), as in aspects/refits.py; None where the labels are not numbers, or there are few."""
    split, task = dataset.splits["train"], find_task(dataset.task)
    attention = rows_of(network.recipe).attention
    numbers = task.is_number or (not task.has_several and are_numbers(dataset.labels))
    if not numbers or network.pair or not attention or len(split) < MIN_ROWS:
        return None
    given = np.asarray(split.labels)
    y = given.astype(float) if task.is_number else np.array(class_values(dataset.labels))[given]
    rows = draw_rows(split, MAX_ROWS, 0)
    X = read_features(network, split, rows, lambda M: M[:, :attention].mean(dim=1))
    return fit_refits(X.float().cpu().numpy(), y[rows])


def describe_rows(network: Network, dataset: Dataset) -> dict[str, Any]:
    """The words of each row and its name, as in `row_facts`."""
    split = _sample(dataset.splits["train"], ROW_TEXTS, ROW_WORDS)
    sentences = [side for sides, _ in _read(network, split) for side in sides]
    ids, A = [each.ids for each in sentences], np.concatenate([each.A for each in sentences], axis=1)
    lengths = np.array([len(each) for each in ids])
    return row_facts(dataset.tokenizer.vocabulary, np.concatenate(ids), A, lengths)


def row_facts(
    vocabulary: Sequence[str], ids: np.ndarray, A: np.ndarray, lengths: np.ndarray
) -> dict[str, Any]:
    """Words and name of each row, none without a clear aspect; A (r, words), sentences back to back."""
    found = row_words(vocabulary, ids, A, lengths, len(SPECIAL))
    words = [[vocabulary[k] for k, _ in row.words] if row.name else [] for row in found]
    return {"rows": words, "row_names": [row.name for row in found]}


def measure_trust(
    network: Network, dataset: Dataset, weights: Weights, thresholds: Thresholds
) -> dict[str, Any]:
    """Comprehensiveness, as in explain/trust.py, of what decided and of one random draw per text."""
    rng, variants, predicted, task = np.random.default_rng(0), [], [], dataset.task
    for sides, scores in _read(network, _sample(dataset.splits["dev"], TRUST_TEXTS, TRUST_WORDS)):
        P = activate(task, scores[None].astype(float))
        predicted.append(find_task(task).explained(P[0], thresholds)[0])
        asked = find_task(task).question(predicted[-1], dataset.labels, asked=True)
        decided = _decided(network, sides, scores, asked, weights)
        left_out = np.concatenate([most_weighted(each) for each in (decided, rng.random(len(decided)))])
        kept = np.concatenate([np.ones((1, len(decided)), bool), ~left_out])
        variants += [_keep([side.ids for side in sides], mask) for mask in kept]
    Z = logits(network, _join(variants)).astype(float)
    P = activate(task, Z).reshape(len(predicted), -1, Z.shape[1])
    p = P[np.arange(len(predicted)), :, predicted]  # (texts, variants)
    without, random = (p[:, :1] - p[:, 1:]).reshape(len(p), 2, -1).mean(axis=(0, 2)).tolist()
    figures = {"without": round(without, 4), "random": round(random, 4)}
    return {"data": "held-out texts", "texts": len(p), **figures}


def _decided(
    network: Network, sides: Sequence[States], scores: np.ndarray, asked: Question, weights: Weights
) -> np.ndarray:
    """(n + m,): how much of what is asked rests on each word; `scores` are the logits (classes,)."""
    z, recipe = scores.astype(float), network.recipe
    if not is_sum(recipe, network.pair):
        M, texts = [side.M for side in sides], [(side.A, side.H) for side in sides]
        losses = word_losses(partial(_classify, network), scores, M, texts, partial(_without, network))
        return asked.lost(z, np.concatenate(losses))
    head = linear_part(weights, recipe, sides[0].M[None])
    direction = asked.direction(head.biases[0], z)[None].astype(np.float32)
    (W,) = head.toward(direction, np.zeros(1, int))
    return word_weights(sides[0].A, sides[0].H, W, rows_of(recipe).maxima)


def _without(network: Network, H: np.ndarray, A: np.ndarray, words: slice) -> np.ndarray:
    """M without each of the `words` of a text."""
    if isinstance(network.pooling, ModulePooling):
        return network.pooling.without_words(H, words)
    return matrix_without(H, A, rows_of(network.recipe).maxima, words)


@torch.no_grad()
def _classify(network: Network, *M: np.ndarray) -> np.ndarray:
    """The logits (pairs, classes) of pairs of matrices, each (pairs, r, 2u)."""
    device = next(network.parameters()).device
    given = [torch.from_numpy(np.ascontiguousarray(each)).to(device) for each in M]
    Z = network.head(network.relate(*given) if network.pair else given[0])
    return np.asarray(Z.float().cpu().numpy())


@torch.no_grad()
def _read(network: Network, split: Split) -> Iterator[tuple[list[States], np.ndarray]]:
    """Every row: both sides, and the logits (classes,)."""
    network.eval()
    device = next(network.parameters()).device
    for rows in plan_batches(network, split):
        batch = gather(split, rows)
        given: list[Any] = [(batch.ids, batch.lengths), (batch.ids2, batch.lengths2)]
        sides, M = [], []
        for ids, lengths in given if network.pair else given[:1]:
            n = torch.from_numpy(lengths).to(device)
            H = network.states(torch.from_numpy(ids).to(device), n)
            M_side, A = network.pool(H, n)
            M.append(M_side)
            sides.append((ids, lengths, *(x.float().cpu().numpy() for x in (H, M_side, A))))
        scores = network.head(network.relate(*M) if network.pair else M[0]).float().cpu().numpy()
        for k in range(len(rows)):
            found = [(ids[k], int(n[k]), H[k], m[k], A[k]) for ids, n, H, m, A in sides]
            yield [States(ids[:n], H[:n], m, A[:, :n]) for ids, n, H, m, A in found], scores[k]


# ---------------------------------------------------------------- texts as word ids


def _sample(split: Split, texts: int, words: int) -> Split:
    return _join([split.row(k) for k in draw(split, texts, words)])


def _keep(sides: Sequence[np.ndarray], mask: np.ndarray) -> list[np.ndarray]:
    """The ids where `mask` (n + m,) is True; a text without words is one unknown."""
    parts = np.split(mask, np.cumsum([len(side) for side in sides])[:-1])
    return [
        side[part] if part.any() else np.array([UNKNOWN], side.dtype)
        for side, part in zip(sides, parts, strict=True)
    ]


def _join(texts: Sequence[Sequence[np.ndarray]]) -> Split:
    sides = [(np.concatenate(side), np.array([*map(len, side)])) for side in zip(*texts, strict=True)]
    return Split(*sides[0]) if len(sides) == 1 else Split(*sides[0], None, None, *sides[1])
