"""Number the words of the corpus and embed its sentences with the teacher, all-MiniLM-L6-v2, in plain torch.

    python scripts/reader/teach.py CORPUS WORK --teacher FOLDER

CORPUS is what corpus.py and texts.py wrote. FOLDER holds the teacher's model.safetensors and tokenizer.json.
WORK gets for each shard NAME.g.npy and NAME.so.npy (words and offsets) and NAME.v.npy (the teacher's vectors,
fp16), and once vocabulary.json, words.v.npy (the teacher's vectors of single words) and the words' spelling.
Shards already embedded are skipped. Takes about 4 GB in WORK.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import time
from collections.abc import Iterable
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import tokenizers
import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from student import VECTOR, spelling_table
from tokenizers import trainers
from torch import Tensor

LONGEST = 64  # words of a sentence
PIECES = 128  # of the teacher's tokenizer
KEEP = 60000  # words with a vector of the teacher
SPECIAL = ["<pad>", "<unk>"]


# ---------------------------------------------------------------- teacher
class Teacher:
    """all-MiniLM-L6-v2: token ids -> unit vectors of 384 numbers."""

    def __init__(self, folder: Path, device: str) -> None:
        dtype = torch.float16 if device == "cuda" else torch.float32
        weights = load_file(folder / "model.safetensors")
        self.weights = {k: v.to(device, dtype) for k, v in weights.items() if v.is_floating_point()}
        self.device = device
        self.tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(PIECES)

    def linear(self, x: Tensor, name: str) -> Tensor:
        return F.linear(x, self.weights[name + ".weight"], self.weights[name + ".bias"])

    def norm(self, x: Tensor, name: str) -> Tensor:
        return F.layer_norm(x, (VECTOR,), self.weights[name + ".weight"], self.weights[name + ".bias"], 1e-12)

    @torch.no_grad()
    def __call__(self, ids: Tensor, mask: Tensor) -> Tensor:
        """ids and mask (batch, n), the mask True at tokens -> (batch, 384)."""
        table = {k.split(".")[1]: v for k, v in self.weights.items() if k.startswith("embeddings.")}
        x = F.embedding(ids, table["word_embeddings"])
        x = x + table["position_embeddings"][: ids.shape[1]] + table["token_type_embeddings"][0]
        x = self.norm(x, "embeddings.LayerNorm")
        batch, n, _ = x.shape
        for i in range(6):
            layer = f"encoder.layer.{i}."
            q, k, v = (
                self.linear(x, f"{layer}attention.self.{name}").view(batch, n, 12, 32).transpose(1, 2)
                for name in ("query", "key", "value")
            )
            a = F.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None, None, :])
            a = a.transpose(1, 2).reshape(batch, n, VECTOR)
            x = self.norm(
                x + self.linear(a, layer + "attention.output.dense"), layer + "attention.output.LayerNorm"
            )
            h = self.linear(F.gelu(self.linear(x, layer + "intermediate.dense")), layer + "output.dense")
            x = self.norm(x + h, layer + "output.LayerNorm")
        tokens = mask.unsqueeze(-1).float()
        return F.normalize((x.float() * tokens).sum(1) / tokens.sum(1), dim=-1)

    def encode(self, flat: np.ndarray, offsets: np.ndarray, batch_tokens: int = 131072) -> np.ndarray:
        """Token ids of all texts in a row, and where each text begins and ends -> (texts, 384) in fp16."""
        lengths = np.diff(offsets)
        order = np.argsort(lengths, kind="stable")
        ids = torch.from_numpy(flat.astype(np.int32)).to(self.device)
        starts = torch.from_numpy(offsets.astype(np.int64)).to(self.device)
        out = torch.empty(len(lengths), VECTOR, dtype=torch.float16, device=self.device)
        i = 0
        while i < len(order):
            ahead = int(lengths[order[min(i + 2047, len(order) - 1)]])
            rows = order[i : i + max(8, min(len(order) - i, batch_tokens // max(8, ahead)))]
            width = (int(lengths[rows[-1]]) + 7) // 8 * 8
            r = torch.from_numpy(rows).to(self.device)
            places = torch.arange(width, device=self.device)
            mask = places[None] < (starts[r + 1] - starts[r])[:, None]
            index = (starts[r][:, None] + places[None]).clamp(max=len(ids) - 1)
            out[r] = self(ids[index].long().masked_fill(~mask, 0), mask).half()
            i += len(rows)
        return out.cpu().numpy()

    def encode_texts(self, texts: list[str], batch_tokens: int = 131072) -> np.ndarray:
        return self.encode(*flatten(e.ids for e in self.tokenizer.encode_batch(texts)), batch_tokens)


def flatten(lists: Iterable[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    flat: list[int] = []
    offsets = [0]
    for ids in lists:
        flat += ids
        offsets.append(len(flat))
    return np.array(flat, np.int32), np.array(offsets, np.int64)


# ---------------------------------------------------------------- words of a shard
def tokenise(job: tuple[Path, Path, Path, Path]) -> str:
    """Write a shard's own words (types.json), its sentences as word numbers (s, so) and as pieces (t, to)."""
    path, splitting, teacher_tokenizer, work = job
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    name = path.name.split(".")[0]
    if path.name == "texts.json":
        lines = json.loads(path.read_text())["texts"]
    else:
        with lzma.open(path, "rt", encoding="utf-8") as file:
            lines = file.read().rstrip("\n").split("\n")
    pieces = tokenizers.Tokenizer.from_file(str(teacher_tokenizer))
    pieces.no_padding()
    pieces.enable_truncation(PIECES)
    words = tokenizers.Tokenizer.from_file(str(splitting))
    trainer = trainers.WordLevelTrainer(
        vocab_size=5_000_000, min_frequency=1, show_progress=False, special_tokens=SPECIAL
    )
    words.train_from_iterator(lines, trainer)
    vocabulary = words.get_vocab()
    (work / f"{name}.types.json").write_text(json.dumps(sorted(vocabulary, key=vocabulary.__getitem__)))
    for suffix, tokenizer, longest in (("s", words, LONGEST), ("t", pieces, PIECES)):
        flat, offsets = [], [np.zeros(1, np.int64)]
        for i in range(0, len(lines), 4000):
            encoded = tokenizer.encode_batch(lines[i : i + 4000], add_special_tokens=suffix == "t")
            part, ends = flatten(e.ids[:longest] or [1] for e in encoded)
            offsets.append(ends[1:] + offsets[-1][-1])
            flat.append(part)
        np.save(work / f"{name}.{suffix}.npy", np.concatenate(flat))
        np.save(work / f"{name}.{suffix}o.npy", np.concatenate(offsets))
    return name


