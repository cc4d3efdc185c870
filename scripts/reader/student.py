"""The student: words -> biLSTM -> rows of attention -> sum of a linear map for each row -> unit vector."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

VECTOR = 384  # numbers of the teacher's vector
GRAMS = 32  # character n-grams of a word, at most
Recipe = dict[str, Any]

RECIPE: Recipe = {
    # words
    "words": 42000,
    "dim": 256,
    "buckets": 6000,  # hashed character n-grams, for words without a vector
    "spell": 0.1,  # how often a known word of rank 20,000 or more is spelt from n-grams in training
    "init": "teacher",  # words begin as the teacher's vectors of them (else random)
    # network
    "units": 300,  # each way
    "layers": 1,
    "pool": "attn",  # attn, max, attn+max, or static: a weighted mean of words without a network
    "skip": False,  # rows pool the biLSTM's states and the words beside them
    "rows": 24,
    "da": 128,
    "rank": 128,  # of the map that all rows share; 0: each row has a full map of its own
    # loss: (1 - cosine) + kl * KL + penalty * |A A' - I|^2
    "kl": 2.0,
    "tau": 0.05,
    "penalty": 0.02,
    # training
    "weights": {"captions": 2, "questions": 3, "talk": 1.5, "books": 0.5},  # passes over a kind in an epoch
    "fraction": 1.0,  # of the sentences
    "steps": 21469,
    "max_seconds": 86400,
    "batch": 2048,
    "lr": 2e-3,
    "warmup": 300,
    "beta2": 0.99,
    "clip": 1.0,
    "ema": 0.999,
    "half": True,  # fp16 autocast
    "seed": 0,
    # round words to `qbits` bits, with a scale for each `group` numbers, from `qstart` of the training on
    "qbits": 4,
    "qstart": 0.75,
    "group": 32,
    # logging, in steps
    "report": 2000,
    "measure": 8000,
}


def spelling(word: str) -> list[int]:
    """crc32 of the character 3-, 4- and 5-grams of <word>, shorter ones first, at most GRAMS of them."""
    marked = "<" + word + ">"
    grams = [marked[i : i + n] for n in (3, 4, 5) for i in range(len(marked) - n + 1)] or [marked]
    return [zlib.crc32(gram.encode()) for gram in grams[:GRAMS]]


def spelling_table(words: list[str]) -> tuple[np.ndarray, np.ndarray]:
    table = np.zeros((len(words), GRAMS), np.uint32)
    counts = np.zeros(len(words), np.uint8)
    for i, word in enumerate(words):
        grams = spelling(word)
        table[i, : len(grams)] = grams
        counts[i] = len(grams)
    return table, counts


def fake_quantise(x: Tensor, bits: int, group: int) -> Tensor:
    """Round forwards, pass the gradient straight through backwards."""
    top = 2 ** (bits - 1) - 1
    y = x.reshape(-1, group)
    scale = y.detach().abs().amax(1, keepdim=True).clamp(min=1e-8) / top
    rounded = (y / scale).round().clamp(-top, top) * scale
    return (y + (rounded - y).detach()).reshape(x.shape)


class Student(nn.Module):
    def __init__(self, recipe: Recipe) -> None:
        super().__init__()
        self.recipe = c = recipe
        dim, rows = c["dim"], c["rows"]
        self.quantised = False
        self.words = nn.Parameter(torch.randn(c["words"] + 2, dim) * 0.3)
        self.grams = nn.Parameter(torch.randn(c["buckets"] + 1, dim) * 0.3)
        with torch.no_grad():
            self.words[0] = 0
            self.grams[0] = 0
        h = dim
        if c["pool"] != "static":
            self.lstm = nn.LSTM(dim, c["units"], num_layers=c["layers"], bidirectional=True)
            h = 2 * c["units"] + (dim if c["skip"] else 0)
        k = c["rank"] or h
        if c["rank"]:
            self.shared = nn.Parameter(torch.randn(h, k) / h**0.5)
        if "attn" in c["pool"]:
            self.s1 = nn.Parameter(torch.randn(c["da"], h) / h**0.5)
            self.s2 = nn.Parameter(torch.randn(rows, c["da"]) / c["da"] ** 0.5 * 2)
            self.maps = nn.Parameter(torch.randn(rows * k, VECTOR) / (rows * k) ** 0.5)
        if "max" in c["pool"]:
            self.top = nn.Parameter(torch.randn(k, VECTOR) / k**0.5)
        if c["pool"] == "static":
            self.flat = nn.Parameter(torch.randn(k, VECTOR) / k**0.5)
            self.weight = nn.Parameter(torch.zeros(c["words"] + 2))

    def embed(self, ids: Tensor, table: Tensor, spelt: Tensor) -> tuple[Tensor, Tensor]:
        """Word vectors (batch, n, dim) and which of the words were spelt (batch * n).

        `table` (types, GRAMS) has the buckets of each type, 0 for none. `spelt` (types) says which types are
        spelt from n-grams: a bool, or in training the probability of it.
        """
        flat = ids.reshape(-1)
        certain = spelt.dtype == torch.bool
        mask = spelt[flat] if certain else torch.rand(flat.shape[0], device=flat.device) < spelt[flat]
        # A fixed number of places for spelt words, so that no step waits for a count from the GPU.
        places = max(64, flat.shape[0] // (1 if certain else 6))
        order = mask.to(torch.uint8).sort(descending=True).indices[:places]
        x = F.embedding(flat.masked_fill(mask, 0), self.words, padding_idx=0)
        from_grams = F.embedding_bag(table[flat[order]], self.grams, mode="mean", padding_idx=0)
        from_grams = from_grams * mask[order].unsqueeze(1)
        x = x.index_add(0, order, from_grams.to(x.dtype))
        if self.quantised:
            x = fake_quantise(x, self.recipe["qbits"], self.recipe["group"])
        return x.view(*ids.shape, -1), mask

    def forward(self, ids: Tensor, table: Tensor, spelt: Tensor) -> tuple[Tensor, Tensor | None, Tensor]:
        """ids (batch, n), all of one length -> vector (batch, VECTOR), A (batch, r, n), M (batch, r, h)."""
        c = self.recipe
        x, mask = self.embed(ids, table, spelt)
        if c["pool"] == "static":
            known = ids.clamp(max=c["words"] + 1) * ~mask.view_as(ids)
            M = (x * F.softplus(F.embedding(known, self.weight[:, None]))).sum(1)
            return M @ self.flat, None, M
        H = self.lstm(x.transpose(0, 1))[0].transpose(0, 1)
        if c["skip"]:
            H = torch.cat([H, x.to(H.dtype)], -1)
        A, parts, vector = None, [], torch.zeros((), device=H.device)
        if "attn" in c["pool"]:
            A = torch.softmax((torch.tanh(H @ self.s1.T) @ self.s2.T).float(), 1).transpose(1, 2)
            parts.append(A.to(H.dtype) @ H)
            vector = self.project(parts[0]).flatten(1) @ self.maps
        if "max" in c["pool"]:
            top = H.max(1).values
            parts.append(top[:, None])
            vector = vector + self.project(top) @ self.top
        return vector, A, torch.cat(parts, 1)

    def project(self, x: Tensor) -> Tensor:
        return x @ self.shared if self.recipe["rank"] else x
