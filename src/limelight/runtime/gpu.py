"""A trained model on a GPU: its network in PyTorch, behind the interface of the runtime.

Words are split by several processes, because one core splits far fewer than a GPU reads. The word ids of some
thousand texts are uploaded at once, with their order by length; the GPU gathers the words of each batch and
puts the results back in order. Two threads take turns, so that the GPU always has the next texts while the
results of the last ones are copied back.
"""

from __future__ import annotations

import copy
import multiprocessing
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain, islice
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..errors import LimelightError
from ..network.onnx.export import rows_and_size
from ..network.outputs import activate
from ..text.tasks import find_task
from ..text.tokenizer import PAD
from .batches import Sentences, chunks
from .reader import ReaderRunner
from .runner import Prepare, Runner, check_finite, started_once
from .spelling import SpelledSentences

try:
    import torch
    from torch import Tensor
    from torch.nn.functional import normalize

    from ..network.torch.alignment import missing_columns
    from ..network.torch.encoder import BiLSTM
    from ..network.torch.lstm import persistent
    from ..network.torch.lstm.table import GateTable
    from ..network.torch.network import Network, with_weights
    from ..network.torch.reader import ReaderNetwork
except ImportError:
    raise LimelightError("device 'cuda' needs PyTorch: pip install '.[train]'") from None

TEXTS, SENTENCES = 8192, 65_536  # at a time, at most: to split into words, and of those given as word ids
MEMORY = 2**30  # bytes of M at a time
TABLE = 2**32  # bytes of gates, of all words, at most
PAIRS = 4096  # classified at a time
AHEAD = 2  # chunks on their way to the GPU or back

T = TypeVar("T")
Item = TypeVar("Item")
_launching = threading.Lock()  # kernels are queued by one thread at a time


class Words(NamedTuple):
    """Texts on the device, from the longest to the shortest."""

    ids: Tensor  # (words,)
    starts: Tensor  # (texts,)
    lengths: Tensor  # (texts,)
    order: Tensor  # (texts,): which text each is of those given
    spelled: Tensor  # (other words, d): of a reader
    gates: Tensor | None  # of these, where those of known words are in a table

    def part(self, first: int, count: int) -> Words:
        """Some of the texts."""
        starts, lengths, order = (x[first : first + count] for x in self[1:4])
        return self._replace(starts=starts, lengths=lengths, order=order)

    def padded(self, width: int) -> Tensor:
        """ids (texts, width)."""
        t = torch.arange(width, device=self.ids.device)
        places = (self.starts.unsqueeze(1) + t).clamp(max=len(self.ids) - 1)
        return self.ids[places].masked_fill(t >= self.lengths.unsqueeze(1), PAD)


