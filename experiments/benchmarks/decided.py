"""What "what decided" should mean: several definitions beside leave one out, by predicted class.

    limelight demo --out demo && python experiments/benchmarks/decided.py demo/model
    python experiments/benchmarks/decided.py sst5 --data DATA/sst5/dev.parquet --text text --texts 400

Texts are drawn so that every predicted class has as many. For each definition: comprehensiveness, its ratio to
that of leave one out, over all texts and of the class where it is least; the median share of words, the most
weighted first, to remove until the answer changes; and of the texts whose answer a single word can change, in
how many one of the three most weighted words does, over all and in the worst class. Models of single texts.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np

from limelight.bundled import sentences
from limelight.explain.attribution import ReadTexts
from limelight.explain.trust import measure_faithfulness
from limelight.network.parts import linear_part, rows_of
from limelight.runtime.decided import word_weights
from limelight.runtime.model import Model
from limelight.runtime.word_parts import matrix_without
from limelight.tables.columns import Columns
from limelight.tables.rows import TableRows
from limelight.text.questions import Probability

TOP = 3  # words
Weights = list[np.ndarray]  # (n,) for each text


def balanced(model: Model, texts: Sequence[str], count: int, longest: int) -> list[str]:
    """Texts of which every predicted class has as many, if there are."""
    short = [text for text in texts if len(text.split()) <= longest][:4000]
    predicted = model.predict_proba(short).argmax(axis=1)
    each = max(count // len(model.labels), 3)
    return [short[k] for label in range(len(model.labels)) for k in np.flatnonzero(predicted == label)[:each]]


def definitions(model: Model, read: ReadTexts) -> dict[str, Weights]:
    """What each definition gives for every text."""
    texts = model._runner.encode_texts([each.text for each in read.readings])
    M, classes = np.stack([text.M for text in texts]), len(model.labels)
    Z = model._runner.logits(M).astype(float)
    head, one, max_rows = (
        linear_part(model.weights, model.recipe.model, M),
        np.eye(classes),
        rows_of(model.recipe.model).maxima,
    )
    found: dict[str, Weights] = {}
    for k, (text, reading) in enumerate(zip(texts, read.readings, strict=True)):
        target, p, z_0 = reading.target, reading.probabilities.astype(float), head.biases[k].astype(float)
        other = np.argsort(-p)[1] if p.argmax() == target else int(p.argmax())
        directions = {
            "score of the class": one[target],
            "score against the runner-up": one[target] - one[other],
            "score against the expected one": one[target] - p,
            "share in the probability": Probability(target).direction(z_0, Z[k]),
        }
        for name, direction in directions.items():
            W = head.toward(direction[None].astype(np.float32), np.array([k]))[0]
            found.setdefault(name, []).append(word_weights(text.A, text.H, W, max_rows))
        without = model.classify(matrix_without(text.H, text.A, max_rows))
        found.setdefault("left out of attention", []).append(p[target] - without[:, target])
    alone = [~np.eye(len(ids), dtype=bool) for ids in read.ids]
    rng = np.random.default_rng(0)
    return found | {
        "leave one out": read.drops(alone, ""),
        "random": [rng.random(len(ids)) for ids in read.ids],
    }


def top_changes(read: ReadTexts, found: dict[str, Weights]) -> dict[str, np.ndarray]:
    """(texts,): whether one of the most weighted words changes the answer; NaN where no single word does."""
    alone = read.predict([~np.eye(len(ids), dtype=bool) for ids in read.ids], "")
    changes = [P.argmax(axis=1) != each.target for P, each in zip(alone, read.readings, strict=True)]
    return {
        name: np.array(
            [
                changed[np.argsort(-w, kind="stable")[:TOP]].any() if changed.any() else np.nan
                for changed, w in zip(changes, weights, strict=True)
            ]
        )
        for name, weights in found.items()
    }


def words_until_change(read: ReadTexts, weights: Sequence[np.ndarray]) -> np.ndarray:
    """(texts,): the share of words to remove, the most weighted first, until the prediction changes.

    1 if it never changes.
    """
    ranks = [np.argsort(np.argsort(-each, kind="stable")) for each in weights]
    masks = (rank >= np.arange(1, len(rank) + 1)[:, None] for rank in ranks)
    decide, shares = read.model.decide, []
    for reading, P in zip(read.readings, read.predict(masks, "Words until it changes"), strict=True):
        changed = (decide(P) != decide(reading.probabilities[None])).reshape(len(P), -1).any(axis=1)
        shares.append((changed.argmax() + 1) / len(P) if changed.any() else 1.0)
    return np.array(shares)


def worst(values: np.ndarray, targets: np.ndarray) -> float:
    """The least mean of a class that has at least five texts."""
    found = [values[(targets == k) & np.isfinite(values)] for k in np.unique(targets)]
    return min((float(each.mean()) for each in found if len(each) >= 5), default=float("nan"))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", help="folder of a model of single texts")
    parser.add_argument("--data", help="table of texts; without it, the bundled development sentences")
    parser.add_argument("--text", default="text")
    parser.add_argument("--texts", type=int, default=300)
    parser.add_argument("--longest", type=int, default=100, help="words of a text")
    args = parser.parse_args()
    model = Model.load(args.model)
    rows = (
        [row.text for row in TableRows(args.data, Columns(args.text))]
        if args.data
        else list(sentences("dev")[0])
    )
    np.random.default_rng(1).shuffle(rows)
    read = ReadTexts(model, [*model.read_many(balanced(model, rows, args.texts, args.longest))])
    found = definitions(model, read)
    targets = np.array([each.target for each in read.readings])
    faithful = {each.name: each.drop_without.mean(axis=1) for each in measure_faithfulness(read, found)}
    best, tops = faithful["leave one out"], top_changes(read, found)
    print(f"{len(targets)} texts of {len(np.unique(targets))} predicted classes")
    print(
        "| definition | comprehensiveness | beside leave one out | worst class | until it changes | top 3 | worst |"
    )
    print("|---|---|---|---|---|---|---|")
    for name, drops in faithful.items():
        by_class = [drops[targets == k].mean() / best[targets == k].mean() for k in np.unique(targets)]
        until = float(np.median(words_until_change(read, found[name])))
        print(
            f"| {name} | {drops.mean():.3f} | {drops.mean() / best.mean():.3f} | {min(by_class):.2f} | "
            f"{until:.3f} | {np.nanmean(tops[name]):.2f} | {worst(tops[name], targets):.2f} |"
        )


if __name__ == "__main__":
    main()
