"""Measure readers, as the library runs them: similarity, search, few-label probes, typing errors, speed.

    python experiments/reader/evaluate.py CORPUS READER... [--teacher FOLDER] [--glove FILE] [--others]
    python experiments/reader/evaluate.py CORPUS READER... --languages train-dev.parquet held-out.tsv.xz

READER is a reader's folder, or a bundled one by its name; CORPUS/texts.json is what texts.py wrote.
--teacher measures all-MiniLM-L6-v2 too (slow without a GPU), --glove the mean of word vectors, --others
WordLlama (the package wordllama) and TF-IDF. Speed is that of STS-B's sentences, in sentences a second, the best
of three rounds. --languages measures other languages than English instead: STS-B's development set in each,
translations found among the pairs that translations.py held out, and a classifier trained on the English texts of
requests.tsv, which are made up, on those in other languages.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Meta = dict[str, Any]  # the content of texts.json
Encode = Callable[[list[str]], np.ndarray]  # texts -> vectors of length 1
TASKS = ("banking5", "sst500", "tweets500")
HELD = "held-"
REQUESTS = Path(__file__).with_name("requests.tsv")


def ranks(values: np.ndarray | list[float]) -> np.ndarray:
    _, inverse, counts = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return ((ends - counts + ends + 1) / 2)[inverse]


def spearman(a: np.ndarray | list[float], b: np.ndarray | list[float]) -> float:
    return float(np.corrcoef(ranks(a), ranks(b))[0, 1])


def sts(first: np.ndarray, second: np.ndarray, meta: Meta) -> float:
    """Spearman's correlation x 100 of cosines and scores."""
    return round(100 * spearman((first * second).sum(1), meta["scores"]), 2)


def probe(vectors: np.ndarray, meta: Meta, C: float) -> dict[str, float]:
    """Accuracy in per cent of a logistic regression on frozen vectors, the mean over each task's splits."""
    from sklearn.linear_model import LogisticRegression

    result = {}
    for name in TASKS:
        task = meta["tasks"][name]
        x, y = vectors[slice(*task["span"])], np.array(task["labels"])
        scores = []
        for learned, judged in task["splits"]:
            model = LogisticRegression(C=C, max_iter=1000).fit(x[learned], y[learned])
            scores.append(model.score(x[judged], y[judged]))
        result[name] = round(100 * float(np.mean(scores)), 2)
    return result


def swap_letters(text: str, rng: np.random.Generator) -> str:
    """Swap two neighbouring letters inside one word of five letters or more."""
    words = text.split()
    long = [i for i, word in enumerate(words) if len(word) > 4 and word.isalpha()]
    if long:
        i = rng.choice(long)
        word = words[i]
        k = rng.integers(1, len(word) - 2)
        words[i] = word[:k] + word[k + 1] + word[k] + word[k + 2 :]
    return " ".join(words)


def measure(encode: Encode, meta: Meta, full: bool) -> dict[str, Any]:
    first, second = (meta["texts"][slice(*meta["spans"][name])] for name in ("first", "second"))
    rng = np.random.default_rng(0)
    other = encode(second)
    result: dict[str, Any] = {"STS-B": sts(encode(first), other, meta)}
    result["two letters swapped"] = sts(encode([swap_letters(text, rng) for text in first]), other, meta)
    result |= {name: similarity(encode, meta, name) for name in meta["pairs"]}
    result |= {name: search(encode, meta, name) for name in meta["searches"]}
    result["sentences a second"] = round(max(len(first) / seconds(encode, first) for _ in range(3)))
    if full:
        vectors = encode(meta["texts"])
        result |= {f"C={C}": probe(vectors, meta, C) for C in (1, 10)}
    return result


def read_languages(stsb: Path, held_out: Path) -> Meta:
    """For each language, STS-B's pairs and scores, pairs of an English text and its translation, and requests."""
    import lzma

    import pyarrow.parquet as pq

    found: Meta = {"stsb": {}, "twins": {}, "requests": {}}
    for row in pq.read_table(stsb).to_pylist():
        if row["split"] == "dev":
            pair = row["first"], row["second"], row["score"]
            found["stsb"].setdefault(row["language"], []).append(pair)
    with lzma.open(held_out, "rt", encoding="utf-8") as file:
        for language, *pair in (line.rstrip("\n").split("\t") for line in file):
            found["twins"].setdefault(language, []).append(pair)
    for line in REQUESTS.read_text(encoding="utf-8").splitlines():
        language, label, text = line.split("\t")
        found["requests"].setdefault(language, []).append((text, label))
    return found


