"""Tiny networks trained on planted sentences, in seconds."""

from __future__ import annotations

from functools import cache

import torch

import planted_texts as planted
from limelight.config.recipe import Recipe
from limelight.reading.reading import Reading
from limelight.runtime.model import Model
from limelight.text.encode import encode_texts
from limelight.training import fit

# So few hidden units that the LSTM cannot carry every planted word everywhere: attention has to find them.
TINY = Recipe().override(
    word_size=16, hidden=4, attention_hidden=16, rows=3, head="pruned", row_units=8, column_units=0,
    penalty_scale="author", optimizer="adam", learning_rate=1e-2, batch_size=32, epochs=6, clip_norm=1.0,
)  # fmt: skip


@cache
def trained(penalty: float = 10.0, seed: int = 0) -> Model:
    """A model of planted sentences with as many rows as aspects."""
    texts, labels, _ = planted.sentences(1500, seed=1)
    recipe = TINY.override(penalty=penalty, seed=seed)
    dataset = encode_texts(texts, labels, recipe=recipe.text, holdout=0.1)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # steps this small are slower on several
    try:
        fitted = fit(dataset, recipe, show=False, device="cpu")
    finally:
        torch.set_num_threads(threads)
    return Model.from_parts(
        weights={name: array.numpy() for name, array in fitted.network.state_dict().items()},
        recipe=fitted.recipe,
        tokenizer=dataset.tokenizer,
        labels=dataset.labels,
        facts={"training": {"history": fitted.history}},
        threads=1,
    )


def readings(model: Model, n: int = 200) -> tuple[list[Reading], planted.Planted]:
    """What the model reads in new planted sentences."""
    new = planted.sentences(n, seed=2)
    return model.read_many(new.texts), new  # type: ignore[return-value]
