"""The network that a run starts with: random weights, word vectors, or those of a reader or a model.

From a reader, the classifier starts as logistic or ridge regression on the reader's vectors: a random one
would pull the reader towards itself before it has learnt anything, and with few rows this is most of what can
be learnt. From a trained model, only new classes are fitted: random ones would take long to catch up. With
many rows a run from a reader also ends with such a fit, of what the best network reads.
"""

import copy
from collections.abc import Callable, Sequence
from math import cos, pi, prod
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import linear, normalize

from ..config.presets import MAX_ROWS_LAST
from ..config.recipe import DEFAULT_TASK, Recipe
from ..errors import bad_value
from ..network.modules import OURS, Modules
from ..network.parts import HEADS, shapes
from ..network.torch.encoder import BiLSTM
from ..network.torch.heads import LAST_LAYER, ScaledLinearHead, VectorHead
from ..network.torch.network import Network
from ..runtime.start import Start
from ..storage.open_files import check_memory
from ..text.batches import as_targets
from ..text.dataset import Dataset, Split
from ..text.tasks import find_task
from .evaluate import read_batches, reading_plan
from .loss import TASK_LOSSES, RowFigures, TaskLoss, cross_entropy, minimise
from .optimiser import STATES

MIN_CLASS_ROWS = 3  # rows per class; with fewer, a reader stays as it is: docs/log/2026-11-16-start.md
STRENGTHS = (1.0, 3.0, 10.0, 30.0)  # inverse regularisation, scikit-learn's C, for vectors of length 1
DEFAULT_STRENGTH = 10.0  # where there are too few rows to choose
PAIR_STRENGTH = 0.1  # of what is added to the cosine: as good with 20 pairs as with thousands
FOLDS = 5
MAX_CROSS_VALIDATED = 1000  # rows; with more, a single fold is left out
MAX_ROWS, MAX_ROWS_NEW = 4000, 2000  # that the classifier, and that of new classes, is fitted to
STRENGTH_LAST = 0.06  # of the last classifier, for each class
LITTLE_PENALTY = 1e-4  # it should be none, but the matrix must not be singular
RIDGE = 1e-6  # added to the diagonal of products, which may be singular
BATCH_WORDS = 8192  # with padding
FLAT = 1e-7  # slope of a row's mean loss at which fitting ends


def build_network(
    dataset: Dataset, recipe: Recipe, start: Start | None = None, modules: Modules = OURS
) -> Network:
    """The network for a data set on the CPU, with its starting weights; the user's `modules` are copied."""
    if recipe.model.is_reader:
        raise bad_value("head is 'vector', which is a reader's; choose another, or use 'limelight pretrain'")
    sizes = len(dataset.tokenizer), len(dataset.labels), dataset.splits["train"].pair
    check_fits(recipe, *sizes)
    torch.default_generator.manual_seed(recipe.training.seed)  # the GPUs' generators stay as they are
    own = Modules(**{part: _copied(module) for part, module in modules.named.items()})
    network = Network(recipe.model, *sizes, own, dataset.tokenizer.vocabulary)
    if dataset.vectors is not None:
        with torch.no_grad():
            network.words.weight.copy_(torch.from_numpy(np.array(dataset.vectors)))
    network.words.weight.requires_grad_(recipe.training.fine_tune_words and recipe.model.table_size > 0)
    if isinstance(network.encoder, BiLSTM):
        network.encoder.clip = recipe.training.clip_gates
    if start is not None:
        _copy_weights(network, start, dataset, recipe)
    elif own and HEADS[recipe.model.head].is_linear:
        network.head = ScaledLinearHead(network.head)
    return network


def _copied(module: nn.Module) -> nn.Module:
    """A copy of the user's module, as the optimiser takes weights: in float32, and contiguous."""
    own = copy.deepcopy(module).float()
    for w in own.parameters():
        w.data = w.data.contiguous()
    return own


def check_fits(recipe: Recipe, vocabulary: int = 2, classes: int = 2, pair: bool = False) -> None:
    """Raise if there is not even room for the weights and the optimiser's state, before any is taken."""
    weights = sum(map(prod, shapes(recipe.model, vocabulary, classes, pair).values()))
    copies = 1 + len(STATES[recipe.training.optimizer])
    what = f"a network of {min(weights, 10**30):,} weights"
    check_memory(4 * copies * weights, what, "choose a smaller hidden or word_size")


