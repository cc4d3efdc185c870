"""What words contribute to the similarity of two texts: against leaving them out, cost, planted words.

    python experiments/benchmarks/compare.py DATA/stsb/dev.parquet --pairs 300

Leaving out: a word is deleted from its text, which is read again; the similarity drops or rises. The rank
correlation (Spearman) is over the words of a text, averaged over texts, and over all words of all texts. Cost
is processor time on one thread, best of some rounds, of all pairs at once. Planted words: the same rare word
put into two unrelated sentences, or two different ones.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence

import numpy as np
from reader import spearman

import limelight
from limelight.bundled import sentences
from limelight.reading import ComparedText, Comparison
from limelight.runtime.reader import Reader
from limelight.tables.table import open_table

PLANTED = [
    "zebra", "piano", "glacier", "lawyer", "vaccine", "orchid", "submarine", "tax", "bakery", "comet",
    "guitar", "pharmacy", "volcano", "wedding", "chess", "tractor", "passport", "honey", "skeleton", "violin",
]  # fmt: skip
Pairs = list[tuple[str, str]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("table")
    parser.add_argument("--first", default="first", metavar="COL")
    parser.add_argument("--second", default="second", metavar="COL")
    parser.add_argument("--pairs", type=int, default=300)
    parser.add_argument("--planted", type=int, default=500)
    parser.add_argument("--words", type=int, nargs="*", default=[30, 100, 300], help="of longer texts")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    reader, random = limelight.load("reader", threads=1), np.random.default_rng(args.seed)
    rows = list(open_table(args.table).rows([args.first, args.second]))
    chosen = random.choice(len(rows), min(args.pairs, len(rows)), replace=False)
    pairs = [(rows[k][0], rows[k][1]) for k in chosen]
    print_agreement(reader, pairs)
    print_cost(reader, pairs, rows, args.words, args.rounds)
    print_planted(reader, args.planted, random)


# ---------------------------------------------------------------- leaving out


def print_agreement(reader: Reader, pairs: Pairs) -> None:
    found = compare(reader, pairs)
    drops = leave_out(reader, pairs)
    sides = [side for each in found for side in each.sides]
    error = max(abs(each.matrix.sum(dtype=float) - each.similarity) for each in found)
    scores: dict[str, Sequence[np.ndarray]] = {
        "contributions": [values for each in found for values in each.contributions],
        "effects (less an even share)": [side.effects for side in sides],
        "plain terms, A_rt W_r h_t": plain_terms(reader, pairs),
        "overall attention": [reader.read(side.text).overall for side in sides],
    }
    print(f"{len(pairs)} pairs, {sum(map(len, drops)):,} words; largest error of a sum {error:.1e}\n")
    print("| | within texts | all words |\n|---|---|---|")
    for name, values in scores.items():
        within = [spearman(a, b) for a, b in zip(values, drops, strict=True) if np.ptp(a) > 0 < np.ptp(b)]
        together = spearman(np.concatenate(values), np.concatenate(drops))
        print(f"| {name} | {np.mean(within):.3f} | {together:.3f} |")


def compare(reader: Reader, pairs: Pairs) -> list[Comparison]:
    first, second = zip(*pairs, strict=True)
    return reader.compare_many(first, second)


def leave_out(reader: Reader, pairs: Pairs) -> list[np.ndarray]:
    """For each text of each pair (n,): how much less similar the pair is without each word, read again."""
    texts = [text for pair in pairs for text in pair]
    vectors = reader.encode(texts)
    spans = [reader.tokenizer.locate(text)[1].tolist() for text in texts]
    shorter = [text[:a] + text[b:] for text, places in zip(texts, spans, strict=True) for a, b in places]
    without = np.split(reader.encode(shorter), np.cumsum([len(places) for places in spans])[:-1])
    others = vectors.reshape(-1, 2, vectors.shape[1])[:, ::-1].reshape(vectors.shape)
    return [v @ other - left @ other for v, other, left in zip(vectors, others, without, strict=True)]


def plain_terms(reader: Reader, pairs: Pairs) -> list[np.ndarray]:
    """For each text (n,): the terms of v = sum_t sum_r A_rt W_r h_t, times the other text's vector."""
    texts = [text for pair in pairs for text in pair]
    runner, vectors = reader._runner, reader.encode(texts)
    U, V = reader.weights["vector.W_shared"], reader.weights["vector.W_rows"]
    found = []
    for k, text in enumerate(texts):
        ((_, (A, H)),) = runner.encode(runner.sentences([text]), 10**6, "A", "H")
        terms = (A[0].T[:, :, None] * (H[0] @ U.T)[:, None]).reshape(H.shape[1], -1) @ V.T  # (n, 384)
        found.append(terms @ vectors[k ^ 1] / np.linalg.norm(terms.sum(axis=0)))
    return found


