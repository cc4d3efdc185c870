"""Weigh the directions of a reader's vectors, after training: a linear map in place of its last one.

    python experiments/reader/weigh.py READER --texts CORPUS/*.txt.xz --out WEIGHED

The direction of the mean of the vectors counts more, and so do those in which they vary little: likeness then
agrees better with people's, and searches find more. Nothing else is changed; a minute on two cores.
"""

from __future__ import annotations

import argparse
from itertools import islice
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from limelight.runtime.reader import Reader
from limelight.tables.table import open_table
from limelight.text.tokenizer import SPECIAL

TEXTS = 20_000  # that the directions are found from
EVEN, LEAST_SPREAD, MEAN = 0.3, 0.01, 0.3


def reduced_rows(reader: Reader, texts: list[str]) -> Tensor:
    """The rows of each text's M after the map that they share, (texts, r * rank)."""
    W, found = reader.weights["vector.W_shared"], []
    for M in reader.embed_stream(texts, progress=True):
        found.append(torch.from_numpy((M @ W.T).reshape(len(M), -1).astype(np.float16)))
    return torch.cat(found)


def weigh_directions(W: Tensor, rows: Tensor) -> Tensor:
    """(I + MEAN u u') S^(-EVEN / 2) W: S is the covariance of the texts' vectors, u their mean's direction."""
    v = F.normalize(rows.float() @ W.T, dim=1)
    spread, directions = torch.linalg.eigh(torch.cov(v.T))
    weights = (spread / spread.mean()).clamp(min=LEAST_SPREAD) ** (-EVEN / 2)
    W = directions @ (weights[:, None] * (directions.T @ W))
    u = F.normalize(F.normalize(rows.float() @ W.T, dim=1).mean(0), dim=0)
    return W + MEAN * torch.outer(u, u @ W)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("reader", type=Path)
    parser.add_argument("--texts", type=Path, nargs="+", required=True, help="texts to find directions from")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    reader, each = Reader.load(arguments.reader), -(-TEXTS // len(arguments.texts))
    texts = [text for path in arguments.texts for (text,) in islice(open_table(path).rows(("text",)), each)]
    W = torch.from_numpy(reader.weights["vector.W_rows"].copy())  # type: ignore[arg-type]
    W = weigh_directions(W, reduced_rows(reader, texts))
    weights = {**reader.weights, "vector.W_rows": W.numpy()}
    facts = {k: x for k, x in reader.facts.items() if k not in ("cosine", "held_out")}  # they hold no longer
    words, model = reader.tokenizer.vocabulary[len(SPECIAL) :], reader.recipe.model
    Reader.from_parts(words=words, weights=weights, model=model, facts=facts).save(
        arguments.out, overwrite=True
    )


if __name__ == "__main__":
    main()