@torch.no_grad()
def _copy_weights(network: Network, start: Start, dataset: Dataset, recipe: Recipe) -> None:
    """Give the network the pretrained weights; of a classifier's, those of the classes that both have."""
    start.check_kind(dataset.pair, recipe.text.start, dataset.task)
    both = [(k, start.labels.index(c)) for k, c in enumerate(dataset.labels) if c in start.labels]
    given = {name: torch.from_numpy(np.array(w)) for name, w in start.weights.items()}
    for name, weight in network.state_dict().items():
        found = given.get(name)
        if name == "words.weight" or found is None or found.shape[1:] != weight.shape[1:]:
            continue
        if name in LAST_LAYER and both:
            new, old = (torch.tensor(column) for column in zip(*both, strict=True))
            weight[new] = found[old]
        elif found.shape == weight.shape and (both or not name.startswith(("head.", "gate."))):
            weight.copy_(found)
    if HEADS[recipe.model.head].is_linear:
        if "vector.W_rows" in given and not dataset.pair:
            maps = given["vector.W_shared"], given["vector.W_rows"]
            network.head = VectorHead(*maps, len(dataset.labels), recipe.model.dropout)
            if real_rows(dataset) < MIN_CLASS_ROWS * len(dataset.labels):
                for name, weight in network.named_parameters():  # train nothing but the last layer
                    weight.requires_grad_(name in ("head.W_o", "head.b_o"))
        else:
            network.head = ScaledLinearHead(network.head)  # type: ignore[arg-type]


def real_rows(dataset: Dataset) -> int:
    """The training rows, without the further texts of marked ones, which come last (text/reasons.py)."""
    marked = dataset.facts.get("reasons", 0)
    return len(dataset.splits["train"]) - (marked if type(marked) is int else 0)


# ---------------------------------------------------------------- the first classifier


class FirstHead(NamedTuple):
    """What was fitted; `score` is the accuracy of cross-validation, or another task's measure."""

    strength: float
    score: float | None


