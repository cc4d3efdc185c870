"""The bidirectional LSTM on one core: ONNX Runtime's operator, as models use it, beside other ways.

    OPENBLAS_NUM_THREADS=1 taskset -c 1 python experiments/benchmarks/cpu_lstm.py            # the LSTM alone
    OPENBLAS_NUM_THREADS=1 taskset -c 1 python experiments/benchmarks/cpu_lstm.py --whole    # the bundled reader's encode

"Known products": those of the words with W_ih are computed beforehand, once for each word, and not timed. In
--whole they are timed, for the different words of each chunk of texts. The C kernel (cpu_lstm.c) is an upper
bound for a compiled extension and is left out without a compiler. The ways take turns; every one is checked
against the first. Microseconds per word are the best round, ratios the median over the rounds.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib import resources
from typing import Any

import numpy as np
from cpu_lstm_steps import CompiledInt8, Weights, compile_kernel, stepwise

import limelight
from limelight.network.onnx.arithmetic import Float32, Int8
from limelight.network.onnx.graph import Graph
from limelight.network.onnx.layers import direction_graph, pooling_graph
from limelight.runtime.batches import Sentences, SpelledSentences
from limelight.runtime.session import Session
from limelight.tables.columns import choose_columns
from limelight.tables.rows import TableRows

SIZES = {"light": (100, 64), "reader": (256, 300)}  # d, u
Way = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]  # X, places, lengths -> Y (n, 2, batch, u)


def random_weights(d: int, u: int, words: int = 5000) -> Weights:
    rng = np.random.default_rng(0)
    sizes = {"W_ih_0": (2, 4 * u, d), "W_hh_0": (2, 4 * u, u), "b_0": (2, 4 * u)}
    found = {f"encoder.{n}": rng.uniform(-(u**-0.5), u**-0.5, s).astype(np.float32) for n, s in sizes.items()}
    return {**found, "words.weight": rng.standard_normal((words, d), np.float32)}


# ---------------------------------------------------------------- ONNX Runtime's operator


def as_exported(weights: Weights, arithmetic: type[Float32] = Float32) -> Way:
    _, u, d = weights["encoder.W_ih_0"].shape
    g = Graph("lstm")
    X, lengths = g.input("X", "float32", "n", "batch", d), g.input("lengths", "int32", "batch")
    Y = arithmetic(g, weights).lstm(X, lengths, 0)
    g.output("Y", Y, "float32", "n", 2, "batch", u // 4)
    session = Session(g)
    return lambda X, places, lengths: session.run({"X": X, "lengths": lengths}, "Y")[0]


def two_operators(weights: Weights) -> Way:
    sides = [Session(direction_graph(weights, 0, way, False)) for way in ("forward", "reverse")]

    def run(X: np.ndarray, places: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        return np.concatenate([s.run({"X": X, "lengths": lengths}, "Y")[0] for s in sides], axis=1)

    return run


# ---------------------------------------------------------------- the LSTM alone


def lstm_ways(weights: Weights) -> dict[str, Way]:
    ways = {
        "as exported": as_exported(weights),
        "two operators": two_operators(weights),
        "one input": one_input(weights),
        "int8": as_exported(weights, Int8),
    }
    for name, kind in stepwise().items():
        steps = kind(weights)
        ways[name] = partial(with_products, steps)
        ways[f"{name}, known products"] = partial(
            known_products, steps, steps.products(weights["words.weight"])
        )
    return ways


def one_input(weights: Weights) -> Way:
    """The operator with next to no input product: what the steps take."""
    run = as_exported({**weights, "encoder.W_ih_0": weights["encoder.W_ih_0"][..., :1]})
    return lambda X, places, lengths: run(X[..., :1], places, lengths)


def with_products(steps: Any, X: np.ndarray, places: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    P = steps.products(X.reshape(-1, X.shape[2]))
    return np.asarray(steps.states(P, np.arange(places.size, dtype=np.int32).reshape(places.shape), lengths))


def known_products(steps: Any, P: np.ndarray, X: np.ndarray, places: np.ndarray, lengths: np.ndarray) -> Any:
    return steps.states(P, places, lengths)


def race(ways: dict[str, Callable[[], object]], rounds: int) -> dict[str, tuple[float, float]]:
    """For each way the seconds of its best round, and how many times as fast as the first it is."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for run in ways.values():
        run()
    for _ in range(rounds):
        for name, run in ways.items():
            begin = time.process_time()  # one core, which others may use too
            run()
            seconds[name].append(time.process_time() - begin)
    first = seconds[next(iter(ways))]
    return {
        name: (min(own), statistics.median(a / b for a, b in zip(first, own, strict=True)))
        for name, own in seconds.items()
    }


