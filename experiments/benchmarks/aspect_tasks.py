"""Aspects from seed words against people's labels: SemEval 2014 restaurants, and OPOSUM's clauses of six products.

    python experiments/benchmarks/aspect_tasks.py semeval restaurants-2014-train.parquet --model MODEL
    python experiments/benchmarks/aspect_tasks.py oposum dev.parquet

Prints a Markdown table for each task. Texts are cut into two halves by their number. What is chosen (a
threshold) is chosen on the first half; both halves are reported. Rows of the tables:

plain seeds       the text has a seed as a whole word or phrase, in lower case: no plurals, no phrases that hide words
ours              a clause mentions the aspect, as `predict --aspects` has it
MiniLM            cosine of the text to the mean of its seeds above a threshold, the same for all aspects
supervised        logistic regression on MiniLM's vectors of the labelled texts, 5-fold cross-validation

Micro F1 is over pairs of text and aspect. A text without any aspect (OPOSUM's "None") is no class of its own: there
every aspect that is predicted is wrong, and predicting none gains nothing. The polarity of a category is that of
MODEL, trained on stars of restaurants: the estimated stars of the aspect, or without a seed the stars of the
sentence, beside the stars of the whole sentence. The best aspect is one with a seed; in ours, without any, the one
to whose seeds' mean the reader's cosine is largest; plain seeds have none then, which is wrong. MiniLM needs its weights (minilm.py); its rows are left out
without them.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
from minilm import MiniLM, weights_folder
from sklearn.linear_model import LogisticRegression

import limelight
from limelight.aspects.seeds import Aspects
from limelight.aspects.sums import AspectSum, clauses_of
from limelight.text.tokenizer import Tokenizer

CATEGORIES = ("food", "service", "price", "ambience")
OTHER = "anecdotes/miscellaneous"
GOOD = (
    "good",
    "great",
    "excellent",
    "lovely",
    "perfect",
    "delicious",
    "friendly",
    "best",
    "amazing",
    "wonderful",
)
BAD = (
    "bad",
    "terrible",
    "awful",
    "horrible",
    "poor",
    "worst",
    "rude",
    "disappointing",
    "disgusting",
    "mediocre",
)
FOLDS = 5

Embed = Callable[[list[str]], np.ndarray]


# ---------------------------------------------------------------- measures


def f1(predicted: np.ndarray, truth: np.ndarray) -> float:
    """Micro F1 of booleans.

    >>> f1(np.array([True, True, False]), np.array([True, False, False]))
    0.6666666666666666
    """
    return float(2 * (predicted & truth).sum() / max(1, predicted.sum() + truth.sum()))


def macro_f1(predicted: np.ndarray, truth: np.ndarray) -> float:
    """The mean F1 of positive and negative."""
    return (f1(predicted, truth) + f1(~predicted, ~truth)) / 2


def first_half(count: int) -> np.ndarray:
    """(count,): whether a text is of the first half."""
    return np.arange(count) < count / 2


def above_best(scores: np.ndarray, truth: np.ndarray, first: np.ndarray, measure: Any = f1) -> np.ndarray:
    """Which scores are above the one threshold that is best on the first half."""
    thresholds = np.quantile(scores[first], np.linspace(0.02, 0.99, 150))
    best = max(thresholds, key=lambda least: measure((scores > least)[first], truth[first]))
    return scores > best


# ---------------------------------------------------------------- which aspects a text is about


def match_plain(aspects: Aspects, texts: list[str]) -> np.ndarray:
    """(texts, aspects): whether a seed is among the words."""
    words = [" ".join(["", *re.findall(r"[\w']+", text.lower()), ""]) for text in texts]
    return np.array([[any(f" {seed} " in text for seed in each.seeds) for each in aspects] for text in words])


def match(aspects: Aspects, texts: list[str]) -> np.ndarray:
    """(texts, aspects): whether a clause mentions an aspect."""
    tokenizer, found = Tokenizer.from_words([]), np.zeros((len(texts), len(aspects)), bool)
    for k, text in enumerate(texts):
        places = [(start, end) for start, end in tokenizer.locate(text)[1].tolist()]
        for clause in clauses_of(aspects, text, places):
            found[k, list(clause.aspects)] = True
    return found


def to_means(embed: Embed, groups: list[list[str]], vectors: np.ndarray) -> np.ndarray:
    """(texts, groups): the cosine of each vector with the mean of the words of a group."""
    means = np.stack([embed(group).mean(axis=0) for group in groups])
    return np.asarray(_unit(vectors) @ _unit(means).T)


def supervised(X: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """(texts, labels): probabilities from models that have not seen the text; folds are runs of texts."""
    fold, found = np.arange(len(X)) * FOLDS // len(X), np.zeros(truth.shape)
    for k in range(FOLDS):
        held_out = fold == k
        for column in range(truth.shape[1]):
            labels = truth[~held_out, column]
            if labels.any() and not labels.all():
                model = LogisticRegression(C=10, max_iter=1000).fit(X[~held_out], labels)
                found[held_out, column] = model.predict_proba(X[held_out])[:, 1]
    return found


def _unit(X: np.ndarray) -> np.ndarray:
    return np.asarray(X / np.linalg.norm(X, axis=1, keepdims=True))


def by_method(aspects: Aspects, texts: list[str], truth: np.ndarray, embed: Embed | None) -> dict[str, Any]:
    """For each method which aspects each text is about, and a score for the best one."""
    first, groups = first_half(len(texts)), [list(each.seeds) for each in aspects]
    plain, seeds = match_plain(aspects, texts), match(aspects, texts)
    reader = limelight.load("reader").encode
    likely = to_means(reader, groups, reader(texts)) / 2  # less than what a seed says
    found = {"plain seeds": (plain, plain), "ours": (seeds, seeds + likely)}
    if embed is not None:
        vectors = embed(texts)
        near = to_means(embed, groups, vectors)
        learnt = supervised(vectors, truth)
        found["MiniLM"] = above_best(near, truth, first), near
        found["supervised"] = above_best(learnt, truth, first), learnt
    return found


# ---------------------------------------------------------------- SemEval 2014


def restaurant_aspects() -> Aspects:
    """The list that comes along, with its eight aspects as four categories."""
    given = Aspects.of("restaurants").to_dict()
    given["food"] += given["drinks"]
    given["service"] += given["speed"]
    return Aspects.of({name: given[name] for name in CATEGORIES})


def semeval(rows: list[dict[str, Any]], model: limelight.Model | None, embed: Embed | None) -> None:
    """Print both tables."""
    texts, first = [row["text"] for row in rows], first_half(len(rows))
    truth = np.array([[name in row["categories"] for name in CATEGORIES] for row in rows])
    other = np.array([OTHER in row["categories"] for row in rows])
    aspects = restaurant_aspects()
    print(
        f"{len(rows):,} sentences; micro F1 of the four categories, and of all with the fifth, none of them\n"
    )
    print("| categories | first half | second half | all | with the fifth | " + " | ".join(CATEGORIES) + " |")
    print("|---" * (5 + len(CATEGORIES)) + "|")
    for name, (found, _) in by_method(aspects, texts, truth, embed).items():
        five = f1(np.c_[found, ~found.any(axis=1)], np.c_[truth, other])
        figures = [f1(found[first], truth[first]), f1(found[~first], truth[~first]), f1(found, truth), five]
        figures += [f1(found[:, k], truth[:, k]) for k in range(len(CATEGORIES))]
        _print_row(name, figures)
    if model is not None:
        print()
        polarity(rows, model.with_aspects(aspects), embed)


def polarity(rows: list[dict[str, Any]], model: limelight.Model, embed: Embed | None) -> None:
    """Print how well each method tells the polarity of a given category."""
    judged = [
        (k, CATEGORIES.index(name), said == "positive")
        for k, row in enumerate(rows)
        for name, said in zip(row["categories"], row["polarities"], strict=True)
        if name in CATEGORIES and said in ("positive", "negative")
    ]
    row, column, truth = map(np.array, zip(*judged, strict=True))
    first, texts = first_half(len(rows))[row], [each["text"] for each in rows]
    both = {k for k, _, said in judged if (k, not said) in {(k, said) for k, _, said in judged}}
    mixed = np.isin(row, list(both))
    scores = stars_of(model, texts)
    found = {
        "stars of the sentence": scores["answer"][row], "ours: stars of the category": scores["stars"][row, column],
        "ours, its effect alone": scores["effect"][row, column],
    }  # fmt: skip
    if embed is not None:
        vectors = embed(texts)
        good, bad = to_means(embed, [list(GOOD), list(BAD)], vectors)[row].T
        found["MiniLM to good minus bad"] = good - bad
        X = np.hstack([vectors[row], np.eye(len(CATEGORIES))[column]])
        found["supervised"] = supervised(X, truth[:, None])[:, 0]
    share = f"{truth.mean():.1%} of them positive, {mixed.sum()} in sentences with both"
    print(f"polarity of {len(truth):,} categories, {share}\n")
    print("| polarity | accuracy | macro F1, first half | second half | accuracy where a sentence has both |")
    print("|---|---|---|---|---|")
    for name, score in found.items():
        said = above_best(score, truth, first, macro_f1)
        halves = [macro_f1(said[part], truth[part]) for part in (first, ~first)]
        _print_row(name, [np.mean(said == truth), *halves, np.mean((said == truth)[mixed])])


def stars_of(model: limelight.Model, texts: list[str]) -> dict[str, np.ndarray]:
    """The stars of each text, and for each aspect its estimated stars and effect; the text's if not mentioned."""
    sums = [reading.aspect_sum for reading in model.read_stream(texts)]
    return {
        "answer": np.array([each.answer for each in sums]),
        "stars": np.array([_stars(each) for each in sums]),
        "effect": np.array([_effects(each) for each in sums]),
    }