def measure_languages(encode: Encode, meta: Meta) -> dict[str, Any]:
    """Spearman's correlation, and per cent of texts whose translation is the nearest, and of requests."""
    from sklearn.linear_model import LogisticRegression

    result: dict[str, Any] = {}
    for language in ["en", *meta["twins"]]:
        pairs = meta["stsb"].get(language)
        if pairs is None:  # Czech
            continue
        first, second, scores = zip(*pairs, strict=True)
        result[f"STS-B {language}"] = sts(encode([*first]), encode([*second]), {"scores": scores})
    result["mean of de, fr, es, nl"] = round(
        float(np.mean([result[f"STS-B {name}"] for name in ("de", "fr", "es", "nl")])), 2
    )
    for language, pairs in meta["twins"].items():
        english, other = (encode([*texts]) for texts in zip(*pairs, strict=True))
        nearest = (other @ english.T).argmax(1)
        result[f"twins {language}"] = round(100 * float((nearest == np.arange(len(pairs))).mean()), 1)
    texts, labels = zip(*meta["requests"]["en"], strict=True)
    model = LogisticRegression(C=10, max_iter=1000).fit(encode([*texts]), labels)
    for language, rows in meta["requests"].items():
        if language != "en":
            texts, labels = zip(*rows, strict=True)
            result[f"requests en to {language}"] = round(100 * model.score(encode([*texts]), labels), 1)
    return result


def texts_of(meta: Meta, name: str) -> list[str]:
    found: list[str] = meta["texts"][slice(*meta["spans"][name])]
    return found


def similarity(encode: Encode, meta: Meta, name: str) -> float:
    first, second = (encode(texts_of(meta, f"{name}-{side}")) for side in ("first", "second"))
    return sts(first, second, {"scores": meta["pairs"][name]})


def search(encode: Encode, meta: Meta, name: str) -> float:
    """nDCG at 10, x 100."""
    texts, queries = (encode(texts_of(meta, f"{name}-{part}")) for part in ("texts", "queries"))
    hits = np.argsort(-(queries @ texts.T), axis=1)[:, :10]
    each = [ndcg(found.tolist(), set(docs)) for found, docs in zip(hits, meta["searches"][name], strict=True)]
    return round(100 * float(np.mean(each)), 2)


def ndcg(found: list[int], relevant: set[int]) -> float:
    gains = 1 / np.log2(np.arange(2, 12))
    return float(gains[[doc in relevant for doc in found]].sum() / gains[: min(10, len(relevant))].sum())


def seconds(encode: Encode, texts: list[str]) -> float:
    begun = time.perf_counter()
    encode(texts)
    return time.perf_counter() - begun


def word_llama() -> Encode:
    from wordllama import WordLlama

    model = WordLlama.load()
    return lambda texts: np.asarray(model.embed(texts, norm=True), np.float32)


def tf_idf(meta: Meta) -> Encode:
    """Words weighted by how rare they are among all texts that are measured."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(sublinear_tf=True, stop_words="english").fit(meta["texts"])
    return lambda texts: vectorizer.transform(texts).toarray().astype(np.float32)


def mean_vectors(path: Path) -> Encode:
    """The mean of the word vectors of a GloVe file, of length 1."""
    import lzma

    from limelight.text.tokenizer import Tokenizer

    with lzma.open(path, "rt", encoding="utf-8") as file:
        lines = (line.rstrip().split(" ") for line in file)
        table = {word: np.array(numbers, np.float32) for word, *numbers in lines}
    split, nothing = Tokenizer.from_words([]).split, np.zeros_like(next(iter(table.values())))

    def encode(texts: list[str]) -> np.ndarray:
        found = [[table[w] for word in split(text) if (w := word.lower()) in table] for text in texts]
        means = np.array([np.mean(some or [nothing], axis=0) for some in found])
        return means / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-9)

    return encode


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("corpus", type=Path)
    parser.add_argument("readers", nargs="*")
    parser.add_argument("--teacher", type=Path, help="folder: model.safetensors, tokenizer.json")
    parser.add_argument("--glove", type=Path, help="GloVe's text format, .xz")
    parser.add_argument("--others", action="store_true", help="WordLlama and TF-IDF")
    parser.add_argument("--quick", action="store_true", help="STS-B alone, without probes")
    parser.add_argument("--languages", type=Path, nargs=2, metavar=("STSB", "PAIRS"))
    arguments = parser.parse_args()
    if arguments.languages:
        meta = read_languages(*arguments.languages)
        run: Callable[[Encode], dict[str, Any]] = lambda encode: measure_languages(encode, meta)  # noqa: E731
    else:
        meta = json.loads((arguments.corpus / "texts.json").read_text())
        run = lambda encode: measure(encode, meta, not arguments.quick)  # noqa: E731
    encoders: dict[str, Encode] = {}
    if arguments.glove:
        encoders[arguments.glove.name] = mean_vectors(arguments.glove)
    if arguments.others:
        encoders |= {"WordLlama": word_llama(), "TF-IDF": tf_idf(meta)}
    if arguments.teacher:
        import torch
        from teach import Teacher

        teacher = Teacher(arguments.teacher, "cuda" if torch.cuda.is_available() else "cpu")
        encoders["teacher"] = lambda texts: teacher.encode(texts, 8192).astype(np.float32)
    for name in arguments.readers:
        import limelight

        encoders[name] = limelight.load(name).encode
    for name, encode in encoders.items():
        print(json.dumps({"name": name, **run(encode)}), flush=True)


if __name__ == "__main__":
    main()
