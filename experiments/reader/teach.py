"""The vectors of a sentence-transformers model for lines of text, in plain torch: for a GPU machine with little else.

    python experiments/reader/teach.py TEXTS... --teacher FOLDER --out vectors.npy
    python experiments/reader/teach.py words.txt --teacher FOLDER --out words.bin

TEXTS are .txt files, also .xz and .gz, with one text per line; FOLDER holds the teacher's config.json,
weights and tokenizer.json, as sentence-transformers or teachers.py have them: BERT (all-MiniLM-L6-v2,
arctic-embed-s) or MPNet (all-mpnet-base-v2). The mean of the last states is the vector, or the first one if 1_Pooling/config.json says so. A .npy file gets one row
per text, in fp16; a .bin file is word2vec's, with the lines as its words.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import tokenizers
import torch
import torch.nn.functional as F
from safetensors.numpy import load_file
from torch import Tensor

from limelight.network.quantise import SCALE, values
from limelight.storage.array_files import ArrayWriter
from limelight.storage.files import atomic_file
from limelight.tables.table import open_table

PIECES = 256  # of a text, at most
CHUNK = 65_536  # texts at a time

# The names of MPNet's maps, where BERT's differ.
MPNET = {
    "attention.self.query": "attention.attn.q",
    "attention.self.key": "attention.attn.k",
    "attention.self.value": "attention.attn.v",
    "attention.output.dense": "attention.attn.o",
    "attention.output.LayerNorm": "attention.LayerNorm",
}


class Teacher:
    """A sentence encoder: token ids -> unit vectors of as many numbers as a state has."""

    def __init__(self, folder: Path, device: str) -> None:
        dtype = torch.float16 if device == "cuda" else torch.float32
        stored = {k: v for path in folder.glob("model*.safetensors") for k, v in load_file(path).items()}
        self.weights = {
            name: torch.from_numpy(values(stored, name)).to(device, dtype)
            for name, w in stored.items()
            if not name.endswith(SCALE) and (w.dtype.kind == "f" or name + SCALE in stored)
        }
        self.config = json.loads((folder / "config.json").read_text())
        self.size, self.heads = self.config["hidden_size"], self.config["num_attention_heads"]
        self.mpnet = self.config["model_type"] == "mpnet"
        pooling = folder / "1_Pooling/config.json"
        self.takes_first = pooling.exists() and json.loads(pooling.read_text())["pooling_mode_cls_token"]
        self.device = device
        self.tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(PIECES)

    def named(self, name: str) -> tuple[Tensor, Tensor]:
        for ours, theirs in MPNET.items() if self.mpnet else ():
            name = name.replace(ours, theirs)
        return self.weights[name + ".weight"], self.weights[name + ".bias"]

    def linear(self, x: Tensor, name: str) -> Tensor:
        return F.linear(x, *self.named(name))

    def norm(self, x: Tensor, name: str) -> Tensor:
        return F.layer_norm(x, (self.size,), *self.named(name), self.config["layer_norm_eps"])

    def embed(self, ids: Tensor) -> Tensor:
        """(batch, n) -> (batch, n, size): words and their places."""
        table = {k.split(".")[1]: v for k, v in self.weights.items() if k.startswith("embeddings.")}
        first = self.config["pad_token_id"] + 1 if self.mpnet else 0  # MPNet counts places from there
        x = F.embedding(ids, table["word_embeddings"])
        x = x + table["position_embeddings"][first : first + ids.shape[1]]
        return self.norm(x if self.mpnet else x + table["token_type_embeddings"][0], "embeddings.LayerNorm")

    def bias(self, mask: Tensor) -> Tensor:
        """mask (batch, n) -> what attention adds, (batch, heads or 1, n, n or 1)."""
        added = torch.zeros(mask.shape, dtype=self.weights["embeddings.word_embeddings.weight"].dtype)
        added = added.to(self.device).masked_fill(~mask, -torch.inf)[:, None, None, :]
        if not self.mpnet:
            return added
        distances = distance_buckets(mask.shape[1], self.config["relative_attention_num_buckets"])
        weights = F.embedding(
            distances.to(self.device), self.weights["encoder.relative_attention_bias.weight"]
        )
        return added + weights.permute(2, 0, 1)

    @torch.no_grad()
    def __call__(self, ids: Tensor, mask: Tensor) -> Tensor:
        """ids and mask (batch, n), the mask True at tokens -> (batch, size)."""
        x, bias = self.embed(ids), self.bias(mask)
        batch, n, _ = x.shape
        for i in range(self.config["num_hidden_layers"]):
            layer = f"encoder.layer.{i}."
            q, k, v = (
                self.linear(x, f"{layer}attention.self.{name}").view(batch, n, self.heads, -1).transpose(1, 2)
                for name in ("query", "key", "value")
            )
            a = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
            a = self.linear(a.transpose(1, 2).reshape(batch, n, -1), layer + "attention.output.dense")
            x = self.norm(x + a, layer + "attention.output.LayerNorm")
            h = self.linear(F.gelu(self.linear(x, layer + "intermediate.dense")), layer + "output.dense")
            x = self.norm(x + h, layer + "output.LayerNorm")
        if self.takes_first:
            return F.normalize(x[:, 0].float(), dim=-1)
        tokens = mask.unsqueeze(-1).float()
        return F.normalize((x.float() * tokens).sum(1) / tokens.sum(1), dim=-1)

    def encode(self, texts: list[str], batch_tokens: int = 131_072) -> np.ndarray:
        """(texts, size) in fp16."""
        pieces = [np.array(e.ids, np.int32) for e in self.tokenizer.encode_batch(texts)]
        lengths = np.array([len(each) for each in pieces])
        flat = torch.from_numpy(np.concatenate(pieces)).to(self.device)
        starts = torch.from_numpy(np.cumsum(lengths) - lengths).to(self.device)
        sizes = torch.from_numpy(lengths).to(self.device)
        out = torch.empty(len(lengths), self.size, dtype=torch.float16, device=self.device)
        order, i = np.argsort(lengths, kind="stable"), 0
        while i < len(order):
            longest = int(lengths[order[min(i + 2047, len(order) - 1)]])
            rows = order[i : i + max(8, min(2048, batch_tokens // max(8, longest)))]
            r = torch.from_numpy(rows).to(self.device)
            places = torch.arange(int(lengths[rows[-1]]), device=self.device)
            mask = places[None] < sizes[r][:, None]
            index = (starts[r][:, None] + places[None]).clamp(max=len(flat) - 1)
            out[r] = self(flat[index].long().masked_fill(~mask, 0), mask).half()
            i += len(rows)
        return out.cpu().numpy()


def distance_buckets(n: int, buckets: int, farthest: int = 128) -> Tensor:
    """(n, n): which bucket the distance from a place to another falls in, as MPNet has them.

    A half of them is for places before and one for places after. The first half of each has a bucket for every
    distance, the others grow with its logarithm.

    >>> distance_buckets(3, 32).tolist()
    [[0, 17, 18], [1, 0, 17], [2, 1, 0]]
    """
    places = torch.arange(n)
    distance = places[None, :] - places[:, None]
    half, far = buckets // 2, distance.abs()
    exact = half // 2
    growing = torch.log(far.clamp(min=1) / exact) / math.log(farthest / exact) * (half - exact)
    growing = (exact + growing.long()).clamp(max=half - 1)
    return torch.where(far < exact, far, growing) + half * (distance > 0)


def lines(paths: Iterable[Path]) -> Iterator[str]:
    return (text for path in paths for (text,) in open_table(path).rows(("text",)))  # type: ignore[misc]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("texts", type=Path, nargs="+")
    parser.add_argument("--teacher", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True, help=".npy, or .bin for the vectors of words")
    arguments = parser.parse_args()
    teacher = Teacher(arguments.teacher, "cuda" if torch.cuda.is_available() else "cpu")
    texts = lines(arguments.texts)
    with atomic_file(arguments.out) as file:
        if arguments.out.suffix == ".bin":
            words = list(texts)
            file.write(f"{len(words)} {teacher.size}\n".encode())
            for word, vector in zip(words, teacher.encode(words).astype("<f4"), strict=True):
                file.write(word.encode() + b" " + vector.tobytes() + b"\n")
            return
        writer = ArrayWriter(file, np.float16)
        while chunk := list(islice(texts, CHUNK)):
            writer.append(teacher.encode(chunk))
        writer.finish()


if __name__ == "__main__":
    main()
