"""Named recipes: the paper's, the best we know, and small ones."""

import dataclasses
import difflib
from collections.abc import Collection
from typing import Any, NamedTuple

from ..errors import LimelightError
from .recipe import ModelRecipe, Recipe

ENGLISH_READERS = ("reader", "reader-fast")  # those that come along
LANGUAGES = "German, French, Spanish, Dutch and Czech"  # of reader-multilingual, beside English

# Sections 4.1 and 4.2: the numbers are the paper's. How they are applied, where its text is silent or
# ambiguous, is as its author's code applied them (docs/paper.md):
_AUTHOR = {
    "clip_gates": 0.5,  # "clip the norm to be between -0.5 and 0.5": values, and those at the LSTM's gates
    "penalty_scale": "author",  # divided by n^2; unscaled, rows never leave their start at 1.0
    "author_code": True,  # N(0, 0.1) for the LSTM, Glorot for the rest, and attention with biases
}
# The text word for word: the norm of the whole gradient, the penalty of equation 8, no biases.
LITERAL = {"clip_gates": 0.0, "penalty_scale": "paper", "author_code": False}

# Of case and epochs nothing is said: word2vec keeps case, and 20 epochs are where nothing is gained any more.
_PAPER = Recipe().override(
    lowercase=False, min_count=2, word_size=100, hidden=300, attention_hidden=350, rows=30, dropout=0.5,
    penalty=1.0, optimizer="sgd", learning_rate=0.06, weight_decay=1e-4, epochs=20, patience=4, **_AUTHOR,
)  # fmt: skip

# Section 4.3: no dropout, no L2; GloVe of 300 dimensions; AdaGrad. The batch size and the bound at the gates
# are from the author's code.
_PAPER_SNLI = Recipe().override(
    lowercase=False, word_size=300, hidden=300, attention_hidden=150, rows=30, pair="gated", head_hidden=4000,
    penalty=0.3, optimizer="adagrad", learning_rate=0.01, batch_size=50, epochs=12, patience=4,
    **(_AUTHOR | {"clip_gates": 100.0}),
)  # fmt: skip

# What each ingredient gives is in docs/recipes.md. Frozen vectors behind a trained projection, rows with
# units of their own in the classifier, a max-pooled row beside them, and an average of the weights.
_BEST = Recipe().override(
    vectors="default", extra_words=40_000, missing_vectors="spelling", fine_tune_words=False, projection=300,
    hidden=300, attention_hidden=150, max_row=True, head="pruned", row_units=64, column_units=0, dropout=0.2,
    dropout_words=0.2, penalty=0.1, penalty_scale="author", optimizer="adamw", weight_decay=0.1,
    learning_rate=8e-4, clip_norm=5.0, ema_decay=0.999, halve_on_plateau=True, min_steps=100, patience=4,
    precision="bf16",
)  # fmt: skip

# Starts from a bundled reader and fine-tunes it, all but its words; docs/log/2026-11-16-start.md.
_SMALL = Recipe().override(
    start="reader", extra_words=50_000, word_size=256, hidden=300, attention_hidden=128, rows=24,
    head="linear", row_units=32, column_units=0, pair="auto", fine_tune_words=False, dropout=0.2,
    dropout_words=0.2, penalty=0.02, penalty_scale="paper", optimizer="adam", learning_rate=5e-4,
    schedule="cosine", batch_size=32, epochs=4, clip_norm=1.0,
)  # fmt: skip

PRESETS: dict[str, Recipe] = {
    "yelp": _PAPER.override(head_hidden=3000, batch_size=32),
    "age": _PAPER.override(head_hidden=2000, batch_size=16),
    "snli": _PAPER_SNLI,
    "yelp-literal": _PAPER.override(head_hidden=3000, batch_size=32, clip_norm=0.5, **LITERAL),
    "best-single": _BEST.override(rows=8, batch_size=128, epochs=10),
    # Teachers give a point more and take several times as long: experiments/best_pair.
    "best-pair": _BEST.override(layers=2, rows=16, pair="concat", batch_size=256, epochs=14),
    "small": _SMALL,
    # The same from the reader without an LSTM: docs/readers.md says when.
    "fast": _SMALL.override(start="reader-fast", encoder="words", rows=16),
    # Several times as fast, from word vectors alone. The penalty is just large enough that the rows read
    # different words; the author's form at 1.0 leaves them alike. Words seen once and unknown to the
    # vectors stand in for the unknown word.
    "light": Recipe().override(
        vectors="default", extra_words=40_000, min_count=2, word_size=100, hidden=64, attention_hidden=50,
        rows=8, head="pruned", row_units=32, column_units=0, pair="concat", penalty=0.03,
        penalty_scale="paper", optimizer="adam", learning_rate=2e-3, batch_size=32, epochs=30, clip_norm=1.0,
        dropout=0.5, dropout_words=0.4, ema_decay=0.999, min_steps=100, patience=5,
    ),
    "tiny": Recipe().override(
        word_size=50, hidden=32, attention_hidden=24, rows=4, head="pruned", row_units=16, column_units=0,
        pair="concat", penalty=1.0, penalty_scale="author", optimizer="adam", learning_rate=3e-3,
        batch_size=32, epochs=5, clip_norm=1.0, dropout=0.2,
    ),
}  # fmt: skip