class TorchRunner(Runner):
    """The runtime's interface, computed by the network of training, in bf16 or in float32 without TF32."""

    batch_words = 131_072
    device = "cuda"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.dtype = torch.bfloat16 if self.precision == "bf16" else torch.float32
        if self.device == "cuda" and not torch.cuda.is_available():
            raise LimelightError("device is 'cuda', but PyTorch sees no GPU here; use 'cpu' or 'auto'")

    @started_once
    def running(self) -> tuple[Any, GateTable | None]:
        """The network on the device in evaluation mode, and its table."""
        network = with_weights(self.build, self.weights).to(self.device, self.dtype)
        return network, self._tabulate(network)

    @property
    def network(self) -> Any:
        """On the device."""
        return self.running[0]

    @property
    def table(self) -> GateTable | None:
        """On a Hopper GPU, what the LSTM computes of each word before it reads: W_ih x + b."""
        return self.running[1]

    @torch.no_grad()
    def _tabulate(self, network: Any) -> GateTable | None:
        encoder, words = network.encoder, network.words.weight
        if not isinstance(encoder, BiLSTM) or encoder.layers > 1 or encoder.size * 8 * len(words) > TABLE:
            return None
        if not persistent.is_available(words, encoder.size // 2):
            return None
        weights = (getattr(encoder, name) for name in ("W_ih_0", "W_hh_0", "b_0"))
        return GateTable(self.known_words(network), *weights)

    def known_words(self, network: Any) -> Tensor:
        """(vocabulary, d): the words as the LSTM reads them."""
        ids = torch.arange(len(network.words.weight), device=self.device)
        vectors: Tensor = network.vectors(ids.unsqueeze(0))[0]
        return vectors

    def build(self) -> Any:
        """The network, with any weights."""
        return Network(self.recipe.model, len(self.tokenizer), self.classes, self.pair)

    @started_once
    def splitters(self) -> ProcessPoolExecutor:
        """Processes that split texts into words. Each is a fork: it has the vocabulary, and needs no script
        that can be imported.
        """
        forks = multiprocessing.get_context("fork")
        return ProcessPoolExecutor(self.threads, forks, initializer=_adopt, initargs=(copy.copy(self),))

    @started_once
    def copies(self) -> torch.cuda.Stream:
        """Copies results back while the kernels of the next texts run."""
        return torch.cuda.Stream()

    def __getstate__(self) -> dict[str, Any]:
        running = "running", "splitters", "copies"
        return {name: value for name, value in super().__getstate__().items() if name not in running}

    # ------------------------------------------------------------ many texts

    def map_chunks(
        self, texts: Iterable[Any], prepare: Prepare[T], compute: Callable[[T], np.ndarray]
    ) -> Iterator[np.ndarray]:
        """The rows of each chunk of texts, in order, some chunks ahead of the caller."""
        some = chunks(texts, self.chunk_size(MEMORY, 1, TEXTS))
        with ThreadPoolExecutor(AHEAD) as threads:
            yield from in_order(lambda x: threads.submit(compute, x), self._prepare(some, prepare), AHEAD)

    def _prepare(self, some: Iterator[list[Any]], prepare: Prepare[T]) -> Iterator[T]:
        """Word ids of each chunk; of more than one by other processes, which take a moment to start."""
        first = list(islice(some, 2))
        if len(first) < 2 or self.threads == 1 or "fork" not in multiprocessing.get_all_start_methods():
            yield from map(prepare, chain(first, some))
        else:
            name, submit = prepare.__name__, self.splitters.submit
            ahead = self.threads + AHEAD
            yield from in_order(lambda x: submit(_prepare, name, x), chain(first, some), ahead)

    def embed_sentences(
        self,
        sentences: Sentences,
        budget: int | None = None,
        on_batch: Callable[[int], object] = lambda size: None,
    ) -> np.ndarray:
        """(sentences, r, 2u): M of each."""
        count, size = len(sentences.lengths), self.chunk_size(MEMORY, 1, SENTENCES)
        if 0 < count <= size:
            on_batch(count)
            return self.rows(sentences, budget, lambda M: M)
        M = np.empty((count, *rows_and_size(self.recipe.model)), np.float32)
        with ThreadPoolExecutor(AHEAD) as threads:
            done, parts = 0, sentences.parts(size)
            for part in in_order(lambda x: threads.submit(self.embed_sentences, x, budget), parts, AHEAD):
                M[done : done + len(part)] = part
                done += len(part)
                on_batch(len(part))
        return M

    def probabilities(self, sentences: Sentences, budget: int) -> np.ndarray:
        """(texts, classes)."""
        return self._activate(self.rows(sentences, budget, lambda M: self.network.head(M)))

    @torch.no_grad()
    def pair_probabilities(self, prepared: tuple[Sentences, np.ndarray], budget: int) -> np.ndarray:
        """(pairs, classes); M stays on the device."""
        sentences, places = prepared
        with self._turn():
            M = self._on_device(sentences, budget, lambda M: M)
            blocks = [self._upload(places[k : k + PAIRS].T) for k in range(0, len(places), PAIRS)]
            found = torch.cat([self._logits(M[first], M[second]) for first, second in blocks])
            copied = self._copy(found)
        return self._activate(copied())

    def _classify_block(self, *M: np.ndarray, output: str = "probabilities") -> np.ndarray:
        with torch.no_grad(), self._turn():
            copied = self._copy(self._logits(*map(self._upload, M)))
        return copied() if output == "logits" else self._activate(copied())

    def _logits(self, *M: Tensor) -> Tensor:
        same = [x.to(self.dtype) for x in M]
        logits: Tensor = self.network.head(self.network.relate(*same) if self.pair else same[0])
        return logits.float()

    def _activate(self, logits: np.ndarray) -> np.ndarray:
        return activate(find_task(self.recipe.text.task).name, logits)

    # ------------------------------------------------------------ some texts on the device

    @torch.no_grad()
    def rows(self, sentences: Sentences, budget: int | None, of: Callable[[Tensor], Tensor]) -> np.ndarray:
        """What `of` makes of each M, (sentences, ...), in order."""
        with self._turn():
            copied = self._copy(self._on_device(sentences, budget, of))
        return copied()

    def _on_device(self, sentences: Sentences, budget: int | None, of: Callable[[Tensor], Tensor]) -> Tensor:
        batches, result = self._batches(sentences, budget or self.batch_words), torch.empty(0)
        words = self._upload_words(sentences, batches)
        for part, width in _parts(words, sentences, batches):
            found = of(self._run(part, width)[0]).float()
            if not len(result):
                result = found.new_empty(len(sentences.lengths), *found.shape[1:])
            result[part.order] = found
        return result

    def _batches(self, sentences: Sentences, budget: int) -> list[np.ndarray]:
        """Indices of the texts of each batch, longest first."""
        return sentences.batches(budget, 1 + missing_columns(self.network.words.weight, 1))

    @torch.no_grad()
    def encode(
        self, sentences: Sentences, budget: int, *outputs: str
    ) -> Iterator[tuple[np.ndarray, list[np.ndarray]]]:
        """Run every batch; yield the indices of its sentences and the named outputs."""
        batches = self._batches(sentences, budget)
        with self._turn():
            words = self._upload_words(sentences, batches)
        for batch, (part, width) in zip(batches, _parts(words, sentences, batches), strict=True):
            with self._turn():
                M, A, H = self._run(part, width)
                found = {"M": M, "A": A[..., :width], "H": H[:, :width]}
                copied = [self._copy(found[name].float()) for name in outputs]
            yield batch, [each() for each in copied]

    def _run(self, words: Words, width: int) -> tuple[Tensor, Tensor, Tensor]:
        """M, A and H, padded to more than `width` words where that is quicker."""
        width += missing_columns(self.network.words.weight, width)
        if self.table is not None:
            H = self.table(words.ids, words.starts, words.lengths, width, words.gates)
        else:
            H = self.network.encoder(self.vectors_of(words, words.padded(width)), words.lengths)
        return *self.pooled(H, words.lengths), H

    def vectors_of(self, words: Words, ids: Tensor) -> Tensor:
        """S (batch, n, d) of ids (batch, n)."""
        S: Tensor = self.network.vectors(ids)
        return S

    def pooled(self, H: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """M and A of H."""
        M, A = self.network.pool(H, lengths)
        return M, A

    # ------------------------------------------------------------ there and back

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Queue kernels alone, in float32 with exact products: TF32 is a setting of the whole process."""
        cudnn, matmul = torch.backends.cudnn, torch.backends.cuda.matmul
        with _launching:
            before = cudnn.allow_tf32, matmul.allow_tf32
            cudnn.allow_tf32 = matmul.allow_tf32 = False
            try:
                yield
            finally:
                cudnn.allow_tf32, matmul.allow_tf32 = before

    def _upload_words(self, sentences: Sentences, batches: list[np.ndarray]) -> Words:
        order = np.concatenate([np.empty(0, np.int64), *batches])
        of_texts = np.stack([sentences.starts[order], sentences.lengths[order], order]).astype(np.int64)
        starts, lengths, order_there = self._upload(of_texts)
        spelled = self._upload(getattr(sentences, "spelled", np.empty(0, np.float32))).to(self.dtype)
        gates = self.table.of(spelled) if self.table is not None and len(spelled) else None
        ids = self._upload(sentences.ids.astype(np.int32, copy=False))
        return Words(ids, starts, lengths, order_there, spelled, gates)

    def _upload(self, array: np.ndarray) -> Tensor:
        """From pinned memory: then nobody waits for the kernels before it."""
        given = torch.from_numpy(np.ascontiguousarray(array))
        if self.device == "cuda" and array.size:
            given = given.pin_memory()
        return given.to(self.device, non_blocking=True)

    def _copy(self, values: Tensor) -> Callable[[], np.ndarray]:
        """Start to copy values to the host; what is returned waits for them."""
        finite = values.isfinite().all()
        if self.device != "cuda":
            return lambda: _checked(values, finite)
        copied = torch.cuda.Event(blocking=True)
        self.copies.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.copies):
            host = [torch.empty_like(x, device="cpu", pin_memory=True) for x in (values, finite)]
            for to, x in zip(host, (values, finite), strict=True):
                to.copy_(x, non_blocking=True)
                x.record_stream(self.copies)
            copied.record()

        def wait() -> np.ndarray:
            copied.synchronize()
            return _checked(*host)

        return wait


class TorchReaderRunner(TorchRunner, ReaderRunner):
    """The same for a reader: it spells words that are in no table, and maps M to one vector."""

    def build(self) -> Any:
        """The network, with any weights."""
        (vector, _), (rank, _) = (self.weights[f"vector.{name}"].shape for name in ("W_rows", "W_shared"))
        buckets = len(self.weights["grams.weight"]) - 1
        return ReaderNetwork(self.recipe.model, len(self.tokenizer), buckets, rank, vector)

    def known_words(self, network: Any) -> Tensor:
        """(vocabulary, d)."""
        words: Tensor = network.words.weight
        return words

    def vectors_of(self, words: Words, ids: Tensor) -> Tensor:
        """S (batch, n, d); ids beyond the network's words are spelled words."""
        table = torch.cat([self.network.words.weight, words.spelled])
        return table.index_select(0, ids.flatten()).view(*ids.shape, -1)

    def pooled(self, H: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """M and A of H."""
        M, A = self.network.pooling(H, lengths)
        return M, A

    def vectors(
        self, sentences: SpelledSentences, budget: int, most: int | None, unit_length: bool
    ) -> np.ndarray:
        """(texts, 384); M stays on the device."""

        def of(M: Tensor) -> Tensor:
            v: Tensor = self.network.vector(M).float()
            return normalize(v) if unit_length else v

        return self.rows(replace(sentences, most=most), budget, of)


def in_order(submit: Callable[[Item], Future[T]], items: Iterable[Item], ahead: int) -> Iterator[T]:
    """The results of all items, in order, with some items submitted ahead of the one that is waited for.

    >>> with ThreadPoolExecutor(2) as threads:
    ...     list(in_order(lambda x: threads.submit(abs, x), [-1, 2, -3], ahead=2))
    [1, 2, 3]
    """
    pending = deque[Future[T]]()
    for item in items:
        pending.append(submit(item))
        if len(pending) > ahead:
            yield pending.popleft().result()
    while pending:
        yield pending.popleft().result()


def _parts(words: Words, sentences: Sentences, batches: list[np.ndarray]) -> Iterator[tuple[Words, int]]:
    """The texts of each batch on the device, and how many words the longest has."""
    done = 0
    for batch in batches:
        yield words.part(done, len(batch)), int(sentences.lengths[batch[0]])
        done += len(batch)


def _checked(values: Tensor, finite: Tensor) -> np.ndarray:
    found = values.numpy()
    return found if finite else check_finite([found])[0]


_runner: Runner  # in a process that splits words


def _adopt(runner: Runner) -> None:
    global _runner
    _runner = runner
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # the other processes have the other cores


def _prepare(name: str, texts: list[Any]) -> Any:
    """Word ids, without the vectors of known words, which the GPU has."""
    found = getattr(_runner, name)(texts)
    return replace(found, table=found.table[:0]) if isinstance(found, SpelledSentences) else found
