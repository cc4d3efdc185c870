"""Learning a teacher's vectors: cosines to them, and the similarities within a batch. It makes a reader."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from ..config.pretrain_recipe import ReaderRecipe
from ..network.parts import rows_of, state_size
from ..network.torch.attention import penalty
from ..network.torch.network import Network
from ..runtime.folder import as_stored
from ..text.batches import gather
from ..text.dataset import Dataset, Split
from ..text.tokenizer import SPECIAL
from .context import Processes
from .evaluate import Scores, logits, plan_batches, read_batches
from .explanation_facts import row_facts
from .label_objective import run_identity
from .loss import Tensors
from .spelled_words import SpelledWords, uniform
from .step import Objective, Stepper
from .teacher import Vectors

SAMPLE = 20_000  # vectors whose spread or principal components are found
LEAST_SPREAD = 0.01  # as a share of the mean
LEAST_VARIANCE = 1e-10  # float32 does not tell less from nothing
LOSS = 2  # the version of the loss: a run begun with another one is not resumed
WARMUP, WARMUP_SHARE = 300, 0.05  # steps in which the learning rate rises, and at most this share of all
ROUND_FROM = 0.75  # of the steps: from here on, words are read in 4 bits, as they will be stored


class PretrainData(NamedTuple):
    """What a reader learns from."""

    dataset: Dataset  # train and dev; its tokenizer knows every word, the reader only the first ones
    train: Vectors  # the teacher's vectors of the training rows
    dev: Vectors | None  # and of the held-out ones
    start: np.ndarray  # (known words, d): the word vectors that training starts from
    teacher: str
    digests: Mapping[str, str] = {}  # of the teacher's vectors and of `start`


class VectorObjective(Objective):
    """(1 - cosine) + |(v - t) R|^2 + w KL(teacher || student) of the similarities within the batch + c P.

    R gives more weight to directions in which the teacher's vectors t vary little (`even_directions`).
    """

    measure = "cosine"
    spells_words = True

    def __init__(self, data: PretrainData, recipe: ReaderRecipe, device: torch.device) -> None:
        self.data, self.reader_recipe, self.recipe = data, recipe, recipe.recipe
        self.dataset, self.targets = data.dataset, data.train
        self.known, words = known_words(data.dataset, recipe), data.dataset.tokenizer.vocabulary
        self.spelled = SpelledWords(words, self.known, recipe, device)
        self.R = even_directions(data.train).to(device)

    def build_network(self) -> Network:
        """The reader with the teacher's words, and n-grams made of them."""
        recipe, vector = self.reader_recipe, self.data.train.shape[1]
        torch.default_generator.manual_seed(recipe.seed)
        # one max-pooled row gets a map of full rank, to be compared fairly
        full = min(vector, state_size(self.recipe.model))
        rank = recipe.rank if rows_of(self.recipe.model).attention else full
        network = self.new_network(rank, vector)
        words = torch.from_numpy(self.data.start)
        with torch.no_grad():
            network.words.weight[:] = 0
            network.words.weight[len(SPECIAL) :] = words
            grams, stems = (table[: self.known].cpu() for table in self.spelled.pieces)
            network.grams.weight.copy_(start_grams(network.words.weight, grams, stems, recipe.buckets))
        return network

    def new_network(self, rank: int, vector: int) -> Network:
        own = {"buckets": self.reader_recipe.buckets, "vector_rank": rank, "vector_size": vector}
        self.recipe = self.recipe.override(head="vector", stems=True, **own)
        return Network(self.recipe.model, self.known)

    def identity(self) -> dict[str, Any]:
        own = {"teacher": self.data.teacher, "loss": LOSS, **self.data.digests}
        return run_identity(self.dataset, self.recipe) | self.reader_recipe.to_dict() | own

    def warmup(self, total: int) -> int:
        return min(WARMUP, math.ceil(WARMUP_SHARE * total))

    def backward(self, stepper: Stepper, batch: Tensors | None, share: float) -> None:
        """Compute the gradients of this process's rows; the similarities are those of all processes' rows."""
        processes, steps = stepper.processes, stepper.optimiser.steps
        # of this process's rows in the batch
        places = torch.arange(processes.rank, stepper.rows, processes.size, device=stepper.device)
        output = None
        if batch is not None:
            assert batch.targets is not None
            u = uniform(places, batch.ids.shape[1], steps, self.reader_recipe.seed)
            stepper.compute_copy.rounding.copy_(steps >= math.floor(ROUND_FROM * stepper.optimiser.total))  # type: ignore[operator,union-attr]
            output = stepper.read(*self.spelled.read(batch.ids, batch.lengths, u))
            v, t = F.normalize(output.logits.float(), dim=1), F.normalize(batch.targets.float(), dim=1)
        else:
            v = t = torch.zeros(0, self.data.train.shape[1], device=stepper.device)
        v, t = _whole_batch(v, t, places, stepper)
        if output is None:
            return
        cosine = (v * t).sum(1).mean()
        loss = 1 - cosine + ((v - t) @ self.R).square().sum(1).mean()
        if self.reader_recipe.kl_weight and stepper.rows > 1:
            loss = loss + self.reader_recipe.kl_weight * divergence(v, t, self.reader_recipe.temperature)
        P = penalty(output.A) if rows_of(self.recipe.model).attention else torch.zeros_like(loss)
        (loss + self.reader_recipe.penalty * P * share).backward()
        rows = len(places)
        stepper.count(rows, loss.detach() * rows, P.detach() * rows, cosine.detach() * rows)

    def evaluate(self, network: Any, processes: Processes) -> tuple[Scores | None, dict[str, float]]:
        """The newest epoch is the best; the cosine to the teacher on the held-out rows is recorded."""
        dev = self.dataset.splits.get("dev")
        if dev is None or self.data.dev is None or not processes.first:
            return None, {}
        return None, {"dev_cosine": mean_cosine(encode(network, dev, self.spelled), self.data.dev)}

    def measure_stored(self, network: Network, weights: Mapping[str, np.ndarray]) -> dict[str, Any]:
        """The cosine and the rows on the held-out texts, with rounded weights, which the network keeps."""
        stored = as_stored(weights)
        with torch.no_grad():
            for name, x in network.state_dict().items():
                x.copy_(torch.from_numpy(stored[name]))
        network.rounding.zero_()
        dev = self.dataset.splits.get("dev")
        if dev is None or self.data.dev is None:
            return {}
        cosine = mean_cosine(encode(network, dev, self.spelled), self.data.dev)
        found = describe_rows(network, dev, self.spelled, self.dataset.tokenizer.vocabulary)
        rounded = {"cosine": round(cosine, 4), **found, "overlap": round(found["overlap"], 4)}
        return {"held_out": len(dev), **rounded}


