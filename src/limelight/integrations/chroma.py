"""`Embeddings`, registered with Chroma: a collection is reopened without naming it again. Needs chromadb."""

from __future__ import annotations

from chromadb.utils.embedding_functions import register_embedding_function

from .embeddings import Embeddings

__all__ = ["Embeddings"]
register_embedding_function(Embeddings)
