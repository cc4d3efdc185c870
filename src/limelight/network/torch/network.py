"""The whole network from a recipe: words -> H -> M, A -> (with a second sentence, F_r) -> logits, or v."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from ...config.recipe import ModelRecipe
from ..modules import OURS, Modules
from ..parts import head_inputs, matrix_shape, rows_of, word_size
from ..quantise import GROUP, TOP_4
from .attention import POOLINGS, MaxPooling
from .encoder import ENCODERS, BiLSTM, Convolution, Projection, WordEmbedding
from .heads import HEADS, GatedEncoder, VectorMap, concat_features, gated
from .module import ModuleEncoder, ModulePooling
from .shared import Dropout

T = TypeVar("T", bound=nn.Module)


class Output(NamedTuple):
    """The network's output for a batch; the last two only for pairs."""

    logits: Tensor  # (batch, classes); of a reader its vectors (batch, vector), of any length
    M: Tensor  # (batch, r, 2u)
    A: Tensor  # (batch, r, n)
    M2: Tensor | None = None
    A2: Tensor | None = None


class Spelled(NamedTuple):
    """The words of a batch that are read by their spelling; their ids are 0."""

    places: Tensor  # (p,): as indices into batch * n
    buckets: Tensor  # (p, grams): the n-grams of each, 0 for none
    stems: Tensor  # (p, stems): the known words in each, 0 for none


