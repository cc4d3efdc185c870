"""A trained model in PyTorch, behind the interface of the runtime: on a GPU, or with a part of one's own.

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
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain, islice
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..errors import LimelightError, needs_torch
from ..network.outputs import activate
from ..network.parts import matrix_shape
from ..text.open_words import OpenTokenizer
from ..text.parallel import in_order
from ..text.tokenizer import PAD
from .batches import Sentences, SpelledSentences, chunks, collect
from .folder import Parts
from .runner import Prepare, Runner, check_finite
from .session import locked_cached_property

try:
    import torch
    from torch import Tensor
    from torch.nn.functional import normalize

    from ..network.torch.encoder import BiLSTM
    from ..network.torch.lstm import persistent
    from ..network.torch.lstm.persistent import GateTable
    from ..network.torch.module import ModulePooling
    from ..network.torch.network import Network, with_weights
    from ..network.torch.shared import missing_columns
except ImportError:
    raise needs_torch("device 'cuda', or a part of your own,") from None

TEXTS, SENTENCES = 8192, 65_536  # at a time, at most: to split into words, and of those given as word ids
MEMORY = 2**30  # bytes of M at a time
TABLE = 2**32  # bytes of gates, of all words, at most
PAIRS = 4096  # classified at a time
MODULE_WORDS = {"cpu": 4_096, "cuda": 32_768}  # in a batch of a user's own encoder, with padding
AHEAD = 2  # chunks on their way to the GPU or back

T = TypeVar("T")
_launching = threading.Lock()  # kernels are queued by one thread at a time


class DeviceBatch(NamedTuple):
    """Texts on the device, from the longest to the shortest."""

    ids: Tensor  # (words,)
    starts: Tensor  # (texts,)
    lengths: Tensor  # (texts,)
    order: Tensor  # (texts,): which text each is of those given
    spelled: Tensor  # (other words, d): of a reader
    gates: Tensor | None  # of these, where those of known words are in a table

    def part(self, first: int, count: int) -> DeviceBatch:
        starts, lengths, order = (x[first : first + count] for x in self[1:4])
        return self._replace(starts=starts, lengths=lengths, order=order)

    def padded(self, width: int) -> Tensor:
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
            fault = "device is 'cuda', but PyTorch sees no GPU here; use 'cpu' or 'auto'"
            raise LimelightError(fault, code="no-gpu")

    @locked_cached_property
    def running(self) -> tuple[Any, GateTable | None]:
        """The network on the device in evaluation mode, and its table."""
        sizes = len(self.tokenizer), self.classes, self.pair
        network = with_weights(lambda: Network(self.recipe.model, *sizes), self.weights)
        network = network.to(self.device, self.dtype)
        return network, self._tabulate(network)

    @property
    def network(self) -> Any:
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
        ids = torch.arange(len(words), device=self.device)
        known = network.vectors(ids.unsqueeze(0))[0]  # (vocabulary, d): the words as the LSTM reads them
        return GateTable(known, *weights)

    @locked_cached_property
    def splitters(self) -> ProcessPoolExecutor:
        """Processes that split texts into words. Each is a fork: it has the vocabulary, and needs no script
        that can be imported.
        """
        forks = multiprocessing.get_context("fork")
        return ProcessPoolExecutor(self.threads, forks, initializer=_adopt, initargs=(copy.copy(self),))

    @locked_cached_property
    def copies(self) -> torch.cuda.Stream:
        return torch.cuda.Stream()

    def __getstate__(self) -> dict[str, Any]:
        running = "running", "splitters", "copies", "vector_parts"
        return {name: value for name, value in vars(self).items() if name not in running}

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

    def embed_sentences(self, sentences: Sentences, budget: int | None = None) -> np.ndarray:
        count, size = len(sentences.lengths), self.chunk_size(MEMORY, 1, SENTENCES)
        if 0 < count <= size:
            return self.rows(sentences, budget, lambda M: M)
        with ThreadPoolExecutor(AHEAD) as threads:
            parts = sentences.parts(size)
            found = in_order(lambda x: threads.submit(self.embed_sentences, x, budget), parts, AHEAD)
            return collect(found, count, matrix_shape(self.recipe.model))

    def probabilities(self, sentences: Sentences, budget: int) -> np.ndarray:
        return activate(self.task, self.rows(sentences, budget, self.network.classify))

    def vectors(
        self, sentences: SpelledSentences, budget: int, max_sentences: int | None, unit_length: bool
    ) -> np.ndarray:
        """A reader's vectors (texts, vector); M stays on the device."""

        def of(M: Tensor) -> Tensor:
            v: Tensor = self.network.classify(M).float()
            return normalize(v) if unit_length else v

        return self.rows(replace(sentences, max_sentences=max_sentences), budget, of)

    @torch.no_grad()
    def pair_probabilities(self, prepared: tuple[Sentences, np.ndarray], budget: int) -> np.ndarray:
        """(pairs, classes); M stays on the device."""
        sentences, places = prepared
        with self._exclusive_launch():
            M = self._on_device(sentences, budget, lambda M: M)
            blocks = [self._upload(places[k : k + PAIRS].T) for k in range(0, len(places), PAIRS)]
            found = torch.cat([self._logits(M[first], M[second]) for first, second in blocks])
            copied = self._copy(found)
        return activate(self.task, copied())

    def run_head(self, *M: np.ndarray, output: str) -> np.ndarray:
        with torch.no_grad(), self._exclusive_launch():
            copied = self._copy(self._logits(*map(self._upload, M)))
        return activate(self.task, copied()) if output == "probabilities" else copied()

    def _logits(self, *M: Tensor) -> Tensor:
        same = [x.to(self.dtype) for x in M]
        logits: Tensor = self.network.classify(self.network.relate(*same) if self.pair else same[0])
        return logits.float()

    # ------------------------------------------------------------ some texts on the device

    @torch.no_grad()
    def rows(self, sentences: Sentences, budget: int | None, of: Callable[[Tensor], Tensor]) -> np.ndarray:
        """What `of` makes of each M, (sentences, ...), in order."""
        with self._exclusive_launch():
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
        batches = self._batches(sentences, budget)
        with self._exclusive_launch():
            words = self._upload_words(sentences, batches)
        for batch, (part, width) in zip(batches, _parts(words, sentences, batches), strict=True):
            with self._exclusive_launch():
                M, A, H = self._run(part, width)
                found = {"M": M, "A": A[..., :width], "H": H[:, :width]}
                copied = [self._copy(found[name].float()) for name in outputs]
            yield batch, [each() for each in copied]

    def _run(self, words: DeviceBatch, width: int) -> tuple[Tensor, Tensor, Tensor]:
        """M, A and H, padded to more than `width` words where that is quicker."""
        width += missing_columns(self.network.words.weight, width)
        if self.table is not None:
            H = self.table(words.ids, words.starts, words.lengths, width, words.gates)
        else:
            H = self.network.encoder(self.vectors_of(words, words.padded(width)), words.lengths)
        return *self.network.pool(H, words.lengths), H

    def vectors_of(self, words: DeviceBatch, ids: Tensor) -> Tensor:
        """S (batch, n, d) of ids (batch, n); those beyond a reader's words are spelled words."""
        if not self.recipe.model.spells_words:
            S: Tensor = self.network.vectors(ids)
            return S
        table = torch.cat([self.network.words.weight, words.spelled])
        return table.index_select(0, ids.flatten()).view(*ids.shape, -1)

    # ------------------------------------------------------------ there and back

    @contextmanager
    def _exclusive_launch(self) -> Iterator[None]:
        """Queue kernels alone, in float32 with exact products: TF32 is a setting of the whole process."""
        cudnn, matmul = torch.backends.cudnn, torch.backends.cuda.matmul
        with _launching:
            before = cudnn.allow_tf32, matmul.allow_tf32
            cudnn.allow_tf32 = matmul.allow_tf32 = False
            try:
                yield
            finally:
                cudnn.allow_tf32, matmul.allow_tf32 = before

    def _upload_words(self, sentences: Sentences, batches: list[np.ndarray]) -> DeviceBatch:
        order = np.concatenate([np.empty(0, np.int64), *batches])
        of_texts = np.stack([sentences.starts[order], sentences.lengths[order], order]).astype(np.int64)
        starts, lengths, order_there = self._upload(of_texts)
        spelled = self._upload(getattr(sentences, "spelled", np.empty(0, np.float32))).to(self.dtype)
        gates = self.table.of(spelled) if self.table is not None and len(spelled) else None
        ids = self._upload(sentences.ids.astype(np.int32, copy=False))
        return DeviceBatch(ids, starts, lengths, order_there, spelled, gates)

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


