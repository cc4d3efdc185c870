"""A reader as a module of sentence-transformers: to train with its losses, to measure with its evaluators.

Needs sentence-transformers. The module is the reader's network in PyTorch, with gradients; what is saved is a
reader's folder, which `limelight.load` opens without PyTorch.

>>> from sentence_transformers import SentenceTransformer  # doctest: +SKIP
>>> model = SentenceTransformer(modules=[limelight.sentence_transformers.Reader()])  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .errors import LimelightError
from .network.torch.network import Network, Spelled
from .runtime.folder import BUNDLED, open_folder, save_folder
from .text.spelling import gram_hashes
from .text.tokenizer import PAD, UNKNOWN

try:
    from sentence_transformers.base.modules import InputModule
except ImportError:  # before version 6
    from sentence_transformers.models import InputModule


class Reader(InputModule):
    """Texts to vectors of length 1, the same as those of `limelight.Reader.encode`.

    All weights learn; freeze some with `requires_grad_(False)`, such as `reader.network.words`.
    """

    save_in_root = False  # a whole folder of its own, which Limelight opens, too

    def __init__(self, folder: str | Path = BUNDLED) -> None:
        super().__init__()
        self._parts = parts = open_folder(folder)
        if not parts.is_reader:
            fault = f"{folder} is a trained model; a reader is needed, such as limelight pretrain makes"
            raise LimelightError(fault, code="model-kind")
        self.tokenizer = parts.tokenizer
        self.network = Network(parts.recipe.model, len(parts.tokenizer))
        weights = {name: torch.from_numpy(np.array(array)) for name, array in parts.weights.items()}
        self.network.load_state_dict(weights)

    def get_embedding_dimension(self) -> int:
        """The size of a vector."""
        return self._parts.recipe.model.vector_size

    get_sentence_embedding_dimension = get_embedding_dimension  # its name before version 6

    def preprocess(
        self, inputs: Sequence[str], prompt: str | None = None, **options: Any
    ) -> dict[str, Tensor]:
        """`input_ids` (texts, n), `attention_mask`, and `grams` (texts, n, some) of spelled words."""
        texts = [f"{prompt or ''}{text}" for text in inputs]
        ids, lengths = self.tokenizer.encode(texts)
        split = np.split(ids, np.cumsum(lengths)[:-1])
        spelled = [self._spell(text, words) for text, words in zip(texts, split, strict=True)]
        shape = len(texts), int(lengths.max(initial=1))
        padded, grams = np.full(shape, PAD, np.int64), _grams(spelled, shape)
        for k, words in enumerate(split):
            padded[k, : len(words)] = words
        padded[(grams > 0).any(axis=2)] = PAD  # the network adds what their n-grams say
        mask = (np.arange(shape[1]) < lengths[:, None]).astype(np.int64)
        found = {"input_ids": padded, "attention_mask": mask, "grams": grams}
        return {name: torch.from_numpy(array) for name, array in found.items()}

    def tokenize(self, texts: Sequence[str], **options: Any) -> dict[str, Tensor]:
        """The same, by its name before version 6."""
        return self.preprocess(texts, **options)

    def _spell(self, text: str, ids: np.ndarray) -> dict[int, list[int]]:
        """The n-grams of each word that has no vector of its own, by its place."""
        unknown = np.flatnonzero(ids == UNKNOWN).tolist()
        words = self.tokenizer.words(text) if unknown else ()
        buckets = self._parts.recipe.model.buckets
        return {at: [h % buckets + 1 for h in gram_hashes(words[at])] for at in unknown if words}

    def forward(self, features: dict[str, Any], **options: Any) -> dict[str, Any]:
        """Adds `sentence_embedding` (texts, 384)."""
        grams = features["grams"].flatten(0, 1)  # (texts * n, some)
        places = (grams > 0).any(dim=1).nonzero().squeeze(1)
        lengths = features["attention_mask"].sum(dim=1)
        vectors = self.network(features["input_ids"], lengths, spelled=Spelled(places, grams[places])).logits
        features["sentence_embedding"] = torch.nn.functional.normalize(vectors, dim=1)
        return features

    def save(self, output_path: str, *args: Any, **options: Any) -> None:
        """Write a reader's folder, its weights in few bits."""
        weights = {name: tensor.detach().cpu().float().numpy() for name, tensor in self._weights()}
        save_folder(output_path, replace(self._parts, weights=weights), overwrite=True)

    def _weights(self) -> list[tuple[str, Tensor]]:
        return list(self.network.state_dict().items())

    @classmethod
    def load(cls, model_name_or_path: str, subfolder: str = "", **options: Any) -> Reader:
        """The reader in a folder that `SentenceTransformer.save` wrote, here or on the hub."""
        names = "token", "cache_folder", "revision", "local_files_only"
        hub = {name: options[name] for name in names if name in options}
        return cls(cls.load_dir_path(model_name_or_path, subfolder=subfolder, **hub))

    def get_config_dict(self) -> dict[str, Any]:
        """What it is shown with."""
        return {"words": len(self.tokenizer), "embedding_dimension": self.get_embedding_dimension()}


def _grams(spelled: Sequence[dict[int, list[int]]], shape: tuple[int, int]) -> np.ndarray:
    """(texts, n, some): dense, so that a batch can be cut like any other."""
    most = max((len(each) for words in spelled for each in words.values()), default=1)
    grams = np.zeros((*shape, most), np.int64)
    for k, words in enumerate(spelled):
        for at, buckets in words.items():
            grams[k, at, : len(buckets)] = buckets
    return grams