class Network(nn.Module):
    """The paper's model, one of its baselines, or a reader, for single sentences or pairs.

    `modules` are parts of the user's own (network/modules.py), `words` the vocabulary that an encoder reads.

    >>> small = ModelRecipe(word_size=8, hidden=6, attention_hidden=5, rows=3, head_hidden=7)
    >>> network = Network(small, vocabulary=100, classes=2)
    >>> output = network(torch.tensor([[4, 8, 15], [16, 23, 0]]), torch.tensor([3, 2]))
    >>> output.logits.shape, output.M.shape, output.A.shape
    (torch.Size([2, 2]), torch.Size([2, 3, 12]), torch.Size([2, 3, 3]))
    """

    rounding: Tensor

    def __init__(
        self, recipe: ModelRecipe, vocabulary: int, classes: int = 0, pair: bool = False,
        modules: Modules = OURS, words: Sequence[str] = (),
    ) -> None:  # fmt: skip
        super().__init__()
        self.recipe, self.pair = recipe, pair
        self.words = WordEmbedding(vocabulary, recipe.table_size)
        self.grams: Any = WordEmbedding(recipe.buckets + 1, recipe.word_size) if recipe.spells_words else None
        self.projection = Projection(recipe.word_size, recipe.projection) if recipe.projection else None
        self.encoder: Any = (
            ENCODERS[recipe.encoder](recipe, word_size(recipe))
            if modules.encoder is None
            else ModuleEncoder(modules.encoder, recipe.hidden, words)
        )
        self.pooling: Any = (
            POOLINGS[recipe.pooling](recipe, self.encoder.size)
            if modules.pooling is None
            else ModulePooling(modules.pooling, recipe.rows)
        )
        self.max_pooling = MaxPooling() if rows_of(recipe).has_max_row else None
        rows, size = matrix_shape(recipe)
        self.gate = GatedEncoder(rows, size) if pair and recipe.pair == "gated" else None
        maps = recipe.is_reader or (pair and recipe.pair == "vectors")
        self.vector: Any = VectorMap(rows, size, recipe.vector_rank, recipe.vector_size) if maps else None
        build = HEADS.get(recipe.head)  # a reader's head is `vector`, and nothing more
        self.head: Any = build(recipe, *head_inputs(recipe, pair), classes) if build else None
        self.dropout_words = Dropout(recipe.dropout_words)
        self.dropout_states = Dropout(recipe.dropout_states)
        self.dropout_matrix = Dropout(recipe.dropout_matrix)
        if recipe.spells_words:
            self.register_buffer("rounding", torch.zeros(()), persistent=False)  # 1: read words in 4 bits
        if recipe.author_code:
            initialise(self)

    @property
    def tables(self) -> tuple[str, ...]:
        return ("words",) if self.grams is None else ("words", "grams")

    def forward(
        self,
        ids: Tensor,
        lengths: Tensor,
        ids2: Tensor | None = None,
        lengths2: Tensor | None = None,
        spelled: Spelled | None = None,
    ) -> Output:
        """ids (batch, n) and lengths (batch,), twice for pairs (of equal or different n)."""
        if not self.pair:
            M, A = self.embed(ids, lengths, spelled)
            return Output(self.classify(M), M, A)
        if ids2 is None or lengths2 is None:
            raise ValueError("this network reads pairs: give ids2 and lengths2")
        # through the shared encoder in one call
        n, n2 = ids.shape[1], ids2.shape[1]
        if n < n2:
            ids = nn.functional.pad(ids, (0, n2 - n))
        elif n2 < n:
            ids2 = nn.functional.pad(ids2, (0, n - n2))
        both, A_both = self.embed(torch.cat([ids, ids2]), torch.cat([lengths, lengths2]))
        (M, M2), (A, A2) = both.chunk(2), A_both.chunk(2)
        gate = self.gate
        F_r = self.relate(M, M2) if gate is None else gated(both, gate.W_fp, gate.W_fh)
        return Output(self.classify(F_r), M, A[..., :n], M2, A2[..., :n2])

    def embed(self, ids: Tensor, lengths: Tensor, spelled: Spelled | None = None) -> tuple[Tensor, Tensor]:
        """One sentence each: M (batch, r, 2u) and A (batch, r, n)."""
        lengths = lengths.clamp(min=1)  # an empty sentence reads one padding word: finite, and A sums to 1
        if ids.shape[1] == 0:
            ids = ids.new_zeros(len(ids), 1)
        return self.pool(self.dropout_states(self.states(ids, lengths, spelled)), lengths)

    def states(self, ids: Tensor, lengths: Tensor, spelled: Spelled | None = None) -> Tensor:
        """ids (batch, n) -> H (batch, n, 2u)."""
        if self.recipe.reads_words:
            read: Tensor = self.encoder.of_ids(ids, lengths)
            return read
        H: Tensor = self.encoder(self.dropout_words(self.vectors(ids, spelled)), lengths)
        return H

    def vectors(self, ids: Tensor, spelled: Spelled | None = None) -> Tensor:
        """ids (batch, n) -> S (batch, n, d): the words as the encoder reads them, projected or not."""
        if spelled is not None:
            return self._spell(ids, spelled)
        weights = next(self.encoder.parameters(), self.words.weight)
        S: Tensor = self.words(ids, weights.dtype)
        return S if self.projection is None else self.projection(S)

    def _spell(self, ids: Tensor, spelled: Spelled) -> Tensor:
        """Known words from the table; for spelled ones, the means over their n-grams and known words."""
        S = self._known(ids)
        table = nn.functional.pad(self._rounded(self.grams.weight[1:]), (0, 0, 1, 0))
        buckets = spelled.buckets
        grams = table.index_select(0, buckets.flatten()).view(*buckets.shape, S.shape[2])
        own = _mean(grams, buckets) + _mean(self._known(spelled.stems), spelled.stems)
        S = S.flatten(0, 1).index_add(0, spelled.places, own).view_as(S)
        return S.to(self.vector.W_shared.dtype)  # an LSTM would see to it, words alone do not

    def _known(self, ids: Tensor) -> Tensor:
        """(..., d): words from the table; padding stays zero, and gets no gradient."""
        return self._rounded(self.words(ids)) * (ids > 0).unsqueeze(-1)

    def _rounded(self, rows: Tensor) -> Tensor:
        """Rows as they will be stored, once `rounding` is 1; the gradient passes straight through."""
        with torch.no_grad():
            change = (round_to_4_bits(rows) - rows) * self.rounding.to(rows.dtype)
        return rows + change

    def pool(self, H: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """H (batch, n, 2u) to M and A."""
        M, A = self.pooling(H, lengths)
        if self.max_pooling is None:
            return M, A
        M_max, A_max = self.max_pooling(H, lengths)
        return torch.cat([M, M_max], dim=1), torch.cat([A, A_max.to(A.dtype)], dim=1)

    def relate(self, M: Tensor, M2: Tensor) -> Tensor:
        """Two embeddings to F_r, the features of their relation."""
        if self.gate is not None:
            related: Tensor = self.gate(M, M2)
            return related
        if self.vector is not None:
            M, M2 = self.vector.scaled(M), self.vector.scaled(M2)
        return concat_features(M, M2)

    def classify(self, features: Tensor) -> Tensor:
        """M or F_r (batch, rows, size) -> logits (batch, classes), or a reader's vectors."""
        head = self.vector if self.head is None else self.head
        logits: Tensor = head(self.dropout_matrix(features))
        return logits


def _mean(rows: Tensor, ids: Tensor) -> Tensor:
    """(p, d): the mean of rows (p, k, d) whose ids are not 0, which are zeros where they are."""
    return rows.sum(1) / (ids > 0).sum(1, keepdim=True).clamp(min=1)


def round_to_4_bits(rows: Tensor) -> Tensor:
    """As `quantise.round_to_4_bits`, on any device."""
    groups = rows.reshape(-1, GROUP)
    scale = (groups.abs().amax(1, keepdim=True) / TOP_4).clamp(min=1e-7).half().to(rows.dtype)
    return ((groups / scale).round().clamp(-TOP_4, TOP_4) * scale).view_as(rows)


def with_weights(build: Callable[[], T], weights: Mapping[str, np.ndarray]) -> T:
    """A network with trained weights, named as in its state_dict, in evaluation mode."""
    with torch.random.fork_rng(devices=[]):  # the random starting weights are thrown away
        network = build()
    given = {name: torch.tensor(array) for name, array in weights.items()}
    missing, more = network.load_state_dict(given, strict=False, assign=True)
    counters = {name for name, w in network.state_dict().items() if not w.is_floating_point()}
    if more or set(missing) - counters:  # which a module of the user's own may have
        raise ValueError(f"the weights are not those of the network: {sorted({*missing, *more})[:3]}")
    return network.eval()


# ---------------------------------------------------------------- the starting weights of the author's code


@torch.no_grad()
def initialise(network: nn.Module) -> None:
    """LSTM weights N(0, 0.1), gated tensors within 0.00398, the rest Glorot-uniform; all biases 0.

    Neither the word vectors nor a module of the user's own are touched.
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