def _stars(found: AspectSum) -> list[float]:
    return [found.answer if each.estimated is None else each.estimated for each in found.aspects]


def _effects(found: AspectSum) -> list[float]:
    whole = found.answer - found.bias
    return [each.effect if each.mentioned else whole for each in found.aspects]


# ---------------------------------------------------------------- OPOSUM


def oposum(rows: list[dict[str, Any]], seeds: dict[str, Any], embed: Embed | None) -> None:
    """Print micro F1 by product, and how often the best aspect is one of the clause's, where it has any."""
    table: dict[str, list[list[float]]] = {}
    for product, own in seeds.items():
        clauses = [row for row in rows if row["product"] == product]
        texts, aspects = [row["text"] for row in clauses], Aspects.of(own)
        truth = np.array([[name in row["aspects"] for name in own] for row in clauses])
        first = first_half(len(texts))
        for name, (found, scores) in by_method(aspects, texts, truth, embed).items():
            halves = [f1(found[part], truth[part]) for part in (first, ~first)]
            table.setdefault(name, []).append([f1(found, truth), *halves, best_is_right(scores, truth)])
    print(
        f"{len(rows):,} clauses; micro F1 of eight aspects, each a mean over products but for the columns of one\n"
    )
    print("| aspects | first half | second half | all | best aspect | " + " | ".join(seeds) + " |")
    print("|---" * (5 + len(seeds)) + "|")
    for name, figures in table.items():
        whole, first_part, second, best = np.mean(figures, axis=0)
        _print_row(name, [first_part, second, whole, best, *(each[0] for each in figures)])


