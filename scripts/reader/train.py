r"""Train a student on the teacher's vectors and measure it.

    python scripts/reader/train.py WORK CORPUS OUT --name final-plain
    python scripts/reader/train.py WORK CORPUS OUT --name rows16 --set rows=16 --set kl=1.0

WORK is what teach.py wrote. Options not set are those of RECIPE in student.py, which made the reader. Writes
OUT/NAME.safetensors and NAME.json (the recipe), and prints the measures.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from evaluate import probe, sts
from pack import TRANSPOSED, WORDS, quantise, row_overlap, save_student
from student import GRAMS, RECIPE, VECTOR, Recipe, Student
from torch import Tensor

device = "cuda" if torch.cuda.is_available() else "cpu"


# ---------------------------------------------------------------- data
class Data:
    """All sentences and the teacher's vectors, on the device."""

    def __init__(self, work: Path, corpus: Path) -> None:
        self.meta = json.loads((corpus / "texts.json").read_text())
        names = sorted(path.name[: -len(".v.npy")] for path in work.glob("sentences-*.v.npy"))
        self.kinds = sorted({name.split("-")[1] for name in names})
        flat, ends, vectors, kind, total = [], [np.zeros(1, np.int64)], [], [], 0
        for name in names:
            ids, offsets = np.load(work / f"{name}.g.npy"), np.load(work / f"{name}.so.npy")
            flat.append(torch.from_numpy(ids).to(device))
            ends.append(offsets[1:] + total)
            total += len(ids)
            vectors.append(torch.from_numpy(np.load(work / f"{name}.v.npy")).to(device))
            kind.append(np.full(len(offsets) - 1, self.kinds.index(name.split("-")[1]), np.int64))
        self.flat, self.vectors = torch.cat(flat), torch.cat(vectors)
        offsets = np.concatenate(ends)
        self.starts = torch.from_numpy(offsets[:-1]).to(device)
        self.lengths = torch.from_numpy(np.diff(offsets)).to(device)
        self.kind = torch.from_numpy(np.concatenate(kind)).to(device)
        self.text_ids, self.text_offsets = np.load(work / "texts.g.npy"), np.load(work / "texts.so.npy")
        self.text_vectors = torch.from_numpy(np.load(work / "texts.v.npy")).to(device).float()
        self.word_vectors = np.load(work / "words.v.npy")
        self.crc, self.counts = np.load(work / "spelling.npy"), np.load(work / "spelling_counts.npy")

    def table(self, buckets: int) -> Tensor:
        """The buckets of the n-grams of each type (types, GRAMS); 0 for none."""
        table = (self.crc % buckets).astype(np.int64) + 1
        table[np.arange(GRAMS)[None] >= self.counts[:, None]] = 0
        return torch.from_numpy(table).to(device)

    def epoch(self, recipe: Recipe, rng: np.random.Generator) -> tuple[Tensor, list[tuple[int, int]]]:
        """Rows sorted by length, and batches (length, start) of one length each, in random order."""
        generator = torch.Generator(device=device).manual_seed(int(rng.integers(1 << 40)))
        weights = [float(recipe["weights"].get(kind, 1.0)) for kind in self.kinds]
        weight = torch.tensor(weights, device=device)[self.kind]
        times = torch.floor(weight + torch.rand(len(weight), device=device, generator=generator)).long()
        if recipe["fraction"] < 1:
            same = torch.Generator(device=device).manual_seed(3)  # the same part in every epoch
            times[torch.rand(len(weight), device=device, generator=same) >= recipe["fraction"]] = 0
        rows = torch.repeat_interleave(torch.arange(len(weight), device=device), times)
        rows = rows[torch.randperm(len(rows), device=device, generator=generator)]
        lengths, order = torch.sort(self.lengths[rows], stable=True)
        batches, start, size = [], 0, recipe["batch"]
        for length, count in enumerate(torch.bincount(lengths).tolist()):
            if length >= 2:
                batches += [(length, i) for i in range(start, start + count - size + 1, size)]
            start += count
        rng.shuffle(batches)
        return rows[order], [(int(length), int(i)) for length, i in batches]