# ---------------------------------------------------------------- cost


def print_cost(
    reader: Reader, pairs: Pairs, rows: Sequence[Sequence[str]], words: list[int], rounds: int
) -> None:
    print("\n| texts | words each | encode | compare | leave out | beyond encoding | all |\n|" + "---|" * 7)
    cases = [("pairs", pairs)] + [(f"{n} words", long_pairs(rows, n)) for n in words]
    for name, given in cases:
        texts = [text for pair in given for text in pair]
        each = np.mean([len(reader.tokenizer.split(text)) for text in texts])
        jobs: list[Callable[[], object]] = [
            lambda texts=texts: reader.encode(texts),
            lambda given=given: compare(reader, given),
            lambda given=given: leave_out(reader, given),
        ]
        encode, contributions, left_out = measure(jobs, rounds)
        beyond = (left_out - encode) / (contributions - encode)
        cells = f"{encode:.2f} s | {contributions:.2f} s | {left_out:.2f} s"
        print(
            f"| {name} | {each:.0f} | {cells} | 1/{beyond:.0f} | 1/{left_out / contributions:.0f} |",
            flush=True,
        )


def long_pairs(rows: Sequence[Sequence[str]], words: int, count: int = 4) -> Pairs:
    """Sentences of the table joined to texts of about so many words."""
    joined = " ".join(text for row in rows for text in row[:2]).split()
    texts = [" ".join(joined[k * words : (k + 1) * words]) for k in range(2 * count)]
    return list(zip(texts[::2], texts[1::2], strict=True))


def measure(jobs: Sequence[Callable[[], object]], rounds: int) -> list[float]:
    """Processor time of each job in its best round; they take turns."""
    best = [float("inf")] * len(jobs)
    for _ in range(rounds):
        for k, job in enumerate(jobs):
            start = time.process_time()
            job()
            best[k] = min(best[k], time.process_time() - start)
    return best


# ---------------------------------------------------------------- planted words


def print_planted(reader: Reader, count: int, random: np.random.Generator) -> None:
    """How often a planted word is found, where both texts have it and where each has another one."""
    texts = [text for text in sentences("dev")[0] if 5 <= len(text.split()) <= 25]
    print(
        f"\n| planted, {count} pairs | the top pair | the top word of both | their pair adds | similarity |"
    )
    print("|---|---|---|---|---|")
    for name, shared in (("the same word", True), ("different words", False)):
        pairs, words = plant(texts, count, shared, random)
        rows = [look(each, *two) for each, two in zip(compare(reader, pairs), words, strict=True)]
        top, both, adds, similarity = np.mean(rows, axis=0)
        print(f"| {name} | {top:.1%} | {both:.1%} | {adds:.3f} | {similarity:.3f} |")


def plant(
    texts: list[str], count: int, shared: bool, random: np.random.Generator
) -> tuple[Pairs, list[tuple[str, str]]]:
    pairs, words = [], []
    for _ in range(count):
        a, b = random.choice(PLANTED, 2, replace=False)
        first, second = random.choice(len(texts), 2, replace=False)
        two = (str(a), str(a if shared else b))
        pairs.append((insert(texts[first], two[0], random), insert(texts[second], two[1], random)))
        words.append(two)
    return pairs, words


def insert(text: str, word: str, random: np.random.Generator) -> str:
    words = text.split()
    words.insert(int(random.integers(len(words) + 1)), word)
    return " ".join(words)


def look(found: Comparison, a: str, b: str) -> tuple[float, ...]:
    """Whether the two words are the top pair; the top words; what their pair adds; the similarity."""
    s, t = found.first.words.index(a), found.second.words.index(b)
    top = float(found.matrix.argmax() == s * found.matrix.shape[1] + t)
    both = float(is_top(found.first, s) and is_top(found.second, t))
    return top, both, float(found.matrix[s, t]), found.similarity


def is_top(side: ComparedText, place: int) -> bool:
    return int(side.effects.argmax()) == place


if __name__ == "__main__":
    main()
