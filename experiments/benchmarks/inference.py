"""Prediction speed side by side on the same texts, as ratios, which a busy machine affects least.

    python experiments/benchmarks/inference.py                                         # the bundled sentences
    python experiments/benchmarks/inference.py --texts reviews.parquet --column text --count 2000
    python experiments/benchmarks/inference.py --recipes best stacked max-300 cnn-300  # speed of recipes.py's recipes
    python experiments/benchmarks/inference.py --start --memory                        # cold start, and a million texts

Compares with the same network in plain PyTorch, as people usually write it (nn.LSTM over padded batches of 32
in the given order), from texts to probabilities, and with fastText if it is installed; and with MiniLM-L6
(see minilm.py), from texts to embeddings. Weights are random: speed does not depend on them. A ratio is the
median over the rounds, texts per second the best round. The programs take turns. On a busy machine use
`--threads 1`: programs whose threads wait for each other suffer most from other work, and ours is not one of
them.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from importlib import resources
from pathlib import Path

import numpy as np
import torch
from minilm import MiniLM, weights_folder
from recipes import recipes
from torch import nn

from limelight.config.presets import preset
from limelight.config.recipe import ModelRecipe, Recipe, TextRecipe
from limelight.network.parts import shapes
from limelight.runtime.model import Model
from limelight.tables.columns import choose_columns
from limelight.tables.rows import TableRows
from limelight.text.encode import encode_texts
from limelight.text.tokenizer import Tokenizer

LABELS = tuple("12345")
Contestants = dict[str, Callable[[list[str]], object]]


class Plain(nn.Module):
    """The network as it is usually written: padding is read, and masked afterwards."""

    def __init__(self, recipe: ModelRecipe, words: Tokenizer) -> None:
        super().__init__()
        self.tokenizer, self.pruned = words, recipe.head == "pruned"
        size, r = 2 * recipe.hidden, recipe.rows
        self.words = nn.Embedding(len(words), recipe.word_size, padding_idx=0)
        self.lstm = nn.LSTM(recipe.word_size, recipe.hidden, batch_first=True, bidirectional=True)
        self.W_s1 = nn.Linear(size, recipe.attention_hidden, bias=False)
        self.W_s2 = nn.Linear(recipe.attention_hidden, r, bias=False)
        if self.pruned:
            self.W_v = nn.Parameter(torch.randn(r, size, recipe.row_units) * 0.05)
        else:
            self.hidden = nn.Linear(r * size, recipe.head_hidden)
        self.out = nn.Linear(r * recipe.row_units if self.pruned else recipe.head_hidden, len(LABELS))

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        H, _ = self.lstm(self.words(ids))
        scores = self.W_s2(torch.tanh(self.W_s1(H))).transpose(1, 2)
        A = torch.softmax(scores.masked_fill((ids == 0).unsqueeze(1), float("-inf")), dim=2)
        M = A @ H
        if self.pruned:
            hidden = torch.einsum("brs,rsp->brp", M, self.W_v).flatten(1)
        else:
            hidden = self.hidden(M.flatten(1))
        return torch.softmax(self.out(torch.relu(hidden)), dim=1)

    @torch.inference_mode()
    def predict_proba(self, texts: list[str]) -> torch.Tensor:
        found = []
        for start in range(0, len(texts), 32):
            ids, lengths = self.tokenizer.encode(texts[start : start + 32])
            sentences = torch.from_numpy(ids).long().split(lengths.tolist())
            found.append(self(nn.utils.rnn.pad_sequence(list(sentences), batch_first=True)))
        return torch.cat(found)


def words_of(texts: list[str]) -> Tokenizer:
    return encode_texts(texts, recipe=TextRecipe(), holdout=0).tokenizer


def random_model(recipe: Recipe, words: Tokenizer, pair: bool = False) -> dict[str, object]:
    rng = np.random.default_rng(0)
    sizes = shapes(recipe.model, len(words), len(LABELS), pair)
    weights = {n: rng.standard_normal(s, np.float32) * np.float32(0.05) for n, s in sizes.items()}
    return {"weights": weights, "recipe": recipe, "tokenizer": words, "labels": LABELS, "pair": pair}


def fasttext_model(texts: list[str]) -> Contestants:
    """fastText (pip install --no-deps fasttext-numpy2-wheel) with 100-dimensional vectors, for comparison."""
    try:
        import fasttext
    except ImportError:
        return {}
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.writelines(f"__label__{k % 5} {' '.join(text.split())}\n" for k, text in enumerate(texts))
        file.flush()
        model = fasttext.train_supervised(file.name, dim=100, epoch=1, thread=1, verbose=0)
    return {"fastText": lambda texts: model.predict([" ".join(t.split()) for t in texts], k=5)}


def one_by_one(run: Callable[[list[str]], object]) -> Callable[[list[str]], object]:
    return lambda texts: [run([text]) for text in texts]


def two_by_two(run: Callable[[list[str]], object]) -> Callable[[list[str]], object]:
    return lambda texts: [run(texts[k : k + 2]) for k in range(0, len(texts), 2)]


def race(title: str, contestants: Contestants, texts: list[str], rounds: int) -> None:
    """Time every contestant once per round; the others are compared with the first."""
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for run in contestants.values():
        run(texts[:32])
    for _ in range(rounds):
        for name, run in contestants.items():
            begin = time.perf_counter()
            run(texts)
            seconds[name].append(time.perf_counter() - begin)
    reference = seconds[next(iter(contestants))]
    print(f"\n{title}, {len(texts)} texts")
    for name, own in seconds.items():
        ratio = statistics.median(r / o for r, o in zip(reference, own, strict=True))
        print(f"  {name:26} {len(texts) / min(own):10,.0f} texts/s   {ratio:6.2f} x", flush=True)


def compare(name: str, texts: list[str], singles: int, rounds: int, threads: int) -> None:
    words = words_of(texts)
    parts = random_model(preset(name), words)
    models = {p: Model.from_parts(**parts, precision=p, threads=threads) for p in ("float32", "int8")}  # type: ignore[arg-type]
    plain = Plain(preset(name).model, words).eval()
    predict: Contestants = {"plain PyTorch": plain.predict_proba}
    predict |= {f"limelight {p}": model.predict_proba for p, model in models.items()}
    predict |= fasttext_model(texts)
    race(f"{name}: probabilities in batches", predict, texts, rounds)
    single = {n: one_by_one(run) for n, run in predict.items()}
    race(f"{name}: probabilities one by one", single, texts[:singles], rounds)
    folder = weights_folder()
    for p, model in models.items() if folder else ():
        mini = MiniLM(folder, p == "int8", threads)
        embed: Contestants = {f"MiniLM-L6 {p}": mini.embed, f"limelight {p}": model.embed}
        race(f"{name}: embeddings in batches, {p}", embed, texts, rounds)
        single = {n: one_by_one(run) for n, run in embed.items()}
        race(f"{name}: embeddings one by one, {p}", single, texts[:singles], rounds)


def beside_baselines(
    names: list[str], pair: bool, texts: list[str], singles: int, rounds: int, threads: int
) -> None:
    """Compare recipes of recipes.py, with 400-dimensional vectors as in docs/log/2026-11-18-recipes-in-full.md."""
    words, found = words_of(texts), recipes(pair)
    predict: Contestants = {}
    for name in names:
        parts = random_model(found[name].override(word_size=400), words, pair)
        model = Model.from_parts(**parts, threads=threads)  # type: ignore[arg-type]
        predict[name] = partial(_pairs, model) if pair else model.predict_proba
    race("probabilities in batches", predict, texts, rounds)
    single = {n: two_by_two(run) if pair else one_by_one(run) for n, run in predict.items()}
    race("one by one", single, texts[: 2 * singles if pair else singles], rounds)


def _pairs(model: Model, texts: list[str]) -> np.ndarray:
    """Predict pairs of neighbouring texts. No text is in two pairs: it would be read only once."""
    return model.predict_proba(texts[0::2], texts[1::2])


START = """
import time
begin, cpu = time.perf_counter(), time.process_time()
from limelight.runtime.model import Model
Model.load({folder!r}, precision={precision!r}).predict(["one good sentence"])
print(time.perf_counter() - begin, time.process_time())
"""


def cold_start(texts: list[str]) -> None:
    """Time a new process from import to first prediction; CPU seconds include Python's own start."""
    with tempfile.TemporaryDirectory() as place:
        folder = str(Path(place, "model"))
        Model.from_parts(**random_model(preset("light"), words_of(texts))).save(folder)  # type: ignore[arg-type]
        size = sum(file.stat().st_size for file in Path(folder).iterdir())
        print(f"\ncold start, preset light with {len(words_of(texts)):,} words, {size / 1e6:.1f} MB")
        for precision in ("float32", "int8"):
            program = START.format(folder=folder, precision=precision)
            runs = [
                subprocess.run(
                    [sys.executable, "-c", program], capture_output=True, text=True, check=True
                ).stdout
                for _ in range(7)
            ]
            wall, cpu = (min(float(run.split()[k]) for run in runs) for k in (0, 1))
            print(f"  {precision:8} {wall:.2f} s, {cpu:.2f} s of CPU", flush=True)


