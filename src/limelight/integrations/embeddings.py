"""`Embeddings`: one class for LangChain, Chroma and whatever else asks for lists of numbers."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from ..errors import LimelightError
from .open_reader import AnyReader, open_reader


class Embeddings:
    """A reader with the methods of LangChain's `Embeddings` and of Chroma's `EmbeddingFunction`.

    >>> embeddings = Embeddings()
    >>> len(embeddings.embed_query("Cold soup.")), len(embeddings.embed_documents(["Cold soup.", "Late."]))
    (384, 2)
    """

    def __init__(self, model: AnyReader = "reader") -> None:
        self.reader = open_reader(model)
        self._place = model if isinstance(model, str) else None

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        found: list[list[float]] = self.reader.encode_document(list(texts)).tolist()
        return found

    def embed_query(self, text: Any = None, *, input: Any = None) -> Any:
        """The vector of a query, as LangChain asks; for a list, as Chroma asks, one for each."""
        given = input if text is None else text
        if isinstance(given, str):
            return self.reader.encode_query(given).tolist()
        return list(self.reader.encode_query(list(given)))

    async def aembed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        return await asyncio.to_thread(self.embed_documents, texts)

    async def aembed_query(self, text: str) -> list[float]:
        found: list[float] = await asyncio.to_thread(self.embed_query, text)
        return found

    # ------------------------------------------------------------ Chroma

    def __call__(self, input: Sequence[str]) -> list[Any]:
        """A vector for each text: an array, as Chroma keeps it."""
        return list(self.reader.encode_document(list(input)))

    @staticmethod
    def name() -> str:
        return "limelight"

    def get_config(self) -> dict[str, Any]:
        """What a collection needs to find the reader again."""
        if self._place is None:
            fault = "a collection keeps the name of a reader's folder: give that as a string, or 'reader'"
            raise LimelightError(fault, code="option-value")
        return {"model": self._place}

    @staticmethod
    def build_from_config(config: dict[str, Any]) -> Embeddings:
        return Embeddings(config["model"])

    @staticmethod
    def validate_config(config: dict[str, Any]) -> None:
        """Nothing to check: the folder is, when it is opened."""

    def validate_config_update(self, old_config: dict[str, Any], new_config: dict[str, Any]) -> None:
        """A collection's vectors are those of one reader."""
        if old_config != new_config:
            raise LimelightError("a collection belongs to the reader it was made with", code="model-differs")

    def default_space(self) -> str:
        return "cosine"

    def supported_spaces(self) -> list[str]:
        return ["cosine", "l2", "ip"]

    @staticmethod
    def is_legacy() -> bool:
        return False
