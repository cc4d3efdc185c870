"""Runs a trained network over texts: batched by length, a bounded number at a time, on any device."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from numbers import Integral
from typing import Any, TypeVar

import numpy as np

from ..errors import LimelightError, bad_value, check_at_least
from ..network.outputs import EncodedText, unit
from ..network.parts import matrix_shape, rows_of
from ..text.parallel import count_cores
from ..text.tasks import find_task
from ..text.tokenizer import UNKNOWN
from .batches import Sentences, SpelledSentences, check_pairs, check_texts, chunks, count_texts, encode_texts
from .folder import Parts
from .session import locked_cached_property
from .word_parts import TextParts, VectorParts, effects_of, matrix_without, with_neighbours

BLOCK = 256  # sentences or pairs classified at once: a large head's weights are read less often
CHUNK_BYTES = 2**26  # embeddings held at once while streaming
CHUNK_TEXTS = 64, 4096  # at least, at most

T = TypeVar("T")
Prepare = Callable[[list[Any]], T]  # some texts or pairs -> their word ids
Compute = Callable[[T, int], np.ndarray]  # (word ids, words of a batch) -> their rows


class Runner(ABC):
    """What a device must do: encode batches of sentences, and run the head on M; everything else is here."""

    batch_words: int  # of a batch, with padding
    device = "cpu"

    def __init__(self, parts: Parts, precision: str, threads: int | None) -> None:
        if threads is not None and (not isinstance(threads, Integral) or threads < 1):
            raise bad_value(f"threads is {threads}; it must be at least 1, or None for all cores")
        self.weights, self.recipe, self.tokenizer = parts.weights, parts.recipe, parts.tokenizer
        self.classes, self.pair, self.precision = len(parts.labels), parts.pair, precision
        self.task = find_task(self.recipe.text.task).name
        self.threads = int(threads or count_cores())

    @abstractmethod
    def encode(
        self, sentences: Sentences, budget: int, *outputs: str
    ) -> Iterator[tuple[np.ndarray, list[np.ndarray]]]:
        """Run every batch; yield the indices of its sentences and the named outputs: M, A, H."""

    @abstractmethod
    def run_head(self, *M: np.ndarray, output: str) -> np.ndarray:
        """One block of M (n, r, 2u), or of two for pairs: its "logits", "probabilities" or "vector"."""

    def without_words(self, H: np.ndarray, A: np.ndarray, words: slice = slice(None)) -> np.ndarray:
        """(k, r, 2u): M without each of the `words` of a text, from its states H (n, 2u) and A (r, n)."""
        return matrix_without(H, A, rows_of(self.recipe.model).maxima, words)

    def classify(self, *M: np.ndarray) -> np.ndarray:
        """Probabilities (n, classes) from M (n, r, 2u), or for pairs from two of them."""
        return self._in_blocks("probabilities", *M)

    def logits(self, *M: np.ndarray) -> np.ndarray:
        """The same before softmax, for a block of them."""
        return self.run_head(*M, output="logits")

    def _in_blocks(self, output: str, *M: np.ndarray) -> np.ndarray:
        if len(M[0]) <= BLOCK:
            return self.run_head(*M, output=output)
        blocks = ([side[k : k + BLOCK] for side in M] for k in range(0, len(M[0]), BLOCK))
        return np.concatenate([self.run_head(*block, output=output) for block in blocks])

    def probabilities(self, sentences: Sentences, budget: int) -> np.ndarray:
        return self.classify(self.embed_sentences(sentences, budget))

    def pair_probabilities(self, prepared: tuple[Sentences, np.ndarray], budget: int) -> np.ndarray:
        """(pairs, classes); a sentence is encoded once, however many pairs it is in."""
        sentences, places = prepared
        M = self.embed_sentences(sentences, budget)
        blocks = [places[k : k + BLOCK].T for k in range(0, len(places), BLOCK)]
        return np.concatenate([self.classify(M[first], M[second]) for first, second in blocks])

    def vectors(
        self, sentences: SpelledSentences, budget: int, max_sentences: int | None, unit_length: bool
    ) -> np.ndarray:
        """A reader's vectors (texts, vector), of at most so many texts in a batch."""
        M = self.embed_sentences(replace(sentences, max_sentences=max_sentences), budget)
        v = self._in_blocks("vector", M)
        return unit(v) if unit_length else v  # of a text without words, a reader without an LSTM gives zeros

    def embed_sentences(self, sentences: Sentences, budget: int | None = None) -> np.ndarray:
        """(sentences, r, 2u): M of each, in their order."""
        M = np.empty((len(sentences.lengths), *matrix_shape(self.recipe.model)), np.float32)
        for batch, (M_batch,) in self.encode(sentences, budget or self.batch_words, "M"):
            M[batch] = M_batch
        return M

    def encode_texts(self, texts: Sequence[str]) -> list[EncodedText]:
        max_length = self.recipe.text.max_length or None
        located = [self.tokenizer.locate(text) for text in texts]
        ids, offsets = ([pair[side][:max_length] for pair in located] for side in (0, 1))
        spells = self.recipe.model.spells_words  # words outside the vocabulary are not one unknown word
        sentences, encoded = self.sentences(list(texts)) if spells else Sentences.join(ids), {}
        for batch, (M, A, H) in self.encode(sentences, self.batch_words, "M", "A", "H"):
            for k, m, a, h in zip(batch.tolist(), M, A, H, strict=True):
                n = len(ids[k])
                encoded[k] = EncodedText(texts[k], ids[k] != UNKNOWN, offsets[k], m, a[:, :n], h[:n])
        return [encoded[k] for k in range(len(texts))]

    @locked_cached_property
    def vector_parts(self) -> VectorParts:
        """From M to the vectors that texts are compared by."""
        return VectorParts(self.weights, self.recipe.model, self.threads, self.without_words)

    def parts(self, texts: list[str]) -> list[TextParts]:
        of, sentences, found = self.vector_parts, self.sentences(texts), {}
        for batch, (M, A, H) in self.encode(sentences, self.batch_words, "M", "A", "H"):
            lengths = sentences.lengths[batch].tolist()
            words = zip(of.states(H), A, lengths, strict=True)
            without = [of.without_words(h[:n], a[:, :n]) for h, a, n in words]
            vectors = of.map_rows(np.concatenate([of.reduce(M), *without]))
            v, *v_without = np.split(vectors, np.cumsum([len(M), *lengths[:-1]]))  # (batch, size), (n, size)
            for row, (k, n) in enumerate(zip(batch.tolist(), lengths, strict=True)):
                ids, offsets = self.tokenizer.locate(texts[k])
                known, effects = ids[:n] != UNKNOWN, effects_of(v[row], v_without[row])
                states = with_neighbours(H[row, :n])
                found[k] = TextParts(texts[k], offsets[:n], known, unit(v[row]), effects, states)
        return [found[k] for k in range(len(texts))]

    def stream(
        self, prepare: Prepare[T], compute: Compute[T], *texts: Iterable[str],
        batch_words: int | None = None, progress: bool = False,
    ) -> Iterator[np.ndarray]:  # fmt: skip
        """Prepare and compute texts, or pairs of two columns, as many at a time as memory should hold."""
        total, columns = count_texts(texts[0]), [check_texts(each) for each in texts]
        given = columns[0] if len(columns) == 1 else check_pairs(*columns)
        budget = self.batch_words if batch_words is None else batch_words
        check_at_least("batch_words", budget, 1)
        with progress_bar(total) if progress else nullcontext() as bar:
            for rows in self.map_chunks(given, prepare, lambda prepared: compute(prepared, budget)):
                yield rows
                if bar is not None:
                    bar.update(len(rows))

    def map_chunks(
        self, texts: Iterable[Any], prepare: Prepare[T], compute: Callable[[T], np.ndarray]
    ) -> Iterator[np.ndarray]:
        """The rows of each chunk of texts, one chunk after the other."""
        for chunk in chunks(texts, self.chunk_size(CHUNK_BYTES, *CHUNK_TEXTS)):
            yield compute(prepare(chunk))

    def chunk_size(self, memory: int, fewest: int, most: int) -> int:
        """The number of texts whose M takes so many bytes, within limits."""
        rows, size = matrix_shape(self.recipe.model)
        return max(fewest, min(most, memory // (4 * rows * size)))

    def sentences(self, texts: list[str]) -> Sentences:
        return encode_texts(self.recipe, self.tokenizer, self.weights, texts)

    def pair_sentences(self, pairs: list[tuple[str, str]]) -> tuple[Sentences, np.ndarray]:
        """The word ids of the different texts, and which two make up each pair (pairs, 2)."""
        numbers: dict[str, int] = {}
        places = np.array([[numbers.setdefault(text, len(numbers)) for text in pair] for pair in pairs])
        return self.sentences(list(numbers)), places


def check_finite(outputs: list[np.ndarray]) -> list[np.ndarray]:
    """Raise unless all numbers are finite: NaN would be taken for an answer."""
    if not all(np.isfinite(values).all() for values in outputs):
        fault = "the model gives numbers that are not finite: its weights are too large"
        raise LimelightError(fault, code="not-finite")
    return outputs


def progress_bar(total: int | None, initial: int = 0, disable: bool = False, name: str = "") -> Any:
    """A bar of texts; without a total, a count."""
    from tqdm.auto import tqdm

    how = {"unit": " texts", "desc": name or None, "leave": not name}
    return tqdm(total=total, initial=initial, disable=disable, **how)