@torch.no_grad()
def fit_first_head(
    network: Network, split: Split, weights: np.ndarray | None, seed: int, task: str = DEFAULT_TASK,
    real: int | None = None, strength: float | None = None, most: int = MAX_ROWS,
) -> FirstHead:  # fmt: skip
    """Fit the last layer to `most` rows; unless the `strength` is known, the first `real` cross-validate."""
    rows = draw_rows(split, most, seed)
    last, bias = network.head.last_layer()
    v = read_features(network, split, rows)
    scale = v.norm(dim=1).mean()
    v = v / scale
    features = v
    if v.shape[1] > len(v) and not network.pair:
        v = _coordinates(v)
    labels, own = np.asarray(split.labels)[rows], TASK_LOSSES[task]
    y = torch.from_numpy(as_targets(labels)).to(last.device)
    w = weights_at(rows, weights, v)
    found = FirstHead(strength or DEFAULT_STRENGTH, None)
    if network.pair and own.standardises:
        found = FirstHead(PAIR_STRENGTH, None)
        # of length 1: the weights of [u; v; |u-v|; u*v] whose sum is the cosine, but for its scale
        products = torch.arange(v.shape[1], device=v.device) >= 3 * v.shape[1] // 4
        W, b = fit_ridge(v, y, w, found.strength, products * (v.shape[1] // 4) ** -0.5)
    else:
        is_real = rows < (len(split) if real is None else real)
        if strength is None and 2 * len(bias) <= is_real.sum():
            strata = find_task(task).column.strata(labels[is_real])
            fold = torch.from_numpy(_folds(strata, seed)).to(last.device)
            folds = FOLDS if is_real.sum() <= MAX_CROSS_VALIDATED else 1
            found = _cross_validate(v[is_real], y[is_real], w[is_real], len(bias), fold, own, folds)
        W, b = fit_linear(v, y, w, len(bias), found.strength, own.losses)
    if v is not features:
        W = _from_coordinates(W, v, features)
    if isinstance(network.head, VectorHead):
        network.head.scale.div_(scale)
    else:
        W /= scale
    last.copy_(W)
    bias.copy_(b)
    return found


def fit_last_head(network: Network, split: Split, weights: np.ndarray | None) -> None:
    """Fit the network's last layer to a split once more, after the last step: logistic regression.

    Where the steps end is chance, where the loss is lowest is not: the pictures of two seeds are more alike
    (docs/log/2026-11-19-two-seeds.md). So the rows do not depend on the seed.
    """
    strength = STRENGTH_LAST * len(network.head.last_layer()[1])
    fit_first_head(network, split, weights, 0, strength=strength, most=MAX_ROWS_LAST)


def fit_ridge(v: Tensor, y: Tensor, w: Tensor, strength: float, free: Tensor) -> tuple[Tensor, Tensor]:
    """Ridge regression, as by `fit_linear`, with no penalty in the direction `free` (v,), of length 1."""
    w, y, free = w.to(v), y.to(v), free.to(v)
    mean, middle = (w @ v) / w.sum(), (w @ y) / w.sum()
    X = v - mean
    penalty = torch.eye(v.shape[1]).to(v) - (1 - LITTLE_PENALTY) * torch.outer(free, free)
    W = torch.linalg.solve(
        2 * strength * X.T @ (X * w[:, None]) + penalty, 2 * strength * X.T @ (w * (y - middle))
    )
    return W[None], (middle - mean @ W)[None]


def _cross_validate(
    v: Tensor, y: Tensor, w: Tensor, classes: int, fold: Tensor, task: TaskLoss, folds: int
) -> FirstHead:
    """The strength with the least loss on rows left out, in the first `folds` folds."""
    losses, scores = [0.0] * len(STRENGTHS), [0.0] * len(STRENGTHS)
    for k in range(folds):
        rest, out = fold != k, fold == k
        start = None
        for i, strength in enumerate(STRENGTHS):
            start = fit_linear(v[rest], y[rest], w[rest], classes, strength, task.losses, start)
            logits = v[out] @ start[0].T + start[1]
            losses[i] += float((task.losses(logits, y[out]) * w[out]).sum())
            scores[i] += float(task.scores(logits, y[out]).sum())
    best = int(np.argmin(losses))
    return FirstHead(STRENGTHS[best], scores[best] / int((fold < folds).sum()))


def _folds(labels: np.ndarray, seed: int) -> np.ndarray:
    """(rows,): each class spread evenly over the folds, so that every fold has about as many rows."""
    order = np.random.default_rng(seed).permutation(len(labels))
    fold = np.empty(len(labels), dtype=np.int64)
    fold[order[np.argsort(labels[order], kind="stable")]] = np.arange(len(labels)) % FOLDS
    return fold


def fit_linear(
    v: Tensor,
    y: Tensor,
    w: Tensor,
    classes: int,
    strength: float,
    losses: RowFigures = cross_entropy,
    start: tuple[Tensor, Tensor] | None = None,
) -> tuple[Tensor, Tensor]:
    """A linear model with an L2 penalty, as scikit-learn defines it: W (classes, v), b.

    The losses make it logistic regression (C is the strength) or ridge regression (alpha is 1 / (2 C)).
    """
    many = strength * float(w.sum())
    size = classes * v.shape[1]

    @torch.enable_grad()
    def loss(x: Tensor) -> tuple[float, Tensor]:
        x = x.detach().requires_grad_()
        W, b = x[:size].view(classes, -1), x[size:]
        mean = (strength * (losses(v @ W.T + b, y) * w).sum() + W.square().sum() / 2) / many
        (slope,) = torch.autograd.grad(mean, x)
        return float(mean.detach()), slope

    x = v.new_zeros(size + classes) if start is None else torch.cat([start[0].flatten(), start[1]])
    found = minimise(loss, x, flat=FLAT)
    return found[:size].view(classes, -1), found[size:]


# ---------------------------------------------------------------- new classes of a trained model


@torch.no_grad()
def fit_new_classes(
    network: Network, split: Split, new: Sequence[int], weights: np.ndarray | None, seed: int
) -> None:
    """Fit the rows of the last layer that belong to the classes `new`; all else stays as it is."""
    rows = draw_rows(split, MAX_ROWS_NEW, seed)
    last, bias = network.head.last_layer()
    X = read_features(network, split, rows)  # (n, f)
    Z = X @ last.double().T + bias.double()  # (n, classes)
    y = torch.from_numpy(np.asarray(split.labels, dtype=np.int64)[rows]).to(X.device)
    w = weights_at(rows, weights, X)
    scale = X.norm(dim=1).mean().clamp(min=1e-12)
    W, b = fit_rows(X.div_(scale), Z, y, w, new)
    last[list(new)] = (W / scale).to(last)
    bias[list(new)] = b.to(bias)


def fit_rows(
    V: Tensor, Z: Tensor, y: Tensor, w: Tensor, new: Sequence[int], strength: float = DEFAULT_STRENGTH
) -> tuple[Tensor, Tensor]:
    """W (new, f) and b (new,) of new classes beside the logits Z (n, classes) of the others."""
    many = V.shape[1] > len(V)  # features: then only the directions of the rows V (n, f) matter
    L = _coordinates(V) if many else V
    columns = torch.tensor(list(new), device=V.device)

    def losses(own: Tensor, y: Tensor) -> Tensor:
        return cross_entropy(Z.index_copy(1, columns, own), y)

    W, b = fit_linear(L, y, w, len(new), strength, losses)
    return (_from_coordinates(W, L, V) if many else W), b


def _coordinates(V: Tensor) -> Tensor:
    """L (n, n) for more features V (n, f) than rows: with L L^T = V V^T, all products are the same."""
    L: Tensor = torch.linalg.cholesky(V @ V.T + RIDGE * torch.eye(len(V), dtype=V.dtype, device=V.device))
    return L


def _from_coordinates(W: Tensor, L: Tensor, V: Tensor) -> Tensor:
    """The weights (classes, f) of features V that do what W (classes, n) does to L."""
    found: Tensor = torch.linalg.solve_triangular(L, W, upper=False, left=False) @ V
    return found


# ---------------------------------------------------------------- what the last layer reads


def draw_rows(split: Split, most: int, seed: int) -> np.ndarray:
    """The numbers of all rows, or of `most` drawn at random, in their order."""
    rows = np.arange(len(split))
    return rows if len(rows) <= most else np.sort(np.random.default_rng(seed).choice(rows, most, False))


def weights_at(rows: np.ndarray, weights: np.ndarray | None, like: Tensor) -> Tensor:
    """(rows,): how much each of these rows counts, 1 if all count equally."""
    return like.new_ones(len(rows)) if weights is None else torch.from_numpy(weights[rows]).to(like)


@torch.no_grad()
def read_features(
    network: Network, split: Split, rows: np.ndarray, features: Callable[[Tensor], Tensor] | None = None
) -> Tensor:
    """(rows, f) in float64: what the last layer reads, or other features of M."""
    features = features or network.head.features
    found = torch.empty(0)
    for batch, read in read_batches(network, split, reading_plan(split, rows, BATCH_WORDS)):
        F = features(read.M if read.M2 is None else network.relate(read.M, read.M2))
        if not len(found):
            found = F.new_empty(len(rows), F.shape[1], dtype=torch.float64)
        places = torch.from_numpy(np.searchsorted(rows, batch)).to(F.device)  # rows are in order
        found[places] = F.double()
    return found


# ---------------------------------------------------------------- many classes, few texts each

# A reader's last map fitted to the classes by the supervised contrastive loss of Khosla et al. (2020): rows
# are read once, and what decided stays an exact sum. What it gives is in docs/log/2026-11-19-many-classes.md.
MIN_CLASSES = 15  # with 10, nothing was gained
MAX_CONTRASTED = 2000  # rows: each is compared with each, and more were not tried
STEPS, LENGTH = 20, 0.006  # of a step, by the length of the map: longer ways fit the texts, not the classes
TEMPERATURE = 0.05


def fits_map(network: Network, split: Split, classes: int) -> bool:
    """Whether there are enough classes, and neither too few texts nor too many, to fit the map to."""
    few = MIN_CLASSES <= classes < len(split) <= MAX_CONTRASTED
    return few and isinstance(network.head, VectorHead)


def fit_map(network: Network, split: Split, weights: np.ndarray | None) -> None:
    """Move the vectors of each class together, and those of others apart; rows of weight 0 are not there."""
    head = network.head
    chosen = np.arange(len(split)) if weights is None else np.flatnonzero(weights)
    rows = read_features(network, split, chosen, head.rows).float()  # (n, r * k)
    y = torch.from_numpy(as_targets(np.asarray(split.labels)[chosen])).to(rows.device)
    w = weights_at(chosen, weights, rows)
    W = head.W_rows.detach()
    size = W.norm()
    for step in range(STEPS):
        W.requires_grad_()
        (slope,) = torch.autograd.grad(contrast(linear(rows, W), y, w), W)
        length = LENGTH * size * (1 + cos(pi * step / STEPS)) / 2
        W = W.detach() - length * slope / slope.norm().clamp(min=1e-12)
    with torch.no_grad():
        head.W_rows.copy_(W)


def contrast(v: Tensor, y: Tensor, w: Tensor) -> Tensor:
    """How little each vector's neighbours tell its class: mean of -log p(j | i) over all j of i's class.

    p(j | i) is the softmax of the cosines of v (n, d), over a temperature, without i itself. Rows count by
    their weights w (n,), those that are alone in their class y (n,) not at all.
    """
    v, itself = normalize(v, dim=1), torch.eye(len(v), dtype=torch.bool, device=v.device)
    log_p = (v @ v.T / TEMPERATURE).masked_fill(itself, -torch.inf).log_softmax(dim=1)
    together = (y[:, None] == y) & ~itself
    counts = together.sum(dim=1)
    of_row = log_p.masked_fill(~together, 0.0).sum(dim=1) / counts.clamp(min=1)
    return -(w * of_row).sum() / (w * (counts > 0)).sum().clamp(min=1e-12)
