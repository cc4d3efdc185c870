r"""Several readers from one encoded corpus, measured side by side: what docs/log reports.

    python experiments/reader/experiments.py prepare WORK --corpus CORPUS --files CORPUS/*.txt.xz --reviews ...
    python experiments/reader/experiments.py prepare WORK --corpus CORPUS --files ... --pairs pairs.tsv.xz
    python experiments/reader/experiments.py run WORK --vectors WORK/*.npy --out OUT --runs rows-0 max-0 quick-0
    python experiments/reader/experiments.py run ... --start READER --learning-rate 1e-3 --runs rows-0

`limelight pretrain` makes one reader from the same texts. This script encodes them once, on all cores, for
many runs, and has variants that the library does not offer: static words, words shared with another reader.
Rows of --vectors are those of --files, then the English sides of --pairs, which `prepare` writes into
WORK/english.txt. A tokenizer.json that is in WORK already is used as it is.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import re
import threading
import time
from collections import Counter
from functools import partial
from itertools import groupby
from multiprocessing import get_context
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import torch
from corpus import kind_and_number
from evaluate import ndcg, sts, swap_letters
from torch import Tensor, nn
from torch.nn import functional as F
from translations import plain

from limelight.config.pretrain_recipe import ReaderRecipe
from limelight.network.torch.network import Network, Output
from limelight.runtime.reader import Reader
from limelight.tables.table import open_table
from limelight.text.batches import truncate
from limelight.text.dataset import Dataset, Split
from limelight.text.tokenizer import SPECIAL, Tokenizer
from limelight.text.vectors import read_vectors
from limelight.training.context import choose_device, run_context
from limelight.training.run import TrainingRun
from limelight.training.spelled_words import SpelledWords
from limelight.training.teacher import Vectors
from limelight.training.vector_objective import (
    PretrainData,
    VectorObjective,
    _ridge,
    _shares,
    describe_rows,
    encode,
    fit_words,
    reduce_vectors,
)

TIMES = {"captions": 2, "questions": 3}  # how often a kind is named among the texts
LONGEST = 192  # words
CHUNK = 20_000  # texts that a process splits at a time
RAREST, MOST_WORDS = 3, 600_000  # words of the texts that can be told apart
RAREST_OTHER, OTHER_WEIGHT = 2, 4  # of another language than English, which has fewer texts
TAUGHT = 150_000  # words whose vectors the teacher is asked for
REVIEWS = 60_000  # of a table whose words are counted
COMMON = 10_000  # words of this rank and above are known only if they are not made of known words
TWIN_RIDGE = 0.1  # a word of a text of ten words has 0.01 of it
MARKS = re.compile(r"[\W_]+")
SHARED_WITH = Path("rows-0")  # whose words `shared` reads; under --out

BROAD = {"words": 40_700}  # 10 MB
SEVERAL = {"words": 130_000, "buckets": 24_000}  # of several languages: 27 MB

RUNS: dict[str, dict[str, Any]] = {
    "rows": BROAD, "max": BROAD | {"pooling": "max"},
    "plain": BROAD | {"kl_weight": 0.0},
    "shared": BROAD | {"encoder": "words", "rows": 32, "rank": 160},
    "quick": BROAD | {"encoder": "words", "rows": 16, "rank": 96},
    "static": BROAD | {"precision": "float32", "pooling": "max"}, "multi": SEVERAL,
    "multifast": SEVERAL | {"encoder": "words"},
}  # fmt: skip


# ---------------------------------------------------------------- data


def read_texts(path: Path) -> list[str]:
    return [text for (text,) in open_table(path).rows(("text",))]  # type: ignore[misc]


def read_pairs(path: Path) -> tuple[list[str], list[tuple[str, str, str]]]:
    """The different English texts, and all pairs: language, English, other."""
    with lzma.open(path, "rt", encoding="utf-8") as file:
        pairs = [tuple(line.rstrip("\n").split("\t")) for line in file]
    pairs.sort(key=lambda pair: pair[0])
    return list(dict.fromkeys(pair[1] for pair in pairs)), pairs  # type: ignore[return-value]


def count_words(kind: str, texts: list[str]) -> tuple[str, Counter[str]]:
    split, counts = Tokenizer.from_words([]).words, Counter[str]()
    for text in texts:
        counts.update(split(text))
    return kind, counts


def choose_vocabulary(counted: list[tuple[str, Counter[str]]]) -> list[str]:
    """All words, those to be known first: by their counts, where a kind of text ten times as large counts
    three times as much, so that the words of small kinds are not drowned. Languages are kinds of two letters.
    """
    sizes, kinds, rarest = Counter[str](), dict[str, Counter[str]](), dict[str, int]()
    for kind, counts in counted:
        kinds.setdefault(kind, Counter()).update(counts)
        sizes[kind] += counts.total()
    score, total = Counter[str](), Counter[str]()
    for kind, counts in kinds.items():
        total.update(counts)
        weight = (OTHER_WEIGHT if len(kind) == 2 else 1) / sizes[kind] ** 0.5
        for word, number in counts.items():
            score[word] += number * weight
            if len(kind) == 2:
                rarest[word] = RAREST_OTHER
    frequent = (word for word, n in total.items() if n >= rarest.get(word, RAREST))
    words = sorted(frequent, key=lambda w: (-score[w], w))[:MOST_WORDS]
    common = set(words[:COMMON])
    later = {word for word in words[COMMON:] if _is_made_of(word, common)}
    return sorted(words, key=later.__contains__)


def _is_made_of(word: str, known: set[str]) -> bool:
    """A number, or known words between marks: their pieces say enough."""
    parts = [part for part in MARKS.split(word) if part]
    made = len(parts) > 1 and all(part in known or part.isdigit() for part in parts)
    return made or sum(map(str.isdigit, word)) > 2


def choose_texts(
    parts: list[tuple[Path, list[str]]], most: dict[str, int], unseen: set[str]
) -> tuple[list[tuple[str, list[str]]], list[np.ndarray]]:
    """The texts of each file with their kind, and which of all texts they are: the first of each kind that `most`
    names (talk, passages-law), without those that no reader may see.
    """
    kinds, places, start, left = [], [], 0, Counter(most)
    for path, texts in parts:
        name = path.name.removeprefix("sentences-").rsplit("-", 1)[0]
        end = min(len(texts), left[name]) if name in most else len(texts)
        left[name] -= end
        kept = [k for k, text in enumerate(texts[:end]) if not unseen or plain(text) not in unseen]
        kinds.append((path.name.split("-")[1], [texts[k] for k in kept]))
        places.append(start + np.array(kept, int))
        start += len(texts)
    return kinds, places


def encode_texts(tokenizer: Path, texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
    return truncate(*Tokenizer.load(tokenizer).encode(texts), LONGEST)


def prepare(arguments: argparse.Namespace) -> None:
    """Choose the words, and encode the texts in the order of --files, then the pairs."""
    work, words = arguments.work, arguments.work / "tokenizer.json"
    work.mkdir(parents=True, exist_ok=True)
    english, pairs, unseen = [], [], set[str]()
    if arguments.pairs:
        english, pairs = read_pairs(arguments.pairs)
        (work / "english.txt").write_text("\n".join(english) + "\n")  # the teacher reads these
        held_out = read_pairs(arguments.pairs.with_name("held-out.tsv.xz"))[0]
        unseen = {plain(text) for text in held_out}
    with get_context("spawn").Pool(min(16, os.cpu_count() or 1)) as pool:
        parts = list(zip(arguments.files, pool.map(read_texts, arguments.files, 1), strict=True))
        kinds, places = choose_texts(parts, dict(arguments.most), unseen)
        kinds.append(("english", english))
        kinds += [(language, [pair[2] for pair in some]) for language, some in groupby(pairs, itemgetter(0))]
        chunks = [(kind, texts[k : k + CHUNK]) for kind, texts in kinds for k in range(0, len(texts), CHUNK)]
        if not words.exists():
            counted = pool.starmap(count_words, chunks, 1)
            counted += [count_words("reviews", read_texts(path)[:REVIEWS]) for path in arguments.reviews]
            Tokenizer.from_words(choose_vocabulary(counted)).save(words)
        encoded = pool.map(partial(encode_texts, words), [texts for _, texts in chunks], 1)
    start, number = sum(len(texts) for _, texts in parts), {text: k for k, text in enumerate(english)}
    places.append(start + np.arange(len(english)))
    # the other side has the vector of the English one
    places += [
        start + np.array([number[pair[1]] for pair in some]) for _, some in groupby(pairs, itemgetter(0))
    ]
    rows, chosen, at = [], [], 0
    for (kind, texts), place in zip(kinds, places, strict=True):
        count, times = -(-len(texts) // CHUNK), TIMES.get(kind, 1)
        rows += [place] * times
        chosen += encoded[at : at + count] * times
        at += count
    numbers = np.concatenate(rows)
    np.save(work / "rows.npy", numbers)
    (work / "pairs.json").write_text(json.dumps({"english": len(english), "others": len(pairs)}))
    ids, lengths = (np.concatenate([part[k] for part in chosen]) for k in (0, 1))
    tokenizer = Tokenizer.load(words)
    meta = json.loads((arguments.corpus / "texts.json").read_text())
    held = [i for name, span in meta["spans"].items() if name.startswith("held-") for i in range(*span)]
    dev = truncate(*tokenizer.encode([meta["texts"][i] for i in held]), LONGEST)
    np.save(work / "held.npy", np.array(held))
    splits = {"train": Split(ids, lengths), "dev": Split(*dev)}
    Dataset(tokenizer, (), splits, None, {}).save(work / "data", overwrite=True)
    # the teacher reads these too
    (work / "words.txt").write_text("\n".join(tokenizer.vocabulary[len(SPECIAL) :][:TAUGHT]) + "\n")
    print(f"{len(lengths):,} texts, {len(ids):,} words, {len(tokenizer):,} different", flush=True)


def load_data(arguments: argparse.Namespace, recipe: ReaderRecipe) -> PretrainData:
    """Words start from the teacher's vectors of them, those of other languages from their English twins'
    words; without --words, from the teacher's vectors of their sentences."""
    dataset = Dataset.open(arguments.work / "data")
    parts = [np.load(path, mmap_mode="r") for path in arguments.vectors]
    numbers = np.load(arguments.work / "rows.npy")
    train = Vectors(parts, numbers)
    dev = Vectors([np.load(arguments.texts)], np.load(arguments.work / "held.npy"))
    known = dataset.tokenizer.vocabulary[: recipe.words + len(SPECIAL)]
    if arguments.words:
        found = read_vectors([str(arguments.words)], known, seed=0)
        vectors = found.matrix * found.found[:, None]
        count = json.loads((arguments.work / "pairs.json").read_text())
        if count["others"]:
            vectors = translate_words(dataset.splits["train"], numbers, vectors, **count)
    else:
        vectors = fit_words(dataset.splits["train"], train, len(known), choose_device("auto"), recipe.seed)
    start = reduce_vectors(vectors[len(SPECIAL) :], recipe.word_size, 0)
    return PretrainData(dataset, train, dev, start, arguments.teacher)


