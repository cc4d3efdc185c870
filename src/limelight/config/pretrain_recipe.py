"""The recipe of a reader: the options of `limelight pretrain`."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import asdict, dataclass, field
from typing import Any

from ..errors import LimelightError, bad_value
from .options import check_value, option, to_builtin
from .recipe import ATTENTION, MODULES, Recipe, options

GROUP = 32  # numbers of a word vector that are stored with one scale
STEPS, MOST_EPOCHS = 8_000, 40  # of a training whose length is not given
LARGEST_BATCH, FEWEST_BATCHES = 2048, 16  # and the fewest batches of an epoch, if texts are few


def _as_in_training(name: str, default: Any) -> Any:
    """The option of that name, perhaps with another default."""
    return field(default=default, metadata=options()[name].metadata)


@dataclass(frozen=True)
class ReaderRecipe:
    """How a reader is made."""

    encoder: str = _as_in_training("encoder", "bilstm")
    pooling: str = _as_in_training("pooling", "self-attention")
    words: int = option(38_000, "Words with a vector of their own; others are read by their spelling.", low=1)
    word_size: int = option(256, f"Size of the word vectors [d], a multiple of {GROUP}.", low=GROUP)
    buckets: int = option(10_000, "Vectors for hashed character n-grams, which spell the other words.", low=1)
    hidden: int = option(300, "LSTM units in each direction [u].", low=1, basic=True)
    attention_hidden: int = _as_in_training("attention_hidden", 128)
    rows: int = option(24, "Rows of the embedding matrix [r].", low=1, needs=ATTENTION, basic=True)
    rank: int = option(
        128, "Size of a row of M after the map that all rows share, before its own.", low=1, needs=ATTENTION
    )
    max_length: int = option(64, "Truncate texts to this many words in training.", low=1)
    kl_weight: float = option(
        2.0, "Weight of the KL divergence between the similarities within a batch.", low=0
    )
    temperature: float = option(0.05, "Temperature of those similarities.", low=1e-3)
    penalty: float = _as_in_training("penalty", 0.02)
    typos: float = option(0.01, "Share of the words that are misspelled in training.", low=0, high=0.5)
    batch_size: int = option(0, "Texts per update; 0: 2,048, or fewer if texts are few.", low=0, basic=True)
    epochs: int = option(
        0, "Passes over the texts; 0: about 8,000 updates, but at most 40 passes.", low=0, basic=True
    )
    learning_rate: float = option(2e-3, "Learning rate, which falls to 0 as a cosine.", low=0)
    precision: str = _as_in_training("precision", "bf16")
    seed: int = _as_in_training("seed", 0)

    def __post_init__(self) -> None:
        for f in dataclasses.fields(self):
            check_value(f, getattr(self, f.name))
        if self.encoder in MODULES:
            raise bad_value("the encoder of a reader is Limelight's own")
        if self.word_size % GROUP:
            raise bad_value(f"word_size is {self.word_size}; it must be a multiple of {GROUP}")

    def override(self, **options: Any) -> ReaderRecipe:
        """The same recipe with some options changed."""
        known = [f.name for f in dataclasses.fields(self)]
        if unknown := [name for name in options if name not in known]:
            hint = f"the options are: {', '.join(known)}"
            raise LimelightError(f"there is no option {unknown[0]!r}; {hint}", code="option-unknown")
        return dataclasses.replace(self, **{name: to_builtin(value) for name, value in options.items()})

    def for_rows(self, rows: int) -> ReaderRecipe:
        """The recipe with a batch size and a number of epochs that suit this many texts."""
        most = 2 ** max(3, int(math.log2(max(rows / FEWEST_BATCHES, 1))))
        batch = self.batch_size or min(LARGEST_BATCH, most)
        epochs = max(1, min(MOST_EPOCHS, round(STEPS / math.ceil(rows / batch))))
        return self.override(batch_size=batch, epochs=self.epochs or epochs)

    @property
    def recipe(self) -> Recipe:
        """The same as a recipe of the whole library: what its training and its runtime read."""
        return Recipe().override(
            encoder=self.encoder, pooling=self.pooling, word_size=self.word_size, hidden=self.hidden,
            rows=self.rows, attention_hidden=self.attention_hidden, max_length=self.max_length,
            penalty=self.penalty,
            batch_size=max(self.batch_size, 1), epochs=max(self.epochs, 1), seed=self.seed,
            learning_rate=self.learning_rate, precision=self.precision, optimizer="adam",
            schedule="cosine", clip_norm=1.0, ema_decay=0.999,
        )  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)
