"""Haystack's two embedders with a reader in them, also for `Pipeline.loads`. Needs haystack-ai."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from haystack import Document, component, default_to_dict
from haystack.core.serialization_security import allow_deserialization_module

from .open_reader import open_reader

allow_deserialization_module(__name__)  # all that a stored pipeline can choose here is a reader's folder


@component
class LimelightTextEmbedder:
    """The vector of a query."""

    def __init__(self, model: str = "reader") -> None:
        self.model, self._reader = model, open_reader(model)

    def to_dict(self) -> dict[str, Any]:
        return default_to_dict(self, model=self.model)  # type: ignore[no-any-return]

    @component.output_types(embedding=list[float])  # type: ignore[untyped-decorator]
    def run(self, text: str) -> dict[str, list[float]]:
        """{"embedding": the vector}."""
        return {"embedding": self._reader.encode_query(text).tolist()}


@component
class LimelightDocumentEmbedder:
    """Documents, each with its vector."""

    def __init__(self, model: str = "reader") -> None:
        self.model, self._reader = model, open_reader(model)

    def to_dict(self) -> dict[str, Any]:
        return default_to_dict(self, model=self.model)  # type: ignore[no-any-return]

    @component.output_types(documents=list[Document])  # type: ignore[untyped-decorator]
    def run(self, documents: list[Document]) -> dict[str, list[Document]]:
        """{"documents": the same documents, with `embedding`}."""
        vectors = self._reader.encode_document([each.content or "" for each in documents]).tolist()
        pairs = zip(documents, vectors, strict=True)
        return {"documents": [replace(each, embedding=vector) for each, vector in pairs]}