@torch.no_grad()
def translate_words(
    split: Split, numbers: np.ndarray, vectors: np.ndarray, english: int, others: int
) -> np.ndarray:
    """Words that the teacher's language has keep their vectors (known, 384). The others get those whose mean
    over a text is nearest to the mean of the words of its English twin, and length 1.

    `numbers` says which vector each row of `split` has; its last rows are `english` texts, then the `others`.
    """
    first, known = len(split) - others - english, len(vectors)
    theirs = np.arange(len(split) - others, len(split))
    twins = first + numbers[theirs] - numbers[first]
    device = choose_device("auto")
    X, twin_X = (_shares(split, rows, known).to(device).coalesce() for rows in (theirs, twins))
    own = F.normalize(torch.from_numpy(vectors).to(device).float(), dim=1)
    centre = own.mean(0)
    found = _ridge(X, twin_X @ (own - centre), TWIN_RIDGE) + centre
    counts, twin_counts = (torch.bincount(x.indices()[1], minlength=known) for x in (X, twin_X))
    foreign = (counts > twin_counts).unsqueeze(1)
    return np.asarray(torch.where(foreign, F.normalize(found, dim=1), own).cpu().numpy())


# ---------------------------------------------------------------- variants


class Shared(VectorObjective):
    """Reads the words of another reader, which stay as they are."""

    def build_network(self) -> Network:
        network = super().build_network()
        weights = Reader.load(SHARED_WITH).weights
        for table in (network.words, network.grams):
            table.weight.requires_grad_(False)
        network.words.weight.copy_(torch.from_numpy(weights["words.weight"]))
        network.grams.weight.copy_(torch.from_numpy(weights["grams.weight"]))
        return network