def measure_lstm(name: str, words: int, batches: list[int], rounds: int) -> None:
    d, u = SIZES[name]
    weights = random_weights(d, u)
    ways, rng = lstm_ways(weights), np.random.default_rng(1)
    operations = 2 * 2 * 4 * u * (d + u)  # of a word: multiply and add, two directions, four gates
    rates = " and ".join(f"{rate:.1f}" for rate in product_rates(d, 4 * u, rounds))
    print(f"\n{name}: {d} inputs, {u} units, {operations:,} operations a word")
    print(f"numpy's products with W_ih and W_hh, 1024 words at once: {rates} billion operations a second")
    for batch in batches:
        places = rng.integers(0, 5000, (words, batch), np.int32)
        X, lengths = weights["words.weight"][places], np.full(batch, words, np.int32)
        expected = ways["as exported"](X, places, lengths)
        found = race({k: partial(way, X, places, lengths) for k, way in ways.items()}, rounds)
        print(f"\n{words} words a sentence, {batch} at once")
        for way, (best, ratio) in found.items():
            error = np.abs(ways[way](X, places, lengths) - expected).max()
            per_word = best / places.size * 1e6
            print(f"  {way:22} {per_word:8.2f} us a word {ratio:6.2f} x   error {error:.0e}", flush=True)


def product_rates(d: int, gates: int, rounds: int) -> list[float]:
    """Billions of operations a second of the matrix products alone: what bounds an LSTM in float32."""
    rng, found = np.random.default_rng(0), []
    for size in (d, gates // 4):
        X, W = (rng.standard_normal(shape, np.float32) for shape in ((1024, size), (size, gates)))
        best, _ = race({"": partial(np.matmul, X, W)}, rounds)[""]
        found.append(2 * 1024 * size * gates / best / 1e9)
    return found


# ---------------------------------------------------------------- the whole reader


def encode_stepwise(
    reader: limelight.Reader, steps: Any, sentences: SpelledSentences, budget: int, *outputs: str
) -> Iterator[tuple[np.ndarray, list[np.ndarray]]]:
    """In place of `Runner.encode`, with the products of each different word of these sentences."""
    words = np.unique(sentences.ids)
    one_text = SpelledSentences(words, np.array([len(words)]), sentences.table, sentences.spelled)
    P = steps.products(one_text.feed(np.array([0]))["X"][:, 0])
    rows = np.zeros(words[-1] + 1, np.int32)
    rows[words] = np.arange(len(words))
    for batch in sentences.batches(budget):
        feed = Sentences.feed(sentences, batch)
        Y = steps.states(P, rows[feed["ids"].T], feed["lengths"])
        yield batch, steps.pooling.run({**feed, "Y": np.ascontiguousarray(Y)}, *outputs)


def measure_reader(texts: list[str], rounds: int) -> None:
    readers = {p: limelight.load("reader", precision=p, threads=1) for p in ("float32", "int8")}
    for name, kind in stepwise().items():
        reader = readers[name] = limelight.load("reader", threads=1)
        steps = kind(reader.weights)
        steps.pooling = Session(pooling_graph(reader.weights, reader.recipe.model, False))
        reader._runner.encode = partial(encode_stepwise, reader, steps)  # type: ignore[method-assign]
    if "C" in readers and hasattr(compile_kernel(), "lstm8"):
        steps = CompiledInt8(readers["float32"].weights)
        reader = readers["C, int8"] = limelight.load("reader", precision="int8", threads=1)
        steps.pooling = Session(pooling_graph(reader.weights, reader.recipe.model, True))
        reader._runner.encode = partial(encode_stepwise, reader, steps)  # type: ignore[method-assign]
    expected = readers["float32"].encode(texts)
    found = race({name: partial(reader.encode, texts) for name, reader in readers.items()}, rounds)
    print(f"\nthe reader, {len(texts)} texts")
    for name, (best, ratio) in found.items():
        error = np.abs(readers[name].encode(texts) - expected).max()
        print(f"  {name:10} {len(texts) / best:8,.0f} texts/s {ratio:6.2f} x   error {error:.0e}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sizes", nargs="*", default=list(SIZES), choices=SIZES)
    parser.add_argument("--words", type=int, nargs="*", default=[14, 160], help="words of a sentence")
    parser.add_argument("--batches", type=int, nargs="*", default=[1, 8, 32, 128], help="sentences at once")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--whole", action="store_true", help="the reader's encode, bundled sentences")
    parser.add_argument("--count", type=int, default=1000, help="texts for --whole")
    parser.add_argument("--table", help="for --whole: a table to take them from", metavar="FILE")
    parser.add_argument("--column", default="text")
    options = parser.parse_args()
    if options.whole:
        table = options.table or str(resources.files("limelight") / "bundled" / "sentences-test.csv.xz")
        rows = TableRows(table, choose_columns(table, options.column, need_label=False))
        measure_reader([row.text for _, row in zip(range(options.count), rows, strict=False)], options.rounds)
        return
    for name in options.sizes:
        for words in options.words:
            measure_lstm(name, words, options.batches, options.rounds)


if __name__ == "__main__":
    main()
