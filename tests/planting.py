"""Tiny networks trained on planted sentences, in seconds."""

from __future__ import annotations

from functools import cache

import numpy as np

from limelight import planted
from limelight.reading import Reading
from limelight.recipe import Recipe
from limelight.runtime.model import Model
from limelight.text.dataset import encode_texts
from limelight.training import fit

TINY = Recipe().override(
    word_size=16, hidden=12, attention_hidden=16, rows=3, head="pruned", row_units=8, column_units=0,
    penalty_scale="paper", optimiser="adam", rate=1e-2, batch=32, epochs=5, clip_norm=1.0,
)  # fmt: skip


@cache
def trained(penalty: float = 1.0, seed: int = 0, aspects: int = 3, sentences: int = 1500) -> Model:
    """A model of planted sentences with as many rows as aspects."""
    texts, labels, _ = planted.sentences(sentences, aspects, seed=1)
    recipe = TINY.override(penalty=penalty, seed=seed, rows=aspects)
    dataset = encode_texts(texts, labels, recipe=recipe.text, holdout=0.1)
    fitted = fit(dataset, recipe, show=False, device="cpu")
    return Model.from_parts(
        weights={name: array.numpy() for name, array in fitted.network.state_dict().items()},
        recipe=fitted.recipe,
        tokenizer=dataset.tokenizer,
        labels=dataset.labels,
        facts={"history": fitted.history},
        threads=1,
    )


def readings(model: Model, n: int = 200, aspects: int = 3) -> tuple[list[Reading], planted.Planted]:
    """What the model reads in new planted sentences."""
    new = planted.sentences(n, aspects, seed=2)
    return model.read_many(new.texts), new  # type: ignore[return-value]


def redundancy(found: list[Reading]) -> float:
    """Mean off-diagonal of A A^T: how much of the attention two rows share on average."""
    r = len(found[0].attention)
    overlap = np.mean([each.attention @ each.attention.T for each in found], axis=0)
    return float((overlap.sum() - np.trace(overlap)) / (r * (r - 1)))