def embed_shards(corpus: Path, work: Path, folder: Path, teacher: Teacher, processes: int) -> None:
    begun = time.time()
    paths = [corpus / "texts.json", *sorted(corpus.glob("sentences-*.txt.xz"))]
    jobs = [
        (path, corpus / "splitting.json", folder / "tokenizer.json", work)
        for path in paths
        if not (work / f"{path.name.split('.')[0]}.v.npy").exists()
    ]
    with get_context("spawn").Pool(min(processes, max(1, len(jobs)))) as pool:
        for name in pool.imap_unordered(tokenise, jobs):
            vectors = teacher.encode(np.load(work / f"{name}.t.npy"), np.load(work / f"{name}.to.npy"))
            np.save(work / f"{name}.unfinished.npy", vectors)
            os.replace(work / f"{name}.unfinished.npy", work / f"{name}.v.npy")
            print(f"{name}: {len(vectors)} sentences, {time.time() - begun:.0f} s", flush=True)


# ---------------------------------------------------------------- one numbering for all shards
def count_words(
    names: list[str], work: Path
) -> tuple[list[str], dict[str, np.ndarray], np.ndarray, list[str]]:
    """All words, each shard's numbers in that list, counts (kinds, words), kinds.

    Words of the evaluation texts are in the list, but do not count.
    """
    number: dict[str, int] = {}
    local = {}
    for name in names:
        types = json.loads((work / f"{name}.types.json").read_text())
        local[name] = np.array([number.setdefault(word, len(number)) for word in types], np.int64)
    kinds = sorted({name.split("-")[1] for name in names if "-" in name})
    counts = np.zeros((len(kinds), len(number)))
    for name in names:
        if "-" in name:
            ids = local[name][np.load(work / f"{name}.s.npy")]
            counts[kinds.index(name.split("-")[1])] += np.bincount(ids, minlength=len(number))
    return list(number), local, counts, kinds


