"""A reader in training, and what it is like afterwards: cosines to the teacher, and what its rows read."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from ...config.pretrain_recipe import ReaderRecipe
from ...network.torch.network import Network
from ...reading.row_words import row_words
from ...text.batches import gather, reading_plan, row_lengths
from ...text.dataset import Dataset, Split
from ...text.tokenizer import SPECIAL
from ..callbacks import Callback
from ..evaluate import WORDS, Scores
from ..run import RunContext, TrainingRun
from ..step import Stepper
from .spelling import Spelling
from .start import start_grams
from .step import ReaderStepper
from .teacher import Vectors


class Lesson(NamedTuple):
    """What a reader learns from."""

    dataset: Dataset  # train and dev; its tokenizer knows every word, the reader only the first ones
    train: Vectors  # the teacher's vectors of the training rows
    dev: Vectors | None  # and of the held-out ones
    start: np.ndarray  # (known words, d): the word vectors that training starts from
    teacher: str


class PretrainingRun(TrainingRun):
    """One reader in training."""

    def __init__(
        self, lesson: Lesson, recipe: ReaderRecipe, folder: Path | None, context: RunContext
    ) -> None:
        self.lesson, self.reader_recipe = lesson, recipe
        vocabulary = lesson.dataset.tokenizer.vocabulary
        self.known = known_words(lesson.dataset, recipe)
        self.spelling = Spelling(
            vocabulary, self.known, recipe.buckets, recipe.typos, recipe.seed, context.device
        )
        super().__init__(lesson.dataset, recipe.recipe, folder, context, callbacks=[_DevCosine()])

    def _build_network(self) -> Network:
        recipe, vector = self.reader_recipe, self.lesson.train.shape[1]
        torch.default_generator.manual_seed(recipe.seed)
        # one max-pooled row gets a map of full rank, to be compared fairly
        rank = recipe.rank if recipe.pooling == "self-attention" else min(vector, 2 * recipe.hidden)
        model = recipe.recipe.override(
            head="vector", buckets=recipe.buckets, vector_rank=rank, vector_size=vector
        )
        network = Network(model.model, self.known)
        words = torch.from_numpy(self.lesson.start)
        with torch.no_grad():
            network.words.weight[:] = 0
            network.words.weight[len(SPECIAL) :] = words
            buckets = self.spelling.buckets[len(SPECIAL) : self.known].cpu()
            network.grams.weight.copy_(start_grams(words, buckets, recipe.buckets))
        return network

    def _build_stepper(self, targets: np.ndarray | None) -> Stepper:
        lesson = self.lesson
        return ReaderStepper(
            self.network, self.train_split, self.reader_recipe, self.processes, self.spelling, lesson.train
        )

    def _identity(self) -> dict[str, Any]:
        return {**super()._identity(), **self.reader_recipe.to_dict(), "teacher": self.lesson.teacher}

    def _evaluate(self) -> Scores | None:
        return None  # there are no labels

    def dev_cosine(self) -> float | None:
        """The mean cosine to the teacher's vectors on the held-out rows, if there are any."""
        if self.dev_split is None or self.lesson.dev is None:
            return None
        return mean_cosine(encode(self.network, self.dev_split, self.spelling), self.lesson.dev)


class _DevCosine(Callback):
    """Adds the cosine on held-out rows to the record of every epoch."""

    def on_epoch_end(self, run: Any, record: dict[str, Any]) -> None:
        cosine = run.dev_cosine()
        if cosine is not None:
            record["dev_cosine"] = cosine


def known_words(dataset: Dataset, recipe: ReaderRecipe) -> int:
    """The words with a vector of their own, the two special ones among them."""
    return min(len(dataset.tokenizer), recipe.words + len(SPECIAL))


@torch.no_grad()
def encode(network: Network, split: Split, spelling: Spelling) -> Tensor:
    """(rows, vector) of length 1."""
    device = network.words.weight.device
    was, found = network.training, torch.empty(len(split), len(network.vector.W_rows), device=device)
    network.eval()
    for rows in reading_plan(row_lengths(split), WORDS[device.type]):
        ids, lengths = (torch.from_numpy(x).to(device) for x in gather(split, rows)[:2])
        v = network(*spelling.read(ids, lengths)).logits.float()
        found[torch.from_numpy(rows).to(device)] = F.normalize(v, dim=1)
    network.train(was)
    return found


def mean_cosine(found: Tensor, vectors: Vectors) -> float:
    """To the teacher's vectors, over all rows."""
    wanted = torch.from_numpy(np.array(vectors, np.float32)).to(found.device)
    return float((found * F.normalize(wanted, dim=1)).sum(1).double().mean())


# ---------------------------------------------------------------- what the rows read


@torch.no_grad()
def describe_rows(
    network: Network, split: Split, spelling: Spelling, vocabulary: tuple[str, ...]
) -> dict[str, Any]:
    """For each row, the words it reads, none if it has no clear aspect; and how much rows overlap.

    Overlap is the mean over pairs of rows of the products of their attention, 1 for rows that read the same
    one word.
    """
    device, overlap = network.words.weight.device, 0.0
    found: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []  # ids, A, lengths
    for rows in reading_plan(row_lengths(split), WORDS[device.type]):
        ids, lengths = (torch.from_numpy(x).to(device) for x in gather(split, rows)[:2])
        A = network(*spelling.read(ids, lengths)).A.float()  # (batch, r, n)
        is_word = torch.arange(ids.shape[1], device=device) < lengths[:, None]  # (batch, n)
        parts = (ids[is_word], A.transpose(1, 2)[is_word].T, lengths)
        found.append(tuple(x.cpu().numpy() for x in parts))  # type: ignore[arg-type]
        overlap += float(_overlaps(A).sum())
    ids_of_all, A_of_all, lengths_of_all = (np.concatenate(x, axis=-1) for x in zip(*found, strict=True))
    words = [
        [vocabulary[k] for k, _ in row.words if k >= len(SPECIAL)] if row.clear else []
        for row in row_words(ids_of_all, A_of_all, lengths_of_all)
    ]
    return {"rows": words, "overlap": overlap / len(split)}


def _overlaps(A: Tensor) -> Tensor:
    """(batch,): the mean of A A' outside its diagonal."""
    r = A.shape[1]
    products = A @ A.transpose(1, 2)
    outside = products.sum((1, 2)) - products.diagonal(dim1=1, dim2=2).sum(1)
    return outside / max(r * (r - 1), 1)
