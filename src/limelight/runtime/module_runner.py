"""A model with a part of the user's own: in PyTorch, on the CPU or a GPU, in float32."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from ..network.outputs import activate
from ..network.torch.module import ModulePooling
from ..network.torch.network import Network, with_weights
from ..text.open_words import OpenTokenizer
from .batches import Sentences
from .folder import Parts
from .runner import Runner, check_finite
from .session import locked_cached_property

WORDS = {"cpu": 4_096, "cuda": 32_768}  # in a batch, with padding


class ModuleRunner(Runner):
    """The network of training, in evaluation mode."""

    def __init__(self, parts: Parts, device: str, threads: int | None) -> None:
        super().__init__(parts, "float32", threads)
        self.modules, self.device, self.batch_words = parts.modules, device, WORDS[device]

    @locked_cached_property
    def network(self) -> Network:
        words = self.tokenizer.all_words if isinstance(self.tokenizer, OpenTokenizer) else ()
        sizes = len(self.tokenizer), self.classes, self.pair
        own = copy.deepcopy(self.modules)  # the user's stays as it is
        network = with_weights(lambda: Network(self.recipe.model, *sizes, own, words), self.weights)
        return network.to(self.device)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("network", "vector_parts")}

    @torch.no_grad()
    def encode(
        self, sentences: Sentences, budget: int, *outputs: str
    ) -> Iterator[tuple[np.ndarray, list[np.ndarray]]]:
        for batch in sentences.batches(budget):
            feed = sentences.feed(batch)
            ids, lengths = (torch.from_numpy(feed[name]).to(self.device) for name in ("ids", "lengths"))
            H = self.network.states(ids.long(), lengths.long())
            M, A = self.network.pool(H, lengths.long())
            found = {"M": M, "A": A, "H": H}
            yield batch, check_finite([found[name].float().cpu().numpy() for name in outputs])

    def without_words(self, H: np.ndarray, A: np.ndarray, words: slice = slice(None)) -> np.ndarray:
        pooling = self.network.pooling
        own = isinstance(pooling, ModulePooling)
        return pooling.without_words(H, words) if own else super().without_words(H, A, words)

    @torch.no_grad()
    def run_head(self, *M: np.ndarray, output: str) -> np.ndarray:
        given = [torch.from_numpy(np.ascontiguousarray(each)).to(self.device) for each in M]
        features = self.network.relate(*given) if self.pair else given[0]
        logits = check_finite([self.network.classify(features).float().cpu().numpy()])[0]
        return activate(self.task, logits) if output == "probabilities" else logits
