"""How well search finds what people judged relevant: by meaning, by words, by both, beside TF-IDF.

    python experiments/benchmarks/search_quality.py scifact=DATA/scifact cranfield=DATA/cranfield cisi=DATA/cisi \
        banking77=DATA/banking77 hotels=DATA/hotels --work WORK

nDCG at 10; for banking77 the share of the ten hits that have the query's intent. Queries with even numbers are for
choosing (`--weights`), those with odd numbers are reported beside them. Indexes are kept in --work. Needs
scikit-learn. The folders:

    scifact     corpus.parquet (doc_id, title, abstract), train.parquet (claim, cited_docs)
    cranfield   cran.all.1400, cran.qry, cranqrel
    cisi        CISI.ALL, CISI.QRY, CISI.REL
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

from limelight import Index
from limelight.search import ranking
from limelight.text.sentences import sentence_spans

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


TASKS = {each.__name__: each for each in (scifact, cranfield, cisi, banking77, hotels)}


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


def by_tf_idf(task: Task) -> list[list[int]]:
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer()
    T = vectorizer.fit_transform(task.texts)
    scores = (vectorizer.transform(task.queries) @ T.T).toarray()
    return np.argsort(-scores, axis=1, kind="stable")[:, :TOP].tolist()


def by_index(index: Index, task: Task, by: str) -> list[list[int]]:
    hits = index.search(task.queries, TOP, by=by, words=False, per_row=True)
    return [[hit.row - 1 for hit in each] for each in hits]


def open_index(place: Path, task: Task, unit: str) -> Index:
    if not place.exists():
        Index.create(place, task.texts, **({} if unit == "texts" else {unit: True}))
    return Index.open(place)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("tasks", nargs="+", metavar="NAME=FOLDER")
    parser.add_argument("--work", type=Path, required=True, help="folder for the indexes")
    parser.add_argument("--units", nargs="+", default=["texts"], choices=["texts", "passages", "sentences"])
    parser.add_argument(
        "--weights", nargs="+", type=float, default=[ranking.WORD_WEIGHT], help="of the words"
    )
    args = parser.parse_args()
    for name, folder in (each.split("=", 1) for each in args.tasks):
        task = TASKS[name](Path(folder))
        print(f"{name}: {len(task.texts):,} texts, {len(task.queries)} queries; even, odd", flush=True)
        print("  TF-IDF {:.3f} {:.3f}".format(*halves(name, task, by_tf_idf(task))))
        for unit in args.units:
            index = open_index(args.work / f"{name}.{unit}", task, unit)
            for by in ("meaning", "words"):
                print(
                    f"  {unit}, {by} {{:.3f}} {{:.3f}}".format(*halves(name, task, by_index(index, task, by)))
                )
            for weight in args.weights:
                with patch.object(ranking, "WORD_WEIGHT", weight):
                    found = halves(name, task, by_index(index, task, "both"))
                print(f"  {unit}, both {weight} {{:.3f}} {{:.3f}}".format(*found), flush=True)


if __name__ == "__main__":
    main()
