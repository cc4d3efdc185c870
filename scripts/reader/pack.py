"""Pack a trained student: words in int4, weights in int8, all scales in fp16; and read it back.

    python scripts/reader/pack.py OUT/NAME WORK CORPUS READER

OUT/NAME.safetensors and .json are what train.py wrote, WORK/vocabulary.json what teach.py wrote. READER gets
reader.safetensors, config.json, words.txt.xz (one word to a line, from number 2 on) and splitting.json.
"""

from __future__ import annotations

import argparse
import json
import lzma
import shutil
from pathlib import Path

import tokenizers
import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from student import GRAMS, VECTOR, Recipe, Student, spelling
from torch import Tensor

WORDS = ("words", "grams")
TRANSPOSED = ("maps", "top", "flat", "shared")  # stored (inputs, outputs); scales are for each output
LONGEST = 64


def scale_of(rows: Tensor, top: int) -> Tensor:
    """The scale of each row, rounded to fp16 as it will be stored."""
    return (rows.abs().amax(1, keepdim=True) / top).half().float().clamp(min=1e-7)


def quantise(rows: Tensor, top: int) -> tuple[Tensor, Tensor]:
    scale = scale_of(rows, top)
    return (rows / scale).round().clamp(-top, top), scale


def pack(weights: dict[str, Tensor], recipe: Recipe) -> dict[str, Tensor]:
    """Words: two numbers to a byte, a scale for each `group`. Weights: int8, a scale for each output."""
    out = {}
    for name, w in weights.items():
        if name in WORDS:
            q, scale = quantise(w.reshape(-1, recipe["group"]), 7)
            q = (q + 8).to(torch.uint8).reshape(w.shape)
            out[name] = q[:, 0::2] | q[:, 1::2] << 4
            out[name + ".scale"] = scale.half().reshape(len(w), -1)
        elif w.dim() > 1:
            q, scale = quantise((w.T if name in TRANSPOSED else w).contiguous(), 127)
            out[name] = q.to(torch.int8)
            out[name + ".scale"] = scale.half()
        else:
            out[name] = w.half()
    return out


def unpack(packed: dict[str, Tensor], recipe: Recipe) -> dict[str, Tensor]:
    weights = {}
    for name, p in packed.items():
        if name.endswith(".scale"):
            continue
        if name in WORDS:
            q = torch.stack([p & 15, p >> 4], -1).flatten(1).float() - 8
            q = q.reshape(len(p), -1, recipe["group"])
            weights[name] = (q * packed[name + ".scale"].float().unsqueeze(-1)).flatten(1)
        elif p.dim() > 1:
            w = p.float() * packed[name + ".scale"].float()
            weights[name] = w.T.contiguous() if name in TRANSPOSED else w
        else:
            weights[name] = p.float()
    return weights


def save_student(weights: dict[str, Tensor], recipe: Recipe, path: Path) -> None:
    """Words in int8 with a scale for each row, the rest in fp16."""
    out = {}
    for name, w in weights.items():
        w = w.detach().float().cpu()
        if name in WORDS:
            q, scale = quantise(w, 127)
            out[name], out[name + ".scale"] = q.to(torch.int8), scale.half()
        else:
            out[name] = w.half().contiguous()
    save_file(out, f"{path}.safetensors")
    Path(f"{path}.json").write_text(json.dumps(recipe))


def load_student(path: Path) -> tuple[dict[str, Tensor], Recipe]:
    weights = load_file(f"{path}.safetensors")
    for name in WORDS:
        weights[name] = weights[name].float() * weights.pop(name + ".scale").float()
    return {name: w.float() for name, w in weights.items()}, json.loads(Path(f"{path}.json").read_text())


