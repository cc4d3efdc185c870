r"""Several readers from one encoded corpus, measured side by side: what docs/log reports.

    python experiments/reader/experiments.py prepare WORK --corpus CORPUS --vectors WORK/*.npy ...
    python experiments/reader/experiments.py run WORK OUT rows-0 max-0 static-0

`limelight pretrain` makes one reader from the same texts. This script encodes them once, on all cores, for
many runs, and has variants that the library does not offer: static words, two layers, no teacher.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch
from evaluate import sts, swap_letters
from torch import Tensor, nn
from torch.nn import functional as F

from limelight.config.pretrain_recipe import ReaderRecipe
from limelight.network.torch.attention import penalty
from limelight.network.torch.dropout import Dropout
from limelight.network.torch.network import Network, Output
from limelight.runtime.reader import Reader
from limelight.tables.table import read_values
from limelight.text.batches import truncate
from limelight.text.dataset import Dataset, Split
from limelight.text.tokenizer import SPECIAL, Tokenizer
from limelight.text.vectors import read_vectors
from limelight.training.context import choose_device, run_context
from limelight.training.run import TrainingRun
from limelight.training.spelled_words import SpelledWords
from limelight.training.starting_words import fit_words, reduce_vectors
from limelight.training.teacher import Vectors
from limelight.training.vector_objective import PretrainData, VectorObjective, describe_rows, encode

TIMES = {"captions": 2, "questions": 3}  # how often a kind is named among the texts
LONGEST = 64
TEACHER = "all-MiniLM-L6-v2"

RUNS: dict[str, dict[str, Any]] = {
    "rows": {}, "long": {"epochs": 10}, "max": {"embedding": "max"}, "exact": {"typos": 0.0},
    "ridge": {}, "float32": {"precision": "float32"}, "layers": {"hidden": 200},
    "static": {"precision": "float32", "embedding": "max"}, "twins": {},
    "typos3": {"typos": 0.03}, "typos10": {"typos": 0.1},
}  # fmt: skip


# ---------------------------------------------------------------- data


def read_texts(path: Path) -> list[str]:
    return [text for (text,) in read_values(path, ("text",))]  # type: ignore[misc]


def encode_file(job: tuple[Path, Path]) -> tuple[np.ndarray, np.ndarray]:
    tokenizer = Tokenizer.load(job[0])
    return truncate(*tokenizer.encode(read_texts(job[1])), LONGEST)


def prepare(arguments: argparse.Namespace) -> None:
    """Encode the texts in the order of --files, which is also that of the rows of --vectors."""
    work, corpus = arguments.work, arguments.corpus
    with get_context("spawn").Pool(min(16, os.cpu_count() or 1)) as pool:
        parts = pool.map(encode_file, [(corpus / "tokenizer.json", path) for path in arguments.files], 1)
    rows, start, chosen = [], 0, []
    for path, part in zip(arguments.files, parts, strict=True):
        times = TIMES.get(path.name.split("-")[1], 1)
        rows += [np.arange(start, start + len(part[1]))] * times
        chosen += [part] * times
        start += len(part[1])
    np.save(work / "rows.npy", np.concatenate(rows))
    ids, lengths = (np.concatenate([part[k] for part in chosen]) for k in (0, 1))
    tokenizer = Tokenizer.load(corpus / "tokenizer.json")
    meta = json.loads((corpus / "texts.json").read_text())
    held = [i for name, span in meta["spans"].items() if name.startswith("held-") for i in range(*span)]
    dev = truncate(*tokenizer.encode([meta["texts"][i] for i in held]), LONGEST)
    np.save(work / "held.npy", np.array(held))
    splits = {"train": Split(ids, lengths), "dev": Split(*dev)}
    Dataset(tokenizer, (), splits, None, {}).save(work / "data", overwrite=True)


def load_data(work: Path, vectors: list[Path], texts: Path, words: Path) -> PretrainData:
    dataset = Dataset.open(work / "data")
    train = Vectors([np.load(path, mmap_mode="r") for path in vectors], np.load(work / "rows.npy"))
    dev = Vectors([np.load(texts)], np.load(work / "held.npy"))
    recipe = ReaderRecipe()
    known = dataset.tokenizer.vocabulary[: recipe.words + len(SPECIAL)]
    found = read_vectors([str(words)], known, seed=0)
    start = reduce_vectors((found.matrix * found.found[:, None])[len(SPECIAL) :], recipe.word_size, 0)
    return PretrainData(dataset, train, dev, start, TEACHER)


# ---------------------------------------------------------------- variants


class Layers(VectorObjective):
    def new_network(self, rank: int, vector: int) -> Network:
        self.recipe = self.recipe.override(layers=2)
        return super().new_network(rank, vector)


class StaticNetwork(Network):
    """A weighted mean of words, then a linear map: what model2vec does, taught by the same teacher."""

    def __init__(self, recipe: Any, vocabulary: int, vector: int) -> None:
        super().__init__(recipe, vocabulary)
        del self.encoder, self.pooling, self.vector
        self.weight = nn.Parameter(torch.zeros(vocabulary, 1))
        self.vector = nn.Module()
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


class Twins(VectorObjective):
    """No teacher: a sentence read twice with other dropout must find itself among the others (SimCSE)."""

    drop = Dropout(0.1)

    def _read(self, network: Any, ids: Tensor, lengths: Tensor, *spelled: Any) -> Tensor:
        H = self.drop(network.encoder(self.drop(network.vectors(ids, spelled[-1])), lengths))
        M, self.A = network.pooling(H, lengths)
        return F.normalize(network.vector(M).float(), dim=1)

    def backward(self, stepper: Any, batch: Any, share: float) -> None:
        read = self.spelled.read(batch.ids, batch.lengths)
        v, twin = (self._read(stepper.compute_copy, *read) for _ in range(2))
        rows = torch.arange(len(v), device=v.device)
        loss = F.cross_entropy(v @ twin.T / self.reader_recipe.temperature, rows)
        P = penalty(self.A)
        (loss + self.reader_recipe.penalty * P).backward()
        cosine = (v * twin).sum(1).mean()
        stepper.count(len(v), loss.detach() * len(v), P.detach() * len(v), cosine.detach() * len(v))


KINDS = {"layers": Layers, "static": Static, "twins": Twins}


# ---------------------------------------------------------------- runs


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
        self.spelled = SpelledWords(self.tokenizer.vocabulary, len(words), recipe.buckets, 0.0, 0, device)

    def measure(self, network: Network, vectors: np.ndarray) -> dict[str, Any]:
        found = encode(network, self.split, self.spelled)
        spans, meta = self.meta["spans"], self.meta
        first, second = (found[slice(*spans[name])].cpu().numpy() for name in ("first", "second"))
        wrong = found[len(meta["texts"]) :].cpu().numpy()
        result: dict[str, Any] = {"sts": sts(first, second, meta), "sts_typos": sts(wrong, second, meta)}
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
    work, out = arguments.work, arguments.out
    data = load_data(work, arguments.vectors, arguments.texts, arguments.words)
    meta = json.loads((arguments.corpus / "texts.json").read_text())
    device, teacher = choose_device("auto"), np.load(arguments.texts)
    for name in arguments.runs:
        kind, seed = name.rsplit("-", 1)
        options = {"epochs": arguments.epochs, **RUNS[kind], "seed": int(seed)}
        recipe = ReaderRecipe().override(**options).for_rows(len(data.train))
        this = data._replace(start=_start(kind, data, recipe, device))
        begun = time.monotonic()
        with run_context(device, None, True, 1e9) as context:
            objective = KINDS.get(kind, VectorObjective)(this, recipe, device)
            fitted = TrainingRun(objective, None, context, ()).fit(resume=False)
            network = fitted.network
        seconds = time.monotonic() - begun
        words = data.dataset.tokenizer.vocabulary[: objective.known]
        texts = Texts(meta, words, recipe, device)
        figures = texts.measure(network, teacher)
        figures |= {"steps": fitted.state.number, "seconds": round(seconds)}
        if kind not in KINDS:
            weights = {k: x.detach().float().cpu().numpy() for k, x in network.state_dict().items()}
            facts = {"teacher": TEACHER, **objective.measure_stored(network, weights)}
            facts["texts"] = {"files": arguments.about, "rows": len(data.train)}
            figures["sts_stored"] = texts.measure(network, teacher)["sts"]
            facts["seconds"] = round(seconds)
            facts["pretraining"] = recipe.to_dict()
            reader = Reader.from_parts(words=words[len(SPECIAL) :], weights=weights, facts=facts)
            reader.save(out / name, overwrite=True)
        print(json.dumps({"name": name, **figures}), flush=True)
        (out / f"{name}.json").write_text(json.dumps({"name": name, **figures}))


def _start(kind: str, data: PretrainData, recipe: ReaderRecipe, device: Any) -> np.ndarray:
    known = len(data.start) + len(SPECIAL)
    if kind == "ridge":
        fitted = fit_words(data.dataset.splits["train"], data.train, known, device, recipe.seed)
        return reduce_vectors(fitted[len(SPECIAL) :], recipe.word_size, recipe.seed)
    if kind == "twins":  # without a teacher: GloVe
        found = read_vectors("default", data.dataset.tokenizer.vocabulary[:known], seed=0)
        vectors = (found.matrix * found.found[:, None])[len(SPECIAL) :]
        return reduce_vectors(vectors, recipe.word_size, recipe.seed)
    return data.start


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("what", choices=("prepare", "run"))
    parser.add_argument("work", type=Path)
    parser.add_argument("--corpus", type=Path, required=True, help="tokenizer.json and texts.json")
    parser.add_argument("--files", type=Path, nargs="*", default=[])
    parser.add_argument("--vectors", type=Path, nargs="*", default=[], help="of the files, in their order")
    parser.add_argument("--texts", type=Path, help="the teacher's vectors of texts.json")
    parser.add_argument("--words", type=Path, help="the teacher's vectors of the words, word2vec's format")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--about", nargs="*", default=["the corpus of experiments/reader"])
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--runs", nargs="*", default=[])
    arguments = parser.parse_args()
    (prepare if arguments.what == "prepare" else run)(arguments)


if __name__ == "__main__":
    main()