MEMORY = """
import itertools, sys
from pathlib import Path
from limelight.runtime.model import Model
model, texts = Model.load({folder!r}), {texts!r}
def peak():
    status = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in status if line.startswith("VmHWM")).split()[1])
done, marks = 0, [1, 10_000, 100_000, 1_000_000]
for M in model.embed_stream(itertools.islice(itertools.cycle(texts), 1_000_000)):
    done += len(M)
    while marks and done >= marks[0]:
        print(f"  after {{done:9,}} texts: peak {{peak() / 1024:.0f}} MiB", flush=True)
        marks.pop(0)
"""


def memory(texts: list[str]) -> None:
    """Peak memory of a new process that embeds a stream of a million texts."""
    print("\nembedding a million texts, tiny model")
    with tempfile.TemporaryDirectory() as place:
        folder = str(Path(place, "model"))
        Model.from_parts(**random_model(preset("tiny"), words_of(texts))).save(folder)  # type: ignore[arg-type]
        short = [text for text in texts if len(text) < 60][:1000]
        subprocess.run([sys.executable, "-c", MEMORY.format(folder=folder, texts=short)], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--texts", help="csv, jsonl or parquet table (default: the bundled sentences)")
    parser.add_argument("--column", help="text column")
    parser.add_argument("--count", type=int, default=1000, help="number of texts for batches")
    parser.add_argument("--singles", type=int, default=100, help="number of texts one by one")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--models", nargs="*", default=["light", "yelp"], help="presets to compare")
    parser.add_argument("--recipes", nargs="*", metavar="NAME", help="compare recipes of recipes.py instead")
    parser.add_argument("--pairs", action="store_true", help="with --recipes: the recipes for pairs")
    parser.add_argument("--start", action="store_true", help="measure only the cold start")
    parser.add_argument("--memory", action="store_true", help="measure only memory over a million texts")
    options = parser.parse_args()
    if options.pairs and not options.recipes:
        parser.error("--pairs needs --recipes")
    table = options.texts or str(resources.files("limelight") / "bundled" / "sentences-test.csv.xz")
    found = TableRows(table, choose_columns(table, options.column, need_label=False))
    texts = [row.text for _, row in zip(range(options.count), found, strict=False)]
    torch.set_num_threads(options.threads)
    if options.start:
        cold_start(texts)
    if options.memory:
        memory(texts)
    if options.recipes:
        rest = (options.pairs, texts, options.singles, options.rounds, options.threads)
        beside_baselines(options.recipes, *rest)
    for name in [] if options.start or options.memory or options.recipes else options.models:
        compare(name, texts, options.singles, options.rounds, options.threads)


if __name__ == "__main__":
    main()
