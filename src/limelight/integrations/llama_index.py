"""A reader as LlamaIndex's embedding model. Needs llama-index-core."""

from __future__ import annotations

import asyncio
from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import PrivateAttr

from .open_reader import AnyReader, open_reader


class LimelightEmbedding(BaseEmbedding):
    """A vector for each text and each query.

    >>> Settings.embed_model = LimelightEmbedding()  # doctest: +SKIP
    """

    _reader: Any = PrivateAttr()

    def __init__(self, model: AnyReader = "reader", embed_batch_size: int = 256, **options: Any) -> None:
        options.setdefault("model_name", model if isinstance(model, str) else "reader")
        super().__init__(embed_batch_size=embed_batch_size, **options)
        self._reader = open_reader(model)

    @classmethod
    def class_name(cls) -> str:
        return "LimelightEmbedding"

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._reader.encode_query(query).tolist()  # type: ignore[no-any-return]

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return self._reader.encode_document(texts).tolist()  # type: ignore[no-any-return]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return await asyncio.to_thread(self._get_query_embedding, query)