def rank_words(words: list[str], counts: np.ndarray, kinds: list[str], common: list[str]) -> np.ndarray:
    """Numbers of the words, by the sum of their shares of each kind: no kind outweighs the others.

    Common English words that occur three times or more rank at least 30,000th.
    """
    total = counts.sum(0)
    weight = np.array([0.3 if kind == "fragments" else 1.0 for kind in kinds])
    score = (counts / counts.sum(1, keepdims=True).clip(1) * weight[:, None]).sum(0)
    number = {word: i for i, word in enumerate(words)}
    score[[number[word] for word in SPECIAL]] = -1
    lifted = [number[word] for word in common if word in number and total[number[word]] >= 3]
    if lifted:
        floor = np.sort(score)[::-1][min(30000, len(score) - 1)]
        score[lifted] = np.maximum(score[lifted], floor)
    score[total < 2] *= 1e-3
    order = np.argsort(-score, kind="stable")
    return order[score[order] >= 0]


def number_words(corpus: Path, work: Path, teacher: Teacher, processes: int) -> None:
    names = sorted(path.name[: -len(".v.npy")] for path in work.glob("*.v.npy") if path.name != "words.v.npy")
    words, local, counts, kinds = count_words(names, work)
    common = (corpus / "common.txt").read_text().split("\n")
    order = rank_words(words, counts, kinds, common)
    new = np.empty(len(words), np.int64)
    new[words.index("<pad>")], new[words.index("<unk>")] = 0, 1
    new[order] = np.arange(len(order)) + 2
    for name in names:
        ids = new[local[name]][np.load(work / f"{name}.s.npy")]
        np.save(work / f"{name}.g.npy", ids.astype(np.int32))
    types = SPECIAL + [words[i] for i in order]
    total = counts.sum(0)
    vocabulary = {
        "words": types[: KEEP + 2],
        "counts": total[order[:KEEP]].astype(int).tolist(),
        "types": len(types),
        "tokens": int(total.sum()),
        "covered": {str(k): float(total[order[:k]].sum() / total.sum()) for k in range(20000, 70000, 10000)},
    }
    (work / "vocabulary.json").write_text(json.dumps(vocabulary))
    with get_context("spawn").Pool(processes) as pool:
        parts = pool.map(spelling_table, [types[i : i + 20000] for i in range(0, len(types), 20000)])
    np.save(work / "spelling.npy", np.concatenate([part[0] for part in parts]))
    np.save(work / "spelling_counts.npy", np.concatenate([part[1] for part in parts]))
    np.save(work / "words.v.npy", teacher.encode_texts(types[2 : KEEP + 2]))
    print(f"{len(types)} types, {vocabulary['tokens']} words, covered {vocabulary['covered']}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("corpus", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument(
        "--teacher", type=Path, required=True, help="folder: model.safetensors, tokenizer.json"
    )
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    teacher = Teacher(arguments.teacher, "cuda" if torch.cuda.is_available() else "cpu")
    embed_shards(arguments.corpus, arguments.work, arguments.teacher, teacher, arguments.processes)
    number_words(arguments.corpus, arguments.work, teacher, arguments.processes)


if __name__ == "__main__":
    main()