def _parts(
    words: DeviceBatch, sentences: Sentences, batches: list[np.ndarray]
) -> Iterator[tuple[DeviceBatch, int]]:
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


# ---------------------------------------------------------------- a part of the user's own


class ModuleRunner(Runner):
    """The network of training with a part of the user's own, in evaluation mode and in float32."""

    def __init__(self, parts: Parts, device: str, threads: int | None) -> None:
        super().__init__(parts, "float32", threads)
        self.modules, self.device, self.batch_words = parts.modules, device, MODULE_WORDS[device]

    @locked_cached_property
    def network(self) -> Network:
        words = self.tokenizer.all_words if isinstance(self.tokenizer, OpenTokenizer) else ()
        sizes = len(self.tokenizer), self.classes, self.pair
        own = copy.deepcopy(self.modules)  # the user's stays as it is
        network = with_weights(lambda: Network(self.recipe.model, *sizes, own, words), self.weights)
        return network.to(self.device)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("network", "vector_parts")}

    @torch.no_grad()
    def encode(
        self, sentences: Sentences, budget: int, *outputs: str
    ) -> Iterator[tuple[np.ndarray, list[np.ndarray]]]:
        for batch in sentences.batches(budget):
            feed = sentences.feed(batch)
            ids, lengths = (torch.from_numpy(feed[name]).to(self.device) for name in ("ids", "lengths"))
            H = self.network.states(ids.long(), lengths.long())
            M, A = self.network.pool(H, lengths.long())
            found = {"M": M, "A": A, "H": H}
            yield batch, check_finite([found[name].float().cpu().numpy() for name in outputs])

    def without_words(self, H: np.ndarray, A: np.ndarray, words: slice = slice(None)) -> np.ndarray:
        pooling = self.network.pooling
        own = isinstance(pooling, ModulePooling)
        return pooling.without_words(H, words) if own else super().without_words(H, A, words)

    @torch.no_grad()
    def run_head(self, *M: np.ndarray, output: str) -> np.ndarray:
        given = [torch.from_numpy(np.ascontiguousarray(each)).to(self.device) for each in M]
        features = self.network.relate(*given) if self.pair else given[0]
        logits = check_finite([self.network.classify(features).float().cpu().numpy()])[0]
        return activate(self.task, logits) if output == "probabilities" else logits