AUTO = "auto"  # in place of a name


def preset(name: str) -> Recipe:
    """A recipe by its name; of "auto", what is known before the data is.

    >>> preset("snli").model.rows
    30
    """
    if name == AUTO:
        return _SMALL
    if name not in PRESETS:
        near = difflib.get_close_matches(str(name), PRESETS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"choose from: {AUTO}, {', '.join(PRESETS)}"
        raise LimelightError(f"unknown preset {name!r}; {hint}", code="preset-unknown")
    return PRESETS[name]


# ---------------------------------------------------------------- where the user names none

# As much as a table of that size is worth, by the data alone, so that it is the same on every machine;
# docs/train.md says what was measured.

BASE = "small"  # what the user's options are given for
# Who gives one of these has chosen:
SETTLED = {"start", "vectors", *(field.name for field in dataclasses.fields(ModelRecipe))}
MIN_CLASS_ROWS = 20  # rows per class; with fewer, fine-tuning takes time and gains nothing
# Words, punctuation marks too, up to which `small` takes that many:
FOUR_EPOCHS, TWO_EPOCHS, ONE_EPOCH = 60_000, 150_000, 700_000
LONG, ONE_EPOCH_LONG = 100, 400_000  # of texts of so many words; 3,000 hotel reviews have 610,000 in all
FAST_TWO_EPOCHS = 25_000_000  # and `fast`, which takes all that is more
SHORTER = {"learning_rate": 1e-3}  # fewer epochs at twice the rate are as accurate
# Seconds of one core: for all that is not training, and for a million words there and back (Sapphire Rapids).
FIXED, PER_MILLION = 8.0, {"bilstm": 360.0, "words": 16.0}
MAX_CORES = 2  # more of them help little
# Training from a reader on at least so many rows ends with a fit of the classifier, to so many at most.
MIN_ROWS_LAST, MAX_ROWS_LAST = 5000, 30_000


class Size(NamedTuple):
    """What is known of the training rows once they are read."""

    rows: int
    words: int  # that are learnt from, punctuation marks too
    classes: int  # 0: numbers
    pair: bool = False


class Choice(NamedTuple):
    preset: str
    options: dict[str, Any] = {}  # noqa: RUF012

    def apply(self, recipe: Recipe, given: Collection[str] = ()) -> Recipe:
        """The recipe `small`, some of whose options the user has `given`, as it was chosen.

        Who gives the epochs has them at the preset's rate: only fewer ones are as good at twice of it.
        """
        before, own = preset(BASE).values(), preset(self.preset).values()
        changed = {name: value for name, value in own.items() if value != before[name]}
        changed |= {} if "epochs" in given else self.options
        return recipe.override(**{name: value for name, value in changed.items() if name not in given})


def given_to_choose(preset: str, given: Collection[str]) -> list[str] | None:
    """The options that the user has given, if these leave the choice open."""
    return sorted(given) if preset == AUTO and not SETTLED & set(given) else None


def choose(size: Size) -> Choice:
    """The choice for a table of this size."""
    if size.rows < MIN_CLASS_ROWS * size.classes and not size.pair:
        return Choice(BASE, {"epochs": 0})
    if size.words <= FOUR_EPOCHS:
        return Choice(BASE)
    one_epoch = ONE_EPOCH_LONG if size.words >= LONG * size.rows else ONE_EPOCH
    if size.words <= one_epoch or size.pair:  # how two texts relate, words alone do not tell
        return Choice(BASE, {**SHORTER, "epochs": 2 if size.words <= TWO_EPOCHS else 1})
    return Choice("fast", {**SHORTER, "epochs": 2 if size.words <= FAST_TWO_EPOCHS else 1})


def describe(recipe: Recipe, choice: Choice, size: Size, cores: int) -> str:
    """What was chosen; how long that takes on so many idle cores, and what else takes another time."""
    rows = f"{size.rows:,} rows of {size.words / max(size.rows, 1):,.0f} words"
    chosen = f"{rows}: chose preset {choice.preset}, epochs {recipe.training.epochs}"
    if not cores:
        return chosen
    own = _time(recipe, size, cores)
    named = {"small as it comes": BASE} | ({} if size.pair else {"fast": "fast"})
    times = {what: _time(preset(name), size, cores) for what, name in named.items()}
    others = ", ".join(f"{what} {time}" for what, time in times.items() if time != own)
    return f"{chosen}, about {own}; {others}" if others else f"{chosen}, about {own}"


def _time(recipe: Recipe, size: Size, cores: int) -> str:
    """The first and the last classifier need no way back: a third of an epoch each."""
    passes = recipe.training.epochs + 1 / 3
    if size.rows >= MIN_ROWS_LAST and recipe.training.epochs and size.classes and not size.pair:
        passes += min(1, MAX_ROWS_LAST / size.rows) / 3
    work = passes * size.words / 1e6 * PER_MILLION[recipe.model.encoder]
    seconds = FIXED + work / min(cores, MAX_CORES)
    if seconds < 90:
        return f"{5 * max(round(seconds / 5), 1)} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{round(minutes / 60)} h"