# ---------------------------------------------------------------- measures
@torch.no_grad()
def encode_texts(
    model: Student, data: Data, table: Tensor, low: int, high: int
) -> tuple[Tensor, Tensor, float]:
    """Vectors and M (its rows of unit length) of the evaluation texts low to high, and the rows' overlap."""
    offsets = data.text_offsets
    lengths = np.diff(offsets)[low:high]
    unknown = torch.arange(len(table), device=device) >= model.recipe["words"] + 2
    unknown[1] = True
    vectors = torch.zeros(high - low, VECTOR, device=device)
    matrices, overlap = torch.zeros(0, device=device), 0.0
    for length in np.unique(lengths):
        rows = np.flatnonzero(lengths == length)
        for i in range(0, len(rows), 4096):
            some = rows[i : i + 4096]
            ids = data.text_ids[offsets[low + some][:, None] + np.arange(length)].astype(np.int64)
            v, A, M = model(torch.from_numpy(ids).to(device), table, unknown)
            at = torch.from_numpy(some).to(device)
            vectors[at] = F.normalize(v.float(), dim=-1)
            flat = F.normalize(M.float(), dim=-1).flatten(1)
            if not len(matrices):
                matrices = torch.zeros(high - low, flat.shape[1], device=device)
            matrices[at] = F.normalize(flat, dim=-1)
            if A is not None and A.shape[1] > 1:
                overlap += float(row_overlap(A.float()).sum())
    return vectors, matrices, overlap / max(len(lengths), 1)


def measure(model: Student, data: Data, table: Tensor, full: bool = False) -> dict[str, float]:
    """STS-B, overlap of rows, cosine to the teacher by kind; if full, probes on the vector and on M."""
    model.eval()
    spans = data.meta["spans"]
    vectors, matrices, _ = encode_texts(model, data, table, 0, len(data.meta["texts"]))
    result = {"sts": sts(vectors, data.meta)}
    result["overlap"] = round(encode_texts(model, data, table, *spans["first"])[2], 4)
    for name, span in spans.items():
        if name.startswith("held-") or name == "first":
            part = slice(*span)
            cosine = (vectors[part] * data.text_vectors[part]).sum(1).mean()
            result["cos " + name.removeprefix("held-")] = round(float(cosine), 4)
    if full:
        result |= probe(vectors, data.meta)
        result |= {"M " + name: accuracy for name, accuracy in probe(matrices, data.meta).items()}
    model.train()
    return result


def rounded_sts(model: Student, data: Data, table: Tensor, word_bits: int, group: int | None) -> float:
    """STS-B with words in `word_bits` bits and the other weights in 8."""
    keep = {name: w.clone() for name, w in model.state_dict().items()}
    quantised, model.quantised = model.quantised, False
    with torch.no_grad():
        for name, w in model.named_parameters():
            if name in WORDS:
                w.copy_(round_rows(w.reshape(-1, group or w.shape[1]), word_bits).reshape(w.shape))
            elif w.dim() > 1:
                turned = w.T.contiguous() if name in TRANSPOSED else w
                turned = round_rows(turned, 8)
                w.copy_(turned.T if name in TRANSPOSED else turned)
    result = measure(model, data, table)["sts"]
    model.load_state_dict(keep)
    model.quantised = quantised
    return result


def round_rows(rows: Tensor, bits: int) -> Tensor:
    q, scale = quantise(rows, 2 ** (bits - 1) - 1)
    return q * scale


# ---------------------------------------------------------------- training
@torch.no_grad()
def start_from_teacher(model: Student, data: Data, table: Tensor) -> None:
    """Words begin as the teacher's vectors of them, after PCA; a bucket as twice the mean of its words."""
    dim = model.recipe["dim"]
    t = torch.from_numpy(data.word_vectors[: model.recipe["words"]]).to(device).float()
    t = t - t.mean(0)
    _, _, axes = torch.linalg.svd(t[:20000], full_matrices=False)
    words = t @ axes[:dim].T
    words = words / words.std(0).mean() * 0.3
    model.words[2 : 2 + len(words)] = words
    total = torch.zeros_like(model.grams)
    count = torch.zeros(len(total), 1, device=device)
    for column in table[2 : 2 + len(words)].T:
        total.index_add_(0, column, words)
        count.index_add_(0, column, torch.ones(len(words), 1, device=device))
    model.grams.copy_(total / count.clamp(min=1) * 2)
    model.grams[0] = 0


def spelling_rate(recipe: Recipe, types: int) -> Tensor:
    """How often each type is spelt from n-grams in training: rarer words more often, unknown words always."""
    rank = torch.arange(types, device=device) - 2
    rate = recipe["spell"] * (rank / 20000).clamp(0, 1)
    rate[recipe["words"] + 2 :] = 1.0
    rate[1] = 1.0
    rate[0] = 0.0
    return rate


def losses(v: Tensor, t: Tensor, A: Tensor | None, recipe: Recipe) -> tuple[Tensor, Tensor, Tensor]:
    """1 - cosine; KL of the softmaxes of similarities within the batch; |A A' - I|^2."""
    cosine = 1 - (v * t).sum(1).mean()
    kl = penalty = torch.zeros((), device=device)
    if recipe["kl"]:
        itself = torch.eye(len(v), device=device, dtype=torch.bool)
        student = F.log_softmax((v @ v.T / recipe["tau"]).masked_fill(itself, -1e4), 1)
        with torch.no_grad():
            teacher = F.log_softmax((t @ t.T / recipe["tau"]).masked_fill(itself, -1e4), 1)
        kl = (teacher.exp() * (teacher - student)).sum(1).mean()
    if A is not None and recipe["penalty"]:
        identity = torch.eye(A.shape[1], device=device)
        penalty = (A @ A.transpose(1, 2) - identity).square().sum((1, 2)).mean()
    return cosine, kl, penalty