class Reader:
    """Texts -> unit vectors, on the CPU."""

    def __init__(self, weights: dict[str, Tensor], recipe: Recipe, words: list[str], splitting: Path) -> None:
        self.recipe = recipe
        self.model = Student(recipe).eval()
        self.model.load_state_dict(weights)
        rules = json.loads(splitting.read_text())
        rules["model"]["vocab"] = {word: i for i, word in enumerate(["<pad>", "<unk>", *words])}
        self.tokenizer = tokenizers.Tokenizer.from_str(json.dumps(rules))
        self.overlap = 0.0  # of the rows of attention, in the last call of encode

    @classmethod
    def load(cls, folder: Path) -> Reader:
        recipe = json.loads((folder / "config.json").read_text())
        words = lzma.decompress((folder / "words.txt.xz").read_bytes()).decode().split("\n")
        weights = unpack(load_file(folder / "reader.safetensors"), recipe)
        return cls(weights, recipe, words, folder / "splitting.json")

    def number(self, texts: list[str], known: int) -> tuple[list[list[int]], Tensor]:
        """Word numbers of each text; unknown words get new numbers, with their n-grams in a table."""
        first = self.recipe["words"] + 2
        extra: dict[str, int] = {}
        rows = []
        encoded = self.tokenizer.encode_batch(texts, add_special_tokens=False)
        for text, e in zip(texts, encoded, strict=True):
            row = []
            for i, (start, end) in zip(e.ids[:LONGEST], e.offsets[:LONGEST], strict=True):
                if i == 1 or i >= known:
                    i = first + extra.setdefault(text[start:end].lower(), len(extra))
                row.append(i)
            rows.append(row or [1])
        table = torch.zeros(first + max(1, len(extra)), GRAMS, dtype=torch.long)
        for word, i in extra.items():
            grams = [gram % self.recipe["buckets"] + 1 for gram in spelling(word)]
            table[first + i, : len(grams)] = torch.tensor(grams)
        return rows, table

    @torch.no_grad()
    def encode(self, texts: list[str], known: int = 1 << 30, blank: bool = False) -> Tensor:
        """Unit vectors. Words numbered `known` or more count as unknown; if blank, unknown words are zero."""
        rows, table = self.number(texts, known)
        if blank:
            table[:] = 0
        unknown = torch.arange(len(table)) >= self.recipe["words"] + 2
        unknown[1] = True
        by_length: dict[int, list[int]] = {}
        for j, row in enumerate(rows):
            by_length.setdefault(len(row), []).append(j)
        vectors, overlaps = torch.zeros(len(texts), VECTOR), []
        for places in by_length.values():
            for k in range(0, len(places), 512):
                some = places[k : k + 512]
                v, A, _ = self.model(torch.tensor([rows[j] for j in some]), table, unknown)
                vectors[some] = F.normalize(v, dim=-1)
                if A is not None:
                    overlaps.append(row_overlap(A))
        self.overlap = float(torch.cat(overlaps).mean()) if overlaps else 0.0
        return vectors


def row_overlap(A: Tensor) -> Tensor:
    """The mean off-diagonal of A A' of each sentence; A (batch, r, n)."""
    gram = A @ A.transpose(1, 2)
    r = gram.shape[1]
    return (gram.sum((1, 2)) - gram.diagonal(dim1=1, dim2=2).sum(1)) / (r * (r - 1))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    for name in ("student", "work", "corpus", "reader"):
        parser.add_argument(name, type=Path)
    arguments = parser.parse_args()
    weights, recipe = load_student(arguments.student)
    words = json.loads((arguments.work / "vocabulary.json").read_text())["words"][2 : recipe["words"] + 2]
    folder = arguments.reader
    folder.mkdir(parents=True, exist_ok=True)
    save_file(pack(weights, recipe), folder / "reader.safetensors")
    (folder / "config.json").write_text(json.dumps(recipe))
    (folder / "words.txt.xz").write_bytes(lzma.compress("\n".join(words).encode(), preset=9))
    shutil.copy(arguments.corpus / "splitting.json", folder / "splitting.json")
    for path in sorted(folder.iterdir()):
        print(path.name, path.stat().st_size)


if __name__ == "__main__":
    main()