# ---------------------------------------------------------------- reading without training


def encode(network: Network, split: Split, spelled: SpelledWords) -> Tensor:
    """(rows, vector) of length 1."""
    return F.normalize(torch.from_numpy(logits(network, split, spelled)), dim=1)


def describe_rows(
    network: Network, split: Split, spelled: SpelledWords, vocabulary: Sequence[str]
) -> dict[str, Any]:
    """The words and the name of each row of M, and the mean product of the attention of two rows."""
    found, overlap = [], 0.0  # ids, A, lengths
    for rows, output in read_batches(network, split, plan_batches(network, split), spelled):
        batch, A = gather(split, rows), output.A.float()  # (batch, r, n)
        is_word = np.arange(A.shape[2]) < batch.lengths[:, None]  # (batch, n)
        found.append((batch.ids[is_word], A.cpu().numpy().transpose(0, 2, 1)[is_word].T, batch.lengths))
        products, r = A @ A.transpose(1, 2), A.shape[1]
        outside = products.sum() - products.diagonal(dim1=1, dim2=2).sum()
        overlap += float(outside) / max(r * (r - 1), 1)
    facts = row_facts(vocabulary, *(np.concatenate(x, axis=-1) for x in zip(*found, strict=True)))
    return {**facts, "overlap": overlap / len(split)}


def known_words(dataset: Dataset, recipe: ReaderRecipe) -> int:
    """The words with a vector of their own, the two special ones among them."""
    return min(len(dataset.tokenizer), recipe.words + len(SPECIAL))


def mean_cosine(found: Tensor, vectors: Vectors) -> float:
    """To the teacher's vectors, over all rows."""
    wanted = torch.from_numpy(np.array(vectors, np.float32)).to(found.device)
    return float((found * F.normalize(wanted, dim=1)).sum(1).double().mean())