def train(recipe: Recipe, data: Data) -> Student:
    c = recipe
    torch.manual_seed(c["seed"])
    rng = np.random.default_rng(c["seed"])
    model = Student(c).to(device)
    table = data.table(c["buckets"])
    if c["init"] == "teacher":
        start_from_teacher(model, data, table)
    rate = spelling_rate(c, len(table))
    half = device == "cuda" and c["half"]
    parameters = list(model.parameters())
    optimizer = torch.optim.Adam(parameters, lr=c["lr"], betas=(0.9, c["beta2"]), fused=device == "cuda")
    scaler = torch.amp.GradScaler(enabled=half)
    average = [x.detach().clone() for x in parameters]
    sums = torch.zeros(4, device=device)
    begun, step, epoch, progress = time.time(), 0, 0, 0.0
    model.train()
    while progress < 1:
        rows, batches = data.epoch(c, rng)
        epoch += 1
        for length, i in batches:
            progress = max(step / c["steps"], (time.time() - begun) / c["max_seconds"])
            if progress >= 1:
                break
            lr = c["lr"] * min(1, (step + 1) / c["warmup"]) * 0.5 * (1 + math.cos(math.pi * progress))
            optimizer.param_groups[0]["lr"] = lr
            model.quantised = bool(c["qbits"]) and progress >= c["qstart"]
            r = rows[i : i + c["batch"]]
            ids = data.flat[data.starts[r][:, None] + torch.arange(length, device=device)].long()
            with torch.autocast(device, dtype=torch.float16, enabled=half):
                v, A, _ = model(ids, table, rate)
            cosine, kl, penalty = losses(F.normalize(v.float(), dim=-1), data.vectors[r].float(), A, c)
            optimizer.zero_grad(set_to_none=True)
            scaler.scale(cosine + c["kl"] * kl + c["penalty"] * penalty).backward()
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(parameters, c["clip"])
            scaler.step(optimizer)
            scaler.update()
            decay = min(c["ema"], (step + 1) / (step + 10))
            torch._foreach_lerp_(average, [x.detach() for x in parameters], 1 - decay)
            sums += torch.stack([cosine.detach(), kl.detach(), penalty.detach(), torch.ones_like(cosine)])
            step += 1
            if step % c["report"] == 0:
                means = " ".join(f"{x:.4f}" for x in (sums[:3] / sums[3]).tolist())
                sums.zero_()
                dev = measure(model, data, table)["sts"] if step % c["measure"] == 0 else ""
                # If the scale falls towards 0, fp16 overflows and steps are skipped: set half=false.
                scale = scaler.get_scale() if half else 1
                seconds = time.time() - begun
                print(f"step {step} epoch {epoch} {seconds:.0f} s: {means} {dev} scale {scale:g}", flush=True)
    with torch.no_grad():
        for x, y in zip(parameters, average, strict=True):
            x.copy_(y)
    print(f"{step} steps, {epoch} epochs, {time.time() - begun:.0f} s", flush=True)
    return model


def option(text: str) -> tuple[str, Any]:
    """NAME=VALUE, the value in JSON or a plain word."""
    name, _, value = text.partition("=")
    if name not in RECIPE:
        raise argparse.ArgumentTypeError(f"no option {name!r}; choose from {', '.join(RECIPE)}")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    for name in ("work", "corpus", "out"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--name", default="student")
    parser.add_argument(
        "--set", type=option, action="append", default=[], metavar="NAME=VALUE", dest="options"
    )
    arguments = parser.parse_args()
    recipe = RECIPE | dict(arguments.options)
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    data = Data(arguments.work, arguments.corpus)
    print(f"{len(data.lengths)} sentences, {len(data.flat)} words", flush=True)
    model = train(recipe, data)
    arguments.out.mkdir(parents=True, exist_ok=True)
    save_student(model.state_dict(), recipe, arguments.out / arguments.name)
    table = data.table(recipe["buckets"])
    result = measure(model, data, table, full=True)
    result["sts_int8"] = rounded_sts(model, data, table, 8, None)
    result["sts_int4_words"] = rounded_sts(model, data, table, 4, recipe["group"])
    print(json.dumps({"name": arguments.name, **result}), flush=True)


if __name__ == "__main__":
    main()