def best_is_right(scores: np.ndarray, truth: np.ndarray) -> float:
    """Of the texts that have an aspect, the share whose highest score is one of theirs; all zeros is wrong."""
    has = truth.any(axis=1)
    best = scores[has].argmax(axis=1)
    right = truth[has][np.arange(len(best)), best] & (scores[has].max(axis=1) > 0)
    return float(right.mean())


def _print_row(name: str, figures: list[Any]) -> None:
    print(f"| {name} | " + " | ".join(f"{each:.3f}" for each in figures) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("task", choices=("semeval", "oposum"))
    parser.add_argument("data", type=Path)
    parser.add_argument("--model", help="a model of restaurant stars, for the polarity")
    args = parser.parse_args()
    rows = pyarrow.parquet.read_table(args.data).to_pylist()
    folder = weights_folder()
    embed = cache_embed(MiniLM(folder, int8=False, threads=1)) if folder else None
    if args.task == "semeval":
        semeval(rows, limelight.load(args.model) if args.model else None, embed)
    else:
        oposum(rows, json.loads(Path(__file__).with_name("oposum_seeds.json").read_text()), embed)


def cache_embed(model: MiniLM) -> Embed:
    """The same texts are embedded once."""
    embed = cache(lambda texts: model.embed(list(texts)))
    return lambda texts: embed(tuple(texts))


if __name__ == "__main__":
    main()