class Continued(VectorObjective):
    """Goes on from a trained reader of the same words and sizes."""

    start: Path

    def build_network(self) -> Network:
        network, reader = super().build_network(), Reader.load(self.start)
        if reader.tokenizer.vocabulary != self.dataset.tokenizer.vocabulary[: self.known]:
            raise SystemExit(f"{self.start} has other words")
        with torch.no_grad():
            for name, x in network.named_parameters():
                x.copy_(torch.tensor(reader.weights[name]))
        return network


class Plain(VectorObjective):
    """The distance to the teacher's vectors and no more, as LEAF has it: of unit vectors, 2 (1 - cosine)."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.R.zero_()


class StaticNetwork(Network):
    """A weighted mean of words, then a linear map: what model2vec does, taught by the same teacher."""

    def __init__(self, recipe: Any, vocabulary: int, vector: int) -> None:
        super().__init__(recipe, vocabulary)
        del self.encoder, self.pooling, self.vector
        self.weight = nn.Parameter(torch.zeros(vocabulary, 1))
        self.vector = nn.Module()
        self.vector.W_shared = nn.Parameter(torch.zeros(0))  # whose type the words take
        self.vector.W_rows = nn.Parameter(torch.randn(vector, recipe.word_size) * recipe.word_size**-0.5)

    def forward(self, ids: Tensor, lengths: Tensor, *_: Any) -> Output:
        places = torch.arange(ids.shape[1], device=ids.device) < lengths[:, None]
        w = F.softplus(self.weight.index_select(0, ids.flatten()).view(*ids.shape)) * places
        M = (self.vectors(ids, _[-1]) * w.unsqueeze(2)).sum(1)
        A = (w / w.sum(1, keepdim=True)).unsqueeze(1)
        return Output(F.linear(M, self.vector.W_rows), M.unsqueeze(1), A)


class Static(VectorObjective):
    def new_network(self, rank: int, vector: int) -> Network:
        return StaticNetwork(super().new_network(rank, vector).recipe, self.known, vector)


KINDS = {"plain": Plain, "shared": Shared, "quick": Shared, "static": Static}


# ---------------------------------------------------------------- runs


def logistic(x: Tensor, y: Tensor, C: float) -> Tensor:
    """Weights and offsets (classes, size + 1) of scikit-learn's logistic regression, on a GPU."""
    W = torch.zeros(int(y.max()) + 1, x.shape[1] + 1, device=x.device, requires_grad=True)
    optimizer = torch.optim.LBFGS([W], max_iter=200, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = C * F.cross_entropy(x @ W[:, :-1].T + W[:, -1], y, reduction="sum")
        loss = loss + W[:, :-1].square().sum() / 2
        loss.backward()
        return loss

    optimizer.step(closure)
    return W.detach()


def probes(found: Tensor, meta: dict[str, Any]) -> dict[str, float]:
    """As evaluate.py's: accuracy in per cent of a logistic regression on frozen vectors, the mean over splits."""
    result = {}
    for name, task in meta["tasks"].items():
        x, y = found[slice(*task["span"])].float(), torch.tensor(task["labels"], device=found.device)
        for C in (1, 10):
            scores = []
            for learned, judged in task["splits"]:
                W = logistic(x[learned], y[learned], C)
                right = (x[judged] @ W[:, :-1].T + W[:, -1]).argmax(1) == y[judged]
                scores.append(float(right.float().mean()))
            result[f"{name} C={C}"] = round(100 * float(np.mean(scores)), 2)
    return result


class Texts:
    """The texts to measure by, as the first words of the vocabulary and others, which are spelled."""

    def __init__(
        self, meta: dict[str, Any], words: tuple[str, ...], recipe: ReaderRecipe, device: Any
    ) -> None:
        first = meta["texts"][slice(*meta["spans"]["first"])]
        rng = np.random.default_rng(0)
        self.meta, texts = meta, meta["texts"] + [swap_letters(text, rng) for text in first]
        split = Tokenizer.from_words([]).split
        found = {word.lower() for text in texts for word in split(text)}
        others = sorted(found - set(words))
        self.tokenizer = Tokenizer.from_words([*words[len(SPECIAL) :], *others])
        self.split = Split(*truncate(*self.tokenizer.encode(texts), LONGEST))
        self.spelled = SpelledWords(self.tokenizer.vocabulary, len(words), recipe.override(typos=0.0), device)

    def measure(self, network: Network, vectors: np.ndarray) -> dict[str, Any]:
        network.rounding.zero_()
        found = encode(network, self.split, self.spelled)
        spans, meta = self.meta["spans"], self.meta
        first, second = (found[slice(*spans[name])].cpu().numpy() for name in ("first", "second"))
        wrong = found[len(meta["texts"]) :].cpu().numpy()
        result: dict[str, Any] = {"sts": sts(first, second, meta), "sts_typos": sts(wrong, second, meta)}
        for name, scores in meta["pairs"].items():
            a, b = (found[slice(*spans[f"{name}-{side}"])].cpu().numpy() for side in ("first", "second"))
            result[name] = sts(a, b, {"scores": scores})
        for name, relevant in meta["searches"].items():
            asked, texts = (found[slice(*spans[f"{name}-{part}"])] for part in ("queries", "texts"))
            top = torch.topk(asked @ texts.T, 10).indices.tolist()
            each = [ndcg(hits, set(docs)) for hits, docs in zip(top, relevant, strict=True)]
            result[name] = round(100 * float(np.mean(each)), 2)
        result |= probes(found, meta)
        teacher = torch.from_numpy(vectors).to(found.device).float()
        for name, span in spans.items():
            if name.startswith("held-"):
                part = slice(*span)
                result[f"cos {name[5:]}"] = round(float((found[part] * teacher[part]).sum(1).mean()), 4)
        some = Split(*_some(self.split, *spans["first"]))
        rows = describe_rows(network, some, self.spelled, self.tokenizer.vocabulary)
        return {**result, "overlap": round(rows["overlap"], 4)}


def _some(split: Split, low: int, high: int) -> tuple[np.ndarray, np.ndarray]:
    starts = split.starts
    end = starts[high] if high < len(split) else len(split.ids)
    return split.ids[starts[low] : end], split.lengths[low:high]


def run(arguments: argparse.Namespace) -> None:
    global SHARED_WITH
    SHARED_WITH, Continued.start = arguments.out / SHARED_WITH, arguments.start
    out, device, teacher = arguments.out, choose_device("auto"), np.load(arguments.texts)
    meta = json.loads((arguments.corpus / "texts.json").read_text())
    for name in arguments.runs:
        kind, seed = name.rsplit("-", 1)
        options = {"epochs": arguments.epochs, "learning_rate": arguments.learning_rate}
        options |= {"max_length": LONGEST, **RUNS[kind], "seed": int(seed)}
        recipe = ReaderRecipe().override(**options)
        data = load_data(arguments, recipe)
        recipe, begun = recipe.for_rows(len(data.train)), time.monotonic()
        with run_context(device, None, True, 1e9) as context:
            chosen = Continued if arguments.start else KINDS.get(kind, VectorObjective)
            objective = chosen(data, recipe, device)
            training = TrainingRun(objective, None, context, ())
            limit = threading.Timer(arguments.seconds, context.stop.set)
            limit.start()
            fitted = training.fit(resume=False)
            limit.cancel()
            network = fitted.network
        seconds = time.monotonic() - begun
        words = data.dataset.tokenizer.vocabulary[: objective.known]
        texts = Texts(meta, words, recipe, device)
        figures = texts.measure(network, teacher)
        figures |= {"steps": fitted.state.number, "seconds": round(seconds)}
        if kind != "static":
            weights = {k: x.detach().float().cpu().numpy() for k, x in network.state_dict().items()}
            facts = {"teacher": arguments.teacher, **objective.measure_stored(network, weights)}
            facts["texts"] = {"files": arguments.about, "rows": len(data.train)}
            figures["stored"] = texts.measure(network, teacher)
            facts |= {"seconds": round(seconds), "pretraining": recipe.to_dict()}
            model = objective.recipe.model
            reader = Reader.from_parts(words=words[len(SPECIAL) :], weights=weights, model=model, facts=facts)
            reader.save(out / name, overwrite=True)
        print(json.dumps({"name": name, **figures}), flush=True)
        (out / f"{name}.json").write_text(json.dumps({"name": name, **figures}))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("what", choices=("prepare", "run"))
    parser.add_argument("work", type=Path)
    parser.add_argument("--corpus", type=Path, required=True, help="has texts.json")
    parser.add_argument("--pairs", type=Path, help="as translations.py writes them")
    parser.add_argument("--files", type=Path, nargs="*", default=[])
    parser.add_argument(
        "--most", type=kind_and_number, nargs="*", default=[], metavar="KIND=N", help="of its texts"
    )
    parser.add_argument(
        "--reviews", type=Path, nargs="*", default=[], help="whose words are counted, no more"
    )
    parser.add_argument("--vectors", type=Path, nargs="*", default=[], help="of the files, in their order")
    parser.add_argument("--texts", type=Path, help="the teacher's vectors of texts.json")
    parser.add_argument("--words", type=Path, help="the teacher's vectors of the words, word2vec's format")
    parser.add_argument("--teacher", default="all-MiniLM-L6-v2", help="its name, for the reader's card")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--about", nargs="*", default=["the corpus of experiments/reader"])
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--learning-rate", type=float, default=ReaderRecipe().learning_rate)
    parser.add_argument("--start", type=Path, help="a trained reader to go on from")
    parser.add_argument("--seconds", type=float, default=1e6, help="training stops after these")
    parser.add_argument("--runs", nargs="*", default=[])
    arguments = parser.parse_args()
    (prepare if arguments.what == "prepare" else run)(arguments)


if __name__ == "__main__":
    main()
