"""A component of spaCy: `nlp.add_pipe("limelight")`. Needs spacy.

With a reader, `doc.vector` and `span.vector` are its vectors; with a classifier, `doc.cats` has the classes.
`doc.spans["limelight"]` has the words as Limelight splits them, and its `attrs["weights"]` one number for
each: of a reader, the word's share in the vector, which add up to 1; of a classifier, how much it decided.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc, SpanGroup

from .errors import wrong_model
from .runtime.batches import chunks
from .runtime.reader import Reader, load

KEY = "limelight"

# spaCy's own would look for a table of word vectors first, and warn that there is none.
_HOOKS = {"has_vector": lambda one: True, "similarity": lambda one, other: float(one.vector @ other.vector)}


class LimelightComponent:
    """What runs in a pipeline."""

    def __init__(self, name: str, model: str) -> None:
        self.name, self.model = name, load(model)
        if self.model.pair:
            raise wrong_model(f"{model} reads pairs of texts; a doc is one")

    def __call__(self, doc: Doc) -> Doc:
        """The doc, with what the model says."""
        return next(self.pipe([doc]))

    def pipe(self, docs: Iterable[Doc], batch_size: int = 256) -> Iterator[Doc]:
        """The same for many docs, read together."""
        mark = self._mark_vectors if isinstance(self.model, Reader) else self._mark_classes
        for some in chunks(docs, batch_size):
            mark(some)
            yield from some

    def _mark_vectors(self, docs: list[Doc]) -> None:
        # Of a span that is looked at more than once, the vector is computed once.
        encode = lru_cache(maxsize=1024)(self.model.encode)
        for doc, text in zip(docs, self.model.word_parts([doc.text for doc in docs]), strict=True):
            vector = text.vector.astype(np.float32)
            doc.user_hooks |= {"vector": lambda doc, found=vector: found, **_HOOKS}
            doc.user_span_hooks |= {"vector": lambda span: encode(span.text), **_HOOKS}
            _add_weights(doc, text.offsets, text.parts @ text.vector)

    def _mark_classes(self, docs: list[Doc]) -> None:
        for doc, reading in zip(docs, self.model.read_many([doc.text for doc in docs]), strict=True):
            names = map(str, self.model.labels)
            doc.cats = dict(zip(names, map(float, reading.probabilities), strict=True))
            _add_weights(doc, reading.offsets, reading.decided)


def _add_weights(doc: Doc, offsets: Any, weights: Any) -> None:
    """The words as spans, with a weight for each; a text without words has none."""
    pairs = [
        (doc.char_span(int(start), int(end), alignment_mode="expand"), float(weight))
        for (start, end), weight in zip(offsets, weights, strict=True)
        if end > start
    ]
    spans = SpanGroup(doc, name=KEY, spans=[span for span, _ in pairs])
    spans.attrs["weights"] = [weight for _, weight in pairs]
    doc.spans[KEY] = spans


@Language.factory("limelight", default_config={"model": "reader"})  # type: ignore[untyped-decorator]
def create(nlp: Language, name: str, model: str) -> LimelightComponent:
    """`nlp.add_pipe("limelight", config={"model": folder})`; without a folder, the bundled reader."""
    return LimelightComponent(name, model)
