"""A reader to be measured by mteb. Needs mteb."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from mteb.models.model_meta import ModelMeta, ScoringFunction

from .. import __version__
from .open_reader import AnyReader, open_reader


class Encoder:
    """mteb's `EncoderProtocol`.

    >>> mteb.evaluate(Encoder(), tasks=mteb.get_tasks(["STSBenchmark"]))  # doctest: +SKIP
    """

    def __init__(
        self, model_name: AnyReader = "reader", revision: str | None = None, *, device: str | None = None,
        **options: Any,
    ) -> None:  # fmt: skip
        self.reader, self._name = open_reader(model_name), str(model_name)
        self._revision = revision or self.reader.sha256[:40] or __version__

    def encode(
        self, inputs: Iterable[dict[str, Any]], *, task_metadata: Any = None, hf_split: str = "",
        hf_subset: str = "", prompt_type: Any = None, **options: Any,
    ) -> np.ndarray:  # fmt: skip
        """(texts, 384), of the texts of all batches."""
        texts = [text for batch in inputs for text in batch["text"]]
        shown = bool(options.get("show_progress_bar"))
        vectors: np.ndarray = self.reader.encode(texts, show_progress_bar=shown)
        return vectors

    def similarity(self, embeddings1: Any, embeddings2: Any) -> Any:
        return self.reader.similarity(embeddings1, embeddings2)

    def similarity_pairwise(self, embeddings1: Any, embeddings2: Any) -> Any:
        return self.reader.similarity_pairwise(embeddings1, embeddings2)

    @property
    def mteb_model_meta(self) -> ModelMeta:
        """What mteb writes beside the results."""
        weights = self.reader.weights
        parameters = sum(array.size for array in weights.values())
        tables = sum(
            array.size for name, array in weights.items() if name in ("words.weight", "grams.weight")
        )
        return ModelMeta(
            loader=Encoder, name=f"limelight/{self._name.strip('/').split('/')[-1]}",
            revision=self._revision, release_date=None, languages=["eng-Latn"], n_parameters=parameters,
            n_embedding_parameters=tables, memory_usage_mb=round(parameters * 4 / 2**20, 1), max_tokens=None,
            embed_dim=self.reader.get_sentence_embedding_dimension(), license="mit", open_weights=True,
            public_training_code=None, public_training_data=None, framework=["NumPy", "ONNX"],
            similarity_fn_name=ScoringFunction.COSINE, use_instructions=False, training_datasets=None,
        )  # fmt: skip
