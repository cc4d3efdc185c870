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

from .errors import wrong_model
from .network.torch.network import Network, Spelled
from .runtime.folder import BUNDLED, open_folder, save_folder
from .text.spelling import piece_tables
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
            raise wrong_model(fault)
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
        """`input_ids` (texts, n), `attention_mask`, and `grams` and `stems` of spelled words."""
        texts = [f"{prompt or ''}{text}" for text in inputs]
        ids, lengths = self.tokenizer.encode(texts)
        mask = np.arange(lengths.max(initial=1)) < lengths[:, None]  # (texts, n)
        padded = np.full(mask.shape, PAD, np.int64)
        padded[mask] = ids
        grams, stems = self._spell(texts, padded)
        found = {"input_ids": padded, "attention_mask": mask, "grams": grams, "stems": stems}
        return {name: torch.from_numpy(array.astype(np.int64)) for name, array in found.items()}

    def tokenize(self, texts: Sequence[str], **options: Any) -> dict[str, Tensor]:
        """The same, by its name before version 6."""
        return self.preprocess(texts, **options)

    def _spell(self, texts: Sequence[str], ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The n-grams and the known words in each word without a vector of its own, (texts, n, some) each.

        Dense, so that a batch can be cut like any other. The ids of these words become those of padding: the
        network adds what their pieces say.
        """
        found = np.argwhere(ids == UNKNOWN).tolist()
        split = {k: self.tokenizer.words(texts[k]) for k, _ in found}
        unknown = [(k, at) for k, at in found if split[k]]  # a text without words stays one unknown word
        rows, places = np.array(unknown, int).reshape(-1, 2).T
        ids[rows, places] = PAD
        model, words = self._parts.recipe.model, [split[k][at] for k, at in unknown]
        tables = piece_tables(words, model.buckets, self.tokenizer.ids if model.stems else None)
        grams, stems = (np.zeros((*ids.shape, table.shape[1]), np.int32) for table in tables)
        grams[rows, places], stems[rows, places] = tables
        return grams, stems

    def forward(self, features: dict[str, Any], **options: Any) -> dict[str, Any]:
        """Adds `sentence_embedding` (texts, 384)."""
        grams, stems = (features[name].flatten(0, 1) for name in ("grams", "stems"))  # (texts * n, some)
        places = ((grams > 0).any(dim=1) | (stems > 0).any(dim=1)).nonzero().squeeze(1)
        spelled = Spelled(places, grams[places], stems[places])
        lengths = features["attention_mask"].sum(dim=1)
        vectors = self.network(features["input_ids"], lengths, spelled=spelled).logits
        features["sentence_embedding"] = torch.nn.functional.normalize(vectors, dim=1)
        return features

    def save(self, output_path: str, *args: Any, **options: Any) -> None:
        """Write a reader's folder, its weights in few bits."""
        state = self.network.state_dict()
        weights = {name: tensor.detach().cpu().float().numpy() for name, tensor in state.items()}
        save_folder(output_path, replace(self._parts, weights=weights), overwrite=True)

    @classmethod
    def load(cls, model_name_or_path: str, subfolder: str = "", **options: Any) -> Reader:
        """The reader in a folder that `SentenceTransformer.save` wrote, here or on the hub."""
        names = "token", "cache_folder", "revision", "local_files_only"
        hub = {name: options[name] for name in names if name in options}
        return cls(cls.load_dir_path(model_name_or_path, subfolder=subfolder, **hub))

    def get_config_dict(self) -> dict[str, Any]:
        """What it is shown with."""
        return {"words": len(self.tokenizer), "embedding_dimension": self.get_embedding_dimension()}
