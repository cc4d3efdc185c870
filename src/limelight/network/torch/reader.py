"""The reader: the paper's encoder without labels; words, known or spelled, to M and one vector."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from ...config.recipe import ModelRecipe
from .attention import StructuredSelfAttention
from .baselines import MaxPooling
from .encoder import BiLSTM, WordEmbedding

GROUP = 32  # numbers of a word vector that share a scale
TOP = 7  # the largest 4-bit number; -8 is not used


class ReaderInput(NamedTuple):
    """Sentences; a word is read from the table of words, or spelled from its character n-grams."""

    ids: Tensor  # (batch, n): known words; 0 for spelled ones and padding
    lengths: Tensor  # (batch,)
    places: Tensor  # (p,): the spelled words, as indices into batch * n
    buckets: Tensor  # (p, grams): the n-grams of each, 0 for none


class ReaderOutput(NamedTuple):
    """What the reader makes of a batch."""

    v: Tensor  # (batch, vector), of any length
    M: Tensor  # (batch, r, 2u)
    A: Tensor  # (batch, r, n)


class ReaderNetwork(nn.Module):
    """v = sum over the rows of M: V_r U m_r, linear in M; U is shared, each row has its own V_r.

    >>> recipe = ModelRecipe(word_size=32, hidden=3, attention_hidden=4, rows=2)
    >>> network = ReaderNetwork(recipe, vocabulary=10, buckets=5, rank=4, vector=6)
    >>> ids, lengths, places = torch.tensor([[4, 0, 7]]), torch.tensor([3]), torch.tensor([1])
    >>> read = ReaderInput(ids, lengths, places, buckets=torch.tensor([[2, 5]]))
    >>> [tuple(x.shape) for x in network(read)]
    [(1, 6), (1, 2, 6), (1, 2, 3)]
    """

    tables = ("words", "grams")  # read by rows
    rounding: Tensor

    def __init__(self, recipe: ModelRecipe, vocabulary: int, buckets: int, rank: int, vector: int) -> None:
        super().__init__()
        self.words = WordEmbedding(vocabulary, recipe.word_size)
        self.grams = WordEmbedding(buckets + 1, recipe.word_size)
        self.encoder = BiLSTM(recipe.word_size, recipe.hidden, recipe.layers)
        size = self.encoder.size
        self.pooling: StructuredSelfAttention | MaxPooling = MaxPooling()
        if recipe.embedding == "self-attention":
            self.pooling = StructuredSelfAttention(size, recipe.attention_hidden, recipe.rows)
            # sharper than the paper's start: the rows read different words from the first step on
            nn.init.normal_(self.pooling.W_s1, 0, size**-0.5)
            nn.init.normal_(self.pooling.W_s2, 0, 2 * recipe.attention_hidden**-0.5)
        self.vector = VectorMap(recipe.matrix_rows, size, rank, vector)
        self.register_buffer("rounding", torch.zeros(()), persistent=False)  # 1: read words in 4 bits

    def forward(self, read: ReaderInput) -> ReaderOutput:
        """One vector, M and A per sentence."""
        H = self.encoder(self.vectors(read), read.lengths)
        M, A = self.pooling(H, read.lengths)
        return ReaderOutput(self.vector(M), M, A)

    def vectors(self, read: ReaderInput) -> Tensor:
        """S (batch, n, d): the vectors of known words; for spelled ones, the mean of their n-grams'."""
        known = (read.ids > 0).unsqueeze(2)
        S = self._rounded(self.words(read.ids)) * known  # padding stays zero, and gets no gradient
        table = nn.functional.pad(self._rounded(self.grams.weight[1:]), (0, 0, 1, 0))
        grams = table.index_select(0, read.buckets.flatten()).view(*read.buckets.shape, S.shape[2])
        count = (read.buckets > 0).sum(1, keepdim=True).clamp(min=1)
        return S.flatten(0, 1).index_add(0, read.places, grams.sum(1) / count).view_as(S)

    def _rounded(self, rows: Tensor) -> Tensor:
        """Rows as they will be stored, once `rounding` is 1; the gradient passes straight through."""
        with torch.no_grad():
            change = (round_to_4_bits(rows) - rows) * self.rounding.to(rows.dtype)
        return rows + change


class VectorMap(nn.Module):
    """M (batch, rows, size) -> v (batch, vector)."""

    def __init__(self, rows: int, size: int, rank: int, vector: int) -> None:
        super().__init__()
        self.W_shared = nn.Parameter(torch.randn(rank, size) * size**-0.5)
        self.W_rows = nn.Parameter(torch.randn(vector, rows * rank) * (rows * rank) ** -0.5)

    def forward(self, M: Tensor) -> Tensor:
        """Linear in M."""
        return nn.functional.linear(nn.functional.linear(M, self.W_shared).flatten(1), self.W_rows)

    def scaled(self, M: Tensor) -> Tensor:
        """(batch, 1, vector): v with a mean square of 1, so that products have the cosine for their mean."""
        scaled: Tensor = nn.functional.normalize(self(M), dim=1) * len(self.W_rows) ** 0.5
        return scaled.unsqueeze(1)


def round_to_4_bits(rows: Tensor) -> Tensor:
    """Whole multiples, -7 to 7, of a float16 scale for each GROUP numbers.

    >>> round_to_4_bits(torch.tensor([[7.0, 0.6] + [0.0] * 30]))[0, :2].tolist()
    [7.0, 1.0]
    """
    groups = rows.reshape(-1, GROUP)
    scale = (groups.abs().amax(1, keepdim=True) / TOP).clamp(min=1e-7).half().to(rows.dtype)
    return ((groups / scale).round().clamp(-TOP, TOP) * scale).view_as(rows)
