"""Splitting into words: the compiled part beside Python, and whether both give the same.

    python experiments/benchmarks/words.py TABLE --column text --sentences 1000000

First all sentences are split by both, as they are and in lower case, into numbers and words: none may differ.
Then the sentences a second of processor time on one core, in rounds side by side, best and median ratio:

- to words: `number_words`, what `limelight encode` and training do, of texts that are new each round;
- to ids: `Tokenizer.encode` with the bundled reader's vocabulary;
- spelled: the same, and the vectors of words outside the vocabulary, what a reader does;
- whole reviews to ids, not cut into sentences.

"new" texts are seen for the first time, by a fresh tokenizer; "again" the same texts once more. At last both halves of
the texts in two threads, beside one thread: by the clock, and how much more processor time they take.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice

import pyarrow.parquet as pq

import limelight
from limelight.runtime.batches import encode_spelled
from limelight.text import numbering
from limelight.text.numbering import Numbering
from limelight.text.splitting import sentence_spans
from limelight.text.tokenizer import Tokenizer

CHUNK = 20_000  # sentences, as many as `limelight encode` splits together


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("table", help="a parquet file")
    parser.add_argument("--column", default="text")
    parser.add_argument("--sentences", type=int, default=1_000_000)
    parser.add_argument("--timed", type=int, default=20_000, help="of each round")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    assert numbering.compiled, "the compiled part is not there: pip install -e . with a C compiler"
    reviews = pq.read_table(args.table, columns=[args.column])[args.column].to_pylist()
    sentences = list(islice((text[a:b] for text in reviews for a, b in sentence_spans(text)), args.sentences))
    ascii = sum(map(str.isascii, sentences)) / len(sentences)
    print(f"{len(sentences):,} sentences, {ascii:.1%} of them ASCII")
    for lowercase in (True, False):
        different = compare(sentences, lowercase)
        print(f"{'lower case' if lowercase else 'as they are'}: {different:,} chunks split differently")
    rounds = [sentences[k * args.timed : (k + 1) * args.timed] for k in range(args.rounds)]
    long = [reviews[k * args.timed // 10 : (k + 1) * args.timed // 10] for k in range(args.rounds)]
    print("| | Python | compiled | ratio |\n|---|---|---|---|")
    for name, work, texts in ways(rounds, long):
        report(name, [side_by_side(work, each) for each in texts])
    print("| compiled, by the clock | one thread | two | ratio | processor time |\n|---|---|---|---|---|")
    for name, work, texts in ways(rounds, long):
        if "new" not in name:
            every = [text for each in texts for text in each]
            one_and_two(work, every)  # each thread remembers pieces of its own
            report_threads(name, [one_and_two(work, every) for _ in range(args.rounds)])


def compare(sentences: list[str], lowercase: bool) -> int:
    """How many chunks of texts are not the same for the compiled part and for the rules on whole texts."""
    fast, judge, different = Numbering(lowercase, True), Numbering(lowercase, True), 0
    for k in range(0, len(sentences), CHUNK):
        chunk = sentences[k : k + CHUNK]
        found = fast.number(chunk)
        with python_alone():
            different += found != judge.number(chunk)
    return different


@contextmanager
def python_alone() -> Iterator[None]:
    """As where nothing was compiled."""
    compiled, numbering.compiled = numbering.compiled, None
    try:
        yield
    finally:
        numbering.compiled = compiled


Work = Callable[[list[str]], object]


def ways(rounds: list[list[str]], long: list[list[str]]) -> Iterator[tuple[str, Work, list[list[str]]]]:
    """What is measured, and the texts of each round."""
    reader = limelight.load("reader")._runner
    vocabulary, weights = reader.tokenizer.vocabulary[2:], reader.weights
    tables = weights["words.weight"], weights["grams.weight"], reader.recipe.model.stems
    opened = {True: Numbering(True, True), False: Numbering(True, True)}
    tokenizers = {True: Tokenizer.from_words(vocabulary), False: Tokenizer.from_words(vocabulary)}

    def fast() -> bool:
        return numbering.compiled is not None

    yield "to words, new", lambda texts: opened[fast()].number(texts), rounds
    yield "to words, again", lambda texts: opened[fast()].number(texts), rounds
    yield "to ids, new", lambda texts: tokenizers[fast()].encode(texts), rounds
    yield "to ids, again", lambda texts: tokenizers[fast()].encode(texts), rounds
    ascii = [[text for text in texts if text.isascii()] for texts in rounds]
    yield "to ids, again, ASCII alone", lambda texts: tokenizers[fast()].encode(texts), ascii
    yield "to ids, one by one", lambda texts: [tokenizers[fast()].encode([text]) for text in texts], ascii
    yield "to ids, spelled, again", lambda texts: encode_spelled(tokenizers[fast()], texts, *tables), rounds
    yield "whole reviews to ids, new", lambda texts: tokenizers[fast()].encode(texts), long
    yield "whole reviews to ids, again", lambda texts: tokenizers[fast()].encode(texts), long


def side_by_side(work: Work, texts: list[str]) -> tuple[float, float]:
    """Texts per second in Python, and compiled."""
    with python_alone():
        plain = measure(work, texts)
    return plain, measure(work, texts)


def measure(work: Work, texts: list[str]) -> float:
    """Texts per second of processor time."""
    start = time.process_time()
    work(texts)
    return len(texts) / max(time.process_time() - start, 1e-9)


Times = tuple[float, float]  # texts per second by the clock; processor time of a text


def one_and_two(work: Work, texts: list[str]) -> tuple[Times, Times]:
    """One thread, and two with half of the texts each."""
    with ThreadPoolExecutor(2) as pool:
        return measure_clock(work, [texts], pool), measure_clock(work, [texts[::2], texts[1::2]], pool)


def measure_clock(work: Work, parts: list[list[str]], pool: ThreadPoolExecutor) -> Times:
    count, clock, processor = sum(map(len, parts)), time.perf_counter(), time.process_time()
    list(pool.map(work, parts))
    return count / (time.perf_counter() - clock), (time.process_time() - processor) / count


def report_threads(name: str, rounds: list[tuple[Times, Times]]) -> None:
    one, two = (max(each[k][0] for each in rounds) for k in (0, 1))
    faster = statistics.median(two[0] / one[0] for one, two in rounds)
    work = statistics.median(two[1] / one[1] for one, two in rounds)
    print(f"| {name} | {one:,.0f} | {two:,.0f} | {faster:.2f} | {work:.2f} |", flush=True)


def report(name: str, rounds: list[tuple[float, float]]) -> None:
    plain, fast = map(max, zip(*rounds, strict=True))
    ratio = statistics.median(b / a for a, b in rounds)
    print(f"| {name} | {plain:,.0f} | {fast:,.0f} | {ratio:.2f} |", flush=True)


if __name__ == "__main__":
    main()