def even_directions(vectors: Vectors) -> Tensor:
    """R (vector, vector) = S^(-1/4), S being the covariance of the teacher's vectors t of length 1.

    An error e then costs e' S^(-1/2) e, scaled so that one that is spread like t costs |e|^2. Vectors differ
    a lot in a few directions and little in many, by which alone near texts are told apart.
    """
    rows = np.arange(0, len(vectors), -(-len(vectors) // SAMPLE))
    t = F.normalize(torch.from_numpy(vectors[rows]).float(), dim=1)
    spread, directions = torch.linalg.eigh(torch.cov(t.T, correction=0))
    if spread.mean() < LEAST_VARIANCE:  # a teacher that says the same of all texts
        return torch.eye(len(spread))
    weights = spread.clamp(min=LEAST_SPREAD * float(spread.mean())).rsqrt()
    weights = weights * spread.sum() / (spread * weights).sum()
    R: Tensor = directions @ torch.diag(weights.sqrt()) @ directions.T
    return R


def divergence(v: Tensor, t: Tensor, temperature: float) -> Tensor:
    """Mean KL of two softmaxes over the other sentences of the batch, the teacher's and the student's."""
    itself = torch.eye(len(v), dtype=torch.bool, device=v.device)
    student = F.log_softmax((v @ v.T / temperature).masked_fill(itself, -1e4), dim=1)
    with torch.no_grad():
        teacher = F.log_softmax((t @ t.T / temperature).masked_fill(itself, -1e4), dim=1)
    return (teacher.exp() * (teacher - student)).sum(1).mean()


def _whole_batch(v: Tensor, t: Tensor, places: Tensor, stepper: Stepper) -> tuple[Tensor, Tensor]:
    """The vectors of all processes; the gradient goes to this one's, and is summed with the others'."""
    if stepper.processes.size == 1:
        return v, t
    whole = torch.zeros(stepper.rows, 2 * v.shape[1], dtype=v.dtype, device=v.device)
    whole[places] = torch.cat([v.detach(), t], dim=1)
    stepper.processes.sum(whole)
    all_v, all_t = whole.chunk(2, dim=1)
    return all_v.index_copy(0, places, v), all_t


# ---------------------------------------------------------------- the words to start from

SPREAD = 0.3  # standard deviation of the starting vectors
SENTENCES, RIDGE = 200_000, 1.0  # for `fit_words`
ROUNDS = 12  # of conjugate gradients
GRAM_RIDGE = 0.1  # for `start_grams`: a word is the mean of some twenty


def reduce_vectors(vectors: np.ndarray, size: int, seed: int) -> np.ndarray:
    """(words, size) float32: the principal components of word vectors, scaled; noise where these are zero."""
    found = vectors.any(axis=1)
    noise = np.random.default_rng(seed).normal(0, SPREAD, (len(vectors), size)).astype(np.float32)
    if not found.any():
        return noise
    centred = vectors[found].astype(np.float64)
    centred -= centred.mean(axis=0)
    _, axes = np.linalg.eigh(centred[:SAMPLE].T @ centred[:SAMPLE])
    axes = axes[:, ::-1][:, :size]  # the largest components first
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])])  # a fixed sign
    reduced = centred @ axes
    start = np.zeros_like(noise)
    start[found, : reduced.shape[1]] = reduced / max(reduced.std(axis=0).mean(), 1e-8) * SPREAD
    start[~found] = noise[~found]
    return start


@torch.no_grad()
def start_grams(table: Tensor, grams: Tensor, stems: Tensor, count: int) -> Tensor:
    """(count + 1, d): the n-grams that spell the known words best, with the other known words in them.

    The words are in `table` (words, d), their pieces in `grams` and `stems` (words, ...), 0 for none.
    """
    X = _means(grams, count + 1)
    rest = table - _means(stems, len(table)) @ table
    found = _ridge(X, rest * (grams > 0).any(1, keepdim=True), GRAM_RIDGE)
    found[0] = 0
    return found


def _means(rows: Tensor, size: int) -> Tensor:
    """(words, size), sparse: what takes the mean over the rows of a table that each word has, but for 0."""
    words, columns = rows.nonzero(as_tuple=True)
    share = 1 / (rows > 0).sum(1).float()[words]
    indices = torch.stack([words, rows[words, columns].long()])
    return torch.sparse_coo_tensor(indices, share, (len(rows), size), check_invariants=False).coalesce()


@torch.no_grad()
def fit_words(split: Split, vectors: Vectors, known: int, device: torch.device, seed: int) -> np.ndarray:
    """(known, vector): the word vectors whose mean over a sentence is nearest to the teacher's vector of it.

    Ridge regression over a sample of the sentences, for a teacher that cannot be asked about single words.
    """
    random = np.random.default_rng([seed, 2])
    rows = np.sort(random.permutation(len(split))[:SENTENCES])
    X = _shares(split, rows, known).to(device)
    targets = torch.nn.functional.normalize(torch.from_numpy(vectors[rows].astype(np.float32)), dim=1)
    return np.asarray(_ridge(X, (targets - targets.mean(0)).to(device), RIDGE).cpu().numpy())


def _ridge(X: Tensor, Y: Tensor, strength: float) -> Tensor:
    """W for which X W is near Y, by conjugate gradients; X is sparse."""
    residual = X.T @ Y
    W, direction, norm = torch.zeros_like(residual), residual.clone(), residual.square().sum()
    for _ in range(ROUNDS):
        moved = strength * direction + X.T @ (X @ direction)
        step = norm / (direction * moved).sum().clamp(min=1e-12)
        W += step * direction
        residual -= step * moved
        before, norm = norm, residual.square().sum()
        direction = residual + norm / before.clamp(min=1e-12) * direction
    return W


def _shares(split: Split, rows: np.ndarray, known: int) -> Tensor:
    """(rows, known), sparse: the share that each known word has of each of these sentences."""
    lengths = np.asarray(split.lengths[rows], np.int64)
    ends = np.cumsum(lengths)
    at = np.arange(ends[-1]) - np.repeat(ends - lengths, lengths) + np.repeat(split.starts[rows], lengths)
    ids, place = np.asarray(split.ids[at], np.int64), np.repeat(np.arange(len(rows)), lengths)
    share = np.repeat(1 / lengths, lengths).astype(np.float32)
    indices, values = np.stack([place, ids])[:, ids < known], share[ids < known]
    parts, size = (torch.from_numpy(indices), torch.from_numpy(values)), (len(rows), known)
    return torch.sparse_coo_tensor(*parts, size, check_invariants=False).coalesce()
